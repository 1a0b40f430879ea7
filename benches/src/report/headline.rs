//! Who wins, by how much, how sure: one sentence for a run.

use super::difference::Difference;
use super::markdown::number;
use super::results::{Figure, Peer, Results};
use super::stats::Spread;
use crate::peers::Kind;

/// Of the first figure that is drawn and that the subject and a rival have. None where nobody was compared.
pub fn headline(results: &Results) -> Option<String> {
    let subject = results.subject()?;
    let measured = results.measured();
    let drawn = results
        .plotted
        .iter()
        .filter_map(|name| measured.iter().find(|f| f.name == *name));
    drawn
        .flat_map(|figure| sentence(results, figure, subject))
        .next()
}

fn sentence(results: &Results, figure: &Figure, subject: &Peer) -> Option<String> {
    let ours = results.spread(figure.name, &subject.name)?.median;
    let mut rivals = having(results, figure, &[Kind::Program, Kind::Package]);
    if rivals.is_empty() {
        rivals = having(results, figure, &[Kind::Variant]);
    }
    let others = rivals.len();
    let (best, _) = rivals.into_iter().reduce(|a, b| {
        let is_better = (b.1 < a.1) == figure.less_is_better;
        if is_better {
            b
        } else {
            a
        }
    })?;
    let ratio = results.ratio(figure.name, &subject.name, best)?;
    let (us, them) = (&subject.name, best);
    let winner = match results.difference(figure, ratio) {
        Difference::Better => format!("{us} wins"),
        Difference::Worse => format!("{them} wins"),
        Difference::None => format!("{us} and {them} are level, as far as this machine can tell"),
    };
    let among = match others {
        1 => String::new(),
        n => format!(", the best of {n} others"),
    };
    let floor = having(results, figure, &[Kind::Floor]);
    let floor = floor.first().and_then(|(floor, _)| {
        let ratio = results.ratio(figure.name, us, floor)?;
        Some(format!("; {} of {floor}, the floor", told(ratio)))
    });
    Some(format!(
        "{}: {winner}. {us} has {} {}, {} of {them}{among}{}.",
        figure.title,
        number(ours),
        figure.unit,
        told(ratio),
        floor.unwrap_or_default()
    ))
}

/// Peers of these kinds that have the figure, with its median.
fn having<'a>(results: &'a Results, figure: &Figure, kinds: &[Kind]) -> Vec<(&'a str, f64)> {
    let wanted = results.peers.iter().filter(|p| kinds.contains(&p.kind));
    let median = |p: &'a Peer| Some((&*p.name, results.spread(figure.name, &p.name)?.median));
    wanted.filter_map(median).collect()
}

fn told(ratio: Spread) -> String {
    let interval = match ratio.count {
        1 => "one sample".to_string(),
        _ => format!("{}–{}", number(ratio.low), number(ratio.high)),
    };
    format!("{} ({interval})", number(ratio.median))
}

#[cfg(test)]
mod tests {
    use super::super::results::{figure, tests::example};
    use super::*;

    const CPU: Figure = figure("cpu", "µs", "CPU", true);
    const RATE: Figure = figure("rate", "1/s", "rate", false);

    fn of(figure: Figure, peers: &[(&str, Kind, f64)]) -> Option<String> {
        headline(&example(&[figure], peers))
    }

    #[test]
    fn says_who_wins_over_the_best_of_the_others() {
        let peers = [
            ("us", Kind::Subject, 1.0),
            ("slow", Kind::Program, 4.0),
            ("best", Kind::Package, 2.0),
            ("older", Kind::Variant, 0.1),
            ("least", Kind::Floor, 0.5),
        ];
        assert_eq!(
            of(CPU, &peers).unwrap(),
            "CPU: us wins. us has 2.00 µs, 0.50 (0.50–0.50) of best, the best of 2 others; \
             2.00 (2.00–2.00) of least, the floor."
        );
        // Of a rate the best is the one with the most.
        assert_eq!(
            of(RATE, &peers).unwrap(),
            "rate: slow wins. us has 2.00 1/s, 0.25 (0.25–0.25) of slow, the best of 2 others; \
             2.00 (2.00–2.00) of least, the floor."
        );
    }

    #[test]
    fn nobody_wins_where_no_difference_can_be_told() {
        let equal = [("us", Kind::Subject, 1.0), ("them", Kind::Program, 1.0)];
        let told = of(CPU, &equal).unwrap();
        assert!(told.starts_with("CPU: us and them are level"), "{told}");
    }

    #[test]
    fn a_variant_is_a_rival_where_there_is_no_other() {
        let peers = [("us", Kind::Subject, 1.0), ("older", Kind::Variant, 2.0)];
        assert!(of(CPU, &peers)
            .unwrap()
            .contains("0.50 (0.50–0.50) of older."));
        assert_eq!(of(CPU, &peers[..1]), None);
    }
}
