//! Tunnels in which nothing moves: how long they can last, and which ones have a limit.

use std::thread;
use std::time::{Duration, Instant};

use support::ends::{Ends, Gate};
use support::{eventually, steadily, Connection, Ptunnel, Running};

fn start(gate: &Gate, args: &[&str]) -> Running {
    Ptunnel::through(gate.address())
        .to("example.org:22")
        .args(args)
        .start()
}

/// Sends a byte now and then, well within a limit of two seconds; returns the time of the last one.
fn keep_moving(from: &mut Connection, to: &mut Connection, time: Duration) -> Instant {
    let start = Instant::now();
    loop {
        let now = Instant::now();
        from.send("x");
        to.expect("x");
        if start.elapsed() > time {
            return now;
        }
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn an_idle_tunnel_is_cut_on_both_sides() {
    let gate = Gate::open();
    let program = start(&gate, &["--idle-timeout", "0.5", "-v"]);
    let mut ends = gate.join(&program);
    ends.check();
    let start = Instant::now();
    ends.client.expect_nothing();
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(450), "{:?}", took);
    ends.server.expect_nothing();
    program.says(&["example.org:22", "0.5s"]);
}

/// Regression: from rung r4 on, it was up to two seconds late.
#[test]
fn an_idle_tunnel_is_cut_at_most_half_a_second_late() {
    let gate = Gate::open();
    let mut open = Vec::new();
    for limit in &["1", "4", "9"] {
        let program = start(&gate, &["--idle-timeout", limit]);
        let mut ends = gate.join(&program);
        ends.check();
        let due = Instant::now() + Duration::from_secs(limit.parse().expect("a number"));
        open.push((program, ends, due));
    }
    for (_program, ends, due) in &mut open {
        ends.client.expect_nothing();
        let late = Instant::now().saturating_duration_since(*due);
        assert!(late <= Duration::from_millis(500), "{:?}", late);
    }
}

#[test]
fn a_tunnel_with_traffic_in_one_direction_is_not_idle() {
    let gate = Gate::open();
    let program = start(&gate, &["--idle-timeout", "2"]);
    let Ends {
        mut client,
        mut server,
    } = gate.join(&program);
    let time = Duration::from_millis(3200);
    keep_moving(&mut client, &mut server, time);
    let last = keep_moving(&mut server, &mut client, time);
    client.expect_nothing();
    assert!(
        last.elapsed() >= Duration::from_millis(1950),
        "{:?}",
        last.elapsed()
    );
}

/// Mail clients idle for half an hour: a default that cuts them is a defect.
#[test]
fn by_default_idle_tunnels_stay_open_even_with_a_short_linger() {
    let gate = Gate::open();
    let program = start(&gate, &["--linger-timeout", "0.3"]);
    let mut ends = gate.join(&program);
    ends.check();
    steadily("both sides open", Duration::from_millis(1500), || {
        ends.client.is_quiet() && ends.server.is_quiet()
    });
    ends.check();
}

#[test]
fn zero_means_no_limit() {
    let gate = Gate::open();
    let program = start(&gate, &["--idle-timeout", "0", "--linger-timeout", "0"]);
    let mut ends = gate.join(&program);
    ends.check();
    ends.client.finish_sending();
    ends.server.expect_end();
    steadily("the client's side open", Duration::from_millis(700), || {
        ends.client.is_quiet()
    });
    ends.server.send("late");
    ends.server.finish_sending();
    assert_eq!(ends.client.rest(), b"late");
}

#[test]
fn a_silent_half_closed_tunnel_is_cut() {
    let gate = Gate::open();
    let program = start(&gate, &["--linger-timeout", "0.5"]);
    let Ends {
        mut client,
        mut server,
    } = gate.join(&program);
    client.finish_sending();
    server.expect_end();
    let start = Instant::now();
    client.expect_nothing();
    assert!(
        start.elapsed() >= Duration::from_millis(400),
        "{:?}",
        start.elapsed()
    );

    let Ends {
        mut client,
        mut server,
    } = gate.join(&program);
    server.finish_sending();
    client.expect_end();
    server.expect_nothing();
}

#[test]
fn a_half_closed_tunnel_with_traffic_stays_open() {
    let gate = Gate::open();
    let program = start(&gate, &["--linger-timeout", "2"]);
    let Ends {
        mut client,
        mut server,
    } = gate.join(&program);
    client.finish_sending();
    server.expect_end();
    keep_moving(&mut server, &mut client, Duration::from_millis(4500));
    server.finish_sending();
    client.expect_end();
}

#[test]
fn a_cut_tunnel_frees_its_descriptors() {
    let gate = Gate::open();
    let program = start(&gate, &["--idle-timeout", "0.3"]);
    let mut warm = gate.join(&program);
    warm.check();
    warm.client.expect_nothing();
    let before = program.process().descriptors();
    let mut all: Vec<Ends> = (0..20).map(|_| gate.join(&program)).collect();
    for ends in &mut all {
        ends.client.expect_nothing();
    }
    eventually("as few descriptors as before", || {
        program.process().descriptors() <= before
    });
}

/// A timer that ticks without a limit would wake an idle laptop.
#[test]
fn idle_tunnels_use_almost_no_processor_time() {
    let gate = Gate::open();
    let program = start(&gate, &["--idle-timeout", "600"]);
    let mut all: Vec<Ends> = (0..50).map(|_| gate.join(&program)).collect();
    for ends in &mut all {
        ends.check();
    }
    let before = program.process().cpu();
    steadily("next to idle", Duration::from_secs(2), || {
        program.process().cpu() - before < Duration::from_millis(100)
    });
}
