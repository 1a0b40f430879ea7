//! The program with listeners: binds them, serves on every thread, and drains after a signal.
//!
//! ```text
//!   bind ──▶ serving ──signal──▶ draining ──▶ drained, timed out or forced ──▶ end
//!              └──────── a thread fails or panics ─────────────────────────────┘
//! ```
//!
//! The first thread is the leader: it receives the signals and stops the others, each of which has its
//! own [`Reactor`].

use std::io;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::thread;

use futures::future::{self, Either};
use futures::sync::mpsc;
use futures::{Future, Stream};
use log::{info, warn};
use tokio_core::reactor::{Core, Timeout};

use crate::io::BoundSocket;
use crate::shutdown::{Leader, Shutdown, SignalPipe};
use crate::{Engine, Permits, Settings};
use ptunnel_core::config::Config;
use ptunnel_core::error::Error;
use ptunnel_core::listener::bind::BoundListener;
use ptunnel_core::listener::reload::{ConfigSource, Delivery, Reload};
use ptunnel_core::listener::set::ListenerSet;
use ptunnel_core::observe::access_log;
use ptunnel_core::observe::limits::{self, LimitWatch};
use ptunnel_core::os::sd_notify::{Heartbeat, ServiceManager};
use ptunnel_core::os::sys;

/// Binds every listener of the configuration, prints each on stdout, and serves until a signal comes
/// and the open tunnels have ended.
///
/// # Errors
///
/// The first bind that fails, before any client is served; the first thread that fails.
pub(super) fn run(config: &Config, source: Option<ConfigSource>) -> Result<(), Error> {
    match sys::raise_descriptor_limit() {
        Ok(limit) => info!("limit of file descriptors: {}", limit),
        Err(e) => warn!("cannot raise the limit of file descriptors: {}", e),
    }
    // Before any thread starts, because this changes the environment.
    let service_manager = ServiceManager::of_process(sys::monotonic);
    // Before the first line on stdout: its reader can send a signal at once.
    let signal_pipe = SignalPipe::new().map_err(|e| Error::other("cannot catch signals", e))?;
    let reload = source.map(Reload::at_hangup).transpose()?;
    let (listeners, threads) = ListenerSet::open(config, super::open_path)?;
    let (senders, later): (Vec<_>, Vec<_>) = threads.iter().map(|_| mpsc::unbounded()).unzip();
    if let Some(reload) = reload {
        let deliver = move |thread: usize, delivery| {
            // Fails if the thread has ended. Then the reload gets no answer, and fails too.
            let _ = senders[thread].unbounded_send(delivery);
        };
        reload.start(config, listeners, &service_manager, deliver)?;
    }
    let threads = threads.into_iter().zip(later).collect();
    serve_on_all(threads, signal_pipe, service_manager, config)
}

/// The listeners of one thread, and those that reloads add.
type ThreadListeners = (
    Vec<BoundListener<BoundSocket>>,
    mpsc::UnboundedReceiver<Delivery<BoundSocket>>,
);

/// The end of the drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DrainEnd {
    /// Every tunnel has ended.
    Drained,
    /// The drain timeout was over first.
    TimedOut,
    /// A second signal came first.
    Forced,
}

