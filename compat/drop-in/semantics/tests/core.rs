//! `Core`: `run`, `turn`, dropping, panics.

use std::cell::{Cell, RefCell};
use std::io::{ErrorKind, Read, Write};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use futures::sync::oneshot;
use futures::{future, task, Async, Future, Poll};
use semantics::{connected, message, std_listener, turn_until, watchdog, yields, Bell, DropFlag};
use tokio_core::net::{TcpListener, TcpStream, UdpSocket};
use tokio_core::reactor::{Core, Timeout};
use tokio_io::io::{read_exact, write_all};

const MS: Duration = Duration::from_millis(1);

#[test]
fn run_returns_the_value() {
    watchdog!();
    let mut core = Core::new().unwrap();
    assert_eq!(
        core.run(future::ok::<_, ()>(String::from("value"))),
        Ok("value".into())
    );
    assert_eq!(core.run(yields(10).map(|()| 7)), Ok(7));
}

#[test]
fn run_returns_the_error() {
    watchdog!();
    let mut core = Core::new().unwrap();
    assert_eq!(core.run(future::err::<(), _>("error")), Err("error"));
    assert_eq!(
        core.run(yields(10).and_then(|()| Err::<(), _>(()))),
        Err(())
    );
}

#[test]
fn run_takes_a_future_that_borrows() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let mut local = vec![1];
    core.run(future::lazy(|| {
        local.push(2);
        Ok::<_, ()>(())
    }))
    .unwrap();
    assert_eq!(local, [1, 2]);
}

#[test]
fn run_of_a_ready_future_polls_no_task() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let polled = Rc::new(Cell::new(false));
    let sets = polled.clone();
    core.handle().spawn_fn(move || {
        sets.set(true);
        Ok(())
    });
    core.run(future::ok::<_, ()>(())).unwrap();
    assert!(!polled.get());
    turn_until(&mut core, "the task runs", || polled.get());
}

#[test]
fn run_polls_its_future_before_the_tasks() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let order = Rc::new(RefCell::new(Vec::new()));
    let (in_task, in_run) = (order.clone(), order.clone());
    let (done, waits) = oneshot::channel();
    core.handle().spawn_fn(move || {
        in_task.borrow_mut().push("task");
        done.send(()).map_err(drop)
    });
    core.run(future::lazy(move || {
        in_run.borrow_mut().push("run");
        waits
    }))
    .unwrap();
    assert_eq!(*order.borrow(), ["run", "task"]);
}

#[test]
fn run_polls_its_future_only_when_it_is_notified() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let handle = core.handle();
    let mut timeout = Timeout::new(50 * MS, &handle).unwrap();
    // Keeps the core busy.
    handle.spawn(yields(1000));
    let mut polls = 0;
    core.run(future::poll_fn(|| {
        polls += 1;
        timeout.poll()
    }))
    .unwrap();
    assert!(polls <= 3, "{polls} polls");
}

#[test]
fn tasks_go_on_in_the_next_run() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let handle = core.handle();
    let (done, waits) = oneshot::channel();
    let timeout = Timeout::new(20 * MS, &handle).unwrap();
    handle.spawn(timeout.then(move |_| done.send(()).map_err(drop)));
    core.run(yields(3)).unwrap();
    core.run(Timeout::new(5 * MS, &handle).unwrap()).unwrap();
    core.run(waits).unwrap();
}

#[test]
fn dropping_a_core_drops_its_tasks() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let handle = core.handle();
    let (in_new, new) = DropFlag::new();
    let (in_waiting, waiting) = DropFlag::new();
    let (in_timer, timer) = DropFlag::new();
    let (_never, waits) = oneshot::channel::<()>();
    handle.spawn(waits.then(move |_| {
        drop(in_waiting);
        Ok(())
    }));
    let timeout = Timeout::new(Duration::from_secs(3600), &handle).unwrap();
    handle.spawn(timeout.then(move |_| {
        drop(in_timer);
        Ok(())
    }));
    core.run(yields(3)).unwrap();
    handle.spawn_fn(move || {
        drop(in_new);
        Ok(())
    });
    assert!(!new.get() && !waiting.get() && !timer.get());
    drop(core);
    assert!(new.get() && waiting.get() && timer.get());
}

