//! How long a task keeps the others waiting, counted in ready polls between two polls of another.

use std::future::{poll_fn, Future};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures01::{stream, Async, AsyncSink, Future as Future01, Poll as Poll01, Sink as Sink01};
use futures01::{StartSend, Stream as Stream01};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::runtime::{Builder, Runtime};
use tokio_core_compat::io::{AsIo01, AsTokio, ShutdownPolicy};
use tokio_core_compat::spawn::{Local, Spawner};
use tokio_core_compat::task::{As01, As01Sink, AsStd, AsStdSink, InRuntime};
use tokio_core_compat::time::{Current, Interval, Timeout};

use crate::common::meter::{Meter, BOUND};
use crate::common::Bell;

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

/// A runtime of each kind, with a clock.
fn runtimes() -> [Runtime; 2] {
    [Builder::new_current_thread(), Builder::new_multi_thread()]
        .map(|mut builder| builder.worker_threads(1).enable_time().build().unwrap())
}

/// Runs what `busy` makes as a task of a runtime of each kind. Between two polls of that task the
/// others have their turn.
fn beside<F>(busy: impl Fn(Meter) -> F)
where
    F: Future + Send + 'static,
{
    for runtime in runtimes() {
        let meter = Meter::default();
        let others = meter.clone();
        let _inside = runtime.enter();
        let mut busy = Box::pin(busy(meter.clone()));
        let task = poll_fn(move |cx| {
            others.other();
            busy.as_mut().poll(cx).map(drop)
        });
        runtime.block_on(runtime.spawn(task)).unwrap();
        at_most(&meter);
    }
}

fn at_most(meter: &Meter) {
    let most = meter.most();
    assert!(most <= BOUND, "{most} ready polls at a stretch");
}

#[test]
fn a_stream_in_as_std_leaves_the_others_their_turn() {
    beside(|meter| AsStd::new(meter.stream()).for_each(|_| async {}));
}

#[test]
fn so_do_futures_in_as_std_that_are_ready_at_once() {
    beside(|meter| async move {
        while AsStd::new(futures01::future::ok::<_, ()>(meter.step()))
            .await
            .unwrap()
        {}
    });
}

#[test]
fn so_does_a_sink_in_as_std_sink() {
    beside(|meter| async move {
        let mut sink = AsStdSink::new(Drain(meter));
        while sink.send(()).await.is_ok() {}
    });
}

#[test]
fn so_do_reads_and_writes_of_as_tokio() {
    beside(|meter| async move {
        let mut io = bulk(&meter);
        while io.read(&mut [0; 8]).await.unwrap() > 0 {}
    });
    beside(|meter| async move {
        let mut io = bulk(&meter);
        while io.write(b"bulk").await.is_ok() {}
    });
    beside(|meter| async move {
        let mut io = bulk(&meter);
        let bufs = [io::IoSlice::new(b"bulk")];
        while io.write_vectored(&bufs).await.is_ok() {}
    });
}

/// 0.1's loops never return by themselves; what they loop over does.
#[test]
fn so_does_a_loop_of_0_1_over_a_std_stream() {
    beside(|meter| AsStd::new(As01::new(meter.std_stream()).for_each(|()| Ok(()))));
}

#[test]
fn so_does_a_loop_of_0_1_over_a_std_sink() {
    beside(|meter| {
        let sink = futures_util::sink::drain::<()>();
        let sink = As01Sink::new(sink).sink_map_err::<_, io::Error>(|never| match never {});
        AsStd::new(sink.send_all(meter.stream()))
    });
}

#[test]
fn so_does_a_copy_over_as_io_01() {
    beside(|meter| {
        let io = AsIo01::new(bulk(&meter), ShutdownPolicy::Fin);
        AsStd::new(tokio_io::io::copy(io, io::sink()))
    });
}

