//! What is counted of a listener's clients, for those who look with `--status`.
//!
//! A tally belongs to one listener, on all of its threads, and is touched when a client comes, when
//! its tunnel opens and when it ends. Whom a live tunnel is for stands in a place of its own, beside
//! what it has carried so far, which its relay alone writes through a [`TunnelBytes`]: a plain store for
//! each direction, no atomic addition. Without `--status` there is neither of them, and a relay is
//! built without the place where it would note anything.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use crate::config::Destination;
use crate::error::{Cause, Error};
use crate::observe::logging::context::Origin;
use crate::observe::session::{end_index, traffic, Closed, RelayError, Traffic, ENDS};
use crate::upstream::UpstreamPath;

/// The upper bounds of the classes by which the times to open a tunnel are counted, in seconds; one
/// more class is for what takes longer.
pub(crate) const BOUNDS: [f64; 14] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
];

const CLASSES: usize = BOUNDS.len() + 1;

/// The clients of one listener. Cheap to clone, and to send to another thread: they are the same
/// then.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    record: Arc<Mutex<Record>>,
}

#[derive(Debug, Default)]
struct Record {
    /// Without what live tunnels have carried.
    totals: Totals,
    /// Of the live tunnels, by how many there had been with each: those open longest come first.
    flows: BTreeMap<u64, Arc<LiveTunnel>>,
    last_failure: Option<Failure>,
    /// How it went for the last client to whom a tunnel was opened, or could not be.
    last_outcome: Option<Outcome>,
}

/// What became of a client that wanted a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Opened,
    /// The way worked as far as the proxy or the destination itself, which said no or isn't there.
    Answered,
    Failed,
}

/// Why a client wasn't served, and when.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) when: SystemTime,
    pub(crate) why: String,
}

impl Stats {
    /// Counts a client that has come, until it is dropped.
    pub(crate) fn arrival(&self) -> ConnGuard {
        self.lock().totals.clients += 1;
        ConnGuard {
            tally: self.clone(),
            tunnel: None,
        }
    }

    /// Counts one that is gone, and hadn't got a tunnel yet.
    pub(crate) fn left(&self) {
        self.lock().totals.left += 1;
    }

    /// Counts one that got no tunnel. That one was denied what it asked for says nothing of how
    /// others will fare.
    pub(crate) fn failed(&self, error: &Error) {
        let mut record = self.lock();
        record.totals.failures[error.cause() as usize] += 1;
        if error.cause() != Cause::Rejection {
            record.last_outcome = Some(if error.is_of_destination() {
                Outcome::Answered
            } else {
                Outcome::Failed
            });
        }
        record.last_failure = Some(Failure {
            when: SystemTime::now(),
            why: error.to_string(),
        });
    }

    /// Everything so far, with what live tunnels have carried.
    pub(crate) fn totals(&self) -> Totals {
        let record = self.lock();
        let mut totals = record.totals.clone();
        for flow in record.flows.values() {
            totals.carried.add(flow.read());
        }
        totals
    }

    /// So many of the live tunnels, those that are open longest, and how many others there are.
    pub(crate) fn eldest(&self, most: usize) -> (Vec<Arc<LiveTunnel>>, usize) {
        let record = self.lock();
        let eldest: Vec<Arc<LiveTunnel>> = record.flows.values().take(most).cloned().collect();
        let others = record.flows.len() - eldest.len();
        (eldest, others)
    }

    pub(crate) fn last_outcome(&self) -> Option<Outcome> {
        self.lock().last_outcome
    }

