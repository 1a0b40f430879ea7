//! The effect of one tunnel on the others: when it panics, and when it is busy.

use std::cell::RefCell;
use std::env;
use std::io::{Read, Write};
use std::mem;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use futures::future::{self, Either};
use futures::sync::oneshot;
use futures::task;
use log::{LevelFilter, Log, Metadata, Record};
use tokio_core::reactor::Timeout;
use tokio_io::io::{read_exact, write_all};

use super::*;
use crate::io::Socket;

thread_local! {
    static LOGGED: RefCell<Vec<String>> = RefCell::new(Vec::new());
}

const LIMIT: Duration = Duration::from_secs(20);

/// Keeps each thread's log lines for the test on that thread.
struct Keeping;

impl Log for Keeping {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        LOGGED.with(|all| all.borrow_mut().push(record.args().to_string()));
    }

    fn flush(&self) {}
}

/// Returns the two ends of a connection: one on the reactor, the other for the test.
fn connection(handle: &Handle) -> (Socket, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    theirs.set_read_timeout(Some(LIMIT)).unwrap();
    (Socket::from_unix(ours, handle).unwrap(), theirs)
}

#[test]
fn a_tunnel_that_panics_is_logged_and_ends_alone() {
    log::set_logger(&Keeping).expect("no other test has one");
    log::set_max_level(LevelFilter::Error);
    let mut core = Core::new().unwrap();
    let handle = Handle::new(&core.handle()).unwrap();
    let (broken, mut its_client) = connection(&handle);
    let (whole, mut client) = connection(&handle);
    let (ending, ended) = oneshot::channel();

    let panics = read_exact(broken, [0]).map(|_| panic!("broken on purpose"));
    handle.spawn(panics.map_err(drop));
    let echo = read_exact(whole, [0]).and_then(|(stream, byte)| write_all(stream, byte));
    handle.spawn(
        echo.map_err(drop)
            .and_then(|end| ending.send(end).map_err(drop)),
    );
    // Both are due in the same batch, the panicking one first.
    its_client.write_all(b"x").unwrap();
    client.write_all(b"y").unwrap();

    let whole = handle.run(&mut core, ended).expect("it goes on");
    let mut byte = [0];
    client.read_exact(&mut byte).unwrap();
    assert_eq!(&byte, b"y");
    assert_eq!(
        its_client.read(&mut byte).unwrap(),
        0,
        "its socket is closed"
    );
    let logged = LOGGED.with(|all| all.borrow().clone());
    assert_eq!(logged, ["a task panicked and was ended: broken on purpose"]);
    drop(whole);
}

/// Regression: after a panic of a listener, the program continued without it.
#[test]
fn a_critical_task_that_panics_ends_the_run() {
    type Run = fn(&mut Core, &Handle, Timeout) -> io::Result<()>;
    // The second runs a Core that the reactor of another thread wakes.
    let runs: [Run; 2] = [
        |core, handle, limit| handle.run(core, limit),
        |core, _, limit| core.run(limit),
    ];
    for run in &runs {
        let mut core = Core::new().unwrap();
        let handle = Handle::new(&core.handle()).unwrap();
        let (broken, mut client) = connection(&handle);
        let panics = read_exact(broken, [0]).map(|_| panic!("critical, and broken on purpose"));
        handle.spawn_critical(panics.map_err(drop));
        client.write_all(b"x").unwrap();
        let limit = Timeout::new(LIMIT, &core.handle()).unwrap();
        let end = panic::catch_unwind(AssertUnwindSafe(|| run(&mut core, &handle, limit)));
        assert_eq!(
            message(&*end.unwrap_err()),
            "critical, and broken on purpose"
        );
    }
}

