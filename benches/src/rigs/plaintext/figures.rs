//! The columns of the report, the panels of its plot, and the targets.

use crate::report::results::{figure, Figure};
use crate::report::targets::{shown, target, Against, Bound, Target};

pub const FIGURES: &[Figure] = &[
    figure("rules-broken", "rules", "rules broken", true),
    figure("reply-bytes", "bytes", "bytes of a reply", true),
    figure("cpu-d1", "µs", "CPU per request, one at a time", true),
    figure("requests-d1", "1/s", "requests, one at a time", false),
    figure("cpu-d16", "µs", "CPU per request, 16 pipelined", true),
    figure("requests-d16", "1/s", "requests, 16 pipelined", false),
    figure("cpu-d32", "µs", "CPU per request, 32 pipelined", true),
    figure("requests-d32", "1/s", "requests, 32 pipelined", false),
    figure(
        "cpu-c1024",
        "µs",
        "CPU per request, 16 pipelined, 1,024 connections",
        true,
    ),
    figure(
        "requests-c1024",
        "1/s",
        "requests, 16 pipelined, 1,024 connections",
        false,
    ),
    figure(
        "wrk-cpu-d1",
        "µs",
        "CPU per request, one at a time, by wrk",
        true,
    ),
    figure(
        "wrk-requests-d1",
        "1/s",
        "requests, one at a time, by wrk",
        false,
    ),
    figure(
        "instructions-d1",
        "Ir",
        "user instructions per request, one at a time",
        true,
    ),
    figure(
        "instructions-d16",
        "Ir",
        "user instructions per request, 16 pipelined",
        true,
    ),
    figure(
        "allocations-d1",
        "each",
        "allocations per request, one at a time",
        true,
    ),
    figure(
        "allocations-d16",
        "each",
        "allocations per request, 16 pipelined",
        true,
    ),
];

pub const PLOTTED: &[&str] = &[
    "cpu-d1",
    "cpu-d16",
    "cpu-d32",
    "cpu-c1024",
    "instructions-d1",
    "instructions-d16",
];

use Against::{EachBut, Itself, OfEachBut, Pair, Peer};
use Bound::AtMost;

/// Those that the CPU is not compared with: the floor has its own targets, and the same server on tokio 1 is shown only.
const NO_RIVALS: &[&str] = &["mio", "tokio"];
const OTHERS: Against = EachBut(NO_RIVALS);
/// The program of the articles beside the same rivals. The subject has what it lacks: its own sockets and run queue.
const LITERALLY: Against = OfEachBut(LITERAL, NO_RIVALS);
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
    target("rules-broken", AtMost(0.00), Itself).from(RULES),
    target("instructions-d16", DEEP, Peer("mio")).from(FLOOR),
    target("instructions-d16", DEEP, Pair(BUFFERED, "mio")).from(FLOOR),
    target("instructions-d16", DEEP, Pair(LITERAL, "mio")).from(FLOOR),
    target("instructions-d1", SHALLOW, Peer("mio")).from(FLOOR),
    target("instructions-d1", SHALLOW, Pair(BUFFERED, "mio")).from(FLOOR),
    target("instructions-d1", SHALLOW, Pair(LITERAL, "mio")).from(FLOOR),
    target("allocations-d1", AtMost(0.00), Itself).from(ALLOCATIONS),
    target("cpu-d1", LESS, OTHERS).from(RIVALS),
    target("cpu-d16", LESS, OTHERS).from(RIVALS),
    target("cpu-d32", LESS, OTHERS).from(RIVALS),
    target("cpu-c1024", LESS, OTHERS).from(RIVALS),
    target("cpu-d1", LESS, LITERALLY).from(RIVALS),
    target("cpu-d16", LESS, LITERALLY).from(RIVALS),
    target("cpu-d32", LESS, LITERALLY).from(RIVALS),
    target("cpu-c1024", LESS, LITERALLY).from(RIVALS),
    shown("cpu-d1", LITERAL),
    shown("cpu-d16", LITERAL),
    shown("cpu-d32", LITERAL),
    shown("cpu-c1024", LITERAL),
];

/// No speed is promised: it is shown.
pub const TARGETS_OVER_TLS: &[Target] = &[
    target("rules-broken", AtMost(0.00), Itself).from(RULES),
    shown("cpu-d1", "tokio"),
    shown("cpu-d16", "tokio"),
    shown("cpu-d1", "go-nethttp"),
    shown("cpu-d16", "go-nethttp"),
    shown("cpu-d1", "go-fasthttp"),
    shown("cpu-d16", "go-fasthttp"),
    shown("cpu-d1", "node"),
    shown("cpu-d16", "node"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_articles_program_has_every_target_that_the_subject_has() {
        for ours in TARGETS {
            let theirs = match ours.against {
                Peer(name) => Pair(LITERAL, name),
                EachBut(names) => OfEachBut(LITERAL, names),
                _ => continue,
            };
            let is_same =
                |t: &Target| (t.figure, t.bound, t.against) == (ours.figure, ours.bound, theirs);
            assert!(TARGETS.iter().any(is_same), "{ours:?}");
        }
    }
}