#[test]
fn dropping_a_core_closes_the_sockets_of_its_tasks() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, mut peer) = connected(&mut core);
    core.handle()
        .spawn(read_exact(stream, [0]).then(|_| Ok(())));
    core.run(yields(3)).unwrap();
    drop(core);
    assert_eq!(peer.read(&mut [0]).unwrap(), 0);
}

#[test]
fn a_task_may_use_its_handle_while_the_core_drops_it() {
    watchdog!();
    struct Spawns(tokio_core::reactor::Handle, Option<DropFlag>);
    impl Drop for Spawns {
        fn drop(&mut self) {
            let flag = self.1.take();
            self.0.spawn_fn(move || {
                drop(flag);
                Ok(())
            });
            self.0.remote().spawn(|_| Ok(()));
            assert!(Timeout::new(MS, &self.0).is_err());
        }
    }
    let mut core = Core::new().unwrap();
    let (flag, dropped) = DropFlag::new();
    let spawns = Spawns(core.handle(), Some(flag));
    core.handle().spawn(future::poll_fn(move || {
        let _ = &spawns;
        Ok(Async::NotReady)
    }));
    core.run(yields(3)).unwrap();
    drop(core);
    assert!(dropped.get());
}

#[test]
fn a_socket_that_is_ready_works_after_its_core() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (mut stream, mut peer) = connected(&mut core);
    peer.write_all(b"ab").unwrap();
    core.run(read_exact(&stream, [0])).unwrap();
    drop(core);
    let mut buf = [0];
    assert_eq!(Bell::new().enter(|| stream.read(&mut buf)).unwrap(), 1);
    assert_eq!(&buf, b"b");
    assert_eq!(Bell::new().enter(|| stream.write(b"c")).unwrap(), 1);
    peer.read_exact(&mut buf).unwrap();
    assert_eq!(&buf, b"c");
    stream.set_nodelay(true).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(peer.read(&mut [0]).unwrap(), 0);
    drop(stream);
}

#[test]
fn sockets_close_after_their_core() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, mut peer) = connected(&mut core);
    let any = "127.0.0.1:0".parse().unwrap();
    let listener = TcpListener::bind(&semantics::own_addr(), &core.handle()).unwrap();
    let addr = listener.local_addr().unwrap();
    let socket = UdpSocket::bind(&any, &core.handle()).unwrap();
    drop(core);
    drop((stream, socket));
    assert_eq!(peer.read(&mut [0]).unwrap(), 0);
    drop(listener);
    std::net::TcpStream::connect(addr).unwrap_err();
}

#[test]
fn a_handle_of_a_dropped_core_drops_what_is_spawned() {
    watchdog!();
    let core = Core::new().unwrap();
    let handle = core.handle();
    drop(core);
    let (flag, dropped) = DropFlag::new();
    handle.spawn_fn(move || {
        drop(flag);
        Ok(())
    });
    assert!(dropped.get());
}

#[test]
fn turn_of_zero_runs_a_task_and_does_not_wait() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let polled = Rc::new(Cell::new(false));
    let sets = polled.clone();
    core.handle().spawn_fn(move || {
        sets.set(true);
        Ok(())
    });
    core.turn(Some(Duration::ZERO));
    assert!(polled.get());
    // With nothing to do it comes back, too.
    for _ in 0..10 {
        core.turn(Some(Duration::ZERO));
    }
}

#[test]
fn turn_returns_beside_a_task_that_is_always_ready() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let polls = Rc::new(Cell::new(0));
    let counts = polls.clone();
    core.handle().spawn(future::poll_fn(move || {
        counts.set(counts.get() + 1);
        task::current().notify();
        Ok(Async::NotReady)
    }));
    for turns in 1..10 {
        core.turn(None);
        assert!(polls.get() >= turns);
    }
}

