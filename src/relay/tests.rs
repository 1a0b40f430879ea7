//! Relays over scripted streams: short reads, short writes, waits, ends and errors in any order.

use std::io;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::io::tests::mock_io::{drive, Action, MockStream};
use ptunnel_core::observe::access_log::Origin;
use ptunnel_core::observe::stats::{LiveTunnel, Stats};
use ptunnel_core::upstream::ProxyChain;

fn run(client: MockStream, upstream: MockStream) -> Result<Traffic, RelayError> {
    drive(Relay::new(client, upstream)).map(|closed| closed.traffic)
}

#[test]
fn passes_on_an_end_while_the_other_direction_still_carries() {
    let client = MockStream::saying(vec!["request"]);
    let upstream = MockStream::saying(vec!["long ", "answer"]);
    let (to_client, to_upstream) = (client.seen(), upstream.seen());
    let traffic = run(client, upstream).unwrap();
    assert_eq!((traffic.upload, traffic.download), (7, 11));
    assert_eq!(to_upstream.borrow().written, b"request");
    assert_eq!(to_client.borrow().written, b"long answer");
    for seen in &[to_client, to_upstream] {
        assert!(seen.borrow().ended && !seen.borrow().reset);
    }
}

#[test]
fn a_recorder_sees_what_an_open_tunnel_has_carried() {
    let open =
        |bytes: &str| MockStream::new(vec![Action::Bytes(bytes.into()), Action::Wait], Vec::new());
    let stats = Stats::default();
    let mut guard = stats.connected();
    let destination = "a:1".parse().unwrap();
    let tunnel = LiveTunnel::new(Origin::Unix, destination, ProxyChain::DIRECT);
    guard.opened(Duration::default(), tunnel);
    let relay = Relay::new(open("request"), open("long answer"));
    let mut relay = relay.recorder(guard.byte_recorder());
    let first = futures::future::poll_fn(|| relay.poll().map(|end| Async::Ready(end.is_ready())));
    assert!(!drive(first).unwrap(), "it is open");
    let carried = stats.totals().carried;
    assert_eq!((carried.upload, carried.download), (7, 11));
}

#[test]
fn unwritten_bytes_are_written_before_the_end() {
    let client = MockStream::new(vec![Action::Bytes(vec![7; 100_000])], Vec::new());
    let writes = vec![
        Action::Wait,
        Action::Take(1),
        Action::Wait,
        Action::Take(40_000),
        Action::Wait,
    ];
    let upstream = MockStream::new(Vec::new(), writes);
    let seen = upstream.seen();
    run(client, upstream).unwrap();
    assert_eq!(seen.borrow().written, vec![7; 100_000]);
    assert!(seen.borrow().ended);
}

#[test]
fn a_writer_that_blocks_stops_the_reader() {
    let client = MockStream::new(vec![Action::Bytes(vec![7; 1 << 20])], Vec::new());
    let waits = std::iter::repeat(Action::Wait).take(50);
    let upstream = MockStream::new(Vec::new(), waits.collect());
    let reads = client.seen();
    let mut relay = Relay::new(client, upstream);
    let first = futures::future::poll_fn(|| match relay.poll() {
        Ok(_) => Ok::<_, RelayError>(Async::Ready(())), // this test is about one poll
        Err(cut) => Err(cut),
    });
    drive(first).unwrap();
    assert_eq!(reads.borrow().reads, 1);
}

#[test]
fn an_error_on_one_side_resets_both() {
    for kind in &[io::ErrorKind::ConnectionReset, io::ErrorKind::TimedOut] {
        let client = MockStream::new(
            vec![Action::Bytes(vec![1; 3]), Action::Fail(*kind)],
            Vec::new(),
        );
        let upstream = MockStream::new(vec![Action::Wait], Vec::new());
        let (to_client, to_upstream) = (client.seen(), upstream.seen());
        let cut = run(client, upstream).unwrap_err();
        assert_eq!(cut.side(), Some(Side::Client));
        assert_eq!(cut.traffic.upload, 3);
        assert!(to_client.borrow().reset && to_upstream.borrow().reset);
        assert!(!to_upstream.borrow().ended, "a torn stream looks whole");
    }
}

