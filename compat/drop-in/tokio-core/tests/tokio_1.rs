//! What the drop-in has that tokio-core hasn't: a runtime of tokio 1 inside, and perhaps around.

use std::any::Any;
use std::future::Future as StdFuture;
use std::io::{ErrorKind, Read, Write};
use std::net;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{mpsc, Arc};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use futures::executor::{self, Notify};
use futures::sync::oneshot;
use futures::{future, Async, Future, Stream};
use tokio::runtime::{self, Runtime};
use tokio_core::net::{TcpListener, TcpStream};
use tokio_core::reactor::{Core, PollEvented, Ready, Timeout};

fn current_thread() -> Runtime {
    runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

fn multi_thread() -> Runtime {
    runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap()
}

fn run_a_core() {
    Core::new().unwrap().run(future::ok::<_, ()>(())).unwrap();
}

fn message(panic: Box<dyn Any + Send>) -> String {
    *panic.downcast::<String>().expect("a formatted message")
}

fn says_what_to_do(panicked: Result<(), Box<dyn Any + Send>>) {
    let message = message(panicked.unwrap_err());
    assert!(message.starts_with("Core::run was called"), "{message}");
    assert!(message.contains("spawn_blocking"), "{message}");
}

/// Polls `f` once, in whatever the runtime takes it for.
async fn caught(f: impl FnOnce()) -> Result<(), Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(f))
}

#[test]
fn run_in_a_task_of_tokio_1_says_what_to_do() {
    for runtime in [current_thread(), multi_thread()] {
        says_what_to_do(runtime.block_on(caught(run_a_core)));
        let spawned = runtime.spawn(caught(run_a_core));
        says_what_to_do(runtime.block_on(spawned).unwrap());
    }
}

#[test]
fn run_in_a_task_of_another_core_says_what_to_do() {
    let mut core = Core::new().unwrap();
    let nested = future::lazy(|| Ok::<_, ()>(catch_unwind(run_a_core)));
    says_what_to_do(core.run(nested).unwrap());
    run_a_core();
}

#[test]
fn run_works_where_a_thread_may_block() {
    for runtime in [current_thread(), multi_thread()] {
        let blocking = runtime.spawn_blocking(run_a_core);
        runtime.block_on(blocking).unwrap();
        let _inside = runtime.enter();
        run_a_core();
    }
    let blocking = async { tokio::task::block_in_place(run_a_core) };
    multi_thread().block_on(blocking);
}

#[test]
fn a_core_can_be_made_and_dropped_in_a_task_of_tokio_1() {
    current_thread().block_on(async { drop(Core::new().unwrap()) });
}

#[test]
fn tokio_1_works_inside_of_a_core() {
    let mut core = Core::new().unwrap();
    let (tx, rx) = oneshot::channel();
    core.run(future::lazy(move || {
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(10)).await;
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            tx.send(listener.local_addr().unwrap()).unwrap();
        });
        rx
    }))
    .unwrap();
}

/// Drives a future of tokio 1 from the outside while a 0.1 task keeps the Core busy.
#[test]
fn a_busy_task_does_not_starve_tokio_1() {
    let mut core = Core::new().unwrap();
    let (tx, mut rx) = oneshot::channel();
    core.runtime().spawn(async move {
        tokio::time::sleep(Duration::from_millis(20)).await;
        tx.send(()).unwrap();
    });
    core.run(future::poll_fn(|| {
        futures::task::current().notify();
        rx.poll()
    }))
    .unwrap();
}

/// Sockets, timers, tasks and other threads, all on a runtime that the test owns.
#[test]
fn a_core_on_a_runtime_runs_beside_its_tasks() {
    current_thread().block_on(async {
        let beside = tokio::spawn(tokio::time::sleep(Duration::from_millis(20)));
        let mut core = Core::on(&runtime::Handle::current());
        let handle = core.handle();
        let listener = TcpListener::bind(&"127.0.0.1:0".parse().unwrap(), &handle).unwrap();
        let connected = TcpStream::connect(&listener.local_addr().unwrap(), &handle);
        let accepted = listener
            .incoming()
            .into_future()
            .map_err(|(error, _)| error);
        drop(core.run_async(accepted.join(connected)).await.unwrap());

        let (tx, rx) = oneshot::channel();
        let remote = core.remote();
        let other = thread::spawn(move || {
            remote.spawn(|handle| {
                let timeout = Timeout::new(Duration::from_millis(20), handle).unwrap();
                timeout.map_err(drop).and_then(|()| tx.send(()))
            });
        });
        // Ready all the time: the task of tokio 1 and the timer have their turn nevertheless.
        handle.spawn(future::poll_fn(|| {
            futures::task::current().notify();
            Ok(Async::NotReady)
        }));
        core.run_async(rx).await.unwrap();
        other.join().unwrap();
        beside.await.unwrap();
    });
}

