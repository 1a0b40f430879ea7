//! Writing a whole buffer.

use std::io::{self, Write};

use futures::{Async, Future, Poll};

/// Writes a whole buffer; made by [`write_all`].
///
/// Resolves to the stream and the buffer. An error drops both with this future.
///
/// # Panics
///
/// When it is polled after it has resolved.
#[must_use = "futures do nothing unless polled"]
pub struct WriteAll<A, T> {
    state: Option<(A, T)>,
    written: usize,
}

/// Returns a future that writes all of `buf`.
///
/// It fails with `WriteZero` when the stream takes no more.
pub fn write_all<A, T>(a: A, buf: T) -> WriteAll<A, T>
where
    A: Write,
    T: AsRef<[u8]>,
{
    WriteAll {
        state: Some((a, buf)),
        written: 0,
    }
}

impl<A: Write, T: AsRef<[u8]>> Future for WriteAll<A, T> {
    type Item = (A, T);
    type Error = io::Error;

    fn poll(&mut self) -> Poll<(A, T), io::Error> {
        let Some((stream, buf)) = &mut self.state else {
            panic!("WriteAll was polled after it had resolved");
        };
        let buf = buf.as_ref();
        while self.written < buf.len() {
            let n = try_nb!(stream.write(&buf[self.written..]));
            if n == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.written += n;
        }
        Ok(Async::Ready(self.state.take().expect("seen above")))
    }
}