    pub(crate) fn last_failure(&self) -> Option<Failure> {
        self.lock().last_failure.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sums since the start, but for the clients.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    /// Who is there now, with a tunnel or waiting for one.
    pub(crate) clients: u64,
    /// Clients that left before there was a tunnel.
    pub(crate) left: u64,
    /// By [`Cause`].
    pub(crate) failures: [u64; Cause::ALL.len()],
    /// By [`ENDS`].
    pub(crate) ends: [u64; ENDS.len()],
    pub(crate) carried: Traffic,
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

    /// Tunnels that were opened.
    pub(crate) fn opened(&self) -> u64 {
        self.opening.count()
    }

    /// Clients that got none.
    pub(crate) fn failed(&self) -> u64 {
        self.failures.iter().sum()
    }
}

fn sum(to: &mut [u64], from: &[u64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += from;
    }
}

/// How long it took from a client's arrival to its open tunnel.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histogram {
    classes: [u64; CLASSES],
    /// Of all times.
    pub(crate) sum: Duration,
}

impl Histogram {
    fn note(&mut self, time: Duration) {
        let seconds = time.as_secs_f64();
        let class = BOUNDS.iter().position(|bound| seconds <= *bound);
        self.classes[class.unwrap_or(CLASSES - 1)] += 1;
        self.sum += time;
    }

    pub(crate) fn add(&mut self, other: &Histogram) {
        sum(&mut self.classes, &other.classes);
        self.sum += other.sum;
    }

    /// What has come since `earlier`, which is a part of it.
    pub(crate) fn since(&self, earlier: &Histogram) -> Histogram {
        let mut rest = self.clone();
        for (rest, earlier) in rest.classes.iter_mut().zip(&earlier.classes) {
            *rest = rest.saturating_sub(*earlier);
        }
        rest.sum = rest.sum.checked_sub(earlier.sum).unwrap_or_default();
        rest
    }

    pub(crate) fn count(&self) -> u64 {
        self.classes.iter().sum()
    }

    /// How many took at most each of the [`BOUNDS`].
    pub(crate) fn cumulated(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let mut count = 0;
        BOUNDS.iter().zip(&self.classes).map(move |(bound, class)| {
            count += class;
            (*bound, count)
        })
    }

    /// The time, in seconds, that this part of all stayed within, as far as the classes tell:
    /// evenly spread in each. `None` of none; what is beyond the last bound is as long as that.
    pub(crate) fn quantile(&self, part: f64) -> Option<f64> {
        let wanted = part * self.count() as f64;
        let mut below = 0.0;
        let mut lower = 0.0;
        for (bound, class) in BOUNDS.iter().zip(&self.classes) {
            let class = *class as f64;
            if class > 0.0 && below + class >= wanted {
                return Some(lower + (bound - lower) * (wanted - below) / class);
            }
            below += class;
            lower = *bound;
        }
        Some(lower).filter(|_| self.count() > 0)
    }
}

/// One client, for as long as it is there.
pub(crate) struct ConnGuard {
    tally: Stats,
    /// Once there is one, with its place in the record.
    tunnel: Option<(u64, Arc<LiveTunnel>)>,
}

impl fmt::Debug for ConnGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Arrival")
            .field("tunnel", &self.tunnel)
            .finish()
    }
}

impl ConnGuard {
    /// It has its tunnel, after so long.
    pub(crate) fn opened(&mut self, after: Duration, flow: LiveTunnel) {
        let flow = Arc::new(flow);
        let mut record = self.tally.lock();
        record.totals.opening.note(after);
        record.last_outcome = Some(Outcome::Opened);
        let place = record.totals.opened();
        record.flows.insert(place, flow.clone());
        self.tunnel = Some((place, flow));
    }

    /// What its relay notes in; only one does.
    pub(crate) fn meter(&self) -> Option<TunnelBytes> {
        let (_, flow) = self.tunnel.as_ref()?;
        Some(TunnelBytes(flow.clone()))
    }

    /// The tunnel has ended.
    pub(crate) fn ended(&self, end: &Result<Closed, RelayError>) {
        self.tally.lock().totals.ends[end_index(end)] += 1;
        if let Some((_, flow)) = &self.tunnel {
            flow.write(traffic(end));
        }
    }

    /// It is gone, and hadn't got a tunnel yet.
    pub(crate) fn left(&self) {
        self.tally.left();
    }
}

