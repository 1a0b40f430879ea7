//! The halves of a stream of bytes.

use std::io::{self, Read, Write};

use futures::sync::BiLock;
use futures::Async;

use super::Io;

/// The half of a stream that reads; made by [`Io::split`].
///
/// Dropping it closes nothing: the stream is closed with the second half.
pub struct ReadHalf<T> {
    stream: BiLock<T>,
}

/// The half of a stream that writes; made by [`Io::split`].
///
/// Dropping it closes nothing: the stream is closed with the second half.
pub struct WriteHalf<T> {
    stream: BiLock<T>,
}

pub(super) fn split<T: Io>(stream: T) -> (ReadHalf<T>, WriteHalf<T>) {
    let (reader, writer) = BiLock::new(stream);
    (ReadHalf { stream: reader }, WriteHalf { stream: writer })
}

/// Calls `f` with the stream, or leaves the task registered for when the other half is done with it.
fn locked<T, R>(stream: &BiLock<T>, f: impl FnOnce(&mut T) -> io::Result<R>) -> io::Result<R> {
    match stream.poll_lock() {
        Async::Ready(mut stream) => f(&mut stream),
        Async::NotReady => Err(io::ErrorKind::WouldBlock.into()),
    }
}

impl<T: Io> ReadHalf<T> {
    /// Returns whether a read may succeed. If not, the current task is notified when it may.
    pub fn poll_read(&mut self) -> Async<()> {
        match self.stream.poll_lock() {
            Async::Ready(mut stream) => stream.poll_read(),
            Async::NotReady => Async::NotReady,
        }
    }
}

impl<T: Io> WriteHalf<T> {
    /// Returns whether a write may succeed. If not, the current task is notified when it may.
    pub fn poll_write(&mut self) -> Async<()> {
        match self.stream.poll_lock() {
            Async::Ready(mut stream) => stream.poll_write(),
            Async::NotReady => Async::NotReady,
        }
    }
}

impl<T: Read> Read for ReadHalf<T> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        locked(&self.stream, |stream| stream.read(buf))
    }
}

impl<T: Write> Write for WriteHalf<T> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        locked(&self.stream, |stream| stream.write(buf))
    }

    fn flush(&mut self) -> io::Result<()> {
        locked(&self.stream, |stream| stream.flush())
    }
}
