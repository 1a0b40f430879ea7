//! Why a request isn't sent on, as its client and the log are told.

use std::error;
use std::fmt;

use crate::proto::FramingFault;
use crate::text::escape::{shown, Escaped};

/// Why a request isn't sent on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForwardFault {
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
    Framing(FramingFault),
    /// A field that some servers take for one that states where the request ends.
    Imitation(String),
    /// It may not be sent on, by its own `Max-Forwards`.
    LastHop,
    /// A `Max-Forwards` that is no number.
    Hops(String),
}

impl fmt::Display for ForwardFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Behind a question mark there may be a secret, too.
        let path = |target: &str| shown(target.split('?').next().unwrap_or_default());
        match self {
            ForwardFault::Origin(target) => write!(
                f,
                "this is a proxy, no web server: name it in http_proxy, and ask for http://HOST/, \
                 not for {}",
                path(target)
            ),
            ForwardFault::NoUrl(target) => write!(
                f,
                "only http:// URLs and CONNECT are served, not {}",
                path(target)
            ),
            ForwardFault::Tls => f.write_str("https:// has to be asked for with CONNECT"),
            ForwardFault::Scheme(scheme) => write!(
                f,
                "only http:// URLs and CONNECT are served, not {}://",
                scheme
            ),
            ForwardFault::User => {
                f.write_str("the URL of a request has no user and no password in it")
            }
            ForwardFault::Fragment => f.write_str("the URL of a request has no '#' in it"),
            ForwardFault::Destination(why) => f.write_str(why),
            ForwardFault::Framing(fault) => fault.fmt(f),
            ForwardFault::Imitation(name) => write!(
                f,
                "some servers take its field '{}' for one that states the length of its body",
                Escaped(name.as_bytes())
            ),
            ForwardFault::LastHop => f.write_str("its Max-Forwards is 0: it ends at this proxy"),
            ForwardFault::Hops(text) => write!(
                f,
                "its Max-Forwards isn't a number: '{}'",
                Escaped(text.as_bytes())
            ),
        }
    }
}

impl error::Error for ForwardFault {}

impl From<FramingFault> for ForwardFault {
    fn from(fault: FramingFault) -> ForwardFault {
        ForwardFault::Framing(fault)
    }
}
