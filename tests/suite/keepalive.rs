//! TCP keepalive of clients, proxies and destinations.

use std::net::SocketAddr;
use std::time::Duration;

use support::ends::Gate;
use support::{eventually_some, process, steadily, Connection, Ptunnel, TempDir};

/// The default of `--tcp-keepalive`.
#[track_caller]
fn expect_probe_after_five_minutes(at: SocketAddr, from: SocketAddr) {
    expect_probe_after(300, at, from);
}

/// Checks the time until the next probe; a busy machine may have used some of it.
#[track_caller]
fn expect_probe_after(seconds: u64, at: SocketAddr, from: SocketAddr) {
    let wait = eventually_some("a keepalive timer", || process::keepalive(at, from));
    let time = Duration::from_secs(seconds);
    assert!(wait >= time * 4 / 5 && wait <= time, "{:?}", wait);
}

/// Regression: the rungs on tokio 1 had no keepalive, and a peer that disappeared held its tunnel.
#[test]
fn both_sides_of_a_tunnel_are_probed_after_five_minutes() {
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address()).to("a.example:1").start();
    let mut ends = gate.join(&program);
    ends.check();
    expect_probe_after_five_minutes(program.address(), ends.client.local());
    let upstream = ends.server.stream().peer_addr().expect("a peer");
    expect_probe_after_five_minutes(upstream, ends.server.local());
}

#[test]
fn both_sides_of_the_embedded_proxy_are_probed_after_five_minutes() {
    let gate = Gate::open();
    let program = Ptunnel::new().serving().start();
    let mut client = Connection::open(program.proxy());
    client.send(format!("CONNECT {} HTTP/1.1\r\n\r\n", gate.address()));
    let server = gate.accept();
    client.read_head();
    expect_probe_after_five_minutes(program.proxy(), client.local());
    let upstream = server.stream().peer_addr().expect("a peer");
    expect_probe_after_five_minutes(upstream, server.local());
}

#[test]
fn the_option_sets_the_time_for_both_sides_and_0_means_never() {
    let folder = TempDir::new();
    let file = folder.file("ptunnel.toml", "tcp-keepalive = 40\n");
    for args in &[&["--tcp-keepalive", "40"][..], &["--config", &file]] {
        for threads in &["1", "2"] {
            let gate = Gate::open();
            let program = Ptunnel::through(gate.address()).to("a.example:1");
            let program = program.args(args).args(&["--threads", threads]).start();
            let mut ends = gate.join(&program);
            ends.check();
            expect_probe_after(40, program.address(), ends.client.local());
            let upstream = ends.server.stream().peer_addr().expect("a peer");
            expect_probe_after(40, upstream, ends.server.local());
        }
    }
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address()).to("a.example:1");
    let program = program.args(&["--tcp-keepalive", "0"]).start();
    let mut ends = gate.join(&program);
    ends.check();
    let upstream = ends.server.stream().peer_addr().expect("a peer");
    steadily("no timer", Duration::from_millis(300), || {
        process::keepalive(program.address(), ends.client.local()).is_none()
            && process::keepalive(upstream, ends.server.local()).is_none()
    });
}
