//! A stream that blocks, but never for longer than it may.

use std::io::{self, Cursor, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// What a walk reads from and writes to.
///
/// A read or a write that would go past the limit fails with `TimedOut`, and so does each one
/// after it.
pub(crate) trait Stream: Read + Write {
    /// From now on there is so much time, for all of what follows.
    fn limit(&mut self, limit: Duration);
}

impl Stream for Box<dyn Stream> {
    fn limit(&mut self, limit: Duration) {
        (**self).limit(limit);
    }
}

/// A stream with what was read of it too early.
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

/// A connected socket.
pub(crate) struct DeadlineStream {
    socket: TcpStream,
    until: Instant,
}

impl DeadlineStream {
    /// One that is to be limited.
    pub(crate) fn new(socket: TcpStream) -> DeadlineStream {
        // A request goes in one piece; it never fails on a socket that is connected.
        let _ = socket.set_nodelay(true);
        DeadlineStream {
            socket,
            until: Instant::now(),
        }
    }

    /// Runs `call` with what is left of the time.
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
            // Zero would be for ever.
            set(&self.socket, Some(left.max(Duration::from_millis(1))))?;
            match call(&mut self.socket) {
                Err(ref e) if is_passing(e.kind()) => {}
                answer => return answer,
            }
        }
    }
}

/// Time may be over, or it wasn't meant for us: see what is left of it.
fn is_passing(kind: ErrorKind) -> bool {
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
pub(super) mod tls {
    use std::io::{self, Read, Write};
    use std::time::Duration;

    use openssl::ssl::{self, SslStream};

    use super::Stream;
    use crate::upstream::tls::{is_without_data, Ending, TlsSetup};

    /// The same in TLS.
    pub(crate) struct Secured<S>(SslStream<S>, Ending);

    impl<S: Stream> Secured<S> {
        /// Blocks until there is TLS.
        ///
        /// # Errors
        ///
        /// Why there is none, in words.
        pub(crate) fn new(session: TlsSetup, stream: S) -> io::Result<Secured<S>> {
            let TlsSetup {
                ssl, doubt, ending, ..
            } = session;
            let mut stream = SslStream::new(ssl, stream)?;
            match stream.connect() {
                Ok(()) => Ok(Secured(stream, ending)),
                Err(e) => Err(doubt.explain(e)),
            }
        }

        /// What was agreed upon, as `TLSv1.3, TLS_AES_256_GCM_SHA384`.
        pub(crate) fn terms(&self) -> String {
            let ssl = self.0.ssl();
            let cipher = ssl.current_cipher().map_or("", |cipher| cipher.name());
            format!("{}, {}", ssl.version_str(), cipher)
        }

        /// Again, when there was only a record without content, such as a session ticket.
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

    impl<S: Stream> Stream for Secured<S> {
        fn limit(&mut self, limit: Duration) {
            self.0.get_mut().limit(limit);
        }
    }

    impl<S: Stream> Read for Secured<S> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.attempt(|stream| stream.ssl_read(buffer))
        }
    }

    impl<S: Stream> Write for Secured<S> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.attempt(|stream| stream.ssl_write(bytes))
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}
