//! How long a task keeps the others waiting, counted in ready polls between two polls of another.

mod common;

use std::cell::Cell;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use common::watched;
use futures01::{stream, Async, AsyncSink, Future as Future01, Poll as Poll01, Sink as Sink01};
use futures01::{StartSend, Stream as Stream01};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_core_compat::io::{AsIo01, AsTokio, ShutdownPolicy};
use tokio_core_compat::spawn::Local;
use tokio_core_compat::task::{As01, As01Sink, AsStd, AsStdSink};

/// What one task gets done between two polls of another: tokio's number, and the poll that ends it.
const BOUND: usize = 129;

/// What a task without a budget does in one poll.
const ALL: usize = 10_000;

/// Counts what a busy task does, and how much of it the other had to wait for at most.
#[derive(Clone, Default)]
struct Meter {
    since: Rc<Cell<usize>>,
    most: Rc<Cell<usize>>,
    total: Rc<Cell<usize>>,
}

impl Meter {
    /// Counts one step of the busy task; false when it is to end.
    fn step(&self) -> bool {
        self.since.set(self.since.get() + 1);
        self.total.set(self.total.get() + 1);
        self.total.get() < ALL
    }

    /// The other task was polled.
    fn other(&self) {
        self.most.set(self.most.get().max(self.since.take()));
    }

    /// The most that was done at a stretch, once all is done.
    fn most(&self) -> usize {
        self.other();
        assert_eq!(self.total.get(), ALL, "the busy task ended too early");
        self.most.get()
    }

    /// A 0.1 stream that is always ready.
    fn stream(&self) -> impl Stream01<Item = (), Error = io::Error> {
        let meter = self.clone();
        stream::poll_fn(move || Ok(Async::Ready(meter.step().then_some(()))))
    }

    /// Its like of std.
    fn std_stream(&self) -> impl futures_core::Stream<Item = io::Result<()>> + Unpin {
        let meter = self.clone();
        futures_util::stream::poll_fn(move |_| Poll::Ready(meter.step().then_some(Ok(()))))
    }
}

/// A peer that is always faster: reads and writes never block.
struct Bulk(Meter);

impl io::Read for Bulk {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let more = self.0.step();
        Ok(if more { buf.len() } else { 0 })
    }
}

impl io::Write for Bulk {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        if self.0.step() {
            return Ok(buf.len());
        }
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl tokio_io::AsyncRead for Bulk {}

impl tokio_io::AsyncWrite for Bulk {
    fn shutdown(&mut self) -> Poll01<(), io::Error> {
        Ok(Async::Ready(()))
    }
}

fn bulk(meter: &Meter) -> AsTokio<Bulk> {
    AsTokio::with_half_close(Bulk(meter.clone()), |_| Ok(()))
}

/// A sink with room for ever.
struct Drain(Meter);

impl Sink01 for Drain {
    type SinkItem = ();
    type SinkError = io::Error;

    fn start_send(&mut self, (): ()) -> StartSend<(), io::Error> {
        Ok(AsyncSink::Ready)
    }

    fn poll_complete(&mut self) -> Poll01<(), io::Error> {
        if self.0.step() {
            return Ok(Async::Ready(()));
        }
        Err(io::ErrorKind::BrokenPipe.into())
    }
}

/// Runs `busy` in one task of tokio, and counts the polls of that task.
fn beside<F: Future>(meter: &Meter, busy: F) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let mut busy = pin!(busy);
    runtime.block_on(std::future::poll_fn(|cx| {
        meter.other();
        busy.as_mut().poll(cx).map(drop)
    }));
}

fn at_most(meter: &Meter) {
    let most = meter.most();
    assert!(most <= BOUND, "{most} ready polls at a stretch");
}

#[test]
fn a_stream_in_as_std_leaves_the_others_their_turn() {
    let meter = Meter::default();
    beside(&meter, AsStd::new(meter.stream()).for_each(|_| async {}));
    at_most(&meter);
}

#[test]
fn so_do_futures_in_as_std_that_are_ready_at_once() {
    let meter = Meter::default();
    beside(&meter, async {
        while AsStd::new(futures01::future::ok::<_, ()>(meter.step()))
            .await
            .unwrap()
        {}
    });
    at_most(&meter);
}

