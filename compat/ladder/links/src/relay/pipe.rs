//! A kernel buffer between two splices.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::{read, retry_on_intr, Result};
use rustix::pipe::{fcntl_setpipe_size, pipe_with, splice, PipeFlags, SpliceFlags};

/// A pipe that never blocks.
#[derive(Debug)]
pub struct Pipe {
    reader: OwnedFd,
    writer: OwnedFd,
}

impl Pipe {
    /// Returns a pipe that holds `capacity` bytes.
    ///
    /// # Errors
    ///
    /// When there are no descriptors or no memory: past a user's share of memory (`pipe-user-pages-soft`)
    /// a pipe has two pages, and copying is quicker.
    pub fn new(capacity: usize) -> io::Result<Pipe> {
        let (reader, writer) = pipe_with(PipeFlags::NONBLOCK | PipeFlags::CLOEXEC)?;
        fcntl_setpipe_size(&writer, capacity)?;
        Ok(Pipe { reader, writer })
    }

    /// Moves up to `most` bytes from the socket into the pipe, without copying them.
    ///
    /// 0 is the end of the stream; `WouldBlock` means that the socket is empty *or* that the
    /// pipe is full: only a caller that knows the pipe to be empty can tell.
    ///
    /// # Errors
    ///
    /// Those of splice(2).
    pub fn fill(&self, from: &impl AsFd, most: usize) -> io::Result<usize> {
        Ok(move_bytes(from, &self.writer, most)?)
    }

    /// Moves up to `most` bytes from the pipe into the socket.
    ///
    /// # Errors
    ///
    /// Those of splice(2).
    pub fn drain(&self, to: &impl AsFd, most: usize) -> io::Result<usize> {
        Ok(move_bytes(&self.reader, to, most)?)
    }

    /// Reads so many bytes, which are in the pipe.
    pub(super) fn read_exact(&self, bytes: &mut [u8]) -> io::Result<()> {
        let mut done = 0;
        while done < bytes.len() {
            match retry_on_intr(|| read(&self.reader, &mut bytes[done..]))? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => done += count,
            }
        }
        Ok(())
    }
}

fn move_bytes(from: &impl AsFd, to: &impl AsFd, most: usize) -> Result<usize> {
    let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
    retry_on_intr(|| splice(from, None, to, None, most, flags))
}
