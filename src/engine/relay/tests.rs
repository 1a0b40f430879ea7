//! Relays over scripted streams: short reads, short writes, waits, ends and errors in any order.

use std::cell::Cell;
use std::io;
use std::rc::Rc;

use proptest::prelude::*;

use super::*;
use crate::net::script::{drive, Script, Step};

fn run(client: Script, upstream: Script) -> Result<Traffic, Cut> {
    drive(Relay::new(client, upstream))
}

#[test]
fn passes_on_an_end_while_the_other_direction_still_carries() {
    let client = Script::saying(vec!["request"]);
    let upstream = Script::saying(vec!["long ", "answer"]);
    let (to_client, to_upstream) = (client.seen(), upstream.seen());
    let traffic = run(client, upstream).unwrap();
    assert_eq!((traffic.upload, traffic.download), (7, 11));
    assert_eq!(to_upstream.borrow().written, b"request");
    assert_eq!(to_client.borrow().written, b"long answer");
    for seen in &[to_client, to_upstream] {
        assert!(seen.borrow().ended && !seen.borrow().reset);
    }
}

struct Noted(Rc<Cell<Traffic>>);

impl Gauge for Noted {
    fn note(&self, carried: Traffic) {
        self.0.set(carried);
    }
}

#[test]
fn a_gauge_shows_what_an_open_tunnel_has_carried() {
    let open = |bytes: &str| Script::new(vec![Step::Bytes(bytes.into()), Step::Wait], Vec::new());
    let seen = Rc::new(Cell::new(Traffic::default()));
    let mut relay = Relay::gauged(open("request"), open("long answer"), Noted(seen.clone()));
    let first = futures::future::poll_fn(|| relay.poll().map(|end| Async::Ready(end.is_ready())));
    assert!(!drive(first).unwrap(), "it is open");
    assert_eq!((seen.get().upload, seen.get().download), (7, 11));
}

#[test]
fn writes_before_it_ends_what_could_not_be_written_at_once() {
    let client = Script::new(vec![Step::Bytes(vec![7; 100_000])], Vec::new());
    let writes = vec![
        Step::Wait,
        Step::Take(1),
        Step::Wait,
        Step::Take(40_000),
        Step::Wait,
    ];
    let upstream = Script::new(Vec::new(), writes);
    let seen = upstream.seen();
    run(client, upstream).unwrap();
    assert_eq!(seen.borrow().written, vec![7; 100_000]);
    assert!(seen.borrow().ended);
}

#[test]
fn a_writer_that_blocks_stops_the_reader() {
    let client = Script::new(vec![Step::Bytes(vec![7; 1 << 20])], Vec::new());
    let waits = std::iter::repeat(Step::Wait).take(50);
    let upstream = Script::new(Vec::new(), waits.collect());
    let reads = client.seen();
    let mut relay = Relay::new(client, upstream);
    let first = futures::future::poll_fn(|| match relay.poll() {
        Ok(_) => Ok::<_, Cut>(Async::Ready(())), // one poll is what this is about
        Err(cut) => Err(cut),
    });
    drive(first).unwrap();
    assert_eq!(reads.borrow().reads, 1);
}

#[test]
fn an_error_on_one_side_resets_both() {
    for kind in &[io::ErrorKind::ConnectionReset, io::ErrorKind::TimedOut] {
        let client = Script::new(vec![Step::Bytes(vec![1; 3]), Step::Fail(*kind)], Vec::new());
        let upstream = Script::new(vec![Step::Wait], Vec::new());
        let (to_client, to_upstream) = (client.seen(), upstream.seen());
        let cut = run(client, upstream).unwrap_err();
        assert_eq!(cut.side(), Some(Side::Client));
        assert_eq!(cut.traffic.upload, 3);
        assert!(to_client.borrow().reset && to_upstream.borrow().reset);
        assert!(!to_upstream.borrow().ended, "a torn stream looks whole");
    }
}

#[test]
fn a_write_error_names_the_side_that_was_written_to() {
    let client = Script::new(vec![Step::Bytes(vec![1; 3])], Vec::new());
    let upstream = Script::new(
        vec![Step::Wait],
        vec![Step::Fail(io::ErrorKind::BrokenPipe)],
    );
    assert_eq!(
        run(client, upstream).unwrap_err().side(),
        Some(Side::Upstream)
    );
}

#[test]
fn a_stream_that_is_always_ready_yields() {
    let endless = Script::new(vec![Step::Bytes(vec![0; 4 << 20])], Vec::new());
    let upstream = Script::new(Vec::new(), Vec::new());
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

/// Waits and pieces of all sizes around the scratch buffer's.
fn reads() -> impl Strategy<Value = Vec<Step>> {
    let piece = prop_oneof![1..64_usize, 32_000..33_000_usize, 60_000..70_000_usize];
    let step = prop_oneof![
        Just(Step::Wait),
        piece.prop_map(|size| Step::Bytes(vec![0; size]))
    ];
    prop::collection::vec(step, 0..12)
}

fn writes() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![Just(Step::Wait), (1..50_000_usize).prop_map(Step::Take)];
    prop::collection::vec(step, 0..24)
}

/// Numbers the bytes of all pieces, so that a lost or swapped one shows.
fn number(steps: &mut [Step]) -> Vec<u8> {
    let mut all = Vec::new();
    for step in steps {
        if let Step::Bytes(bytes) = step {
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
    ) {
        let (sent_up, sent_down) = (number(&mut up), number(&mut down));
        let client = Script::new(up, client_takes);
        let upstream = Script::new(down, upstream_takes);
        let (to_client, to_upstream) = (client.seen(), upstream.seen());
        let traffic = run(client, upstream).unwrap();
        prop_assert_eq!(traffic.upload, sent_up.len() as u64);
        prop_assert_eq!(traffic.download, sent_down.len() as u64);
        prop_assert!(to_upstream.borrow().written == sent_up);
        prop_assert!(to_client.borrow().written == sent_down);
        prop_assert!(to_client.borrow().ended && to_upstream.borrow().ended);
        prop_assert!(!to_client.borrow().reset && !to_upstream.borrow().reset);
    }
}
