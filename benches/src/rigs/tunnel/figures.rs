//! The columns of the report, the panels of its plot, and the targets.

use crate::report::results::{figure, Figure};
use crate::report::targets::{shown, target, Against, Bound, Target};

pub const FIGURES: &[Figure] = &[
    figure(
        "time-kept-c5",
        "ms",
        "time per request, squid, kept, 5 clients",
        true,
    ),
    figure(
        "cpu-kept-c5",
        "µs",
        "CPU per request, squid, kept, 5 clients",
        true,
    ),
    figure(
        "time-100-c5",
        "ms",
        "time per request, squid, closed after 100, 5 clients",
        true,
    ),
    figure(
        "cpu-100-c5",
        "µs",
        "CPU per request, squid, closed after 100, 5 clients",
        true,
    ),
    figure(
        "time-close-c5",
        "ms",
        "time per request, squid, closed, 5 clients",
        true,
    ),
    figure(
        "cpu-close-c5",
        "µs",
        "CPU per request, squid, closed, 5 clients",
        true,
    ),
    figure(
        "time-kept-c50",
        "ms",
        "time per request, squid, kept, 50 clients",
        true,
    ),
    figure(
        "cpu-kept-c50",
        "µs",
        "CPU per request, squid, kept, 50 clients",
        true,
    ),
    figure(
        "time-100-c50",
        "ms",
        "time per request, squid, closed after 100, 50 clients",
        true,
    ),
    figure(
        "cpu-100-c50",
        "µs",
        "CPU per request, squid, closed after 100, 50 clients",
        true,
    ),
    figure(
        "time-close-c50",
        "ms",
        "time per request, squid, closed, 50 clients",
        true,
    ),
    figure(
        "cpu-close-c50",
        "µs",
        "CPU per request, squid, closed, 50 clients",
        true,
    ),
    figure(
        "time-embedded",
        "ms",
        "time per request, embedded proxy, kept, 50 clients",
        true,
    ),
    figure(
        "cpu-embedded",
        "µs",
        "CPU per request, embedded proxy, kept, 50 clients",
        true,
    ),
    figure(
        "tunnels-embedded",
        "1/s",
        "new tunnels with one request, embedded proxy, 50 clients",
        false,
    ),
    figure(
        "tunnels-embedded-cpu",
        "µs",
        "CPU per new tunnel, embedded proxy, 50 clients",
        true,
    ),
    figure(
        "tunnels-embedded-c5",
        "1/s",
        "new tunnels with one request, embedded proxy, 5 clients",
        false,
    ),
    figure(
        "tunnels-embedded-c5-cpu",
        "µs",
        "CPU per new tunnel, embedded proxy, 5 clients",
        true,
    ),
    figure(
        "time-tinyproxy",
        "ms",
        "time per request, tinyproxy, kept, 50 clients",
        true,
    ),
    figure(
        "cpu-tinyproxy",
        "µs",
        "CPU per request, tinyproxy, kept, 50 clients",
        true,
    ),
    figure(
        "tunnels-tinyproxy",
        "1/s",
        "new tunnels with one request, tinyproxy",
        false,
    ),
    figure(
        "tunnels-tinyproxy-cpu",
        "µs",
        "CPU per new tunnel, tinyproxy",
        true,
    ),
    figure(
        "ab-100",
        "ms",
        "ab, time per request, squid, closed after 100",
        true,
    ),
    figure(
        "ab-close",
        "ms",
        "ab, time per request, squid, closed",
        true,
    ),
    figure("bulk-download", "GiB/s", "bulk download", false),
    figure("bulk-download-cpu", "s/GiB", "bulk download, CPU", true),
    figure("bulk-upload", "GiB/s", "bulk upload", false),
    figure("bulk-upload-cpu", "s/GiB", "bulk upload, CPU", true),
    figure("memory", "KiB", "memory per idle tunnel of 1,000", true),
    figure("calls-io", "calls", "recv and send per message", true),
    figure(
        "calls-other",
        "calls",
        "other system calls per message",
        true,
    ),
    figure(
        "calls-tunnel",
        "calls",
        "system calls per new tunnel with one request",
        true,
    ),
];

