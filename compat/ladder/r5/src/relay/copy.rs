//! Copying, for small messages and for streams that can't be spliced: two system calls a
//! message, and no memory but what the writer couldn't take.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::task::{ready, Context, Poll};

use tokio::io::{AsyncWrite, ReadBuf};

use super::half::{CopyError, Progress};
use crate::io::Transport;

/// The scratch buffer's size: the most that a blocked direction can come to own.
const SCRATCH: usize = 32 * 1024;

thread_local! {
    /// What every direction of this thread reads into. Empty between two polls: what stays
    /// unwritten moves to the direction's [`WriteBuffer`]. An `async fn` could not share it so: no
    /// borrow of it may live across an `.await`.
    static SCRATCH_BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; SCRATCH].into());
}

/// One read, and as much of a write as the writer takes; `backlog` must be empty.
pub(super) fn poll_round<R, W>(
    cx: &mut Context<'_>,
    reader: &mut R,
    writer: &mut W,
    backlog: &mut WriteBuffer,
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
            backlog.keep(&bytes[written..]);
        }
        Poll::Ready(Ok(Progress::Moved { filled }))
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
