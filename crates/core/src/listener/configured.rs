//! The listeners of a configuration.

use std::sync::Arc;

use super::addr::ListenAddr;
use super::kind::ListenerKind;
use crate::config::{Config, Family, Route};
use crate::inbound::policy::Policy;
use crate::inbound::{DynamicConfig, Logins, RedirectConfig};
use crate::upstream::{ProxySelector, Tunnel};
use ptunnel_proto::values::{InheritedFd, ListenSpec};

/// A listener of a configuration.
#[derive(Debug)]
pub(super) struct ConfiguredListener<S = InheritedFd> {
    pub(super) kind: ListenerKind,
    pub(super) addr: ListenAddr<S>,
}

/// Returns the listeners of `config` in its order: tunnels, `-D`, `--redirect`, the embedded proxy.
/// Their clients are carried through the proxies of `selector`, and their passwords remembered and
/// counted in `logins`.
pub(super) fn listeners(
    config: &Config,
    selector: &Arc<ProxySelector>,
    logins: &Logins,
) -> Vec<ConfiguredListener<String>> {
    let tls = &config.listen_tls;
    let dynamic = DynamicConfig::new(selector, config.dynamic_user.as_ref());
    let mut dynamic = dynamic.sharing(logins).secured(tls);
    let policy = |spec| {
        Policy::new(spec)
            .sharing(logins)
            .secured(tls)
            .reaching(Route {
                send_proxy_protocol: config.route.send_proxy_protocol.clone(),
                family: Family {
                    own: selector.route().family.own.clone(),
                    ..Family::ANY
                },
                ..Route::default()
            })
            .balanced(!config.balancers.is_empty())
    };
    let mut policies: Vec<Policy> = config.serve.iter().cloned().map(policy).collect();
    if let Some(users) = &config.users {
        dynamic = dynamic.of_users(users, logins);
        policies = policies
            .into_iter()
            .map(|policy| policy.of_users(users, logins))
            .collect();
    }
    let tunnels = config.tunnels.iter().map(|spec| ConfiguredListener {
        kind: ListenerKind::Tunnel(Tunnel::new(spec.destination.clone(), selector)),
        addr: ListenAddr::new(&spec.listen, &config.listen),
    });
    let dynamic = config.dynamic.iter().map(|spec| ConfiguredListener {
        kind: ListenerKind::Dynamic(dynamic.clone()),
        addr: ListenAddr::new(spec, &config.listen),
    });
    let redirect = RedirectConfig::new(selector);
    let redirect = config.redirect.iter().map(|spec| ConfiguredListener {
        kind: ListenerKind::Redirect(redirect.clone()),
        addr: ListenAddr::new(&ListenSpec::Port(spec.clone()), &config.listen),
    });
    let proxy = config.serve.iter().zip(policies);
    let proxy = proxy.map(|(spec, policy)| ConfiguredListener {
        kind: ListenerKind::Proxy(policy),
        addr: ListenAddr::Port(spec.bind.clone(), spec.port),
    });
    let listeners = tunnels.chain(dynamic).chain(redirect);
    listeners.chain(proxy).collect()
}
