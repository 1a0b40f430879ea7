//! README.md's table of adapters and properties: that it names tests that exist, and the tests that
//! are the same for several adapters. Those that wait run on both kinds of runtime.

use std::pin::Pin;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use futures01::{executor, Async, Future as _, Sink as _};
use futures01::{sync::oneshot, Stream as Stream01};
use futures_sink::Sink;
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::runtime::Builder;
use tokio_core_compat::io::{AsIo01, AsTokio, ShutdownPolicy};
use tokio_core_compat::spawn::{Local, Spawner};
use tokio_core_compat::task::{As01, As01Sink, AsStd, AsStdSink, InRuntime};

use crate::common::{on_each_runtime, Bell};

/// Runs `f` on another thread, after the one that waits has most likely gone to sleep.
fn later(f: impl FnOnce() + Send + 'static) {
    thread::spawn(|| {
        thread::sleep(Duration::from_millis(5));
        f();
    });
}

fn noop() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

const ITEMS: u32 = 100;
const BYTES: usize = 100_000;

mod wakers_from_another_thread {
    use super::*;

    #[test]
    fn reach_as_std() {
        on_each_runtime(|runtime| {
            let (tx, rx) = oneshot::channel();
            later(move || tx.send(1).unwrap());
            assert_eq!(runtime.block_on(AsStd::new(rx)), Ok(1));
        });
    }

    #[test]
    fn reach_as_01() {
        on_each_runtime(|runtime| {
            let (tx, rx) = tokio::sync::oneshot::channel();
            later(move || tx.send(1).unwrap());
            assert_eq!(runtime.block_on(AsStd::new(As01::new(rx))), Ok(1));
            let (tx, rx) = tokio::sync::oneshot::channel();
            later(move || tx.send(2).unwrap());
            assert_eq!(As01::new(rx).wait(), Ok(2));
        });
    }

    #[test]
    fn reach_in_runtime() {
        on_each_runtime(|runtime| {
            let (tx, rx) = oneshot::channel();
            later(move || tx.send(1).unwrap());
            let rx = InRuntime::new(rx, runtime.handle().clone());
            assert_eq!(runtime.block_on(AsStd::new(rx)), Ok(1));
        });
    }

    /// A full channel, emptied over there: backpressure, too.
    #[test]
    fn reach_as_std_sink() {
        on_each_runtime(|runtime| {
            let (tx, rx) = futures01::sync::mpsc::channel(0);
            let reader = thread::spawn(|| rx.wait().map(Result::unwrap).sum::<u32>());
            let mut tx = AsStdSink::new(tx);
            runtime.block_on(async {
                for item in 0..ITEMS {
                    tx.send(item).await.unwrap();
                }
            });
            drop(tx);
            assert_eq!(reader.join().unwrap(), (0..ITEMS).sum());
        });
    }

    #[test]
    fn reach_as_01_sink() {
        on_each_runtime(|runtime| {
            let (tx, rx) = futures_channel::mpsc::channel(0);
            let reader = thread::spawn(|| {
                As01::new(rx.map(Ok::<_, ()>))
                    .wait()
                    .map(Result::unwrap)
                    .sum::<u32>()
            });
            let items = futures01::stream::iter_ok(0..ITEMS);
            let sent = As01Sink::new(tx).send_all(items);
            drop(runtime.block_on(AsStd::new(sent)).unwrap());
            assert_eq!(reader.join().unwrap(), (0..ITEMS).sum());
        });
    }

    #[test]
    fn reach_as_io_01() {
        on_each_runtime(|runtime| {
            let (near, far) = tokio::io::duplex(64);
            let far = AsIo01::new(far, ShutdownPolicy::Fin);
            let reader = thread::spawn(|| {
                tokio_io::io::read_to_end(far, Vec::new())
                    .wait()
                    .unwrap()
                    .1
                    .len()
            });
            let near = AsIo01::new(near, ShutdownPolicy::Fin);
            drop(
                runtime
                    .block_on(AsStd::new(tokio_io::io::write_all(near, vec![0; BYTES])))
                    .unwrap(),
            );
            assert_eq!(reader.join().unwrap(), BYTES);
        });
    }

    #[test]
    fn reach_as_tokio() {
        on_each_runtime(|runtime| {
            let (near, far) = tokio::io::duplex(64);
            let far = AsIo01::new(far, ShutdownPolicy::Fin);
            let reader = thread::spawn(|| {
                tokio_io::io::read_to_end(far, Vec::new())
                    .wait()
                    .unwrap()
                    .1
                    .len()
            });
            let near = AsIo01::new(near, ShutdownPolicy::Fin);
            let mut near = AsTokio::with_half_close(near, |_| Ok(()));
            runtime.block_on(async {
                near.write_all(&vec![0; BYTES]).await.unwrap();
                near.shutdown().await.unwrap();
            });
            assert_eq!(reader.join().unwrap(), BYTES);
        });
    }

