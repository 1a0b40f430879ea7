//! The columns of the report, the panels of its plot, and the targets.

use crate::report::results::{figure, Figure};
use crate::report::targets::{target, Against, Bound, Target};

pub const FIGURES: &[Figure] = &[
    figure("handshake", "Ir", "instructions per new tunnel", true),
    figure(
        "handshake-allocations",
        "each",
        "allocations per new tunnel",
        true,
    ),
    figure("mib-download", "Ir", "instructions per MiB down", true),
    figure(
        "mib-download-allocations",
        "each",
        "allocations per MiB down",
        true,
    ),
    figure("mib-upload", "Ir", "instructions per MiB up", true),
    figure(
        "mib-upload-allocations",
        "each",
        "allocations per MiB up",
        true,
    ),
    figure(
        "message",
        "Ir",
        "the same work: instructions per message",
        true,
    ),
    figure(
        "message-allocations",
        "each",
        "the same work: allocations per message",
        true,
    ),
    figure(
        "connection",
        "Ir",
        "the same work: instructions per connection of one message",
        true,
    ),
    figure(
        "connection-allocations",
        "each",
        "the same work: allocations per connection",
        true,
    ),
    figure(
        "combinator",
        "Ir",
        "instructions per combinator, or async fn",
        true,
    ),
    figure(
        "combinator-allocations",
        "each",
        "allocations per combinator, or async fn",
        true,
    ),
    figure("task", "Ir", "instructions per task that waits once", true),
    figure("task-allocations", "each", "allocations per task", true),
    figure("wait", "Ir", "instructions per wait of one task", true),
    figure("wait-allocations", "each", "allocations per wait", true),
];

pub const PLOTTED: &[&str] = &[
    "handshake",
    "mib-download",
    "message",
    "combinator",
    "task-allocations",
];

use Against::LimitOf;
use Bound::AtMost;

/// Where the targets come from.
const ALLOCATIONS: &str =
    "the claim of futures 0.1: one allocation a task, none a combinator or a message";

pub const TARGETS: &[Target] = &[
    target("combinator-allocations", AtMost(0.00), LimitOf("chain")).from(ALLOCATIONS),
    target("task-allocations", AtMost(1.00), LimitOf("spawn-futures")).from(ALLOCATIONS),
    target("task-allocations", AtMost(1.00), LimitOf("spawn-ptunnel")).from(ALLOCATIONS),
    target("task-allocations", AtMost(1.00), LimitOf("spawn-core")).from(ALLOCATIONS),
    target("message-allocations", AtMost(0.00), LimitOf("chain")).from(ALLOCATIONS),
    target("message-allocations", AtMost(0.00), LimitOf("future")).from(ALLOCATIONS),
];
