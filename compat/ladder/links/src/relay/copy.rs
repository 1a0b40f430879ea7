//! Copying, for small messages and for streams that can't be spliced: two system calls per message,
//! and memory only for what the writer has not taken.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::task::{ready, Context, Poll};

use tokio::io::{AsyncWrite, ReadBuf};

use super::half::{CopyError, Progress};
use crate::io::Transport;

/// Bytes of the scratch buffer, and the most that a blocked direction can own.
const SCRATCH: usize = 32 * 1024;

thread_local! {
    /// The scratch buffer, into which every direction of this thread reads. It is unused between two
    /// polls: what stays unwritten moves to the direction's [`WriteBuffer`]. An `async fn` could not
    /// share it, since no borrow of it can live across an `.await`.
    static SCRATCH_BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; SCRATCH].into());
}

/// Reads once, and writes as much of it as the writer takes; `buffered` must be empty, and gets the
/// rest.
pub(super) fn poll_round<R, W>(
    cx: &mut Context<'_>,
    reader: &mut R,
    writer: &mut W,
    buffered: &mut WriteBuffer,
    carried: &mut u64,
) -> Poll<Result<Progress, CopyError>>
where
    R: Transport,
    W: Transport,
{
    SCRATCH_BUFFER.with_borrow_mut(|scratch| {
        let mut buffer = ReadBuf::new(scratch);
        ready!(Pin::new(reader).poll_read(cx, &mut buffer)).map_err(CopyError::Read)?;
        let filled = buffer.remaining() == 0;
        let bytes = buffer.filled();
        if bytes.is_empty() {
            return Poll::Ready(Ok(Progress::End));
        }
        let written = match Pin::new(writer).poll_write(cx, bytes) {
            Poll::Ready(written) => written.map_err(CopyError::Write)?,
            Poll::Pending => 0,
        };
        *carried += written as u64;
        if written < bytes.len() {
            buffered.own(bytes[written..].to_vec());
        }
        Poll::Ready(Ok(Progress::Moved { filled }))
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
    pub(super) fn poll_write_to<W>(
        &mut self,
        cx: &mut Context<'_>,
        writer: &mut W,
        carried: &mut u64,
    ) -> Poll<Result<(), CopyError>>
    where
        W: AsyncWrite + Unpin,
    {
        while self.written < self.bytes.len() {
            let left = &self.bytes[self.written..];
            match ready!(Pin::new(&mut *writer).poll_write(cx, left)).map_err(CopyError::Write)? {
                0 => return Poll::Ready(Err(CopyError::Write(io::ErrorKind::WriteZero.into()))),
                written => {
                    self.written += written;
                    *carried += written as u64;
                }
            }
        }
        *self = WriteBuffer::default();
        Poll::Ready(Ok(()))
    }
}
