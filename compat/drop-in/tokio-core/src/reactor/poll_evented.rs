//! Readiness of any file descriptor.

use std::fmt;
use std::io::{self, Read, Write};

use futures::{Async, Poll};
use tokio_io::{AsyncRead, AsyncWrite};

use super::{Evented, Handle, Ready, Remote, Source};

/// A source of events under the watch of a `Core`, for I/O of kinds that this crate doesn't know.
///
/// `E` is anything with a file descriptor ([`AsRawFd`](std::os::fd::AsRawFd)) in non-blocking mode,
/// which the system can watch: a regular file can't be.
///
/// Once a source is known to be readable or writable, it stays so until
/// [`need_read`](PollEvented::need_read) or [`need_write`](PollEvented::need_write) is called, which
/// an operation that would block must be followed by. At most two tasks can wait: the last one that
/// asked for reading, and the last one that asked for writing. `Read` and `Write`, where `E` has
/// them, do all that.
///
/// Dropping it ends the watch and drops the source. `get_mut` must not put another descriptor in
/// the place of the source's.
pub struct PollEvented<E> {
    source: Source<E>,
    remote: Remote,
}

impl<E: Evented> PollEvented<E> {
    /// Puts `io` under the watch of a `Core`.
    ///
    /// # Errors
    ///
    /// When the `Core` is gone, or the system can't watch the descriptor (`PermissionDenied` for a
    /// regular file).
    pub fn new(io: E, handle: &Handle) -> io::Result<PollEvented<E>> {
        Ok(PollEvented {
            source: Source::new(io, handle)?,
            remote: handle.remote().clone(),
        })
    }

    /// Ends the watch and drops the source.
    ///
    /// # Errors
    ///
    /// Never.
    pub fn deregister(self, _handle: &Handle) -> io::Result<()> {
        Ok(())
    }
}

impl<E> PollEvented<E> {
    /// Returns whether the source may be readable, or closed by the other side. If not, the current
    /// task is notified when it is.
    ///
    /// # Panics
    ///
    /// Outside of a task, when the source is not readable.
    pub fn poll_read(&self) -> Async<()> {
        self.source.poll_read()
    }

    /// Returns whether the source may be writable. If not, the current task is notified when it is.
    ///
    /// # Panics
    ///
    /// Outside of a task, when the source is not writable.
    pub fn poll_write(&self) -> Async<()> {
        self.source.poll_write()
    }

    /// Returns the events of `mask` that are known. If there are none, the current
    /// task is notified when there may be: it takes the place of the task that writes if `mask` has
    /// `writable`, and of the one that reads if `mask` has anything else.
    ///
    /// With an empty mask it is ready at once. [`Ready`] takes the place of mio 0.6's; a mask of that
    /// doesn't compile.
    ///
    /// # Panics
    ///
    /// Outside of a task, when no event is known.
    pub fn poll_ready(&self, mask: Ready) -> Async<Ready> {
        self.source.poll(mask)
    }

    /// Forgets that the source is readable, after an operation that would have blocked, and notifies
    /// the current task when it is again.
    ///
    /// # Panics
    ///
    /// Outside of a task.
    pub fn need_read(&self) {
        if self.source.need_read().is_err() {
            // The Core is gone. The task is polled again, and the operation shows it.
            futures::task::current().notify();
        }
    }

    /// Forgets that the source is writable, after an operation that would have blocked, and notifies
    /// the current task when it is again.
    ///
    /// # Panics
    ///
    /// Outside of a task.
    pub fn need_write(&self) {
        if self.source.need_write().is_err() {
            futures::task::current().notify();
        }
    }

    /// Returns the `Core` that watches the source.
    pub fn remote(&self) -> &Remote {
        &self.remote
    }

    /// Returns the source.
    pub fn get_ref(&self) -> &E {
        self.source.get_ref()
    }

    /// Returns the source.
    pub fn get_mut(&mut self) -> &mut E {
        self.source.get_mut()
    }

    fn reading<R>(&self, result: io::Result<R>) -> io::Result<R> {
        if is_would_block(&result) {
            self.source.need_read()?;
        }
        result
    }

    fn writing<R>(&self, result: io::Result<R>) -> io::Result<R> {
        if is_would_block(&result) {
            self.source.need_write()?;
        }
        result
    }
}

fn is_would_block<R>(result: &io::Result<R>) -> bool {
    matches!(result, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

fn would_block<R>() -> io::Result<R> {
    Err(io::ErrorKind::WouldBlock.into())
}

impl<E: Read> Read for PollEvented<E> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if !PollEvented::poll_read(self).is_ready() {
            return would_block();
        }
        let result = self.get_mut().read(buf);
        self.reading(result)
    }
}

impl<E: Write> Write for PollEvented<E> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        if !PollEvented::poll_write(self).is_ready() {
            return would_block();
        }
        let result = self.get_mut().write(buf);
        self.writing(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        if !PollEvented::poll_write(self).is_ready() {
            return would_block();
        }
        let result = self.get_mut().flush();
        self.writing(result)
    }
}

impl<E: Read> AsyncRead for PollEvented<E> {}

impl<E: Write> AsyncWrite for PollEvented<E> {
    /// Does nothing.
    fn shutdown(&mut self) -> Poll<(), io::Error> {
        Ok(Async::Ready(()))
    }
}

#[allow(deprecated)]
impl<E: Read + Write> crate::io::Io for PollEvented<E> {
    fn poll_read(&mut self) -> Async<()> {
        PollEvented::poll_read(self)
    }

    fn poll_write(&mut self) -> Async<()> {
        PollEvented::poll_write(self)
    }
}

impl<'a, E> Read for &'a PollEvented<E>
where
    &'a E: Read,
{
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let this = *self;
        this.source.read_with(|_| this.get_ref().read(buf))
    }
}

impl<'a, E> Write for &'a PollEvented<E>
where
    &'a E: Write,
{
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let this = *self;
        this.source.write_with(|_| this.get_ref().write(buf))
    }

    fn flush(&mut self) -> io::Result<()> {
        let this = *self;
        this.source.write_with(|_| this.get_ref().flush())
    }
}

impl<'a, E> AsyncRead for &'a PollEvented<E> where &'a E: Read {}

impl<'a, E> AsyncWrite for &'a PollEvented<E>
where
    &'a E: Write,
{
    /// Does nothing.
    fn shutdown(&mut self) -> Poll<(), io::Error> {
        Ok(Async::Ready(()))
    }
}

#[allow(deprecated)]
impl<'a, E> crate::io::Io for &'a PollEvented<E>
where
    &'a E: Read + Write,
{
    fn poll_read(&mut self) -> Async<()> {
        PollEvented::poll_read(self)
    }

    fn poll_write(&mut self) -> Async<()> {
        PollEvented::poll_write(self)
    }
}

impl<E: Evented + fmt::Debug> fmt::Debug for PollEvented<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PollEvented")
            .field("io", self.get_ref())
            .finish()
    }
}
