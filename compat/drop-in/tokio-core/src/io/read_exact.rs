//! Filling a buffer.

use std::io::{self, Read};

use futures::{Async, Future, Poll};

/// Fills a buffer; made by [`read_exact`].
///
/// Resolves to the stream and the buffer. An error drops both with this future.
///
/// # Panics
///
/// When it is polled after it has resolved.
#[must_use = "futures do nothing unless polled"]
pub struct ReadExact<A, T> {
    state: Option<(A, T)>,
    filled: usize,
}

/// Returns a future that reads until `buf` is full.
///
/// It fails with `UnexpectedEof` when the stream ends before.
pub fn read_exact<A, T>(a: A, buf: T) -> ReadExact<A, T>
where
    A: Read,
    T: AsMut<[u8]>,
{
    ReadExact {
        state: Some((a, buf)),
        filled: 0,
    }
}

impl<A: Read, T: AsMut<[u8]>> Future for ReadExact<A, T> {
    type Item = (A, T);
    type Error = io::Error;

    fn poll(&mut self) -> Poll<(A, T), io::Error> {
        let Some((stream, buf)) = &mut self.state else {
            panic!("ReadExact was polled after it had resolved");
        };
        let buf = buf.as_mut();
        while self.filled < buf.len() {
            let n = try_nb!(stream.read(&mut buf[self.filled..]));
            if n == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.filled += n;
        }
        Ok(Async::Ready(self.state.take().expect("seen above")))
    }
}
