//! Sources of events under the watch of a reactor.

use std::fmt;
use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::Ordering;
use std::sync::{OnceLock, Weak};

use drop_in_io::{gone, Readiness, Ready, READ_WRITE};
use futures::{try_ready, Async, Poll};
use mio::event::Evented;
use mio::unix::UnixReady;
use tokio::io::Interest;

use crate::handle::{Handle, Target};
use crate::shared::Shared;

const READ: Ready = Ready::READ;
const HUP: Ready = Ready::HUP;

/// A source of events under the watch of a reactor, and its two streams of events.
///
/// The source is anything that implements mio 0.6's `Evented` by way of `EventedFd`: tokio 1 watches
/// its descriptor. Another source can't be registered, and the error says so.
///
/// At most two tasks can wait: the last one that polled for reading, and the last one that polled for
/// writing. It has to be dropped, or deregistered, before the source.
pub struct Registration {
    /// Empty before the source is registered; `None` if that failed.
    bound: OnceLock<Option<Bound>>,
}

struct Bound {
    readiness: Readiness,
    _counted: Counted,
}

/// A source that a reactor counts.
struct Counted(Option<Weak<Shared>>);

impl Drop for Counted {
    fn drop(&mut self) {
        if let Some(shared) = self.0.as_ref().and_then(Weak::upgrade) {
            if shared.sources.fetch_sub(1, Ordering::SeqCst) == 1 {
                // A reactor in the background may wait until it is idle.
                shared.notify();
            }
        }
    }
}

impl Bound {
    fn new(fd: RawFd, interest: Interest, target: &Target) -> io::Result<Bound> {
        match target {
            Target::Reactor(shared) => {
                let reactor = shared.upgrade().ok_or_else(gone)?;
                let on_event = Some(reactor.on_event.clone());
                let readiness = Readiness::new(fd, interest, &reactor.runtime, on_event)?;
                reactor.sources.fetch_add(1, Ordering::SeqCst);
                Ok(Bound {
                    readiness,
                    _counted: Counted(Some(shared.clone())),
                })
            }
            Target::Runtime(runtime) => Ok(Bound {
                readiness: Readiness::new(fd, interest, runtime, None)?,
                _counted: Counted(None),
            }),
        }
    }
}

#[expect(clippy::new_without_default, reason = "tokio-reactor has none")]
impl Registration {
    /// Creates a registration of nothing.
    pub fn new() -> Registration {
        Registration {
            bound: OnceLock::new(),
        }
    }

    /// Registers `io` with the default reactor; returns false if a source was registered before.
    ///
    /// # Errors
    ///
    /// With the system's error (`PermissionDenied` for a regular file), and with `Unsupported` if `io`
    /// registers no descriptor.
    pub fn register<T>(&self, io: &T) -> io::Result<bool>
    where
        T: Evented,
    {
        self.register_with(io, &Handle::default())
    }

    /// The same, with the reactor of `handle`.
    ///
    /// # Errors
    ///
    /// As [`register`](Registration::register), and when the reactor is gone.
    pub fn register_with<T>(&self, io: &T, handle: &Handle) -> io::Result<bool>
    where
        T: Evented,
    {
        let fd = || mio::Poll::descriptor_of(io);
        self.bind(handle, |target| Bound::new(fd()?, READ_WRITE, target))
    }

    /// Registers a descriptor.
    pub(crate) fn register_fd(
        &self,
        fd: RawFd,
        interest: Interest,
        handle: &Handle,
    ) -> io::Result<bool> {
        self.bind(handle, |target| Bound::new(fd, interest, target))
    }

    fn bind(
        &self,
        handle: &Handle,
        bound: impl FnOnce(&Target) -> io::Result<Bound>,
    ) -> io::Result<bool> {
        let mut result = Ok(false);
        if self.bound.get().is_some() {
            return result;
        }
        self.bound.get_or_init(|| {
            let made = match handle.target() {
                Some(target) => bound(target),
                None => Target::current().and_then(|target| bound(&target)),
            };
            match made {
                Ok(bound) => {
                    result = Ok(true);
                    Some(bound)
                }
                Err(error) => {
                    result = Err(error);
                    None
                }
            }
        });
        result
    }

