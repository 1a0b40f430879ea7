//! When tokio-core has a turn, and in which epoll set the thread waits.
//!
//! A turn of the core costs a wait, and while the reactor's epoll set is nested in the core's, each event
//! wakes both. When messages follow each other quickly and each batch is small, both are a part of
//! what a message costs. So while traffic is dense, the reactor leaves the core's set and waits in its
//! own. A timer in that set, the tick, ends such a wait, and the core then has a turn without a wait. By so
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
use std::os::unix::io::RawFd;
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
            // If it fails, the loop that takes over gets no events: there is no memory.
            let _ = self.reactor.nest();
        }
    }
}

impl EventLoop {
    /// Nests the epoll set in the core's, and stops the tick.
    fn nest(&self) -> io::Result<()> {
        let (set, token) = self.place_in_core()?;
        self.epoll.nest_in(set, token)?;
        self.queue.tick().0.restart(NEVER)
    }

    /// Starts the tick, and takes the epoll set out of the core's.
    fn leave(&self) -> io::Result<()> {
        let (set, _) = self.place_in_core()?;
        self.queue.tick().0.restart(PERIOD)?;
        self.epoll.leave(set)
    }

    fn place_in_core(&self) -> io::Result<(RawFd, u64)> {
        let nowhere = || io::ErrorKind::NotFound.into();
        self.core_set.get().ok_or_else(nowhere)
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
