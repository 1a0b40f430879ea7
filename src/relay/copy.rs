//! Copying, for small messages and for streams that can't be spliced: two system calls per message,
//! and memory only for what the writer has not taken.

use std::cell::RefCell;
use std::io;

use futures::{Async, Poll};

use super::half::{CopyError, Progress};
use crate::io::Transport;

/// Bytes of the scratch buffer, and the most that a blocked direction can own.
const SCRATCH: usize = 32 * 1024;

thread_local! {
    /// The scratch buffer, into which every direction of this thread reads. It is unused between two
    /// rounds: what stays unwritten moves to the direction's [`WriteBuffer`] before the round ends.
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; SCRATCH]);
}

/// Reads once, and writes as much of it as the writer takes; `buffered` must be empty, and gets the
/// rest.
pub(super) fn round<R, W>(
    reader: &mut R,
    writer: &mut W,
    buffered: &mut WriteBuffer,
    carried: &mut u64,
) -> Result<Progress, CopyError>
where
    R: Transport,
    W: Transport,
{
    if reader.is_blocked() {
        return Ok(Progress::Blocked); // half of all polls are due to the other direction
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
            buffered.own(buffer[written..count].to_vec());
        }
        let filled = count == buffer.len();
        if !filled && written == count && reader.is_drained() {
            return Ok(Progress::Blocked);
        }
        Ok(Progress::Moved { filled })
    })
}

/// Bytes of one direction that were read and not written yet. It has memory only while there are any.
#[derive(Debug, Default)]
pub(super) struct WriteBuffer {
    bytes: Vec<u8>,
    written: usize,
}

impl WriteBuffer {
    /// Takes `bytes`; the buffer must be empty.
    pub(super) fn own(&mut self, bytes: Vec<u8>) {
        debug_assert!(self.bytes.is_empty());
        self.bytes = bytes;
        self.written = 0;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Writes as much as the writer takes; ready when nothing is left, and the memory is freed.
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
