//! The CONNECT request that ptunnel sends (RFC 9110 §9.3.6), and the head of a client's request.

use std::fmt::Write;
use std::mem;

use super::head::{is_handshake, values, within, Malformed, FIELD_LIMIT};
use crate::values::{Header, HostPort, Secret};
use crate::Secrets;

/// A CONNECT request to a proxy: in authority form (RFC 9112 §3.2.3), `Host` equal to it, no content.
///
/// All parts were validated where they were parsed: none holds a line end.
#[derive(Clone, Debug)]
pub struct Request {
    target: HostPort,
    headers: Vec<Header>,
    authorization: Option<Secret>,
}

impl Request {
    /// Returns a request for a tunnel to `target`.
    pub fn connect(target: &HostPort) -> Request {
        Request {
            target: target.clone(),
            headers: Vec::new(),
            authorization: None,
        }
    }

    /// Adds a field after the others.
    pub fn header(mut self, header: Header) -> Request {
        self.headers.push(header);
        self
    }

    /// Sets the value of `Proxy-Authorization`, e.g. to that of [`basic`](crate::auth::basic).
    pub fn authorization(mut self, value: Secret) -> Request {
        self.authorize(Some(value));
        self
    }

    /// As [`authorization`](Request::authorization), in place; `None` for a request without one.
    /// Returns the value that it replaces.
    pub(crate) fn authorize(&mut self, value: Option<Secret>) -> Option<Secret> {
        mem::replace(&mut self.authorization, value)
    }

    /// Returns what the proxy receives in confidence.
    pub(crate) fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::default();
        self.headers.iter().for_each(|it| secrets.add_header(it));
        let authorization = self.authorization.iter();
        authorization.for_each(|it| secrets.add_authorization(it));
        secrets
    }

    /// Changes the destination.
    pub(crate) fn retarget(&mut self, target: HostPort) {
        self.target = target;
    }

    /// Returns the destination.
    pub(crate) fn target(&self) -> &HostPort {
        &self.target
    }

    /// Returns the bytes of the request.
    pub fn encode(&self) -> Vec<u8> {
        let target = &self.target;
        let mut head = format!("CONNECT {} HTTP/1.1\r\nHost: {}\r\n", target, target);
        let added = self.headers.iter().map(|h| (h.name(), h.value()));
        let credentials = self
            .authorization
            .iter()
            .map(|v| ("Proxy-Authorization", v.reveal()));
        for (name, value) in credentials.chain(added) {
            // Writing to a String does not fail.
            let _ = write!(head, "{}: {}\r\n", name, value);
        }
        head.push_str("\r\n");
        head.into_bytes()
    }
}

/// The head of a client's request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectHead {
    /// The method, such as `CONNECT`.
    pub method: String,
    /// The request target, not validated.
    pub target: String,
    /// The value of `Host`, not validated.
    pub host: Option<String>,
    /// The value of `Proxy-Authorization`.
    pub authorization: Option<Secret>,
}

impl ConnectHead {
    /// Decodes a head of at most `limit` bytes; returns its length, too, or `None` if more bytes are
    /// needed.
    ///
    /// # Errors
    ///
    /// [`Malformed`] if the bytes can't become an HTTP/1 request within the limits, or if another
    /// proxy could read another request in them: CONNECT with content, or more than one `Host`.
    pub fn decode(bytes: &[u8], limit: usize) -> Result<Option<(ConnectHead, usize)>, Malformed> {
        let mut fields = [httparse::EMPTY_HEADER; FIELD_LIMIT];
        let mut request = httparse::Request::new(&mut fields);
        let status = request
            .parse(bytes)
            .map_err(|e| match is_handshake(bytes) {
                true => Malformed::TlsClient,
                false => Malformed::from_httparse(e),
            })?;
        within(bytes, limit, status, || {
            let values = |name| values(request.headers, name);
            let method = request.method.unwrap_or_default();
            let has_content = values("transfer-encoding").next().is_some()
                || values("content-length").any(|length| length != b"0");
            if method == "CONNECT" && has_content {
                return Err(Malformed::Content);
            }
            if values("host").count() > 1 {
                return Err(Malformed::TooManyHosts);
            }
            let host = values("host").next();
            let authorization = values("proxy-authorization").next();
            let authorization =
                authorization.map(|value| Secret::new(String::from_utf8_lossy(value)));
            Ok(ConnectHead {
                method: method.to_string(),
                target: request.path.unwrap_or_default().to_string(),
                host: host.map(|value| String::from_utf8_lossy(value).into_owned()),
                authorization,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::Credentials;
    use crate::{auth, HEAD_LIMIT};

    fn encode(request: Request) -> String {
        String::from_utf8(request.encode()).unwrap()
    }

    #[test]
    fn names_host_and_port_twice_and_has_no_content() {
        let request = Request::connect(&"[2001:db8::1]:22".parse().unwrap());
        let expected = "CONNECT [2001:db8::1]:22 HTTP/1.1\r\nHost: [2001:db8::1]:22\r\n\r\n";
        assert_eq!(encode(request), expected);
    }

    #[test]
    fn carries_credentials_and_added_fields() {
        let credentials = Credentials::new("Aladdin", Secret::new("open sesame")).unwrap();
        let request = Request::connect(&"a:1".parse().unwrap())
            .header("X-Tag: 1".parse().unwrap())
            .authorization(auth::basic(&credentials));
        assert!(!format!("{:?}", request).contains("QWxhZGRpb"));
        assert_eq!(
            encode(request),
            "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\
             Proxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\nX-Tag: 1\r\n\r\n"
        );
    }

    #[test]
    fn refuses_requests_that_two_readers_would_read_differently() {
        let decode = |fields: &str| {
            let head = format!("CONNECT a:1 HTTP/1.1\r\n{}\r\n", fields);
            ConnectHead::decode(head.as_bytes(), HEAD_LIMIT).map(drop)
        };
        assert_eq!(decode("Host: a:1\r\nContent-Length: 0\r\n"), Ok(()));
        for fields in &[
            "Content-Length: 5\r\n",
            "Content-Length: 0\r\ncontent-length: 5\r\n",
            "Content-Length: +0\r\n",
            "Transfer-Encoding: chunked\r\n",
            "Transfer-Encoding: \r\n",
        ] {
            assert_eq!(decode(fields), Err(Malformed::Content), "{}", fields);
        }
        let hosts = decode("Host: a:1\r\nHost: a:1\r\n");
        assert_eq!(hosts, Err(Malformed::TooManyHosts));
        for fields in &[
            "Host : a:1\r\n",
            "Host: a:1\r\n more\r\n",
            "A: b\rHost: c\r\n",
        ] {
            assert!(decode(fields).is_err(), "{}", fields);
        }
    }

    #[test]
    fn decodes_its_own_request() {
        let credentials = Credentials::new("a", Secret::new("b")).unwrap();
        let bytes = Request::connect(&"example.org:22".parse().unwrap())
            .authorization(auth::basic(&credentials))
            .encode();
        for end in 0..bytes.len() {
            let decoded = ConnectHead::decode(&bytes[..end], HEAD_LIMIT);
            assert_eq!(decoded, Ok(None), "{}", end);
        }
        let expected = ConnectHead {
            method: "CONNECT".into(),
            target: "example.org:22".into(),
            host: Some("example.org:22".into()),
            authorization: Some(Secret::new("Basic YTpi")),
        };
        let decoded = ConnectHead::decode(&bytes, HEAD_LIMIT);
        assert_eq!(decoded, Ok(Some((expected, bytes.len()))));
    }
}
