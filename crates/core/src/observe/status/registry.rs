//! The listeners and proxies that the status server shows.
//!
//! A reload replaces the [`Snapshot`] as a whole. A listener is identified by its address and its
//! destination: while these stay the same, it keeps its counters, whichever proxies it uses. A
//! closed listener is shown while it has clients, and at least until the next reload, so that its
//! last numbers can be scraped. After that they are part of the totals only, which never decrease.

use std::fs;
use std::mem;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use crate::config::{Config, Timeouts};
use crate::observe::stats::{LastOutcome, LiveTunnel, Stats, Totals};
use crate::observe::turned_away::TurnedAway;
use crate::upstream::{FetchReport, ProxyHealth, ProxySelector, Tunnel};
use ptunnel_proto::sync::lock;

/// The state that the status server shows. It outlives reloads.
#[derive(Debug)]
pub(crate) struct Registry {
    /// Name of this machine, if known.
    pub(super) host: Option<String>,
    pub(super) started: SystemTime,
    pub(super) turned_away: TurnedAway,
    /// The value of `--max-connections`.
    pub(super) max_clients: Option<usize>,
    snapshot: Mutex<Snapshot>,
}

/// The listeners and proxies between two reloads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    pub(super) timeouts: Timeouts,
    /// The proxies of all clients that connected since the last reload.
    selector: Option<Arc<ProxySelector>>,
    pub(super) listeners: Vec<ListenerEntry>,
    /// Totals of the listeners that are no longer shown.
    retired: Totals,
}

/// The service of a listener, as the status server shows it.
#[derive(Clone, Debug)]
pub(crate) struct ListenerInfo {
    /// `tunnel`, `dynamic`, `redirect` or `proxy`.
    pub(crate) kind: &'static str,
    /// The destination and the proxies, as text.
    pub(crate) path: String,
    /// The tunnel, unless the clients choose their destinations.
    pub(crate) tunnel: Option<Tunnel>,
}

/// A listener with the counters of all its threads.
#[derive(Clone, Debug)]
pub(super) struct ListenerEntry {
    pub(super) name: String,
    pub(super) info: ListenerInfo,
    pub(super) stats: Stats,
    /// Whether it accepts clients. A closed listener keeps the clients that it has.
    pub(super) is_open: bool,
}

impl ListenerEntry {
    /// Whether the last client got no tunnel, for a reason that also applies to the next client. If
    /// clients choose their destinations, an unreachable destination is not such a reason.
    pub(super) fn is_failing(&self) -> bool {
        match self.stats.last_outcome() {
            Some(LastOutcome::Failed) => true,
            Some(LastOutcome::Answered) => self.info.tunnel.is_some(),
            Some(LastOutcome::Opened) | None => false,
        }
    }
}

/// Builds the snapshot after a reload.
pub(crate) struct SnapshotBuilder {
    snapshot: Snapshot,
    /// Listeners of the previous snapshot that haven't been added again.
    previous: Vec<ListenerEntry>,
}

impl Registry {
    pub(crate) fn new(turned_away: TurnedAway, max_clients: Option<usize>) -> Registry {
        Registry {
            host: host_name(),
            started: SystemTime::now(),
            turned_away,
            max_clients,
            snapshot: Mutex::default(),
        }
    }

    /// Starts the snapshot of a new configuration.
    pub(crate) fn begin(&self, config: &Config, selector: &Arc<ProxySelector>) -> SnapshotBuilder {
        let mut snapshot = self.snapshot();
        snapshot.timeouts = config.timeouts.clone();
        snapshot.selector = Some(selector.clone());
        SnapshotBuilder {
            previous: mem::take(&mut snapshot.listeners),
            snapshot,
        }
    }

    /// Replaces the current snapshot.
    pub(crate) fn publish(&self, next: SnapshotBuilder) {
        *lock(&self.snapshot) = next.build();
    }

    pub(super) fn snapshot(&self) -> Snapshot {
        lock(&self.snapshot).clone()
    }

    pub(super) fn uptime(&self) -> Duration {
        self.started.elapsed().unwrap_or_default()
    }
}

impl SnapshotBuilder {
    /// Adds a listener; returns the stats that count its clients.
    pub(crate) fn add(&mut self, name: &str, info: ListenerInfo) -> Stats {
        let destination = info.destination();
        let is_it =
            |entry: &ListenerEntry| entry.name == name && entry.info.destination() == destination;
        // Several sockets can have one address.
        if let Some(same) = self.snapshot.listeners.iter().find(|entry| is_it(entry)) {
            return same.stats.clone();
        }
        let stats = match self.previous.iter().position(is_it) {
            Some(index) => self.previous.remove(index).stats,
            None => Stats::default(),
        };
        self.snapshot.listeners.push(ListenerEntry {
            name: name.to_string(),
            info,
            stats: stats.clone(),
            is_open: true,
        });
        stats
    }

