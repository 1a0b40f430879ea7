//! Why a request or its reply can't be forwarded, as the client and the log show it.

use std::error;
use std::fmt;
use std::io;

use super::super::body::BodyError;
use crate::text::escape::{excerpt, shown, Escaped};
use crate::{FramingError, Malformed};

/// Why a request can't be forwarded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForwardError {
    /// The target is in origin form or asterisk form, as for the server itself (RFC 9112 §3.2).
    Origin(String),
    /// The target isn't a URL.
    NoUrl(String),
    /// The URL is `https://`.
    Tls,
    /// The URL has this other scheme.
    Scheme(String),
    /// The URL has a userinfo part, which must not be sent (RFC 9110 §4.2.4).
    User,
    /// The URL has a fragment, which must not be sent (RFC 9110 §4.2.5, §7.1).
    Fragment,
    /// The host or the port is invalid, for this reason.
    Destination(String),
    /// Two recipients could find the end of the request in two places.
    Framing(FramingError),
    /// Some servers take this field for one that states the length of the body.
    Imitation(String),
    /// `Max-Forwards` is 0 (RFC 9110 §7.6.2).
    LastHop,
    /// `Max-Forwards` isn't a decimal number of at most 64 bits.
    Hops(String),
}

impl fmt::Display for ForwardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A query may hold a secret.
        let path = |target: &str| shown(target.split('?').next().unwrap_or_default());
        match self {
            ForwardError::Origin(target) => write!(
                f,
                "this is a proxy, not a web server; set it as http_proxy, and request http://HOST/, \
                 not {}",
                path(target)
            ),
            ForwardError::NoUrl(target) => write!(
                f,
                "only http:// URLs and CONNECT are served, not {}",
                path(target)
            ),
            ForwardError::Tls => f.write_str("https:// URLs must be requested with CONNECT"),
            ForwardError::Scheme(scheme) => write!(
                f,
                "only http:// URLs and CONNECT are served, not {}://",
                scheme
            ),
            ForwardError::User => {
                f.write_str("the URL of a request can't contain a username or a password")
            }
            ForwardError::Fragment => f.write_str("the URL of a request can't contain '#'"),
            ForwardError::Destination(why) => f.write_str(why),
            ForwardError::Framing(fault) => fault.fmt(f),
            ForwardError::Imitation(name) => write!(
                f,
                "some servers read the field '{}' as the length of the body",
                Escaped(name.as_bytes())
            ),
            ForwardError::LastHop => {
                f.write_str("Max-Forwards is 0, so the request ends at this proxy")
            }
            ForwardError::Hops(text) => write!(
                f,
                "Max-Forwards isn't a number: '{}'",
                Escaped(text.as_bytes())
            ),
        }
    }
}

impl error::Error for ForwardError {}

impl From<FramingError> for ForwardError {
    fn from(fault: FramingError) -> ForwardError {
        ForwardError::Framing(fault)
    }
}

/// Why a server's reply can't be forwarded. It converts into an [`io::Error`] of the kind
/// `InvalidData`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplyError {
    /// The head is invalid.
    Head(Malformed),
    /// Two recipients could find the end of the reply in two places.
    Framing(FramingError),
    /// A chunk of the body is invalid (RFC 9112 §7.1).
    Chunk,
    /// The connection ended before the head was complete.
    Missing,
}

impl fmt::Display for ReplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cannot forward the server's reply: ")?;
        match self {
            ReplyError::Head(fault) => f.write_str(&excerpt(&fault.to_string())),
            ReplyError::Framing(fault) => f.write_str(&excerpt(&fault.to_string())),
            ReplyError::Chunk => f.write_str("the body has an invalid chunk"),
            ReplyError::Missing => f.write_str("the connection ended before the head was complete"),
        }
    }
}

impl error::Error for ReplyError {}

impl From<Malformed> for ReplyError {
    fn from(fault: Malformed) -> ReplyError {
        ReplyError::Head(fault)
    }
}

impl From<FramingError> for ReplyError {
    fn from(fault: FramingError) -> ReplyError {
        ReplyError::Framing(fault.of_reply())
    }
}

impl From<BodyError> for ReplyError {
    fn from(_: BodyError) -> ReplyError {
        ReplyError::Chunk
    }
}

impl From<ReplyError> for io::Error {
    fn from(fault: ReplyError) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidData, fault)
    }
}
