//! What the plaintext servers written for this comparison share: how a request is read and a reply is written.
//!
//! httparse reads, as it does in May's minihttp and in hyper. A reply is put together field by field for each request;
//! only the text of the date is kept, for a second at most. Legacy packages include this file by its path, so that all
//! of them do the same work around their sockets.
//!
//! Doesn't: bodies of requests, `Connection: close`. Any method but GET is answered like an unknown path.

use std::io;
use std::mem::MaybeUninit;
use std::time::SystemTime;

/// Fields of a request; one with more is refused.
const FIELDS: usize = 16;
/// The length of an HTTP date, RFC 9110 §5.6.7.
const DATE: usize = 29;
/// More than a reply of these servers ever takes.
const ROOM: usize = 256;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    Plaintext,
    Unknown,
}

/// Reads one request from the front of `bytes`: its route and its length, or none while it isn't whole.
///
/// # Errors
/// When it is no request.
pub fn parse(bytes: &[u8]) -> io::Result<Option<(Route, usize)>> {
    let mut fields = [const { MaybeUninit::uninit() }; FIELDS];
    let mut request = httparse::Request::new(&mut []);
    match request.parse_with_uninit_headers(bytes, &mut fields) {
        Ok(httparse::Status::Complete(length)) => Ok(Some((route(&request), length))),
        Ok(httparse::Status::Partial) => Ok(None),
        Err(e) => Err(io::Error::new(io::ErrorKind::InvalidData, e.to_string())),
    }
}

fn route(request: &httparse::Request<'_, '_>) -> Route {
    match (request.method, request.path) {
        (Some("GET"), Some("/plaintext")) => Route::Plaintext,
        _ => Route::Unknown,
    }
}

/// A reply that is not written yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    pub status: &'static str,
    pub body: &'static str,
}

/// What each server answers.
pub fn answer(route: Route) -> Response {
    match route {
        Route::Plaintext => Response {
            status: "200 OK",
            body: "Hello, World!",
        },
        Route::Unknown => Response {
            status: "404 Not Found",
            body: "",
        },
    }
}

impl Response {
    /// Puts the reply behind what `out` holds. The order of the fields is that of May's minihttp.
    #[inline]
    pub fn write(&self, date: &Date, out: &mut Vec<u8>) {
        out.reserve(ROOM);
        out.extend_from_slice(b"HTTP/1.1 ");
        out.extend_from_slice(self.status.as_bytes());
        out.extend_from_slice(b"\r\nServer: M\r\nDate: ");
        out.extend_from_slice(&date.0);
        out.extend_from_slice(b"\r\nContent-Length: ");
        decimal(self.body.len(), out);
        out.extend_from_slice(b"\r\nContent-Type: text/plain\r\n\r\n");
        out.extend_from_slice(self.body.as_bytes());
    }
}

fn decimal(mut value: usize, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// The text of a date. Who serves makes a new one at least once a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Date([u8; DATE]);

impl Date {
    pub fn now() -> Date {
        Date::of(SystemTime::now())
    }

    fn of(time: SystemTime) -> Date {
        let mut text = [b' '; DATE];
        let formatted = httpdate::fmt_http_date(time);
        text.copy_from_slice(formatted.as_bytes());
        Date(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    const REQUEST: &[u8] = b"GET /plaintext HTTP/1.1\r\nHost: a\r\n\r\n";

    #[test]
    fn every_prefix_is_partial_and_the_next_request_stays() {
        for end in 0..REQUEST.len() {
            assert_eq!(parse(&REQUEST[..end]).unwrap(), None, "{end}");
        }
        let two = [REQUEST, REQUEST].concat();
        let whole = Some((Route::Plaintext, REQUEST.len()));
        assert_eq!(parse(&two).unwrap(), whole);
    }

    #[test]
    fn only_one_path_is_greeted_and_only_by_get() {
        for line in [
            "GET / HTTP/1.1",
            "POST /plaintext HTTP/1.1",
            "GET /plaintext2 HTTP/1.1",
        ] {
            let request = format!("{line}\r\n\r\n");
            let (route, _) = parse(request.as_bytes()).unwrap().unwrap();
            assert_eq!(route, Route::Unknown, "{line}");
        }
        assert!(parse(b"\0\0\0\0").is_err());
    }

    #[test]
    fn a_reply_is_composed_of_its_parts() {
        let mut out = Vec::new();
        let date = Date::of(UNIX_EPOCH + Duration::from_secs(951_827_696));
        answer(Route::Plaintext).write(&date, &mut out);
        let expected = "HTTP/1.1 200 OK\r\nServer: M\r\nDate: Tue, 29 Feb 2000 12:34:56 GMT\r\n\
                        Content-Length: 13\r\nContent-Type: text/plain\r\n\r\nHello, World!";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn decimals_have_no_leading_zero() {
        let text = |value| {
            let mut out = Vec::new();
            decimal(value, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            (text(0), text(13), text(usize::MAX)),
            ("0".into(), "13".into(), usize::MAX.to_string())
        );
    }
}