    /// Ends the watch. The source can be registered again, with any reactor.
    ///
    /// # Errors
    ///
    /// With the source's own.
    pub fn deregister<T>(&mut self, io: &T) -> io::Result<()>
    where
        T: Evented,
    {
        match self.bound.take() {
            Some(_) => mio::Poll::forget(io),
            None => Ok(()),
        }
    }

    /// Takes what has happened to the source since the last call, but for writing. If nothing has,
    /// the current task is notified when something does. Once the other side is closed, `hup` is
    /// returned each time.
    ///
    /// # Errors
    ///
    /// When no source is registered, or the reactor is gone.
    ///
    /// # Panics
    ///
    /// Outside of a task, when nothing has happened.
    pub fn poll_read_ready(&self) -> Poll<mio::Ready, io::Error> {
        let readiness = self.readiness()?;
        let ready = try_ready!(readiness.poll_events(READ | HUP));
        readiness.clear(READ);
        Ok(Async::Ready(to_mio(ready)))
    }

    /// Takes what has happened to the source since the last call, but for writing.
    ///
    /// # Errors
    ///
    /// As [`poll_read_ready`](Registration::poll_read_ready).
    pub fn take_read_ready(&self) -> io::Result<Option<mio::Ready>> {
        self.take(READ | HUP, READ)
    }

    /// Takes "there is room to write" if that was so since the last call. If not, the current task is
    /// notified when it is.
    ///
    /// # Errors
    ///
    /// As [`poll_read_ready`](Registration::poll_read_ready).
    ///
    /// # Panics
    ///
    /// Outside of a task, when there was no room.
    pub fn poll_write_ready(&self) -> Poll<mio::Ready, io::Error> {
        let readiness = self.readiness()?;
        let ready = try_ready!(readiness.poll_events(Ready::WRITE));
        readiness.clear(Ready::WRITE);
        Ok(Async::Ready(to_mio(ready)))
    }

    /// Takes "there is room to write" if that was so since the last call.
    ///
    /// # Errors
    ///
    /// As [`poll_read_ready`](Registration::poll_read_ready).
    pub fn take_write_ready(&self) -> io::Result<Option<mio::Ready>> {
        self.take(Ready::WRITE, Ready::WRITE)
    }

    fn take(&self, mask: Ready, clear: Ready) -> io::Result<Option<mio::Ready>> {
        let readiness = self.readiness()?;
        let ready = readiness.look(mask)?;
        readiness.clear(clear);
        Ok((!ready.is_empty()).then(|| to_mio(ready)))
    }

    /// Returns what is known of the source's readiness.
    pub(crate) fn readiness(&self) -> io::Result<&Readiness> {
        match self.bound.get() {
            Some(Some(bound)) => Ok(&bound.readiness),
            Some(None) => Err(io::Error::other("failed to associate with reactor")),
            None => Err(io::Error::other("must call `register` before polling")),
        }
    }
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_registered = self.readiness().is_ok();
        f.debug_struct("Registration")
            .field("is_registered", &is_registered)
            .finish()
    }
}

pub(crate) fn to_mio(ready: Ready) -> mio::Ready {
    let mut events = mio::Ready::empty();
    if ready.is_readable() {
        events.insert(mio::Ready::readable());
    }
    if ready.is_writable() {
        events.insert(mio::Ready::writable());
    }
    if ready.is_hup() {
        events.insert(UnixReady::hup());
    }
    events
}

pub(crate) fn from_mio(events: mio::Ready) -> Ready {
    let mut ready = Ready::empty();
    if events.is_readable() {
        ready.insert(READ);
    }
    if events.is_writable() {
        ready.insert(Ready::WRITE);
    }
    if UnixReady::from(events).is_hup() {
        ready.insert(HUP);
    }
    ready
}
