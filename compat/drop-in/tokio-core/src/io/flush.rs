//! Flushing a stream.

use std::io::{self, Write};

use futures::{Async, Future, Poll};

/// Flushes a stream; made by [`flush`].
///
/// Resolves to the stream. An error drops it with this future.
///
/// # Panics
///
/// When it is polled after it has resolved.
#[must_use = "futures do nothing unless polled"]
pub struct Flush<A> {
    stream: Option<A>,
}

/// Returns a future that flushes `a` and gives it back.
pub fn flush<A>(a: A) -> Flush<A>
where
    A: Write,
{
    Flush { stream: Some(a) }
}

impl<A: Write> Future for Flush<A> {
    type Item = A;
    type Error = io::Error;

    fn poll(&mut self) -> Poll<A, io::Error> {
        let stream = self.stream.as_mut();
        try_nb!(stream
            .expect("Flush was polled after it had resolved")
            .flush());
        Ok(Async::Ready(self.stream.take().expect("seen above")))
    }
}
