//! The health of a proxy: its answers and failures so far, and when a client may try it first again.
//!
//! ```text
//!         ┌────────────── an answer, to a client or to a probe ◀─────────────┐
//!         ▼                                                                  │
//!        up ──failed──▶ down, avoided ──a probe without a clear result──▶ down, one client tries it
//!                        ▲   │    ▲                                          │
//!                        └───┘    └──────────── another failure ─────────────┘
//!              a probe found it unreachable or silent
//! ```
//!
//! Without a thread that probes, a client tries it when the pause is over.

use std::collections::BTreeMap;
use std::mem;
use std::sync::mpsc::{channel, Receiver, Sender, TryRecvError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ptunnel_proto::debug_by_name;
use ptunnel_proto::sync::lock;

/// The pause before a proxy that failed is tried again. It doubles with each further failure, up to
/// [`LONGEST_PAUSE`].
pub(super) const PAUSE: Duration = Duration::from_secs(30);

/// The longest pause between two probes.
const LONGEST_PAUSE: Duration = Duration::from_secs(120);

/// The health of a proxy, which all pools that contain it share, also across reloads.
#[derive(Default)]
pub(super) struct Health {
    state: Mutex<State>,
    /// Held during a probe: a thread that has to end can still be in one.
    probing: Mutex<()>,
}

debug_by_name!(Health, Watch);

#[derive(Default)]
struct State {
    answers: u64,
    failures: u64,
    /// When the proxy last answered a request for a tunnel.
    heard: Option<Instant>,
    /// Set from a failure to the next answer.
    failure: Option<Failure>,
    /// Failures since the last answer to a client. Those of clients count only while it is up.
    in_a_row: u32,
    /// Ends the thread that probes the proxy when it is dropped.
    prober: Option<Sender<()>>,
    /// The clients that are connecting and have another path.
    watching: BTreeMap<u64, Callback>,
    next_watch: u64,
}

type Callback = Box<dyn FnOnce() + Send>;

struct Failure {
    is_unreachable: bool,
    /// When one client may try the proxy first; `None` if a probe decides.
    retry_at: Option<Instant>,
}

/// The health of a proxy at one moment, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProxyHealth {
    /// Whether new tunnels go through it: its pool's latest answer came from it, and it is up.
    pub(crate) is_in_use: bool,
    /// Whether it failed, and hasn't answered since.
    pub(crate) is_down: bool,
    /// Whether it isn't tried first for now.
    pub(crate) is_avoided: bool,
    /// Number of answers to clients, refusals included.
    pub(crate) answers: u64,
    /// Number of failures.
    pub(crate) failures: u64,
}

/// Whether a client tries a proxy in its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Yes.
    Fit,
    /// After the others: it was reached, and failed.
    Avoided,
    /// After the others, and after a direct connection if that is allowed.
    Unreachable,
}

/// The result of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The proxy answers.
    Answering,
    /// No connection to it can be established.
    Unreachable,
    /// It accepts connections and is silent, or TLS fails.
    Silent,
    /// It accepts connections; only a client can find out whether it works.
    Unclear,
    /// Nothing: this machine lacks descriptors, ports or memory.
    Nothing,
}

impl State {
    fn standing(&self, now: Instant) -> Standing {
        match &self.failure {
            Some(failure) if failure.retry_at.map_or(true, |time| time > now) => {
                if failure.is_unreachable {
                    Standing::Unreachable
                } else {
                    Standing::Avoided
                }
            }
            _ => Standing::Fit,
        }
    }

    fn pause(&self) -> Duration {
        let doubled = PAUSE * (1 << self.in_a_row.saturating_sub(1).min(8));
        doubled.min(LONGEST_PAUSE)
    }

    /// Returns when a client may try the proxy, from a failure now.
    fn retry_at(&self, now: Instant) -> Option<Instant> {
        match self.prober {
            Some(_) => None,
            None => Some(now + self.pause()),
        }
    }

    fn stop_probing(&mut self, now: Instant) {
        self.prober = None;
        let retry_at = self.retry_at(now);
        if let Some(failure) = &mut self.failure {
            failure.retry_at = retry_at;
        }
    }

    fn recover(&mut self) {
        self.failure = None;
        self.prober = None;
    }

    /// Takes the result of a probe; returns whether the proxy is up again.
    fn found(&mut self, found: Found, now: Instant) -> bool {
        let failure = match &mut self.failure {
            Some(failure) => failure,
            None => return false,
        };
        match found {
            Found::Nothing => return false,
            Found::Answering => {
                self.recover();
                return true;
            }
            Found::Unreachable | Found::Silent => failure.retry_at = None,
            Found::Unclear => failure.retry_at = Some(now),
        }
        failure.is_unreachable = found == Found::Unreachable;
        self.in_a_row += 1;
        false
    }
}

impl Health {
    pub(super) fn is_down(&self) -> bool {
        lock(&self.state).failure.is_some()
    }

    pub(super) fn has_answered(&self) -> bool {
        lock(&self.state).answers > 0
    }

    pub(super) fn is_unreachable(&self) -> bool {
        let failure = &lock(&self.state).failure;
        failure
            .as_ref()
            .map_or(false, |failure| failure.is_unreachable)
    }

