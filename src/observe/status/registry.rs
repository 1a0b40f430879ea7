//! What there is to be looked at: the listeners, and who is counted there.
//!
//! Whoever reloads puts up the next [`Snapshot`], all at once. A listener is called by where it is and
//! what its clients are connected to: as long as that stays, it is counted on, whichever way it goes.
//! One that is gone stays in sight while it has clients, and at least until the next change, so that
//! its last numbers are seen; then they are kept in the sum alone, which never falls.

use std::collections::HashMap;
use std::fs;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use crate::config::{Config, Timeouts};
use crate::listener::acl::TurnedAway;
use crate::listener::bind::Service;
use crate::observe::stats::{LiveTunnel, Outcome, Stats, Totals};
use crate::upstream::{ProxyHealth, ProxySelector, Tunnel};

/// Everything that can be looked at.
#[derive(Debug)]
pub(crate) struct Registry {
    /// What this machine is called, if that is known.
    pub(super) host: Option<String>,
    pub(super) started: SystemTime,
    pub(super) turned_away: TurnedAway,
    scene: Mutex<Snapshot>,
}

/// What is there at one time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Snapshot {
    pub(super) timeouts: Timeouts,
    /// By which all clients go that have come since the last change.
    gateway: Option<ProxySelector>,
    pub(super) listeners: Vec<Listener>,
    /// Of those that are out of sight.
    past: Totals,
    /// How each way to a proxy that there was before the change that has made this had done until
    /// then.
    earlier: HashMap<String, ProxyHealth>,
}

/// A listener, on all of its threads.
#[derive(Clone, Debug)]
pub(super) struct Listener {
    pub(super) name: String,
    pub(super) service: Service,
    pub(super) tally: Stats,
    /// It takes clients; otherwise those that it has stay.
    pub(super) is_open: bool,
}

impl Listener {
    /// Whether its last client got no tunnel, for a reason that the next one will meet, too. Where
    /// clients name their destinations, that one of them can't be reached isn't such a reason.
    pub(super) fn is_failing(&self) -> bool {
        match self.tally.last_outcome() {
            Some(Outcome::Failed) => true,
            Some(Outcome::Answered) => matches!(self.service, Service::Tunnel(_)),
            Some(Outcome::Opened) | None => false,
        }
    }
}

/// A scene in the making.
pub(crate) struct SnapshotBuilder {
    scene: Snapshot,
    /// Those that nobody has asked for yet.
    former: Vec<Listener>,
}

impl Registry {
    pub(crate) fn new(turned_away: TurnedAway) -> Registry {
        Registry {
            host: host_name(),
            started: SystemTime::now(),
            turned_away,
            scene: Mutex::default(),
        }
    }

    /// Begins the scene that a configuration makes.
    pub(crate) fn next(&self, config: &Config, gateway: &ProxySelector) -> SnapshotBuilder {
        let mut scene = self.scene();
        scene.earlier = scene.standings().into_iter().collect();
        scene.timeouts = config.timeouts.clone();
        scene.gateway = Some(gateway.clone());
        SnapshotBuilder {
            former: mem::take(&mut scene.listeners),
            scene,
        }
    }

    /// Puts it up.
    pub(crate) fn show(&self, next: SnapshotBuilder) {
        *self.lock() = next.end();
    }

    pub(super) fn scene(&self) -> Snapshot {
        self.lock().clone()
    }