/// Starts the other threads, and runs the leader on this one.
fn serve_on_all(
    mut threads: Vec<ThreadListeners>,
    signal_pipe: SignalPipe,
    service_manager: ServiceManager,
    config: &Config,
) -> Result<(), Error> {
    let settings = Settings::of(config);
    let permits = Permits::new(config.max_connections);
    let (leader, stop) = Leader::new();
    let (ender, end) = Leader::new();
    let (ended, ends) = mpsc::unbounded();
    let mut heartbeats = service_manager.heartbeats(threads.len());
    let others = threads.drain(1..).zip(heartbeats.drain(1..));
    for (index, ((listeners, later), heartbeat)) in others.enumerate() {
        let (settings, permits, stop) = (settings.clone(), permits.clone(), stop.clone());
        let (end, ended) = (end.clone(), ended.clone());
        let serve = move || {
            let reactor = Reactor::new(settings, permits, &stop)?;
            reactor.accept(listeners)?;
            reactor.join(later, heartbeat)?;
            reactor.follow(&end)
        };
        thread::Builder::new()
            .name(format!("reactor-{}", index + 2))
            // Fails if the leader has ended, and with it the program.
            .spawn(move || ended.unbounded_send(catch_unwind(AssertUnwindSafe(serve))))
            .map_err(|e| Error::other("cannot start a thread", e))?;
    }
    drop(ended);
    let reactor = Reactor::new(settings, permits, &stop)?;
    let (listeners, later) = threads.remove(0);
    reactor.accept(listeners)?;
    reactor.join(later, heartbeats.remove(0))?;
    let mut watch = LimitWatch::new(config.max_connections);
    let permits = reactor.permits.clone();
    let mut look = move || watch.look(permits.clients());
    look();
    reactor.engine.every(limits::PAUSE, look)?;
    reactor.lead(
        signal_pipe,
        service_manager,
        (leader, ender),
        all_ended(ends),
    )
}

/// The result of a thread, or its panic.
type ThreadEnd = thread::Result<Result<(), Error>>;

/// Resolves when all other threads have ended, and fails with the first that fails: clients that
/// connect to its listeners would not be served. Panics with the panic of a thread.
fn all_ended(ends: mpsc::UnboundedReceiver<ThreadEnd>) -> impl Future<Item = (), Error = Error> {
    ends.then(|outcome| match outcome {
        Ok(Ok(end)) => end,
        Ok(Err(panic)) => resume_unwind(panic),
        Err(()) => unreachable!("a receiver never fails"),
    })
    .for_each(|()| Ok(()))
}

/// Resolves when the leader and the others have resolved, or when the leader is forced; fails with
/// the first that fails.
fn together(
    leader: impl Future<Item = DrainEnd, Error = Error>,
    others: impl Future<Item = (), Error = Error>,
) -> impl Future<Item = (), Error = Error> {
    leader.select2(others).then(|first| match first {
        // The end of the process ends the other threads.
        Ok(Either::A((DrainEnd::Forced, _))) => Either::A(future::ok(())),
        Ok(Either::A((_, others))) => Either::B(Either::A(others)),
        Ok(Either::B(((), leader))) => Either::B(Either::B(leader.map(drop))),
        Err(Either::A((e, _))) | Err(Either::B((e, _))) => Either::A(future::err(e)),
    })
}

/// The loop of one thread, its listeners and their tunnels.
pub(super) struct Reactor {
    core: Core,
    engine: Engine,
    permits: Permits,
    stop: Shutdown,
}

impl Reactor {
    pub(super) fn new(
        settings: Settings,
        permits: Permits,
        stop: &Shutdown,
    ) -> Result<Reactor, Error> {
        let start = || {
            let core = Core::new()?;
            let engine = Engine::new(&core.handle(), settings)?;
            Ok((core, engine))
        };
        let (core, engine) = start().map_err(|e| Error::other("cannot start a reactor", e))?;
        Ok(Reactor {
            core,
            engine,
            permits,
            stop: stop.clone(),
        })
    }

    /// Starts to accept on each listener, until ptunnel shuts down.
    pub(super) fn accept(&self, listeners: Vec<BoundListener<BoundSocket>>) -> Result<(), Error> {
        let stop = &self.stop;
        listeners
            .into_iter()
            .try_for_each(|listener| self.engine.accept(listener, &self.permits, stop.wait()))
    }

    /// Starts to follow reloads, and the watchdog.
    fn join(
        &self,
        later: mpsc::UnboundedReceiver<Delivery<BoundSocket>>,
        heartbeat: Heartbeat,
    ) -> Result<(), Error> {
        let stop = self.stop.clone();
        self.engine
            .reload(later, &self.permits, move || stop.wait());
        self.engine.watchdog(heartbeat)
    }