/// Returns `count` waits. Not `vec![Action::Wait; count]`: valgrind reports that clone as a read of
/// uninitialised memory.
fn waits(count: usize) -> Vec<Action> {
    (0..count).map(|_| Action::Wait).collect()
}

/// Bytes that arrived before the failure are delivered first, even if the writer has no room for
/// them yet.
#[test]
fn all_that_was_read_before_an_error_is_delivered() {
    let upstream = vec![
        Action::Bytes(vec![7; 100_000]),
        Action::Fail(io::ErrorKind::ConnectionReset),
    ];
    let takes = vec![
        Action::Wait,
        Action::Take(1),
        Action::Wait,
        Action::Take(40_000),
    ];
    let client = MockStream::new(waits(10), takes);
    let (to_client, upstream) = (client.seen(), MockStream::new(upstream, Vec::new()));
    let cut = run(client, upstream).unwrap_err();
    assert_eq!(cut.side(), Some(Side::Upstream));
    assert_eq!(cut.traffic.download, 100_000);
    let to_client = to_client.borrow();
    assert_eq!(to_client.written, vec![7; 100_000]);
    assert!(to_client.reset && !to_client.ended);
}

/// A server that replies and closes without reading everything: its reset makes a write fail.
#[test]
fn all_bytes_of_a_side_are_delivered_if_a_write_to_it_fails() {
    let answer = vec![Action::Wait, Action::Bytes(vec![7; 100_000])];
    let broken = vec![Action::Fail(io::ErrorKind::BrokenPipe)];
    let client = MockStream::new(vec![Action::Bytes(vec![1; 3]), Action::Wait], Vec::new());
    let (to_client, upstream) = (client.seen(), MockStream::new(answer, broken));
    let cut = run(client, upstream).unwrap_err();
    assert_eq!(cut.side(), Some(Side::Upstream));
    let to_client = to_client.borrow();
    assert_eq!(to_client.written, vec![7; 100_000]);
    assert!(to_client.reset && !to_client.ended);
}

#[test]
fn a_write_error_names_the_side_that_was_written_to() {
    let client = MockStream::new(vec![Action::Bytes(vec![1; 3])], Vec::new());
    let upstream = MockStream::new(
        vec![Action::Wait],
        vec![Action::Fail(io::ErrorKind::BrokenPipe)],
    );
    assert_eq!(
        run(client, upstream).unwrap_err().side(),
        Some(Side::Upstream)
    );
}

#[test]
fn a_stream_that_is_always_ready_yields() {
    let endless = MockStream::new(vec![Action::Bytes(vec![0; 4 << 20])], Vec::new());
    let upstream = MockStream::new(Vec::new(), Vec::new());
    let reads = endless.seen();
    let mut relay = Relay::new(endless, upstream);
    let first = futures::future::poll_fn(|| relay.poll().map(|_| Async::Ready(())));
    drive(first).unwrap();
    assert!(
        reads.borrow().reads < 64,
        "{} reads in one poll",
        reads.borrow().reads
    );
}

const PERIOD: Duration = Duration::from_millis(100);

fn held_for(delay: Option<Duration>) -> Arc<Timeouts> {
    Arc::new(Timeouts {
        linger: None,
        half_close_delay: delay,
        ..Timeouts::default()
    })
}

/// Returns a client that sends and ends, and an upstream that sends these pieces, with a wait
/// before each and before its end.
fn asking(answers: &[&str]) -> (MockStream, MockStream) {
    let client = MockStream::new(vec![Action::Bytes(b"request".to_vec())], Vec::new());
    let mut reads = Vec::new();
    for answer in answers {
        reads.extend(vec![
            Action::Wait,
            Action::Bytes(answer.as_bytes().to_vec()),
        ]);
    }
    reads.push(Action::Wait);
    (client, MockStream::new(reads, Vec::new()))
}

