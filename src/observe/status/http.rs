//! As much of HTTP/1.1 as it takes to be asked: one GET or HEAD a connection, small and in time.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, TcpListener};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::slots::{Slot, Slots};
use super::{json, metrics, spawn, Status};
use crate::observe::diagnose::{DeadlineStream, Stream};
use crate::proto::{ConnectHead, HeadReader, Malformed, FIELD_LIMIT};

/// Who has come has so long to ask.
const HEARING: Duration = Duration::from_secs(2);

/// And then so long to take the answer.
const ANSWERING: Duration = Duration::from_secs(10);

/// No question is longer.
const LONGEST: usize = 8 * 1024;

/// Heard or answered at once; who comes while so many are answered is turned away.
const MOST: usize = 16;

/// Before accepting again when this process or machine lacks something for it.
const PAUSE: Duration = Duration::from_millis(200);

/// A client that still sends gets a reset, which may destroy the answer: what it sends is read.
const PARTING: Duration = Duration::from_secs(1);
const PARTING_BYTES: u64 = 64 * 1024;

/// Answers for ever, each on a thread of its own.
pub(super) fn serve(listening: &TcpListener, status: &Arc<Status>) {
    let seats = Slots::new(MOST);
    loop {
        let socket = match listening.accept() {
            Ok((socket, _)) => socket,
            Err(_) => {
                thread::sleep(PAUSE);
                continue;
            }
        };
        let seat = match Slot::take(&seats, socket) {
            Some(seat) => seat,
            None => continue,
        };
        let status = status.clone();
        // Without a thread for it the connection is closed.
        let _ = spawn("status-client", move || {
            let _ = converse(&seat, &status);
        });
    }
}

/// A question and its answer.
fn converse(seat: &Slot, status: &Status) -> io::Result<()> {
    let mut stream = DeadlineStream::new(seat.socket().try_clone()?);
    stream.limit(HEARING);
    let question = read(&mut stream)?;
    if !seat.keep() {
        return Ok(());
    }
    let answer = match question {
        Ok((question, head)) => {
            let answer = status.answer(&question, &head);
            answer.encode(question.method != "HEAD")
        }
        Err(_) => Answer::text(400, "this is no HTTP request").encode(true),
    };
    // A probe may have taken its time.
    stream.limit(ANSWERING);
    stream.write_all(&answer)?;
    seat.socket().shutdown(Shutdown::Write)?;
    seat.offer();
    stream.limit(PARTING);
    io::copy(&mut stream.take(PARTING_BYTES), &mut io::sink())?;
    Ok(())
}

/// A question, with the bytes of its head.
type Question = (ConnectHead, Vec<u8>);

fn read(stream: &mut impl Read) -> io::Result<Result<Question, Malformed>> {
    let mut head = HeadReader::new(LONGEST);
    let mut piece = [0; 1024];
    loop {
        let count = stream.read(&mut piece)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match head.extend(&piece[..count], ConnectHead::decode_whole) {
            Ok(None) => {}
            Ok(Some(question)) => return Ok(Ok(question)),
            Err(why) => return Ok(Err(why)),
        }
    }
}

impl Status {
    fn answer(&self, question: &ConnectHead, head: &[u8]) -> Answer {
        if !matches!(&question.method[..], "GET" | "HEAD") {
            let mut answer = Answer::text(405, "only GET and HEAD are served");
            answer.fields = "Allow: GET, HEAD\r\n".into();
            return answer;
        }
        let (host, target) = address(question);
        if self.is_local && !names_this_machine(host) {
            return Answer::text(403, "ask for it by its address, or as localhost");
        }
        let mut parts = target.splitn(2, '?');
        let (path, query) = (parts.next().unwrap_or_default(), parts.next());
        match (path, query) {
            ("/", _) | ("", _) => Answer {
                status: 200,
                kind: "text/html; charset=utf-8",
                fields: format!("Content-Security-Policy: {}\r\n", self.page.policy),
                body: self.page.text.clone(),
            },
            ("/metrics", _) => Answer {
                status: 200,
                kind: "text/plain; version=0.0.4; charset=utf-8",
                fields: String::new(),
                body: metrics::page(&self.board),
            },
            ("/status.json", _) => Answer {
                status: 200,
                kind: "application/json",
                fields: String::new(),
                body: json::page(&self.board, &self.history),
            },
            ("/healthz/probe", _) | ("/healthz", Some("probe=1")) if is_cross_site(head, host) => {
                Answer::text(403, "a page of another site can't ask for a probe")
            }
            ("/healthz/probe", _) | ("/healthz", Some("probe=1")) => self.probe(),
            ("/healthz", _) => Answer::text(200, "ok"),
            _ => Answer::text(
                404,
                "there are / and /status.json, /metrics, /healthz and /healthz/probe",
            ),
        }
    }

    fn probe(&self) -> Answer {
        let scene = self.board.scene();
        let tunnel = match scene.first_tunnel() {
            Some(tunnel) => tunnel,
            // Such a probe never succeeds, however well we do: that is no failure.
            None => return Answer::text(404, "there is no tunnel to probe"),
        };
        match self.prober.probe(tunnel, &scene.timeouts) {
            Ok(told) => Answer::text(200, &told),
            Err(told) => Answer::text(503, &told),
        }
    }
}

/// Whom a question is for, and what for: a target in absolute form counts more than the field
/// `Host` (RFC 9112 §3.2.2).
fn address(question: &ConnectHead) -> (Option<&str>, &str) {
    const SCHEME: &str = "http://";
    let target = &question.target[..];
    match target.get(..SCHEME.len()) {
        Some(scheme) if scheme.eq_ignore_ascii_case(SCHEME) => {
            let rest = &target[SCHEME.len()..];
            let end = rest.find(|c| c == '/' || c == '?').unwrap_or(rest.len());
            (Some(&rest[..end]), &rest[end..])
        }
        _ => (question.host.as_deref(), target),
    }
}

/// Whether a browser says that a page of another site asks: such a page can't read the answer, but
/// would have us connect. The page of another port is one, too, though Fetch calls it the same site.
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

/// Whether a question that came over loopback was meant for us: a page elsewhere may have its own
/// name lead to this machine, to read what a browser here is answered (DNS rebinding).
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

struct Answer {
    status: u16,
    kind: &'static str,
    /// More of them, each with its CRLF.
    fields: String,
    body: String,
}

impl Answer {
    fn text(status: u16, line: &str) -> Answer {
        Answer {
            status,
            kind: "text/plain; charset=utf-8",
            fields: String::new(),
            body: format!("{}\n", line),
        }
    }

    /// Without its body it is the answer to HEAD.
    fn encode(&self, with_body: bool) -> Vec<u8> {
        let reason = match self.status {
            200 => "OK",
            400 => "Bad Request",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            _ => "Service Unavailable",
        };
        let text = format!(
            "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n{}\
             Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n\
             Connection: close\r\n\r\n{}",
            self.status,
            reason,
            self.kind,
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
    fn a_question_is_cross_site_where_the_browser_says_so() {
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
    fn a_name_that_somebody_else_made_lead_here_is_not_answered() {
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
        assert!(names_this_machine(None), "HTTP/1.0 names nobody");
    }
}
