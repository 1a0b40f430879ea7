//! When tokio-core has a turn, and in which epoll set the thread waits.
//!
//! A turn of the core costs a wait, and through the core's epoll set, in which the reactor's is nested, each
//! event is reported twice. When messages follow each other quickly and each batch is small, both are a
//! part of what a message costs. So while traffic is dense, the reactor leaves the core's set alone and
//! waits in its own. A timer in that set, the tick, ends such a wait, and the core then has a turn without a wait. By so
//! much can its timers and signals be late. What another thread notifies brings the tick at once.
//!
//! ```text
//!              a turn of the core waited for less than 200 µs
//!   nested ─────────────────────────────────────────────────────▶ dense
//!      ▲                                                            │
//!      └────────────── no event between two ticks, 2 ms ────────────┘
//! ```
//!
//! A timeout of epoll_wait(2) in place of the tick costs more than the saved wait: the kernel sets its
//! clock anew for each.

use std::io;
use std::time::{Duration, Instant};

use tokio_core::reactor::Core;

use super::{EventLoop, Wait, Worked};
use crate::os::sys::{Epoll, TimerDescriptor};

/// Traffic is dense if a turn of the core waited for less than this.
const DENSE: Duration = Duration::from_micros(200);

const NEVER: Duration = Duration::from_secs(0);

/// Between two ticks.
const PERIOD: Duration = Duration::from_millis(2);

/// The turns of `core`. Dropping it leaves the reactor nested in the core.
pub(super) struct Turns<'a> {
    reactor: &'a EventLoop,
    core: &'a mut Core,
    is_dense: bool,
    /// Number of events since the last tick.
    events: usize,
}

impl<'a> Turns<'a> {
    pub(super) fn new(reactor: &'a EventLoop, core: &'a mut Core) -> Turns<'a> {
        Turns {
            reactor,
            core,
            is_dense: false,
            events: 0,
        }
    }

    /// Gives the core a turn if one is due. Returns how the reactor must take events next.
    pub(super) fn next(&mut self, worked: Worked) -> Wait {
        let now = Some(Duration::from_secs(0));
        if self.is_dense {
            self.events += worked.events;
            if !worked.tick {
                return if worked.idle {
                    Wait::ForEvent
                } else {
                    Wait::No
                };
            }
            // One of them was the tick.
            if self.events > 1 || !worked.idle || self.reactor.nest().is_err() {
                self.events = 0;
                self.reactor.queue.tick().rearm();
                self.core.turn(now);
                return Wait::No;
            }
            self.is_dense = false;
        }
        let began = Instant::now();
        self.core.turn(if worked.idle { None } else { now });
        if worked.idle && began.elapsed() < DENSE {
            self.is_dense = self.reactor.leave().is_ok();
            self.events = 0;
        }
        Wait::No
    }
}

impl Drop for Turns<'_> {
    fn drop(&mut self) {
        if self.is_dense {
            // Nothing that it needs can be missing.
            let _ = self.reactor.nest();
        }
    }
}

impl EventLoop {
    /// Has events wake the core, and stops the tick.
    fn nest(&self) -> io::Result<()> {
        self.wake_core(true)?;
        self.queue.tick().0.restart(NEVER)
    }

    /// Starts the tick, and has events wake the core no more.
    fn leave(&self) -> io::Result<()> {
        self.queue.tick().0.restart(PERIOD)?;
        self.wake_core(false)
    }

    fn wake_core(&self, wakes: bool) -> io::Result<()> {
        match self.core_set.get() {
            Some((set, token)) => self.epoll.wake(set, token, wakes),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// A timer in the reactor's epoll set, which ends the waits there.
pub(super) struct Tick(TimerDescriptor);

impl Tick {
    /// The token of its events, which no source has.
    pub(super) const TOKEN: u64 = u64::MAX;

    /// Adds one to `epoll`, which doesn't tick yet.
    pub(super) fn new(epoll: &Epoll) -> io::Result<Tick> {
        let timer = TimerDescriptor::every(NEVER)?;
        epoll.add(&timer, Tick::TOKEN)?;
        Ok(Tick(timer))
    }

    /// Ends a wait now, on another thread.
    pub(super) fn now(&self) {
        let _ = self.0.expire(PERIOD);
    }

    /// Lets it come again: it waits until it is read.
    fn rearm(&self) {
        let _ = self.0.expirations();
    }
}
