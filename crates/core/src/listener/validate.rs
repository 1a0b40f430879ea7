//! Refuses a configuration with listeners that conflict, that are an open proxy, or to which ptunnel
//! itself would connect.
//!
//! A reload checks listeners that stay open, too: an option can change what others mean. `ptunnel-cli` calls
//! [`check_each`] and [`check_loops`], which look at the configuration alone; the set calls
//! `checked_listeners`, which looks at inherited sockets, too, before anything is bound.

use std::sync::Arc;

use log::warn;

use super::addr::{BoundAddr, ListenAddr};
use super::configured::{listeners, ConfiguredListener};
use super::kind::ListenerKind;
use super::socket_activation::{self, InheritedFds};
use crate::config::{Config, Route};
use crate::error::Error;
use crate::inbound::Logins;
use crate::os::sys::is_inherited;
use crate::upstream::ProxySelector;
use ptunnel_proto::values::{HostPort, InheritedFd};

/// Returns the listeners of `config` for the checks, which need none of its proxies.
fn planned(config: &Config) -> Vec<ConfiguredListener<String>> {
    let selector = ProxySelector::new(Route::default());
    listeners(config, &selector, &Logins::default())
}

/// Checks the listeners of `config` and its status page.
///
/// # Errors
///
/// A usage error, and the index of the listener that caused it: tunnels, then listeners of `-D` and
/// `--redirect`, the embedded proxy and the status page.
pub fn check_each(config: &Config) -> Result<(), (usize, Error)> {
    let mut before: Vec<(String, ListenAddr)> = Vec::new();
    for (index, ConfiguredListener { kind, addr }) in planned(config).into_iter().enumerate() {
        let is_tcp = matches!(addr, ListenAddr::Port(..));
        let exposure = Exposure::new(&kind, addr.exposed_port(), is_tcp, config);
        permit(&kind, exposure, config).map_err(|e| (index, e))?;
        before.push((kind.label(), addr));
    }
    let status = config.status.iter();
    before.extend(status.map(|spec| {
        let addr = ListenAddr::Port(spec.bind.clone(), spec.port);
        ("--status".into(), addr)
    }));
    for (index, one) in before.iter().enumerate() {
        let mut others = before[..index].iter();
        if let Some(other) = others.find(|other| other.1.conflicts_with(&one.1)) {
            return Err((index, conflict(other, one)));
        }
    }
    Ok(())
}

/// Refuses a listener to which ptunnel itself would connect, as far as the addresses show: it would be
/// its own next client, without end.
///
/// # Errors
///
/// A usage error that names the proxy or the destination.
pub fn check_loops(config: &Config) -> Result<(), Error> {
    let route = &config.route;
    for ConfiguredListener { kind, addr } in planned(config) {
        if !kind.can_loop() {
            continue;
        }
        let refuse = |what: &str, address: &HostPort, fix: &str| {
            Err(Error::usage(format!(
                "loop: the {} {} leads to ptunnel's own listener {}; {}",
                what, address, addr, fix
            )))
        };
        let mut proxies = route.proxies.iter().map(|proxy| &proxy.address);
        if let Some(proxy) = proxies.find(|proxy| addr.is_at(proxy)) {
            return refuse("proxy", proxy, "name another with -p, or unset https_proxy");
        }
        let destinations = config.tunnels.iter().map(|spec| &spec.destination.address);
        let mut direct = destinations.filter(|destination| route.is_direct(destination));
        if let Some(destination) = direct.find(|destination| addr.is_at(destination)) {
            return refuse("destination", destination, "change one of them");
        }
    }
    Ok(())
}

/// Returns a warning when clients of other machines send passwords unencrypted to a port of `config`.
pub fn clear_passwords(config: &Config) -> Option<String> {
    let all = planned(config).into_iter();
    let exposed: Vec<String> = all
        .filter(|listener| listener.kind.takes_clear_passwords())
        .filter_map(|listener| listener.addr.exposed_port())
        .collect();
    Some(clear_passwords_at(&exposed.join(", "))).filter(|_| !exposed.is_empty())
}

fn clear_passwords_at(addresses: &str) -> String {
    format!(
        "passwords for {} cross the network unencrypted; add --listen-cert FILE, or bind to \
         127.0.0.1",
        addresses
    )
}