#[test]
fn turn_of_none_waits_for_another_thread() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (ran, waits) = std::sync::mpsc::channel();
    let remote = core.remote();
    let thread = thread::spawn(move || {
        thread::sleep(30 * MS);
        remote.spawn(move |_| ran.send(()).map_err(drop));
    });
    // A turn may come back early, but not hang.
    while waits.try_recv().is_err() {
        core.turn(None);
    }
    thread.join().unwrap();
}

#[test]
fn turn_of_none_waits_for_a_timer() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let bell = Bell::new();
    let began = Instant::now();
    let mut timeout = Timeout::new(30 * MS, &core.handle()).unwrap();
    assert!(bell.enter(|| timeout.poll()).unwrap().is_not_ready());
    let mut turns = 0;
    while bell.rung() == 0 {
        core.turn(None);
        turns += 1;
    }
    assert!(began.elapsed() >= 30 * MS);
    assert!(bell.enter(|| timeout.poll()).unwrap().is_ready());
    assert!(turns <= 10, "{turns} turns");
}

#[test]
fn turn_of_none_returns_after_an_event_for_a_task_of_no_core() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (mut stream, mut peer) = connected(&mut core);
    let bell = Bell::new();
    let mut turns = 0;
    for rounds in 1..=10 {
        let error = bell.enter(|| stream.read(&mut [0])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        let rung = bell.rung();
        let writes = thread::spawn(move || {
            thread::sleep(10 * MS);
            peer.write_all(b"x").unwrap();
            peer
        });
        while bell.rung() == rung {
            core.turn(None);
            turns += 1;
        }
        peer = writes.join().unwrap();
        assert_eq!(bell.enter(|| stream.read(&mut [0])).unwrap(), 1);
        assert!(turns <= 10 * rounds, "{turns} turns");
    }
}

#[test]
fn turn_of_none_ends_with_a_timer_that_was_not_polled() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let began = Instant::now();
    let mut timeout = Timeout::new(30 * MS, &core.handle()).unwrap();
    let mut turns = 0;
    while began.elapsed() < 30 * MS {
        core.turn(None);
        turns += 1;
    }
    assert!(turns <= 10, "{turns} turns");
    // Set again, it ends another turn.
    let began = Instant::now();
    timeout.reset(began + 30 * MS);
    while began.elapsed() < 30 * MS {
        core.turn(None);
        turns += 1;
    }
    assert!(turns <= 20, "{turns} turns");
}

#[test]
fn turn_waits_no_longer_than_its_limit() {
    watchdog!();
    let mut core = Core::new().unwrap();
    core.turn(Some(Duration::ZERO));
    let began = Instant::now();
    core.turn(Some(30 * MS));
    core.turn(Some(30 * MS));
    // The watchdog ends a turn that does not come back.
    assert!(began.elapsed() >= 30 * MS);
}

#[test]
fn turn_drives_sockets() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (stream, mut peer) = connected(&mut core);
    let read = Rc::new(Cell::new(None));
    let sets = read.clone();
    let reads = read_exact(stream, [0; 4]).map(move |(_, buf)| sets.set(Some(buf)));
    core.handle()
        .spawn(reads.map_err(|error| panic!("{error}")));
    core.turn(Some(Duration::ZERO));
    peer.write_all(b"ping").unwrap();
    turn_until(&mut core, "the task reads", || read.get().is_some());
    assert_eq!(&read.get().unwrap(), b"ping");
}

#[test]
fn a_panic_of_a_task_unwinds_run() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (flag, dropped) = DropFlag::new();
    core.handle().spawn_fn(move || -> Result<(), ()> {
        let _flag = flag;
        panic!("of the task")
    });
    let run = AssertUnwindSafe(|| core.run(future::empty::<(), ()>()));
    let payload = catch_unwind(run).unwrap_err();
    assert_eq!(message(payload), "of the task");
    assert!(dropped.get());
}

