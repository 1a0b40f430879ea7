//! Rows 26 to 32: who closes a sink, and who asks it for room.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::{poll_fn, Future};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{ready, Context, Poll};

use futures01::sync::mpsc as mpsc_01;
use futures01::{executor, stream as stream_01, Async, AsyncSink, Future as _};
use futures01::{Sink as _, Stream as _};
use futures_channel::mpsc;
use futures_sink::Sink;
use futures_util::{stream, SinkExt, StreamExt};
use tokio_core_compat::task::AsStd;

use crate::common::Bell;

/// A sink with a buffer that has to be flushed, which writes down what is done to it.
#[derive(Clone, Default)]
struct Recorder {
    log: Rc<RefCell<Vec<&'static str>>>,
    buffer: Rc<RefCell<VecDeque<u32>>>,
    room: usize,
}

impl Recorder {
    fn new(room: usize) -> Recorder {
        Recorder {
            room,
            ..Recorder::default()
        }
    }

    fn note(&self, what: &'static str) {
        self.log.borrow_mut().push(what);
    }

    fn log(&self) -> Vec<&'static str> {
        self.log.take()
    }

    fn is_full(&self) -> bool {
        self.buffer.borrow().len() == self.room
    }
}

impl futures01::Sink for Recorder {
    type SinkItem = u32;
    type SinkError = ();

    fn start_send(&mut self, item: u32) -> futures01::StartSend<u32, ()> {
        if self.is_full() {
            return Ok(AsyncSink::NotReady(item));
        }
        self.buffer.borrow_mut().push_back(item);
        Ok(AsyncSink::Ready)
    }

    fn poll_complete(&mut self) -> futures01::Poll<(), ()> {
        self.note("flush");
        Ok(Async::Ready(()))
    }

    fn close(&mut self) -> futures01::Poll<(), ()> {
        self.note("close");
        Ok(Async::Ready(()))
    }
}

impl Sink<u32> for Recorder {
    type Error = ();

    fn poll_ready(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), ()>> {
        if self.is_full() {
            Poll::Pending
        } else {
            Poll::Ready(Ok(()))
        }
    }

    fn start_send(self: Pin<&mut Self>, item: u32) -> Result<(), ()> {
        assert!(!self.is_full(), "start_send without poll_ready");
        self.buffer.borrow_mut().push_back(item);
        Ok(())
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), ()>> {
        self.note("flush");
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), ()>> {
        self.note("close");
        Poll::Ready(Ok(()))
    }
}

fn numbers() -> impl futures_core::Stream<Item = Result<u32, ()>> {
    stream::iter([Ok(1), Ok(2)])
}

#[tokio::test]
async fn row_26_forward_closes_what_it_borrowed() {
    // futures 0.1: took the sink, closed it, and handed it back closed.
    let sink = Recorder::new(9);
    stream_01::iter_ok::<_, ()>([1, 2])
        .forward(sink.clone())
        .wait()
        .map(drop)
        .unwrap();
    assert_eq!(sink.log().last(), Some(&"close"));

    // Naive: lent by `&mut`, the sink looks as if it were good for more.
    let mut sink = Recorder::new(9);
    numbers().forward(&mut sink).await.unwrap();
    assert_eq!(sink.log().last(), Some(&"close"));

    // Right, if more is to come.
    SinkExt::send_all(&mut sink, &mut numbers()).await.unwrap();
    assert_eq!(sink.log(), ["flush"]);
}

#[tokio::test]
async fn row_27_dropping_a_half_of_a_split_closes_nothing() {
    /// A stream and a sink in one, as a framed socket is.
    struct Both(Recorder, #[expect(dead_code, reason = "held")] Rc<()>);
    impl futures_core::Stream for Both {
        type Item = u32;
        fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<u32>> {
            Poll::Pending
        }
    }
    impl futures01::Stream for Both {
        type Item = u32;
        type Error = ();
        fn poll(&mut self) -> futures01::Poll<Option<u32>, ()> {
            Ok(Async::NotReady)
        }
    }
    impl futures01::Sink for Both {
        type SinkItem = u32;
        type SinkError = ();
        fn start_send(&mut self, item: u32) -> futures01::StartSend<u32, ()> {
            futures01::Sink::start_send(&mut self.0, item)
        }
        fn poll_complete(&mut self) -> futures01::Poll<(), ()> {
            self.0.poll_complete()
        }
    }
    impl Sink<u32> for Both {
        type Error = ();
        fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), ()>> {
            Pin::new(&mut self.0).poll_ready(cx)
        }
        fn start_send(mut self: Pin<&mut Self>, item: u32) -> Result<(), ()> {
            Sink::start_send(Pin::new(&mut self.0), item)
        }
        fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), ()>> {
            Pin::new(&mut self.0).poll_flush(cx)
        }
        fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), ()>> {
            Pin::new(&mut self.0).poll_close(cx)
        }
    }
    let (sink, open) = (Recorder::new(9), Rc::new(()));

    // futures 0.1: the socket is one, and goes with its last half.
    let (write, read) = futures01::Stream::split(Both(sink.clone(), open.clone()));
    drop(write);
    assert!(sink.log().is_empty());
    drop(read);
    assert_eq!(Rc::strong_count(&open), 1);

    // Naive: the writer is done, so the peer will see the end.
    let (write, read) = StreamExt::split(Both(sink.clone(), open.clone()));
    drop::<stream::SplitSink<_, u32>>(write);
    assert!(sink.log().is_empty(), "nobody closed it");
    assert_eq!(Rc::strong_count(&open), 2, "the reader holds the socket");
    drop(read);
    assert_eq!(Rc::strong_count(&open), 1);

    // Right: say so.
    let (mut write, _read) = StreamExt::split(Both(sink.clone(), open.clone()));
    SinkExt::<u32>::close(&mut write).await.unwrap();
    assert_eq!(sink.log(), ["close"]);
}

