//! Forwarding of a request for an `http://` URL (RFC 9110 §7.6): the request is rewritten for the
//! server that the URL names, and the reply for the client.
//!
//! One connection carries one request. A [`RequestBoundary`] lets no bytes after the request through,
//! and a [`Reply`] none after the reply: they would pass for a request or a reply of another client.
//!
//! `Via` isn't added, although RFC 9110 §7.6.3 requires it of proxies: nginx doesn't compress replies to
//! requests that have it (`gzip_proxied`). Against loops, ptunnel doesn't connect to itself.
//!
//! Must not hold anything that reads, writes or waits, nor which requests are allowed. The
//! `inbound` module of `ptunnel-core` rewrites requests with it, and the program's `forward` and its
//! twin in r5 the replies.

mod error;
mod reply;
mod request_boundary;
mod url;

pub use self::error::{ForwardError, ReplyError};
pub use self::reply::Reply;
pub use self::request_boundary::{BrokenChunk, RequestBoundary};

use self::url::Url;
use super::field::{split, Field};
use super::framing::Framing;
use crate::debug_by_name;
use crate::values::HostPort;

/// Hop-by-hop fields of a request, even if `Connection` doesn't name them (RFC 9110 §7.6.1).
/// `Transfer-Encoding` isn't among them, because the body is forwarded unchanged; `Host` is rewritten.
const HOP_BY_HOP: [&str; 7] = [
    "connection",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "upgrade",
];

/// Methods for which `Max-Forwards` limits the number of hops (RFC 9110 §7.6.2).
const WITH_MAX_FORWARDS: [&str; 2] = ["OPTIONS", "TRACE"];

/// A request as it is forwarded.
#[derive(Clone, PartialEq, Eq)]
pub struct Forward {
    /// The server that the URL names.
    pub destination: HostPort,
    /// The rewritten head.
    pub head: Vec<u8>,
    /// Finds the end of that head and its body.
    pub boundary: RequestBoundary,
}

impl Forward {
    /// Rewrites a whole head for the server that its URL names (RFC 9112 §3.2.2, RFC 9110 §7.6).
    /// [`ConnectHead`](crate::ConnectHead) must have decoded it.
    ///
    /// Method, version and end-to-end fields stay, in their order and byte for byte; lines end in CRLF.
    ///
    /// # Errors
    ///
    /// [`ForwardError`] if the target isn't an `http://` URL, if `Max-Forwards` forbids it, or if two
    /// recipients could find the end of the request in two places.
    pub fn rewrite(head: &[u8]) -> Result<Forward, ForwardError> {
        let (first, fields) = split(head);
        let first = String::from_utf8_lossy(first);
        let mut parts = first.splitn(3, ' ');
        let mut part = || parts.next().unwrap_or_default();
        let (method, target, version) = (part(), part(), part());
        let version = version.trim_start_matches("HTTP/");

        let url = Url::read(method, target)?;
        if let Some(name) = fields.iter().find_map(|field| field.imitates_framing()) {
            return Err(ForwardError::Imitation(
                String::from_utf8_lossy(name).into(),
            ));
        }
        let is_modern = version == "1.1";
        let framing = Framing::stated(is_modern, |name| fields.values(name))?;
        // Without a framing a request has no body (RFC 9112 §6.3).
        let framing = framing.unwrap_or(Framing::Length(0));

        let mut head = format!("{} {} HTTP/{}\r\n", method, url.path, version).into_bytes();
        head.extend(format!("Host: {}\r\n", url.host).bytes());
        for field in fields.end_to_end(&HOP_BY_HOP) {
            if WITH_MAX_FORWARDS.contains(&method) && field.is("max-forwards") {
                head.extend(format!("Max-Forwards: {}\r\n", decremented(&field)?).bytes());
            } else {
                field.push_to(&mut head);
            }
        }
        head.extend_from_slice(b"Connection: close\r\n\r\n");
        Ok(Forward {
            destination: url.destination,
            boundary: RequestBoundary::new(head.len(), framing, method == "HEAD", is_modern),
            head,
        })
    }
}

// The head may hold credentials.
debug_by_name!(Forward);