#[test]
fn a_panic_of_a_task_unwinds_turn() {
    watchdog!();
    let mut core = Core::new().unwrap();
    core.handle()
        .spawn_fn(|| -> Result<(), ()> { panic!("of the task") });
    let turns = AssertUnwindSafe(|| loop {
        core.turn(Some(MS));
    });
    let payload: Box<dyn std::any::Any + Send> = match catch_unwind(turns) {
        Ok(()) => unreachable!(),
        Err(payload) => payload,
    };
    assert_eq!(message(payload), "of the task");
}

#[test]
fn a_panic_keeps_its_payload() {
    watchdog!();
    let mut core = Core::new().unwrap();
    core.handle()
        .spawn_fn(|| -> Result<(), ()> { std::panic::panic_any(42_u64) });
    let run = AssertUnwindSafe(|| core.run(future::empty::<(), ()>()));
    assert_eq!(
        *catch_unwind(run).unwrap_err().downcast::<u64>().unwrap(),
        42
    );
}

#[test]
fn a_panic_of_the_future_of_run_unwinds_run() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let future = yields(2).map(|()| -> () { panic!("of the future") });
    let payload = catch_unwind(AssertUnwindSafe(|| core.run(future))).unwrap_err();
    assert_eq!(message(payload), "of the future");
    assert_eq!(core.run(yields(2).map(|()| 5)), Ok(5));
}

#[test]
fn a_core_goes_on_after_a_panic() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let handle = core.handle();
    let (done, waits) = oneshot::channel();
    let timeout = Timeout::new(20 * MS, &handle).unwrap();
    handle.spawn(timeout.then(move |_| done.send(()).map_err(drop)));
    handle.spawn_fn(|| -> Result<(), ()> { panic!("of the task") });
    // Behind the one that panics.
    let (after, runs) = oneshot::channel();
    handle.spawn_fn(move || after.send(()).map_err(drop));
    let run = AssertUnwindSafe(|| core.run(future::empty::<(), ()>()));
    catch_unwind(run).unwrap_err();
    core.run(runs.join(waits)).unwrap();
    let (stream, mut peer) = connected(&mut core);
    peer.write_all(b"x").unwrap();
    core.run(read_exact(stream, [0])).unwrap();
}

#[test]
fn dropping_a_core_after_a_panic_drops_its_tasks() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let (flag, dropped) = DropFlag::new();
    core.handle().spawn(future::poll_fn(move || {
        let _ = &flag;
        Ok(Async::NotReady)
    }));
    core.handle()
        .spawn_fn(|| -> Result<(), ()> { panic!("of the task") });
    let run = AssertUnwindSafe(|| core.run(future::empty::<(), ()>()));
    catch_unwind(run).unwrap_err();
    drop(core);
    assert!(dropped.get());
}

#[test]
fn a_core_that_unwinds_drops_its_tasks() {
    watchdog!();
    let (flag, dropped) = DropFlag::new();
    let owns = AssertUnwindSafe(move || {
        let mut core = Core::new().unwrap();
        core.handle().spawn(future::poll_fn(move || {
            let _ = &flag;
            Ok(Async::NotReady)
        }));
        core.handle()
            .spawn_fn(|| -> Result<(), ()> { panic!("of the task") });
        let _ = core.run(future::empty::<(), ()>());
    });
    assert_eq!(message(catch_unwind(owns).unwrap_err()), "of the task");
    assert!(dropped.get());
}