#[test]
fn so_does_a_sink_in_as_std_sink() {
    let meter = Meter::default();
    let mut sink = AsStdSink::new(Drain(meter.clone()));
    beside(&meter, async { while sink.send(()).await.is_ok() {} });
    at_most(&meter);
}

#[test]
fn so_do_reads_and_writes_of_as_tokio() {
    let meter = Meter::default();
    let mut io = bulk(&meter);
    beside(&meter, async {
        while io.read(&mut [0; 8]).await.unwrap() > 0 {}
    });
    at_most(&meter);

    let meter = Meter::default();
    let mut io = bulk(&meter);
    beside(&meter, async { while io.write(b"bulk").await.is_ok() {} });
    at_most(&meter);

    let meter = Meter::default();
    let mut io = bulk(&meter);
    let bufs = [io::IoSlice::new(b"bulk")];
    beside(&meter, async {
        while io.write_vectored(&bufs).await.is_ok() {}
    });
    at_most(&meter);
}

/// 0.1's loops never return by themselves; what they loop over does.
#[test]
fn so_does_a_loop_of_0_1_over_a_std_stream() {
    let meter = Meter::default();
    let items = As01::new(meter.std_stream());
    beside(&meter, AsStd::new(items.for_each(|()| Ok(()))));
    at_most(&meter);
}

#[test]
fn only_progress_spends_the_budget() {
    let meter = Meter::default();
    let mut idle = AsStd::new(stream::poll_fn(|| {
        Ok::<_, ()>(Async::<Option<()>>::NotReady)
    }));
    beside(&meter, async {
        std::future::poll_fn(|cx| {
            for _ in 0..1_000 {
                assert!(idle.poll_next_unpin(cx).is_pending());
            }
            assert!(
                tokio::task::coop::has_budget_remaining(),
                "a poll that was not ready has spent some"
            );
            Poll::Ready(())
        })
        .await;
        while meter.step() {}
    });
}

#[test]
fn tasks_of_a_local_have_a_budget() {
    let meter = Meter::default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let local = Local::new(runtime.handle());
    let (tx, rx) = futures01::unsync::oneshot::channel();
    let mut busy = AsStd::new(meter.stream());
    let busy = async move { while busy.next().await.is_some() {} };
    let busy = As01::pin(async {
        busy.await;
        Ok(())
    });
    local
        .handle()
        .spawn(busy.then(|_: Result<(), ()>| tx.send(())));
    let other = meter.clone();
    local.handle().spawn(futures01::future::poll_fn(move || {
        other.other();
        futures01::task::current().notify();
        Ok(Async::NotReady)
    }));
    runtime.block_on(local.run_until(AsStd::new(rx))).unwrap();
    at_most(&meter);
}

/// Without any executor of tokio's: no budget but this crate's, of a 0.1 task.
mod without_tokio {
    use super::*;

    /// Polls as a 0.1 executor does, with the count of the other task in between.
    fn beside_01<F: Future01>(meter: &Meter, busy: F) {
        let bell = common::Bell::new();
        let mut task = futures01::executor::spawn(busy);
        loop {
            let before = bell.rung();
            match bell.poll_01(&mut task) {
                Ok(Async::NotReady) => assert!(bell.rung() > before, "no wake-up"),
                _ => return,
            }
            meter.other();
        }
    }

    #[test]
    fn a_loop_of_0_1_over_a_std_stream_yields() {
        let meter = Meter::default();
        let items = As01::new(meter.std_stream());
        beside_01(&meter, items.for_each(|()| Ok(())));
        at_most(&meter);
    }

    #[test]
    fn async_code_over_an_adapter_yields() {
        let meter = Meter::default();
        let mut items = AsStd::new(meter.stream());
        let busy = async move {
            while items.next().await.is_some() {}
            Ok::<_, ()>(())
        };
        beside_01(&meter, As01::pin(busy));
        at_most(&meter);
    }

    #[test]
    fn a_copy_over_as_io_01_yields() {
        let meter = Meter::default();
        let io = AsIo01::new(bulk(&meter), ShutdownPolicy::Fin);
        let copy = tokio_io::io::copy(io, io::sink());
        beside_01(&meter, copy);
        at_most(&meter);
    }