/// Returns the `Max-Forwards` of the forwarded request: one less.
fn decremented(field: &Field) -> Result<u64, ForwardError> {
    let value = String::from_utf8_lossy(field.value());
    let hops = Some(&value).filter(|value| value.bytes().all(|b| b.is_ascii_digit()));
    let hops: Option<u64> = hops.and_then(|value| value.parse().ok());
    let hops = hops.ok_or_else(|| ForwardError::Hops(value.into()))?;
    hops.checked_sub(1).ok_or(ForwardError::LastHop)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{with_bytes, ConnectHead, FramingError, HEAD_LIMIT};

    /// Rewrites a request for this target with these fields, each of which ends in CRLF.
    fn rewritten(method: &str, target: &str, fields: &str) -> Result<Forward, ForwardError> {
        let head = format!("{} {} HTTP/1.1\r\n{}\r\n", method, target, fields);
        Forward::rewrite(head.as_bytes())
    }

    fn text(forward: &Forward) -> &str {
        std::str::from_utf8(&forward.head).unwrap()
    }

    #[test]
    fn the_request_is_in_origin_form() {
        let forward = rewritten(
            "GET",
            "http://Example.org/a%20b?c=d",
            "Host: other.example\r\nAccept:  */*\r\nx-odd:\t \"\u{e9}\" \r\nCookie: a=b\r\n",
        );
        let forward = forward.unwrap();
        assert_eq!(forward.destination.to_string(), "Example.org:80");
        assert!(
            !format!("{:?}", forward).contains("71, 69, 84"),
            "its bytes"
        );
        assert_eq!(
            text(&forward),
            "GET /a%20b?c=d HTTP/1.1\r\nHost: Example.org\r\nAccept:  */*\r\nx-odd:\t \"\u{e9}\" \r\n\
             Cookie: a=b\r\nConnection: close\r\n\r\n"
        );
        let old = Forward::rewrite(b"\r\nGET HTTP://a:8080 HTTP/1.0\nA: b\n\n").unwrap();
        assert_eq!(old.destination.to_string(), "a:8080");
        assert_eq!(
            text(&old),
            "GET / HTTP/1.0\r\nHost: a:8080\r\nA: b\r\nConnection: close\r\n\r\n"
        );
    }

    #[test]
    fn hop_by_hop_fields_are_removed() {
        let forward = rewritten(
            "POST",
            "http://a/",
            "connection: X-One, \tx-two,Content-Length, close\r\nX-One: 1\r\nKeep-Alive: 5\r\n\
             X-Three: 3\r\nProxy-Connection: keep-alive\r\nX-TWO:2\r\nTE: trailers\r\n\
             Proxy-Authorization: Basic am9lOng=\r\nUpgrade: h2c\r\nContent-Length: 5\r\n\
             Connection: X-Four\r\nX-Four: 4\r\nTrailer: A\r\nExpect: 100-continue\r\n\
             Via: 1.0 before\r\n",
        );
        assert_eq!(
            text(&forward.unwrap()),
            "POST / HTTP/1.1\r\nHost: a\r\nX-Three: 3\r\nContent-Length: 5\r\nTrailer: A\r\n\
             Expect: 100-continue\r\nVia: 1.0 before\r\nConnection: close\r\n\r\n"
        );
    }

    /// Stops a request that is forwarded in a loop.
    #[test]
    fn max_forwards_is_decremented_for_options_and_trace() {
        let counted = |method: &str, value: &str| -> Result<bool, ForwardError> {
            let fields = format!("MAX-Forwards:{}\r\n", value);
            let forward = rewritten(method, "http://a/", &fields)?;
            Ok(text(&forward).contains("\r\nMax-Forwards: 9\r\n"))
        };
        for method in &["OPTIONS", "TRACE"] {
            assert_eq!(counted(method, " 10 "), Ok(true));
            assert_eq!(counted(method, "0"), Err(ForwardError::LastHop));
            for value in &["", "+1", "1, 1", "18446744073709551616"] {
                let fault = ForwardError::Hops(value.to_string());
                assert_eq!(counted(method, value), Err(fault));
            }
        }
        assert_eq!(counted("GET", "10"), Ok(false));
        assert_eq!(counted("GET", "0"), Ok(false));
        assert_eq!(counted("options", "0"), Ok(false));
    }

    #[test]
    fn an_ambiguous_end_is_refused() {
        let coded = "Transfer-Encoding: chunked\r\n";
        for (fields, words) in &[
            ("Content-Length: 5\r\nContent-Length: 6\r\n", "'5, 6'"),
            ("Content-Length: 5\r\nContent-length: 5\r\n", "'5, 5'"),
            ("Content-Length: 5, 5\r\n", "'5, 5'"),
            ("Content-Length: +5\r\n", "'+5'"),
            ("Content-Length: 0x5\r\n", "'0x5'"),
            ("Content-Length:\r\n", "''"),
            (
                "Content-Length: 18446744073709551616\r\n",
                "'18446744073709551616'",
            ),
            (
                "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                "both",
            ),
            ("Transfer-Encoding: gzip\r\nContent-Length: 5\r\n", "both"),
            ("Transfer-Encoding: gzip\r\n", "'gzip'"),
            ("Transfer-Encoding: chunked, gzip\r\n", "'chunked, gzip'"),
            (
                "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                "'chunked, chunked'",
            ),
            ("Transfer-Encoding: , chunked\r\n", "', chunked'"),
            ("Transfer-Encoding: chunked,\r\n", "'chunked, '"),
            (
                "Transfer-Encoding: identity, chunked\r\n",
                "'identity, chunked'",
            ),
            ("Transfer-Encoding: gzip,\tChunked\r\n", "'gzip, chunked'"),
            ("Transfer-Encoding: identity\r\n", "'identity'"),
            ("Transfer_Encoding: chunked\r\n", "'Transfer_Encoding'"),
            ("transfer.encoding: x\r\n", "'transfer.encoding'"),
            ("CONTENT_LENGTH: 5\r\n", "'CONTENT_LENGTH'"),
            ("Transfer-Encoding: xchunked\r\n", "'xchunked'"),
            ("Transfer-Encoding: \u{a0}chunked\r\n", "chunked'"),
            ("Transfer-Encoding:\r\n", "''"),
        ] {
            let error = rewritten("POST", "http://a/", fields).unwrap_err();
            let error = error.to_string();
            assert!(error.contains(words), "{}: {}", fields, error);
        }
        let old = format!("POST http://a/ HTTP/1.0\r\n{}\r\n", coded);
        let error = Forward::rewrite(old.as_bytes()).unwrap_err();
        assert_eq!(error, FramingError::CodedTooEarly.into());
        for fields in &[
            coded,
            "Transfer-Encoding:\tChunked \r\n",
            "Content-Length: 0\r\n",
            "X_Transfer_Encoding: x\r\nContentLength: 5\r\nContent_Type: a\r\n",
        ] {
            assert!(rewritten("POST", "http://a/", fields).is_ok(), "{}", fields);
        }
    }

    /// Names of fields, some of which are hop-by-hop.
    fn names() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "Accept",
            "X-A",
            "x-b",
            "TE",
            "Upgrade",
            "keep-alive",
            "Proxy-Connection",
            "Trailer",
            "Via",
        ])
    }

    proptest! {
        /// Only the fields that `Connection` names and the hop-by-hop ones are removed.
        #[test]
        fn every_end_to_end_field_is_forwarded(
            fields in prop::collection::vec((names(), "[ -~\u{e9}]{0,9}"), 0..9),
            named in prop::collection::vec(names(), 0..3),
            is_crlf in any::<bool>(),
        ) {
            let end = if is_crlf { "\r\n" } else { "\n" };
            let lines: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{}:{}", name, value))
                .collect();
            let mut head = vec!["GET http://a/ HTTP/1.1".to_string()];
            head.extend(lines.iter().cloned());
            head.push(format!("Connection: {}", named.join(",")));
            let bytes = (head.join(end) + end + end).into_bytes();
            let decoded = with_bytes(ConnectHead::decode)(&bytes, HEAD_LIMIT);
            let whole = match decoded {
                Ok(Some(((_, whole), length))) if length == bytes.len() => whole,
                other => panic!("{:?} of {:?}", other, String::from_utf8_lossy(&bytes)),
            };
            let forward = Forward::rewrite(&whole).unwrap();
            let text = text(&forward);
            let sent: Vec<&str> = text.trim_end().split("\r\n").collect();
            let stays = |name: &str| {
                let name = name.to_lowercase();
                let always = ["te", "upgrade", "keep-alive", "proxy-connection"];
                !always.contains(&name.as_str())
                    && !named.iter().any(|other| other.to_lowercase() == name)
            };
            let kept = fields.iter().zip(&lines).filter(|((name, _), _)| stays(name));
            let mut expected = vec!["GET / HTTP/1.1", "Host: a"];
            expected.extend(kept.map(|(_, line)| line.as_str()));
            expected.push("Connection: close");
            prop_assert_eq!(sent, expected);
        }

        #[test]
        fn no_head_causes_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Forward::rewrite(&bytes);
        }
    }
}