#[test]
fn run_async_that_is_awaited_elsewhere_wakes_its_last_task() {
    current_thread().block_on(async {
        let mut core = Core::on(&runtime::Handle::current());
        let timeout = Timeout::new(Duration::from_millis(20), &core.handle()).unwrap();
        let mut running = Box::pin(core.run_async(timeout));
        let mut noop = Context::from_waker(Waker::noop());
        assert!(running.as_mut().poll(&mut noop).is_pending());
        let start = Instant::now();
        let limit = Duration::from_secs(20);
        let end = tokio::time::timeout(limit, running).await;
        end.expect("its timer fires").unwrap();
        assert!(start.elapsed() < limit, "its timer has woken another task");
    });
}

#[test]
fn tasks_wait_for_the_next_run_async() {
    current_thread().block_on(async {
        let mut core = Core::on(&runtime::Handle::current());
        let (tx, rx) = oneshot::channel();
        core.handle().spawn_fn(move || tx.send(()));
        let mut running = Box::pin(core.run_async(future::empty::<(), ()>()));
        let mut noop = Context::from_waker(Waker::noop());
        assert!(running.as_mut().poll(&mut noop).is_pending());
        drop(running);
        core.run_async(rx).await.unwrap();
    });
}

#[test]
fn a_core_on_a_runtime_does_not_block() {
    let runtime = current_thread();
    let mut core = Core::on(runtime.handle());
    let run = || core.run(future::ok::<_, ()>(())).unwrap();
    let message = message(catch_unwind(AssertUnwindSafe(run)).unwrap_err());
    assert!(message.contains("await Core::run_async"), "{message}");
}

#[test]
fn run_async_of_a_core_with_a_runtime_of_its_own_says_what_to_do() {
    let runtime = current_thread();
    let wrong = || {
        let mut core = Core::new().unwrap();
        runtime
            .block_on(core.run_async(future::ok::<_, ()>(())))
            .unwrap();
    };
    let panic = catch_unwind(AssertUnwindSafe(wrong)).unwrap_err();
    let message = panic.downcast_ref::<String>().cloned();
    let message = message.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
    assert!(message.unwrap().contains("make the Core with Core::on"));
}

/// The runtime advances it where it would wait, so an hour takes no time.
#[test]
fn timers_follow_a_paused_clock() {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let began = Instant::now();
    runtime.block_on(async {
        let mut core = Core::on(&runtime::Handle::current());
        for _ in 0..3 {
            let hour = Timeout::new(Duration::from_secs(3600), &core.handle()).unwrap();
            core.run_async(hour).await.unwrap();
        }
    });
    assert!(began.elapsed() < Duration::from_secs(60));
}

#[test]
fn run_async_within_a_core_says_what_to_do() {
    let runtime = current_thread();
    let mut inner = Core::on(runtime.handle());
    let nested = future::lazy(|| {
        let mut running = Box::pin(inner.run_async(future::ok::<_, ()>(())));
        let mut cx = Context::from_waker(Waker::noop());
        let poll = || running.as_mut().poll(&mut cx).is_ready();
        Ok::<_, ()>(catch_unwind(AssertUnwindSafe(poll)))
    });
    let panic = Core::new().unwrap().run(nested).unwrap().unwrap_err();
    let message = panic.downcast_ref::<&str>().expect("a plain message");
    assert!(
        message.contains("await it in a task of tokio 1"),
        "{message}"
    );
}

/// Counts its notifications, and is run by no Core.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Notify for Bell {
    fn notify(&self, _id: usize) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Whether `Core::turn` returns after an event of a socket that a task of no Core waits for, while
