//! A bounded pool of pipes for splice(2).
//!
//! A direction holds a pipe only while bytes are in it, so a few pipes serve any number of tunnels.
//! A pipe goes back empty; one that is dropped with bytes in it is closed and never reused.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::{Errno, Result};
use rustix::pipe::{fcntl_setpipe_size, pipe_with, splice, PipeFlags, SpliceFlags};

/// What one pipe may hold. Larger ones gained nothing on loopback, smaller ones cost a call more often.
pub const CAPACITY: usize = 256 * 1024;
/// Pipes in use and idle together; 64 of them stay inside an unprivileged user's page allowance.
const LIMIT: usize = 64;

#[derive(Debug)]
pub struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
    held: usize,
}

impl Pipe {
    fn open() -> Result<Pipe> {
        let (read, write) = pipe_with(PipeFlags::NONBLOCK | PipeFlags::CLOEXEC)?;
        // A refusal leaves the kernel's default size, which works too.
        let _ = fcntl_setpipe_size(&write, CAPACITY);
        Ok(Pipe {
            read,
            write,
            held: 0,
        })
    }

    /// Bytes inside.
    pub fn held(&self) -> usize {
        self.held
    }

    /// Moves bytes from a socket into the pipe; 0 is the socket's end of file.
    ///
    /// Call it on an empty pipe only: then `AGAIN` says that the socket is empty, and not that the pipe is full.
    pub fn fill(&mut self, from: BorrowedFd<'_>) -> Result<usize> {
        debug_assert_eq!(self.held, 0);
        let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
        let n = splice(from, None, self.write.as_fd(), None, CAPACITY, flags)?;
        self.held += n;
        Ok(n)
    }

    /// Moves what the pipe holds into a socket, as far as the socket takes it.
    pub fn drain(&mut self, to: BorrowedFd<'_>) -> Result<()> {
        let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
        while self.held > 0 {
            match splice(self.read.as_fd(), None, to, None, self.held, flags)? {
                0 => return Err(Errno::PIPE),
                n => self.held -= n,
            }
        }
        Ok(())
    }
}

#[derive(Debug, Default)]
pub struct Pool {
    idle: Vec<Pipe>,
    open: usize,
}

impl Pool {
    /// A pipe, or none when the limit is reached or the kernel has none to give: then the direction copies.
    pub fn take(&mut self) -> Option<Pipe> {
        if let Some(pipe) = self.idle.pop() {
            return Some(pipe);
        }
        if self.open == LIMIT {
            return None;
        }
        let pipe = Pipe::open().ok()?;
        self.open += 1;
        Some(pipe)
    }

    /// Takes a pipe back. One that still holds bytes of a broken tunnel is closed.
    pub fn put(&mut self, pipe: Pipe) {
        if pipe.held == 0 {
            self.idle.push(pipe);
        } else {
            self.open -= 1;
        }
    }
}
