//! Rows 1 to 20: chains, loops, and the ends of futures.

use std::cell::Cell;
use std::future::Future;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::rc::Rc;
use std::sync::mpsc;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use futures01::future::{self, Loop};
use futures01::{executor, Async, Future as _};
use futures_util::{future as std_future, FutureExt as _, StreamExt as _, TryFutureExt as _};
use tokio::task::{coop, LocalSet};

use crate::common::Bell;

/// Whether anything but the test still holds it.
fn is_held(resource: &Rc<()>) -> bool {
    Rc::strong_count(resource) > 1
}

async fn handshake(_socket: &Rc<()>) -> Result<(), &'static str> {
    Ok(())
}

#[test]
fn row_01_a_finished_stage_is_dropped_with_its_socket() {
    let (bell, socket) = (Bell::new(), Rc::new(()));

    // futures 0.1: the first stage owns the socket and goes when the second begins.
    let first = future::ok::<_, ()>(socket.clone()).map(drop);
    let mut chain = executor::spawn(first.and_then(|()| future::empty::<(), ()>()));
    assert!(bell.poll_01(&mut chain).unwrap().is_not_ready());
    assert!(!is_held(&socket));

    // Naive: a local lives to the end of its scope, across every await.
    let mut naive = Box::pin(async {
        let socket = socket.clone();
        handshake(&socket).await.unwrap();
        std::future::pending::<()>().await
    });
    assert!(bell.poll(&mut naive).is_pending());
    assert!(
        is_held(&socket),
        "one descriptor for as long as the tunnel stands"
    );
    drop(naive);

    // Right: the stage is a scope.
    let mut right = Box::pin(async {
        {
            let socket = socket.clone();
            handshake(&socket).await.unwrap();
        }
        std::future::pending::<()>().await
    });
    assert!(bell.poll(&mut right).is_pending());
    assert!(!is_held(&socket));
}

#[tokio::test]
async fn row_02_then_sees_a_result_within_a_result() {
    fn told<T, E>(outcome: &Result<T, E>) -> &'static str {
        match outcome {
            Ok(_) => "served",
            Err(_) => "failed",
        }
    }

    // futures 0.1: what was spawned fails as it would have failed here.
    let task = futures_cpupool::CpuPool::new(1).spawn(future::err::<(), _>("refused"));
    let line = task.then(|outcome| Ok::<_, ()>(told(&outcome)));
    assert_eq!(line.wait(), Ok("failed"));

    // Naive: the outer `Ok` only says that the task did not panic.
    let task = tokio::spawn(async { Err::<(), _>("refused") });
    let line = task.then(|outcome| async move { told(&outcome) });
    assert_eq!(line.await, "served");

    // Right: both are looked at.
    let task = tokio::spawn(async { Err::<(), _>("refused") });
    let line = match task.await {
        Ok(outcome) => told(&outcome),
        Err(panic) => panic!("{panic}"),
    };
    assert_eq!(line, "failed");
}

#[tokio::test]
async fn row_03_map_sees_the_result() {
    let refused = || std_future::err::<u32, _>("refused");

    // futures 0.1: `map` leaves an error alone.
    assert_eq!(
        future::err::<u32, _>("refused").map(|_| ()).wait(),
        Err("refused")
    );

    // Naive: the same words swallow it.
    let () = refused().map(|_| ()).await;

    // Right.
    assert_eq!(refused().map_ok(|_| ()).await, Err("refused"));
}