    #[test]
    fn a_std_sink_that_always_has_room_yields() {
        let meter = Meter::default();
        let sink = futures_util::sink::drain::<()>();
        let sink = As01Sink::new(sink).sink_map_err::<_, ()>(|never| match never {});
        let count = meter.clone();
        let items = stream::poll_fn(move || Ok::<_, ()>(Async::Ready(count.step().then_some(()))));
        beside_01(&meter, sink.send_all(items));
        at_most(&meter);
    }

    #[test]
    fn a_plain_poll_has_none() {
        let mut items = AsStd::new(stream::repeat::<_, ()>(1));
        let cx = &mut Context::from_waker(Waker::noop());
        assert!((0..1_000).all(|_| items.poll_next_unpin(cx).is_ready()));
    }
}

#[cfg(feature = "core")]
mod on_a_core {
    use super::*;
    use tokio_core::reactor::{Core, Handle};
    use tokio_core_compat::core_thread::CoreThread;
    use tokio_core_compat::spawn::{on_handle, on_remote_std};

    /// A Core may poll one task twice before it comes to the next.
    const ON_A_CORE: usize = 2 * BOUND;

    /// Spawns a task that only counts its polls.
    fn other(meter: &Meter, handle: &Handle) {
        let meter = meter.clone();
        handle.spawn(futures01::future::poll_fn(move || {
            meter.other();
            futures01::task::current().notify();
            Ok(Async::NotReady)
        }));
    }

    /// Async code that is always ready, of this crate and of tokio's own.
    async fn busy(meter: Meter, tokio_s: bool) -> usize {
        if tokio_s {
            let (tx, mut rx) = tokio::sync::mpsc::unbounded_channel();
            tx.send(()).unwrap();
            while meter.step() {
                rx.recv().await.unwrap();
                tx.send(()).unwrap();
            }
        } else {
            AsStd::new(meter.stream()).for_each(|_| async {}).await;
        }
        meter.most()
    }

    #[test]
    fn run_std_leaves_the_others_their_turn() {
        for (tokio_s, inside) in [(false, false), (false, true), (true, false), (true, true)] {
            let most = watched(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .build()
                    .unwrap();
                let inside = inside.then(|| runtime.enter());
                let core = CoreThread::new("a core").unwrap();
                drop(inside);
                let call = core.run_std(move |handle| {
                    let meter = Meter::default();
                    other(&meter, handle);
                    busy(meter, tokio_s)
                });
                runtime.block_on(call).unwrap()
            });
            assert!(most <= ON_A_CORE, "{most} ready polls at a stretch");
        }
    }

    #[test]
    fn so_do_on_handle_and_on_remote_std() {
        for tokio_s in [false, true] {
            watched(move || {
                let mut core = Core::new().unwrap();
                let handle = core.handle();
                let meter = Meter::default();
                other(&meter, &handle);
                let call = on_handle(&handle, busy(meter, tokio_s));
                let most = core.run(As01::new(call)).unwrap();
                assert!(most <= ON_A_CORE, "{most} ready polls at a stretch");

                let call = on_remote_std(&core.remote(), move |handle| {
                    let meter = Meter::default();
                    other(&meter, handle);
                    busy(meter, tokio_s)
                });
                let most = core.run(As01::new(call)).unwrap();
                assert!(most <= ON_A_CORE, "{most} ready polls at a stretch");
            });
        }
    }

    /// Code that knows no `Context`, in a future that was woken through the 0.1 task.
    #[test]
    fn a_notified_0_1_task_polls_the_async_code_in_it() {
        watched(|| {
            let mut core = Core::new().unwrap();
            let mut polls = 0;
            let call = on_handle(
                &core.handle(),
                std::future::poll_fn(move |_| {
                    polls += 1;
                    if polls == 3 {
                        return Poll::Ready(polls);
                    }
                    futures01::task::current().notify();
                    Poll::Pending
                }),
            );
            assert_eq!(core.run(As01::new(call)).unwrap(), 3);
        });
    }
}