#[tokio::test]
async fn row_30_send_all_no_longer_closes() {
    // futures 0.1: closes at the end, which is how the reader learns of it.
    let sink = Recorder::new(9);
    sink.clone()
        .send_all(stream_01::iter_ok::<_, ()>([1, 2]))
        .wait()
        .map(drop)
        .unwrap();
    assert_eq!(sink.log().last(), Some(&"close"));

    // Naive: flushed, and left open. The reader waits for more.
    let mut sink = Recorder::new(9);
    SinkExt::send_all(&mut sink, &mut numbers()).await.unwrap();
    assert_eq!(sink.log(), ["flush"]);

    // Right: close it, or `forward` to it.
    SinkExt::send_all(&mut sink, &mut numbers()).await.unwrap();
    SinkExt::close(&mut sink).await.unwrap();
    assert_eq!(sink.log(), ["flush", "close"]);
}

#[test]
fn row_31_a_full_sink_hands_nothing_back() {
    const ITEMS: [u32; 3] = [1, 2, 3];

    // futures 0.1: try, keep what comes back, and try that again.
    let (mut tx, mut rx) = mpsc_01::channel(0);
    let (mut items, mut refused) = (ITEMS.into_iter(), None);
    let sending = AsStd::new(futures01::future::poll_fn(move || {
        while let Some(item) = refused.take().or_else(|| items.next()) {
            if let AsyncSink::NotReady(item) = tx.start_send(item)? {
                refused = Some(item);
                return Ok::<_, mpsc_01::SendError<u32>>(Async::NotReady);
            }
        }
        Ok(Async::Ready(()))
    }));
    let all = received(sending, || {
        match executor::spawn(&mut rx).poll_stream_notify(&Bell::new(), 0) {
            Ok(Async::Ready(item)) => item,
            _ => None,
        }
    });
    assert_eq!(all, ITEMS);

    // Naive: `start_send` for `start_send`. Full is an error now, of those that pass, and looks like
    // the old answer; but the item went in and did not come out.
    let (mut tx, mut rx) = mpsc::channel(0);
    let mut items = ITEMS.into_iter();
    let sending = poll_fn(move |cx| {
        for item in items.by_ref() {
            match Pin::new(&mut tx).start_send(item) {
                Err(error) if error.is_full() => return tx.poll_ready(cx),
                sent => sent?,
            }
        }
        Poll::Ready(Ok(()))
    });
    assert_eq!(received(sending, || rx.try_recv().ok()), [1, 3]);

    // Right: ask for room, and take the next item when there is.
    let (mut tx, mut rx) = mpsc::channel(0);
    let mut items = ITEMS.into_iter();
    let sending = poll_fn(move |cx| {
        while !items.as_slice().is_empty() {
            ready!(tx.poll_ready(cx))?;
            let item = items.next().expect("not empty");
            Pin::new(&mut tx).start_send(item)?;
        }
        Poll::Ready(Ok::<_, mpsc::SendError>(()))
    });
    assert_eq!(received(sending, || rx.try_recv().ok()), ITEMS);
}

#[tokio::test]
async fn row_32_close_hangs_up() {
    // futures 0.1: `close` does all that `poll_complete` does, which is what it was called for; on
    // the sender of a channel it does nothing more.
    let (mut tx, mut rx) = mpsc_01::channel(1);
    let mut end = executor::spawn(futures01::future::poll_fn(|| tx.close()));
    assert_eq!(Bell::new().poll_01(&mut end).unwrap(), Async::Ready(()));
    tx.try_send(1).unwrap();
    let mut received = executor::spawn(&mut rx);
    assert_eq!(
        Bell::new().poll_stream_01(&mut received),
        Ok(Async::Ready(Some(1)))
    );

    // Naive: the same word ends the channel.
    let (mut tx, _rx) = mpsc::channel(1);
    SinkExt::<u32>::close(&mut tx).await.unwrap();
    assert!(tx.try_send(1).unwrap_err().is_disconnected());

    // Right, if more is to come.
    let (mut tx, mut rx) = mpsc::channel(1);
    SinkExt::<u32>::flush(&mut tx).await.unwrap();
    tx.try_send(1).unwrap();
    assert_eq!(rx.next().await, Some(1));
}

/// What comes out of a channel whose reader takes one item each time that the writer waits.
fn received<E: std::fmt::Debug>(
    mut sending: impl Future<Output = Result<(), E>> + Unpin,
    mut receive: impl FnMut() -> Option<u32>,
) -> Vec<u32> {
    let (bell, mut received) = (Bell::new(), Vec::new());
    while bell.poll(&mut sending).map(Result::unwrap).is_pending() {
        let rung = bell.rung();
        received.push(receive().expect("the writer waits, so there is something"));
        assert_eq!(bell.rung(), rung + 1, "the writer hears of the room");
    }
    received.extend(std::iter::from_fn(receive));
    received
}
