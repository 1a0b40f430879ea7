//! Who is asked whether they are still there.

use std::net::SocketAddr;
use std::time::Duration;

use crate::ends::Gate;
use crate::support::{eventually_some, process, Connection, Ptunnel};

/// GUIDE.md's five minutes, of which the machine may have taken some.
#[track_caller]
fn is_asked_in_five_minutes(at: SocketAddr, from: SocketAddr) {
    let wait = eventually_some("a keepalive timer", || process::keepalive(at, from));
    let (least, most) = (Duration::from_secs(240), Duration::from_secs(300));
    assert!(wait >= least && wait <= most, "{:?}", wait);
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
