//! The bytes of a tunnel and its resets, with copying, with splicing, and with changes between them.
//! `half_close` has its ends in order.
//!
//! Each test runs three times: with `--splice auto`, the default, `always` and `never`.

use std::io::ErrorKind;
use std::io::{Read, Write};
use std::thread;
use std::time::{Duration, Instant};

use support::ends::{Ends, Gate};
use support::program::PIPES;
use support::{steadily, sys, Connection, Pattern, Ptunnel, Running};

const MIB: u64 = 1 << 20;

macro_rules! over_each_setting {
    ($($test:ident)*) => {
        over_each_setting! { auto: $($test)* }
        over_each_setting! { always: $($test)* }
        over_each_setting! { never: $($test)* }
    };
    ($setting:ident: $($test:ident)*) => {
        mod $setting {
            $(#[test] fn $test() { super::$test(stringify!($setting)) })*
        }
    };
}
pub(crate) use over_each_setting;

over_each_setting! {
    carries_both_directions_at_once
    carries_messages_one_by_one
    carries_bulk_and_messages_in_turn
    holds_the_sender_back_while_the_receiver_stalls
    one_direction_continues_while_the_other_stalls
    partial_writes_are_resumed
    a_reset_by_the_client_is_passed_on
    a_reset_by_the_destination_is_passed_on
    a_reset_is_passed_on_after_one_direction_has_ended
    a_reset_is_passed_on_while_the_other_side_stalls
    a_reset_is_passed_on_while_bytes_are_pending
    urgent_data_does_not_disturb_the_stream
    always_ready_peers_do_not_starve_others
    without_descriptors_for_pipes_it_copies
}

/// Starts the program in front of this gate.
pub fn start(gate: &Gate, setting: &str) -> Running {
    Ptunnel::through(gate.address())
        .to("example.org:22")
        .args(&["--splice", setting])
        .start()
}

/// Writes `count` bytes of the pattern from another thread, then the end if `end` is set.
pub fn upload(to: &Connection, seed: u64, count: u64, end: bool) -> thread::JoinHandle<()> {
    let mut to = to.handle();
    thread::spawn(move || {
        Pattern::new(seed)
            .write(&mut to, count)
            .expect("the tunnel takes all");
        if end {
            to.finish_sending();
        }
    })
}

fn carries_both_directions_at_once(setting: &str) {
    let gate = Gate::open();
    let program = start(&gate, setting);
    let Ends {
        mut client,
        mut server,
    } = gate.join(&program);
    let up = upload(&client, 1, 24 * MIB, true);
    let down = upload(&server, 2, 24 * MIB, true);
    let checking = thread::spawn(move || Pattern::new(1).read_all(&mut server, 24 * MIB));
    Pattern::new(2).read_all(&mut client, 24 * MIB);
    up.join().unwrap();
    down.join().unwrap();
    checking.join().unwrap();
}

fn carries_messages_one_by_one(setting: &str) {
    let gate = Gate::open();
    let program = start(&gate, setting);
    let mut ends = gate.join(&program);
    let pattern = Pattern::new(3);
    for size in (1..200).chain(
        [4095, 4096, 4097, 16_384, 32_767, 32_768, 32_769]
            .iter()
            .copied(),
    ) {
        let message = pattern.take(size);
        ends.client.send(&message);
        assert!(ends.server.receive(size) == message, "{} bytes up", size);
        ends.server.send(&message);
        assert!(ends.client.receive(size) == message, "{} bytes down", size);
    }
}

/// To splicing, back to copying, and again.
fn carries_bulk_and_messages_in_turn(setting: &str) {
    let gate = Gate::open();
    let program = start(&gate, setting);
    let mut ends = gate.join(&program);
    for round in 0..8 {
        let sending = upload(&ends.client, round, 3 * MIB, false);
        Pattern::new(round).read(&mut ends.server, 3 * MIB);
        sending.join().unwrap();
        ends.check();
        let sending = upload(&ends.server, round, MIB, false);
        Pattern::new(round).read(&mut ends.client, MIB);
        sending.join().unwrap();
        ends.check();
    }
    ends.client.finish_sending();
    ends.server.expect_end();
    ends.server.finish_sending();
    ends.client.expect_end();
}

/// Sends the pattern until no more bytes are accepted for a while; returns their number.
pub fn fill(connection: &mut Connection, seed: u64) -> u64 {
    let pattern = Pattern::new(seed).take(8 * MIB as usize);
    let mut sent = 0;
    connection.stream().set_nonblocking(true).expect("a mode");
    let mut last = Instant::now();
    while last.elapsed() < Duration::from_millis(400) {
        let at = sent % pattern.len();
        match connection.write(&pattern[at..pattern.len().min(at + 65_536)]) {
            Ok(count) => {
                sent += count;
                last = Instant::now();
                assert!(sent < 256 << 20, "there is no back-pressure");
            }
            Err(ref e) if e.kind() == ErrorKind::WouldBlock => {
                thread::sleep(Duration::from_millis(5));
            }
            Err(e) => panic!("after {} bytes: {}", sent, e),
        }
    }
    connection.stream().set_nonblocking(false).expect("a mode");
    sent as u64
}

/// Checks the bytes that `fill` has sent.
pub fn check_filled(connection: &mut Connection, seed: u64, count: u64) {
    let pattern = Pattern::new(seed).take(8 * MIB as usize);
    let mut buffer = vec![0; 65_536];
    let mut done = 0;
    while done < count as usize {
        let at = done % pattern.len();
        let most = buffer
            .len()
            .min(pattern.len() - at)
            .min(count as usize - done);
        let got = connection.read(&mut buffer[..most]).expect("more");
        assert!(got > 0, "the end after {} of {} bytes", done, count);
        assert!(
            buffer[..got] == pattern[at..at + got],
            "other bytes after {}",
            done
        );
        done += got;
    }
}

fn holds_the_sender_back_while_the_receiver_stalls(setting: &str) {
    let gate = Gate::open();
    let program = start(&gate, setting);
    let Ends {
        mut client,
        mut server,
    } = gate.join(&program);
    let before = program.process().resident();
    let sent = fill(&mut client, 4);
    let held = program.process().resident().saturating_sub(before);
    assert!(held < 4 * MIB, "the program holds {} bytes", held);
    let spent = program.process().cpu();
    let quiet = || program.process().cpu() - spent < Duration::from_millis(150);
    steadily("idle while nobody reads", Duration::from_millis(500), quiet);
    client.finish_sending();
    check_filled(&mut server, 4, sent);
    server.expect_end();
}

fn one_direction_continues_while_the_other_stalls(setting: &str) {
    let gate = Gate::narrow();
    let program = start(&gate, setting);
    let Ends {
        mut client,
        mut server,
    } = gate.join(&program);
    let sent = fill(&mut client, 5);
    let sending = upload(&server, 6, 8 * MIB, true);
    Pattern::new(6).read_all(&mut client, 8 * MIB);
    sending.join().unwrap();
    client.finish_sending();
    check_filled(&mut server, 5, sent);
    server.expect_end();
}

/// connect.c started a partial write again from its beginning.
fn partial_writes_are_resumed(setting: &str) {
    let gate = Gate::narrow();
    let program = start(&gate, setting);
    let Ends { client, mut server } = gate.join(&program);
    let sending = upload(&client, 7, 4 * MIB, true);
    // Odd sizes: the program writes whenever a little room becomes free.
    let pattern = Pattern::new(7);
    let mut offset = 0;
    let mut piece = 1;
    let mut buffer = vec![0; 16_384];
    loop {
        let count = server.read(&mut buffer[..piece]).expect("more");
        if count == 0 {
            break;
        }
        pattern.check(offset, &buffer[..count]);
        offset += count as u64;
        piece = piece * 7 % 12_289 + 1;
        if offset % 5 == 0 {
            thread::sleep(Duration::from_micros(200));
        }
    }
    assert_eq!(offset, 4 * MIB);
    sending.join().unwrap();
}

fn a_reset_by_the_client_is_passed_on(setting: &str) {
    let gate = Gate::open();
    let program = start(&gate, setting);
    let mut ends = gate.join(&program);
    ends.check();
    ends.client.reset();
    ends.server.expect_reset();
}

fn a_reset_by_the_destination_is_passed_on(setting: &str) {
    let gate = Gate::open();
    let program = start(&gate, setting);
    let mut ends = gate.join(&program);
    ends.check();
    ends.server.reset();
    ends.client.expect_reset();
}

fn a_reset_is_passed_on_after_one_direction_has_ended(setting: &str) {
    let gate = Gate::open();
    let program = start(&gate, setting);
    let Ends { client, mut server } = gate.join(&program);
    server.finish_sending();
    let mut client = client;
    client.expect_end();
    client.reset();
    server.expect_reset();

    let Ends {
        mut client,
        mut server,
    } = gate.join(&program);
    client.finish_sending();
    server.expect_end();
    server.reset();
    client.expect_reset();
}

/// There is no room to write, so only the reading side can notice it.
fn a_reset_is_passed_on_while_the_other_side_stalls(setting: &str) {
    let gate = Gate::narrow();
    let program = start(&gate, setting);
    let Ends {
        mut client,
        mut server,
    } = gate.join(&program);
    fill(&mut client, 12);
    server.send("!");
    client.expect("!");
    server.reset();
    let mut byte = [0; 1];
    match client.read(&mut byte) {
        Err(ref e) if e.kind() == ErrorKind::ConnectionReset => {}
        other => panic!("{:?} instead of a reset", other),
    }
}

/// The client has left, and its destination doesn't read the earlier bytes: the linger timeout
/// limits that.
fn a_reset_is_passed_on_while_bytes_are_pending(setting: &str) {
    let gate = Gate::narrow();
    let program = Ptunnel::through(gate.address())
        .to("example.org:22")
        .args(&["--splice", setting, "--linger-timeout", "1", "-v"])
        .start();
    let Ends {
        mut client,
        mut server,
    } = gate.join(&program);
    fill(&mut client, 15);
    let from = client.local().to_string();
    client.reset();
    program.says(&[&from, "client", "reset"]);
    server.rest_or_reset();
}

fn urgent_data_does_not_disturb_the_stream(setting: &str) {
    let gate = Gate::open();
    let program = start(&gate, setting);
    let mut ends = gate.join(&program);
    ends.client.send("before");
    ends.server.expect("before");
    sys::send_urgent(ends.client.stream(), b'!');
    ends.client.send("after");
    ends.server.expect("after");
    let spent = program.process().cpu();
    let quiet = || program.process().cpu() - spent < Duration::from_millis(150);
    steadily(
        "idle with urgent data pending",
        Duration::from_millis(400),
        quiet,
    );
    ends.check();
}

/// Four tunnels that never pause, on one reactor with a client that sends a message now and then.
fn always_ready_peers_do_not_starve_others(setting: &str) {
    let gate = Gate::open();
    let program = start(&gate, setting);
    let mut bulk = Vec::new();
    for _ in 0..4 {
        let Ends { client, server } = gate.join(&program);
        let (mut sink, mut source) = (server.handle(), client.handle());
        bulk.push((client, server));
        thread::spawn(move || sink.drain());
        thread::spawn(move || {
            let piece = vec![7; 1 << 20];
            while source.try_send(&piece).is_ok() {}
        });
    }
    let mut ends = gate.join(&program);
    for _ in 0..100 {
        let start = Instant::now();
        ends.check();
        assert!(
            start.elapsed() < Duration::from_secs(2),
            "{:?}",
            start.elapsed()
        );
    }
    for (client, _server) in bulk {
        client.reset();
    }
}

fn without_descriptors_for_pipes_it_copies(setting: &str) {
    const LIMIT: usize = 48;
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address())
        .to("example.org:22")
        .args(&["--splice", setting])
        .after(&format!("ulimit -n {}", LIMIT))
        .start();
    let mut tunnels = vec![gate.join(&program)];
    // Two descriptors for each tunnel. The rest is enough for one pipe at most.
    while program.process().descriptors_below(LIMIT) + 3 < LIMIT {
        tunnels.push(gate.join(&program));
    }
    assert!(tunnels.len() > 8, "only {} tunnels", tunnels.len());
    let work: Vec<_> = tunnels
        .into_iter()
        .map(
            |Ends {
                 mut client,
                 mut server,
             }| {
                let up = upload(&client, 13, 2 * MIB, true);
                let down = upload(&server, 14, 2 * MIB, true);
                thread::spawn(move || {
                    let checking =
                        thread::spawn(move || Pattern::new(13).read_all(&mut server, 2 * MIB));
                    Pattern::new(14).read_all(&mut client, 2 * MIB);
                    checking.join().unwrap();
                    up.join().unwrap();
                    down.join().unwrap();
                })
            },
        )
        .collect();
    for thread in work {
        thread.join().unwrap();
    }
}

