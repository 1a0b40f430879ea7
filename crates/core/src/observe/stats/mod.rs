//! Counters of each listener's clients, for `--status`.
//!
//! This module contains counters and live tunnels, but not their presentation, which is in
//! `status`. [`access_log`](crate::observe::access_log) updates them when a client connects, when
//! its tunnel opens and when it ends; the relay updates its bytes through a [`TunnelBytes`].
//! Without `--status` there are no [`Stats`], and relays have no recorder.

mod histogram;
mod live_tunnel;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use self::histogram::sum;
pub(crate) use self::histogram::Histogram;
pub use self::live_tunnel::LiveTunnel;
pub use self::live_tunnel::TunnelBytes;
use crate::error::{Cause, Error};
use crate::observe::session::{end_index, traffic, Closed, RelayError, Traffic, ENDS};
use ptunnel_proto::sync::lock;

/// Counters of one listener, shared by its threads. Clones share the counters.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    counters: Arc<Mutex<Counters>>,
}

#[derive(Debug, Default)]
struct Counters {
    /// The totals, without the bytes of live tunnels.
    totals: Totals,
    /// Live tunnels by serial number, oldest first.
    tunnels: BTreeMap<u64, Arc<LiveTunnel>>,
    last_failure: Option<LastFailure>,
    last_outcome: Option<LastOutcome>,
}

/// The outcome for the last client for which ptunnel tried to open a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastOutcome {
    Opened,
    /// The path works as far as the proxy, but the destination refused or is unreachable.
    Answered,
    Failed,
}

/// The last error that left a client without a tunnel.
#[derive(Clone, Debug)]
pub(crate) struct LastFailure {
    pub(crate) when: SystemTime,
    pub(crate) cause: Cause,
    pub(crate) text: String,
}

impl Stats {
    /// Counts a client as connected until the guard is dropped.
    pub fn connected(&self) -> ConnGuard {
        lock(&self.counters).totals.clients += 1;
        ConnGuard {
            stats: self.clone(),
            tunnel: None,
        }
    }

    /// Counts a client that left before its tunnel was open.
    pub(crate) fn left(&self) {
        lock(&self.counters).totals.left += 1;
    }

    /// Counts a client that got no tunnel. A rejection by ptunnel's own policy doesn't change the
    /// last outcome, because it doesn't predict the outcome for the next client.
    pub(crate) fn failed(&self, error: &Error) {
        let mut counters = lock(&self.counters);
        counters.totals.failures[error.cause() as usize] += 1;
        if error.cause() != Cause::Rejection {
            counters.last_outcome = Some(if error.is_of_destination() {
                LastOutcome::Answered
            } else {
                LastOutcome::Failed
            });
        }
        counters.last_failure = Some(LastFailure {
            when: SystemTime::now(),
            cause: error.cause(),
            text: error.to_string(),
        });
    }

    /// Returns the totals so far, including the bytes of live tunnels.
    pub fn totals(&self) -> Totals {
        let counters = lock(&self.counters);
        let mut totals = counters.totals.clone();
        for tunnel in counters.tunnels.values() {
            totals.carried.add(tunnel.read());
        }
        totals
    }

    /// Returns the `most` oldest live tunnels and the number of the others.
    pub(crate) fn oldest(&self, most: usize) -> (Vec<Arc<LiveTunnel>>, usize) {
        let counters = lock(&self.counters);
        let oldest: Vec<Arc<LiveTunnel>> = counters.tunnels.values().take(most).cloned().collect();
        let others = counters.tunnels.len() - oldest.len();
        (oldest, others)
    }

    pub(crate) fn last_outcome(&self) -> Option<LastOutcome> {
        lock(&self.counters).last_outcome
    }

    pub(crate) fn last_failure(&self) -> Option<LastFailure> {
        lock(&self.counters).last_failure.clone()
    }
}

/// Sums since the start, except for `clients`, which is the current number.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Connected clients, including those whose tunnel isn't open yet.
    pub(crate) clients: u64,
    /// Clients that disconnected before their tunnel was open.
    pub(crate) left: u64,
    /// Clients that got no tunnel, in the order of [`Cause::LABELS`].
    pub(crate) failures: [u64; Cause::LABELS.len()],
    /// Tunnels that ended, by [`ENDS`].
    pub(crate) ends: [u64; ENDS.len()],
    /// The bytes that were delivered.
    pub carried: Traffic,
    pub(crate) opening: Histogram,
}

impl Totals {
    pub(crate) fn add(&mut self, other: &Totals) {
        self.clients += other.clients;
        self.left += other.left;
        sum(&mut self.failures, &other.failures);
        sum(&mut self.ends, &other.ends);
        self.carried.add(other.carried);
        self.opening.add(&other.opening);
    }

    /// Returns the number of tunnels that were opened.
    pub fn opened(&self) -> u64 {
        self.opening.count()
    }

    /// Returns the number of clients that got no tunnel.
    pub(crate) fn failed(&self) -> u64 {
        self.failures.iter().sum()
    }
}

/// Counts one client as connected until the guard is dropped.
#[derive(Debug)]
pub struct ConnGuard {
    pub(crate) stats: Stats,
    /// The open tunnel and its serial number.
    tunnel: Option<(u64, Arc<LiveTunnel>)>,
}

impl ConnGuard {
    /// Counts the client's tunnel, which took `after` to open.
    pub fn opened(&mut self, after: Duration, tunnel: LiveTunnel) {
        let tunnel = Arc::new(tunnel);
        let mut counters = lock(&self.stats.counters);
        counters.totals.opening.record(after);
        counters.last_outcome = Some(LastOutcome::Opened);
        let serial = counters.totals.opened();
        counters.tunnels.insert(serial, tunnel.clone());
        self.tunnel = Some((serial, tunnel));
    }