#[tokio::test]
async fn row_05_what_failed_half_way_is_still_alive() {
    use std::io::{Cursor, Error, Result};

    /// What a server says on its first connection to two questions, and on every other to one.
    #[derive(Default)]
    struct Server {
        dialled: Cell<usize>,
    }
    impl Server {
        fn dial(&self) -> Cursor<&'static [u8]> {
            let first = self.dialled.replace(self.dialled.get() + 1) == 0;
            Cursor::new(if first {
                b"??, a long excuse\nOK"
            } else {
                b"OK"
            })
        }
    }
    fn understood(answer: [u8; 2]) -> Result<()> {
        match &answer {
            b"OK" => Ok(()),
            other => Err(Error::other(String::from_utf8_lossy(other))),
        }
    }

    // futures 0.1: the error has taken the stream with it, so `or_else` can only open another.
    let server = Server::default();
    let ask = |stream| {
        let answer = tokio_io::io::read_exact(stream, [0; 2]);
        answer.and_then(|(_stream, answer)| understood(answer))
    };
    let asked = ask(server.dial()).or_else(|_error| ask(server.dial()));
    asked.wait().unwrap();
    assert_eq!(server.dialled.get(), 2);

    async fn ask_over(stream: &mut Cursor<&'static [u8]>) -> Result<()> {
        let mut answer = [0; 2];
        tokio::io::AsyncReadExt::read_exact(stream, &mut answer).await?;
        understood(answer)
    }

    // Naive: the stream is at hand, so the next question goes over it, and is answered with the
    // rest of the reply before.
    let server = Server::default();
    let mut stream = server.dial();
    assert_eq!(ask_over(&mut stream).await.unwrap_err().to_string(), "??");
    assert_eq!(ask_over(&mut stream).await.unwrap_err().to_string(), ", ");

    // Right: as it was then. A stream that was left in the middle is dropped.
    let server = Server::default();
    if ask_over(&mut server.dial()).await.is_err() {
        ask_over(&mut server.dial()).await.unwrap();
    }
    assert_eq!(server.dialled.get(), 2);
}

#[test]
fn row_11_a_ready_loop_is_interrupted_by_tokio() {
    const ITEMS: u32 = 1000;

    // futures 0.1: one poll goes all the way.
    let bell = Bell::new();
    let mut spin = executor::spawn(future::loop_fn(0, |n| {
        Ok::<_, ()>(if n == ITEMS {
            Loop::Break(n)
        } else {
            Loop::Continue(n + 1)
        })
    }));
    assert_eq!(bell.poll_01(&mut spin), Ok(Async::Ready(ITEMS)));

    // The number of items that a task beside the loop sees, which is polled once the loop has begun.
    fn seen_by_a_neighbour<F: Future>(drain: impl FnOnce(Items, Rc<Cell<u32>>) -> F) -> u32 {
        let (tx, rx) = tokio::sync::mpsc::unbounded_channel();
        (0..ITEMS).for_each(|n| tx.send(n).unwrap());
        let (done, seen) = (Rc::new(Cell::new(0)), Cell::new(0));
        let neighbour = async {
            seen.set(done.get());
            std::future::pending::<()>().await
        };
        let drain = drain(rx, done.clone());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        LocalSet::new().block_on(&runtime, async {
            tokio::select! { biased; _ = drain => (), () = neighbour => () }
        });
        assert_eq!(done.get(), ITEMS);
        seen.get()
    }
    type Items = tokio::sync::mpsc::UnboundedReceiver<u32>;

    async fn drain(mut items: Items, done: Rc<Cell<u32>>) {
        while done.get() < ITEMS {
            items.recv().await.unwrap();
            done.set(done.get() + 1);
        }
    }

    // Naive: every item is there, yet after its budget of 128 the loop has to yield.
    assert_eq!(seen_by_a_neighbour(drain), 128);

    // Right, if others must not see the middle: no await in it, or no budget.
    assert_eq!(
        seen_by_a_neighbour(|items, done| coop::unconstrained(drain(items, done))),
        0
    );
}

#[tokio::test]
async fn row_12_lazy_returns_what_it_is_given() {
    // futures 0.1: the closure returns a future, which is run.
    let ran = Cell::new(false);
    future::lazy(|| future::ok::<_, ()>(()).map(|()| ran.set(true)))
        .wait()
        .unwrap();
    assert!(ran.take());

    // Naive: 0.3 hands the future out, and here it is dropped.
    let inner = std_future::lazy(|_| async { ran.set(true) }).await;
    drop(inner);
    assert!(!ran.take());

    // Right.
    async { ran.set(true) }.await;
    assert!(ran.take());
}

#[test]
fn row_15_a_finished_async_fn_panics_when_polled() {
    let bell = Bell::new();

    // futures 0.1: fused, it is pending from then on.
    let mut fused = executor::spawn(future::ok::<_, ()>(1).fuse());
    assert_eq!(bell.poll_01(&mut fused), Ok(Async::Ready(1)));
    assert_eq!(bell.poll_01(&mut fused), Ok(Async::NotReady));

    // Naive: a loop over two futures polls the one that has ended.
    let mut naive = Box::pin(async { 1 });
    assert_eq!(bell.poll(&mut naive), Poll::Ready(1));
    assert!(catch_unwind(AssertUnwindSafe(|| bell.poll(&mut naive))).is_err());

    // Right.
    let mut right = Box::pin(async { 1 }.fuse());
    assert_eq!(bell.poll(&mut right), Poll::Ready(1));
    assert_eq!(bell.poll(&mut right), Poll::Pending);
}

