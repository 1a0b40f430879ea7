//! Reading into memory that was never written.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

use bytes::BufMut;
use iovec::IoVec;

/// Pieces of room that one read passes to the system.
const SLICES: usize = 16;

/// Reads once into the room of `buf`; returns how much it read, and whether that was less than there
/// was room for.
pub(crate) fn read_buf(
    stream: &impl SystemStream,
    buf: &mut impl BufMut,
) -> io::Result<(usize, bool)> {
    // An `IoVec` can't be empty.
    let mut fillers = [[0]; SLICES];
    let mut pieces = fillers
        .each_mut()
        .map(|byte| <&mut IoVec>::from(&mut byte[..]));
    // SAFETY: the pieces are only handed to a `SystemStream`, whose `read` and `read_vectored` pass them
    // to the system and don't look at them.
    let filled = unsafe { buf.bytes_vec_mut(&mut pieces) };
    let room: usize = pieces[..filled].iter().map(|piece| piece.len()).sum();
    let n = match &mut pieces[..filled] {
        [piece] => stream.read(piece)?,
        _ => {
            let mut slices = pieces.map(|piece| IoSliceMut::new(piece));
            stream.read_vectored(&mut slices[..filled])?
        }
    };
    // SAFETY: the system has written `n` bytes there.
    unsafe { buf.advance_mut(n) };
    Ok((n, n < room))
}

/// A stream of std, whose reads hand the memory to the system unread.
#[expect(missing_docs, reason = "each is std's of that name")]
pub trait SystemStream: sealed::Sealed {
    /// Whether a read that filled less than it could has taken all. One of a Unix socket also ends
    /// before a message with other credentials or with descriptors, and no event announces what is
    /// behind.
    const SHORT_READS_DRAIN: bool;

    fn read(&self, buf: &mut [u8]) -> io::Result<usize>;
    fn read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize>;
    fn write(&self, buf: &[u8]) -> io::Result<usize>;
    fn write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize>;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! system_stream {
    ($($stream:ty: $drained:literal),*) => {$(
        impl sealed::Sealed for $stream {}

        impl SystemStream for $stream {
            const SHORT_READS_DRAIN: bool = $drained;

            fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
                Read::read(&mut &*self, buf)
            }

            fn read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
                Read::read_vectored(&mut &*self, bufs)
            }

            fn write(&self, buf: &[u8]) -> io::Result<usize> {
                Write::write(&mut &*self, buf)
            }

            fn write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
                Write::write_vectored(&mut &*self, bufs)
            }
        }
    )*};
}

system_stream!(TcpStream: true, UnixStream: false);

/// Implements `AsyncRead`, which has a function that is unsafe to implement, by way of the type's
/// `poll_read_buf`.
#[macro_export]
macro_rules! async_read {
    ($stream:ty) => {
        impl $crate::private::tokio_io::AsyncRead for $stream {
            // SAFETY: `read` doesn't look at what the buffer holds.
            #[allow(unsafe_code)]
            unsafe fn prepare_uninitialized_buffer(&self, _buf: &mut [u8]) -> bool {
                false
            }

            /// Reads into up to 16 pieces of `buf`'s room in one call of the system.
            fn read_buf<B: $crate::private::bytes::BufMut>(
                &mut self,
                buf: &mut B,
            ) -> $crate::private::futures::Poll<usize, std::io::Error> {
                self.poll_read_buf(buf)
            }
        }
    };
}
