//! The meaning of OpenSSL's errors, for an error message.

use std::io;

use openssl::error::ErrorStack;
use openssl::ssl::{self, ErrorCode};

use crate::error::Advised;
use ptunnel_proto::values::TlsPeer;

/// A reason why there is no TLS with the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TlsFault {
    pub(super) text: String,
    /// Whether the text says what to do.
    pub(super) is_advised: bool,
}

impl TlsFault {
    pub(super) fn plain(text: impl Into<String>) -> TlsFault {
        let (text, is_advised) = (text.into(), false);
        TlsFault { text, is_advised }
    }

    pub(super) fn advised(text: impl Into<String>) -> TlsFault {
        let (text, is_advised) = (text.into(), true);
        TlsFault { text, is_advised }
    }

    pub(super) fn into_error(self, kind: io::ErrorKind) -> io::Error {
        if self.is_advised {
            io::Error::new(kind, Advised(self.text))
        } else {
            io::Error::new(kind, self.text)
        }
    }
}

/// Describes a TLS error for a log line: `UnexpectedEof` for an end without close_notify,
/// `InvalidData` for other TLS errors. Errors of the connection, `WouldBlock` too, pass unchanged.
pub fn explain(error: ssl::Error, peer: TlsPeer) -> io::Error {
    explain_with(
        error,
        peer,
        match peer {
            TlsPeer::Proxy | TlsPeer::PacServer => "use http://",
            TlsPeer::Destination => "check the port",
            TlsPeer::Client => TlsPeer::HTTPS_IN_CLIENT,
        },
    )
}

/// Describes a TLS error like [`explain`]; `otherwise` is the advice for a peer without TLS.
pub(super) fn explain_with(error: ssl::Error, peer: TlsPeer, otherwise: &str) -> io::Error {
    if is_end(&error) {
        return io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the connection ended without TLS close_notify; data may be missing",
        );
    }
    let error = match error.into_io_error() {
        Ok(e) => return e,
        Err(e) => e,
    };
    let reason = match error.ssl_error().and_then(reason) {
        Some(reason) => reason,
        None => return io::Error::new(io::ErrorKind::Other, error),
    };
    meaning(&reason, peer, otherwise).into_error(io::ErrorKind::InvalidData)
}

/// Returns whether the connection ended without close_notify: OpenSSL 1.1.1 reports that without a
/// reason, 3.0 with one.
pub(super) fn is_end(error: &ssl::Error) -> bool {
    match (error.code(), error.ssl_error()) {
        (ErrorCode::SYSCALL, None) => error.io_error().is_none(),
        (_, Some(stack)) => reason(stack).map_or(false, |r| r.starts_with("unexpected eof")),
        _ => false,
    }
}

/// Returns whether a read or write met a record without data, such as a session ticket; it can be
/// repeated at once.
pub fn is_without_data(error: &ssl::Error) -> bool {
    error.code() == ErrorCode::WANT_READ && error.io_error().is_none()
}

/// Returns whether the peer sent an alert, with the reason why it closes.
pub fn is_alert(error: &ssl::Error) -> bool {
    let reason = error.ssl_error().and_then(reason);
    reason.map_or(false, |reason| reason.contains(ALERT))
}

fn reason(stack: &ErrorStack) -> Option<String> {
    let mut reasons = stack.errors().iter().filter_map(|error| error.reason());
    reasons.next().map(str::to_string)
}

/// Part of every reason that is an alert of the peer.
const ALERT: &str = " alert ";

/// Describes OpenSSL's reason; by its text, since the crate doesn't define the numbers.
pub(super) fn meaning(reason: &str, peer: TlsPeer, otherwise: &str) -> TlsFault {
    if let Some(at) = reason.find(ALERT) {
        return alert_meaning(&reason[at + ALERT.len()..], peer);
    }
    let name = peer.messages().name;
    match reason {
        "wrong version number"
        | "unknown protocol"
        | "packet length too long"
        | "http request"
        | "https proxy request"
        | "record layer failure" => TlsFault::advised(format!(
            "{} doesn't speak TLS on this port; {}",
            name, otherwise
        )),
        "unsupported protocol" | "version too low" => TlsFault::advised(TOO_OLD),
        "no shared cipher" => TlsFault::advised(NO_CIPHER),
        _ => TlsFault::plain(format!("TLS error: {}", reason)),
    }
}

/// RFC 7301 §3.2; only a proxy is offered a protocol, so a destination doesn't send this alert.
const NO_HTTP_1_1: &str = "the proxy doesn't offer HTTP/1.1 (perhaps only HTTP/2), and ptunnel \
                           supports no other version; enable HTTP/1.1 on the proxy";

/// Only a server, which ptunnel is to a client of `--listen-cert`, finds this.
const NO_CIPHER: &str =
    "no common cipher; use a certificate with another kind of key, e.g. RSA or \
                         P-256, or a newer client";

const TOO_OLD: &str =
    "no common version of TLS; ptunnel requires TLS 1.2 or later, so enable one of them there";

/// Describes an alert of the peer (RFC 8446 §6.2).
fn alert_meaning(alert: &str, peer: TlsPeer) -> TlsFault {
    let messages = peer.messages();
    let (name, presented, cert) = (messages.name, messages.presented, messages.cert);
    match alert {
        "protocol version" => TlsFault::advised(TOO_OLD),
        "certificate required" => TlsFault::advised(format!(
            "{} requires a client certificate; set {}",
            name, cert
        )),
        "handshake failure" => match peer {
            // It isn't asked for a certificate.
            TlsPeer::Client => TlsFault::plain(format!("{} ended TLS: {}", name, alert)),
            _ => TlsFault::advised(format!(
                "{} ended the handshake; it may require a client certificate ({}), or other ciphers",
                name, cert
            )),
        },
        "bad certificate"
        | "unsupported certificate"
        | "certificate revoked"
        | "certificate expired"
        | "certificate unknown"
        | "unknown ca"
        | "access denied" => TlsFault::advised(format!(
            "{} rejected {}: {}; check {}",
            name, presented, alert, cert
        )),
        "no application protocol" => TlsFault::advised(NO_HTTP_1_1),
        "unrecognized name" => TlsFault::plain(format!(
            "{} has no certificate for this name: unrecognized name",
            name
        )),
        _ => TlsFault::plain(format!("{} ended TLS: {}", name, alert)),
    }
}
