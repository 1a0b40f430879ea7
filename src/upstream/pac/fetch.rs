//! Fetches a PAC file: one GET, without a proxy, and with limits on its time and size. Blocks.
//!
//! Own code on [`Download`]: an HTTP client would bring a dozen crates and TLS settings besides those
//! of `--proxy-cacert`, and its time limit would leave out the name lookup.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::MAX_SIZE;
use crate::config::{Family, Host, HostPort, PacFetch, PacUrl};
use crate::os::deadline_stream::DeadlineStream;
use crate::os::resolver::look_up_until;
use crate::proto::Download;
use crate::text::seconds::Seconds;
use crate::upstream::in_order;

/// Maximum time of a fetch, from the name lookup to the last byte.
pub(super) const LIMIT: Duration = Duration::from_secs(10);

/// Returns the content of the file. Blocks for at most `limit`.
///
/// # Errors
///
/// The reason, as a clause that shows no secret.
pub(super) fn fetch(from: &PacFetch, limit: Duration) -> Result<Vec<u8>, String> {
    let until = Instant::now() + limit;
    let address = &from.url.address;
    let family = Family {
        version: from.version,
        ..Family::ANY
    };
    let found = look_up(address, until).and_then(|found| in_order(found, family));
    let found = found.map_err(|e| format!("cannot resolve {}: {}", address.host, e))?;
    let socket = connect(&found, until);
    let socket = socket.map_err(|e| format!("cannot connect to {}: {}", address, e))?;
    let mut stream = DeadlineStream::new(socket);
    stream.limit(until.saturating_duration_since(Instant::now()));
    let answer = match &from.tls {
        None => exchange(stream, &from.url),
        Some(tls) => layer::secure(stream, tls, address).and_then(|s| exchange(s, &from.url)),
    };
    answer.map_err(|fault| match fault {
        Fault::Lost(e) if e.kind() == ErrorKind::TimedOut => {
            format!("no complete reply within {}", Seconds(limit))
        }
        Fault::Lost(e) => format!("lost the connection to the server: {}", e),
        Fault::Other(why) => why,
    })
}

/// Why there is no content, after the server accepted the connection.
enum Fault {
    Lost(io::Error),
    Other(String),
}

fn look_up(address: &HostPort, until: Instant) -> io::Result<Vec<SocketAddr>> {
    match &address.host {
        Host::Ip(ip) => Ok(vec![(*ip, address.port).into()]),
        Host::Name(name) => look_up_until(name.clone(), address.port, until),
    }
}

/// Connects to the first address that accepts. Each gets an equal share of the time that is left.
fn connect(found: &[SocketAddr], until: Instant) -> io::Result<TcpStream> {
    let mut last = ErrorKind::TimedOut.into();
    for (index, address) in found.iter().enumerate() {
        let left = until.saturating_duration_since(Instant::now());
        // Zero would be an error.
        let share = (left / (found.len() - index) as u32).max(Duration::from_millis(1));
        match TcpStream::connect_timeout(address, share) {
            Ok(socket) => return Ok(socket),
            Err(e) => last = e,
        }
    }
    Err(last)
}

fn exchange(mut stream: impl Read + Write, url: &PacUrl) -> Result<Vec<u8>, Fault> {
    let request = Download::request(url);
    stream.write_all(&request).map_err(Fault::Lost)?;
    let mut reply = Download::new(MAX_SIZE);
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let count = stream.read(&mut buffer).map_err(Fault::Lost)?;
        let is_complete = reply.feed(&buffer[..count]);
        if is_complete.map_err(|e| Fault::Other(e.to_string()))? {
            return Ok(reply.into_content());
        }
    }
}

#[cfg(feature = "tls")]
mod layer {
    use std::io::{self, Read, Write};

    use log::warn;
    use openssl::ssl::{ErrorCode, SslStream};

    use super::{DeadlineStream, Fault};
    use crate::config::{HostPort, TlsPeer, TlsSpec};
    use crate::upstream::tls::{explain, is_without_data, TlsSetup};

    /// TLS over a socket. Only close_notify ends it.
    pub(super) struct Secured {
        stream: SslStream<DeadlineStream>,
        peer: TlsPeer,
    }

    pub(super) fn secure(
        stream: DeadlineStream,
        tls: &TlsSpec,
        address: &HostPort,
    ) -> Result<Secured, Fault> {
        let failed = |e: io::Error| match e.kind() {
            io::ErrorKind::TimedOut => Fault::Lost(e),
            _ => Fault::Other(format!("TLS handshake with {} failed: {}", address, e)),
        };
        let TlsSetup {
            ssl, report, peer, ..
        } = TlsSetup::new(tls, address).map_err(failed)?;
        let stream = SslStream::new(ssl, stream).map_err(|e| failed(e.into()))?;
        let mut secured = Secured { stream, peer };
        let connected = secured.stream.connect();
        connected.map_err(|e| failed(report.explain(e)))?;
        if let Some(warning) = report.warning() {
            warn!("{}: {}", address, warning);
        }
        Ok(secured)
    }

    impl Read for Secured {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            loop {
                match self.stream.ssl_read(buffer) {
                    Err(e) if e.code() == ErrorCode::ZERO_RETURN => return Ok(0),
                    // The deadline bounds the number of such records.
                    Err(e) if is_without_data(&e) => {}
                    read => return read.map_err(|e| explain(e, self.peer)),
                }
            }
        }
    }

    impl Write for Secured {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let written = self.stream.ssl_write(bytes);
            written.map_err(|e| explain(e, self.peer))
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}

#[cfg(not(feature = "tls"))]
mod layer {
    use super::{DeadlineStream, Fault};
    use crate::config::{HostPort, TlsSpec};

    pub(super) fn secure(
        _: DeadlineStream,
        tls: &TlsSpec,
        _: &HostPort,
    ) -> Result<DeadlineStream, Fault> {
        match *tls {}
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;
    use crate::config::Version;

    /// Returns how a fetch ends from a server that sends `head`, and then `more` again and again.
    fn fetched(head: &'static str, more: Vec<u8>, limit: Duration) -> Result<Vec<u8>, String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            socket.write_all(head.as_bytes()).unwrap();
            while socket.write_all(&more).is_ok() {
                thread::sleep(Duration::from_millis(20));
            }
        });
        let from = PacFetch {
            url: format!("http://{}/proxy.pac", address).parse().unwrap(),
            tls: None,
            version: Version::Any,
            interval: None,
        };
        let outcome = fetch(&from, limit);
        server.join().unwrap();
        outcome
    }

    /// A limit of each single read would never be over.
    #[test]
    fn a_slow_server_has_one_limit_for_the_whole_reply() {
        let limit = Duration::from_millis(300);
        for head in &["HTTP/1.1 200 OK\r\nX: ", "HTTP/1.1 200 OK\r\n\r\n"] {
            let begin = Instant::now();
            let outcome = fetched(head, b"x".to_vec(), limit);
            assert_eq!(outcome, Err("no complete reply within 0.3s".into()));
            assert!(begin.elapsed() < limit * 10);
        }
    }

    #[test]
    fn an_endless_reply_is_cut_at_the_maximum_size() {
        let limit = Duration::from_secs(60);
        let outcome = fetched("HTTP/1.1 200 OK\r\n\r\n", vec![b'x'; 128 * 1024], limit);
        assert_eq!(outcome, Err("the file has more than 1048576 bytes".into()));
    }
}
