//! Why a request isn't sent on, as its client and the log are told.

use std::error;
use std::fmt;

use crate::proto::FramingError;
use crate::text::escape::{shown, Escaped};

/// Why a request isn't sent on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForwardError {
    /// Its target is a path, as for the server itself.
    Origin(String),
    /// It is no URL at all.
    NoUrl(String),
    /// It is for a server that is spoken to in TLS.
    Tls,
    /// It has another scheme.
    Scheme(String),
    /// It holds a user, who is hidden from nobody there (RFC 9110 §4.2.4).
    User,
    /// It holds a fragment, which is the client's own business.
    Fragment,
    /// Its host or its port is none: why.
    Destination(String),
    /// Two readers could find its end in two places.
    Framing(FramingError),
    /// A field that some servers take for one that states where the request ends.
    Imitation(String),
    /// It may not be sent on, by its own `Max-Forwards`.
    LastHop,
    /// A `Max-Forwards` that is no number.
    Hops(String),
}

impl fmt::Display for ForwardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Behind a question mark there may be a secret, too.
        let path = |target: &str| shown(target.split('?').next().unwrap_or_default());
        match self {
            ForwardError::Origin(target) => write!(
                f,
                "this is a proxy, no web server: name it in http_proxy, and ask for http://HOST/, \
                 not for {}",
                path(target)
            ),
            ForwardError::NoUrl(target) => write!(
                f,
                "only http:// URLs and CONNECT are served, not {}",
                path(target)
            ),
            ForwardError::Tls => f.write_str("https:// has to be asked for with CONNECT"),
            ForwardError::Scheme(scheme) => write!(
                f,
                "only http:// URLs and CONNECT are served, not {}://",
                scheme
            ),
            ForwardError::User => {
                f.write_str("the URL of a request has no user and no password in it")
            }
            ForwardError::Fragment => f.write_str("the URL of a request has no '#' in it"),
            ForwardError::Destination(why) => f.write_str(why),
            ForwardError::Framing(fault) => fault.fmt(f),
            ForwardError::Imitation(name) => write!(
                f,
                "some servers take its field '{}' for one that states the length of its body",
                Escaped(name.as_bytes())
            ),
            ForwardError::LastHop => f.write_str("its Max-Forwards is 0: it ends at this proxy"),
            ForwardError::Hops(text) => write!(
                f,
                "its Max-Forwards isn't a number: '{}'",
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
