//! Blocking streams with a deadline.

use std::io::{self, Cursor, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A blocking stream with a deadline.
///
/// A read or a write fails with `TimedOut` at the deadline and after it.
pub(crate) trait Stream: Read + Write {
    /// Sets the deadline for everything that follows: `limit` from now.
    fn limit(&mut self, limit: Duration);
}

impl Stream for Box<dyn Stream> {
    fn limit(&mut self, limit: Duration) {
        (**self).limit(limit);
    }
}

/// A stream with bytes in front that were read from it too early.
pub(crate) struct Prefixed {
    pub(crate) front: Cursor<Vec<u8>>,
    pub(crate) stream: Box<dyn Stream>,
}

impl Stream for Prefixed {
    fn limit(&mut self, limit: Duration) {
        self.stream.limit(limit);
    }
}

impl Read for Prefixed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.front.read(buffer)? {
            0 => self.stream.read(buffer),
            count => Ok(count),
        }
    }
}

impl Write for Prefixed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// A connected socket. Its deadline is over until it is set.
pub(crate) struct DeadlineStream {
    socket: TcpStream,
    until: Instant,
}

impl DeadlineStream {
    /// Wraps a connected socket.
    pub(crate) fn new(socket: TcpStream) -> DeadlineStream {
        // A request is one write. This never fails on a connected socket.
        let _ = socket.set_nodelay(true);
        DeadlineStream {
            socket,
            until: Instant::now(),
        }
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

/// Whether the call is to be repeated unless the deadline is over.
fn is_retryable(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

impl Stream for DeadlineStream {
    fn limit(&mut self, limit: Duration) {
        self.until = Instant::now() + limit;
    }
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

#[cfg(feature = "tls")]
pub(crate) mod tls {
    use std::io::{self, Read, Write};
    use std::time::Duration;

    use openssl::ssl::{self, SslStream};

    use super::Stream;
    use crate::upstream::tls::{is_without_data, Ending, TlsSetup};

    /// A stream in TLS.
    pub(crate) struct BlockingTls<S>(SslStream<S>, Ending);

    impl<S: Stream> BlockingTls<S> {
        /// Blocks until the handshake is over.
        ///
        /// # Errors
        ///
        /// `TimedOut` at the deadline; otherwise the reason of the failed handshake, as text.
        pub(crate) fn new(session: TlsSetup, stream: S) -> io::Result<BlockingTls<S>> {
            let TlsSetup {
                ssl,
                report,
                ending,
                ..
            } = session;
            let mut stream = SslStream::new(ssl, stream)?;
            match stream.connect() {
                Ok(()) => Ok(BlockingTls(stream, ending)),
                Err(e) => Err(report.explain(e)),
            }
        }

        /// Returns the negotiated parameters, e.g. `TLSv1.3, TLS_AES_256_GCM_SHA384`.
        pub(crate) fn terms(&self) -> String {
            let ssl = self.0.ssl();
            let cipher = ssl.current_cipher().map_or("", |cipher| cipher.name());
            format!("{}, {}", ssl.version_str(), cipher)
        }

        /// Repeats `call` after a record without data, such as a session ticket.
        fn attempt(
            &mut self,
            mut call: impl FnMut(&mut SslStream<S>) -> Result<usize, ssl::Error>,
        ) -> io::Result<usize> {
            loop {
                match call(&mut self.0) {
                    Ok(count) => return Ok(count),
                    Err(ref e) if is_without_data(e) => {}
                    Err(e) => return self.1.judge(e).map(|()| 0),
                }
            }
        }
    }

    impl<S: Stream> Stream for BlockingTls<S> {
        fn limit(&mut self, limit: Duration) {
            self.0.get_mut().limit(limit);
        }
    }

    impl<S: Stream> Read for BlockingTls<S> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.attempt(|stream| stream.ssl_read(buffer))
        }
    }

    impl<S: Stream> Write for BlockingTls<S> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.attempt(|stream| stream.ssl_write(bytes))
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}