    pub(super) fn uptime(&self) -> Duration {
        self.started.elapsed().unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Snapshot> {
        self.scene.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SnapshotBuilder {
    /// Adds a listener; returns where its clients are counted.
    pub(crate) fn add(&mut self, name: &str, service: &Service) -> Stats {
        let destination = destination(service);
        let is_it = |known: &Listener| known.name == name && known.destination() == destination;
        // Several sockets may have one address.
        if let Some(same) = self.scene.listeners.iter().find(|known| is_it(known)) {
            return same.tally.clone();
        }
        let tally = match self.former.iter().position(is_it) {
            Some(place) => self.former.remove(place).tally,
            None => Stats::default(),
        };
        self.scene.listeners.push(Listener {
            name: name.to_string(),
            service: service.clone(),
            tally: tally.clone(),
            is_open: true,
        });
        tally
    }

    fn end(self) -> Snapshot {
        let SnapshotBuilder { mut scene, former } = self;
        for listener in former {
            let totals = listener.tally.totals();
            if listener.is_open || totals.clients > 0 {
                scene.listeners.push(Listener {
                    is_open: false,
                    ..listener
                });
            } else {
                scene.past.add(&totals);
            }
        }
        scene
    }
}

impl Snapshot {
    /// Of all listeners that there are and were.
    pub(super) fn totals(&self) -> Totals {
        let mut all = self.past.clone();
        for listener in &self.listeners {
            all.add(&listener.tally.totals());
        }
        all
    }

    /// So many of the live tunnels, those that are open longest, each at its listener, and how many
    /// others there are.
    pub(super) fn eldest(&self, most: usize) -> (Vec<(&Listener, Arc<LiveTunnel>)>, usize) {
        let mut all = Vec::new();
        let mut others = 0;
        for listener in &self.listeners {
            let (eldest, rest) = listener.tally.eldest(most);
            all.extend(eldest.into_iter().map(|flow| (listener, flow)));
            others += rest;
        }
        all.sort_by_key(|(_, flow)| flow.since);
        others += all.len().saturating_sub(most);
        all.truncate(most);
        (all, others)
    }

    /// The ways through proxies, in their order, and how each has done since the start.
    pub(super) fn standings(&self) -> Vec<(String, ProxyHealth)> {
        let standings = self.gateway.iter().flat_map(ProxySelector::health);
        standings
            .map(|(way, mut standing)| {
                let way = way.to_string();
                if let Some(earlier) = self.earlier.get(&way) {
                    standing.is_down |= earlier.is_down && standing.answers == 0;
                    standing.answers += earlier.answers;
                    standing.failures += earlier.failures;
                }
                (way, standing)
            })
            .collect()
    }

    /// Whether these ways are of a list, in which each has its place.
    pub(super) fn are_listed(&self) -> bool {
        self.gateway.as_ref().map_or(true, ProxySelector::is_listed)
    }

    /// Where a client's way is known before there is one.
    pub(super) fn first_tunnel(&self) -> Option<&Tunnel> {
        self.open().find_map(|listener| match &listener.service {
            Service::Tunnel(tunnel) => Some(tunnel),
            // Where to is for their clients to say.
            Service::Dynamic(_) | Service::Proxy(_) => None,
        })
    }

    /// Those that take clients.
    pub(super) fn open(&self) -> impl Iterator<Item = &Listener> {
        self.listeners.iter().filter(|listener| listener.is_open)
    }
}

impl Listener {
    pub(super) fn destination(&self) -> String {
        destination(&self.service)
    }
}

/// What the kernel calls this machine, or the container that this process is in.
fn host_name() -> Option<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    let name = name.trim();
    Some(name.to_string()).filter(|_| !name.is_empty())
}

/// What its clients are connected to; `*` is what they ask for.
fn destination(service: &Service) -> String {
    match service {
        Service::Tunnel(tunnel) => tunnel.destination().to_string(),
        Service::Dynamic(_) | Service::Proxy(_) => "*".into(),
    }
}

#[cfg(all(test, feature = "cli"))]
mod tests {
    use super::*;
    use crate::cli::env::Environment;
    use crate::cli::{parse, Command};
    use crate::config::HostPort;
    use crate::observe::access_log::Origin;
    use crate::observe::stats::ConnGuard;
    use crate::upstream::{Candidates, UpstreamPath};

    fn config(proxy: &str) -> Config {
        let words = ["ptunnel", "-p", proxy, "1:a:1"];
        let ask = |_: &str| unreachable!("there is no password");
        match parse(&words, &Environment::new(&|_| None), &ask) {
            Ok(Command::Run(config, _)) => *config,
            other => panic!("{:?}", other),
        }
    }

    /// Has these listeners from now on, which go through this proxy; returns their tallies.
    fn change(board: &Registry, proxy: &str, listeners: &[(&str, &str)]) -> Vec<Stats> {
        let config = config(proxy);
        let gateway = ProxySelector::new(config.route.clone());
        let mut next = board.next(&config, &gateway);
        let tallies = listeners.iter().map(|(name, destination)| {
            let tunnel = Tunnel::new(destination.parse::<HostPort>().unwrap(), &gateway);
            next.add(name, &Service::Tunnel(tunnel))
        });
        let tallies = tallies.collect();
        board.show(next);
        tallies
    }

    /// Which are in sight, with their clients, and how many tunnels were opened in all.
    fn sight(board: &Registry) -> (Vec<String>, u64) {
        let scene = board.scene();
        let listeners = scene.listeners.iter().map(|listener| {
            let mark = if listener.is_open { "" } else { "closed " };
            let clients = listener.tally.totals().clients;
            format!(
                "{}{} {} {}",
                mark,
                listener.name,
                listener.destination(),
                clients
            )
        });
        (listeners.collect(), scene.totals().opened())
    }

    fn seen(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| line.to_string()).collect()
    }

    fn opened(tally: &Stats) -> ConnGuard {
        let mut arrival = tally.arrival();
        let flow = LiveTunnel::new(Origin::Unix, "a:1".parse().unwrap(), UpstreamPath::DIRECTLY);
        arrival.opened(Duration::from_millis(1), flow);
        arrival
    }

    #[test]
    fn a_listener_is_counted_on_whichever_way_it_goes() {
        let board = Registry::new(TurnedAway::default());
        let tallies = change(&board, "p:1", &[("l:1", "a:1"), ("l:2", "b:2")]);
        let _clients: Vec<_> = tallies.iter().map(opened).collect();
        let again = change(&board, "q:1", &[("l:2", "b:2"), ("l:1", "a:1")]);
        assert_eq!(again[0].totals().opened(), 1);
        assert_eq!(sight(&board).0, ["l:2 b:2 1", "l:1 a:1 1"]);
        let scene = board.scene();
        let ways = scene.standings().into_iter().map(|(way, _)| way);
        assert_eq!(ways.collect::<Vec<String>>(), ["q:1"]);
    }

    /// Each change makes a gateway that knows nothing. One that is gone isn't remembered: there may be
    /// others at each change, for years.
    #[test]
    fn a_proxy_is_counted_on_while_it_is_there() {
        let board = Registry::new(TurnedAway::default());
        let listeners = &[("l:1", "a:1")][..];
        for expected in 1..4 {
            change(&board, "p:1", listeners);
            match board
                .scene()
                .gateway
                .unwrap()
                .candidates(&"a:1".parse().unwrap())
            {
                Candidates::Known(mut attempts) => attempts.next().unwrap().worked(),
                Candidates::Asked(_) => unreachable!("there is a list"),
            }
            let (way, standing) = board.scene().standings().remove(0);
            assert_eq!((&way[..], standing.answers), ("p:1", expected));
        }
        change(&board, "q:1", listeners);
        change(&board, "p:1", listeners);
        assert_eq!(board.scene().standings()[0].1.answers, 0);
        assert_eq!(board.scene().earlier.len(), 1);
    }

    /// Each tally alone would be within the bound.
    #[test]
    fn tunnels_of_all_listeners_are_shown_in_one_order_and_within_one_bound() {
        let board = Registry::new(TurnedAway::default());
        let tallies = change(&board, "p:1", &[("l:1", "a:1"), ("l:2", "b:2")]);
        let order = [&tallies[0], &tallies[1], &tallies[0], &tallies[1]];
        let _clients: Vec<ConnGuard> = order.iter().map(|tally| opened(tally)).collect();
        let scene = board.scene();
        let shown = |most| {
            let (eldest, others) = scene.eldest(most);
            let at = eldest.iter().map(|(listener, _)| listener.name.clone());
            (at.collect::<Vec<String>>().join(" "), others)
        };
        assert_eq!(shown(4), ("l:1 l:2 l:1 l:2".into(), 0));
        assert_eq!(shown(3), ("l:1 l:2 l:1".into(), 1));
        assert_eq!(shown(1), ("l:1".into(), 3));
    }

    #[test]
    fn one_that_is_gone_is_seen_to_its_last_client_and_counted_for_ever() {
        let board = Registry::new(TurnedAway::default());
        let tallies = change(&board, "p:1", &[("l:1", "a:1"), ("l:2", "b:2")]);
        let client = opened(&tallies[0]);
        drop(opened(&tallies[1]));
        let other = &[("l:1", "c:3")][..];
        change(&board, "p:1", other);
        let expected = ["l:1 c:3 0", "closed l:1 a:1 1", "closed l:2 b:2 0"];
        assert_eq!(sight(&board), (seen(&expected), 2));
        change(&board, "p:1", other);
        assert_eq!(sight(&board), (seen(&["l:1 c:3 0", "closed l:1 a:1 1"]), 2));
        drop(client);
        change(&board, "p:1", other);
        assert_eq!(sight(&board), (seen(&["l:1 c:3 0"]), 2));
    }

    #[test]
    fn one_that_comes_back_takes_up_its_numbers() {
        let board = Registry::new(TurnedAway::default());
        let both = &[("l:1", "a:1"), ("l:2", "b:2")][..];
        let client = opened(&change(&board, "p:1", both)[1]);
        change(&board, "p:1", &both[..1]);
        assert_eq!(change(&board, "p:1", both)[1].totals().clients, 1);
        drop(client);
        assert_eq!(sight(&board).0, ["l:1 a:1 0", "l:2 b:2 0"]);
    }

    /// As those that systemd binds with `ReusePort=`; a metric must not be told twice.
    #[test]
    fn sockets_of_one_address_are_one_listener() {
        let board = Registry::new(TurnedAway::default());
        let tallies = change(&board, "p:1", &[("l:1", "a:1"), ("l:1", "a:1")]);
        let _clients: Vec<_> = tallies.iter().map(opened).collect();
        assert_eq!(sight(&board).0, ["l:1 a:1 2"]);
    }
}
