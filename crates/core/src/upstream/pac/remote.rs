//! A PAC file by URL: the thread that fetches it, and the script of the latest good fetch.
//!
//! ```text
//!   start ──▶ fetching ──ok──▶ waiting for the interval ──▶ fetching …
//!                │    ◀──── waiting, 1 s to 1 min ◀──┐
//!                └──────────────failed───────────────┘
//! ```
//!
//! A failed fetch changes nothing: the script that ptunnel has stays in force, with its processes,
//! and so does everything that is known about the proxies. A new script is loaded once before it
//! replaces the old one. The state is logged when it changes, not at each attempt.

use std::mem;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use log::{log, Level};

use super::{checked, fetched, Script};
use crate::config::PacFetch;
use crate::upstream::Lookup;
use ptunnel_proto::sync::lock;

/// The pause after the first failed fetch; it doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause after a failed fetch.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A PAC file by URL. Its thread ends when it is dropped or [stopped](Remote::stop).
#[derive(Debug)]
pub(super) struct Remote {
    shared: Arc<Shared>,
    thread: Mutex<Option<Sender<()>>>,
}

#[derive(Debug)]
struct Shared {
    name: String,
    state: Mutex<State>,
    /// Notified after the first fetch.
    fetched: Condvar,
    /// Whether a failure of the first fetch is logged; otherwise the caller reports it.
    logs_first: bool,
}

#[derive(Clone, Debug, Default)]
struct State {
    script: Option<Arc<Script>>,
    report: FetchReport,
    /// Whether the first fetch of this thread has ended.
    is_settled: bool,
}

/// The fetches of a PAC file so far, for the status page.
#[derive(Clone, Debug, Default)]
pub(crate) struct FetchReport {
    /// The time of the latest good fetch.
    pub(crate) last: Option<SystemTime>,
    /// The latest fetch failed: when, and why.
    pub(crate) error: Option<(SystemTime, String)>,
    /// Number of fetches.
    pub(crate) fetches: u64,
    /// Number of those that failed.
    pub(crate) failures: u64,
}

impl Remote {
    /// Starts the thread. It goes on from the script and the numbers of `former`, which is of the
    /// same URL. Without `logs_first` the caller reports a failure of the first fetch.
    pub(super) fn start(
        name: &str,
        from: &PacFetch,
        former: Option<&Remote>,
        logs_first: bool,
    ) -> Remote {
        let state = former.map(|former| State {
            is_settled: false,
            ..lock(&former.shared.state).clone()
        });
        let shared = Arc::new(Shared {
            name: name.into(),
            state: Mutex::new(state.unwrap_or_default()),
            fetched: Condvar::new(),
            logs_first,
        });
        let (sender, stopped) = mpsc::channel();
        let (of_thread, from) = (shared.clone(), from.clone());
        let run = move || of_thread.run(&from, &stopped);
        if let Err(e) = thread::Builder::new().name("pac-fetch".into()).spawn(run) {
            shared.note(Err(format!("cannot start a thread: {}", e)));
        }
        Remote {
            shared,
            thread: Mutex::new(Some(sender)),
        }
    }

    /// Ends the thread, whose fetch may be under way. The script stays.
    pub(super) fn stop(&self) {
        lock(&self.thread).take();
    }

    /// Waits until the first fetch of this thread has ended, for at most `limit`.
    ///
    /// # Errors
    ///
    /// Why there is no script.
    pub(super) fn settle(&self, limit: Duration) -> Result<(), String> {
        let script = self.script(limit, |state| state.is_settled);
        script.map(drop)
    }

    /// Calls FindProxyForURL. Without a script, waits until the first fetch has ended.
    pub(super) fn ask(&self, destination: &Lookup<'_>, limit: Duration) -> Result<String, String> {
        let until = Instant::now() + limit;
        let script = self.script(limit, |state| state.script.is_some() || state.is_settled);
        let script = script.map_err(|why| format!("it couldn't be loaded: {}", why))?;
        script.ask(destination, until.saturating_duration_since(Instant::now()))
    }

    /// Returns the script, when `is_ready` or after `limit`.
    fn script(
        &self,
        limit: Duration,
        is_ready: impl Fn(&State) -> bool,
    ) -> Result<Arc<Script>, String> {
        let state = lock(&self.shared.state);
        let fetched = &self.shared.fetched;
        let waited = fetched.wait_timeout_while(state, limit, |state| !is_ready(state));
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match (&state.script, &state.report.error) {
            (Some(script), _) => Ok(script.clone()),
            (None, Some((_, why))) => Err(why.clone()),
            (None, None) => Err("the first fetch hasn't ended yet".into()),
        }
    }

    pub(super) fn report(&self) -> FetchReport {
        lock(&self.shared.state).report.clone()
    }
}

impl Shared {
    /// Fetches until `stopped` is disconnected.
    fn run(&self, from: &PacFetch, stopped: &Receiver<()>) {
        let mut pause = FIRST_PAUSE;
        loop {
            let outcome = fetched(from).and_then(|text| self.load(text, from));
            if stopped.try_recv() == Err(TryRecvError::Disconnected) {
                return;
            }
            let next = if self.note(outcome) {
                pause = FIRST_PAUSE;
                from.interval
            } else {
                let double = (pause * 2).min(LONGEST_PAUSE);
                let pause = mem::replace(&mut pause, double);
                Some(from.interval.map_or(pause, |interval| interval.min(pause)))
            };
            let end = match next {
                Some(wait) => stopped.recv_timeout(wait),
                None => stopped.recv().map_err(RecvTimeoutError::from),
            };
            if end == Err(RecvTimeoutError::Disconnected) {
                return;
            }
        }
    }

    /// Returns the script with this text, which is the present one if the text is the same.
    fn load(&self, text: String, from: &PacFetch) -> Result<Arc<Script>, String> {
        let present = lock(&self.state).script.clone();
        match present.filter(|script| script.text() == text) {
            Some(script) => Ok(script),
            None => checked(&self.name, text, from).map(Arc::new),
        }
    }

    /// Notes how a fetch ended, and logs it if that is news. Returns whether it was good.
    fn note(&self, outcome: Result<Arc<Script>, String>) -> bool {
        let mut state = lock(&self.state);
        let is_first = !mem::replace(&mut state.is_settled, true);
        let report = &mut state.report;
        report.fetches += 1;
        let now = SystemTime::now();
        let (had_failed, is_good) = (report.error.take().is_some(), outcome.is_ok());
        match outcome {
            Ok(script) => {
                report.last = Some(now);
                let present = state.script.replace(script.clone());
                let is_same = present.map_or(false, |present| Arc::ptr_eq(&present, &script));
                drop(state);
                let level = match (had_failed, is_same) {
                    (true, _) => Level::Warn,
                    (_, false) => Level::Info,
                    _ => Level::Debug,
                };
                log!(level, "PAC file {}: loaded; new clients use it", self.name);
            }
            Err(why) => {
                report.failures += 1;
                report.error = Some((now, why.clone()));
                let effect = match state.script {
                    Some(_) => "the earlier script stays in force",
                    None => "clients that need it get no tunnel until it is loaded",
                };
                drop(state);
                let is_news = if is_first {
                    self.logs_first
                } else {
                    !had_failed
                };
                let level = if is_news { Level::Warn } else { Level::Debug };
                log!(
                    level,
                    "PAC file {}: cannot load it: {}; {}",
                    self.name,
                    why,
                    effect
                );
            }
        }
        self.fetched.notify_all();
        is_good
    }
}
