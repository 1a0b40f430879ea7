//! Clients that wait while ptunnel checks whether a refusal is about the password.

use std::sync::atomic::Ordering;

use crate::authorization::{
    ask_at_once, assert_open, assert_refused, passwords, Group, BASIC, NEXT, OF_DESTINATION,
};
use crate::serve::request;
use support::{eventually, Peer};

/// Regression: each of them sent the password meanwhile.
#[test]
fn others_wait_for_the_reply_to_a_check() {
    let proxy = Group::start();
    let program = proxy.program().start();
    assert_open(&program, "slow.test:1");
    *proxy.stuck.lock().unwrap() = "slow.test:1";
    *proxy.valid.lock().unwrap() = NEXT;
    proxy.asked();
    let mut all = vec![program.connect()];
    all[0].send(request("a.test:1"));
    eventually("the check", || proxy.asked.lock().unwrap().len() == 3);
    for index in 0..5 {
        let mut client = program.connect();
        client.send(request(format!("n{}.test:1", index)));
        all.push(client);
    }
    eventually("their connections", || proxy.peer.accepted() == 4 + 5);
    *proxy.stuck.lock().unwrap() = "";
    for client in &mut all {
        assert!(client.read_head().starts_with(b"HTTP/1.1 502 "));
    }
    let asked = proxy.asked();
    assert_eq!(passwords(&asked), 2, "{:?}", asked);
}

/// PAM takes two or three seconds. Regression: each of them sent the password after three.
#[test]
fn others_wait_for_a_slow_refusal() {
    let proxy = Group::start();
    let program = proxy.program().start();
    assert_open(&program, "a.test:1");
    *proxy.valid.lock().unwrap() = NEXT;
    proxy.delay.store(4, Ordering::Relaxed);
    proxy.asked();
    let mut all = vec![program.connect()];
    all[0].send(request("b.test:1"));
    eventually("the check", || proxy.asked.lock().unwrap().len() == 3);
    all.extend(ask_at_once(&program));
    for client in &mut all {
        assert!(client.read_head().starts_with(b"HTTP/1.1 502 "));
    }
    let asked = proxy.asked();
    assert_eq!(passwords(&asked), 2, "{:?}", asked);
}

/// The destination of the check may answer no more. Regression: each of them sent the password.
#[test]
fn one_of_the_others_goes_on_if_a_check_takes_long() {
    for (valid, status, count) in &[(BASIC, "HTTP/1.1 200 ", 12), (NEXT, "HTTP/1.1 502 ", 3)] {
        let proxy = Group::start();
        let program = proxy.program().start();
        assert_open(&program, "slow.test:1");
        *proxy.stuck.lock().unwrap() = "slow.test:1";
        *proxy.valid.lock().unwrap() = valid;
        proxy.asked();
        let mut denied = program.connect();
        denied.send(request("x.test:1"));
        eventually("the check", || proxy.asked.lock().unwrap().len() == 3);
        for mut client in ask_at_once(&program) {
            assert!(client.read_head().starts_with(status.as_bytes()));
        }
        assert!(denied.is_quiet(), "the check goes on");
        *proxy.stuck.lock().unwrap() = "";
        assert!(denied.read_head().starts_with(b"HTTP/1.1 502 "));
        let asked = proxy.asked();
        assert_eq!(passwords(&asked), *count, "{:?}", asked);
    }
}

/// Regression: any client of `-D` could keep all others from the password, for an hour.
#[test]
fn a_client_that_leaves_during_its_check_keeps_nobody_waiting() {
    let proxy = Group::start();
    let program = proxy.program().start();
    let names = ["a.test:1", "b.test:1", "c.test:1"];
    assert_open(&program, names[0]);
    for two in names.windows(2) {
        *proxy.stuck.lock().unwrap() = two[0];
        proxy.asked();
        let mut client = program.connect();
        client.send(request("x.test:1"));
        let check = ["x.test:1+".into(), two[0].into(), format!("{}+", two[0])];
        eventually("the check", || *proxy.asked.lock().unwrap() == check);
        client.reset();
        assert_open(&program, two[1]);
    }
    // The next one is with another destination.
    assert_refused(&program, "x.test:1", &[OF_DESTINATION]);
}

/// The destination of the check answers no more; the proxy is still connecting to it.
#[test]
fn a_check_without_a_reply_delays_others_briefly_and_leaves_the_refusal() {
    let proxy = Group::start();
    let other = Peer::echoing();
    let program = proxy.program().proxy(other.address());
    let program = program.args(&["--handshake-timeout", "7"]).start();
    assert_open(&program, "slow.test:1");
    *proxy.stuck.lock().unwrap() = "slow.test:1";
    proxy.asked();
    let mut denied = program.connect();
    denied.send(request("x.test:1"));
    eventually("the check", || proxy.asked.lock().unwrap().len() == 3);
    assert_open(&program, "a.test:1");
    assert!(denied.is_quiet(), "the check goes on");
    let said = String::from_utf8(denied.rest()).unwrap();
    assert!(said.contains("407 Denied (offers Basic): "), "{}", said);
    assert_eq!(other.accepted(), 0, "the refusal is final");
    // The next check is with another destination.
    assert_refused(&program, "x.test:1", &[OF_DESTINATION]);
}
