//! Splicing, for a direction that stays full: bytes go from socket to socket through a pipe in the
//! kernel and never enter this process.
//!
//! Pipes are pooled per thread. The pool keeps a few empty pipes and bounds the number in use. A
//! direction without a pipe continues to copy; so does one with sockets that can't be spliced,
//! beginning with the bytes in its pipe.
//!
//! Invariant: a pipe is filled only when it is empty, and returns to the pool only when it is empty.

use std::cell::RefCell;
use std::io;

use futures::Async;

use super::copy::WriteBuffer;
use super::half::{CopyError, Progress};
use crate::io::Transport;
use ptunnel_core::os::splice_failure::is_splice_failure;
use ptunnel_core::os::sys::Pipe;

/// Capacity that is requested for a pipe, in bytes.
const CAPACITY: usize = 256 * 1024;

/// Maximum number of bytes that one fill moves.
const FILL: usize = CAPACITY;

/// Maximum number of pipes in use at once, per thread.
const IN_USE: usize = 64;

/// Maximum number of empty pipes that are kept, per thread.
const KEPT: usize = 8;

/// Bytes before a pipe runs dry that make up for the four system calls of its use.
const WORTH: u64 = 64 * 1024;

thread_local! {
    static POOL: RefCell<Pool> = RefCell::new(Pool { idle: Vec::new(), in_use: 0 });
}

struct Pool {
    idle: Vec<Pipe>,
    in_use: usize,
}

/// A pipe of the thread's pool, and the bytes in it. Dropping it returns it if it is empty, and closes
/// it otherwise.
#[derive(Debug)]
pub(super) struct PooledPipe {
    pipe: Option<Pipe>,
    held: usize,
    carried: u64,
}

/// The result of an attempt to splice.
pub(super) enum Spliced {
    Progress(Progress),
    /// The next bytes must be copied, since they can't be spliced.
    Copy,
    /// These sockets can't be spliced: copy from now on, first the bytes in the pipe.
    Refused,
}

impl PooledPipe {
    /// Takes a pipe from the pool, or makes one; `None` at the pool's bound or without descriptors.
    pub(super) fn new() -> Option<PooledPipe> {
        POOL.with(|pool| {
            let mut pool = pool.borrow_mut();
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
    /// Since only an empty pipe is filled, a fill that would block means that the reader has nothing,
    /// and at the reader's end nothing is left in the pipe.
    pub(super) fn round<R, W>(
        &mut self,
        reader: &mut R,
        writer: &mut W,
        carried: &mut u64,
    ) -> Result<Spliced, CopyError>
    where
        R: Transport,
        W: Transport,
    {
        let pipe = self.pipe.as_ref().expect("it holds its pipe until drop");
        if self.held == 0 {
            match reader.splice_from(pipe, FILL) {
                Ok(Async::Ready(0)) => return Ok(Spliced::Progress(Progress::End)),
                Ok(Async::Ready(count)) => self.held = count,
                Ok(Async::NotReady) => return Ok(Spliced::Progress(Progress::Blocked)),
                Err(ref e) if is_splice_failure(e) => return Ok(Spliced::Refused),
                Err(ref e) if e.kind() == io::ErrorKind::InvalidInput => return Ok(Spliced::Copy),
                Err(e) => return Err(CopyError::Read(e)),
            }
        }
        while self.held > 0 {
            match writer.splice_into(pipe, self.held) {
                Ok(Async::Ready(0)) => {
                    return Err(CopyError::Write(io::ErrorKind::WriteZero.into()))
                }
                Ok(Async::Ready(count)) => {
                    self.held -= count;
                    self.carried += count as u64;
                    *carried += count as u64;
                }
                Ok(Async::NotReady) => return Ok(Spliced::Progress(Progress::Blocked)),
                Err(ref e) if is_splice_failure(e) => return Ok(Spliced::Refused),
                Err(e) => return Err(CopyError::Write(e)),
            }
        }
        Ok(Spliced::Progress(Progress::Moved { filled: true }))
    }

    /// Moves the bytes in the pipe into `buffer`, which must be empty.
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

impl Drop for PooledPipe {
    fn drop(&mut self) {
        let pipe = self.pipe.take();
        // At the end of its thread the pool may not exist any more; then the pipe is closed.
        let _ = POOL.try_with(|pool| {
            let mut pool = pool.borrow_mut();
            pool.in_use -= 1;
            if self.held == 0 && pool.idle.len() < KEPT {
                pool.idle.extend(pipe);
            }
        });
    }
}
