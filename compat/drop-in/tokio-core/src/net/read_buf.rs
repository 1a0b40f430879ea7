//! Reading into memory that nobody has written yet.

use std::io::{self, Read};
use std::net::TcpStream;

use bytes::BufMut;

/// Reads once into the first piece of room in `buf`; returns how much it read, and whether that was
/// less than the piece.
pub(super) fn read_buf<B: BufMut>(
    mut stream: &TcpStream,
    buf: &mut B,
) -> io::Result<(usize, bool)> {
    // SAFETY: the slice is only handed to std's `TcpStream`, whose `read` passes it to the system
    // and doesn't look at it.
    let room = unsafe { buf.bytes_mut() };
    let len = room.len();
    let n = stream.read(room)?;
    // SAFETY: the system has written `n` bytes there.
    unsafe { buf.advance_mut(n) };
    Ok((n, n < len))
}

/// The streams' `AsyncRead`, which has a function that is unsafe to implement.
macro_rules! async_read {
    ($stream:ty) => {
        impl tokio_io::AsyncRead for $stream {
            // SAFETY: `read` doesn't look at what the buffer holds.
            unsafe fn prepare_uninitialized_buffer(&self, _buf: &mut [u8]) -> bool {
                false
            }

            /// Reads into the first piece of `buf`'s room.
            fn read_buf<B: bytes::BufMut>(
                &mut self,
                buf: &mut B,
            ) -> futures::Poll<usize, std::io::Error> {
                self.poll_read_buf(buf)
            }
        }
    };
}

async_read!(super::TcpStream);
async_read!(&super::TcpStream);
