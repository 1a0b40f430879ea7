//! The drop-ins' own sockets.

use std::fmt;
use std::io;
use std::os::fd::{AsRawFd, RawFd};

use drop_in_io::stream::ready;
use drop_in_io::{Readiness, Ready};
use futures::Poll;
use tokio::io::Interest;

use crate::registration::{from_mio, to_mio};
use crate::{Handle, Registration};

/// A socket and its registration, which goes to the default reactor at the first use if not before.
pub struct Watched<E> {
    // Dropped before `io` closes the descriptor.
    registration: Registration,
    io: E,
    interest: Interest,
}

impl<E: AsRawFd> Watched<E> {
    /// Makes a socket that isn't registered yet.
    pub fn new(io: E, interest: Interest) -> Watched<E> {
        Watched {
            registration: Registration::new(),
            io,
            interest,
        }
    }

    /// Makes a socket and registers it, unless `handle` is the default.
    ///
    /// # Errors
    ///
    /// When the reactor is gone, or the system can't watch the descriptor.
    pub fn with_handle(io: E, interest: Interest, handle: &Handle) -> io::Result<Watched<E>> {
        let watched = Watched::new(io, interest);
        if handle.target().is_some() {
            watched.register(handle)?;
        }
        Ok(watched)
    }

    fn register(&self, handle: &Handle) -> io::Result<bool> {
        let fd = self.io.as_raw_fd();
        self.registration.register_fd(fd, self.interest, handle)
    }

    /// Returns the socket.
    pub fn get_ref(&self) -> &E {
        &self.io
    }

    /// Returns what is known of the socket's readiness, and registers it first.
    ///
    /// # Errors
    ///
    /// As [`with_handle`](Watched::with_handle).
    pub fn readiness(&self) -> io::Result<&Readiness> {
        self.register(&Handle::default())?;
        self.registration.readiness()
    }

    /// Ready with those events of `mask` that are known, and `hup`. Otherwise the current task is
    /// notified when there are some.
    ///
    /// # Errors
    ///
    /// When the socket can't be registered, or none is known and the reactor is gone.
    ///
    /// # Panics
    ///
    /// If `mask` has `writable`; outside of a task, when no event is known.
    pub fn poll_read_ready(&self, mask: mio::Ready) -> Poll<mio::Ready, io::Error> {
        assert!(!mask.is_writable(), "cannot poll for write readiness");
        let polled = self.readiness()?.poll_events(from_mio(mask) | Ready::HUP)?;
        Ok(polled.map(to_mio))
    }

    /// Ready if there is room to write. Otherwise the current task is notified when there is.
    ///
    /// # Errors
    ///
    /// As [`poll_read_ready`](Watched::poll_read_ready).
    ///
    /// # Panics
    ///
    /// Outside of a task, when there is no room.
    pub fn poll_write_ready(&self) -> Poll<mio::Ready, io::Error> {
        let polled = self.readiness()?.poll_events(Ready::WRITE)?;
        Ok(polled.map(to_mio))
    }

    /// Tries to read with `f`. When that would block, the current task is notified when it is worth
    /// another try.
    ///
    /// # Errors
    ///
    /// With those of `f`, and as [`with_handle`](Watched::with_handle).
    pub fn poll_read<R>(&self, f: impl FnOnce(&E) -> io::Result<R>) -> Poll<R, io::Error> {
        ready(self.readiness()?.try_read(|| f(&self.io)))
    }

    /// The same, for writing.
    ///
    /// # Errors
    ///
    /// As [`poll_read`](Watched::poll_read).
    pub fn poll_write<R>(&self, f: impl FnOnce(&E) -> io::Result<R>) -> Poll<R, io::Error> {
        ready(self.readiness()?.try_write(|| f(&self.io)))
    }
}

impl<E: AsRawFd> AsRawFd for Watched<E> {
    fn as_raw_fd(&self) -> RawFd {
        self.io.as_raw_fd()
    }
}

impl<E: fmt::Debug> fmt::Debug for Watched<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.io.fmt(f)
    }
}
