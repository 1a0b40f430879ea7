//! A tokio 1 socket as the root's state machines want it: `Read`, `Write`, `AsyncWrite` from the
//! bridge, and the root's own [`Transport`] on top.

use std::future::poll_fn;
use std::io::{self, Read, Write};
use std::os::fd::BorrowedFd;
use std::task::{Context, Poll};

use futures01::{Async, Future, Poll as Poll01};
use ptunnel::net::{Pipe, Transport};
use ptunnel_compat::io::{As01, ShutdownPolicy};
use ptunnel_compat::task;
use ptunnel_r5::net::Transport as Transport1;
use ptunnel_r5::relay::{is_urgent, Checkup};
use tokio_io::{AsyncRead, AsyncWrite};

/// A tokio 1 stream in a 0.1 task.
pub(crate) struct Bridged<S> {
    io: As01<S>,
    checkup: Checkup,
}

impl<S: Transport1> Bridged<S> {
    /// `Relay` counts on `shutdown` to pass a half-close on.
    pub(crate) fn new(stream: S) -> Bridged<S> {
        Bridged {
            io: As01::new(stream, ShutdownPolicy::Fin),
            checkup: Checkup::default(),
        }
    }
}

impl<S: Transport1> Transport for Bridged<S> {
    /// Whether a short read has drained the socket. Nobody here knows, and nobody has to: tokio
    /// takes the readiness back after a short read, so that the read which follows answers
    /// `WouldBlock` without a system call, and goes on when the peer's end came with the bytes.
    fn is_drained(&mut self) -> bool {
        false
    }

    fn check(&mut self) -> io::Result<()> {
        let Bridged { io, checkup } = self;
        let met = in_task(|cx| checkup.poll(cx, io.get_ref()).map(Ok));
        match met? {
            Async::Ready(error) => Err(error),
            Async::NotReady => Ok(()),
        }
    }

    fn can_splice(&self) -> bool {
        self.io.get_ref().can_splice()
    }

    fn splice_from(&mut self, pipe: &Pipe, most: usize) -> Poll01<usize, io::Error> {
        let stream = self.io.get_ref();
        let fill = |from: BorrowedFd<'_>| match pipe.fill(&from, most) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock && is_urgent(from)? => {
                Err(io::ErrorKind::InvalidInput.into()) // to be copied
            }
            filled => filled,
        };
        in_task(|cx| stream.poll_readable(cx, fill))
    }

    fn splice_into(&mut self, pipe: &Pipe, most: usize) -> Poll01<usize, io::Error> {
        let stream = self.io.get_ref();
        in_task(|cx| stream.poll_writable(cx, |to: BorrowedFd<'_>| pipe.drain(&to, most)))
    }

    fn reset(&mut self) {
        self.io.get_ref().reset();
    }
}

/// A poll of today in the 0.1 task that is running: the bridge finds it a `Context`.
fn in_task<T>(
    poll: impl FnMut(&mut Context<'_>) -> Poll<io::Result<T>> + Unpin,
) -> Poll01<T, io::Error> {
    task::As01::new(poll_fn(poll)).poll()
}

impl<S: Transport1> Read for Bridged<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.io.read(buffer)
    }
}

impl<S: Transport1> Write for Bridged<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.io.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.io.flush()
    }
}

impl<S: Transport1> AsyncRead for Bridged<S> {}

impl<S: Transport1> AsyncWrite for Bridged<S> {
    fn shutdown(&mut self) -> Poll01<(), io::Error> {
        match self.io.shutdown() {
            // The peer has reset it already; who reads from it is told.
            Err(e) if e.kind() == io::ErrorKind::NotConnected => Ok(().into()),
            answer => answer,
        }
    }
}
