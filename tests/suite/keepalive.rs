//! TCP keepalive of clients, proxies and destinations.

use std::net::SocketAddr;
use std::time::Duration;

use crate::ends::Gate;
use crate::support::{eventually_some, process, steadily, Connection, Ptunnel, TempDir};

/// The default of `--tcp-keepalive`.
#[track_caller]
fn is_asked_in_five_minutes(at: SocketAddr, from: SocketAddr) {
    is_asked_after(300, at, from);
}

/// Of the time the machine may have taken some.
#[track_caller]
fn is_asked_after(seconds: u64, at: SocketAddr, from: SocketAddr) {
    let wait = eventually_some("a keepalive timer", || process::keepalive(at, from));
    let time = Duration::from_secs(seconds);
    assert!(wait >= time * 4 / 5 && wait <= time, "{:?}", wait);
}

/// The rungs that stand on tokio 1 had none: a peer that left without a word held its tunnel.
#[test]
fn both_sides_of_a_tunnel_are_asked_after_five_minutes() {
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address()).to("a.example:1").start();
    let mut ends = gate.join(&program);
    ends.check();
    is_asked_in_five_minutes(program.address(), ends.client.local());
    let upstream = ends.server.stream().peer_addr().expect("a peer");
    is_asked_in_five_minutes(upstream, ends.server.local());
}

#[test]
fn both_sides_of_the_embedded_proxy_are_asked_after_five_minutes() {
    let gate = Gate::open();
    let program = Ptunnel::new().serving().start();
    let mut client = Connection::open(program.proxy());
    client.send(format!("CONNECT {} HTTP/1.1\r\n\r\n", gate.address()));
    let server = gate.accept();
    client.read_head();
    is_asked_in_five_minutes(program.proxy(), client.local());
    let upstream = server.stream().peer_addr().expect("a peer");
    is_asked_in_five_minutes(upstream, server.local());
}

#[test]
fn another_time_is_for_clients_and_proxies_and_0_is_never() {
    let folder = TempDir::new();
    let file = folder.file("ptunnel.toml", "tcp-keepalive = 40\n");
    for args in &[&["--tcp-keepalive", "40"][..], &["--config", &file]] {
        for threads in &["1", "2"] {
            let gate = Gate::open();
            let program = Ptunnel::through(gate.address()).to("a.example:1");
            let program = program.args(args).args(&["--threads", threads]).start();
            let mut ends = gate.join(&program);
            ends.check();
            is_asked_after(40, program.address(), ends.client.local());
            let upstream = ends.server.stream().peer_addr().expect("a peer");
            is_asked_after(40, upstream, ends.server.local());
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
