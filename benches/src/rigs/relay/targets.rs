//! What ptunnel's figures are held against.

use crate::model::Beside::{EachOfSameSteps, EachThatSplices, Limit, Peer};
use crate::model::Bound::{AtLeast, AtMost};
use crate::model::{shown, target, Target};

const BULK: &str = "bulk-download-cpu bulk-upload-cpu bulk-both-cpu";
/// Where targets come from.
const PARITY: &str = "promise: carrying bytes costs no more than in a relay that does only that";
const AWAIT: &str = "promise: futures 0.1 costs no more than the same tunnel on async/await";
const SPLICE: &str = "promise: at most a tenth more than the best relay that splices";
const ALLOCATIONS: &str = "the claim of futures 0.1: a message allocates nothing";
const CALLS: &str = "what a message needs: a receive and a send, and a share of epoll";
const IDLE: &str = "promise of README: two descriptors";
const LADDER: &str = "compat/ladder: a half-way rung costs no more than its end";

pub const TARGETS: &[Target] = &[
    target("cpu-60", AtMost(1.00), Peer("tokio"))
        .or("cpu")
        .from(PARITY),
    target("cpu-60", AtMost(1.00), Peer("haproxy"))
        .or("cpu")
        .from(PARITY),
    target("cpu-60", AtMost(1.00), Peer("r5"))
        .or("cpu")
        .from(AWAIT),
    target("cpu", AtMost(1.05), Peer("r5"))
        .of("r3")
        .from(LADDER),
    target("instructions", AtMost(1.00), Peer("tokio")).from(PARITY),
    target("allocations", AtMost(0.00), Limit).from(ALLOCATIONS),
    target("calls-io", AtMost(2.00), Limit).from(CALLS),
    target("calls-other", AtMost(0.20), Limit).from(CALLS),
    target(BULK, AtMost(1.10), EachThatSplices).from(SPLICE),
    target("descriptors", AtMost(2.00), Limit).from(IDLE),
    target("pipe-ends", AtMost(0.00), Limit).from(IDLE),
    target("tunnels", AtLeast(1.00), EachOfSameSteps).from(PARITY),
    target("ping-p50", AtMost(1.00), Peer("r5")).from(AWAIT),
    target("ping-p50", AtMost(1.00), Peer("tokio")).from(PARITY),
    target("ping-p99", AtMost(1.00), Peer("r5")).from(AWAIT),
    target("ping-p99", AtMost(1.00), Peer("tokio")).from(PARITY),
    shown("cpu", "r0"),
    shown("cpu", "relay-core"),
];
