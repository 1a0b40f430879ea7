//! Readiness by hand.

use std::io;
use std::os::fd::AsFd;
use std::task::{ready, Context, Poll};

use futures01::{task, Async};
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use tokio::io::Interest;
use tokio::net::{TcpStream, UdpSocket, UnixDatagram, UnixStream};

use crate::io::would_block;
use crate::task::SharedCrossing;

/// A socket of tokio's that shows its readiness, and is used by reference.
///
/// tokio's own sockets have all of these methods, those for datagrams under other names.
pub trait Readiness: AsFd {
    /// Waits until reading is worth a try.
    ///
    /// # Errors
    ///
    /// When the runtime of the socket is gone.
    fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Waits until writing is worth a try.
    ///
    /// # Errors
    ///
    /// When the runtime of the socket is gone.
    fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Calls `f` if the socket is known to be ready, and forgets that when `f` would block.
    ///
    /// # Errors
    ///
    /// Those of `f`; `WouldBlock` when the socket is not ready.
    fn try_io<R>(&self, interest: Interest, f: impl FnOnce() -> io::Result<R>) -> io::Result<R>;
}

macro_rules! readiness {
    ($($socket:ty: $read:ident, $write:ident;)*) => {$(
        impl Readiness for $socket {
            fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.$read(cx)
            }

            fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.$write(cx)
            }

            fn try_io<R>(
                &self,
                interest: Interest,
                f: impl FnOnce() -> io::Result<R>,
            ) -> io::Result<R> {
                self.try_io(interest, f)
            }
        }
    )*};
}

readiness! {
    TcpStream: poll_read_ready, poll_write_ready;
    UnixStream: poll_read_ready, poll_write_ready;
    UdpSocket: poll_recv_ready, poll_send_ready;
    UnixDatagram: poll_recv_ready, poll_send_ready;
}

/// A socket with what it keeps for the task of each direction.
pub(crate) struct Directions<'a, S> {
    pub(crate) io: &'a S,
    pub(crate) reading: &'a SharedCrossing,
    pub(crate) writing: &'a SharedCrossing,
}

const READ: &str = "a read on a socket of tokio 1";
const WRITE: &str = "a write on a socket of tokio 1";

impl<S: Readiness> Directions<'_, S> {
    pub(crate) fn poll_read(&self) -> Async<()> {
        let polled = self.reading.enter(READ, |cx| self.io.poll_read_ready(cx));
        ready_or_gone(polled)
    }

    pub(crate) fn poll_write(&self) -> Async<()> {
        let polled = self.writing.enter(WRITE, |cx| self.io.poll_write_ready(cx));
        ready_or_gone(polled)
    }

    pub(crate) fn need_read(&self) {
        self.forget(Interest::READABLE, PollFlags::IN);
        if self.poll_read().is_ready() {
            task::current().notify();
        }
    }

    pub(crate) fn need_write(&self) {
        self.forget(Interest::WRITABLE, PollFlags::OUT);
        if self.poll_write().is_ready() {
            task::current().notify();
        }
    }

    /// Calls `read` until it does something else than to block, or until the task has to wait.
    pub(crate) fn read<R>(&self, mut read: impl FnMut(&S) -> io::Result<R>) -> io::Result<R> {
        would_block(self.reading.poll(READ, |cx| loop {
            ready!(self.io.poll_read_ready(cx))?;
            match read(self.io) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done),
            }
        }))
    }

    /// The same, for writing.
    pub(crate) fn write<R>(&self, mut write: impl FnMut(&S) -> io::Result<R>) -> io::Result<R> {
        would_block(self.writing.poll(WRITE, |cx| loop {
            ready!(self.io.poll_write_ready(cx))?;
            match write(self.io) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done),
            }
        }))
    }

    /// Has tokio forget that the socket is ready, unless the system says that it is.
    ///
    /// tokio reports an event once. What came between the call that would block and this one is
    /// already in what tokio knows, and forgetting it unseen would lose it.
    fn forget(&self, interest: Interest, flags: PollFlags) {
        let _ = self.io.try_io(interest, || {
            let mut fds = [PollFd::new(self.io, flags)];
            match poll(&mut fds, Some(&Timespec::default())) {
                Ok(0) => Err(io::ErrorKind::WouldBlock.into()),
                _ => Ok(()),
            }
        });
    }
}

/// A runtime that is gone counts as ready: the call behind it shows the error.
fn ready_or_gone(polled: Poll<io::Result<()>>) -> Async<()> {
    match polled {
        Poll::Ready(_) => Async::Ready(()),
        Poll::Pending => Async::NotReady,
    }
}
