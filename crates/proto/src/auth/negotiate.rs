//! Negotiate (RFC 4559): tokens of GSSAPI, which are Kerberos tickets as a rule.
//!
//! A first token may take a KDC's reply. So a [`ContextSource`] gets it before the negotiation begins,
//! and hands it over without waiting.

use std::fmt;

use base64::engine::general_purpose::STANDARD;
use base64::Engine;

use super::Challenge;
use crate::values::{Scheme, Secret};

/// A security context that ptunnel initiates with a proxy (RFC 2743 §1.1.3).
pub trait SecurityContext: Send {
    /// Takes the proxy's token. Returns the next token for the proxy, or `None` if the context is
    /// established: the proxy has proved that it is the one that the ticket is for.
    ///
    /// # Errors
    ///
    /// Why there is no context, as the library says it.
    fn step(&mut self, token: &[u8]) -> Result<Option<Vec<u8>>, String>;
}

/// A new security context with its first token.
pub type NewContext = (Box<dyn SecurityContext>, Vec<u8>);

/// Makes security contexts with one proxy.
pub trait ContextSource: fmt::Debug + Send + Sync {
    /// Returns whether [`take`](ContextSource::take) has a result at once. If not, one is sought, and
    /// the function that `wake` makes is called when it is time to ask again.
    fn is_ready(&self, wake: &mut dyn FnMut() -> Box<dyn FnOnce() + Send>) -> bool;

    /// Returns a context that no other tunnel has had. Never waits.
    ///
    /// # Errors
    ///
    /// Why there is none, as the library says it: e.g. there is no ticket, or none yet.
    fn take(&self) -> Result<NewContext, String>;
}

/// Returns the value of `Proxy-Authorization` with a token.
pub(super) fn value(token: &[u8]) -> Secret {
    Secret::new(format!("{} {}", Scheme::Negotiate, STANDARD.encode(token)))
}

/// Returns the proxy's token in its challenges. An invalid one is empty, which no mechanism accepts.
pub(super) fn token(challenges: &[Challenge]) -> Option<Vec<u8>> {
    let mut own = challenges.iter().filter(|c| c.is(Scheme::Negotiate));
    let token = own.find_map(|challenge| challenge.token.as_deref())?;
    Some(STANDARD.decode(token).unwrap_or_default())
}