    pub(super) fn standing(&self, now: Instant) -> Standing {
        lock(&self.state).standing(now)
    }

    /// Returns whether a client can try this proxy first. After a failure, only one client can,
    /// until it has failed again.
    pub(super) fn claim(&self, now: Instant) -> bool {
        let mut state = lock(&self.state);
        let is_fit = state.standing(now) == Standing::Fit;
        let retry_at = state.retry_at(now);
        if let (true, Some(failure)) = (is_fit, &mut state.failure) {
            failure.retry_at = retry_at;
        }
        is_fit
    }

    /// Counts a failure, and avoids the proxy for a while. If it is unreachable, the clients that are
    /// connecting to it and have another path learn that.
    pub(super) fn failed(&self, now: Instant, is_unreachable: bool) {
        let mut state = lock(&self.state);
        state.failures += 1;
        if state.failure.is_none() {
            state.in_a_row += 1;
        }
        state.failure = Some(Failure {
            is_unreachable,
            retry_at: state.retry_at(now),
        });
        let watching = match is_unreachable {
            true => mem::take(&mut state.watching),
            false => BTreeMap::new(),
        };
        drop(state);
        for (_, callback) in watching {
            callback();
        }
    }

    /// Counts an answer to a client; the proxy is up.
    pub(super) fn answered(&self) {
        let mut state = lock(&self.state);
        state.answers += 1;
        state.in_a_row = 0;
        state.recover();
    }

    /// Notes that the proxy has opened or refused a tunnel.
    pub(super) fn heard(&self, now: Instant) {
        lock(&self.state).heard = Some(now);
    }

    /// Returns whether the proxy has opened or refused a tunnel within this time.
    pub(super) fn was_heard_within(&self, time: Duration, now: Instant) -> bool {
        let heard = lock(&self.state).heard;
        heard.map_or(false, |heard| now.saturating_duration_since(heard) <= time)
    }

    /// Has `start` begin to probe the proxy, if it is down and isn't probed yet. `start` gets a channel
    /// that is disconnected when its thread must end.
    pub(super) fn probe(&self, start: impl FnOnce(Receiver<()>) -> bool) {
        let mut state = lock(&self.state);
        let state = &mut *state;
        if let (Some(failure), None) = (&mut state.failure, &state.prober) {
            let (sender, stopped) = channel();
            if start(stopped) {
                failure.retry_at = None;
                state.prober = Some(sender);
            }
        }
    }

    /// Ends the thread that probes the proxy.
    pub(super) fn stop_probing(&self, now: Instant) {
        lock(&self.state).stop_probing(now);
    }

    /// Begins the thread that [`probe`](Health::probe) has started.
    pub(super) fn probing<'a>(&'a self, stopped: &'a Receiver<()>) -> Probing<'a> {
        Probing {
            health: self,
            stopped,
        }
    }

    /// Returns the time before the next probe.
    pub(super) fn pause(&self) -> Duration {
        lock(&self.state).pause()
    }

    /// Runs a probe, one at a time, and notes its result unless `is_moot` by then. Returns whether the
    /// proxy is up again.
    pub(super) fn probed(&self, probe: impl FnOnce() -> Found, is_moot: impl Fn() -> bool) -> bool {
        let _alone = lock(&self.probing);
        if is_moot() {
            return false;
        }
        let found = probe();
        let mut state = lock(&self.state);
        if is_moot() {
            return false;
        }
        state.found(found, Instant::now())
    }

    /// Calls `callback` when another client finds the proxy unreachable; dropping the result prevents
    /// that.
    pub(super) fn watch(self: &Arc<Health>, callback: Callback) -> Watch {
        let mut state = lock(&self.state);
        let number = state.next_watch;
        state.next_watch += 1;
        state.watching.insert(number, callback);
        Watch {
            health: self.clone(),
            number,
        }
    }

    /// `is_current` says whether the pool's latest answer came from this proxy.
    pub(super) fn report(&self, is_current: bool, now: Instant) -> ProxyHealth {
        let state = lock(&self.state);
        let is_down = state.failure.is_some();
        ProxyHealth {
            is_in_use: is_current && state.answers > 0 && !is_down,
            is_down,
            is_avoided: state.standing(now) != Standing::Fit,
            answers: state.answers,
            failures: state.failures,
        }
    }
}

/// A thread that probes a proxy. If it ends before it is stopped, clients try the proxy again, and another
/// thread can probe it.
pub(super) struct Probing<'a> {
    health: &'a Health,
    stopped: &'a Receiver<()>,
}

impl Probing<'_> {
    /// Returns whether the thread must end.
    pub(super) fn is_over(&self) -> bool {
        self.stopped.try_recv() == Err(TryRecvError::Disconnected)
    }
}

impl Drop for Probing<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.health.state);
        if !self.is_over() {
            state.stop_probing(Instant::now());
        }
    }
}

/// A client that waits for a connection to a proxy, and learns when another client fails. Dropping it
/// cancels that.
pub struct Watch {
    health: Arc<Health>,
    number: u64,
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _callback = lock(&self.health.state).watching.remove(&self.number);
    }
}

#[cfg(test)]
mod tests;
