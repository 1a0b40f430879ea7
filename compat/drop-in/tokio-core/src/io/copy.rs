//! Copying a stream.

use std::io::{self, Read, Write};

use futures::{Async, Future, Poll};

/// Size of the buffer, in bytes.
const BUFFER: usize = 2048;

/// Copies a stream to its end; made by [`copy`].
///
/// Resolves to the number of bytes.
#[must_use = "futures do nothing unless polled"]
pub struct Copy<R, W> {
    reader: R,
    writer: W,
    buffer: Box<[u8]>,
    /// What of `buffer` is read and not written.
    start: usize,
    end: usize,
    at_end: bool,
    total: u64,
}

/// Returns a future that copies all bytes of `reader` to `writer` and flushes it. Both are dropped
/// with the future.
pub fn copy<R, W>(reader: R, writer: W) -> Copy<R, W>
where
    R: Read,
    W: Write,
{
    Copy {
        reader,
        writer,
        buffer: vec![0; BUFFER].into(),
        start: 0,
        end: 0,
        at_end: false,
        total: 0,
    }
}

impl<R: Read, W: Write> Future for Copy<R, W> {
    type Item = u64;
    type Error = io::Error;

    fn poll(&mut self) -> Poll<u64, io::Error> {
        loop {
            while self.start < self.end {
                let n = try_nb!(self.writer.write(&self.buffer[self.start..self.end]));
                if n == 0 {
                    return Err(io::ErrorKind::WriteZero.into());
                }
                self.start += n;
                self.total += n as u64;
            }
            if self.at_end {
                try_nb!(self.writer.flush());
                return Ok(Async::Ready(self.total));
            }
            self.start = 0;
            self.end = 0;
            self.end = try_nb!(self.reader.read(&mut self.buffer));
            self.at_end = self.end == 0;
        }
    }
}