/// Regression: each bulk tunnel was polled twice between two waits, so a small message beside four
/// of them waited for eight turns.
#[test]
fn a_small_message_comes_before_tasks_that_yielded() {
    let mut core = Core::new().unwrap();
    let handle = Handle::new(&core.handle()).unwrap();
    let (small, mut client) = connection(&handle);
    let turns = Rc::new(Cell::new(0));
    for _ in 0..4 {
        let turns = turns.clone();
        handle.spawn(future::poll_fn(move || {
            turns.set(turns.get() + 1);
            task::current().notify();
            Ok(Async::NotReady)
        }));
    }
    // A fifth such task, which sends the message in one of its turns.
    let mut sent = false;
    let turns_when_sent = Rc::new(Cell::new(0));
    handle.spawn(future::poll_fn({
        let (turns, turns_when_sent) = (turns.clone(), turns_when_sent.clone());
        move || {
            if !sent && turns.get() > 40 {
                client.write_all(b"x").unwrap();
                turns_when_sent.set(turns.get());
                sent = true;
            }
            task::current().notify();
            Ok(Async::NotReady)
        }
    }));
    let got = read_exact(small, [0]).map(move |_| turns.get() - turns_when_sent.get());
    let limit = Timeout::new(LIMIT, &core.handle()).unwrap();
    let waited = match handle.run(&mut core, got.select2(limit)) {
        Ok(Either::A((waited, _))) => waited,
        _ => panic!("it never came"),
    };
    assert_eq!(waited, 0, "turns of others that it waited for");
}

/// While messages follow each other without a pause, the reactor waits in its own epoll set: the core,
/// with its timers and what other threads notify, must have its turns all the same.
#[test]
fn the_core_has_turns_while_messages_come() {
    let mut core = Core::new().unwrap();
    let handle = Handle::new(&core.handle()).unwrap();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let began = Instant::now();
    let pings = Rc::new(Cell::new(0));
    for end in vec![ours, theirs] {
        let pings = pings.clone();
        let socket = Socket::from_unix(end, &handle).unwrap();
        let turns = future::loop_fn(socket, move |socket| {
            let pings = pings.clone();
            write_all(socket, [0])
                .and_then(|(socket, byte)| read_exact(socket, byte))
                .map(move |(socket, _)| {
                    pings.set(pings.get() + 1);
                    if began.elapsed() < LIMIT {
                        future::Loop::Continue(socket)
                    } else {
                        future::Loop::Break(())
                    }
                })
        });
        handle.spawn(turns.map_err(drop));
    }
    let (late, told) = oneshot::channel();
    let other = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        late.send(()).unwrap();
    });
    let due = Timeout::new(Duration::from_millis(20), &core.handle()).unwrap();
    // Is polled at each turn of the core: many messages since the last one mean that the thread waited
    // elsewhere. In valgrind, traffic is never dense enough for that.
    let is_slow = env::var("LD_PRELOAD").map_or(false, |loaded| loaded.contains("vgpreload"));
    let (count, mut last) = (pings.clone(), 0);
    let (is_away, away) = oneshot::channel();
    let watch = future::poll_fn(move || {
        let before = mem::replace(&mut last, count.get());
        if count.get() - before > 100 || is_slow {
            return Ok(Async::Ready(()));
        }
        task::current().notify();
        if began.elapsed() < LIMIT {
            Ok(Async::NotReady)
        } else {
            Err(()) // traffic was never dense
        }
    });
    core.handle()
        .spawn(watch.and_then(|()| is_away.send(()).map_err(drop)));
    let all = due
        .map_err(drop)
        .join3(told.map_err(drop), away.map_err(drop));
    handle.run(&mut core, all).unwrap();
    assert!(began.elapsed() < LIMIT);
    other.join().unwrap();

    // The driver takes over, which waits in the core's epoll set.
    let (before, count) = (pings.get(), pings.clone());
    let more = future::poll_fn(move || {
        task::current().notify();
        Ok(
            match count.get() > before + 100 || began.elapsed() > LIMIT {
                true => Async::Ready(()),
                false => Async::NotReady,
            },
        )
    });
    core.run(more.map_err(|()| ())).unwrap();
    assert!(pings.get() > before + 100);
}
