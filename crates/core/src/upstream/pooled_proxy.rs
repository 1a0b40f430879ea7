//! A proxy of a pool: its configuration, its authentication state and its health.

use std::sync::Arc;

use super::health::Health;
use super::kerberos::Kerberos;
use crate::config::ProxySpec;
use ptunnel_proto::auth::{AuthCache, ContextSource};
use ptunnel_proto::values::{Protocol, Scheme, Schemes};

/// A proxy, shared by all pools that contain it.
#[derive(Debug)]
pub(super) struct PooledProxy {
    pub(super) spec: ProxySpec,
    /// Set if the proxy's protocol takes a password and there is one, or Kerberos tickets are used.
    pub(super) auth: Option<AuthCache>,
    pub(super) health: Arc<Health>,
}

impl PooledProxy {
    pub(super) fn new(spec: ProxySpec, schemes: &Schemes, health: Arc<Health>) -> PooledProxy {
        let credentials = spec.credentials.clone();
        let credentials = credentials.filter(|_| spec.protocol.has_password());
        let has_ticket = spec.protocol == Protocol::Http && schemes.allow(Scheme::Negotiate);
        let contexts = Some(&spec.address.host).filter(|_| has_ticket);
        let contexts = contexts.map(|host| Arc::new(Kerberos::new(host)) as Arc<dyn ContextSource>);
        let has_auth = credentials.is_some() || contexts.is_some();
        let auth = AuthCache::with_contexts(credentials, contexts, schemes.clone());
        PooledProxy {
            auth: Some(auth).filter(|_| has_auth),
            spec,
            health,
        }
    }
}
