//! The end of the program: what a signal stops, which tunnels can finish, and what cuts them.

use std::thread;
use std::time::{Duration, Instant};

use support::ends::{Ends, Gate};
use support::process::is_listening;
use support::temp::free_port;
use support::{eventually, steadily, sys, Connection, Pattern, Peer, Ptunnel, Running};

const MIB: u64 = 1 << 20;

/// Starts the program on a port that no other test has used: a stray client would be counted.
fn start(gate: &Gate, args: &[&str]) -> Running {
    Ptunnel::through(gate.address())
        .tunnel(&format!("{}:example.org:22", free_port()))
        .args(args)
        .start()
}

#[track_caller]
fn stops_listening(program: &Running) {
    // Without a connection attempt, which could be accepted and would be one more to wait for.
    eventually("nobody listens any more", || {
        !is_listening(program.address())
    });
}

#[test]
fn without_tunnels_a_signal_ends_it_with_exit_code_0() {
    for signal in &[sys::SIGTERM, sys::SIGINT] {
        for args in &[&[][..], &["--threads", "3"]] {
            let gate = Gate::open();
            let program = start(&gate, args);
            program.signal(*signal);
            let finished = program.finish();
            finished.expect_code(0);
            let told = "warning: stopping: no connection is open\n";
            assert_eq!(finished.stderr, told);
        }
    }
}

