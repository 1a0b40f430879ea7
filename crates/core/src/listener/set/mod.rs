//! The open listeners of the process, and how a reload changes them.
//!
//! A listener that the new configuration has at the same address keeps its sockets: its port is never
//! closed. Only its settings can change, for the next client.
//!
//! Everything that can fail comes first: a new listener is bound, and registered with every thread,
//! before any listener accepts a client or an old one changes. So a configuration takes effect as a
//! whole or not at all.
//!
//! Must not hold code that polls or accepts: it knows the program's sockets only as `Listen`.
//! `listener::reload`, the program's `server` and the rungs of `compat/ladder` use it.

mod summary;
#[cfg(test)]
mod tests;

use std::mem;
use std::net::TcpListener;
use std::sync::{Arc, Weak};

use super::acl::IpAcl;
use super::addr::{resolve, BoundAddr, ListenAddr};
use super::bind::{bind, bind_on, BoundListener, Listen, SocketsClosed, SocketsGuard};
use super::configured::ConfiguredListener;
use super::kind::ListenerKind;
use super::settings::{Limits, ListenerHandle, ListenerSettings};
use super::validate::checked_listeners;
use crate::config::{Config, StatusSpec};
use crate::error::Error;
use crate::inbound::Logins;
use crate::observe::diagnose::PathOpener;
use crate::observe::status::{self, Registry};
use crate::observe::turned_away::TurnedAway;
use crate::os::own_sockets::{OwnListener, OwnSockets};
use crate::os::resolver;
use crate::upstream::{Prober, ProxySelector, Serving};
use ptunnel_proto::values::InheritedFd;

pub(crate) use self::summary::print_lines;
pub use self::summary::ReloadSummary;

/// The listeners of each thread.
pub type BoundListeners<L> = Vec<Vec<BoundListener<L>>>;

/// The open listeners of the process.
#[derive(Debug)]
pub struct ListenerSet {
    threads: usize,
    /// Counts the clients that `--allow-from` excludes, across reloads.
    turned_away: TurnedAway,
    /// The passwords and the wrong guesses of clients, across reloads.
    logins: Logins,
    /// The listeners to which ptunnel must not connect, across reloads.
    own: OwnSockets,
    /// The status server's list of the listeners, if there is a status server.
    registry: Option<Arc<Registry>>,
    listeners: Vec<OpenListener>,
    /// Alive as long as one of them is open.
    serving: Weak<Serving>,
    /// The selector of the clients that connect now; `None` before the first configuration.
    selector: Option<Arc<ProxySelector>>,
}

/// One listener, on all threads.
#[derive(Debug)]
struct OpenListener {
    addr: ListenAddr<InheritedFd>,
    bound: BoundAddr,
    handle: ListenerHandle,
    /// For as long as a socket is open.
    open: Weak<SocketsGuard>,
    closed: SocketsClosed,
}

/// The listeners of a new configuration, ready to replace the open ones.
struct Plan {
    listeners: Vec<(ConfiguredListener, Planned)>,
    serving: Arc<Serving>,
    selector: Arc<ProxySelector>,
}

enum Planned {
    /// The open listener with this index stays.
    Kept(usize),
    /// A listener that is bound and doesn't accept clients yet.
    New(OpenListener),
}

impl ListenerSet {
    /// Binds every listener of the configuration once per thread, prints a line about each on stdout
    /// and starts the status server, which probes with `open_path`, if the configuration has one.
    /// Returns the listeners of each thread, too.
    ///
    /// # Errors
    ///
    /// A usage error when listeners conflict or are an open proxy, [`Error::listen`] for the first
    /// that can't be bound; nothing is printed then. The error of a write to stdout.
    pub fn open<L: Listen>(
        config: &Config,
        open_path: PathOpener,
    ) -> Result<(ListenerSet, BoundListeners<L>), Error> {
        let turned_away = TurnedAway::default();
        let bind_status = |spec: &StatusSpec| {
            let bound = bind_on(&spec.bind, spec.port, TcpListener::bind);
            bound.map_err(|e| e.listening_for("--status"))
        };
        let status = config.status.as_ref().map(bind_status).transpose()?;
        let registry = status
            .as_ref()
            .map(|_| Registry::new(turned_away.clone(), config.max_connections))
            .map(Arc::new);
        let mut set = ListenerSet {
            threads: config.threads,
            turned_away,
            logins: Logins::default(),
            own: OwnSockets::new(),
            registry,
            listeners: Vec::new(),
            serving: Weak::new(),
            selector: None,
        };
        let (plan, threads) = set.prepare(config)?;
        let mut summary = set.commit(plan, config, None);
        if let (Some(listening), Some(registry)) = (status, set.registry.as_ref()) {
            summary
                .lines
                .push(status::start(listening, registry, open_path)?);
        }
        print_lines(&summary.lines).map_err(|e| Error::other("cannot write to stdout", e))?;
        Ok((set, threads))
    }

