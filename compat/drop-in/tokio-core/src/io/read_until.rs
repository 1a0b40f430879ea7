//! Reading to a delimiter.

use std::io::{self, BufRead, Read};

use futures::{Async, Future, Poll};

/// Reads to a delimiter; made by [`read_until`].
///
/// Resolves to the stream and the buffer. An error drops both with this future.
///
/// # Panics
///
/// When it is polled after it has resolved.
#[must_use = "futures do nothing unless polled"]
pub struct ReadUntil<A> {
    state: Option<(A, Vec<u8>)>,
    byte: u8,
}

/// Returns a future that appends the bytes of `a` to `buf`, up to and with the first `byte`, or to
/// the end of the stream.
pub fn read_until<A>(a: A, byte: u8, buf: Vec<u8>) -> ReadUntil<A>
where
    A: BufRead,
{
    ReadUntil {
        state: Some((a, buf)),
        byte,
    }
}

impl<A: Read + BufRead> Future for ReadUntil<A> {
    type Item = (A, Vec<u8>);
    type Error = io::Error;

    fn poll(&mut self) -> Poll<(A, Vec<u8>), io::Error> {
        let Some((stream, buf)) = &mut self.state else {
            panic!("ReadUntil was polled after it had resolved");
        };
        // What was read before it would block is in `buf`.
        try_nb!(stream.read_until(self.byte, buf));
        Ok(Async::Ready(self.state.take().expect("seen above")))
    }
}
