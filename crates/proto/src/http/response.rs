//! The head of a response: its status, and the fields that matter to a tunnel.

use super::field::{begun, check_lines, is_space, length, split, trim, unfolded};
use super::framing::{is_kept, Framing};
use super::head::{is_alert, is_http2, Malformed};
use crate::auth::{self, Challenge};

/// Maximum number of interim replies (1xx) that are skipped.
pub(crate) const INTERIM_LIMIT: u8 = 8;

/// The head of a proxy's response. Its text is from the network: escape it before showing it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Whether the version is HTTP/1.1, or a later minor one.
    pub is_modern: bool,
    /// Three digits, perhaps out of range: see [`status_class`](Response::status_class). 500 if the
    /// response has fewer or more, which are then in front of the reason.
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
    /// Where the body of a refusal ends, if its fields state one end.
    pub framing: Option<Framing>,
    /// Whether another response can follow a refusal on its connection.
    pub is_kept: bool,
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
    /// Any other: no tunnel. A status outside of 100 to 599 is one of 5xx (RFC 9110 §15), and no
    /// request has the `Upgrade` that 101 replies to (§15.2.2).
    Refused,
}

impl Response {
    /// Decodes a head of at most `limit` bytes; returns its length, too, or `None` if more bytes are
    /// needed.
    ///
    /// A refusal is one by its status line, whatever follows. In any other response, fields with an
    /// invalid name are ignored, as curl does. A lone LF may end a line, and a folded field value is one
    /// value (RFC 9112 §2.2, §5.2).
    ///
    /// # Errors
    ///
    /// [`Malformed`] if the bytes can't become an HTTP/1 response within the limit, or if it isn't a
    /// refusal and two recipients could read it differently.
    pub fn decode(bytes: &[u8], limit: usize) -> Result<Option<(Response, usize)>, Malformed> {
        if is_alert(bytes) {
            return Err(Malformed::Tls);
        }
        if is_http2(bytes) {
            return Err(Malformed::Http2);
        }
        let length = length(bytes);
        if let Some(length) = length.filter(|length| *length <= limit) {
            let head = &bytes[..length];
            let response = Response::read(head, false)?;
            if response.status_class() != StatusClass::Refused {
                check_lines(head)?;
            }
            return Ok(Some((response, length)));
        }
        let is_over = length.is_some() || bytes.len() >= limit;
        if is_over || begun(bytes).contains(&b'\n') {
            status_line(&unfolded(split(bytes).0), false).map_err(Malformed::Syntax)?;
        }
        if is_over {
            return Err(Malformed::TooLong(limit));
        }
        Ok(None)
    }

    /// Decodes a head that was cut, by a fault, its limit or the end of the connection; `None` if it grants
    /// the tunnel. A line that was cut is left out, apart from the status.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if the status can't be read.
    pub(crate) fn decode_cut(
        bytes: &[u8],
        _: usize,
    ) -> Result<Option<(Response, usize)>, Malformed> {
        let end = bytes.iter().rposition(|byte| *byte == b'\n');
        let lines = &bytes[..end.map_or(0, |end| end + 1)];
        let mut response = if begun(lines).is_empty() {
            let mut response = Response::read(bytes, true)?;
            response.reason.clear();
            response
        } else {
            Response::read(lines, false)?
        };
        response.is_kept = false;
        let is_grant = response.status_class() == StatusClass::Granted;
        Ok(Some((response, bytes.len())).filter(|_| !is_grant))
    }