    /// Makes the listeners those of `config`: binds new ones, changes the settings of kept ones and
    /// closes the others. Returns a summary when all of it is done. The number of threads stays.
    ///
    /// `register` gives each thread its new listeners, and returns when every thread has registered
    /// them with its reactor.
    ///
    /// # Errors
    ///
    /// A usage error when listeners conflict or are an open proxy, or when a PAC file with a new URL
    /// can't be fetched; [`Error::listen`] for the first that can't be bound, or the error of
    /// `register`. Nothing has changed then.
    pub fn follow<L: Listen, R>(
        &mut self,
        config: &Config,
        register: R,
    ) -> Result<ReloadSummary, Error>
    where
        R: FnOnce(BoundListeners<L>) -> Result<(), Error>,
    {
        let (plan, threads) = self.prepare(config)?;
        if let Err(e) = register(threads) {
            plan.abandon();
            return Err(e);
        }
        Ok(self.commit(plan, config, Some(Limits::of(config))))
    }

    /// Does everything that can fail, without a change of the open listeners.
    fn prepare<L: Listen>(&self, config: &Config) -> Result<(Plan, BoundListeners<L>), Error> {
        // Shared, so that all clients use what one of them learned about a dead proxy.
        let mut route = config.route.clone();
        route.family.own = self.own.clone();
        let serving = self.serving.upgrade().unwrap_or_default();
        let prober = Prober::new(&serving, &config.timeouts);
        let selector = match &self.selector {
            None => ProxySelector::first(route, prober),
            Some(former) => ProxySelector::replacing(route, former, prober)?,
        };
        let keepalive = config.timeouts.tcp_keepalive;
        let mut listeners = Vec::new();
        let mut threads: BoundListeners<L> = (0..self.threads).map(|_| Vec::new()).collect();
        for (configured, kept) in self.assign(checked_listeners(config, &selector, &self.logins)?) {
            let planned = if let Some(index) = kept {
                Planned::Kept(index)
            } else {
                let (bound, sockets, file) = bind(&configured, self.threads, keepalive)?;
                let (open, closed) = SocketsGuard::new(file, serving.clone());
                let handle = ListenerHandle::pending(configured.kind.clone());
                for (listeners, listening) in threads.iter_mut().zip(sockets) {
                    listeners.push(BoundListener {
                        handle: handle.clone(),
                        open: open.clone(),
                        listening,
                    });
                }
                Planned::New(OpenListener {
                    addr: configured.addr.clone(),
                    bound,
                    handle,
                    open: Arc::downgrade(&open),
                    closed,
                })
            };
            listeners.push((configured, planned));
        }
        let plan = Plan {
            listeners,
            serving,
            selector,
        };
        Ok((plan, threads))
    }

    /// Returns each configured listener with the index of the open one that continues as it, if
    /// any: first an open one with the same printed line, then one at the same address. A port that
    /// the system picks keeps its destination: clients read both from the printed line.
    fn assign(
        &self,
        configured: Vec<ConfiguredListener>,
    ) -> Vec<(ConfiguredListener, Option<usize>)> {
        let mut free: Vec<usize> = (0..self.listeners.len()).collect();
        let assigned = configured.into_iter().map(|listener| (listener, None));
        let mut assigned: Vec<(ConfiguredListener, Option<usize>)> = assigned.collect();
        for may_change in &[false, true] {
            for (wanted, kept) in &mut assigned {
                if kept.is_none() {
                    let may_change = *may_change && !wanted.addr.is_any_port();
                    let fits = |index: &usize| {
                        let open = &self.listeners[*index];
                        (may_change || open.is_like(wanted)) && open.is_at(&wanted.addr)
                    };
                    *kept = free.iter().position(fits).map(|found| free.remove(found));
                }
            }
        }
        assigned
    }

