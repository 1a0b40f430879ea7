//! Reading and writing of streams in non-blocking mode.
//!
//! A call that would block fails with `WouldBlock`, or is not ready, and the current task is notified
//! when it is worth another try; outside of a task it panics.
//!
//! After a read or write that filled less than it could, the system's buffer is known to be empty or
//! full, but for urgent bytes: epoll and kqueue report the next change. That saves the call that would
//! block.

use std::io::{self, IoSlice};

use bytes::{Buf, BufMut};
use futures::{Async, Poll};
use iovec::IoVec;

pub use crate::read_buf::SystemStream;
use crate::{read_buf, Readiness};

/// Pieces of a buffer that one write passes to the system.
pub const SLICES: usize = 64;

/// Reads into `buf`.
pub fn read<S: SystemStream>(
    readiness: &Readiness,
    stream: &S,
    buf: &mut [u8],
) -> io::Result<usize> {
    let room = buf.len();
    let n = readiness.try_read(|| stream.read(buf))?;
    if 0 < n && n < room && S::SHORT_READS_DRAIN {
        readiness.clear_short_read();
    }
    Ok(n)
}

/// Writes from `buf`.
pub fn write(readiness: &Readiness, stream: &impl SystemStream, buf: &[u8]) -> io::Result<usize> {
    let n = readiness.try_write(|| stream.write(buf))?;
    if 0 < n && n < buf.len() {
        readiness.clear_write();
    }
    Ok(n)
}

/// Reads into the room of `buf`.
pub fn poll_read_buf<S: SystemStream>(
    readiness: &Readiness,
    stream: &S,
    buf: &mut impl BufMut,
) -> Poll<usize, io::Error> {
    if !buf.has_remaining_mut() {
        return Ok(Async::Ready(0));
    }
    let read = ready(readiness.try_read(|| read_buf::read_buf(stream, buf)))?;
    if let Async::Ready((n, true)) = read {
        if n > 0 && S::SHORT_READS_DRAIN {
            readiness.clear_short_read();
        }
    }
    Ok(read.map(|(n, _)| n))
}

/// Writes from `buf`, and advances it.
pub fn poll_write_buf(
    readiness: &Readiness,
    stream: &impl SystemStream,
    buf: &mut impl Buf,
) -> Poll<usize, io::Error> {
    if !buf.has_remaining() {
        return Ok(Async::Ready(0));
    }
    let written = {
        // An `IoVec` can't be empty.
        let mut pieces: [&IoVec; SLICES] = [<&IoVec>::from(&[0][..]); SLICES];
        let filled = buf.bytes_vec(&mut pieces);
        ready(write_pieces(readiness, stream, &pieces[..filled]))?
    };
    if let Async::Ready(n) = written {
        buf.advance(n);
    }
    Ok(written)
}

/// Writes from up to [`SLICES`] pieces in one call of the system.
pub fn write_pieces(
    readiness: &Readiness,
    stream: &impl SystemStream,
    pieces: &[&IoVec],
) -> io::Result<usize> {
    let pieces = &pieces[..pieces.len().min(SLICES)];
    if let [piece] = pieces {
        return write(readiness, stream, piece);
    }
    let mut slices = [IoSlice::new(&[]); SLICES];
    for (slice, piece) in slices.iter_mut().zip(pieces) {
        *slice = IoSlice::new(piece);
    }
    readiness.try_write(|| stream.write_vectored(&slices[..pieces.len()]))
}

/// Returns `NotReady` for `WouldBlock`.
pub fn ready<T>(result: io::Result<T>) -> Poll<T, io::Error> {
    match result {
        Ok(value) => Ok(Async::Ready(value)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Async::NotReady),
        Err(error) => Err(error),
    }
}