    /// Reads a head; `is_cut` says whether its first line can continue.
    fn read(head: &[u8], is_cut: bool) -> Result<Response, Malformed> {
        let head = unfolded(head);
        let (first, fields) = split(&head);
        let values = |name| fields.values(name);
        let (is_modern, status, reason) = status_line(first, is_cut).map_err(Malformed::Syntax)?;
        let mut response = Response {
            is_modern,
            status,
            reason: reason.to_vec(),
            location: values("location")
                .find(|value| !value.is_empty())
                .map(<[u8]>::to_vec),
            squid_error: values("x-squid-error").next().map(<[u8]>::to_vec),
            challenges: Vec::new(),
            framing: None,
            is_kept: false,
            next_nonce: None,
        };
        let class = response.status_class();
        if class == StatusClass::Refused {
            response.framing = Framing::stated(is_modern, values).unwrap_or(None);
            response.is_kept = is_kept(is_modern, values);
        }
        if response.wants_credentials() {
            response.challenges = Challenge::read_all(values("proxy-authenticate"));
        } else {
            let mut infos = values("proxy-authentication-info");
            response.next_nonce = infos.find_map(|info| auth::parameter(info, "nextnonce"));
        }
        if class == StatusClass::Granted {
            let infos = values("proxy-authentication-info");
            let tokens = infos.chain(values("proxy-authenticate"));
            response.challenges = Challenge::read_all(tokens);
        }
        Ok(response)
    }

    /// Returns where the body ends, if another response can follow on the connection.
    pub(crate) fn kept_framing(&self) -> Option<Framing> {
        self.framing.filter(|_| self.is_kept)
    }

    /// Returns whether the proxy requires credentials (407).
    pub fn wants_credentials(&self) -> bool {
        self.status == 407
    }

    /// Returns the class of the status: 299 means what 200 does.
    pub fn status_class(&self) -> StatusClass {
        match self.status {
            101 => StatusClass::Refused,
            100..=199 => StatusClass::Interim,
            200..=299 => StatusClass::Granted,
            _ => StatusClass::Refused,
        }
    }
}

