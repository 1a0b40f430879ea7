//! What ptunnel's figures are held against.

use crate::model::Beside::{EachBut, Peer, Subject};
use crate::model::Bound::{AtLeast, AtMost};
use crate::model::{shown, target, Beside, Target};

/// Of each request and of each tunnel.
const CPU: &str = "cpu-kept-c5 cpu-100-c5 cpu-close-c5 cpu-kept-c50 cpu-100-c50 cpu-close-c50 \
                   cpu-embedded tunnels-embedded-cpu tunnels-embedded-c5-cpu cpu-tinyproxy tunnels-tinyproxy-cpu";
/// How much longer the Python threads take.
const PYTHON: &str = "python-threads";
/// The same program on async/await.
const AWAIT: Beside = Peer("r5");
/// proxytunnel and socat, which encrypt no more than ptunnel does.
const PACKAGES: Beside = EachBut(&["none", "python-threads", "ncat", "stunnel"]);
/// Both speak TLS to the server and check its certificate.
const OVER_TLS: &str = "ptunnel-tls";
/// Those of them whose queue holds 50 clients: proxytunnel asks for one of eight, and the others wait for a second SYN.
const WITH_A_QUEUE: Beside = EachBut(&["none", "python-threads", "ncat", "stunnel", "proxytunnel"]);

/// Where targets come from.
const ARTICLE: &str =
    "the articles’ ratio of the Python tunnel to the first one in Rust: 10.51 ÷ 0.31 ms = 34";
const TWICE: &str = "the articles’ claim that Rust is more than twice as fast";
const PARITY: &str = "promise: futures 0.1 costs no more than the same tunnel on async/await";
const OTHERS: &str = "promise: no dearer and no slower than the tunnels that Debian has";

pub const TARGETS: &[Target] = &[
    target("time-100-c5 time-close-c5", AtLeast(34.00), Subject)
        .of(PYTHON)
        .from(ARTICLE),
    target(
        "time-kept-c5 time-kept-c50 time-embedded",
        AtLeast(2.00),
        Subject,
    )
    .of(PYTHON)
    .from(TWICE),
    target(CPU, AtMost(1.00), AWAIT).from(PARITY),
    target("cpu-kept-c50 cpu-close-c50", AtMost(1.00), PACKAGES).from(OTHERS),
    target("tunnels-embedded", AtLeast(1.00), WITH_A_QUEUE).from(OTHERS),
    target("tunnels-embedded-c5", AtLeast(1.00), Peer("proxytunnel")).from(OTHERS),
    target("cpu-kept-c50 cpu-close-c50", AtMost(1.00), Peer("stunnel"))
        .of(OVER_TLS)
        .from(OTHERS),
    target("tunnels-embedded", AtLeast(1.00), Peer("stunnel"))
        .of(OVER_TLS)
        .from(OTHERS),
    shown("cpu-kept-c50", "r0-0.1.18"),
    shown("cpu-kept-c50", "tunnel-core"),
];

#[cfg(test)]
mod tests {
    use super::super::RIG;
    use super::*;
    use crate::model::Figure;

    #[test]
    fn the_cpu_of_each_request_and_of_each_tunnel_is_held_against_r5() {
        let is_cpu = |f: &&Figure| f.name.contains("cpu") && f.unit == "µs";
        for Figure { name, .. } in RIG.figures().filter(is_cpu) {
            let is_judged = |t: &Target| t.beside == AWAIT && t.figures().any(|f| f == *name);
            assert!(TARGETS.iter().any(is_judged), "{name}");
        }
    }
}
