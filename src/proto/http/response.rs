//! The head of a response: its status, and the fields that matter to a tunnel.

use super::framing::Framing;
use super::head::{is_alert, is_http2, values, within, Malformed, FIELD_LIMIT};
use crate::proto::auth::{self, Challenge};

/// Maximum number of interim replies (1xx) that are skipped.
pub(in crate::proto) const INTERIM_LIMIT: u8 = 8;

/// The head of a proxy's response. Its text is from the network: escape it before showing it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Three digits, perhaps out of range: see [`status_class`](Response::status_class).
    pub status: u16,
    /// The reason phrase, often empty.
    pub reason: Vec<u8>,
    /// The value of `Location`, which e.g. a network's login page sends.
    pub location: Option<Vec<u8>>,
    /// The value of `X-Squid-Error`, e.g. `ERR_CONNECT_FAIL 111`.
    pub squid_error: Option<Vec<u8>>,
    /// The challenges of a 407, in their order (RFC 9110 §11.7.1). In a 2xx, where Negotiate has the
    /// proxy's last token (RFC 4559 §4.2).
    pub challenges: Vec<Challenge>,
    /// The body of a 407 that another response can follow; `None` if the connection can't be reused.
    pub framing: Option<Framing>,
    /// `nextnonce` of a response other than 407 (RFC 7616 §3.5).
    pub next_nonce: Option<String>,
}

/// The class of a response's status (RFC 9110 §15), as it matters to CONNECT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusClass {
    /// 1xx except 101: another response follows.
    Interim,
    /// 2xx: the tunnel is open, and the bytes after the head are the destination's, even if fields
    /// state a body (RFC 9110 §9.3.6).
    Granted,
    /// 3xx to 5xx: no tunnel.
    Refused,
}

impl Response {
    /// Decodes a head of at most `limit` bytes; returns its length, too, or `None` if more bytes are
    /// needed.
    ///
    /// A lone LF may end a line, and a folded field value is one value (RFC 9112 §2.2, §5.2).
    ///
    /// # Errors
    ///
    /// [`Malformed`] if the bytes can't become an HTTP/1 response within the limits.
    pub fn decode(bytes: &[u8], limit: usize) -> Result<Option<(Response, usize)>, Malformed> {
        let mut fields = [httparse::EMPTY_HEADER; FIELD_LIMIT];
        let mut response = httparse::Response::new(&mut fields);
        let status = httparse::ParserConfig::default()
            .allow_obsolete_multiline_headers_in_responses(true)
            .parse_response(&mut response, bytes)
            .map_err(|e| match e {
                _ if is_alert(bytes) => Malformed::Tls,
                _ if is_http2(bytes) => Malformed::Http2,
                e => Malformed::from_httparse(e),
            })?;
        within(bytes, limit, status, || {
            let values = |name| values(response.headers, name);
            let mut head = Response {
                status: response.code.unwrap_or_default(),
                reason: response.reason.unwrap_or_default().as_bytes().to_vec(),
                location: values("location")
                    .find(|v| !v.is_empty())
                    .map(<[u8]>::to_vec),
                squid_error: values("x-squid-error").next().map(<[u8]>::to_vec),
                challenges: Vec::new(),
                framing: None,
                next_nonce: None,
            };
            if head.wants_credentials() {
                head.challenges = Challenge::read_all(values("proxy-authenticate"));
                let is_modern = response.version == Some(1);
                head.framing = Framing::of_kept(is_modern, values);
            } else {
                let mut infos = values("proxy-authentication-info");
                head.next_nonce = infos.find_map(|info| auth::parameter(info, "nextnonce"));
            }
            if head.status_class() == Ok(StatusClass::Granted) {
                let infos = values("proxy-authentication-info");
                let tokens = infos.chain(values("proxy-authenticate"));
                head.challenges = Challenge::read_all(tokens);
            }
            Ok(head)
        })
    }

    /// Returns whether the proxy requires credentials (407).
    pub fn wants_credentials(&self) -> bool {
        self.status == 407
    }

    /// Returns the class of the status: 299 means what 200 does.
    ///
    /// # Errors
    ///
    /// [`Malformed::Status`] outside of 100 to 599, [`Malformed::Switching`] for 101.
    pub fn status_class(&self) -> Result<StatusClass, Malformed> {
        match self.status {
            101 => Err(Malformed::Switching),
            100..=199 => Ok(StatusClass::Interim),
            200..=299 => Ok(StatusClass::Granted),
            300..=599 => Ok(StatusClass::Refused),
            status => Err(Malformed::Status(status)),
        }
    }
}

/// Returns the reason phrase of a status that ptunnel sends (RFC 9110 §15).
pub fn reason_phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        407 => "Proxy Authentication Required",
        429 => "Too Many Requests",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "",
    }
}

