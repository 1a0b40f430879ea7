//! I/O of kinds that the drop-ins don't know.

use std::fmt;
use std::io::{self, Read, Write};

use drop_in_io::{Readiness, Ready};
use futures::{Async, Poll};
use mio::event::Evented;
use mio::unix::UnixReady;
use tokio_io::{AsyncRead, AsyncWrite};

use crate::registration::{from_mio, to_mio};
use crate::{Handle, Registration};

/// A source of events, its registration, and what is known of its readiness.
///
/// `E` is in non-blocking mode. Once it is known to be readable or writable, it stays so until
/// [`clear_read_ready`](PollEvented::clear_read_ready) or
/// [`clear_write_ready`](PollEvented::clear_write_ready) is called, which an operation that would block
/// must be followed by. `Read` and `Write`, where `E` has them, do all that.
///
/// At most two tasks can wait: the last one that polled for reading, and the last one that polled for
/// writing. `get_mut` must not put another descriptor in the place of the source's.
pub struct PollEvented<E: Evented> {
    registration: Registration,
    /// `None` once it is being dropped.
    io: Option<E>,
}

impl<E> PollEvented<E>
where
    E: Evented,
{
    /// Makes a source that is registered with the default reactor when it is first polled.
    pub fn new(io: E) -> PollEvented<E> {
        PollEvented {
            registration: Registration::new(),
            io: Some(io),
        }
    }

    /// Makes a source and registers it, unless `handle` is the default.
    ///
    /// # Errors
    ///
    /// As [`Registration::register_with`].
    pub fn new_with_handle(io: E, handle: &Handle) -> io::Result<Self> {
        let source = PollEvented::new(io);
        if handle.target().is_some() {
            source
                .registration
                .register_with(source.get_ref(), handle)?;
        }
        Ok(source)
    }

    /// Returns the source.
    pub fn get_ref(&self) -> &E {
        self.io.as_ref().expect("taken only by drop")
    }

    /// Returns the source.
    pub fn get_mut(&mut self) -> &mut E {
        self.io.as_mut().expect("taken only by drop")
    }

    /// Ends the watch and returns the source.
    ///
    /// # Errors
    ///
    /// With the source's own; it is dropped then.
    pub fn into_inner(mut self) -> io::Result<E> {
        let io = self.io.take().expect("taken only by drop");
        self.registration.deregister(&io)?;
        Ok(io)
    }

    /// Ready with those events of `mask` that are known, and `hup`. Otherwise the current task is
    /// notified when there are some.
    ///
    /// # Errors
    ///
    /// When the source can't be registered, or none is known and the reactor is gone.
    ///
    /// # Panics
    ///
    /// If `mask` has `writable`; outside of a task, when no event is known.
    pub fn poll_read_ready(&self, mask: mio::Ready) -> Poll<mio::Ready, io::Error> {
        assert!(!mask.is_writable(), "cannot poll for write readiness");
        let polled = self.readiness()?.poll_events(from_mio(mask) | Ready::HUP)?;
        Ok(polled.map(to_mio))
    }

    /// Forgets that the source is readable, after an operation that would have blocked, and notifies
    /// the current task when it is again. A mask without `readable` does nothing.
    ///
    /// # Errors
    ///
    /// As [`poll_read_ready`](PollEvented::poll_read_ready).
    ///
    /// # Panics
    ///
    /// If `ready` has `writable` or `hup`; outside of a task.
    pub fn clear_read_ready(&self, ready: mio::Ready) -> io::Result<()> {
        assert!(!ready.is_writable(), "cannot clear write readiness");
        let is_hup = UnixReady::from(ready).is_hup();
        assert!(!is_hup, "cannot clear HUP readiness");
        if !ready.is_readable() {
            return Ok(());
        }
        self.readiness()?.need_read()
    }

    /// Ready if there is room to write. Otherwise the current task is notified when there is.
    ///
    /// # Errors
    ///
    /// As [`poll_read_ready`](PollEvented::poll_read_ready).
    ///
    /// # Panics
    ///
    /// Outside of a task, when there is no room.
    pub fn poll_write_ready(&self) -> Poll<mio::Ready, io::Error> {
        let polled = self.readiness()?.poll_events(Ready::WRITE)?;
        Ok(polled.map(to_mio))
    }

    /// Forgets that the source is writable, after an operation that would have blocked, and notifies
    /// the current task when it is again.
    ///
    /// # Errors
    ///
    /// As [`poll_read_ready`](PollEvented::poll_read_ready).
    ///
    /// # Panics
    ///
    /// Outside of a task.
    pub fn clear_write_ready(&self) -> io::Result<()> {
        self.readiness()?.need_write()
    }

    fn readiness(&self) -> io::Result<&Readiness> {
        self.registration.register(self.get_ref())?;
        self.registration.readiness()
    }

    /// Returns the source beside it.
    fn parts(&mut self) -> io::Result<(&Readiness, &mut E)> {
        self.registration.register(self.get_ref())?;
        let io = self.io.as_mut().expect("taken only by drop");
        Ok((self.registration.readiness()?, io))
    }
}

impl<E> Read for PollEvented<E>
where
    E: Evented + Read,
{
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let (readiness, io) = self.parts()?;
        readiness.try_read(|| io.read(buf))
    }
}

impl<E> Write for PollEvented<E>
where
    E: Evented + Write,
{
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let (readiness, io) = self.parts()?;
        readiness.try_write(|| io.write(buf))
    }

    fn flush(&mut self) -> io::Result<()> {
        let (readiness, io) = self.parts()?;
        readiness.try_write(|| io.flush())
    }
}

impl<E> AsyncRead for PollEvented<E> where E: Evented + Read {}

impl<E> AsyncWrite for PollEvented<E>
where
    E: Evented + Write,
{
    /// Does nothing.
    fn shutdown(&mut self) -> Poll<(), io::Error> {
        Ok(Async::Ready(()))
    }
}

impl<'a, E> Read for &'a PollEvented<E>
where
    E: Evented,
    &'a E: Read,
{
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let this = *self;
        this.readiness()?.try_read(|| this.get_ref().read(buf))
    }
}

impl<'a, E> Write for &'a PollEvented<E>
where
    E: Evented,
    &'a E: Write,
{
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let this = *self;
        this.readiness()?.try_write(|| this.get_ref().write(buf))
    }

    fn flush(&mut self) -> io::Result<()> {
        let this = *self;
        this.readiness()?.try_write(|| this.get_ref().flush())
    }
}

impl<'a, E> AsyncRead for &'a PollEvented<E>
where
    E: Evented,
    &'a E: Read,
{
}

impl<'a, E> AsyncWrite for &'a PollEvented<E>
where
    E: Evented,
    &'a E: Write,
{
    /// Does nothing.
    fn shutdown(&mut self) -> Poll<(), io::Error> {
        Ok(Async::Ready(()))
    }
}

impl<E: Evented + fmt::Debug> fmt::Debug for PollEvented<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PollEvented").field("io", &self.io).finish()
    }
}

impl<E: Evented> Drop for PollEvented<E> {
    fn drop(&mut self) {
        if let Some(io) = self.io.take() {
            // It is gone either way.
            let _ = self.registration.deregister(&io);
        }
    }
}
