//! The HTTP/1.1 server of `--status`: one GET or HEAD per connection, and one thread per
//! connection.
//!
//! The number of threads is bounded. While all of them are busy, further connections wait in the
//! kernel's queue. They don't wait long: the server disconnects a client that sends no request, and
//! waits for less time while many clients are connected.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{self, Sender};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::{json, metrics, Status};
use crate::os::deadline_stream::DeadlineStream;
use ptunnel_proto::{reason_phrase, with_bytes, ConnectHead, HeadReader, Malformed, FIELD_LIMIT};

/// Maximum number of connections that are served at the same time.
const MAX_THREADS: usize = 16;

/// Time that a client gets to send its request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

/// The same while more than half of the threads are busy.
const CROWDED_REQUEST_TIMEOUT: Duration = Duration::from_millis(250);

/// Time that a client then gets to receive the response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum size of a request's head, in bytes.
const MAX_REQUEST: usize = 8 * 1024;

/// Pause before the next accept() when the process or the machine is out of resources.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Time for which the server reads and drops what a client sends after the response. close() would
/// reset the connection of a client that still sends, and a reset can destroy the response on its
/// way.
const LINGER: Duration = Duration::from_secs(1);

/// Maximum number of bytes that it reads and drops.
const LINGER_BYTES: u64 = 64 * 1024;

/// Accepts and serves connections; never returns.
pub(super) fn serve(listener: &TcpListener, status: &Arc<Status>) {
    let (ended, endings) = mpsc::channel::<usize>();
    let mut threads: [Option<JoinHandle<()>>; MAX_THREADS] = Default::default();
    let mut free: Vec<usize> = (0..MAX_THREADS).collect();
    loop {
        let socket = match listener.accept() {
            Ok((socket, _)) => socket,
            Err(_) => {
                thread::sleep(ACCEPT_PAUSE);
                continue;
            }
        };
        let awaited = if free.is_empty() {
            endings.recv().ok()
        } else {
            None
        };
        for slot in awaited.into_iter().chain(endings.try_iter()) {
            // The system counts a thread until it is joined. A panic has been logged.
            let _ = threads[slot].take().map(JoinHandle::join);
            free.push(slot);
        }
        let request_timeout = if free.len() <= MAX_THREADS / 2 {
            CROWDED_REQUEST_TIMEOUT
        } else {
            REQUEST_TIMEOUT
        };
        let slot = free.pop().expect("there is a free slot");
        let ending = ThreadEnding(slot, ended.clone());
        let status = status.clone();
        let thread = thread::Builder::new().name("status-client".into());
        let thread = thread.spawn(move || {
            let _ending = ending;
            let _ = serve_one(socket, request_timeout, &status);
        });
        // Without a thread the connection is closed, and the slot is free again.
        threads[slot] = thread.ok();
    }
}

/// Reports the slot of a thread as free when it is dropped, also in a panic.
struct ThreadEnding(usize, Sender<usize>);

impl Drop for ThreadEnding {
    fn drop(&mut self) {
        let _ = self.1.send(self.0);
    }
}

/// Reads a request and writes the response.
fn serve_one(socket: TcpStream, request_timeout: Duration, status: &Status) -> io::Result<()> {
    let mut stream = DeadlineStream::new(socket.try_clone()?);
    stream.limit(request_timeout);
    let response = match read_request(&mut stream)? {
        Ok((request, head)) => {
            let response = status.respond(&request, &head);
            response.encode(request.method != "HEAD")
        }
        Err(_) => StatusResponse::text(400, "not an HTTP request").encode(true),
    };
    // The time starts only now, since a probe can take seconds.
    stream.limit(RESPONSE_TIMEOUT);
    stream.write_all(&response)?;
    socket.shutdown(Shutdown::Write)?;
    stream.limit(LINGER);
    io::copy(&mut stream.take(LINGER_BYTES), &mut io::sink())?;
    Ok(())
}

/// Reads a request; returns it with the bytes of its head.
fn read_request(stream: &mut impl Read) -> io::Result<Result<(ConnectHead, Vec<u8>), Malformed>> {
    let mut head = HeadReader::new(MAX_REQUEST);
    let mut chunk = [0; 1024];
    loop {
        let count = stream.read(&mut chunk)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match head.extend(&chunk[..count], with_bytes(ConnectHead::decode)) {
            Ok(None) => {}
            Ok(Some(request)) => return Ok(Ok(request)),
            Err(why) => return Ok(Err(why)),
        }
    }
}

impl Status {
    fn respond(&self, request: &ConnectHead, head: &[u8]) -> StatusResponse {
        if !matches!(&request.method[..], "GET" | "HEAD") {
            return StatusResponse {
                fields: "Allow: GET, HEAD\r\n".into(),
                ..StatusResponse::text(405, "only GET and HEAD are served")
            };
        }
        let (host, target) = host_and_target(request);
        if self.is_local && !names_this_machine(host) {
            return StatusResponse::text(403, "use an IP address or localhost as the host name");
        }
        let mut parts = target.splitn(2, '?');
        let (path, query) = (parts.next().unwrap_or_default(), parts.next());
        match (path, query) {
            ("/", _) | ("", _) => StatusResponse {
                fields: format!("Content-Security-Policy: {}\r\n", self.page.policy),
                ..StatusResponse::ok("text/html; charset=utf-8", self.page.text.clone())
            },
            ("/metrics", _) => StatusResponse::ok(
                "text/plain; version=0.0.4; charset=utf-8",
                metrics::page(&self.registry),
            ),
            ("/status.json", _) => StatusResponse::ok(
                "application/json",
                json::page(&self.registry, &self.history),
            ),
            ("/healthz/probe", _) | ("/healthz", Some("probe=1")) if is_cross_site(head, host) => {
                StatusResponse::text(403, "a page of another site can't start a probe")
            }
            ("/healthz/probe", _) | ("/healthz", Some("probe=1")) => self.probe(),
            ("/healthz", _) => StatusResponse::text(200, "ok"),
            _ => StatusResponse::text(
                404,
                "not found; the paths are /, /status.json, /metrics, /healthz and /healthz/probe",
            ),
        }
    }

