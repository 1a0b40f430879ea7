//! Futures, streams and sinks.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use futures01::{Async, Future as Future01, Sink as _, Stream as Stream01};
use futures_util::compat::{Future01CompatExt, Sink01CompatExt, Stream01CompatExt};
use futures_util::{Sink, SinkExt, Stream, StreamExt, TryFutureExt, TryStreamExt};
use tokio_core_compat::task::{As01, As01Sink, AsStd, AsStdSink};

use crate::{block_on, yes, Row};

type Future01Box = Box<dyn Future01<Item = u32, Error = ()> + Send>;
type Stream01Box = Box<dyn Stream01<Item = (), Error = ()> + Send>;

pub fn rows() -> Vec<Row> {
    vec![
        Row(
            "awaits a 0.1 future",
            [
                Some(|| awaits(AsStd::new)),
                Some(|| awaits(Future01CompatExt::compat)),
                Some(|| {
                    use tokio_compat::prelude::*;
                    awaits(|old: Future01Box| old.compat())
                }),
                None,
            ],
        ),
        Row(
            "gives a std future to 0.1 code",
            [
                Some(|| yes(As01::pin(async { Ok::<_, ()>(42) }).wait() == Ok(42))),
                Some(|| yes(Box::pin(async { Ok::<_, ()>(42) }).compat().wait() == Ok(42))),
                None,
                None,
            ],
        ),
        Row(
            "uses a 0.1 sink as a std one",
            [
                Some(|| sends(AsStdSink::new)),
                Some(|| sends(Sink01CompatExt::sink_compat)),
                Some(|| {
                    use tokio_compat::prelude::*;
                    sends(|tx| tx.sink_compat())
                }),
                None,
            ],
        ),
        Row(
            "uses a std sink as a 0.1 one",
            [
                Some(|| yes(As01Sink::new(Vec::new()).send(1).wait().is_ok())),
                Some(|| {
                    let sink = SinkExt::<u32>::compat(Vec::new());
                    yes(futures01::Sink::send(sink, 1).wait().is_ok())
                }),
                None,
                None,
            ],
        ),
        Row(
            "wakes the task that polled last, for what was registered in an earlier poll",
            [
                Some(|| wakes_the_latest(AsStd::new)),
                Some(|| wakes_the_latest(Future01CompatExt::compat)),
                Some(|| {
                    use tokio_compat::prelude::*;
                    wakes_the_latest(|old: Future01Box| old.compat())
                }),
                None,
            ],
        ),
        Row(
            "items of a 0.1 stream that is always ready, of 10,000, before tokio 1 polls another task",
            [
                Some(|| at_a_stretch(AsStd::new)),
                Some(|| at_a_stretch(Stream01CompatExt::compat)),
                Some(|| {
                    use tokio_compat::prelude::*;
                    at_a_stretch(|old: Stream01Box| old.compat())
                }),
                None,
            ],
        ),
        Row(
            "the same, of a std stream in a loop of 0.1",
            [
                Some(|| {
                    at_a_stretch(|items| {
                        let looped = As01::new(items.compat()).for_each(|()| Ok(()));
                        AsStd::new(looped.into_stream())
                    })
                }),
                Some(|| {
                    at_a_stretch(|items| {
                        let looped = TryStreamExt::compat(items.compat()).for_each(|()| Ok(()));
                        looped.into_stream().compat()
                    })
                }),
                None,
                None,
            ],
        ),
    ]
}

fn awaits<F>(wrap: impl FnOnce(Future01Box) -> F) -> String
where
    F: Future<Output = Result<u32, ()>>,
{
    yes(block_on(wrap(Box::new(futures01::future::ok(42)))) == Ok(42))
}

fn sends<S>(wrap: impl FnOnce(futures01::sync::mpsc::Sender<u32>) -> S) -> String
where
    S: Sink<u32> + Unpin,
{
    let (tx, rx) = futures01::sync::mpsc::channel(1);
    let sent = block_on(wrap(tx).send(42)).is_ok();
    yes(sent && rx.wait().next() == Some(Ok(42)))
}

/// Counts its wake-ups.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

fn wakes_the_latest<F>(wrap: impl FnOnce(Future01Box) -> F) -> String
where
    F: Future + Unpin,
{
    let registered = Arc::new(Mutex::new(None));
    let task = registered.clone();
    let mut future = wrap(Box::new(futures01::future::poll_fn(move || {
        let mut task = task.lock().unwrap();
        task.get_or_insert_with(futures01::task::current);
        Ok(Async::NotReady)
    })));
    let bells = [Arc::<Bell>::default(), Arc::default()];
    for bell in &bells {
        let waker = Waker::from(bell.clone());
        let polled = Pin::new(&mut future).poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
    }
    registered.lock().unwrap().as_ref().unwrap().notify();
    yes(bells[1].0.load(Relaxed) == 1)
}

/// The most items that the stream inside yields in one poll of the task that takes them all.
fn at_a_stretch<S: Stream>(wrap: impl FnOnce(Stream01Box) -> S) -> String {
    const ALL: usize = 10_000;
    let (total, since) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let taken = since.clone();
    let items = futures01::stream::poll_fn(move || {
        taken.fetch_add(1, Relaxed);
        let more = total.fetch_add(1, Relaxed) < ALL;
        Ok(Async::Ready(more.then_some(())))
    });
    let mut all = Box::pin(wrap(Box::new(items)).for_each(|_| async {}));
    let mut most = 0;
    block_on(std::future::poll_fn(|cx| {
        let polled = all.as_mut().poll(cx);
        most = most.max(since.swap(0, Relaxed));
        match polled {
            Poll::Ready(()) => Poll::Ready(()),
            Poll::Pending => Poll::Pending,
        }
    }));
    // What ends the stream is no item.
    most.min(ALL).to_string()
}