/// It adds none, and takes none away.
#[test]
fn so_does_what_is_in_runtime() {
    beside(|meter| {
        let runtime = tokio::runtime::Handle::current();
        InRuntime::new(AsStd::new(meter.stream()), runtime).for_each(|_| async {})
    });
    beside(|meter| {
        let runtime = tokio::runtime::Handle::current();
        let items = InRuntime::new(As01::new(meter.std_stream()), runtime);
        AsStd::new(items.for_each(|()| Ok(())))
    });
}

/// Its period is over whenever it is looked at.
#[test]
fn so_does_a_loop_of_0_1_over_an_interval() {
    beside(|meter| {
        let ticks = Interval::new(Duration::from_nanos(1), &Current).unwrap();
        AsStd::new(
            ticks
                .take_while(move |()| Ok(meter.step()))
                .for_each(|()| Ok(())),
        )
    });
}

/// It ends what has used up the budget, and is polled after it.
#[test]
fn a_timeout_needs_no_budget() {
    for runtime in runtimes() {
        let (polls, seen) = (Arc::new(AtomicUsize::new(0)), Meter::default());
        let counted = polls.clone();
        runtime
            .block_on(runtime.spawn(async move {
                let timeout = Timeout::new(Duration::ZERO, &Current).unwrap();
                let forever = stream::poll_fn(|| Ok::<_, io::Error>(Async::Ready(Some(()))));
                let mut items = AsStd::new(forever);
                let busy = As01::pin(async move {
                    while seen.step() {
                        items.next().await;
                        counted.fetch_add(1, Relaxed);
                    }
                    Ok(())
                });
                AsStd::new(busy.select(timeout)).await.map(drop).ok()
            }))
            .unwrap();
        assert!(polls.load(Relaxed) < BOUND, "{polls:?} items");
    }
}

#[tokio::test]
async fn only_progress_spends_the_budget() {
    let mut idle = AsStd::new(stream::poll_fn(|| {
        Ok::<_, ()>(Async::<Option<()>>::NotReady)
    }));
    poll_fn(|cx| {
        for _ in 0..1_000 {
            assert!(idle.poll_next_unpin(cx).is_pending());
        }
        Poll::Ready(())
    })
    .await;
    assert!(
        tokio::task::coop::has_budget_remaining(),
        "a poll that was not ready has spent some"
    );
}

#[test]
fn tasks_of_a_local_have_a_budget() {
    for runtime in runtimes() {
        let meter = Meter::default();
        let local = Local::new(runtime.handle());
        let (tx, rx) = futures01::unsync::oneshot::channel();
        let mut busy = AsStd::new(meter.stream());
        let busy = As01::pin(async move {
            while busy.next().await.is_some() {}
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
}

#[test]
fn tasks_of_a_spawner_have_a_budget() {
    for runtime in runtimes() {
        let meter = Meter::default();
        let mut busy = As01::new(meter.std_stream()).for_each(|()| Ok(()));
        let others = meter.clone();
        let task = futures01::future::poll_fn(move || {
            others.other();
            busy.poll()
        });
        let spawned = Spawner::new(runtime.handle().clone()).spawn(task);
        runtime.block_on(spawned).unwrap().unwrap();
        at_most(&meter);
    }
}

/// Without any executor of tokio's: no budget but this crate's, of a 0.1 task.
mod without_tokio {
    use super::*;

    /// Polls as a 0.1 executor does, with the count of the other task in between.
    fn beside_01<F: Future01>(meter: &Meter, busy: F) {
        let bell = Bell::new();
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
        let sink = As01Sink::new(sink).sink_map_err::<_, io::Error>(|never| match never {});
        beside_01(&meter, sink.send_all(meter.stream()));
        at_most(&meter);
    }

    #[test]
    fn a_plain_poll_has_none() {
        let mut items = AsStd::new(stream::repeat::<_, ()>(1));
        let cx = &mut Context::from_waker(Waker::noop());
        assert!((0..1_000).all(|_| items.poll_next_unpin(cx).is_ready()));
    }
}