    fn probe(&self) -> StatusResponse {
        let snapshot = self.registry.snapshot();
        let tunnel = match snapshot.first_tunnel() {
            Some(tunnel) => tunnel,
            // Not 503: without a tunnel there is nothing to probe, which isn't a failure.
            None => return StatusResponse::text(404, "there is no tunnel to probe"),
        };
        match self.prober.probe(tunnel, &snapshot.timeouts) {
            Ok(line) => StatusResponse::text(200, &line),
            Err(line) => StatusResponse::text(503, &line),
        }
    }
}

/// Returns the host and the target of a request. The host of a target in absolute form replaces the
/// field `Host` (RFC 9112 §3.2.2).
fn host_and_target(request: &ConnectHead) -> (Option<&str>, &str) {
    const SCHEME: &str = "http://";
    let target = &request.target[..];
    match target.get(..SCHEME.len()) {
        Some(scheme) if scheme.eq_ignore_ascii_case(SCHEME) => {
            let rest = &target[SCHEME.len()..];
            let end = rest.find(|c| c == '/' || c == '?').unwrap_or(rest.len());
            (Some(&rest[..end]), &rest[end..])
        }
        _ => (request.host.as_deref(), target),
    }
}

/// Whether the browser marks the request as sent by a page of another site. Such a page can't read
/// the response, but could make ptunnel connect to the proxy. A page on another port counts as
/// another site, although the Fetch standard calls it the same site.
fn is_cross_site(head: &[u8], host: Option<&str>) -> bool {
    let mut fields = [httparse::EMPTY_HEADER; FIELD_LIMIT];
    let mut request = httparse::Request::new(&mut fields);
    if request.parse(head).is_err() {
        return true;
    }
    let host = host.unwrap_or_default().trim();
    let is_foreign = |field: &httparse::Header<'_>| {
        let value = String::from_utf8_lossy(field.value);
        let value = value.trim();
        if field.name.eq_ignore_ascii_case("Sec-Fetch-Site") {
            !matches!(value, "same-origin" | "none")
        } else if field.name.eq_ignore_ascii_case("Origin") {
            let origin = value.splitn(2, "://").nth(1);
            !origin.map_or(false, |origin| origin.eq_ignore_ascii_case(host))
        } else {
            false
        }
    };
    request.headers.iter().any(is_foreign)
}

/// Whether the host of a request to a loopback address is an address or `localhost`. A page of
/// another site can make its own name resolve to this machine, to read the responses through a
/// browser on this machine (DNS rebinding).
fn names_this_machine(host: Option<&str>) -> bool {
    let host = match host {
        Some(host) => host.trim(),
        None => return true,
    };
    let name = match host.rfind(':') {
        Some(colon) if !host.ends_with(']') => &host[..colon],
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

struct StatusResponse {
    status: u16,
    content_type: &'static str,
    /// Further header fields, each with its CRLF.
    fields: String,
    body: String,
}

impl StatusResponse {
    fn ok(content_type: &'static str, body: String) -> StatusResponse {
        StatusResponse {
            status: 200,
            content_type,
            fields: String::new(),
            body,
        }
    }

    fn text(status: u16, line: &str) -> StatusResponse {
        let body = format!("{}\n", line);
        StatusResponse {
            status,
            ..StatusResponse::ok("text/plain; charset=utf-8", body)
        }
    }

    /// Returns the response's bytes; without the body for the response to HEAD.
    fn encode(&self, with_body: bool) -> Vec<u8> {
        let text = format!(
            "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{}\
             Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
             Connection: close\r\n\r\n{}",
            self.status,
            reason_phrase(self.status),
            self.content_type,
            self.body.len(),
            self.fields,
            if with_body { &self.body } else { "" }
        );
        text.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_cross_site_where_the_browser_says_so() {
        let is_cross_site = |field: &str| {
            let head = format!("GET / HTTP/1.1\r\nHost: localhost:9\r\n{}\r\n\r\n", field);
            is_cross_site(head.as_bytes(), Some("localhost:9"))
        };
        for field in &[
            "Accept: */*",
            "Sec-Fetch-Site: none",
            "sec-fetch-site: same-origin",
            "Origin: http://localhost:9",
            "Origin: http://LOCALHOST:9",
        ] {
            assert!(!is_cross_site(field), "{}", field);
        }
        for field in &[
            "Sec-Fetch-Site: cross-site",
            "SEC-FETCH-SITE: same-site",
            "Sec-Fetch-Site: ",
            "Origin: null",
            "Origin: http://localhost:8",
            "Origin: https://evil.example",
            "Origin: http://localhost:9\r\nSec-Fetch-Site: cross-site",
            "Sec-Fetch-Site: same-origin\r\nOrigin: null",
        ] {
            assert!(is_cross_site(field), "{}", field);
        }
    }

    #[test]
    fn a_foreign_name_that_resolves_to_this_machine_is_rejected() {
        for host in &[
            "127.0.0.1:9090",
            "[::1]:9090",
            "[::1]",
            "localhost",
            "LOCALHOST:1",
            "10.0.0.1",
        ] {
            assert!(names_this_machine(Some(host)), "{}", host);
        }
        for host in &["evil.example:9090", "localhost.evil.example", "", "evil"] {
            assert!(!names_this_machine(Some(host)), "{}", host);
        }
        assert!(names_this_machine(None), "HTTP/1.0 names no host");
    }
}
