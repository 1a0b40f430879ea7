//! The causes of errors, as counters and logs distinguish them.

use super::{Error, Kind, Phase};

/// The cause in the log when the client left, which isn't a failure.
pub(crate) const LEFT: &str = "left";

/// A cause of errors, as counters, logs and advice distinguish them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A name has no address.
    Name,
    /// A connection was refused, or its peer is unreachable.
    Connection,
    /// No connection was established in time.
    ConnectTimeout,
    /// TLS failed, with the proxy or with the destination.
    Tls,
    /// The connection to the proxy ended or broke before the proxy replied.
    Lost,
    /// The proxy didn't reply in time.
    HandshakeTimeout,
    /// The proxy's reply isn't one in its protocol.
    Malformed,
    /// The proxy refused.
    Refused,
    /// The proxy requires credentials, or rejected them.
    Credentials,
    /// The embedded proxy rejected its client.
    Rejection,
    /// The PAC file named no path.
    Undecided,
    /// An open tunnel broke.
    RelayError,
    /// This machine has no descriptor, port or memory left.
    Exhaustion,
    /// Anything else, as the configuration or a listener.
    Other,
}

impl Cause {
    /// Each cause with its name in metrics and logs, in the order of declaration.
    pub(crate) const LABELS: [(Cause, &'static str); 14] = [
        (Cause::Name, "name"),
        (Cause::Connection, "connection"),
        (Cause::ConnectTimeout, "connect_timeout"),
        (Cause::Tls, "tls"),
        (Cause::Lost, "lost"),
        (Cause::HandshakeTimeout, "handshake_timeout"),
        (Cause::Malformed, "malformed"),
        (Cause::Refused, "refused"),
        (Cause::Credentials, "credentials"),
        (Cause::Rejection, "denied"),
        (Cause::Undecided, "undecided"),
        (Cause::RelayError, "cut"),
        (Cause::Exhaustion, "exhaustion"),
        (Cause::Other, "other"),
    ];

    /// Returns the name in metrics and logs.
    pub fn label(self) -> &'static str {
        Cause::LABELS[self as usize].1
    }
}

impl Error {
    /// Returns the cause, for counters and logs.
    pub fn cause(&self) -> Cause {
        match *self.kind {
            _ if self.is_exhaustion() => Cause::Exhaustion,
            Kind::Resolve(_) | Kind::Locate(_) => Cause::Name,
            Kind::Connect(_) => Cause::Connection,
            Kind::TimedOut(Phase::Connecting, ..) | Kind::TimedOut(Phase::Locating, ..) => {
                Cause::ConnectTimeout
            }
            Kind::TimedOut(Phase::Handshaking, ..) | Kind::TimedOut(Phase::Waiting, ..) => {
                Cause::HandshakeTimeout
            }
            Kind::Secure(_) => Cause::Tls,
            Kind::Negotiation(_) | Kind::Ended(_) => Cause::Lost,
            Kind::Malformed(_) => Cause::Malformed,
            Kind::Refused(..) if self.wants_credentials() => Cause::Credentials,
            Kind::Refused(..) => Cause::Refused,
            Kind::Rejection(_) | Kind::Throttled(_) => Cause::Rejection,
            Kind::Undecided(..) => Cause::Undecided,
            Kind::RelayError(_) => Cause::RelayError,
            Kind::Usage(_) | Kind::Listen(..) | Kind::Left | Kind::Other(_) => Cause::Other,
        }
    }
}