    #[test]
    fn reach_tasks_of_a_local_and_of_a_spawner() {
        on_each_runtime(|runtime| {
            let (tx, rx) = oneshot::channel();
            let spawned = Spawner::new(runtime.handle().clone()).spawn(rx);
            later(move || tx.send(1).unwrap());
            assert_eq!(runtime.block_on(spawned).unwrap(), Ok(1));

            let local = Local::new(runtime.handle());
            let (tx, rx) = oneshot::channel();
            let (done, ended) = futures01::unsync::oneshot::channel();
            local
                .handle()
                .spawn(rx.then(|got| done.send(got).map_err(drop)));
            later(move || tx.send(2).unwrap());
            assert_eq!(
                runtime.block_on(local.run_until(AsStd::new(ended))),
                Ok(Ok(2))
            );
        });
    }
}

/// Disconnects its channel when it is dropped.
type Guard = mpsc::Sender<()>;

#[test]
fn dropping_a_wrapper_drops_what_is_inside_at_once() {
    let check = |wrap: fn(Guard)| {
        let (guard, guarded) = mpsc::channel();
        wrap(guard);
        assert_eq!(guarded.try_recv(), Err(mpsc::TryRecvError::Disconnected));
    };
    check(|guard| drop(AsStd::new(guard)));
    check(|guard| drop(As01::new(guard)));
    check(|guard| drop(AsIo01::new(guard, ShutdownPolicy::Fin)));
    check(|guard| drop(AsTokio::with_half_close(guard, |_| Ok(()))));
    check(|guard| {
        let runtime = Builder::new_current_thread().build().unwrap();
        drop(InRuntime::new(guard, runtime.handle().clone()));
    });

    let (tx, mut rx) = futures01::sync::mpsc::channel::<()>(1);
    drop(AsStdSink::new(tx));
    assert_eq!(Bell::new().enter_01(|| rx.poll()), Ok(Async::Ready(None)));
    let (tx, mut rx) = futures_channel::mpsc::channel::<()>(1);
    drop(As01Sink::new(tx));
    assert_eq!(rx.poll_next_unpin(&mut noop()), Poll::Ready(None));
}

#[test]
fn the_other_side_being_gone_is_what_the_inner_one_says() {
    on_each_runtime(|runtime| {
        let (tx, rx) = oneshot::channel::<()>();
        later(move || drop(tx));
        assert!(runtime.block_on(AsStd::new(rx)).is_err());
        let (tx, rx) = tokio::sync::oneshot::channel::<()>();
        later(move || drop(tx));
        assert!(As01::new(rx).wait().is_err());

        // While they wait for room.
        let (tx, rx) = futures01::sync::mpsc::channel(0);
        later(move || drop(rx));
        let mut tx = AsStdSink::new(tx);
        let sent = runtime.block_on(async {
            tx.feed(1).await?;
            tx.feed(2).await?;
            tx.feed(3).await
        });
        assert!(sent.is_err());
        let (tx, rx) = futures_channel::mpsc::channel(0);
        later(move || drop(rx));
        let items = futures01::stream::iter_ok(0..ITEMS);
        assert!(As01Sink::new(tx).send_all(items).wait().is_err());

        let (near, far) = tokio::io::duplex(8);
        later(move || drop(far));
        let near = AsIo01::new(near, ShutdownPolicy::Fin);
        let mut near = AsTokio::with_half_close(near, |_| Ok(()));
        assert!(runtime.block_on(near.write_all(&[0; 64])).is_err());
    });
}