#[test]
fn after_its_tunnels_have_ended_it_ends_at_once() {
    let gate = Gate::open();
    let program = start(&gate, &[]);
    let mut ends = gate.join(&program);
    ends.check();
    let before = program.process().descriptors();
    drop(ends);
    eventually("the tunnel has ended", || {
        program.process().descriptors() < before
    });
    let start = Instant::now();
    program.signal(sys::SIGTERM);
    program.finish().expect_code(0);
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn a_running_transfer_finishes() {
    for signal in &[sys::SIGTERM, sys::SIGINT] {
        for args in &[&[][..], &["--threads", "2"]] {
            let gate = Gate::open();
            let program = start(&gate, args);
            let Ends {
                mut client,
                mut server,
            } = gate.join(&program);
            server.send("begin");
            client.expect("begin");
            program.signal(*signal);
            stops_listening(&program);
            let up = {
                let mut client = client.handle();
                thread::spawn(move || {
                    Pattern::new(1).write(&mut client, 8 * MIB).unwrap();
                    client.finish_sending();
                })
            };
            let receiving = thread::spawn(move || {
                Pattern::new(1).read_all(&mut server, 8 * MIB);
                Pattern::new(2).write(&mut server, 8 * MIB).unwrap();
            });
            Pattern::new(2).read_all(&mut client, 8 * MIB);
            up.join().unwrap();
            receiving.join().unwrap();
            let finished = program.finish();
            finished.expect_code(0);
            let told = "warning: stopping: 1 connection is open and has 30s to end; \
                        a second signal cuts it\n";
            assert_eq!(finished.stderr, told);
        }
    }
}

#[test]
fn it_ends_together_with_the_last_tunnel() {
    let gate = Gate::open();
    let mut program = start(&gate, &["--drain-timeout", "50"]);
    let mut first = gate.join(&program);
    let mut second = gate.join(&program);
    program.signal(sys::SIGTERM);
    stops_listening(&program);
    first.check();
    drop(first);
    steadily("waiting for the second", Duration::from_millis(300), || {
        !program.has_ended()
    });
    second.check();
    let start = Instant::now();
    drop(second);
    program.finish().expect_code(0);
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn a_client_whose_tunnel_is_being_opened_still_gets_it() {
    let gate = Gate::open();
    let program = start(&gate, &[]);
    let mut client = program.connect();
    let mut server = gate.accept();
    server.read_head();
    program.signal(sys::SIGTERM);
    stops_listening(&program);
    server.send("HTTP/1.1 200 OK\r\n\r\nwelcome");
    client.expect("welcome");
    client.send("thanks");
    client.finish_sending();
    assert_eq!(server.rest(), b"thanks");
    drop(server);
    client.expect_end();
    program.finish().expect_code(0);
}

#[test]
fn after_the_drain_timeout_it_cuts_open_tunnels() {
    for args in &[
        &["--drain-timeout", "0.5"][..],
        &["--drain-timeout", "0.5", "--threads", "2"],
    ] {
        let gate = Gate::open();
        let program = start(&gate, args);
        let mut all: Vec<Ends> = (0..4).map(|_| gate.join(&program)).collect();
        for ends in &mut all {
            ends.check();
        }
        let start = Instant::now();
        program.signal(sys::SIGTERM);
        let finished = program.finish();
        let took = start.elapsed();
        finished.expect_code(0);
        assert!(took >= Duration::from_millis(490), "{:?}", took);
        assert!(took < Duration::from_secs(20), "{:?}", took);
        let told = "warning: stopping: 4 connections are open and have 0.5s to end; \
                    a second signal cuts them\n\
                    warning: cutting: 4 connections are still open after 0.5s\n";
        assert_eq!(finished.stderr, told);
        for Ends {
            mut client,
            mut server,
        } in all
        {
            client.expect_nothing();
            server.expect_nothing();
        }
    }
}

#[test]
fn a_drain_timeout_of_zero_cuts_at_once() {
    let gate = Gate::open();
    let program = start(&gate, &["--drain-timeout", "0"]);
    let mut ends = gate.join(&program);
    ends.check();
    let start = Instant::now();
    program.signal(sys::SIGINT);
    program.finish().expect_code(0);
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let pairs = [
        (sys::SIGTERM, sys::SIGTERM),
        (sys::SIGINT, sys::SIGINT),
        (sys::SIGTERM, sys::SIGINT),
    ];
    for (first, second) in &pairs {
        for args in &[&[][..], &["--threads", "2"]] {
            let gate = Gate::open();
            let mut program = start(&gate, args);
            let mut ends = gate.join(&program);
            ends.check();
            program.signal(*first);
            // A second signal counts after this line: a user who sees nothing sends another.
            program.says(&["stopping: 1 connection is open and has 30s"]);
            stops_listening(&program);
            ends.check();
            assert!(!program.has_ended());
            let start = Instant::now();
            program.signal(*second);
            eventually("the program ends", || program.has_ended());
            assert!(
                start.elapsed() < Duration::from_secs(20),
                "{:?}",
                start.elapsed()
            );
            ends.client.expect_nothing();
            let finished = program.finish();
            finished.expect_code(0);
            let told = "warning: cutting: 1 connection is still open at a second signal\n";
            assert!(finished.stderr.ends_with(told), "{}", finished.stderr);
        }
    }
}

#[test]
fn clients_in_the_backlog_are_closed() {
    let gate = Gate::open();
    let program = start(&gate, &["--max-connections", "1", "--drain-timeout", "50"]);
    let mut ends = gate.join(&program);
    let mut waiting = program.connect();
    program.signal(sys::SIGTERM);
    // It will never be accepted.
    waiting.expect_nothing();
    ends.check();
    drop(ends);
    program.finish().expect_code(0);
}

#[test]
fn the_embedded_proxy_drains_too() {
    let origin = Peer::start(|mut connection| connection.echo());
    let program = Ptunnel::new().serving().start();
    let mut client = Connection::open(program.proxy());
    client.send(format!("CONNECT {} HTTP/1.1\r\n\r\n", origin.address()));
    assert!(client.read_head().starts_with(b"HTTP/1.1 200 "));
    program.signal(sys::SIGTERM);
    eventually("nobody listens any more", || !is_listening(program.proxy()));
    client.send("still here");
    client.finish_sending();
    assert_eq!(client.rest(), b"still here");
    program.finish().expect_code(0);
}
