//! What a reader asks first: CPU per request of this program, its rungs and its rivals.

use crate::model::stats::pairs_needed;
use crate::model::{Figure, Kind, Results};
use crate::peers::Spec;

/// The rig that answers it.
pub const RIG: &str = "relay";
/// CPU per request at 60 % utilisation or, in a run without it, at saturation.
const FIGURES: &[&str] = &["cpu-60", "cpu"];
/// In the order of the plot; what a run lacks is left out.
pub const PEERS: &str = "r0 r1 r2 r3 r4 r5 ptunnel relay-core tokio may threads haproxy epoll";
/// The six comparisons of ptunnel that are to be resolved.
pub const RIVALS: &[&str] = &["r0", "r5", "relay-core", "tokio", "haproxy", "epoll"];
/// The difference that pairs enough tell from none: 3 %.
pub const RESOLUTION: f64 = 0.03;
/// More pairs than this are not taken, whatever the noise.
pub const MOST_PAIRS: usize = 120;

/// The figure of the plot, if the run has it.
pub fn figure(results: &Results) -> Option<Figure> {
    let measured = results.measured();
    let named = |name: &&str| measured.iter().find(|f| f.name == *name).copied();
    let found = FIGURES.iter().find_map(named);
    found.filter(|_| results.rig == RIG)
}

/// The figure that a run of this rig is going to be judged by, of those that it was asked for.
pub fn planned(results: &Results) -> Option<&'static str> {
    let left = |name: &str| results.left_out.figures.iter().any(|f| f == name);
    let mut asked = FIGURES
        .iter()
        .filter(|name| results.figure(name).is_some() && !left(name));
    asked.next().copied().filter(|_| results.rig == RIG)
}

/// Whether it is one of the compared.
pub fn compares(spec: &Spec) -> bool {
    spec.kind == Kind::Subject || RIVALS.contains(&&*spec.name)
}

/// One of the six comparisons: rival, pairs that were taken, pairs that resolve 3 %.
pub fn pairs(results: &Results) -> Vec<(&'static str, usize, usize)> {
    let (Some(figure), Some(subject)) = (figure(results), results.subject()) else {
        return Vec::new();
    };
    let of = |rival| {
        let ratios = results.ratios(figure.name, &subject.name, rival);
        Some((rival, ratios.len(), pairs_needed(&ratios, RESOLUTION)?))
    };
    RIVALS.iter().copied().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::example::{example, CPU};
    use crate::model::less;

    #[test]
    fn a_run_that_was_asked_for_the_closed_loop_alone_is_judged_by_it() {
        let at_rate = less("cpu-60", "µs", "");
        let mut results = example(&[at_rate, CPU], &[]);
        assert_eq!(planned(&results), Some("cpu-60"));
        results.left_out.figures = vec!["cpu-60".to_string()];
        assert_eq!(planned(&results), Some("cpu"));
    }

    #[test]
    fn pairs_are_counted_and_estimated_for_those_that_were_measured() {
        let peers = [
            ("ptunnel", Kind::Subject, 1.0),
            ("tokio", Kind::Program, 2.0),
            ("nginx", Kind::Package, 2.0),
        ];
        let mut results = example(&[CPU], &peers);
        assert_eq!(pairs(&results), [("tokio", 3, 0)]);
        results.add("ptunnel", 3, &[("cpu", 1.0)]);
        results.add("tokio", 3, &[("cpu", 1.6)]);
        let [(_, 4, needed)] = pairs(&results)[..] else {
            panic!()
        };
        assert!((50..200).contains(&needed), "{needed}");
        results.rig = "echo";
        assert!(pairs(&results).is_empty());
    }
}
