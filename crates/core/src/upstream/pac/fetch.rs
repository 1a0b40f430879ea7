//! Fetches a PAC file: one GET, without a proxy, and with limits on its time and size. Blocks.
//!
//! Own code on [`Download`]: an HTTP client would bring a dozen crates and TLS settings besides those
//! of `--proxy-cacert`, and its time limit would leave out the name lookup.

use std::io::{self, ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use log::warn;

use super::MAX_SIZE;
use crate::config::{Family, PacFetch, TlsSpec};
use crate::os::deadline_stream::DeadlineStream;
use crate::upstream::blocking::{self, Unreachable};
use ptunnel_proto::text::seconds::Seconds;
use ptunnel_proto::values::{HostPort, PacUrl};
use ptunnel_proto::Download;

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
    let connected = blocking::connect(address, family, until);
    let mut stream = connected.map_err(|fault| match fault {
        Unreachable::Name(e) => format!("cannot resolve {}: {}", address.host, e),
        Unreachable::Connection(e) => format!("cannot connect to {}: {}", address, e),
    })?;
    stream.limit(until.saturating_duration_since(Instant::now()));
    let answer = match &from.tls {
        None => exchange(stream, &from.url),
        Some(tls) => secure(stream, tls, address).and_then(|s| exchange(s, &from.url)),
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

fn secure(
    stream: DeadlineStream,
    tls: &TlsSpec,
    address: &HostPort,
) -> Result<impl Read + Write, Fault> {
    let secured = blocking::secure(stream, tls, address).map_err(|e| match e.kind() {
        ErrorKind::TimedOut => Fault::Lost(e),
        _ => Fault::Other(format!("TLS handshake with {} failed: {}", address, e)),
    });
    let (stream, warning) = secured?;
    if let Some(warning) = warning {
        warn!("{}: {}", address, warning);
    }
    Ok(stream)
}

fn exchange(mut stream: impl Read + Write, url: &PacUrl) -> Result<Vec<u8>, Fault> {
    let request = Download::request(url);
    stream.write_all(&request).map_err(Fault::Lost)?;
    let mut reply = Download::new(MAX_SIZE, Download::secrets(url));
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let count = stream.read(&mut buffer).map_err(Fault::Lost)?;
        let is_complete = reply.feed(&buffer[..count]);
        if is_complete.map_err(|e| Fault::Other(e.to_string()))? {
            return Ok(reply.into_content());
        }
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