/// Encodes a whole response that closes the connection. Each of `fields` ends in CRLF.
pub fn encode_response(status: u16, fields: &str, text: &str) -> Vec<u8> {
    let mut reply = format!(
        "HTTP/1.1 {} {}\r\n{}",
        status,
        reason_phrase(status),
        fields
    );
    reply.push_str("Connection: close\r\nContent-Type: text/plain; charset=utf-8\r\n");
    reply.push_str(&format!(
        "Content-Length: {}\r\n\r\n{}\n",
        text.len() + 1,
        text
    ));
    reply.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{HeadReader, HEAD_LIMIT};

    fn decode(text: &str) -> Result<Response, Malformed> {
        let decoded = Response::decode(text.as_bytes(), HEAD_LIMIT)?;
        let (response, length) = decoded.expect("a whole head");
        assert_eq!(length, text.len(), "{:?}", text);
        Ok(response)
    }

    fn schemes(response: &Response) -> Vec<&str> {
        let challenges = response.challenges.iter();
        challenges
            .map(|challenge| challenge.scheme.as_str())
            .collect()
    }

    fn status_class(line: &str) -> Result<StatusClass, Malformed> {
        decode(&format!("{}\r\n\r\n", line))?.status_class()
    }

    #[test]
    fn every_prefix_is_partial() {
        let text = "HTTP/1.1 407 Auth\r\nProxy-Authenticate: Basic realm=\"a\"\r\nX: y\n\r\n";
        for end in 0..text.len() {
            let decoded = Response::decode(&text.as_bytes()[..end], HEAD_LIMIT);
            assert_eq!(decoded, Ok(None), "{:?}", &text[..end]);
        }
        assert_eq!(schemes(&decode(text).unwrap()), ["Basic"]);
    }

    #[test]
    fn bytes_after_the_head_are_left_alone() {
        let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n220 mail\r\n\r\n";
        let (_, length) = Response::decode(bytes, HEAD_LIMIT).unwrap().unwrap();
        assert_eq!(&bytes[length..], b"220 mail\r\n\r\n");
    }

    /// Regression: the reported error was that the proxy closed the connection.
    #[test]
    fn http2_is_recognized_without_waiting_for_more() {
        let settings: &[u8] = &[0, 0, 18, 4, 0, 0, 0, 0, 0];
        let goodbye: &[u8] = &[0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0];
        for frame in &[settings, goodbye] {
            let mut reader = HeadReader::new(HEAD_LIMIT);
            let error = reader.extend(frame, Response::decode);
            assert_eq!(error, Err(Malformed::Http2));
        }
        let mut reader = HeadReader::new(HEAD_LIMIT);
        let error = reader.extend(b"\0\0\x12\x01\0\0\0\0\x01\n", Response::decode);
        assert!(matches!(error, Err(Malformed::Syntax(_))), "{:?}", error);
    }

    #[test]
    fn judges_by_class() {
        for line in &[
            "HTTP/1.1 200 OK",
            "HTTP/1.0 204",
            "HTTP/1.1 205 ",
            "HTTP/1.1 299 x",
        ] {
            assert_eq!(status_class(line), Ok(StatusClass::Granted), "{}", line);
        }
        for line in &[
            "HTTP/1.1 301 x",
            "HTTP/1.1 407 x",
            "HTTP/1.1 471",
            "HTTP/1.1 503 x",
        ] {
            assert_eq!(status_class(line), Ok(StatusClass::Refused), "{}", line);
        }
        assert_eq!(
            status_class("HTTP/1.1 103 Early Hints"),
            Ok(StatusClass::Interim)
        );
        assert_eq!(
            status_class("HTTP/1.1 101 Switching Protocols"),
            Err(Malformed::Switching)
        );
        assert_eq!(status_class("HTTP/1.1 099 x"), Err(Malformed::Status(99)));
        assert_eq!(status_class("HTTP/1.1 600 x"), Err(Malformed::Status(600)));
    }

    #[test]
    fn nearly_http_is_not_http() {
        let bad = [
            "HTTP/1.1 2000 OK\r\n\r\n",
            "HTTP/1.1 20\r\n\r\n",
            "HTTP/1.1 200 O\rK\r\n\r\n",
            "SSH-2.0-OpenSSH_9.2\r\n",
            "HTTP/2 200\r\n\r\n",
            "ICY 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n",
            "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        ];
        for text in &bad {
            let decoded = Response::decode(text.as_bytes(), HEAD_LIMIT);
            assert!(decoded.is_err(), "{:?}: {:?}", text, decoded);
        }
    }

    /// An alert has no line end.
    #[test]
    fn a_tls_alert_is_recognized_without_waiting_for_more() {
        let mut head = HeadReader::new(HEAD_LIMIT);
        let answer = head.extend(&[21, 3, 3, 0, 2, 2, 40], Response::decode);
        assert_eq!(answer, Err(Malformed::Tls));
    }

    #[test]
    fn a_folded_value_is_one_value() {
        let response =
            decode("HTTP/1.1 407 x\r\nProxy-Authenticate: Digest realm=\"a\",\r\n Basic\r\n\r\n");
        assert_eq!(schemes(&response.unwrap()), ["Digest", "Basic"]);
    }

    #[test]
    fn only_a_407_is_a_challenge() {
        let fields = "Proxy-Authenticate: Basic\r\nContent-Length: 5\r\n\r\n";
        let response = decode(&format!("HTTP/1.1 407 x\r\n{}", fields)).unwrap();
        assert!(response.framing.is_some() && !response.challenges.is_empty());
        let refuses = decode(&format!("HTTP/1.1 403 x\r\n{}", fields)).unwrap();
        assert!(refuses.framing.is_none() && refuses.challenges.is_empty());
    }

    #[test]
    fn a_grant_can_name_the_next_nonce() {
        let text = "HTTP/1.1 200 x\r\nProxy-Authentication-Info: nextnonce=\"a\", qop=auth\r\n\r\n";
        assert_eq!(decode(text).unwrap().next_nonce.as_deref(), Some("a"));
    }

    #[test]
    fn a_head_can_use_all_of_its_limit() {
        let mut head = b"HTTP/1.1 200 OK\r\nX: ".to_vec();
        head.resize(HEAD_LIMIT - 4, b'x');
        assert_eq!(Response::decode(&head, HEAD_LIMIT), Ok(None));
        head.extend_from_slice(b"\r\n\r\n");
        assert!(matches!(
            Response::decode(&head, HEAD_LIMIT),
            Ok(Some((_, HEAD_LIMIT)))
        ));
        head.insert(20, b'x');
        assert_eq!(
            Response::decode(&head, HEAD_LIMIT),
            Err(Malformed::TooLong(HEAD_LIMIT))
        );
    }
}
