//! The CONNECT negotiation with one proxy, over as many connections as its authentication needs.
//!
//! ```text
//!   [TLS] ──▶ connect ──granted──▶ the stream
//!     ▲         │
//!     └─ reach ─┘ the proxy wants its challenge answered on a new connection
//! ```

use log::debug;

use crate::io::{Rewind, Upstream};
use crate::{connect, secure};
use ptunnel_core::error::Error;
use ptunnel_core::observe::diagnose::{observe, PathEvent};
use ptunnel_core::upstream::Hop;
use ptunnel_proto::{Negotiation, Outcome};

/// Drives `negotiation` over `stream`, and over the connection that `reach` returns each time the
/// proxy of `hop` requires another one; each in TLS if the proxy speaks TLS.
///
/// Returns the stream that the proxy granted, which belongs to the caller. Dropping the future
/// closes the connection in use. It has no time limit: the caller sets one.
///
/// # Errors
///
/// The proxy's refusal, or why there is no reply.
pub async fn negotiate(
    mut stream: Rewind<Upstream>,
    mut negotiation: Negotiation,
    hop: &Hop,
    reach: impl AsyncFn() -> Result<Rewind<Upstream>, Error>,
) -> Result<Rewind<Upstream>, Error> {
    loop {
        observe(|| PathEvent::HopStarted(hop));
        stream = secure(stream, hop.peer(), &hop.spec().tls).await?;
        observe(|| PathEvent::NegotiationStarted(&negotiation));
        negotiation = match connect(stream, negotiation, hop).await? {
            Outcome::Granted(stream) => {
                observe(|| PathEvent::Granted);
                return Ok(stream.flatten());
            }
            Outcome::Redial(negotiation) => *negotiation,
        };
        observe(|| PathEvent::RedialStarted(&negotiation));
        debug!("{}: answering on a new connection", hop.peer());
        stream = match reach().await {
            Ok(stream) => stream,
            Err(e) => return Err(Error::redial(hop.peer(), e)),
        };
    }
}
