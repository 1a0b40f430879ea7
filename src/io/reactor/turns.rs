//! When tokio-core has a turn, and in which epoll set the thread waits.
//!
//! A turn of the core costs a wait, and through the core's epoll set, in which the reactor's is nested,
//! each event is reported twice. When messages follow each other quickly and each batch is small,
//! both are a part of what a message costs. So while traffic is dense, the reactor mutes its set in
//! the core's and waits in its own. A timer in that set, the tick, ends such a wait, and the core then
//! has a turn without a wait. The core's timers, and tasks of the core that others notify, can be late
//! by that much. When another thread notifies a task of this reactor, the tick comes at once.
//!
//! ```text
//!              eight turns of the core in a row within 1.6 ms
//!   calm ──────────────────────────────────────────────────────▶ dense
//!     ▲                                                            │
//!     └───────── at most five events between two ticks, 2 ms ──────┘
//! ```
//!
//! A timeout of epoll_wait(2) in place of the tick costs more than the saved wait: the kernel sets its
//! clock again for each.

use std::io;
use std::mem;
use std::time::{Duration, Instant};

use tokio_core::reactor::Core;

use super::{EventLoop, Wait, Worked};
use ptunnel_core::os::sys::{Epoll, TimerDescriptor};

/// Turns of the core from one look at the clock to the next. A look takes a hundred instructions.
const TURNS: u32 = 8;

/// Traffic is dense if so many turns took less than this.
const DENSE: Duration = Duration::from_micros(1600);

/// Time between two ticks.
const PERIOD: Duration = Duration::from_millis(2);

/// Traffic is calm again after a period with at most this many events, one of which is the tick: fewer
/// cost less with two waits each than with the ticks.
const FEW: usize = 5;

const NEVER: Duration = Duration::from_secs(0);

/// The turns of `core` while [`Handle::run`](super::Handle::run) drives the reactor. Dropping it hands
/// the reactor over to its driver.
pub(super) struct Turns<'a> {
    reactor: &'a EventLoop,
    core: &'a mut Core,
    is_dense: bool,
    /// When the clock was last looked at, in calm traffic.
    looked: Instant,
    /// Number of turns since then, or since the thread was last busy.
    turns: u32,
    /// Number of events since the last tick.
    events: usize,
}

impl<'a> Turns<'a> {
    pub(super) fn new(reactor: &'a EventLoop, core: &'a mut Core) -> Turns<'a> {
        reactor.turned.set(true);
        Turns {
            reactor,
            core,
            is_dense: false,
            looked: Instant::now(),
            turns: 0,
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
            if self.events > FEW || !worked.idle || self.reactor.unmute().is_err() {
                self.events = 0;
                self.reactor.queue.tick().rearm();
                self.core.turn(now);
                return Wait::No;
            }
            self.is_dense = false;
        }
        self.core.turn(if worked.idle { None } else { now });
        if self.is_getting_dense(worked) {
            self.events = 0;
            self.is_dense = self.reactor.mute().is_ok();
        }
        Wait::No
    }

    /// Counts a turn. Those of a busy thread don't count: they never wait.
    fn is_getting_dense(&mut self, worked: Worked) -> bool {
        self.turns = if worked.idle { self.turns + 1 } else { 0 };
        if self.turns < TURNS {
            return false;
        }
        self.turns = 0;
        let now = Instant::now();
        let before = mem::replace(&mut self.looked, now);
        now.saturating_duration_since(before) < DENSE
    }
}

impl Drop for Turns<'_> {
    fn drop(&mut self) {
        if self.is_dense {
            // Can't fail for a set that is part of the other.
            let _ = self.reactor.unmute();
        }
        self.reactor.turned.set(false);
        self.reactor.queue.notify_driver();
    }
}

impl EventLoop {
    /// Starts the tick; then events don't wake the core any more.
    fn mute(&self) -> io::Result<()> {
        let tick = self.queue.tick();
        tick.0.restart(PERIOD)?;
        self.set_wakes(false).map_err(|e| {
            let _ = tick.0.restart(NEVER);
            e
        })
    }

    /// Events wake the core again, and the tick stops.
    fn unmute(&self) -> io::Result<()> {
        self.set_wakes(true)?;
        self.queue.tick().0.restart(NEVER)
    }

    fn set_wakes(&self, wakes: bool) -> io::Result<()> {
        match self.core_set.get() {
            Some((set, token)) => self.epoll.set_wakes(set, token, wakes),
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

    /// Starts the next period: the kernel goes on with a timer only when it is read or set.
    fn rearm(&self) {
        let _ = self.0.restart(PERIOD);
    }
}
