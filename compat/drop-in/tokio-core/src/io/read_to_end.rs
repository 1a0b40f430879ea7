//! Reading to the end.

use std::io::{self, Read};

use futures::{Async, Future, Poll};

/// Reads to the end; made by [`read_to_end`].
///
/// Resolves to the stream and the buffer. An error drops both with this future.
///
/// # Panics
///
/// When it is polled after it has resolved.
#[must_use = "futures do nothing unless polled"]
pub struct ReadToEnd<A> {
    state: Option<(A, Vec<u8>)>,
}

/// Returns a future that appends all bytes of `a`, up to its end, to `buf`.
pub fn read_to_end<A>(a: A, buf: Vec<u8>) -> ReadToEnd<A>
where
    A: Read,
{
    ReadToEnd {
        state: Some((a, buf)),
    }
}

impl<A: Read> Future for ReadToEnd<A> {
    type Item = (A, Vec<u8>);
    type Error = io::Error;

    fn poll(&mut self) -> Poll<(A, Vec<u8>), io::Error> {
        let Some((stream, buf)) = &mut self.state else {
            panic!("ReadToEnd was polled after it had resolved");
        };
        // What was read before it would block is in `buf`.
        try_nb!(stream.read_to_end(buf));
        Ok(Async::Ready(self.state.take().expect("seen above")))
    }
}