/// `busy` runs on the Core's runtime and keeps that from resting before it has seen the event.
fn turn_ends_beside(busy: impl StdFuture<Output = ()> + Send + 'static) -> bool {
    let (done, ended) = mpsc::channel();
    thread::spawn(move || {
        let mut core = Core::new().unwrap();
        let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(&listener.local_addr().unwrap(), &core.handle());
        let mut stream = core.run(stream).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        let bell = Arc::new(Bell::default());
        let mut reading = executor::spawn(future::poll_fn(|| match stream.read(&mut [0]) {
            Ok(n) => Ok(Async::Ready(n)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(Async::NotReady),
            Err(error) => Err(error),
        }));
        let polled = reading.poll_future_notify(&bell, 0).unwrap();
        assert!(polled.is_not_ready());
        // What came of the connection is an event, too.
        for _ in 0..10 {
            core.turn(Some(Duration::from_millis(1)));
        }
        core.runtime().spawn(busy);
        peer.write_all(b"x").unwrap();
        while bell.0.load(Ordering::SeqCst) == 0 {
            core.turn(None);
        }
        done.send(()).unwrap();
    });
    ended.recv_timeout(Duration::from_secs(10)).is_ok()
}

#[test]
fn turn_sees_an_event_beside_a_task_of_tokio_1_that_yields() {
    assert!(turn_ends_beside(tokio::task::yield_now()));
}

/// More polls than the runtime makes before it asks the system.
#[test]
fn turn_sees_an_event_beside_many_polls_of_tokio_1() {
    let mut polls = 0;
    assert!(turn_ends_beside(std::future::poll_fn(move |cx| {
        polls += 1;
        if polls > 200 {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })));
}

/// A future of 0.1 as one of std.
struct Std<F>(F);
impl<F: Future + Unpin> StdFuture for Std<F> {
    type Output = Result<F::Item, F::Error>;

    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Self::Output> {
        struct Ring(std::task::Waker);
        impl futures::executor::Notify for Ring {
            fn notify(&self, _id: usize) {
                self.0.wake_by_ref();
            }
        }
        let ring = std::sync::Arc::new(Ring(cx.waker().clone()));
        let poll = future::poll_fn(|| self.0.poll());
        match futures::executor::spawn(poll).poll_future_notify(&ring, 0) {
            Ok(Async::Ready(item)) => std::task::Poll::Ready(Ok(item)),
            Ok(Async::NotReady) => std::task::Poll::Pending,
            Err(error) => std::task::Poll::Ready(Err(error)),
        }
    }
}

#[test]
fn a_socket_of_a_core_works_in_a_task_of_tokio_1() {
    // Made without a Core, so the tokio 1 runtime around it watches it.
    current_thread().block_on(async {
        let listener = TcpListener::bind2(&"127.0.0.1:0".parse().unwrap()).unwrap();
        let addr = listener.local_addr().unwrap();
        let stream = Std(TcpStream::connect2(&addr)).await.unwrap();
        let (_, peer) = (listener, stream.peer_addr().unwrap());
        assert_eq!(peer, addr);
    });
}

#[test]
fn sockets_without_a_handle_work_on_any_thread() {
    let mut listener = TcpListener::bind2(&"127.0.0.1:0".parse().unwrap()).unwrap();
    let addr = listener.local_addr().unwrap();
    let client = thread::spawn(move || TcpStream::connect2(&addr).wait().unwrap());
    let accepted = future::poll_fn(|| match listener.accept() {
        Ok(accepted) => Ok(Async::Ready(accepted)),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(Async::NotReady),
        Err(error) => Err(error),
    });
    let (_, peer) = accepted.wait().unwrap();
    assert_eq!(client.join().unwrap().local_addr().unwrap(), peer);
}

#[test]
fn a_panic_leaves_the_other_tasks_and_the_core_usable() {
    let mut core = Core::new().unwrap();
    let (tx, rx) = oneshot::channel();
    core.handle()
        .spawn_fn(|| -> Result<(), ()> { panic!("a task") });
    core.handle().spawn_fn(move || tx.send(7).map_err(drop));
    let panic = catch_unwind(AssertUnwindSafe(|| core.run(future::empty::<(), ()>())));
    assert_eq!(*panic.unwrap_err().downcast::<&str>().unwrap(), "a task");
    assert_eq!(core.run(rx), Ok(7));
}

#[test]
fn a_panic_of_a_closure_leaves_those_behind_it() {
    let mut core = Core::new().unwrap();
    let (tx, rx) = oneshot::channel();
    let remote = core.remote();
    remote.spawn(|_| -> Result<(), ()> { panic!("a closure") });
    remote.spawn(move |_| tx.send(7).map_err(drop));
    let panic = catch_unwind(AssertUnwindSafe(|| core.run(future::empty::<(), ()>())));
    let panic = panic.unwrap_err();
    assert_eq!(*panic.downcast::<&str>().unwrap(), "a closure");
    let late = Timeout::new(Duration::from_secs(10), &core.handle()).unwrap();
    let late = late.then(|_| Err("late"));
    let first = rx.map_err(|_| "gone").select(late);
    assert_eq!(core.run(first).map(|(n, _)| n).ok(), Some(7));
}

#[test]
fn spawn_send_runs_on_another_thread_until_the_core_is_dropped() {
    let mut core = Core::new().unwrap();
    let (tx, rx) = oneshot::channel();
    let handle = core.handle();
    handle.spawn_send(future::lazy(|| -> Result<(), ()> {
        panic!("ends this task alone")
    }));
    for _ in 0..8 {
        handle.spawn_send(future::ok(()));
    }
    handle.spawn_send(future::lazy(move || {
        tx.send(thread::current().id()).map_err(drop)
    }));
    assert_ne!(core.run(rx).unwrap(), thread::current().id());

    let (tx, rx) = oneshot::channel::<()>();
    handle.spawn_send(future::empty().then(move |_: Result<(), ()>| {
        drop(tx);
        Ok(())
    }));
    drop(core);
    // The sender is dropped with its task.
    rx.wait().unwrap_err();
    handle.spawn_send(future::ok(()));
}

#[test]
fn a_socket_whose_core_is_gone_fails_once_it_has_to_wait() {
    let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut core = Core::new().unwrap();
    let connect = TcpStream::connect(&listener.local_addr().unwrap(), &core.handle());
    let mut stream = core.run(connect).unwrap();
    let waiting = thread::spawn(move || {
        let error = future::poll_fn(|| match stream.read(&mut [0]) {
            Ok(n) => Ok(Async::Ready(n)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(Async::NotReady),
            Err(error) => Err(error),
        })
        .wait()
        .unwrap_err();
        (error, stream)
    });
    core.turn(Some(Duration::from_millis(50)));
    drop(core);
    let (error, mut stream) = waiting.join().unwrap();
    assert!(error.to_string().contains("event loop gone"), "{error}");

    // What arrives can still be had.
    let (peer, _) = listener.accept().unwrap();
    (&peer).write_all(b"late").unwrap();
    let mut buf = [0; 4];
    let begun = Instant::now();
    loop {
        match stream.read(&mut buf) {
            Ok(n) => break assert_eq!(&buf[..n], b"late"),
            Err(error) => assert!(error.to_string().contains("event loop gone"), "{error}"),
        }
        assert!(begun.elapsed() < Duration::from_secs(10));
    }
}

#[test]
fn a_timer_that_another_thread_polls_fires_while_the_core_runs() {
    let mut core = Core::new().unwrap();
    let timeout = Timeout::new(Duration::from_millis(50), &core.handle()).unwrap();
    let (tx, rx) = oneshot::channel();
    let waiting = thread::spawn(move || {
        timeout.wait().unwrap();
        tx.send(()).unwrap();
    });
    core.run(rx).unwrap();
    waiting.join().unwrap();
}

/// The Core waits without a deadline when the task arms the timer.
#[test]
fn a_timer_that_a_task_of_tokio_1_polls_fires_while_the_core_runs() {
    let mut core = Core::new().unwrap();
    let mut timeout = Timeout::new(Duration::from_secs(3600), &core.handle()).unwrap();
    let (tx, rx) = oneshot::channel();
    core.runtime().spawn(async move {
        tokio::time::sleep(Duration::from_millis(20)).await;
        timeout.reset(Instant::now() + Duration::from_millis(20));
        Std(timeout).await.unwrap();
        tx.send(()).unwrap();
    });
    let late = Timeout::new(Duration::from_secs(10), &core.handle()).unwrap();
    let late = late.then(|_| Err("late"));
    let first = rx.map_err(|_| "gone").select(late);
    assert!(core.run(first).is_ok());
}

/// The next look at the socket asks the system, so that no read is made in vain.
#[test]
fn a_short_read_ends_the_readiness() {
    let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut core = Core::new().unwrap();
    let connect = TcpStream::connect(&listener.local_addr().unwrap(), &core.handle());
    let mut stream = core.run(connect).unwrap();
    let (mut peer, _) = listener.accept().unwrap();
    let readable = |core: &mut Core, stream: &TcpStream| {
        let look = future::poll_fn(|| Ok::<_, ()>(stream.poll_read()));
        core.run(look).unwrap();
    };
    peer.write_all(b"ab").unwrap();
    readable(&mut core, &stream);
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 1);
    assert!(stream.poll_read().is_ready());
    assert_eq!(stream.read(&mut [0; 2]).unwrap(), 1);
    let look = future::lazy(|| Ok::<_, ()>(stream.poll_read()));
    assert!(core.run(look).unwrap().is_not_ready());
    // Neither what comes later nor the end is lost.
    peer.write_all(b"c").unwrap();
    readable(&mut core, &stream);
    assert_eq!(stream.read(&mut [0; 2]).unwrap(), 1);
    drop(peer);
    readable(&mut core, &stream);
    assert_eq!(stream.read(&mut [0; 2]).unwrap(), 0);
}

/// A read of a Unix socket ends before a message with a descriptor, which no event announces: it was
/// never read.
#[test]
fn a_short_read_of_a_unix_stream_leaves_the_readiness() {
    let (mut peer, unix) = UnixStream::pair().unwrap();
    let mut core = Core::new().unwrap();
    let tcp = net::TcpStream::from(OwnedFd::from(unix));
    let mut stream = TcpStream::from_stream(tcp, &core.handle()).unwrap();
    peer.write_all(b"a").unwrap();
    core.run(future::poll_fn(|| Ok::<_, ()>(stream.poll_read())))
        .unwrap();
    assert_eq!(stream.read(&mut [0; 2]).unwrap(), 1);
    let look = future::lazy(|| Ok::<_, ()>(stream.poll_read()));
    assert!(core.run(look).unwrap().is_ready());
}

/// tokio-core 0.1.12 would wait for the next event. tokio 1 keeps the end.
#[test]
fn need_read_after_the_end_notifies_at_once() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut core = Core::new().unwrap();
    let source = PollEvented::new(ours, &core.handle()).unwrap();
    drop(theirs);
    let mut looks = 0;
    let end = future::poll_fn(|| {
        if source.poll_read().is_ready() {
            looks += 1;
            if looks == 3 {
                return Ok::<_, ()>(Async::Ready(()));
            }
            source.need_read();
        }
        Ok(Async::NotReady)
    });
    core.run(end).unwrap();
}

/// The mask has one of two events that the same task waits for.
#[test]
fn a_wait_for_the_end_alone_outlasts_what_comes_before_it() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let mut core = Core::new().unwrap();
    let source = PollEvented::new(ours, &core.handle()).unwrap();
    theirs.write_all(b"a").unwrap();
    let peer = thread::spawn(move || {
        thread::sleep(Duration::from_millis(30));
        theirs.write_all(b"b").unwrap();
        thread::sleep(Duration::from_millis(30));
    });
    let end = future::poll_fn(|| Ok::<_, ()>(source.poll_ready(Ready::hup())));
    assert_eq!(core.run(end), Ok(Ready::hup()));
    peer.join().unwrap();
    let either = Ready::readable() | Ready::writable();
    let both = future::poll_fn(|| Ok::<_, ()>(source.poll_ready(either)));
    assert!(core.run(both).unwrap().is_readable());
    assert_eq!(
        source.poll_ready(Ready::empty()),
        Async::Ready(Ready::empty())
    );
}

/// A queue of wake-ups outlives its Core and goes to the next one.
#[test]
fn many_cores_one_after_the_other() {
    for n in 0..100 {
        let mut core = Core::new().unwrap();
        let (tx, rx) = oneshot::channel();
        core.handle().spawn_fn(move || tx.send(n).map_err(drop));
        assert_eq!(core.run(rx), Ok(n));
    }
}
