//! The text of an error, in one line.

use std::fmt;

use super::{CredentialsOption, Error, Kind, Phase};
use ptunnel_proto::text::seconds::Seconds;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.kind {
            Kind::Usage(message) => f.write_str(message)?,
            Kind::Listen(address, _) => write!(f, "cannot listen on {}", address)?,
            Kind::Resolve(peer) | Kind::Locate(peer) => write!(f, "cannot resolve {}", peer)?,
            Kind::Connect(peer) => write!(f, "cannot connect to {}", peer)?,
            Kind::Secure(peer) => write!(f, "TLS handshake with {} failed", peer)?,
            Kind::Negotiation(peer) => {
                write!(f, "lost the connection to {} before it replied", peer)?
            }
            Kind::Ended(peer) => write!(f, "{} closed the connection before it replied", peer)?,
            Kind::Malformed(peer) => write!(f, "{} sent an invalid reply", peer)?,
            Kind::TimedOut(Phase::Connecting, peer, limit) => write!(
                f,
                "connection to {} timed out after {}",
                peer,
                Seconds(*limit)
            )?,
            Kind::TimedOut(Phase::Locating, peer, limit) => write!(
                f,
                "name lookup for {} timed out after {}",
                peer,
                Seconds(*limit)
            )?,
            Kind::TimedOut(Phase::Handshaking, peer, limit)
            | Kind::TimedOut(Phase::Waiting, peer, limit) => {
                write!(f, "no reply from {} within {}", peer, Seconds(*limit))?
            }
            Kind::Refused(proxy, destination, refusal) => {
                write!(f, "{} refused {}: {}", proxy, destination, refusal)?;
                if let Some(hint) = refusal.hint() {
                    write!(
                        f,
                        "; {}",
                        CredentialsOption::of(proxy, refusal).hinted(hint)
                    )?;
                }
                if let Some(scheme) = refusal.other_scheme() {
                    let scheme = scheme.to_string().to_ascii_lowercase();
                    write!(
                        f,
                        "; if the proxy accepts only {}, add --proxy-auth {}",
                        scheme, scheme
                    )?;
                }
            }
            Kind::Rejection(how) | Kind::Throttled(how) => write!(f, "denied: {}", how)?,
            Kind::Left => f.write_str("client disconnected without a request")?,
            Kind::Undecided(file, destination) => write!(
                f,
                "PAC file {} returned no usable proxy for {}",
                file, destination
            )?,
            Kind::RelayError(destination) => write!(f, "the tunnel to {} was cut", destination)?,
            Kind::Other(what) => f.write_str(what)?,
        }
        if let Some(cause) = &self.cause {
            write!(f, ": {}", cause)?;
        }
        if let Some(hint) = self.listening_hint() {
            write!(f, "; {}", hint)?;
        }
        match self.exhaustion() {
            Some(exhaustion) => write!(f, "; {}", exhaustion),
            None => Ok(()),
        }
    }
}