impl Drop for ConnGuard {
    fn drop(&mut self) {
        let mut record = self.tally.lock();
        record.totals.clients -= 1;
        if let Some((place, flow)) = &self.tunnel {
            record.flows.remove(place);
            record.totals.carried.add(flow.read());
        }
    }
}

/// A live tunnel, for whoever looks: what it has carried is written by its relay.
#[derive(Debug)]
pub(crate) struct LiveTunnel {
    pub(crate) client: Origin,
    pub(crate) destination: Destination,
    pub(crate) via: UpstreamPath,
    /// When it was open.
    pub(crate) since: SystemTime,
    upload: AtomicU64,
    download: AtomicU64,
}

impl LiveTunnel {
    /// One that is open from now on.
    pub(crate) fn new(client: Origin, destination: Destination, via: UpstreamPath) -> LiveTunnel {
        LiveTunnel {
            client,
            destination,
            via,
            since: SystemTime::now(),
            upload: AtomicU64::new(0),
            download: AtomicU64::new(0),
        }
    }

    fn write(&self, carried: Traffic) {
        self.upload.store(carried.upload, Ordering::Relaxed);
        self.download.store(carried.download, Ordering::Relaxed);
    }

    /// What it has carried so far.
    pub(crate) fn read(&self) -> Traffic {
        Traffic {
            upload: self.upload.load(Ordering::Relaxed),
            download: self.download.load(Ordering::Relaxed),
        }
    }
}

/// Where a relay notes what it has carried.
///
/// Nowhere, mostly: `()` makes a relay that spends no instruction on it.
pub trait ByteRecorder {
    /// This much so far, in all. Called at the end of each poll.
    fn note(&self, carried: Traffic);
}

impl ByteRecorder for () {
    #[inline]
    fn note(&self, _: Traffic) {}
}

/// A live tunnel's place in its [`Stats`].
#[derive(Debug)]
pub struct TunnelBytes(Arc<LiveTunnel>);

impl ByteRecorder for TunnelBytes {
    #[inline]
    fn note(&self, carried: Traffic) {
        self.0.write(carried);
    }
}

