//! Figures that are taken twice, the second time by another load generator, and whether both agree.

use crate::report::Results;

/// How far apart two generators may be: the greater value over the smaller. They share the load's core with the server
/// and cost it different amounts, which changes how busy the peer is, and with it the CPU that a request takes.
const BOUND: f64 = 1.5;

/// A rig, one of its figures, and the same by another generator.
type Repeat = (&'static str, &'static str, &'static str);

const REPEATS: &[Repeat] = &[
    ("relay", "cpu", "wrk-cpu"),
    ("relay", "requests", "wrk-requests"),
    ("echo", "cpu-c100", "wrk-cpu-c100"),
    ("echo", "messages-c100", "wrk-messages-c100"),
    ("plaintext", "cpu-d1", "wrk-cpu-d1"),
    ("plaintext", "requests-d1", "wrk-requests-d1"),
    ("tunnel", "time-100-c5", "ab-100"),
    ("tunnel", "time-close-c5", "ab-close"),
];

/// Says of each peer and figure that two generators disagree about, by how much.
pub fn disagreements(results: &Results) -> Vec<String> {
    let mut all = Vec::new();
    for (_, ours, theirs) in REPEATS.iter().filter(|(rig, ..)| *rig == results.rig) {
        for peer in results.peers.iter().map(|peer| &peer.name) {
            let median = |figure| results.spread(figure, peer).map(|spread| spread.median);
            let ratio = median(ours).zip(median(theirs)).map(|(a, b)| b / a);
            if let Some(ratio) = ratio.filter(|r| !(1.0 / BOUND..=BOUND).contains(r)) {
                all.push(format!(
                    "warning: {theirs} of {peer} is {ratio:.2} of {ours}, and two generators should agree within {BOUND}"
                ));
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::Kind;
    use crate::report::results::tests::example;
    use crate::rigs::RIGS;

    #[test]
    fn both_are_figures_of_the_rig() {
        for (rig, ours, theirs) in REPEATS {
            let rig = RIGS.iter().find(|known| known.name == *rig).unwrap();
            let known = |name: &str| rig.figures.iter().any(|f| f.name == name);
            assert!(known(ours) && known(theirs), "{ours}, {theirs}");
        }
    }

    #[test]
    fn generators_that_disagree_are_warned_of_and_those_that_are_missing_are_not() {
        let mut results = example(
            &[],
            &[("us", Kind::Subject, 1.0), ("them", Kind::Program, 1.0)],
        );
        results.add(
            "us",
            0,
            &[("cpu", 10.0), ("wrk-cpu", 14.9), ("requests", 3.0)],
        );
        results.add("them", 0, &[("cpu", 10.0), ("wrk-cpu", 15.1)]);
        let told = disagreements(&results);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(
            told[0].contains("wrk-cpu of them is 1.51 of cpu"),
            "{told:?}"
        );
        results.add("us", 0, &[("wrk-requests", 1.9)]);
        assert_eq!(disagreements(&results).len(), 2);
    }
}
