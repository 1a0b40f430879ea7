//! What the servers are held against.

use crate::model::Beside::{EachBut, Limit, Peer};
use crate::model::Bound::AtMost;
use crate::model::{shown, target, Beside, Bound, Target};

/// Those that the CPU is not compared with: the floor has its own targets, and the same server on tokio 1 is shown only.
const OTHERS: Beside = EachBut(&["mio", "tokio"]);
/// The program of the articles. The subject has what it lacks: its own sockets and run queue.
const LITERAL: &str = "tokio-core-literal";
/// What lies between both: the subject's sockets and run queue, and `buffered(32)` from the library.
const BUFFERED: &str = "tokio-core-buffered";
/// User instructions that are allowed beside mio, at depths 16 and 1.
const DEEP: Bound = AtMost(1.10);
const SHALLOW: Bound = AtMost(1.25);
/// No dearer.
const LESS: Bound = AtMost(1.00);
/// Where targets come from.
const RULES: &str = "the rules of TechEmpower's plaintext test";
const FLOOR: &str = "promise: combinators add a quarter to mio's instructions, a tenth where 16 requests share a turn";
const ALLOCATIONS: &str = "the claim of futures 0.1: a request allocates nothing";
const RIVALS: &str = "promise: a server on futures 0.1 costs no more CPU than those of today";

pub const TARGETS: &[Target] = &[
    target("rules-broken", AtMost(0.00), Limit).from(RULES),
    target("instructions-d16", DEEP, Peer("mio")).from(FLOOR),
    target("instructions-d16", DEEP, Peer("mio"))
        .of(BUFFERED)
        .from(FLOOR),
    target("instructions-d16", DEEP, Peer("mio"))
        .of(LITERAL)
        .from(FLOOR),
    target("instructions-d1", SHALLOW, Peer("mio")).from(FLOOR),
    target("instructions-d1", SHALLOW, Peer("mio"))
        .of(BUFFERED)
        .from(FLOOR),
    target("instructions-d1", SHALLOW, Peer("mio"))
        .of(LITERAL)
        .from(FLOOR),
    target("allocations-d1", AtMost(0.00), Limit).from(ALLOCATIONS),
    target("cpu-d1 cpu-d16 cpu-d32 cpu-c1024", LESS, OTHERS).from(RIVALS),
    target("cpu-d1 cpu-d16 cpu-d32 cpu-c1024", LESS, OTHERS)
        .of(LITERAL)
        .from(RIVALS),
    shown("cpu-d1 cpu-d16 cpu-d32 cpu-c1024", LITERAL),
];

/// No speed is promised: it is shown.
pub const OVER_TLS: &[Target] = &[
    target("rules-broken", AtMost(0.00), Limit).from(RULES),
    shown("cpu-d1 cpu-d16", "tokio"),
    shown("cpu-d1 cpu-d16", "go-nethttp"),
    shown("cpu-d1 cpu-d16", "go-fasthttp"),
    shown("cpu-d1 cpu-d16", "node"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_articles_program_has_every_target_that_the_subject_has() {
        let of = |peer| {
            let its = TARGETS
                .iter()
                .filter(|t| t.bound.is_some() && t.ours == peer);
            let its = its.filter(|t| t.beside != Limit);
            its.map(|t| (t.figures, t.bound, t.beside))
                .collect::<Vec<_>>()
        };
        assert_eq!(of(None), of(Some(LITERAL)));
    }
}
