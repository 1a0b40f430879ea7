//! Splicing, for a direction that stays full: bytes go from socket to socket through a pipe in the
//! kernel and never enter this process.
//!
//! Pipes are pooled per thread, which keeps a few empty ones and bounds how many are in use. A
//! direction that gets none goes on copying; so does one whose sockets can't be spliced, beginning
//! with the bytes in its pipe.
//!
//! Invariant: a pipe is filled only when it is empty, and returns to the pool only when it is empty.

use std::cell::RefCell;
use std::io;
use std::os::fd::BorrowedFd;
use std::task::{ready, Context, Poll};

use ptunnel::os::splice_failure::is_splice_failure;
use rustix::io::Errno;
use rustix::net::{recv, RecvFlags};

use super::copy::WriteBuffer;
use super::half::{CopyError, Progress};
use super::Pipe;
use crate::io::Transport;

/// Bytes that a pipe is asked to hold, and that one fill moves at most.
const CAPACITY: usize = 256 * 1024;

/// Pipes in use at once, per thread.
const IN_USE: usize = 64;

/// Empty pipes that are kept, per thread.
const KEPT: usize = 8;

/// Bytes before a pipe runs dry that make up for the four system calls of its use.
const WORTH: u64 = 64 * 1024;

thread_local! {
    static POOL: RefCell<Pool> = const { RefCell::new(Pool { idle: Vec::new(), in_use: 0 }) };
}

struct Pool {
    idle: Vec<Pipe>,
    in_use: usize,
}

/// A pipe of the thread's pool, and the bytes in it. Dropping it returns it if it is empty, and closes
/// it otherwise.
#[derive(Debug)]
pub(super) struct PooledPipe {
    /// `None` only while it is being dropped.
    pipe: Option<Pipe>,
    held: usize,
    carried: u64,
}

/// The result of an attempt to splice.
pub(super) enum Spliced {
    Progress(Progress),
    /// The next bytes must be copied, since they can't be spliced.
    Copy,
    /// These sockets can't be spliced: copy from now on, first what the pipe holds.
    Refused,
}

impl PooledPipe {
    /// Takes a pipe from the pool, or makes one; `None` at the pool's bound or without descriptors.
    pub(super) fn new() -> Option<PooledPipe> {
        POOL.with_borrow_mut(|pool| {
            if pool.in_use == IN_USE {
                return None;
            }
            let pipe = match pool.idle.pop() {
                Some(pipe) => pipe,
                None => Pipe::new(CAPACITY).ok()?,
            };
            pool.in_use += 1;
            Some(PooledPipe {
                pipe: Some(pipe),
                held: 0,
                carried: 0,
            })
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held == 0
    }

    pub(super) fn was_worth_it(&self) -> bool {
        self.carried >= WORTH
    }

    /// Fills the pipe if it is empty, and drains as much of it as the writer takes.
    ///
    /// Since only an empty pipe is filled, a fill that would block means that the reader has nothing to
    /// splice, and at the reader's end nothing is left in the pipe.
    pub(super) fn poll_round<R, W>(
        &mut self,
        cx: &mut Context<'_>,
        reader: &R,
        writer: &W,
        carried: &mut u64,
    ) -> Poll<Result<Spliced, CopyError>>
    where
        R: Transport,
        W: Transport,
    {
        let pipe = self.pipe.as_ref().expect("it holds its pipe until drop");
        if self.held == 0 {
            let fill = |from: BorrowedFd<'_>| match pipe.fill(&from, CAPACITY) {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock && is_urgent(from)? => Ok(None),
                filled => filled.map(Some),
            };
            match ready!(reader.poll_readable(cx, fill)) {
                Ok(Some(0)) => return Poll::Ready(Ok(Spliced::Progress(Progress::End))),
                Ok(Some(count)) => self.held = count,
                Ok(None) => return Poll::Ready(Ok(Spliced::Copy)),
                Err(e) if is_splice_failure(&e) => return Poll::Ready(Ok(Spliced::Refused)),
                Err(e) => return Poll::Ready(Err(CopyError::Read(e))),
            }
        }
        while self.held > 0 {
            let drain = |to: BorrowedFd<'_>| pipe.drain(&to, self.held);
            match ready!(writer.poll_writable(cx, drain)) {
                Ok(0) => {
                    return Poll::Ready(Err(CopyError::Write(io::ErrorKind::WriteZero.into())))
                }
                Ok(count) => {
                    self.held -= count;
                    self.carried += count as u64;
                    *carried += count as u64;
                }
                Err(e) if is_splice_failure(&e) => return Poll::Ready(Ok(Spliced::Refused)),
                Err(e) => return Poll::Ready(Err(CopyError::Write(e))),
            }
        }
        Poll::Ready(Ok(Spliced::Progress(Progress::Moved { filled: true })))
    }

    /// Moves what the pipe holds into `buffer`, which must be empty.
    pub(super) fn take(&mut self, buffer: &mut WriteBuffer) -> io::Result<()> {
        let pipe = self.pipe.as_ref().expect("it holds its pipe until drop");
        if self.held > 0 {
            let mut bytes = vec![0; self.held];
            pipe.read_exact(&mut bytes)?;
            self.held = 0;
            buffer.own(bytes);
        }
        Ok(())
    }
}

/// Closes the pipes that this thread keeps, and returns their number.
#[cfg(test)]
pub(super) fn close_kept() -> usize {
    POOL.with_borrow_mut(|pool| std::mem::take(&mut pool.idle).len())
}

/// Returns whether there is something that recv(2) reads and splice(2) doesn't: before urgent data
/// splice(2) stops for ever, and recv(2) goes on after it.
///
/// # Errors
///
/// Those of recv(2).
pub fn is_urgent(from: BorrowedFd<'_>) -> io::Result<bool> {
    match recv(from, &mut [0; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT) {
        Ok(_) => Ok(true),
        Err(Errno::AGAIN) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

impl Drop for PooledPipe {
    fn drop(&mut self) {
        let pipe = self.pipe.take();
        // At the end of its thread the pool may be gone; then the pipe is closed.
        let _ = POOL.try_with(|pool| {
            let mut pool = pool.borrow_mut();
            pool.in_use -= 1;
            if self.held == 0 && pool.idle.len() < KEPT {
                pool.idle.extend(pipe);
            }
        });
    }
}
