//! A registered descriptor: its known readiness, and the task that is notified when it changes.
//!
//! Events are edge-triggered. Readiness is added by events and removed by a call that would block;
//! each removal registers the current task.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::unix::io::{AsRawFd, RawFd};
use std::rc::{Rc, Weak};

use futures::task::{self, Task};
use futures::Async;

use super::EventLoop;
use ptunnel_core::os::sys::Event;
use ptunnel_proto::debug_by_name;

/// The calls that are known not to block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::io) struct Readiness(u8);

impl Readiness {
    pub(in crate::io) const NONE: Readiness = Readiness(0);
    pub(in crate::io) const READ: Readiness = Readiness(1);
    pub(in crate::io) const WRITE: Readiness = Readiness(2);
    /// An end, an error or urgent data can follow: see [`Event::more`](ptunnel_core::os::sys::Event).
    const MORE: Readiness = Readiness(4);
    /// The descriptor has an error to be taken.
    const FAILED: Readiness = Readiness(8);

    fn has(self, other: Readiness) -> bool {
        self.0 & other.0 != 0
    }
}

/// A registered descriptor, shared by its owner and the reactor.
pub(super) struct SocketSource {
    key: usize,
    fd: RawFd,
    ready: Cell<Readiness>,
    // Kept after a notification: a tunnel's sockets belong to one task for life, so registering it
    // again is a comparison and not a clone.
    task: RefCell<Option<Task>>,
}

impl SocketSource {
    /// Adds the readiness of an event, and notifies the task.
    pub(super) fn report(&self, event: &Event) {
        let mut ready = self.ready.get().0;
        if event.readable {
            ready |= Readiness::READ.0;
        }
        if event.writable {
            ready |= Readiness::WRITE.0;
        }
        if event.more {
            ready |= Readiness::MORE.0;
        }
        if event.failed {
            ready |= Readiness::FAILED.0;
        }
        self.ready.set(Readiness(ready));
        if let Some(task) = &*self.task.borrow() {
            task.notify();
        }
    }
}

/// The owner's half of a [`SocketSource`].
///
/// It must be dropped before the descriptor is closed: the kernel continues to report while another
/// descriptor has the same socket open.
pub(in crate::io) struct Registration {
    source: Rc<SocketSource>,
    reactor: Weak<EventLoop>,
}

impl Registration {
    /// Registers `io`, which is `ready` now.
    pub(super) fn new(
        reactor: &Rc<EventLoop>,
        io: &impl AsRawFd,
        ready: Readiness,
    ) -> io::Result<Registration> {
        let mut sources = reactor.sources.borrow_mut();
        let entry = sources.vacant_entry();
        reactor.epoll.add(io, entry.key() as u64)?;
        let source = Rc::new(SocketSource {
            key: entry.key(),
            fd: io.as_raw_fd(),
            ready: Cell::new(ready),
            task: RefCell::new(None),
        });
        entry.insert(source.clone());
        Ok(Registration {
            source,
            reactor: Rc::downgrade(reactor),
        })
    }

    /// Returns whether a call can be tried now. If not, the current task is notified when it can.
    ///
    /// # Panics
    ///
    /// Outside of a task, if it isn't ready.
    pub(in crate::io) fn poll_ready(&self, wanted: Readiness) -> Async<()> {
        if self.source.ready.get().has(wanted) {
            Async::Ready(())
        } else {
            self.park();
            Async::NotReady
        }
    }

    /// Notes that a call would have blocked.
    pub(in crate::io) fn would_block(&self, tried: Readiness) {
        let ready = self.source.ready.get();
        self.source.ready.set(Readiness(ready.0 & !tried.0));
        self.park();
    }

    /// Returns whether an end, an error or urgent data can follow a short read.
    pub(in crate::io) fn has_more(&self) -> bool {
        self.source.ready.get().has(Readiness::MORE)
    }

    /// Returns whether an error was reported since the last call; if not, the current task is notified
    /// of the next one.
    pub(in crate::io) fn take_failed(&self) -> bool {
        let ready = self.source.ready.get();
        let failed = ready.has(Readiness::FAILED);
        if failed {
            let rest = Readiness(ready.0 & !Readiness::FAILED.0);
            self.source.ready.set(rest);
        } else {
            self.park();
        }
        failed
    }

    /// Returns whether a read that didn't fill its buffer has taken everything; if so, the current task
    /// is notified when more comes.
    pub(in crate::io) fn is_drained(&self) -> bool {
        if self.has_more() {
            return false;
        }
        self.would_block(Readiness::READ);
        true
    }

    fn park(&self) {
        let mut parked = self.source.task.borrow_mut();
        match &*parked {
            Some(task) if task.will_notify_current() => {}
            _ => *parked = Some(task::current()),
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Some(reactor) = self.reactor.upgrade() {
            // Fails only for a descriptor that isn't registered.
            let _ = reactor.epoll.remove(self.source.fd);
            reactor.sources.borrow_mut().remove(self.source.key);
        }
    }
}

debug_by_name!(Registration);