/// Parses a status line: whether the version is 1.1 or later, the status and the reason phrase. White
/// space between them can have any length (RFC 9112 §4). A line that is cut can lack digits.
fn status_line(line: &[u8], is_cut: bool) -> Result<(bool, u16, &[u8]), httparse::Error> {
    const VERSION: &[u8] = b"HTTP/1.";
    let minor = line.get(VERSION.len()).filter(|byte| byte.is_ascii_digit());
    let minor = minor.filter(|_| line.starts_with(VERSION));
    let minor = *minor.ok_or(httparse::Error::Version)?;
    let rest = &line[VERSION.len() + 1..];
    let code = trim(rest);
    let end = code.iter().position(|byte| is_space(*byte));
    let (digits, reason) = code.split_at(end.unwrap_or(code.len()));
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let is_apart = rest.first().map_or(false, |byte| is_space(*byte));
    if !is_number || !is_apart || is_cut && code.len() < 3 {
        return Err(httparse::Error::Status);
    }
    // As for curl, zeros before three digits count for nothing.
    let (zeros, last) = digits.split_at(digits.len().saturating_sub(3));
    if last.len() != 3 || zeros.iter().any(|digit| *digit != b'0') {
        // Invalid, which counts as 5xx (RFC 9110 §15).
        return Ok((minor != b'0', 500, code));
    }
    let number = |number, digit: &u8| 10 * number + u16::from(digit - b'0');
    let status = last.iter().fold(0, number);
    Ok((minor != b'0', status, trim(reason)))
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
    use crate::{HeadReader, HEAD_LIMIT};

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

    fn status_class(line: &str) -> StatusClass {
        decode(&format!("{}\r\n\r\n", line)).unwrap().status_class()
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
            "HTTP/1.1 0200 OK",
        ] {
            assert_eq!(status_class(line), StatusClass::Granted, "{}", line);
        }
        for line in &[
            "HTTP/1.1 101 Switching Protocols",
            "HTTP/1.1 301 x",
            "HTTP/1.1 407 x",
            "HTTP/1.1 471",
            "HTTP/1.1 503 x",
            // A client processes an invalid status as one of 5xx (RFC 9110 §15).
            "HTTP/1.1 099 x",
            "HTTP/1.1 600 x",
            "HTTP/1.1 999",
            "HTTP/1.1 20",
            "HTTP/1.1 2000 OK",
        ] {
            assert_eq!(status_class(line), StatusClass::Refused, "{}", line);
        }
        assert_eq!(
            status_class("HTTP/1.1 103 Early Hints"),
            StatusClass::Interim
        );
    }

    #[test]
    fn nearly_http_is_not_http() {
        let bad = [
            "HTTP/1.1 2e2 OK\r\n\r\n",
            "HTTP/1.1 \r\n\r\n",
            "HTTP/1.1200 OK\r\n\r\n",
            "HTTP/1.1 200OK\r\n\r\n",
            "HTTP/1. 200 OK\r\n\r\n",
            "SSH-2.0-OpenSSH_9.2\r\n",
            "HTTP/2 200\r\n\r\n",
            "ICY 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\rX: a\r\n\r\n",
            "HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n",
            "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
            "HTTP/1.1 200 OK\r\nHTTP/1.1 403 Forbidden\r\n\r\n",
            "HTTP/1.1 200 OK\r\n folded: y\r\n\r\n",
            "HTTP/1.1 103 x\r\nno colon\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
        ];
        for text in &bad {
            let decoded = Response::decode(text.as_bytes(), HEAD_LIMIT);
            assert!(decoded.is_err(), "{:?}: {:?}", text, decoded);
        }
    }

    /// Regression: a proxy's answer with such a line was no answer, and the next proxy was asked.
    #[test]
    fn fields_with_an_invalid_name_are_ignored() {
        let many = "X: y\r\n".repeat(300);
        for line in &[
            "X-Blocked By: policy\r\n",
            "X-Blocked-By : policy\r\n",
            "X: a\x01b\x7f\r\n",
            "X\x01: a\r\n",
            ": no name\r\n",
            &many,
        ] {
            for status in &["200 x", "403 x", "403\t  x", " 407   x ", "999 x"] {
                let text = format!(
                    "HTTP/1.1 {}\r\n{}Proxy-Authenticate:Basic\r\nLocation : a \r\nX: y\r\n{}\r\n",
                    status, line, line
                );
                for end in 0..text.len() {
                    let decoded = Response::decode(&text.as_bytes()[..end], HEAD_LIMIT);
                    assert_eq!(decoded, Ok(None), "{:?}", &text[..end]);
                }
                let response = decode(&text).unwrap();
                let code = status.trim()[..3].parse().unwrap();
                assert_eq!((response.status, &response.reason[..]), (code, &b"x"[..]));
                assert_eq!(response.location.as_deref(), Some(&b"a"[..]), "{:?}", text);
                let is_challenge = code == 200 || code == 407;
                assert_eq!(schemes(&response) == ["Basic"], is_challenge, "{:?}", text);
            }
        }
        for line in &[
            "X: a\rb\r\n",
            "a\0\r\n",
            "\rX: y\r\n",
            "no colon\r\n",
            " folded: y\r\n",
            "HTTP/1.1 200 OK\r\n",
        ] {
            let text = format!("HTTP/1.1 403 No\r\n{}\r\n", line);
            assert_eq!(decode(&text).unwrap().status, 403, "{:?}", line);
        }
    }

    #[test]
    fn a_refusal_needs_no_end_of_its_head() {
        let text = "\r\nHTTP/1.1 403 No\r\nLocation: a\r\nX-Squid-Error: b\r\n\r\n";
        let cut = |text: &str| Response::decode_cut(text.as_bytes(), HEAD_LIMIT);
        for end in 0..text.len() {
            let response = cut(&text[..end]).unwrap_or(None);
            assert_eq!(
                response.is_some(),
                end >= "\r\nHTTP/1.1 403".len(),
                "{}",
                end
            );
            if let Some((response, length)) = response {
                let has_ended = |line: &str| text[..end].contains(line);
                assert_eq!((response.status, length), (403, end));
                assert_eq!(response.reason == b"No", has_ended("No\r\n"), "{}", end);
                assert_eq!(response.location.is_some(), has_ended("a\r\n"), "{}", end);
                assert!(!response.is_kept);
            }
        }
        assert_eq!(cut("HTTP/1.1 200 OK\r\n"), Ok(None));
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
        assert!(refuses.framing.is_some() && refuses.challenges.is_empty());
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