/// A user over the limit of pipe memory gets pipes of two pages, which are slower than copying.
/// Each setting in turn: concurrent programs would share the limit.
#[test]
fn without_memory_for_pipes_it_copies() {
    for setting in &["auto", "always", "never"] {
        copies_without_memory_for_pipes(setting);
    }
}

fn copies_without_memory_for_pipes(setting: &str) {
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address())
        .to("example.org:22")
        .args(&["--splice", setting])
        .with_pipe_memory_used_up()
        .start();
    let Ends {
        mut client,
        mut server,
    } = gate.join(&program);
    // The program has the pipes of its reactor by now.
    let before = program.process().pipe_ends();
    assert!(before >= PIPES, "{} ends of pipes", before);
    let up = upload(&client, 15, 24 * MIB, true);
    let down = upload(&server, 16, 24 * MIB, true);
    let checking = thread::spawn(move || {
        let pattern = Pattern::new(15);
        let mut least = usize::MAX;
        for offset in (0..24).map(|count| count * MIB) {
            let piece = server.receive(MIB as usize);
            pattern.check(offset, &piece);
            // In the middle of both directions. A pipe that it tries and returns can be counted.
            least = least.min(program.process().pipe_ends());
        }
        assert_eq!(least, before);
        server.expect_end();
    });
    Pattern::new(16).read_all(&mut client, 24 * MIB);
    checking.join().unwrap();
    up.join().unwrap();
    down.join().unwrap();
}