    /// Returns the recorder for the tunnel's relay; `None` before the tunnel is open.
    pub fn byte_recorder(&self) -> Option<TunnelBytes> {
        let (_, tunnel) = self.tunnel.as_ref()?;
        Some(TunnelBytes(tunnel.clone()))
    }

    /// Counts the end of the tunnel.
    pub(crate) fn ended(&self, end: &Result<Closed, RelayError>) {
        lock(&self.stats.counters).totals.ends[end_index(end)] += 1;
        if let Some((_, tunnel)) = &self.tunnel {
            tunnel.write(traffic(end));
        }
    }
}

impl Drop for ConnGuard {
    fn drop(&mut self) {
        let mut counters = lock(&self.stats.counters);
        counters.totals.clients -= 1;
        if let Some((serial, tunnel)) = &self.tunnel {
            counters.tunnels.remove(serial);
            counters.totals.carried.add(tunnel.read());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::error::Peer;
    use crate::observe::logging::context::Origin;
    use crate::observe::session::Side;
    use crate::upstream::ProxyChain;

    fn traffic(upload: u64, download: u64) -> Traffic {
        Traffic { upload, download }
    }

    fn open(guard: &mut ConnGuard) {
        let destination = "a:1".parse().unwrap();
        let tunnel = LiveTunnel::new(Origin::Unix, destination, ProxyChain::DIRECT);
        guard.opened(Duration::from_millis(3), tunnel);
    }

    #[test]
    fn a_live_tunnel_counts_while_it_lives_and_once_after_its_end() {
        let stats = Stats::default();
        let mut guard = stats.connected();
        assert_eq!((stats.totals().clients, stats.totals().opened()), (1, 0));
        open(&mut guard);
        let recorder = guard.byte_recorder().unwrap();
        recorder.note(traffic(5, 7));
        assert_eq!(stats.totals().carried, traffic(5, 7));
        recorder.note(traffic(6, 70));
        guard.ended(&Ok(traffic(6, 100).into()));
        assert_eq!(stats.totals().carried, traffic(6, 100));
        drop(guard);
        let totals = stats.totals();
        assert_eq!(totals.carried, traffic(6, 100));
        assert_eq!((totals.clients, totals.opened()), (0, 1));
        assert_eq!(totals.ends, [1, 0, 0, 0]);
        assert!(lock(&stats.counters).tunnels.is_empty());
    }

    #[test]
    fn the_oldest_come_first_and_the_others_are_counted() {
        let stats = Stats::default();
        let mut guards: Vec<ConnGuard> = (0..5).map(|_| stats.connected()).collect();
        // Not in the order in which the clients connected.
        for (bytes, index) in [3, 0, 4, 1].iter().enumerate() {
            open(&mut guards[*index]);
            guards[*index]
                .byte_recorder()
                .unwrap()
                .note(traffic(bytes as u64, 0));
        }
        let oldest = |most| {
            let (tunnels, others) = stats.oldest(most);
            let tunnels = tunnels.iter().map(|tunnel| tunnel.read().upload);
            (tunnels.collect::<Vec<u64>>(), others)
        };
        assert_eq!(oldest(9), (vec![0, 1, 2, 3], 0));
        assert_eq!(oldest(3), (vec![0, 1, 2], 1));
        drop(guards.remove(3));
        assert_eq!(oldest(2), (vec![1, 2], 1));
        open(&mut guards[2]);
        assert_eq!(oldest(9), (vec![1, 2, 3, 0], 0));
    }

    /// This happens at the end of the drain time, or in a panic.
    #[test]
    fn the_bytes_of_a_tunnel_that_is_dropped_are_counted() {
        let stats = Stats::default();
        let mut guard = stats.connected();
        open(&mut guard);
        guard.byte_recorder().unwrap().note(traffic(5, 7));
        drop(guard);
        let totals = stats.totals();
        assert_eq!((totals.carried, totals.clients), (traffic(5, 7), 0));
        assert_eq!(totals.ends, [0; 4]);
    }

    #[test]
    fn each_end_and_each_cause_has_its_index() {
        let stats = Stats::default();
        let error = || io::Error::from(io::ErrorKind::ConnectionReset);
        let ends = [
            Ok(Closed::default()),
            Err(RelayError::failed(traffic(0, 0), Side::Client, error())),
            Err(RelayError::failed(traffic(0, 0), Side::Upstream, error())),
            Err(RelayError::silent(traffic(0, 0), Duration::from_secs(1))),
        ];
        for (index, end) in ends.iter().enumerate() {
            stats.connected().ended(end);
            assert_eq!(stats.totals().ends[index], 1, "{}", ENDS[index]);
        }
        let proxy = || Peer::Proxy("proxy.example:3128".parse().unwrap());
        stats.failed(&Error::ended(proxy()));
        stats.failed(&Error::resolve(proxy(), io::ErrorKind::NotFound.into()));
        let totals = stats.totals();
        assert_eq!(totals.failures[Cause::Lost as usize], 1);
        assert_eq!(totals.failures[Cause::Name as usize], 1);
        assert_eq!(totals.failed(), 2);
        let last = stats.last_failure().unwrap();
        assert_eq!(last.cause, Cause::Name);
        assert!(
            last.text.starts_with("cannot resolve proxy"),
            "{}",
            last.text
        );
    }
}
