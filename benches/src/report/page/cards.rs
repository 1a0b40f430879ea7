//! Four comparisons for the first screen: three that are always the same, and ptunnel's worst loss.

use serde::Serialize;

use crate::model::{Figure, Kind, Line, Outcome, Results, Spread};
use crate::report::number::{number, range};
use crate::report::standing::{noise, Standing};

/// A comparison: rig, figures in the order of preference, rival, and what it is in a few words.
type Shown = (
    &'static str,
    &'static [&'static str],
    &'static str,
    &'static str,
);

const CPU: &str = "CPU of a small request, without a proxy";
const MEMORY: &str = "Memory of an idle tunnel, without the kernel's 8 KiB";
const SQUID: &str = "CPU of a request through squid, 50 clients";
const ALWAYS: [Shown; 3] = [
    ("relay", &["cpu-60", "cpu"], "tokio", CPU),
    ("growth", &["memory-10000"], "tokio", MEMORY),
    ("tunnel", &["cpu-kept-c50"], "socat", SQUID),
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
        let of_rig = outcomes.iter().filter(|o| o.results.rig == *rig);
        let mut cards = of_rig.flat_map(|Outcome { results, .. }| {
            let figures = figures.iter().filter_map(|name| results.figure(name));
            figures.filter_map(|figure| card(results, figure, rival, title))
        });
        cards.next()
    });
    always.chain(worst_loss(outcomes)).collect()
}

fn card(results: &Results, figure: &Figure, rival: &str, title: &str) -> Option<Card> {
    let subject = &results.subject()?.name;
    let value = |name: &str| results.median(figure.name, name).map(number);
    let ratio = results.ratio(figure.name, rival, subject)?;
    let standing = Standing::of(ratio, noise(results, figure.name), !figure.less_is_better);
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
    let losses = outcomes
        .iter()
        .filter(ours)
        .flat_map(|Outcome { results, lines }| {
            let losses = lines.iter().filter_map(|line| loss(results, line));
            losses.map(move |loss| (results, loss))
        });
    let worst = losses.max_by(|(_, one), (_, other)| one.0.total_cmp(&other.0));
    let (results, (_, figure, rival)) = worst?;
    let title = format!("Our worst loss: {}", figure.title);
    card(results, figure, rival, &title)
}

/// How far the near end of the interval is from 1, to ptunnel's disadvantage.
fn loss<'a>(results: &'a Results, line: &'a Line) -> Option<(f64, &'a Figure, &'a str)> {
    let (Spread { low, high, .. }, rival) = (line.ratio?, line.theirs.as_deref()?);
    let figure = results.figure(line.figure)?;
    let is_floor = results.peer(rival)?.kind == Kind::Floor;
    let far = match figure.less_is_better {
        true => low.ln(),
        false => -high.ln(),
    };
    (line.ours.is_none() && !is_floor && far > 0.0).then_some((far, figure, rival))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::example::{example, CPU as FIGURE, RATE};
    use crate::model::{target, Beside, Bound};
    use crate::report::judge::judge;

    #[test]
    fn the_worst_loss_is_the_farthest_of_those_to_a_rival() {
        let peers = [
            ("ptunnel", Kind::Subject, 2.0),
            ("tokio", Kind::Program, 1.9),
            ("worse", Kind::Program, 1.0),
            ("faster", Kind::Package, 3.0),
            ("floor", Kind::Floor, 0.1),
        ];
        let results = example(&[FIGURE, RATE], &peers);
        let each = |figure| target(figure, Bound::AtMost(1.0), Beside::EachBut(&[]));
        let lines = judge(&[each("cpu"), each("rate")], &results);
        let cards = cards(&[Outcome { results, lines }]);
        let [first, worst] = &cards[..] else {
            panic!("{cards:?}")
        };
        assert_eq!([&first.title, &worst.title], [CPU, "Our worst loss: CPU"]);
        let wanted = "worse: 2.00 µs, 0.50 (0.50–0.50)";
        assert!(worst.beside.starts_with(wanted), "{}", worst.beside);
        assert_eq!(worst.standing, Standing::Worse);
    }
}