#[test]
fn row_17_a_caught_panic_looks_like_success() {
    /// Work that a service manager would start again.
    async fn work() -> u32 {
        panic!("of the work")
    }

    // futures 0.1: `catch_unwind` keeps the Core alive, and reports to its supervisor.
    let mut core = tokio_core::reactor::Core::new().unwrap();
    let (tell, told) = futures01::sync::oneshot::channel();
    let task = future::lazy(|| -> Result<u32, ()> { panic!("of the work") });
    let task = AssertUnwindSafe(task).catch_unwind();
    core.handle()
        .spawn(task.then(|outcome| tell.send(outcome.is_err()).map_err(drop)));
    assert_eq!(core.run(told), Ok(true));

    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        // Naive: caught inside of the task, the panic is a value like any other, and who looks for
        // a `JoinError` begins nothing again.
        let task = tokio::spawn(AssertUnwindSafe(work()).catch_unwind());
        let outcome = task.await;
        assert!(outcome.is_ok());
        assert!(outcome.unwrap().is_err());

        // Right: a task catches already.
        let error = tokio::spawn(work()).await.unwrap_err();
        assert_eq!(
            error.into_panic().downcast_ref::<&str>(),
            Some(&"of the work")
        );
    });
}

#[test]
fn row_19_empty_never_resolved() {
    let bell = Bell::new();

    // futures 0.1: a signal that never comes.
    let mut signal = executor::spawn(future::empty::<(), ()>());
    assert_eq!(bell.poll_01(&mut signal), Ok(Async::NotReady));

    // Naive: the only `empty` of 0.3 is the stream that has ended already. The program stops at
    // once.
    let mut naive = futures_util::stream::empty::<()>();
    assert_eq!(bell.poll(&mut naive.next()), Poll::Ready(None));

    // Right.
    assert_eq!(bell.poll(&mut std::future::pending::<()>()), Poll::Pending);
}

#[test]
fn row_20_to_wait_inside_of_a_task_stops_what_it_waits_for() {
    /// Whether it is still at it after a while. (It is left to that, to the end of the process.)
    fn hangs(f: impl FnOnce() + Send + 'static) -> bool {
        let (done, returned) = mpsc::channel::<()>();
        thread::spawn(move || {
            f();
            drop(done);
        });
        returned.recv_timeout(Duration::from_millis(300)) == Err(mpsc::RecvTimeoutError::Timeout)
    }
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
    };

    // futures 0.1: the Core's thread waits for a task of the same Core, for ever.
    assert!(hangs(|| {
        let mut core = tokio_core::reactor::Core::new().unwrap();
        let (tx, rx) = futures01::sync::oneshot::channel();
        core.handle().spawn(future::lazy(|| tx.send(())));
        let _ = core.run(future::lazy(|| rx.wait()));
    }));

    // Naive: with `wait` as it is, so does tokio's. It cannot see through that of another crate.
    assert!(hangs(move || {
        let _ = runtime().block_on(async {
            let (tx, rx) = futures01::sync::oneshot::channel();
            tokio::spawn(async { tx.send(()) });
            rx.wait()
        });
    }));

    // Naive: its own it sees, and panics.
    let runtime = runtime();
    let nested = runtime.handle().clone();
    let naive = async { nested.block_on(async { 1 }) };
    let panic = catch_unwind(AssertUnwindSafe(|| runtime.block_on(naive))).unwrap_err();
    let message = panic.downcast_ref::<&str>().copied().map(String::from);
    let message = message
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap();
    assert!(
        message.contains("Cannot start a runtime from within a runtime"),
        "{message}"
    );

    // Right: await it. What truly blocks goes to `spawn_blocking`.
    let sum = runtime.block_on(async {
        let task = tokio::spawn(async { 1 });
        let blocking = tokio::task::spawn_blocking(|| 2);
        task.await.unwrap() + blocking.await.unwrap()
    });
    assert_eq!(sum, 3);
}
