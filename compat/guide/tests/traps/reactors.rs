//! Rows 68 to 73: readiness by hand, shared streams, and which thread owns the reactor or the clock.

use std::cell::RefCell;
use std::future::{poll_fn, Future};
use std::io::{self, Read as _, Write as _};
use std::pin::{pin, Pin};
use std::rc::Rc;
use std::task::{ready, Poll};
use std::time::Duration;
use std::{panic, thread};

use futures01::future::{self, Either};
use futures01::{executor, Async, Future as _};
use futures_util::future::join;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};
use tokio_core::reactor::{Core, Timeout};

use crate::common::{on_the_drop_in, watched, Bell};
use crate::sockets::{tcp_pair, tcp_pair_01};

#[tokio::test]
async fn row_68_a_try_that_would_block_registers_no_task() -> io::Result<()> {
    // futures 0.1: a read that would block has registered the task that made it.
    watched(|| {
        let mut core = Core::new().unwrap();
        let (mut near, far) = tcp_pair_01(&mut core);
        let mut far = Some(far);
        let read = future::poll_fn(|| match near.read(&mut [0]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                // Only now is the byte sent: nothing but the read itself can wake the task.
                if let Some(mut far) = far.take() {
                    thread::spawn(move || far.write_all(b"x"));
                }
                Ok(Async::NotReady)
            }
            read => read.map(Async::Ready),
        });
        assert_eq!(core.run(read).unwrap(), 1);
    });

    // Naive: `try_read` for `read`. It looks, and registers nothing: never polled again.
    let (near, mut far) = tcp_pair().await?;
    let bell = Bell::new();
    let mut naive = pin!(poll_fn(|_| match near.try_read(&mut [0]) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Poll::Pending,
        read => Poll::Ready(read),
    }));
    assert!(bell.poll(&mut naive).is_pending());
    AsyncWriteExt::write_all(&mut far, b"x").await?;
    near.readable().await?;
    assert_eq!(
        bell.rung(),
        0,
        "there is a byte, and nothing wakes the task"
    );

    // Right: try; if it would block, poll readiness, which registers the task, and try again.
    let read = poll_fn(|cx| loop {
        match near.try_read(&mut [0]) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                ready!(near.poll_read_ready(cx))?;
            }
            read => return Poll::Ready(read),
        }
    });
    assert_eq!(read.await?, 1);
    Ok(())
}

#[tokio::test]
#[expect(clippy::await_holding_refcell_ref, reason = "the trap")]
async fn row_69_a_stream_shared_by_rc_is_borrowed_across_an_await() -> io::Result<()> {
    // futures 0.1: `&TcpStream` reads and writes, so that an `Rc` of it can be in two futures.
    watched(|| {
        let mut core = Core::new().unwrap();
        let (near, far) = tcp_pair_01(&mut core);
        let near = Rc::new(near);
        let mut reader: &tokio_core::net::TcpStream = &near;
        assert_eq!(
            executor::spawn(future::lazy(|| future::result(reader.read(&mut [0]))))
                .poll_future_notify(&Bell::new(), 0)
                .unwrap_err()
                .kind(),
            io::ErrorKind::WouldBlock
        );
        (&*near).write_all(b"x").unwrap();
        assert_eq!((&far).read(&mut [0]).unwrap(), 1);
    });

    // Naive: a `RefCell` around it, whose guard lives while the reader waits.
    let (near, mut far) = tcp_pair().await?;
    let shared = Rc::new(RefCell::new(near));
    let reader = shared.clone();
    let mut read = Box::pin(async move { reader.borrow_mut().read_u8().await });
    assert!(Bell::new().poll(&mut read).is_pending());
    assert!(shared.try_borrow_mut().is_err(), "a writer would panic");
    drop(read);

    // Right: `readable` and `try_read` take `&self`, and so do their counterparts.
    let near = Rc::new(Rc::into_inner(shared).unwrap().into_inner());
    let read = async {
        loop {
            near.readable().await?;
            match near.try_read(&mut [0]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                read => return read,
            }
        }
    };
    let write = async {
        near.writable().await?;
        near.try_write(b"y")?;
        AsyncWriteExt::write_all(&mut far, b"x").await
    };
    let (read, written) = join(read, write).await;
    assert_eq!((read?, written?), (1, ()));
    Ok(())
}

#[tokio::test]
async fn row_70_a_library_that_runs_its_own_core_blocks_the_thread() {
    /// Stands for `Http::bind(…).run()` or `TcpServer::serve`: makes a Core, and runs it.
    fn library() -> u32 {
        let mut core = Core::new().unwrap();
        let timeout = Timeout::new(Duration::from_millis(20), &core.handle()).unwrap();
        core.run(timeout.map(|()| 7)).unwrap()
    }

    // futures 0.1: it had the thread to itself.
    watched(|| assert_eq!(library(), 7));

    // Naive: called in a task. Nothing else of this thread runs until it is done; the drop-in panics.
    let (tell, mut told) = oneshot::channel();
    let neighbour = tokio::spawn(async { tell.send(()) });
    let ran = panic::catch_unwind(library);
    assert_eq!(ran.ok(), (!on_the_drop_in()).then_some(7));
    assert!(
        told.try_recv().is_err(),
        "the neighbour had 20 ms, and no turn"
    );
    neighbour.await.unwrap().unwrap();

    // Right: a thread that may block.
    let (tell, told) = oneshot::channel();
    let running = tokio::task::spawn_blocking(library);
    tokio::spawn(async { tell.send(()) });
    told.await.unwrap();
    assert_eq!(running.await.unwrap(), 7);
}

