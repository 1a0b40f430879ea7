//! Reading once.

use std::io;

use futures::{Async, Future, Poll};

/// Reads once; made by [`read`].
///
/// Resolves to the stream, the buffer, and the number of bytes in it. An error drops both with this
/// future.
///
/// # Panics
///
/// When it is polled after it has resolved.
#[must_use = "futures do nothing unless polled"]
pub struct Read<R, T> {
    state: Option<(R, T)>,
}

/// Returns a future that reads what is there into `buf`, at least one byte but at the end.
pub fn read<R, T>(rd: R, buf: T) -> Read<R, T>
where
    R: io::Read,
    T: AsMut<[u8]>,
{
    Read {
        state: Some((rd, buf)),
    }
}

impl<R: io::Read, T: AsMut<[u8]>> Future for Read<R, T> {
    type Item = (R, T, usize);
    type Error = io::Error;

    fn poll(&mut self) -> Poll<(R, T, usize), io::Error> {
        let Some((stream, buf)) = &mut self.state else {
            panic!("Read was polled after it had resolved");
        };
        let n = try_nb!(stream.read(buf.as_mut()));
        let (stream, buf) = self.state.take().expect("seen above");
        Ok(Async::Ready((stream, buf, n)))
    }
}
