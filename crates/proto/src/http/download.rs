//! A GET of a small document, such as a PAC file, and its reply.

use std::error;
use std::fmt;
use std::mem;

use super::body::{Body, BodyError};
use super::field::{split, unfolded};
use super::response::{reason_phrase, INTERIM_LIMIT};
use crate::auth::basic;
use crate::debug_by_name;
use crate::text::escape::shown;
use crate::values::PacUrl;
use crate::{with_bytes, Framing, FramingError, HeadReader, Malformed};
use crate::{Response, Secrets, StatusClass, HEAD_LIMIT};

/// Gathers the content of a reply with the status 200. No redirect is followed.
///
/// ```text
///   Head ──▶ Framed ──▶ Ended, after the last byte of the content
///    └─────▶ Unframed ▶ Ended, with the connection
/// ```
pub struct Download {
    state: State,
    /// Number of interim replies so far.
    interim: u8,
    content: Vec<u8>,
    /// Maximum size of the content.
    limit: usize,
    /// What the server has received in confidence.
    secrets: Secrets,
}

// The content is long.
debug_by_name!(Download);

enum State {
    Head(HeadReader),
    Framed(Body),
    Unframed,
    Ended,
}

/// Why a reply has no usable content. Displays escaped, as a clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DownloadError {
    /// The head is invalid.
    Head(Malformed),
    /// The head states no clear end of the content.
    Framing(FramingError),
    /// A chunk is invalid (RFC 9112 §7.1).
    Chunk,
    /// The connection ended before the content did.
    Incomplete,
    /// The content has more bytes than this limit.
    TooLong(usize),
    /// The status isn't 200: status, reason phrase and `Location`.
    Status(u16, Vec<u8>, Option<Vec<u8>>),
}

impl Download {
    /// Returns the request for a document (RFC 9112 §3.2.1), after which the connection ends.
    pub fn request(url: &PacUrl) -> Vec<u8> {
        let authorization = url.credentials.as_ref().map(basic);
        let mut head = [
            &b"GET "[..],
            url.target.reveal().as_bytes(),
            b" HTTP/1.1\r\nHost: ",
            url.authority.as_bytes(),
            b"\r\nUser-Agent: ptunnel/",
            env!("CARGO_PKG_VERSION").as_bytes(),
            b"\r\nAccept: */*\r\nConnection: close\r\n",
        ]
        .concat();
        if let Some(value) = authorization {
            head.extend_from_slice(b"Authorization: ");
            head.extend_from_slice(value.reveal().as_bytes());
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(b"\r\n");
        head
    }

    /// Returns what a [`request`](Download::request) has in confidence: the credentials and the query.
    pub fn secrets(url: &PacUrl) -> Secrets {
        let mut secrets = Secrets::default();
        if let Some(credentials) = &url.credentials {
            secrets.add_credentials(credentials);
            secrets.add_authorization(&basic(credentials));
        }
        let query = url.target.reveal().splitn(2, '?').nth(1);
        secrets.add_parts(query.unwrap_or_default());
        secrets
    }

    /// Returns a reader of a reply with at most `limit` bytes of content, whose errors don't repeat
    /// `secrets`.
    pub fn new(limit: usize, secrets: Secrets) -> Download {
        Download {
            state: State::Head(HeadReader::new(HEAD_LIMIT)),
            interim: 0,
            content: Vec::new(),
            limit,
            secrets,
        }
    }

    /// Adds bytes from the server; an empty piece means the end of its connection. Returns whether
    /// the content is complete.
    ///
    /// # Errors
    ///
    /// [`DownloadError`], after which the reader must not be used again.
    pub fn feed(&mut self, piece: &[u8]) -> Result<bool, DownloadError> {
        match mem::replace(&mut self.state, State::Ended) {
            State::Ended | State::Unframed if piece.is_empty() => return Ok(true),
            _ if piece.is_empty() => return Err(DownloadError::Incomplete),
            State::Head(reader) => self.feed_head(reader, piece)?,
            State::Framed(body) => self.feed_body(body, piece)?,
            State::Unframed => {
                self.state = State::Unframed;
                self.content.extend_from_slice(piece);
            }
            State::Ended => {}
        }
        if self.content.len() > self.limit {
            return Err(DownloadError::TooLong(self.limit));
        }
        Ok(matches!(self.state, State::Ended))
    }

    /// Returns the content so far.
    pub fn into_content(self) -> Vec<u8> {
        self.content
    }

    fn feed_head(&mut self, mut reader: HeadReader, piece: &[u8]) -> Result<(), DownloadError> {
        let mut decoded = reader.extend(piece, with_bytes(Response::decode))?;
        while let Some((response, head)) = decoded {
            if response.status_class() != StatusClass::Interim {
                return self.begin(response, &head, &reader.into_rest());
            }
            self.interim += 1;
            if self.interim > INTERIM_LIMIT {
                return Err(Malformed::TooManyInterim.into());
            }
            decoded = reader.decode(with_bytes(Response::decode))?;
        }
        self.state = State::Head(reader);
        Ok(())
    }

    /// Begins the content, with the bytes that followed the head.
    fn begin(&mut self, reply: Response, head: &[u8], rest: &[u8]) -> Result<(), DownloadError> {
        let Response {
            is_modern,
            status,
            reason,
            location,
            ..
        } = reply;
        if status != 200 {
            let hide = |text: &[u8]| self.secrets.hide(text, false);
            let (reason, location) = (hide(&reason), location.as_deref().map(hide));
            return Err(DownloadError::Status(status, reason, location));
        }
        let head = unfolded(head);
        let (_, fields) = split(&head);
        match Framing::stated(is_modern, |name| fields.values(name))? {
            Some(Framing::Length(length)) if length > self.limit as u64 => {
                Err(DownloadError::TooLong(self.limit))
            }
            Some(framing) => self.feed_body(Body::new(framing), rest),
            None => {
                self.state = State::Unframed;
                self.content.extend_from_slice(rest);
                Ok(())
            }
        }
    }

    fn feed_body(&mut self, mut body: Body, piece: &[u8]) -> Result<(), DownloadError> {
        body.take_content(piece, &mut self.content)?;
        if !body.has_ended() {
            self.state = State::Framed(body);
        }
        Ok(())
    }
}

impl fmt::Display for DownloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DownloadError::Head(fault) => write!(f, "the reply is invalid: {}", fault),
            DownloadError::Framing(fault) => write!(f, "the reply is invalid: {}", fault),
            DownloadError::Chunk => f.write_str("the reply is invalid: a chunk has no valid size"),
            DownloadError::Incomplete => {
                f.write_str("the server closed the connection before the end of the file")
            }
            DownloadError::TooLong(limit) => write!(f, "the file has more than {} bytes", limit),
            DownloadError::Status(300..=399, _, Some(location)) => {
                let location = String::from_utf8_lossy(location);
                // A query may hold a secret.
                let location = location.split('?').next().unwrap_or_default();
                write!(
                    f,
                    "the server redirects to '{}', which ptunnel doesn't follow",
                    shown(location)
                )
            }
            DownloadError::Status(status, reason, _) => {
                let reason = match shown(&String::from_utf8_lossy(reason)) {
                    reason if reason.is_empty() => reason_phrase(*status).into(),
                    reason => reason,
                };
                write!(f, "the server replied {} {}", status, reason)?;
                match status {
                    401 => f.write_str(", so the URL must have a username and a password"),
                    _ => Ok(()),
                }
            }
        }
    }
}

