//! Copying, for small messages and for streams that can't be spliced: two system calls per message,
//! and memory only for what the writer has not taken.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::task::{ready, Context, Poll};

use tokio::io::ReadBuf;

use super::half::{CopyError, Progress};
use crate::io::Transport;

/// Bytes of the scratch buffer, and the most that a blocked direction can own.
const SCRATCH: usize = 32 * 1024;

thread_local! {
    /// The scratch buffer, into which every direction of this thread reads. It is unused between two
    /// rounds: what stays unwritten moves to the direction's [`WriteBuffer`] before the round ends. An
    /// `async fn` could not share it, since no borrow of it can live across an `.await`.
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![0; SCRATCH]);
}

/// Reads once, and writes as much of it as the writer takes; `buffered` must be empty, and gets the
/// rest.
pub(super) fn round<R, W>(
    cx: &mut Context<'_>,
    reader: &mut R,
    writer: &mut W,
    buffered: &mut WriteBuffer,
    carried: &mut u64,
) -> Result<Progress, CopyError>
where
    R: Transport,
    W: Transport,
{
    BUFFER.with(|buffer| {
        let buffer = &mut **buffer.borrow_mut();
        let mut read = ReadBuf::new(buffer);
        let count = match Pin::new(reader).poll_read(cx, &mut read) {
            Poll::Ready(Ok(())) if read.filled().is_empty() => return Ok(Progress::End),
            Poll::Ready(Ok(())) => read.filled().len(),
            Poll::Pending => return Ok(Progress::Blocked),
            Poll::Ready(Err(e)) => return Err(CopyError::Read(e)),
        };
        let written = match Pin::new(writer).poll_write(cx, &buffer[..count]) {
            Poll::Ready(Ok(written)) => written,
            Poll::Pending => 0,
            Poll::Ready(Err(e)) => return Err(CopyError::Write(e)),
        };
        *carried += written as u64;
        if written < count {
            buffered.own(buffer[written..count].to_vec());
        }
        let filled = count == buffer.len();
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
    pub(super) fn write_to<W>(
        &mut self,
        cx: &mut Context<'_>,
        writer: &mut W,
        carried: &mut u64,
    ) -> Poll<Result<(), CopyError>>
    where
        W: Transport,
    {
        while self.written < self.bytes.len() {
            let left = &self.bytes[self.written..];
            match ready!(Pin::new(&mut *writer).poll_write(cx, left)) {
                Ok(0) => {
                    let e = io::ErrorKind::WriteZero.into();
                    return Poll::Ready(Err(CopyError::Write(e)));
                }
                Ok(written) => {
                    self.written += written;
                    *carried += written as u64;
                }
                Err(e) => return Poll::Ready(Err(CopyError::Write(e))),
            }
        }
        *self = WriteBuffer::default();
        Poll::Ready(Ok(()))
    }
}
