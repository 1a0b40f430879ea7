//! A reactor on its own thread.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::Arc;
use std::thread;

use futures::task::AtomicTask;
use futures::{Async, Future, Poll};

use crate::{Handle, Reactor};

/// A reactor that runs on its own thread; made by [`Reactor::background`].
///
/// Dropping it ends the reactor and waits for that.
#[derive(Debug)]
pub struct Background {
    /// `None` once that has been passed on.
    thread: Option<Thread>,
}

/// The end of a reactor's thread.
#[derive(Debug)]
pub struct Shutdown {
    thread: Thread,
}

#[derive(Debug)]
struct Thread {
    handle: Handle,
    state: Arc<State>,
}

struct State {
    /// One of the constants below; it only grows.
    phase: AtomicU8,
    /// Waits for the end.
    task: AtomicTask,
}

const RUNS: u8 = 0;
const ENDS_ON_IDLE: u8 = 1;
const ENDS_NOW: u8 = 2;
const ENDED: u8 = 3;

impl Background {
    pub(crate) fn new(reactor: Reactor) -> io::Result<Background> {
        let state = Arc::new(State {
            phase: AtomicU8::new(RUNS),
            task: AtomicTask::new(),
        });
        let thread = Thread {
            handle: reactor.handle(),
            state: state.clone(),
        };
        thread::Builder::new()
            .name("tokio-reactor".into())
            .spawn(move || run(reactor, &state))?;
        Ok(Background {
            thread: Some(thread),
        })
    }

    /// Returns a reference to the reactor.
    pub fn handle(&self) -> &Handle {
        &self.thread.as_ref().expect("taken only by drop").handle
    }

    /// Ends the reactor once it watches no socket.
    pub fn shutdown_on_idle(self) -> Shutdown {
        self.shutdown(ENDS_ON_IDLE)
    }

    /// Ends the reactor.
    pub fn shutdown_now(self) -> Shutdown {
        self.shutdown(ENDS_NOW)
    }

    fn shutdown(mut self, phase: u8) -> Shutdown {
        let thread = self.thread.take().expect("taken only by drop");
        thread.advance(phase);
        Shutdown { thread }
    }

    /// Lets the reactor run until the process ends.
    pub fn forget(mut self) {
        self.thread = None;
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            thread.advance(ENDS_NOW);
            let _ = Shutdown { thread }.wait();
        }
    }
}

impl Future for Shutdown {
    type Item = ();
    type Error = ();

    fn poll(&mut self) -> Poll<(), ()> {
        let state = &self.thread.state;
        state.task.register();
        Ok(if state.phase.load(Ordering::SeqCst) == ENDED {
            Async::Ready(())
        } else {
            Async::NotReady
        })
    }
}

impl Thread {
    fn advance(&self, phase: u8) {
        self.state.phase.fetch_max(phase, Ordering::SeqCst);
        self.handle.wake();
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("phase", &self.phase).finish()
    }
}

fn run(mut reactor: Reactor, state: &State) {
    // Also when a task that it notifies panics.
    let _ended = Ended(state);
    loop {
        match state.phase.load(Ordering::SeqCst) {
            RUNS => {}
            ENDS_ON_IDLE if !reactor.is_idle() => {}
            _ => break,
        }
        if reactor.turn(None).is_err() {
            break;
        }
    }
    drop(reactor);
}

/// Reports the end of the thread.
struct Ended<'a>(&'a State);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.phase.store(ENDED, Ordering::SeqCst);
        self.0.task.notify();
    }
}