    fn build(self) -> Snapshot {
        let SnapshotBuilder {
            mut snapshot,
            previous,
        } = self;
        for listener in previous {
            let totals = listener.stats.totals();
            if listener.is_open || totals.clients > 0 {
                snapshot.listeners.push(ListenerEntry {
                    is_open: false,
                    ..listener
                });
            } else {
                snapshot.retired.add(&totals);
            }
        }
        snapshot
    }
}

impl Snapshot {
    /// Returns the totals of all listeners since the start.
    pub(super) fn totals(&self) -> Totals {
        let mut all = self.retired.clone();
        for listener in &self.listeners {
            all.add(&listener.stats.totals());
        }
        all
    }

    /// Returns the `most` oldest live tunnels, each with its listener, and the number of the
    /// others.
    pub(super) fn oldest(&self, most: usize) -> (Vec<(&ListenerEntry, Arc<LiveTunnel>)>, usize) {
        let mut all = Vec::new();
        let mut others = 0;
        for listener in &self.listeners {
            let (oldest, rest) = listener.stats.oldest(most);
            all.extend(oldest.into_iter().map(|tunnel| (listener, tunnel)));
            others += rest;
        }
        all.sort_by_key(|(_, tunnel)| tunnel.since);
        others += all.len().saturating_sub(most);
        all.truncate(most);
        (all, others)
    }

    /// Returns the proxies in the configured order, with their counters since the start.
    pub(super) fn proxies(&self) -> Vec<(String, ProxyHealth)> {
        let selector = self.selector.as_ref();
        selector.map_or_else(Vec::new, |selector| selector.health())
    }

    /// Returns the name of the PAC file, and its fetches if it is by URL.
    pub(super) fn pac(&self) -> Option<(String, Option<FetchReport>)> {
        self.selector.as_ref()?.pac_report()
    }

    /// Whether the proxies are a list, in which each proxy has a position.
    pub(super) fn are_listed(&self) -> bool {
        self.selector
            .as_ref()
            .map_or(true, |selector| selector.is_listed())
    }

    /// Returns the first open tunnel whose destination is known without a client.
    pub(super) fn first_tunnel(&self) -> Option<&Tunnel> {
        self.open()
            .find_map(|listener| listener.info.tunnel.as_ref())
    }

    /// Returns the listeners that accept clients.
    pub(super) fn open(&self) -> impl Iterator<Item = &ListenerEntry> {
        self.listeners.iter().filter(|listener| listener.is_open)
    }
}

impl ListenerInfo {
    /// Returns the destination of the clients; `*` when they choose it.
    pub(super) fn destination(&self) -> String {
        let tunnel = self.tunnel.as_ref();
        tunnel.map_or_else(|| "*".into(), |tunnel| tunnel.destination().to_string())
    }
}