/// For relays that are rare enough to look whether there is one.
impl<G: ByteRecorder> ByteRecorder for Option<G> {
    #[inline]
    fn note(&self, carried: Traffic) {
        if let Some(gauge) = self {
            gauge.note(carried);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::error::Peer;
    use crate::observe::session::Side;

    fn traffic(upload: u64, download: u64) -> Traffic {
        Traffic { upload, download }
    }

    fn open(arrival: &mut ConnGuard) {
        let destination = "a:1".parse().unwrap();
        let flow = LiveTunnel::new(Origin::Unix, destination, UpstreamPath::DIRECTLY);
        arrival.opened(Duration::from_millis(3), flow);
    }

    #[test]
    fn a_live_tunnel_counts_while_it_lives_and_once_after_its_end() {
        let tally = Stats::default();
        let mut arrival = tally.arrival();
        assert_eq!((tally.totals().clients, tally.totals().opened()), (1, 0));
        open(&mut arrival);
        let meter = arrival.meter();
        meter.note(traffic(5, 7));
        assert_eq!(tally.totals().carried, traffic(5, 7));
        meter.note(traffic(6, 70));
        arrival.ended(&Ok(traffic(6, 100).into()));
        assert_eq!(tally.totals().carried, traffic(6, 100));
        drop(arrival);
        let totals = tally.totals();
        assert_eq!(totals.carried, traffic(6, 100));
        assert_eq!((totals.clients, totals.opened()), (0, 1));
        assert_eq!(totals.ends, [1, 0, 0, 0]);
        assert!(tally.lock().flows.is_empty());
    }

    #[test]
    fn those_open_longest_are_told_first_and_the_others_counted() {
        let tally = Stats::default();
        let mut arrivals: Vec<ConnGuard> = (0..5).map(|_| tally.arrival()).collect();
        // Not in the order in which they came.
        for (bytes, place) in [3, 0, 4, 1].iter().enumerate() {
            open(&mut arrivals[*place]);
            arrivals[*place].meter().note(traffic(bytes as u64, 0));
        }
        let told = |most| {
            let (eldest, others) = tally.eldest(most);
            let flows = eldest.iter().map(|flow| flow.read().upload);
            (flows.collect::<Vec<u64>>(), others)
        };
        assert_eq!(told(9), (vec![0, 1, 2, 3], 0));
        assert_eq!(told(3), (vec![0, 1, 2], 1));
        drop(arrivals.remove(3));
        assert_eq!(told(2), (vec![1, 2], 1));
        open(&mut arrivals[2]);
        assert_eq!(told(9), (vec![1, 2, 3, 0], 0));
    }

    /// As at the end of the drain time, or in a panic.
    #[test]
    fn a_tunnel_that_is_dropped_has_carried_what_it_has() {
        let tally = Stats::default();
        let mut arrival = tally.arrival();
        open(&mut arrival);
        arrival.meter().note(traffic(5, 7));
        drop(arrival);
        let totals = tally.totals();
        assert_eq!((totals.carried, totals.clients), (traffic(5, 7), 0));
        assert_eq!(totals.ends, [0; 4]);
    }

    #[test]
    fn each_end_and_each_cause_has_its_place() {
        let tally = Stats::default();
        let error = || io::Error::from(io::ErrorKind::ConnectionReset);
        let ends = [
            Ok(Closed::default()),
            Err(RelayError::failed(traffic(0, 0), Side::Client, error())),
            Err(RelayError::failed(traffic(0, 0), Side::Upstream, error())),
            Err(RelayError::silent(traffic(0, 0), Duration::from_secs(1))),
        ];
        for (place, end) in ends.iter().enumerate() {
            tally.arrival().ended(end);
            assert_eq!(tally.totals().ends[place], 1, "{}", ENDS[place]);
        }
        let proxy = || Peer::Proxy("proxy.example:3128".parse().unwrap());
        tally.failed(&Error::ended(proxy()));
        tally.failed(&Error::resolve(proxy(), io::ErrorKind::NotFound.into()));
        let totals = tally.totals();
        assert_eq!(totals.failures[Cause::Lost as usize], 1);
        assert_eq!(totals.failures[Cause::Name as usize], 1);
        assert_eq!(totals.failed(), 2);
        let last = tally.last_failure().unwrap();
        assert!(last.why.starts_with("cannot resolve proxy"), "{}", last.why);
    }

    #[test]
    fn causes_stand_in_their_own_order() {
        for (place, cause) in Cause::ALL.iter().enumerate() {
            assert_eq!(*cause as usize, place);
        }
    }

    /// `le` is what Prometheus calls it: less or equal.
    #[test]
    fn a_time_on_a_bound_is_within_it() {
        for (place, bound) in BOUNDS.iter().enumerate() {
            let mut times = Histogram::default();
            times.note(Duration::from_secs_f64(*bound));
            assert_eq!(times.classes[place], 1, "{}", bound);
        }
    }

    #[test]
    fn quantiles_lie_within_their_class() {
        let mut times = Histogram::default();
        assert_eq!(times.quantile(0.5), None);
        for _ in 0..90 {
            times.note(Duration::from_millis(4));
        }
        let before = times.clone();
        for _ in 0..10 {
            times.note(Duration::from_millis(400));
        }
        let median = times.quantile(0.5).unwrap();
        assert!(median > 0.0025 && median <= 0.005, "{}", median);
        let high = times.quantile(0.95).unwrap();
        assert!(high > 0.25 && high <= 0.5, "{}", high);
        let slow = times.since(&before);
        assert_eq!((slow.count(), slow.sum), (10, Duration::from_secs(4)));
        assert!(slow.quantile(0.01).unwrap() > 0.25);
        let cumulated: Vec<u64> = times.cumulated().map(|(_, count)| count).collect();
        assert_eq!(cumulated[1..9], [0, 90, 90, 90, 90, 90, 90, 100]);
        times.note(Duration::from_secs(60));
        assert_eq!(times.quantile(1.0), Some(30.0));
        assert_eq!(times.count(), 101);
    }
}