    /// Runs until the leader ends the drain, and cuts the tunnels that are left.
    pub(super) fn follow(mut self, end: &Shutdown) -> Result<(), Error> {
        let end = end.wait().then(|_| Ok(()));
        self.engine.handle().run(&mut self.core, end)
    }

    /// Runs until a signal, has all threads stop accepting, waits for the end of the drain, and has the
    /// others end.
    fn lead(
        mut self,
        signal_pipe: SignalPipe,
        service_manager: ServiceManager,
        (leader, ender): (Leader, Leader),
        others: impl Future<Item = (), Error = Error> + 'static,
    ) -> Result<(), Error> {
        let failed = |e| Error::other("cannot receive signals", e);
        let signals = signal_pipe.signals(self.engine.handle()).map_err(failed)?;
        let (engine, permits) = (self.engine.clone(), self.permits.clone());
        service_manager.ready("listening");
        let end = signals
            .into_future()
            .map_err(|(e, _)| e)
            .and_then(move |(_, signals)| {
                let limit = engine.settings().timeouts.drain;
                access_log::stopping(permits.clients(), limit);
                service_manager.stopping();
                drop(leader);
                let forced = signals.into_future().map(|_| DrainEnd::Forced);
                drain(&engine, &permits)
                    .select(forced.map_err(|(e, _)| e))
                    .map_err(|(e, _)| e)
                    .map(move |(end, _)| {
                        // Counted before the other threads cut their tunnels.
                        match end {
                            DrainEnd::Drained => {}
                            DrainEnd::TimedOut => access_log::cut_after(permits.clients(), limit),
                            DrainEnd::Forced => access_log::cut_by_signal(permits.clients()),
                        }
                        drop(ender);
                        end
                    })
            });
        self.engine
            .handle()
            .run(&mut self.core, together(end.map_err(failed), others))
    }
}

/// Resolves when no tunnel is left, or when the drain timeout is over.
fn drain(engine: &Engine, permits: &Permits) -> impl Future<Item = DrainEnd, Error = io::Error> {
    let limit = engine.settings().timeouts.drain;
    let late = future::result(Timeout::new(limit, engine.handle().core()))
        .flatten()
        .map(|()| DrainEnd::TimedOut);
    let drained = permits.idle().map(|()| DrainEnd::Drained);
    drained.select(late).map(|(end, _)| end).map_err(|(e, _)| e)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the leader's result if another thread ends like this before any signal.
    fn end_of_all(outcome: ThreadEnd) -> Result<(), Error> {
        let (ended, ends) = mpsc::unbounded();
        ended.unbounded_send(outcome).unwrap();
        together(future::empty(), all_ended(ends)).wait()
    }

    /// Regression: the other threads ran on without it until they ended.
    #[test]
    fn a_thread_that_fails_ends_the_program() {
        let failed = end_of_all(Ok(Err(Error::usage("failed on purpose"))));
        assert_eq!(failed.unwrap_err().to_string(), "failed on purpose");
    }

    #[test]
    fn a_thread_that_panics_ends_the_program() {
        let panic = catch_unwind(|| end_of_all(Err(Box::new("broken on purpose"))));
        let text = panic.unwrap_err();
        assert_eq!(text.downcast_ref(), Some(&"broken on purpose"));
    }

    #[test]
    fn a_leader_waits_for_the_others_unless_it_is_forced() {
        let (ended, ends) = mpsc::unbounded();
        let forced = together(future::ok(DrainEnd::Forced), all_ended(ends));
        forced.wait().unwrap();
        drop(ended);
        let (ended, ends) = mpsc::unbounded();
        let orderly = together(future::ok(DrainEnd::Drained), all_ended(ends));
        let waiting = thread::spawn(|| orderly.wait());
        ended.unbounded_send(Ok(Err(Error::usage("late")))).unwrap();
        assert!(waiting.join().unwrap().is_err());
    }
}
