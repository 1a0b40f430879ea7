//! Copying, for small messages and for streams that can't be spliced: two system calls a
//! message, and no memory but what the writer couldn't take.

use std::cell::RefCell;
use std::io;

use futures::{Async, Poll};

use super::half::{CopyError, Progress};
use crate::engine::io::Transport;

/// The scratch buffer's size: the most that a blocked direction can come to own.
const SCRATCH: usize = 32 * 1024;

thread_local! {
    /// What every direction of this thread reads into. It is empty between two rounds: what
    /// stays unwritten moves to the direction's [`WriteBuffer`] before the round ends.
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; SCRATCH]);
}

/// One read, and as much of a write as the writer takes; `backlog` must be empty.
pub(super) fn round<R, W>(
    reader: &mut R,
    writer: &mut W,
    backlog: &mut WriteBuffer,
    carried: &mut u64,
) -> Result<Progress, CopyError>
where
    R: Transport,
    W: Transport,
{
    if reader.is_blocked() {
        return Ok(Progress::Blocked); // half of all polls: it was the other direction's event
    }
    BUFFER.with(|buffer| {
        let buffer = &mut **buffer.borrow_mut();
        let count = match reader.read(buffer) {
            Ok(0) => return Ok(Progress::End),
            Ok(count) => count,
            Err(ref e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(Progress::Blocked),
            Err(e) => return Err(CopyError::Read(e)),
        };
        let written = match writer.write(&buffer[..count]) {
            Ok(written) => written,
            Err(ref e) if e.kind() == io::ErrorKind::WouldBlock => 0,
            Err(e) => return Err(CopyError::Write(e)),
        };
        *carried += written as u64;
        if written < count {
            backlog.keep(&buffer[written..count]);
        }
        let filled = count == buffer.len();
        if !filled && written == count && reader.is_drained() {
            return Ok(Progress::Blocked);
        }
        Ok(Progress::Moved { filled })
    })
}

/// What was read and not written yet: memory of the direction's own, for as long as needed.
#[derive(Debug, Default)]
pub(super) struct WriteBuffer {
    bytes: Vec<u8>,
    written: usize,
}

impl WriteBuffer {
    fn keep(&mut self, bytes: &[u8]) {
        self.own(bytes.to_vec());
    }

    /// It must be empty.
    pub(super) fn own(&mut self, bytes: Vec<u8>) {
        debug_assert!(self.bytes.is_empty());
        self.bytes = bytes;
        self.written = 0;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Ready when there is nothing left, and the memory is given back.
    pub(super) fn write_to<W>(&mut self, writer: &mut W, carried: &mut u64) -> Poll<(), CopyError>
    where
        W: Transport,
    {
        while self.written < self.bytes.len() {
            match writer.write(&self.bytes[self.written..]) {
                Ok(0) => return Err(CopyError::Write(io::ErrorKind::WriteZero.into())),
                Ok(written) => {
                    self.written += written;
                    *carried += written as u64;
                }
                Err(ref e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(Async::NotReady),
                Err(e) => return Err(CopyError::Write(e)),
            }
        }
        *self = WriteBuffer::default();
        Ok(Async::Ready(()))
    }
}
