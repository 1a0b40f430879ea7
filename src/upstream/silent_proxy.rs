//! A proxy that doesn't reply, and the likely reason.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

use log::Level::Warn;

use super::Hop;
use crate::error::{Error, Peer, Phase, TunnelPath};
use crate::observe::logging::context::LogContext;
use crate::observe::logging::field::{self, Heading};

/// A SOCKS proxy answers the first message at once: it has nothing to look up or to connect for it.
const SUSPICIOUS: Duration = Duration::from_secs(3);

const SUSPICION: &str =
    "an HTTP proxy is silent where SOCKS is spoken: if it is one, write http://";

/// A proxy that hasn't replied to a request yet.
#[derive(Clone, Debug)]
pub struct SilentProxy {
    peer: Peer,
    /// Set for a SOCKS proxy.
    suspect: Option<Box<Suspect>>,
}

#[derive(Clone, Debug)]
struct Suspect {
    has_spoken: Arc<AtomicBool>,
    path: TunnelPath,
}

impl SilentProxy {
    pub(super) fn of(hop: &Hop, has_spoken: Option<Arc<AtomicBool>>) -> SilentProxy {
        let suspect = has_spoken.map(|has_spoken| {
            let proxies = hop.before().chain(Some(hop.spec()));
            let proxies = proxies.map(ToString::to_string).collect();
            Box::new(Suspect {
                has_spoken,
                path: TunnelPath::to(hop.target()).through(proxies),
            })
        });
        SilentProxy {
            peer: hop.peer(),
            suspect,
        }
    }

    /// Returns the proxy without a likely reason for its silence.
    pub(crate) fn without_suspicion(self) -> SilentProxy {
        SilentProxy {
            suspect: None,
            ..self
        }
    }

    /// Returns when to [warn](SilentProxy::warn), if at all.
    pub fn suspicious_after(&self) -> Option<Duration> {
        self.suspect.as_ref().map(|_| SUSPICIOUS)
    }

    /// Logs a warning that the proxy may speak HTTP, unless it has sent anything.
    pub fn warn(&self) {
        let suspect = match self.unheard() {
            Some(suspect) => suspect,
            None => return,
        };
        let context = LogContext::current();
        let heading = Heading(context.as_ref(), Some(&suspect.path));
        let silent = SUSPICIOUS.as_secs();
        field::log(
            Warn,
            format_args!(
                "{}no reply from {} for {} s: {}",
                heading, self.peer, silent, SUSPICION
            ),
            || suspect.path.fields(),
        );
    }

    /// Makes the error of a proxy that didn't reply within `limit`.
    pub fn error(&self, limit: Duration) -> Error {
        let why = self.unheard().map(|_| SUSPICION);
        Error::late(Phase::Handshaking, self.peer.clone(), limit, why)
    }

    fn unheard(&self) -> Option<&Suspect> {
        let suspect = self.suspect.as_deref();
        suspect.filter(|suspect| !suspect.has_spoken.load(Ordering::Relaxed))
    }
}
