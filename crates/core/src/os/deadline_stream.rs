//! A blocking socket with a deadline.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A connected socket whose reads and writes fail with `TimedOut` from the deadline on. Call
/// [`limit`](DeadlineStream::limit) first: the initial deadline has already passed.
pub(crate) struct DeadlineStream {
    socket: TcpStream,
    until: Instant,
}

impl DeadlineStream {
    /// Wraps a connected socket.
    pub(crate) fn new(socket: TcpStream) -> DeadlineStream {
        // A message is one write. This call doesn't fail on a connected socket.
        let _ = socket.set_nodelay(true);
        DeadlineStream {
            socket,
            until: Instant::now(),
        }
    }

    /// Sets the deadline of all later reads and writes to `limit` from now.
    pub(crate) fn limit(&mut self, limit: Duration) {
        self.until = Instant::now() + limit;
    }

    /// Runs `call` with the time left as its timeout.
    fn within<T>(
        &mut self,
        set: impl Fn(&TcpStream, Option<Duration>) -> io::Result<()>,
        mut call: impl FnMut(&mut TcpStream) -> io::Result<T>,
    ) -> io::Result<T> {
        loop {
            let left = self.until.saturating_duration_since(Instant::now());
            if left == Duration::from_secs(0) {
                return Err(ErrorKind::TimedOut.into());
            }
            // Zero would mean no timeout.
            set(&self.socket, Some(left.max(Duration::from_millis(1))))?;
            match call(&mut self.socket) {
                Err(ref e) if is_retryable(e.kind()) => {}
                answer => return answer,
            }
        }
    }
}

/// Whether to repeat the call if the deadline hasn't passed.
fn is_retryable(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

impl Read for DeadlineStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.within(TcpStream::set_read_timeout, |socket| socket.read(buffer))
    }
}

impl Write for DeadlineStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.within(TcpStream::set_write_timeout, |socket| socket.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
