//! The clients of balancers, `--accept-proxy-protocol`: a PROXY header names the client.

use super::settings::ListenerSettings;
use crate::error::Error;
use crate::observe::access_log::{self, ClientSession};
use crate::observe::logging::context::{LogContext, Origin};
use ptunnel_proto::proxy_protocol::{BadHeader, ClientAddresses};

impl ListenerSettings {
    /// Returns whether this peer is a balancer: its connection begins with a PROXY header, and only
    /// the client that the header names is checked against the ACL.
    pub fn is_balancer(&self, peer: Origin) -> bool {
        match peer {
            Origin::Address(address) if self.kind.can_be_balanced() => {
                let mut balancers = self.balancers.iter();
                balancers.any(|block| block.covers(address.ip()))
            }
            _ => false,
        }
    }

    /// Returns the context of the client that `balancer` has connected, and its addresses if the
    /// header has them. `None` if the header is wrong or the ACL excludes the client, which is logged.
    pub fn admit(
        &self,
        balancer: &LogContext,
        header: Result<Option<ClientAddresses>, Error>,
    ) -> Option<(LogContext, Option<ClientAddresses>)> {
        match header {
            Ok(addresses) => {
                let context = match &addresses {
                    Some(addresses) => balancer.for_client(Origin::Address(addresses.client)),
                    None => balancer.clone(),
                };
                Some((context, addresses)).filter(|(context, _)| self.acl.admits(context))
            }
            Err(e) => {
                drop(ClientSession::new(balancer.clone(), self.stats.as_ref()));
                access_log::unserved(balancer, self.stats.as_ref(), &e);
                None
            }
        }
    }
}

/// Returns the error of a balancer whose connection doesn't begin with a valid PROXY header.
pub fn bad_header(why: BadHeader) -> Error {
    Error::rejected(format!(
        "the balancer sent no valid PROXY header: {}; make it send one, or remove its address from \
         --accept-proxy-protocol",
        why
    ))
}

/// Returns the error of a balancer that didn't send its PROXY header in time.
pub fn late_header() -> Error {
    Error::rejected(
        "the balancer sent no PROXY header within the handshake timeout; make it send one, or \
         remove its address from --accept-proxy-protocol",
    )
}