/// Returns the listeners of `config`, one for each inherited socket that `fd:NAME` means. Warns of
/// inherited sockets that no listener uses.
///
/// # Errors
///
/// A usage error when [`check_each`] or [`check_loops`] refuses the configuration, when a socket's
/// listener would be an open proxy, or when an inherited socket is missing or given twice;
/// [`Error::listen`] when an inherited descriptor is no socket.
pub(super) fn checked_listeners(
    config: &Config,
    selector: &Arc<ProxySelector>,
    logins: &Logins,
) -> Result<Vec<ConfiguredListener>, Error> {
    check_each(config).map_err(|(_, e)| e)?;
    check_loops(config)?;
    let mut sockets = InheritedFds::new(&config.inherited);
    let mut checked = Vec::new();
    for ConfiguredListener { kind, addr } in listeners(config, selector, logins) {
        let addrs = match addr {
            ListenAddr::Port(bind, port) => vec![ListenAddr::Port(bind, port)],
            ListenAddr::Path(path) => vec![ListenAddr::Path(path)],
            ListenAddr::Inherited(name) => {
                let sockets = sockets.take(&name)?.into_iter();
                sockets.cloned().map(ListenAddr::Inherited).collect()
            }
        };
        for addr in addrs {
            let (exposed_at, is_tcp) = reach(&addr)?;
            let exposure = Exposure::new(&kind, exposed_at, is_tcp, config);
            match (&addr, &exposure) {
                (ListenAddr::Inherited(_), Some(Exposure::At(at)))
                    if kind.takes_clear_passwords() =>
                {
                    warn!("{}", clear_passwords_at(at))
                }
                _ => {}
            }
            let kind = match (kind.clone(), &exposure) {
                (ListenerKind::Dynamic(dynamic), Some(_)) => {
                    ListenerKind::Dynamic(dynamic.exclude_local())
                }
                (ListenerKind::Redirect(redirect), Some(_)) => {
                    ListenerKind::Redirect(redirect.exclude_local())
                }
                (kind, _) => kind,
            };
            permit(&kind, exposure, config)?;
            checked.push(ConfiguredListener { kind, addr });
        }
    }
    for socket in sockets.unused() {
        if is_inherited(socket.descriptor).unwrap_or(false) {
            // Clients that connect to it would never be accepted.
            warn!("inherited socket {} is not used by any listener", socket);
        } else {
            warn!(
                "LISTEN_FDS counts {}, but no such socket was passed",
                socket
            );
        }
    }
    Ok(checked)
}

fn conflict(first: &(String, ListenAddr), second: &(String, ListenAddr)) -> Error {
    let (there, here) = (first.1.to_string(), second.1.to_string());
    Error::usage(if there == here {
        format!(
            "{} is given twice: for {} and for {}; change one of them",
            here, first.0, second.0
        )
    } else {
        format!(
            "{} for {} conflicts with {} for {}: one address includes the other; change one of them",
            there, first.0, here, second.0
        )
    })
}

/// How clients of other machines reach a listener.
enum Exposure {
    /// They can connect to this address.
    At(String),
    /// A balancer can connect them.
    Balanced,
}

impl Exposure {
    /// Returns the exposure of a listener; `exposed_at` is its address if other machines can connect
    /// to it.
    fn new(
        kind: &ListenerKind,
        exposed_at: Option<String>,
        is_tcp: bool,
        config: &Config,
    ) -> Option<Exposure> {
        let is_balanced = is_tcp && kind.can_be_balanced() && !config.balancers.is_empty();
        let balanced = Some(Exposure::Balanced).filter(|_| is_balanced);
        exposed_at.map(Exposure::At).or(balanced)
    }
}

/// Checks that a listener isn't an open proxy.
///
/// # Errors
///
/// A usage error that names the options which restrict the clients.
fn permit(kind: &ListenerKind, exposure: Option<Exposure>, config: &Config) -> Result<(), Error> {
    let exposure = match exposure {
        Some(exposure) if config.allow_from.is_empty() => exposure,
        _ => return Ok(()),
    };
    let (is_restricted, remedies) = match kind {
        ListenerKind::Tunnel(_) => (true, ""),
        ListenerKind::Dynamic(_) => (
            config.dynamic_user.is_some() || config.users.is_some(),
            "--users FILE, --dynamic-user USER:PASSWORD or ",
        ),
        ListenerKind::Redirect(_) => (false, ""),
        ListenerKind::Proxy(_) => (
            config.users.is_some()
                || config
                    .serve
                    .iter()
                    .any(|spec| spec.credentials.is_some() || !spec.allow.is_empty()),
            "--users FILE, --serve-user USER:PASSWORD, --serve-allow HOST or ",
        ),
    };
    if is_restricted {
        return Ok(());
    }
    let label = kind.label();
    Err(Error::usage(match exposure {
        Exposure::At(address) => format!(
            "{} {} would be an open proxy; bind it to 127.0.0.1, or add {}--allow-from CIDR",
            label, address, remedies
        ),
        Exposure::Balanced => format!(
            "{} would be an open proxy behind a balancer of --accept-proxy-protocol; add {}\
             --allow-from CIDR",
            label, remedies
        ),
    }))
}

/// Returns the address as text if other machines can connect to it, and whether it is a TCP socket.
fn reach(addr: &ListenAddr<InheritedFd>) -> Result<(Option<String>, bool), Error> {
    let socket = match addr {
        ListenAddr::Inherited(socket) => socket,
        ListenAddr::Port(..) => return Ok((addr.exposed_port(), true)),
        ListenAddr::Path(_) => return Ok((None, false)),
    };
    let (_, bound) = socket_activation::open(socket).map_err(|e| Error::listen(socket, e))?;
    let is_tcp = matches!(bound, BoundAddr::Ip(_));
    let exposed_at = Some(bound)
        .filter(BoundAddr::is_beyond_loopback)
        .map(|bound| bound.to_string());
    Ok((exposed_at, is_tcp))
}
