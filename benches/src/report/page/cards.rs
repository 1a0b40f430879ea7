//! Four comparisons for the first screen: three that are always the same, and ptunnel's worst loss.

use serde::Serialize;

use super::forest::range;
use crate::report::number;
use crate::report::results::{Figure, Results};
use crate::report::standing::Standing;
use crate::report::stats::Spread;
use crate::report::targets::Line;
use crate::rigs::Outcome;

/// Rig, figures in the order of preference, rival, and what it is in a few words.
const ALWAYS: &[(&str, &[&str], &str, &str)] = &[
    (
        "relay",
        &["cpu-60", "cpu"],
        "tokio",
        "CPU of a small request, without a proxy",
    ),
    (
        "growth",
        &["memory-10000"],
        "tokio",
        "Memory of an idle tunnel, without the kernel's 8 KiB",
    ),
    (
        "tunnel",
        &["cpu-kept-c50"],
        "socat",
        "CPU of a request through squid, 50 clients",
    ),
];

#[derive(Debug, Serialize)]
pub struct Card {
    pub title: String,
    /// ptunnel's value, with its unit.
    pub value: String,
    /// The rival's.
    pub beside: String,
    pub standing: Standing,
    pub said: String,
    pub rig: &'static str,
    pub commit: String,
}

pub fn cards(outcomes: &[Outcome]) -> Vec<Card> {
    let always = ALWAYS.iter().filter_map(|(rig, figures, rival, title)| {
        let of_rig = |o: &&Outcome| o.results.rig == *rig;
        let found = outcomes.iter().filter(of_rig).flat_map(|o| {
            let named = |name: &&str| o.results.figures.iter().find(|f| f.name == *name);
            figures.iter().filter_map(named).map(|f| (&o.results, f))
        });
        let mut cards = found.filter_map(|(results, figure)| card(results, figure, rival, title));
        cards.next()
    });
    always.chain(worst_loss(outcomes)).collect()
}

fn card(results: &Results, figure: &Figure, rival: &str, title: &str) -> Option<Card> {
    let subject = &results.subject()?.name;
    let value = |name: &str| Some(number(results.spread(figure.name, name)?.median));
    let ratio = results.ratio(figure.name, rival, subject)?;
    let standing = Standing::of(ratio, results.noise(figure.name), !figure.less_is_better);
    let said = match standing {
        Standing::Better => format!("{subject} is ahead"),
        Standing::Worse => format!("{subject} is behind"),
        Standing::Level => "level: the interval contains 1".to_string(),
        Standing::Noise => "no more than one peer differs from itself".to_string(),
    };
    Some(Card {
        title: title.to_string(),
        value: format!("{} {}", value(subject)?, figure.unit),
        beside: format!(
            "{rival}: {} {}, {}{} of {subject}’s",
            value(rival)?,
            figure.unit,
            number(ratio.median),
            match ratio.count {
                1 => String::new(),
                _ => format!(" ({})", range(ratio.low, ratio.high)),
            },
        ),
        standing,
        said,
        rig: results.rig,
        commit: results.short_commit().to_string(),
    })
}

/// Of all comparisons of ptunnel's targets that it loses, the one whose interval stays farthest from equality. The floor
/// does less than a tunnel, so being behind it is no loss.
fn worst_loss(outcomes: &[Outcome]) -> Option<Card> {
    let ours = |o: &&Outcome| o.results.subject().is_some_and(|s| s.name == "ptunnel");
    let losses = outcomes.iter().filter(ours).flat_map(|o| {
        let losses = o.lines.iter().filter_map(|line| {
            let (figure, rival, far) = loss(&o.results, line)?;
            Some((&o.results, figure, rival, far))
        });
        losses.collect::<Vec<_>>()
    });
    let (results, figure, rival, _) = losses.max_by(|a, b| a.3.total_cmp(&b.3))?;
    card(
        results,
        figure,
        rival,
        &format!("Our worst loss: {}", figure.title),
    )
}

/// How far the near end of the interval is from 1, to ptunnel's disadvantage.
fn loss<'a>(results: &'a Results, line: &'a Line) -> Option<(&'a Figure, &'a str, f64)> {
    let (Spread { low, high, .. }, rival) = (line.ratio?, line.theirs.as_deref()?);
    let figure = results.figures.iter().find(|f| f.name == line.figure)?;
    let is_floor = results.peer(rival)?.kind == crate::peers::Kind::Floor;
    let far = if figure.less_is_better {
        low.ln()
    } else {
        -high.ln()
    };
    (line.ours.is_none() && !is_floor && far > 0.0).then_some((figure, rival, far))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::Kind;
    use crate::report::results::tests::{example, CPU, RATE};
    use crate::report::targets::{judge, target, Against, Bound};

    #[test]
    fn the_worst_loss_is_the_farthest_of_those_to_a_rival() {
        let peers = [
            ("ptunnel", Kind::Subject, 2.0),
            ("tokio", Kind::Program, 1.9),
            ("worse", Kind::Program, 1.0),
            ("faster", Kind::Package, 3.0),
            ("floor", Kind::Floor, 0.1),
        ];
        let results = example(&[CPU, RATE], &peers);
        let each = |figure| target(figure, Bound::AtMost(1.0), Against::EachBut(&[]));
        let lines = judge(&[each("cpu"), each("rate")], &results);
        let cards = cards(&[Outcome { results, lines }]);
        let titles: Vec<_> = cards.iter().map(|c| c.title.as_str()).collect();
        assert_eq!(titles, [ALWAYS[0].3, "Our worst loss: CPU"]);
        assert!(
            cards[1]
                .beside
                .starts_with("worse: 2.00 µs, 0.50 (0.50–0.50)"),
            "{}",
            cards[1].beside
        );
        assert_eq!(cards[1].standing, Standing::Worse);
    }
}