#[test]
fn polled_after_the_end_they_ask_the_inner_one_again() {
    let bell = Bell::new();
    let ended = futures01::stream::poll_fn(|| Ok::<_, ()>(Async::Ready(None::<()>)));
    let mut ended = AsStd::new(ended);
    let mut old = executor::spawn(As01::new(
        futures_util::stream::repeat(Ok::<_, ()>(1)).take(1),
    ));
    assert_eq!(bell.poll_stream_01(&mut old), Ok(Async::Ready(Some(1))));
    for _ in 0..2 {
        assert_eq!(bell.poll_next(&mut ended), Poll::Ready(None));
        assert_eq!(bell.poll_stream_01(&mut old), Ok(Async::Ready(None)));
    }

    let (near, far) = tokio::io::duplex(8);
    drop(far);
    let near = AsIo01::new(near, ShutdownPolicy::Fin);
    let mut near = AsTokio::with_half_close(near, |_| Ok(()));
    for _ in 0..2 {
        let mut byte = [0];
        let read = bell.poll(&mut std::pin::pin!(near.read(&mut byte)));
        assert!(matches!(read, Poll::Ready(Ok(0))));
    }

    let (tx, rx) = futures01::sync::mpsc::channel(1);
    drop(rx);
    let mut tx = AsStdSink::new(tx);
    for _ in 0..2 {
        assert!(Pin::new(&mut tx).poll_ready(&mut noop()).is_ready());
        assert!(Sink::start_send(Pin::new(&mut tx), ()).is_err());
    }

    let (tx, rx) = futures_channel::mpsc::channel(1);
    drop(rx);
    let mut tx = As01Sink::new(tx);
    for _ in 0..2 {
        assert!(bell.enter_01(|| tx.start_send(())).is_err());
    }

    let runtime = Builder::new_current_thread().build().unwrap();
    let ended = futures_util::stream::empty::<()>();
    let mut ended = InRuntime::new(ended, runtime.handle().clone());
    for _ in 0..2 {
        assert_eq!(bell.poll_next(&mut ended), Poll::Ready(None));
    }
}

/// Whether one of the tests has this name.
fn is_test(name: &str) -> bool {
    const SOURCES: [&str; 11] = [
        concat!(include_str!("matrix.rs"), include_str!("panic.rs")),
        concat!(include_str!("budget.rs"), include_str!("budget_core.rs")),
        include_str!("contract_wakers.rs"),
        include_str!("sink.rs"),
        include_str!("io.rs"),
        include_str!("io_calls.rs"),
        include_str!("time.rs"),
        concat!(include_str!("spawn.rs"), include_str!("in_runtime.rs")),
        concat!(include_str!("core_thread.rs"), include_str!("resident.rs")),
        concat!(
            include_str!("net.rs"),
            include_str!("net_listen.rs"),
            include_str!("framed.rs")
        ),
        concat!(
            include_str!("codec.rs"),
            include_str!("service.rs"),
            include_str!("futures_io.rs")
        ),
    ];
    let function = format!("fn {}(", name.rsplit("::").next().unwrap());
    SOURCES.iter().any(|source| source.contains(&function))
}

/// Each cell is a test, or says in words why there is none.
#[test]
fn the_readme_names_tests_that_exist() {
    let readme = include_str!("../README.md");
    let (_, table) = readme.split_once("## Which test shows what").unwrap();
    let table = table.split("\n## ").next().unwrap();
    let rows: Vec<Vec<&str>> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"))
        .map(|line| line.split(" | ").collect())
        .collect();
    assert!(rows.len() > 60, "{} rows", rows.len());
    for row in &rows[1..] {
        let [adapter, property, shown] = row[..] else {
            panic!("three cells: {row:?}")
        };
        assert!(!shown.trim().is_empty(), "{adapter}, {property}: empty");
        for name in shown.split('`').skip(1).step_by(2) {
            assert!(is_test(name), "{adapter}, {property}: no test {name}");
        }
    }
    let properties = [
        "cancellation",
        "wakers",
        "budget",
        "panic",
        "other side gone",
        "after the end",
        "backpressure",
    ];
    for adapter in rows[1..].chunks(properties.len()) {
        for (row, property) in adapter.iter().zip(properties) {
            assert_eq!((row[0], row[1]), (adapter[0][0], property));
        }
    }
}

/// What no compiler refuses is shown by a test, or no message reports it.
#[test]
fn the_list_of_misuse_names_tests_that_exist() {
    let list = include_str!("../src/misuse.rs");
    let named = |word: &&str| word.matches('_').count() > 3 && !word.contains([':', ' ']);
    let tests: Vec<_> = list.split('`').filter(named).collect();
    assert!(tests.len() > 15, "{tests:?}");
    for test in tests {
        assert!(is_test(test), "no test {test}");
    }
}

/// What `comparison/` has observed; running it takes longer.
#[test]
fn the_readme_has_the_stored_comparison() {
    let readme = include_str!("../README.md");
    let (_, table) = readme.split_once("<!-- comparison -->\n").unwrap();
    let (table, _) = table.split_once("<!-- end of comparison -->").unwrap();
    assert!(
        table == include_str!("comparison.md"),
        "run `cargo run --locked -- --write` in comparison/"
    );
}