pub const PLOTTED: &[&str] = &[
    "cpu-kept-c50",
    "cpu-close-c50",
    "tunnels-embedded",
    "time-kept-c5",
    "time-100-c5",
    "time-close-c5",
    "bulk-download",
    "memory",
    "calls-tunnel",
];

use Against::{EachBut, Pair, Peer};
use Bound::{AtLeast, AtMost};

/// How much longer the Python threads take.
const PYTHON: Against = Pair("python-threads", "ptunnel");
/// The same program on async/await.
const AWAIT: Against = Peer("r5");
/// proxytunnel and socat, which encrypt no more than ptunnel does.
const PACKAGES: Against = EachBut(&["none", "python-threads", "ncat", "stunnel"]);
/// Both speak TLS to the server and check its certificate.
const OVER_TLS: Against = Pair("ptunnel-tls", "stunnel");
/// Those of them whose queue holds 50 clients: proxytunnel asks for one of eight, and the others wait for a second SYN.
const WITH_A_QUEUE: Against =
    EachBut(&["none", "python-threads", "ncat", "stunnel", "proxytunnel"]);

/// Where targets come from.
const ARTICLE: &str =
    "the articles’ ratio of the Python tunnel to the first one in Rust: 10.51 ÷ 0.31 ms = 34";
const TWICE: &str = "the articles’ claim that Rust is more than twice as fast";
const PARITY: &str = "promise: futures 0.1 costs no more than the same tunnel on async/await";
const OTHERS: &str = "promise: no dearer and no slower than the tunnels that Debian has";

pub const TARGETS: &[Target] = &[
    target("time-100-c5", AtLeast(34.00), PYTHON).from(ARTICLE),
    target("time-close-c5", AtLeast(34.00), PYTHON).from(ARTICLE),
    target("time-kept-c5", AtLeast(2.00), PYTHON).from(TWICE),
    target("time-kept-c50", AtLeast(2.00), PYTHON).from(TWICE),
    target("time-embedded", AtLeast(2.00), PYTHON).from(TWICE),
    target("cpu-kept-c5", AtMost(1.00), AWAIT).from(PARITY),
    target("cpu-100-c5", AtMost(1.00), AWAIT).from(PARITY),
    target("cpu-close-c5", AtMost(1.00), AWAIT).from(PARITY),
    target("cpu-kept-c50", AtMost(1.00), AWAIT).from(PARITY),
    target("cpu-100-c50", AtMost(1.00), AWAIT).from(PARITY),
    target("cpu-close-c50", AtMost(1.00), AWAIT).from(PARITY),
    target("cpu-embedded", AtMost(1.00), AWAIT).from(PARITY),
    target("tunnels-embedded-cpu", AtMost(1.00), AWAIT).from(PARITY),
    target("tunnels-embedded-c5-cpu", AtMost(1.00), AWAIT).from(PARITY),
    target("cpu-tinyproxy", AtMost(1.00), AWAIT).from(PARITY),
    target("tunnels-tinyproxy-cpu", AtMost(1.00), AWAIT).from(PARITY),
    target("cpu-kept-c50", AtMost(1.00), PACKAGES).from(OTHERS),
    target("cpu-close-c50", AtMost(1.00), PACKAGES).from(OTHERS),
    target("tunnels-embedded", AtLeast(1.00), WITH_A_QUEUE).from(OTHERS),
    target("tunnels-embedded-c5", AtLeast(1.00), Peer("proxytunnel")).from(OTHERS),
    target("cpu-kept-c50", AtMost(1.00), OVER_TLS).from(OTHERS),
    target("cpu-close-c50", AtMost(1.00), OVER_TLS).from(OTHERS),
    target("tunnels-embedded", AtLeast(1.00), OVER_TLS).from(OTHERS),
    shown("cpu-kept-c50", "r0-0.1.18"),
    shown("cpu-kept-c50", "tunnel-core"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_of_each_request_and_of_each_tunnel_is_held_against_r5() {
        let is_cpu = |f: &&Figure| f.name.contains("cpu") && f.unit == "µs";
        for figure in FIGURES.iter().filter(is_cpu) {
            let judged = |t: &Target| t.figure == figure.name && t.against == AWAIT;
            assert!(TARGETS.iter().any(judged), "{}", figure.name);
        }
    }
}
