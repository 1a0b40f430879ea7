//! The columns of the report, the panels of its plot, and the targets.

use crate::report::results::{figure, Figure};
use crate::report::targets::{shown, target, Against, Bound, Target};

pub const FIGURES: &[Figure] = &[
    figure("cpu-c1", "µs", "CPU per message, 1 connection", true),
    figure("cpu-c100", "µs", "CPU per message, 100 connections", true),
    figure(
        "cpu-c10000",
        "µs",
        "CPU per message, 10,000 connections",
        true,
    ),
    figure(
        "cpu-c100-t2",
        "µs",
        "CPU per message, 100 connections, 2 threads",
        true,
    ),
    figure("messages-c1", "1/s", "messages, 1 connection", false),
    figure("messages-c100", "1/s", "messages, 100 connections", false),
    figure(
        "messages-c10000",
        "1/s",
        "messages, 10,000 connections",
        false,
    ),
    figure(
        "messages-c100-t2",
        "1/s",
        "messages, 100 connections, 2 threads",
        false,
    ),
    figure(
        "wrk-cpu-c100",
        "µs",
        "CPU per message, 100 connections, by wrk",
        true,
    ),
    figure(
        "wrk-messages-c100",
        "1/s",
        "messages, 100 connections, by wrk",
        false,
    ),
    figure("instructions", "Ir", "user instructions per message", true),
    figure("allocations", "each", "allocations per message", true),
    figure(
        "calls-io",
        "calls",
        "calls that move bytes per message",
        true,
    ),
    figure(
        "calls-other",
        "calls",
        "other system calls per message",
        true,
    ),
];

pub const PLOTTED: &[&str] = &[
    "cpu-c1",
    "cpu-c100",
    "cpu-c10000",
    "cpu-c100-t2",
    "messages-c100",
    "instructions",
];

use Against::{Itself, Pair, Peer};
use Bound::AtMost;

/// The same future on ptunnel's sockets and run queue, which no program of the time had.
const REACTOR: &str = "ptunnel-reactor";

/// Where the targets come from.
const ARTICLE: &str =
    "the article that had May 1.33 times ahead of tokio-core, with other threads on both sides";
const ALLOCATIONS: &str = "the claim of futures 0.1: a message allocates nothing";

pub const TARGETS: &[Target] = &[
    target("cpu-c1", AtMost(1.00), Peer("may")).from(ARTICLE),
    target("cpu-c100", AtMost(1.00), Peer("may")).from(ARTICLE),
    target("cpu-c10000", AtMost(1.00), Peer("may")).from(ARTICLE),
    target("cpu-c100-t2", AtMost(1.00), Peer("may")).from(ARTICLE),
    target("cpu-c1", AtMost(1.00), Pair(REACTOR, "may")).from(ARTICLE),
    target("cpu-c100", AtMost(1.00), Pair(REACTOR, "may")).from(ARTICLE),
    target("cpu-c10000", AtMost(1.00), Pair(REACTOR, "may")).from(ARTICLE),
    target("cpu-c100-t2", AtMost(1.00), Pair(REACTOR, "may")).from(ARTICLE),
    target("allocations", AtMost(0.00), Itself).from(ALLOCATIONS),
    shown("cpu-c100", REACTOR),
    shown("cpu-c100", "tokio-core-0.1.18"),
    shown("cpu-c100", "tokio-core-drop-in"),
    shown("cpu-c100", "tokio"),
    shown("cpu-c100", "epoll"),
];
