//! The consequences of an error: whether another proxy is tried, and the exit code.

use std::io;

use super::{Error, Kind, Peer, Phase};
use crate::os::exhaustion::Exhaustion;
use ptunnel_proto::values::HostPort;

impl Error {
    /// Returns whether the user's input is wrong, so that nothing was attempted.
    pub fn is_usage(&self) -> bool {
        matches!(*self.kind, Kind::Usage(_))
    }

    /// Returns whether no connection to the peer could be established: its name has no address, its
    /// addresses don't accept, or time ran out. `false` if this machine ran out of something.
    ///
    /// The only errors after which `--direct-fallback` applies.
    pub fn is_unreachable(&self) -> bool {
        match *self.kind {
            Kind::Resolve(_) | Kind::Connect(_) => !self.is_exhaustion(),
            Kind::TimedOut(phase, ..) => phase == Phase::Connecting,
            _ => false,
        }
    }

    /// Returns whether this machine had no descriptor, port or memory left for a connection to the
    /// peer. Then the error gives no information about the peer.
    pub fn is_exhaustion(&self) -> bool {
        self.exhaustion().is_some()
    }

    pub(super) fn exhaustion(&self) -> Option<Exhaustion> {
        match *self.kind {
            Kind::Resolve(_) | Kind::Locate(_) | Kind::Connect(_) => {
                self.io_cause().and_then(Exhaustion::of)
            }
            _ => None,
        }
    }

    /// Returns whether the error happened before any proxy was involved, or while a proxy that works
    /// waited for its target.
    pub fn is_no_proxys_fault(&self) -> bool {
        match *self.kind {
            Kind::Locate(_) => true,
            Kind::TimedOut(phase, ..) => phase == Phase::Locating || phase == Phase::Waiting,
            _ => self.is_exhaustion(),
        }
    }

    /// Returns whether a proxy behind the first one failed, to which the first one has opened a tunnel.
    pub(crate) fn is_of_via(&self) -> bool {
        match &*self.kind {
            Kind::Secure(peer)
            | Kind::Negotiation(peer)
            | Kind::Ended(peer)
            | Kind::Malformed(peer)
            | Kind::TimedOut(Phase::Handshaking, peer, _) => matches!(peer, Peer::Via(_)),
            _ => false,
        }
    }

    /// Returns whether the client left before its request was complete, which isn't a failure.
    pub fn is_departure(&self) -> bool {
        matches!(*self.kind, Kind::Left)
    }

    /// Returns whether the client was rejected because of earlier requests, which were logged.
    pub fn is_throttled(&self) -> bool {
        matches!(*self.kind, Kind::Throttled(_))
    }

    /// Returns whether the proxy refused, for any reason.
    pub fn is_refusal(&self) -> bool {
        matches!(*self.kind, Kind::Refused(..))
    }

    /// Returns whether the error is final: the proxy refused, TLS with the destination failed, or the
    /// proxy waited for it for too long. No other proxy is tried, unless the
    /// [configuration](ptunnel_proto::values::FailoverOn) allows it.
    pub fn is_answer(&self) -> bool {
        let is_of_waiting = matches!(*self.kind, Kind::TimedOut(Phase::Waiting, ..));
        self.is_refusal() || self.is_of_destinations_tls() || is_of_waiting
    }

    /// Returns whether the error is about this destination, so that others can still be reached.
    pub(crate) fn is_of_destination(&self) -> bool {
        self.is_answer() && !self.wants_credentials() || self.direct_failure().is_some()
    }

    /// Returns whether TLS with the destination failed or timed out.
    pub(crate) fn is_of_destinations_tls(&self) -> bool {
        matches!(
            *self.kind,
            Kind::Secure(Peer::Destination(_))
                | Kind::TimedOut(Phase::Handshaking, Peer::Destination(_), _)
        )
    }

    /// Returns whether the proxy requires credentials, or rejected those that it got.
    pub fn wants_credentials(&self) -> bool {
        self.refusal()
            .map_or(false, |refusal| refusal.wants_credentials())
    }

    /// Returns whether a phase took too long.
    pub fn is_timeout(&self) -> bool {
        matches!(*self.kind, Kind::TimedOut(..))
    }

    /// Returns whether the destination has only addresses to which ptunnel makes no connection.
    pub(crate) fn is_forbidden(&self) -> bool {
        self.direct_failure().map_or(false, is_forbidden)
    }

    /// Returns why a direct connection to the destination failed.
    pub(crate) fn direct_failure(&self) -> Option<&io::Error> {
        match *self.kind {
            Kind::Resolve(Peer::Destination(_)) | Kind::Connect(Peer::Destination(_)) => {
                self.io_cause().filter(|_| !self.is_exhaustion())
            }
            _ => None,
        }
    }

    /// Returns the peer with which TLS failed.
    pub(crate) fn failed_tls_peer(&self) -> Option<&HostPort> {
        match &*self.kind {
            Kind::Secure(peer) => Some(peer.address()),
            _ => None,
        }
    }

    /// Returns the exit code: 1 network, 2 usage, 3 the proxy refused, 4 the proxy requires (other)
    /// credentials.
    pub fn exit_code(&self) -> i32 {
        if self.is_usage() {
            2
        } else if self.wants_credentials() {
            4
        } else if self.is_refusal() {
            3
        } else {
            1
        }
    }
}

/// Returns whether ptunnel itself refused to connect: an error of the system has a number.
pub(super) fn is_forbidden(cause: &io::Error) -> bool {
    cause.kind() == io::ErrorKind::PermissionDenied && cause.raw_os_error().is_none()
}
