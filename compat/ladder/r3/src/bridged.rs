//! A tokio 1 socket for the root's state machines: `Read`, `Write`, `AsyncWrite` from the bridge, and
//! the root's [`Transport`] on top.

use std::future::poll_fn;
use std::io::{self, Read, Write};
use std::os::fd::BorrowedFd;
use std::task::{Context, Poll};

use futures01::{Async, Future, Poll as Poll01};
use ptunnel::engine::io::{Pipe, Transport};
use ptunnel_r5::io::Transport as Transport1;
use ptunnel_r5::relay::{is_urgent, Checkup};
use tokio::task::coop::has_budget_remaining;
use tokio_core_compat::io::{AsIo01, ShutdownPolicy};
use tokio_core_compat::task;
use tokio_io::{AsyncRead, AsyncWrite};

/// A tokio 1 stream in a 0.1 task.
pub(crate) struct Bridged<S> {
    io: AsIo01<S>,
    checkup: Checkup,
    /// The task will be woken when there is something to read, and nothing has come since.
    waits: bool,
}

impl<S: Transport1> Bridged<S> {
    /// `shutdown` passes a half-close on, as `Relay` requires.
    pub(crate) fn new(stream: S) -> Bridged<S> {
        Bridged {
            io: AsIo01::new(stream, ShutdownPolicy::Fin),
            checkup: Checkup::default(),
            waits: false,
        }
    }

    /// Stops looking for errors until the next check: an idle tunnel holds no timer.
    pub(crate) fn unchecked(mut self) -> Bridged<S> {
        self.checkup.stop();
        self
    }
}

impl<S: Transport1> Transport for Bridged<S> {
    /// Whether a short read has drained the socket. It cannot know: tokio takes it for drained,
    /// so that the read which follows answers `WouldBlock` without a system call, and goes on when
    /// the peer's end came with the bytes. What is behind urgent data may wait for the next event
    /// ([`Transport1`]).
    fn is_drained(&mut self) -> bool {
        false
    }

    fn check(&mut self) -> io::Result<()> {
        let Bridged { io, checkup, .. } = self;
        let met = in_task(|cx| checkup.poll(cx, io.get_ref()).map(Ok));
        match met? {
            Async::Ready(error) => Err(error),
            Async::NotReady => Ok(()),
        }
    }

    fn unacknowledged(&self) -> usize {
        self.io.get_ref().unacknowledged()
    }

    fn can_splice(&self) -> bool {
        self.io.get_ref().can_splice()
    }

    fn splice_from(&mut self, pipe: &Pipe, most: usize) -> Poll01<usize, io::Error> {
        self.waits = false; // an event may be taken in here
        let stream = self.io.get_ref();
        let fill = |from: BorrowedFd<'_>| match pipe.fill(&from, most) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock && is_urgent(from)? => {
                Err(io::ErrorKind::InvalidInput.into()) // to be copied
            }
            filled => filled,
        };
        let filled = in_task(|cx| stream.poll_readable(cx, fill))?;
        if filled.is_not_ready() {
            self.checkup.stop(); // the pipe is empty: nothing stalls
        }
        Ok(filled)
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
    /// Crosses the bridge only in order to wait, and only once for each event: as long as the
    /// stream isn't known to be readable, tokio keeps the waker, and the bridge's is the same one
    /// for all of the task's life.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.io.get_ref().read_now(buffer) {
            None if self.waits => return Err(io::ErrorKind::WouldBlock.into()),
            None => {}
            Some(Err(e)) if e.kind() == io::ErrorKind::WouldBlock => {}
            Some(answer) => {
                self.waits = false;
                return answer;
            }
        }
        self.checkup.stop(); // a direction that is read doesn't stall
        let answer = self.io.read(buffer);
        let blocked = matches!(&answer, Err(e) if e.kind() == io::ErrorKind::WouldBlock);
        // Without budget tokio has arranged for another poll, and for nothing else.
        self.waits = blocked && has_budget_remaining();
        answer
    }
}

impl<S: Transport1> Write for Bridged<S> {
    /// Crosses the bridge only in order to wait.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.io.get_ref().write_now(bytes) {
            None => self.io.write(bytes),
            Some(Err(e)) if e.kind() == io::ErrorKind::WouldBlock => self.io.write(bytes),
            Some(answer) => answer,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.io.flush()
    }
}

impl<S: Transport1> AsyncRead for Bridged<S> {}

impl<S: Transport1> AsyncWrite for Bridged<S> {
    fn shutdown(&mut self) -> Poll01<(), io::Error> {
        match self.io.shutdown() {
            // The peer has reset it already; a read returns the error.
            Err(e) if e.kind() == io::ErrorKind::NotConnected => Ok(().into()),
            answer => answer,
        }
    }
}

#[cfg(test)]
mod tests {
    use futures01::future;
    use ptunnel_r5::io::UnixSocket;
    use tokio::net::UnixStream;
    use tokio::task::consume_budget;
    use tokio_core_compat::task::{As01, AsStd};

    use super::*;

    fn spend_the_budget() {
        while has_budget_remaining() {
            let spend = async {
                consume_budget().await;
                Ok::<_, ()>(())
            };
            As01::pin(spend).poll().unwrap();
        }
    }

    /// tokio registers no task then: the read after the next poll has to try again.
    #[test]
    fn a_read_without_budget_does_not_count_as_waiting() {
        let read = future::lazy(|| {
            let (near, _far) = UnixStream::pair()?;
            let mut near = Bridged::new(UnixSocket::from(near));
            spend_the_budget();
            let blocked = near.read(&mut [0]).unwrap_err();
            assert_eq!(blocked.kind(), io::ErrorKind::WouldBlock);
            assert!(!near.waits);
            io::Result::Ok(())
        });
        let runtime = ptunnel_r5::runtime().unwrap();
        runtime.block_on(AsStd::new(read)).unwrap();
    }

    /// The timer outlived the stall: an extra wake-up, and its memory for as long as the tunnel.
    #[test]
    fn a_stream_holds_a_timer_only_until_it_is_read_from_again() {
        let read = future::lazy(|| {
            let (near, _far) = UnixStream::pair()?;
            let (mut near, pipe) = (Bridged::new(UnixSocket::from(near)), Pipe::new(4096)?);
            near.check()?;
            assert!(near.checkup.has_timer());
            assert!(near.read(&mut [0]).is_err());
            assert!(!near.checkup.has_timer(), "copied");
            near.check()?;
            assert!(!near.splice_from(&pipe, 4096)?.is_ready());
            assert!(!near.checkup.has_timer(), "spliced");
            io::Result::Ok(())
        });
        let runtime = ptunnel_r5::runtime().unwrap();
        runtime.block_on(AsStd::new(read)).unwrap();
    }

    #[test]
    fn a_read_that_waits_is_woken_by_what_comes() {
        let runtime = ptunnel_r5::runtime().unwrap();
        let _inside = runtime.enter();
        let (near, far) = UnixStream::pair().unwrap();
        let (mut near, mut polls) = (Bridged::new(UnixSocket::from(near)), 0);
        let read = future::poll_fn(move || {
            let answer = near.read(&mut [0; 8]);
            polls += 1;
            if polls == 1 {
                assert!(near.waits, "{answer:?}");
                // A second read still waits, and makes no system call.
                assert!(near.read(&mut [0]).is_err());
                far.try_write(b"word").unwrap();
            }
            match answer {
                Ok(count) => Ok(Async::Ready(count)),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(Async::NotReady),
                Err(e) => Err(e),
            }
        });
        assert_eq!(runtime.block_on(AsStd::new(read)).unwrap(), 4);
    }
}
