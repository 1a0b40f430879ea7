//! Reading into uninitialized memory.

use std::io::{self, IoSliceMut, Read};
use std::net::TcpStream;

use bytes::BufMut;
use iovec::IoVec;

/// Pieces of room that one read passes to the system.
const SLICES: usize = 16;

/// Reads once into the room of `buf`; returns how much it read, and whether that was less than there
/// was room for.
pub(super) fn read_buf<B: BufMut>(
    mut stream: &TcpStream,
    buf: &mut B,
) -> io::Result<(usize, bool)> {
    // An `IoVec` can't be empty.
    let mut fillers = [[0]; SLICES];
    let mut pieces = fillers
        .each_mut()
        .map(|byte| <&mut IoVec>::from(&mut byte[..]));
    // SAFETY: the pieces are only handed to std's `TcpStream`, whose `read` and `read_vectored` pass
    // them to the system and don't look at them.
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

/// The streams' `AsyncRead`, which has a function that is unsafe to implement.
macro_rules! async_read {
    ($stream:ty) => {
        impl tokio_io::AsyncRead for $stream {
            // SAFETY: `read` doesn't look at what the buffer holds.
            unsafe fn prepare_uninitialized_buffer(&self, _buf: &mut [u8]) -> bool {
                false
            }

            /// Reads into up to 16 pieces of `buf`'s room in one call of the system.
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