/// Polls the relay once; returns whether it has ended.
fn poll_once<C: Transport, U: Transport>(relay: &mut Relay<C, U>) -> bool {
    let once = futures::future::poll_fn(|| relay.poll().map(|end| Async::Ready(end.is_ready())));
    drive(once).unwrap()
}

/// Regression: squid and most other proxies end both directions when one side half-closes, and the
/// reply was lost.
#[test]
fn a_held_end_is_passed_on_after_the_upstreams_end() {
    let (client, upstream) = asking(&["an ", "answer"]);
    let (to_client, to_upstream) = (client.seen(), upstream.seen());
    let timer = TaskTimer::new(PERIOD);
    let mut relay = Relay::new(client, upstream).timeouts(&held_for(None), &timer);
    let relaying = futures::future::poll_fn(|| {
        let polled = relay.poll()?;
        let is_early = !polled.is_ready() && to_upstream.borrow().ended;
        assert!(!is_early, "after {} bytes", relay.traffic().download);
        Ok::<_, RelayError>(polled)
    });
    let closed = drive(relaying).unwrap();
    assert_eq!((closed.traffic.upload, closed.traffic.download), (7, 9));
    assert!(!closed.is_unanswered);
    assert_eq!(to_client.borrow().written, b"an answer");
    for seen in &[to_client, to_upstream] {
        assert!(seen.borrow().ended && !seen.borrow().reset);
    }
}

#[test]
fn an_end_is_held_back_until_the_upstream_is_silent() {
    let client = MockStream::new(vec![Action::Bytes(b"request".to_vec())], Vec::new());
    let mut reads = waits(9);
    reads.extend(vec![Action::Bytes(b"late".to_vec()), Action::Wait]);
    reads.extend(waits(20));
    let upstream = MockStream::new(reads, Vec::new());
    let to_upstream = upstream.seen();
    let timer = TaskTimer::new(PERIOD);
    let start = Instant::now();
    let relay = Relay::new(client, upstream);
    let mut relay = relay.timeouts(&held_for(Some(PERIOD * 10)), &timer);
    // The byte arrives in the tenth period and starts the limit again.
    let mut ended_in = None;
    for tick in 0..28 {
        assert!(!poll_once(&mut relay));
        if to_upstream.borrow().ended {
            ended_in = ended_in.or(Some(tick));
        }
        timer.tick(start + PERIOD * tick);
    }
    let ended_in = ended_in.expect("it is passed on");
    assert!((19..24).contains(&ended_in), "{}", ended_in);
    assert_eq!(relay.traffic().download, 4);
}

/// The limit of the next phase can be the same.
#[test]
fn the_linger_time_starts_after_the_half_close_delay() {
    let client = MockStream::new(Vec::new(), Vec::new());
    let upstream = MockStream::new(waits(100), Vec::new());
    let to_upstream = upstream.seen();
    let (timer, start) = (TaskTimer::new(PERIOD), Instant::now());
    let timeouts = Arc::new(Timeouts {
        linger: Some(PERIOD * 5),
        half_close_delay: Some(PERIOD * 5),
        ..Timeouts::default()
    });
    let mut relay = Relay::new(client, upstream).timeouts(&timeouts, &timer);
    let mut tick = 0;
    while !to_upstream.borrow().ended {
        assert!(!poll_once(&mut relay));
        timer.tick(start + PERIOD * tick);
        tick += 1;
    }
    for _ in 0..4 {
        assert!(!poll_once(&mut relay), "cut too early");
        timer.tick(start + PERIOD * tick);
        tick += 1;
    }
}