#[test]
fn run_of_another_core_within_run() {
    watchdog!();
    let mut core = Core::new().unwrap();
    let nested = core.run(future::lazy(|| {
        let mut inner = Core::new().unwrap();
        let run = AssertUnwindSafe(|| inner.run(yields(3).map(|()| 5)));
        Ok::<_, ()>(catch_unwind(run))
    }));
    match nested.unwrap() {
        Ok(value) => assert_eq!(value, Ok(5)),
        Err(payload) => {
            let text = message(payload);
            assert!(!semantics::real(), "{text}");
            assert!(text.contains("spawn_blocking"), "says what to do: {text}");
        }
    }
    // The outer one is as it was.
    core.run(Timeout::new(MS, &core.handle()).unwrap()).unwrap();
}

#[test]
fn two_cores_take_turns_on_a_thread() {
    watchdog!();
    let (mut one, mut two) = (Core::new().unwrap(), Core::new().unwrap());
    let (listener, addr) = std_listener();
    let stream = one.run(TcpStream::connect(&addr, &one.handle())).unwrap();
    let mut peer = semantics::accept(&listener);
    let mine = TcpListener::bind(&"127.0.0.1:0".parse().unwrap(), &two.handle()).unwrap();
    let connects = TcpStream::connect(&mine.local_addr().unwrap(), &two.handle());
    two.run(connects).unwrap();
    one.run(write_all(stream, b"x")).unwrap();
    peer.read_exact(&mut [0]).unwrap();
    two.run(Timeout::new(MS, &two.handle()).unwrap()).unwrap();
}

#[test]
fn a_socket_is_used_while_another_core_runs() {
    watchdog!();
    let (mut one, mut two) = (Core::new().unwrap(), Core::new().unwrap());
    let (stream, mut peer) = connected(&mut one);
    // Its own core does not run: it is writable already.
    two.run(write_all(&stream, b"x")).unwrap();
    peer.read_exact(&mut [0]).unwrap();
    // A read waits for its own core.
    let bell = Bell::new();
    two.run(future::lazy(|| {
        bell.enter(|| (&stream).read(&mut [0])).unwrap_err();
        Ok::<_, ()>(())
    }))
    .unwrap();
    peer.write_all(b"y").unwrap();
    turn_until(&mut one, "the task is notified", || bell.rung() > 0);
}

#[test]
fn ids_differ_and_show() {
    watchdog!();
    let (one, two) = (Core::new().unwrap(), Core::new().unwrap());
    assert_ne!(one.id(), two.id());
    assert_eq!(one.id(), one.handle().id());
    assert_eq!(one.id(), one.remote().id());
    assert_eq!(one.id(), one.handle().remote().id());
    assert_eq!(one.id(), one.handle().clone().id());
    let id = format!("{:?}", one.id());
    assert!(id.starts_with("CoreId("), "{id}");
    assert_eq!(format!("{one:?}"), format!("Core {{ id: {id} }}"));
    assert_eq!(
        format!("{:?}", one.handle()),
        format!("Handle {{ id: {id} }}")
    );
    assert_eq!(
        format!("{:?}", one.remote()),
        format!("Remote {{ id: {id} }}")
    );
}

/// Notified from its own drop, as a lock's guard may do.
struct NotifiesOnDrop(task::Task);

impl Drop for NotifiesOnDrop {
    fn drop(&mut self) {
        self.0.notify();
    }
}

#[test]
fn a_notification_after_the_core_is_ignored() {
    watchdog!();
    let mut core = Core::new().unwrap();
    struct Holds(Option<NotifiesOnDrop>);
    impl Future for Holds {
        type Item = ();
        type Error = ();
        fn poll(&mut self) -> Poll<(), ()> {
            self.0 = Some(NotifiesOnDrop(task::current()));
            Ok(Async::NotReady)
        }
    }
    core.handle().spawn(Holds(None));
    let kept = Rc::new(RefCell::new(None));
    let keeps = kept.clone();
    core.handle().spawn(future::poll_fn(move || {
        *keeps.borrow_mut() = Some(task::current());
        Ok(Async::NotReady)
    }));
    core.run(future::lazy(|| yields(3))).unwrap();
    drop(core);
    kept.borrow().as_ref().unwrap().notify();
}