    /// Replaces the open listeners. Returns when those that aren't kept are closed.
    fn commit(&mut self, plan: Plan, config: &Config, limits: Option<Limits>) -> ReloadSummary {
        let acl = IpAcl::new(config.allow_from.clone(), &self.turned_away);
        let registry = self.registry.as_ref();
        let mut snapshot = registry.map(|registry| registry.begin(config, &plan.selector));
        let mut summary = ReloadSummary::default();
        let former = mem::take(&mut self.listeners);
        let mut former: Vec<Option<OpenListener>> = former.into_iter().map(Some).collect();
        for (ConfiguredListener { kind, addr }, planned) in plan.listeners {
            if kind.resolves_names() {
                resolver::expect_lookups();
            }
            let (listener, is_new) = match planned {
                Planned::Kept(index) => (former[index].take().expect("assigned once"), false),
                Planned::New(listener) => (listener, true),
            };
            let name = listener.bound.to_string();
            // The printed line lacks e.g. the credentials for a proxy.
            if is_new || kind != listener.handle.settings().kind {
                summary.lines.push(kind.line(&name));
                let names = if is_new {
                    &mut summary.opened
                } else {
                    &mut summary.changed
                };
                names.push(name.clone());
            } else {
                summary.kept += 1;
            }
            let snapshot = snapshot.as_mut();
            listener.handle.change(ListenerSettings {
                stats: snapshot.map(|snapshot| snapshot.add(&name, kind.info())),
                name: Some(name.into()),
                acl: acl.clone(),
                balancers: config.balancers.clone(),
                kind,
                limits: limits.clone(),
            });
            self.listeners.push(OpenListener { addr, ..listener });
        }
        let listening = self.listeners.iter().filter_map(OpenListener::as_own);
        let are_redirected = !config.redirect.is_empty();
        self.own.set(listening.collect(), are_redirected);
        let listeners = self.listeners.iter();
        listeners.for_each(|listener| listener.handle.start());
        let former: Vec<OpenListener> = former.into_iter().flatten().collect();
        former.iter().for_each(|listener| listener.handle.close());
        self.serving = Arc::downgrade(&plan.serving);
        if let Some(former) = self.selector.replace(plan.selector.clone()) {
            former.retire();
        }
        plan.selector.probe_all();
        if let (Some(registry), Some(snapshot)) = (registry, snapshot) {
            registry.publish(snapshot);
        }
        for listener in former {
            listener.closed.wait();
            summary.closed.push(listener.bound.to_string());
        }
        summary
    }
}

impl OpenListener {
    /// Returns whether the printed line about `other` would be the same.
    fn is_like(&self, other: &ConfiguredListener) -> bool {
        let name = self.bound.to_string();
        self.handle.settings().kind.line(&name) == other.kind.line(&name)
    }

    /// Returns what ptunnel must know not to connect to it, if it can.
    fn as_own(&self) -> Option<OwnListener> {
        let kind = &self.handle.settings().kind;
        match self.bound {
            BoundAddr::Ip(address) if kind.can_loop() => Some(OwnListener {
                address,
                is_tunnel: matches!(kind, ListenerKind::Tunnel(_)),
            }),
            _ => None,
        }
    }

    /// Returns whether it listens at `addr` already. An address with the same text isn't resolved
    /// again: a name that now has another meaning, or none, closes no port.
    fn is_at(&self, addr: &ListenAddr<InheritedFd>) -> bool {
        self.addr == *addr
            || match (&self.addr, addr) {
                (ListenAddr::Port(..), ListenAddr::Port(bind, port)) if *port != 0 => {
                    let addresses = resolve(bind, *port).unwrap_or_default();
                    let first = addresses.into_iter().next().map(BoundAddr::Ip);
                    first.as_ref() == Some(&self.bound)
                }
                (ListenAddr::Path(_), ListenAddr::Path(path)) => {
                    let open = self.open.upgrade();
                    open.map_or(false, |open| open.is_at(path))
                }
                _ => false,
            }
    }
}

impl Plan {
    /// Makes the threads close the new listeners, and waits for that.
    fn abandon(self) {
        for (_, planned) in self.listeners {
            if let Planned::New(listener) = planned {
                listener.handle.close();
                listener.closed.wait();
            }
        }
    }
}