#[test]
fn a_held_end_lingers_if_the_upstream_does_not_end() {
    let client = MockStream::new(Vec::new(), Vec::new());
    let upstream = MockStream::new(waits(100), Vec::new());
    let to_upstream = upstream.seen();
    let (timer, start) = (TaskTimer::new(PERIOD), Instant::now());
    let timeouts = Arc::new(Timeouts {
        linger: Some(PERIOD * 5),
        half_close_delay: None,
        ..Timeouts::default()
    });
    let mut relay = Relay::new(client, upstream).timeouts(&timeouts, &timer);
    let mut tick = 0;
    let relaying = futures::future::poll_fn(|| {
        timer.tick(start + PERIOD * tick);
        tick += 1;
        relay.poll()
    });
    let cut = drive(relaying).unwrap_err();
    assert_eq!(cut.to_string(), "no data for 0.5s");
    assert!(!to_upstream.borrow().ended);
}

#[test]
fn an_end_that_is_answered_by_an_end_alone_is_recognized() {
    let run = |(client, upstream)| drive(Relay::new(client, upstream)).unwrap();
    assert!(run(asking(&[])).is_unanswered);
    assert!(!run(asking(&["answer"])).is_unanswered);
    // The upstream's end can have arrived while the client's was passed on.
    let at_once = MockStream::new(Vec::new(), Vec::new());
    assert!(run((asking(&[]).0, at_once)).is_unanswered);
    let both_at_once = (
        MockStream::saying(vec!["request"]),
        MockStream::saying(vec!["answer"]),
    );
    assert!(!run(both_at_once).is_unanswered);
    let upstream_first = (
        MockStream::saying(vec!["a", "b"]),
        MockStream::saying(vec!["c"]),
    );
    assert!(!run(upstream_first).is_unanswered);
}

/// Generates waits, and pieces with sizes around that of the scratch buffer.
fn reads() -> impl Strategy<Value = Vec<Action>> {
    let piece = prop_oneof![1..64_usize, 32_000..33_000_usize, 60_000..70_000_usize];
    let step = prop_oneof![
        Just(Action::Wait),
        piece.prop_map(|size| Action::Bytes(vec![0; size]))
    ];
    prop::collection::vec(step, 0..12)
}

fn writes() -> impl Strategy<Value = Vec<Action>> {
    let step = prop_oneof![Just(Action::Wait), (1..50_000_usize).prop_map(Action::Take)];
    prop::collection::vec(step, 0..24)
}

/// Numbers the bytes of all pieces, so that a lost or swapped byte is noticed.
fn number(steps: &mut [Action]) -> Vec<u8> {
    let mut all = Vec::new();
    for step in steps {
        if let Action::Bytes(bytes) = step {
            for byte in bytes.iter_mut() {
                *byte = (all.len() % 251) as u8;
                all.push(*byte);
            }
        }
    }
    all
}

proptest! {
    #[test]
    fn all_bytes_and_both_ends_arrive(
        mut up in reads(),
        mut down in reads(),
        client_takes in writes(),
        upstream_takes in writes(),
        holds in any::<bool>(),
    ) {
        let (sent_up, sent_down) = (number(&mut up), number(&mut down));
        let client = MockStream::new(up, client_takes);
        let upstream = MockStream::new(down, upstream_takes);
        let (to_client, to_upstream) = (client.seen(), upstream.seen());
        let delay = if holds { None } else { Some(Duration::default()) };
        let relay = Relay::new(client, upstream).timeouts(&held_for(delay), &TaskTimer::new(PERIOD));
        let traffic = drive(relay).unwrap().traffic;
        prop_assert_eq!(traffic.upload, sent_up.len() as u64);
        prop_assert_eq!(traffic.download, sent_down.len() as u64);
        prop_assert!(to_upstream.borrow().written == sent_up);
        prop_assert!(to_client.borrow().written == sent_down);
        prop_assert!(to_client.borrow().ended && to_upstream.borrow().ended);
        prop_assert!(!to_client.borrow().reset && !to_upstream.borrow().reset);
    }
}