#[tokio::test]
async fn row_71_the_first_of_a_join_takes_the_whole_budget() {
    // futures 0.1: both sides of a join are polled to the end at each wake-up.
    let (tx, rx) = futures01::sync::oneshot::channel::<()>();
    let mut polls = 0;
    let busy = future::poll_fn(|| {
        polls += 1;
        futures01::task::current().notify();
        Ok::<Async<()>, ()>(Async::NotReady)
    });
    let mut both = executor::spawn(busy.select2(rx));
    let bell = Bell::new();
    assert!(matches!(bell.poll_01(&mut both), Ok(Async::NotReady)));
    tx.send(()).unwrap();
    assert!(matches!(bell.poll_01(&mut both), Ok(Async::Ready(_))));

    /// Reads what is always there, as one side of a relay does beside a fast peer, so often.
    async fn bulk(items: &mut mpsc::UnboundedReceiver<()>, polls: usize) {
        for _ in 0..polls {
            items.recv().await.unwrap();
        }
    }
    let (filled, mut items) = mpsc::unbounded_channel();
    let fill = || (0..1000).for_each(|_| filled.send(()).unwrap());

    // Naive: the order of the words is the order of the polls. Each poll of the task has a budget
    // of 128 operations, the first side takes them all, and the second, though ready, is pending.
    fill();
    let (tx, rx) = oneshot::channel();
    tx.send(()).unwrap();
    let mut answered_after = None;
    let mut wake_ups = 0;
    {
        let mut bulk = pin!(bulk(&mut items, 1000));
        let mut answer = pin!(rx);
        poll_fn(|cx| {
            wake_ups += 1;
            let bulk = bulk.as_mut().poll(cx);
            if answered_after.is_none() && answer.as_mut().poll(cx).is_ready() {
                answered_after = Some(wake_ups);
            }
            bulk
        })
        .await;
    }
    assert_eq!(
        answered_after,
        Some(wake_ups),
        "only once the bulk was over"
    );
    assert!(wake_ups > 5, "{wake_ups}");

    // Right: each its own task, with a budget of its own; or the one that must not wait first.
    fill();
    let (tx, rx) = oneshot::channel();
    let answered = tokio::spawn(rx);
    tx.send(()).unwrap();
    let mut bulk = Box::pin(bulk(&mut items, 1000));
    let mut turns = 0;
    poll_fn(|cx| {
        turns += 1;
        match bulk.as_mut().poll(cx) {
            Poll::Pending if answered.is_finished() => Poll::Ready(()),
            polled => polled,
        }
    })
    .await;
    assert!(turns < wake_ups, "{turns} of {wake_ups}");
    answered.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn row_72_a_paused_clock_does_not_wait_for_other_threads() {
    /// Stands for a Core on its own thread, whose timers know nothing of tokio's clock.
    fn elsewhere() -> oneshot::Receiver<()> {
        let (tell, told) = oneshot::channel();
        thread::spawn(|| {
            thread::sleep(Duration::from_millis(20));
            tell.send(())
        });
        told
    }
    let hour = Duration::from_secs(3600);

    // futures 0.1 had no clock to pause: a timer takes the time that it says.
    watched(move || {
        let mut core = Core::new().unwrap();
        let late = Timeout::new(hour, &core.handle()).unwrap();
        let (tell, told) = futures01::sync::oneshot::channel();
        thread::spawn(|| tell.send(()));
        assert!(matches!(core.run(told.select2(late)), Ok(Either::A(_))));
    });

    // Naive: with nothing to do on its own threads, tokio moves the clock to the next timer.
    assert!(
        timeout(hour, elsewhere()).await.is_err(),
        "an hour in no time"
    );

    // Right: a test with another thread in it lets the time pass.
    tokio::time::resume();
    assert!(timeout(hour, elsewhere()).await.is_ok());
}

#[test]
fn row_73_a_test_without_a_runtime_has_no_reactor() {
    // futures 0.1: `#[test]`, with a Core in it, whose handle is passed on.
    let mut core = Core::new().unwrap();
    let soon = Timeout::new(Duration::from_millis(1), &core.handle()).unwrap();
    core.run(soon).unwrap();

    // Naive: `#[test]`, with any executor. What it runs looks for a reactor when it is polled.
    let naive = || block_on_bare(sleep(Duration::from_millis(1)));
    let panicked = panic::catch_unwind(naive).unwrap_err();
    let message = panicked.downcast_ref::<&str>().map(ToString::to_string);
    let message = message
        .or(panicked.downcast_ref::<String>().cloned())
        .unwrap();
    assert!(message.contains("there is no reactor running"), "{message}");

    // Right: `#[tokio::test]`, which is this.
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    runtime.block_on(async {
        sleep(Duration::from_millis(1)).await;
        let _: (TcpStream, TcpStream) = tcp_pair().await.unwrap();
    });
}

/// The least of executors: polls until it is ready, on this thread, without a runtime.
fn block_on_bare<F: Future>(future: F) -> F::Output {
    let mut future: Pin<Box<F>> = Box::pin(future);
    let bell = Bell::new();
    loop {
        if let Poll::Ready(output) = bell.poll(&mut future) {
            return output;
        }
        thread::yield_now();
    }
}