/// Returns the hostname of this machine, or of the container that the process runs in.
fn host_name() -> Option<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    let name = name.trim();
    Some(name.to_string()).filter(|_| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Route;
    use crate::observe::access_log::Origin;
    use crate::observe::stats::ConnGuard;
    use crate::upstream::ProxyChain;
    use ptunnel_proto::values::HostPort;

    fn config(proxy: &str) -> Config {
        let route = Route {
            proxies: vec![proxy.parse().unwrap()],
            ..Route::default()
        };
        Config {
            route,
            ..Config::default()
        }
    }

    /// Publishes these listeners, which use this proxy; returns their stats.
    fn change(registry: &Registry, proxy: &str, listeners: &[(&str, &str)]) -> Vec<Stats> {
        let config = config(proxy);
        let selector = ProxySelector::new(config.route.clone());
        let mut next = registry.begin(&config, &selector);
        let all_stats = listeners.iter().map(|(name, destination)| {
            let tunnel = Tunnel::new(destination.parse::<HostPort>().unwrap(), &selector);
            let info = ListenerInfo {
                kind: "tunnel",
                path: tunnel.to_string(),
                tunnel: Some(tunnel),
            };
            next.add(name, info)
        });
        let all_stats = all_stats.collect();
        registry.publish(next);
        all_stats
    }

    /// Returns the listeners that are shown, with their clients, and the number of opened tunnels.
    fn shown(registry: &Registry) -> (Vec<String>, u64) {
        let snapshot = registry.snapshot();
        let listeners = snapshot.listeners.iter().map(|listener| {
            let mark = if listener.is_open { "" } else { "closed " };
            let clients = listener.stats.totals().clients;
            format!(
                "{}{} {} {}",
                mark,
                listener.name,
                listener.info.destination(),
                clients
            )
        });
        (listeners.collect(), snapshot.totals().opened())
    }

    fn owned(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| line.to_string()).collect()
    }

    fn opened(stats: &Stats) -> ConnGuard {
        let mut guard = stats.connected();
        let tunnel = LiveTunnel::new(Origin::Unix, "a:1".parse().unwrap(), ProxyChain::DIRECT);
        guard.opened(Duration::from_millis(1), tunnel);
        guard
    }

    #[test]
    fn a_listener_keeps_its_counters_whichever_proxy_it_uses() {
        let registry = Registry::new(TurnedAway::default(), None);
        let all_stats = change(&registry, "p:1", &[("l:1", "a:1"), ("l:2", "b:2")]);
        let _clients: Vec<_> = all_stats.iter().map(opened).collect();
        let again = change(&registry, "q:1", &[("l:2", "b:2"), ("l:1", "a:1")]);
        assert_eq!(again[0].totals().opened(), 1);
        assert_eq!(shown(&registry).0, ["l:2 b:2 1", "l:1 a:1 1"]);
        let snapshot = registry.snapshot();
        let proxies = snapshot.proxies().into_iter().map(|(proxy, _)| proxy);
        assert_eq!(proxies.collect::<Vec<String>>(), ["q:1"]);
    }

    /// The tunnels of each single listener are within the bound.
    #[test]
    fn tunnels_of_all_listeners_are_shown_in_one_order_and_within_one_bound() {
        let registry = Registry::new(TurnedAway::default(), None);
        let all_stats = change(&registry, "p:1", &[("l:1", "a:1"), ("l:2", "b:2")]);
        let order = [&all_stats[0], &all_stats[1], &all_stats[0], &all_stats[1]];
        let _clients: Vec<ConnGuard> = order.iter().map(|stats| opened(stats)).collect();
        let snapshot = registry.snapshot();
        let oldest = |most| {
            let (oldest, others) = snapshot.oldest(most);
            let at = oldest.iter().map(|(listener, _)| listener.name.clone());
            (at.collect::<Vec<String>>().join(" "), others)
        };
        assert_eq!(oldest(4), ("l:1 l:2 l:1 l:2".into(), 0));
        assert_eq!(oldest(3), ("l:1 l:2 l:1".into(), 1));
        assert_eq!(oldest(1), ("l:1".into(), 3));
    }

    #[test]
    fn a_closed_listener_is_shown_to_its_last_client_and_counted_for_ever() {
        let registry = Registry::new(TurnedAway::default(), None);
        let all_stats = change(&registry, "p:1", &[("l:1", "a:1"), ("l:2", "b:2")]);
        let client = opened(&all_stats[0]);
        drop(opened(&all_stats[1]));
        let other = &[("l:1", "c:3")][..];
        change(&registry, "p:1", other);
        let expected = ["l:1 c:3 0", "closed l:1 a:1 1", "closed l:2 b:2 0"];
        assert_eq!(shown(&registry), (owned(&expected), 2));
        change(&registry, "p:1", other);
        assert_eq!(
            shown(&registry),
            (owned(&["l:1 c:3 0", "closed l:1 a:1 1"]), 2)
        );
        drop(client);
        change(&registry, "p:1", other);
        assert_eq!(shown(&registry), (owned(&["l:1 c:3 0"]), 2));
    }

    #[test]
    fn a_listener_that_comes_back_keeps_its_numbers() {
        let registry = Registry::new(TurnedAway::default(), None);
        let both = &[("l:1", "a:1"), ("l:2", "b:2")][..];
        let client = opened(&change(&registry, "p:1", both)[1]);
        change(&registry, "p:1", &both[..1]);
        assert_eq!(change(&registry, "p:1", both)[1].totals().clients, 1);
        drop(client);
        assert_eq!(shown(&registry).0, ["l:1 a:1 0", "l:2 b:2 0"]);
    }

    /// E.g. sockets that systemd binds with `ReusePort=`. A metric must not appear twice.
    #[test]
    fn sockets_of_one_address_are_one_listener() {
        let registry = Registry::new(TurnedAway::default(), None);
        let all_stats = change(&registry, "p:1", &[("l:1", "a:1"), ("l:1", "a:1")]);
        let _clients: Vec<_> = all_stats.iter().map(opened).collect();
        assert_eq!(shown(&registry).0, ["l:1 a:1 2"]);
    }
}
