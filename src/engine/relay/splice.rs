//! Splicing, for a direction that stays full: bytes go from socket to socket through a pipe and
//! never enter this process.
//!
//! Pipes are lent, not owned: a thread keeps a few and has a bound on how many it makes. A
//! direction that finds none goes on copying, without a loss; so does one for which splice(2) itself
//! doesn't work, with what its pipe holds.

use std::cell::RefCell;
use std::io;

use futures::Async;

use super::copy::WriteBuffer;
use super::half::{CopyError, Progress};
use crate::engine::io::Transport;
use crate::os::splice::is_splice_failure;
use crate::os::sys::Pipe;

/// What a pipe is asked to hold.
const CAPACITY: usize = 256 * 1024;

/// The most that one fill is asked to move.
const FILL: usize = CAPACITY;

/// Pipes lent at once, per thread.
const LENT: usize = 64;

/// Empty pipes kept for the next loan, per thread.
const KEPT: usize = 8;

/// A loan that carried this much before it ran dry was worth its four system calls.
const WORTH: u64 = 64 * 1024;

thread_local! {
    static POOL: RefCell<Pool> = RefCell::new(Pool { idle: Vec::new(), lent: 0 });
}

struct Pool {
    idle: Vec<Pipe>,
    lent: usize,
}

/// A pipe on loan, and what is in it. Goes back to its thread's pool on drop, if it is empty.
#[derive(Debug)]
pub(super) struct PooledPipe {
    pipe: Option<Pipe>,
    held: usize,
    carried: u64,
}

/// What an attempt to splice came to.
pub(super) enum Spliced {
    Progress(Progress),
    /// What comes next has to be copied.
    Copy,
    /// All has to be copied from now on, first what the pipe holds.
    Refused,
}

impl PooledPipe {
    /// A pipe, unless all are lent or the system has none.
    pub(super) fn new() -> Option<PooledPipe> {
        POOL.with(|pool| {
            let mut pool = pool.borrow_mut();
            if pool.lent == LENT {
                return None;
            }
            let pipe = match pool.idle.pop() {
                Some(pipe) => pipe,
                None => Pipe::new(CAPACITY).ok()?,
            };
            pool.lent += 1;
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

    /// One move into the empty pipe, and as much out of it as the writer takes.
    ///
    /// The pipe is filled only when it is empty: so a fill that would block means that the
    /// reader has nothing, and an end is seen with nothing left in the pipe.
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
        let pipe = self
            .pipe
            .as_ref()
            .expect("a loan holds its pipe until drop");
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

    /// Moves what the pipe holds into the empty backlog.
    pub(super) fn take(&mut self, backlog: &mut WriteBuffer) -> io::Result<()> {
        let pipe = self
            .pipe
            .as_ref()
            .expect("a loan holds its pipe until drop");
        if self.held > 0 {
            let mut bytes = vec![0; self.held];
            pipe.read_exact(&mut bytes)?;
            self.held = 0;
            backlog.own(bytes);
        }
        Ok(())
    }
}

impl Drop for PooledPipe {
    fn drop(&mut self) {
        let pipe = self.pipe.take();
        // The pool may be gone already, when a thread ends; then the pipe is closed.
        let _ = POOL.try_with(|pool| {
            let mut pool = pool.borrow_mut();
            pool.lent -= 1;
            if self.held == 0 && pool.idle.len() < KEPT {
                pool.idle.extend(pipe);
            }
        });
    }
}
