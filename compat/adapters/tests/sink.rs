//! Sinks across generations: where an item is at each moment, and who is woken for room.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use futures01::sync::mpsc;
use futures01::{Async, AsyncSink, Future as _, Poll as Poll01, Sink as Sink01, StartSend, Stream};
use futures_sink::Sink;
use futures_util::SinkExt;
use tokio_core_compat::task::{As01Sink, AsStdSink};

use crate::common::Bell;

/// A sink with room for so many items.
#[derive(Default)]
struct Room {
    left: usize,
    taken: Vec<u32>,
    fails: bool,
    closed: bool,
}

impl Sink01 for Room {
    type SinkItem = u32;
    type SinkError = &'static str;

    fn start_send(&mut self, item: u32) -> StartSend<u32, &'static str> {
        if self.fails {
            return Err("broken pipe");
        }
        if self.left == 0 {
            futures01::task::current().notify();
            return Ok(AsyncSink::NotReady(item));
        }
        self.left -= 1;
        self.taken.push(item);
        Ok(AsyncSink::Ready)
    }

    fn poll_complete(&mut self) -> Poll01<(), &'static str> {
        Ok(Async::Ready(()))
    }

    fn close(&mut self) -> Poll01<(), &'static str> {
        self.closed = true;
        Ok(Async::Ready(()))
    }
}

fn noop() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

#[test]
fn an_item_that_was_refused_waits_and_goes_first() {
    let (bell, mut sink) = (Bell::new(), AsStdSink::new(Room::default()));
    let waker = Waker::from(bell.clone());
    let cx = &mut Context::from_waker(&waker);
    assert!(Pin::new(&mut sink).poll_ready(cx).is_ready());
    Sink::start_send(Pin::new(&mut sink), 1).unwrap();
    assert_eq!(
        bell.rung(),
        1,
        "start_send has registered the waker of poll_ready"
    );

    assert!(Pin::new(&mut sink).poll_ready(cx).is_pending());
    assert!(Pin::new(&mut sink).poll_flush(cx).is_pending());
    assert!(Pin::new(&mut sink).poll_close(cx).is_pending());
    assert!(!sink.get_ref().closed, "not before the item is in");

    sink.get_mut().left = 2;
    assert!(Pin::new(&mut sink).poll_ready(cx).is_ready());
    Sink::start_send(Pin::new(&mut sink), 2).unwrap();
    assert!(Pin::new(&mut sink).poll_close(cx).is_ready());
    assert!(sink.get_ref().closed);
    assert_eq!(sink.into_inner().0.taken, [1, 2]);
}

#[test]
fn an_error_shows_in_the_call_that_caused_it() {
    let mut sink = AsStdSink::new(Room {
        fails: true,
        ..Room::default()
    });
    assert_eq!(
        Pin::new(&mut sink).poll_ready(&mut noop()),
        Poll::Ready(Ok(()))
    );
    assert_eq!(Sink::start_send(Pin::new(&mut sink), 1), Err("broken pipe"));
}

#[test]
fn into_inner_gives_back_what_was_refused() {
    let mut sink = AsStdSink::new(Room::default());
    assert!(Pin::new(&mut sink).poll_ready(&mut noop()).is_ready());
    Sink::start_send(Pin::new(&mut sink), 7).unwrap();
    assert_eq!(sink.into_inner().1, Some(7));
}

#[test]
#[should_panic(expected = "await poll_ready before each start_send")]
fn start_send_without_poll_ready_says_what_to_do() {
    let mut sink = AsStdSink::new(Room::default());
    assert!(Pin::new(&mut sink).poll_ready(&mut noop()).is_ready());
    Sink::start_send(Pin::new(&mut sink), 1).unwrap();
    let _ = Sink::start_send(Pin::new(&mut sink), 2);
}

#[test]
fn room_in_a_0_1_channel_wakes_the_std_sender() {
    let bell = Bell::new();
    let (tx, mut rx) = mpsc::channel(0);
    let mut tx = AsStdSink::new(tx);
    let mut first = tx.send(1);
    assert!(
        bell.poll(&mut first).is_pending(),
        "flushed once it is received"
    );
    assert_eq!(
        Bell::new().enter_01(|| rx.poll()),
        Ok(Async::Ready(Some(1)))
    );
    assert_eq!(bell.rung(), 1);
    assert_eq!(bell.poll(&mut first), Poll::Ready(Ok(())));
}

#[test]
fn a_full_std_sink_hands_the_item_back() {
    let sink = AsStdSink::new(Room {
        left: 1,
        ..Room::default()
    });
    let mut sink = As01Sink::new(sink);
    let bell = Bell::new();
    bell.enter_01(|| {
        assert_eq!(sink.start_send(1), Ok(AsyncSink::Ready));
        // Taken by the buffer of one, refused by the sink beneath.
        assert_eq!(sink.start_send(2), Ok(AsyncSink::Ready));
        assert_eq!(sink.start_send(3), Ok(AsyncSink::NotReady(3)));
    });
    assert!(bell.rung() > 0);
    sink.get_mut().get_mut().left = 1;
    bell.enter_01(|| assert_eq!(sink.close(), Ok(Async::Ready(()))));
    let (room, refused) = sink.into_inner().into_inner();
    assert_eq!((room.taken, refused, room.closed), (vec![1, 2], None, true));
}

#[test]
fn send_all_runs_over_a_std_sink() {
    let numbers = futures01::stream::iter_ok::<_, Infallible>([1, 2, 3]);
    let (sink, _) = As01Sink::new(Vec::new()).send_all(numbers).wait().unwrap();
    assert_eq!(sink.into_inner(), [1, 2, 3]);
}

#[test]
#[should_panic(expected = "a sink in task::As01Sink was polled outside a futures 0.1 task")]
fn polled_outside_a_task_it_says_what_to_do() {
    let _ = As01Sink::new(Vec::new()).start_send(1);
}