impl error::Error for DownloadError {}

impl From<Malformed> for DownloadError {
    fn from(fault: Malformed) -> DownloadError {
        DownloadError::Head(fault)
    }
}

impl From<FramingError> for DownloadError {
    fn from(fault: FramingError) -> DownloadError {
        DownloadError::Framing(fault.of_reply())
    }
}

impl From<BodyError> for DownloadError {
    fn from(_: BodyError) -> DownloadError {
        DownloadError::Chunk
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 16;

    /// Returns the content of a reply, or the error, however the pieces are cut.
    fn content(reply: &str) -> Result<String, DownloadError> {
        let secrets = Download::secrets(&"http://joe:secret1@a/b?c=secret2".parse().unwrap());
        let fed = |pieces: &mut dyn Iterator<Item = &[u8]>| -> Result<String, DownloadError> {
            let mut download = Download::new(LIMIT, secrets.clone());
            for piece in pieces.chain(Some(&[][..])) {
                if download.feed(piece)? {
                    break;
                }
            }
            Ok(String::from_utf8(download.into_content()).unwrap())
        };
        let whole = fed(&mut Some(reply.as_bytes()).into_iter());
        assert_eq!(whole, fed(&mut reply.as_bytes().chunks(1)), "{:?}", reply);
        whole
    }

    #[test]
    fn content_ends_where_the_reply_states_it() {
        let ok = "HTTP/1.1 200 OK\r\n";
        for fields in &[
            "Content-Length: 3\r\n\r\nabc",
            "Content-Length: 3\r\n\r\nabcd",
            "Transfer-Encoding: chunked\r\n\r\n2;x=y\r\nab\r\n1\r\nc\r\n0\r\nT: u\r\n\r\n",
            "\r\nabc",
        ] {
            assert_eq!(content(&format!("{}{}", ok, fields)).unwrap(), "abc");
            let early = format!("HTTP/1.1 103 Early Hints\r\n\r\n{}{}", ok, fields);
            assert_eq!(content(&early).unwrap(), "abc");
        }
        assert_eq!(
            content("HTTP/1.0 200\r\nContent-Length: 0\r\n\r\n").unwrap(),
            ""
        );
    }

    /// Regression: such a PAC file couldn't be fetched.
    #[test]
    fn fields_with_an_invalid_name_are_ignored() {
        for line in &["Two Words: x", ": x", "X: a\u{1}b", "X : y"] {
            for length in &["Content-Length: 3", "Content-Length : 3", ""] {
                let reply = format!("HTTP/1.1  200  OK\r\n{}\r\n{}\r\n\r\nabc", line, length);
                let reply = reply.replace("\r\n\r\n\r\n", "\r\n\r\n");
                assert_eq!(content(&reply).unwrap(), "abc", "{:?}", reply);
            }
        }
    }

    #[test]
    fn a_part_of_a_reply_is_an_error() {
        for reply in &[
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        ] {
            for end in 0..reply.len() {
                let error = content(&reply[..end]).unwrap_err();
                assert_eq!(error, DownloadError::Incomplete, "{:?}", &reply[..end]);
            }
        }
    }

    #[test]
    fn content_beyond_the_limit_is_refused() {
        let ok = "HTTP/1.1 200 OK\r\n";
        let long = "x".repeat(LIMIT + 1);
        for reply in vec![
            format!("{}Content-Length: 17\r\n\r\n", ok),
            format!("{}\r\n{}", ok, long),
            format!("{}Transfer-Encoding: chunked\r\n\r\n11\r\n{}", ok, long),
        ] {
            assert_eq!(content(&reply), Err(DownloadError::TooLong(LIMIT)));
        }
        let most = format!("{}\r\n{}", ok, &long[1..]);
        assert_eq!(content(&most).unwrap().len(), LIMIT);
    }

    #[test]
    fn other_replies_are_errors_that_show_no_secret() {
        let ok = "HTTP/1.1 200 OK\r\n";
        for (reply, words) in &[
            ("HTTP/1.1 404 Gone\r\n\r\n".to_string(), "replied 404 Gone"),
            ("HTTP/1.1 404\r\n\r\n".into(), "replied 404 Not Found"),
            ("HTTP/1.1 401 No\r\n\r\n".into(), "URL must have a username"),
            ("HTTP/1.1 204 Empty\r\n\r\n".into(), "replied 204 Empty"),
            (
                "HTTP/1.1 302 x\r\nLocation: http://secret:secret@a/b?secret\r\n\r\n".into(),
                "redirects to '***@a/b', which",
            ),
            ("HTTP/1.1 304 x\r\n\r\n".into(), "replied 304 x"),
            ("HTTP/1.1 101 x\r\n\r\n".into(), "replied 101 x"),
            ("HTTP/1.1 999 x\r\n\r\n".into(), "replied 999 x"),
            (
                "HTTP/1.1 403 not secret1 of am9lOnNlY3JldDE=\r\n\r\n".into(),
                "replied 403 not *** of ***=",
            ),
            (
                "HTTP/1.1 302 x\r\nLocation: /login/secret2\r\n\r\n".into(),
                "redirects to '/login/***'",
            ),
            (
                format!("{}Content-Length: secret2\r\n\r\n", ok),
                "one number: '…'",
            ),
            (
                format!("{}Transfer-Encoding: secret2\r\n\r\n", ok),
                "'chunked': '…'",
            ),
            ("SSH-2.0-x\r\n".into(), "not HTTP/1"),
            (format!("{}Content-Length: x\r\n\r\n", ok), "Content-Length"),
            (
                format!("{}Transfer-Encoding: chunked\r\n\r\nx\r\n", ok),
                "a chunk",
            ),
            ("HTTP/1.1 100 x\r\n\r\n".repeat(9), "too many interim"),
        ] {
            let text = content(reply).unwrap_err().to_string();
            assert!(text.contains(words), "{}", text);
            assert!(!text.contains("secret"), "{}", text);
        }
    }

    #[test]
    fn a_request_has_the_credentials_of_the_url() {
        let url = "http://joe:x@a:81/b?c".parse().unwrap();
        let request = String::from_utf8(Download::request(&url)).unwrap();
        assert!(request.starts_with("GET /b?c HTTP/1.1\r\nHost: a:81\r\n"));
        assert!(request.ends_with("\r\nAuthorization: Basic am9lOng=\r\n\r\n"));
    }
}
