//! Figures that are taken twice, the second time by another load generator, and whether both agree.

use super::rig::Rig;
use crate::model::Results;

/// How far apart two generators may be: the greater value over the smaller. They share the load's core with the server
/// and cost it different amounts, which changes how busy the peer is, and with it the CPU that a request takes.
const BOUND: f64 = 1.5;

/// Says of each peer and figure that two generators disagree about, by how much.
pub fn disagreements(rig: &Rig, results: &Results) -> Vec<String> {
    let mut all = Vec::new();
    for [ours, theirs] in rig.repeats {
        for peer in results.peers.iter().map(|peer| &peer.name) {
            let median = |figure| results.median(figure, peer);
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
    use crate::model::example::example;
    use crate::model::Kind;

    #[test]
    fn generators_that_disagree_are_warned_of_and_those_that_are_missing_are_not() {
        let rig = Rig {
            name: "relay",
            question: "",
            plotted: &[],
            targets: &[],
            groups: &[],
            repeats: &[["cpu", "wrk-cpu"], ["requests", "wrk-requests"]],
            quick_note: None,
        };
        let peers = [("us", Kind::Subject, 1.0), ("them", Kind::Program, 1.0)];
        let mut results = example(&[], &peers);
        results.add(
            "us",
            0,
            &[("cpu", 10.0), ("wrk-cpu", 14.9), ("requests", 3.0)],
        );
        results.add("them", 0, &[("cpu", 10.0), ("wrk-cpu", 15.1)]);
        let told = disagreements(&rig, &results);
        let wanted = "wrk-cpu of them is 1.51 of cpu";
        assert!(told.len() == 1 && told[0].contains(wanted), "{told:?}");
        results.add("us", 0, &[("wrk-requests", 1.9)]);
        assert_eq!(disagreements(&rig, &results).len(), 2);
    }
}
