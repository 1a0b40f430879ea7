//! From a configuration to running tunnels: bind everything, serve on every thread, drain.

use std::io;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::thread;

use futures::future::{self, Either};
use futures::sync::mpsc;
use futures::{Future, Stream};
use log::{info, warn};
use tokio_core::reactor::{Core, Timeout};

use super::shutdown::{Leader, Shutdown, SignalPipe};
use super::{Engine, Permits, Settings};
use crate::config::Config;
use crate::engine::io::BoundSocket;
use crate::error::Error;
use crate::listener::bind;
use crate::listener::reload::{self, ConfigSource, Reload};
use crate::listener::set::ListenerSet;
use crate::observe::access_log;
use crate::os::sd_notify::{Heartbeat, ServiceManager};
use crate::os::sys;

/// A listener of one thread, and what it is for.
pub type BoundListener = bind::BoundListener<BoundSocket>;

/// The listeners that a reload brings to one thread.
pub type Delivery = reload::Delivery<BoundSocket>;

/// Binds every listener of the configuration, tells of each on stdout, and serves until a
/// signal comes and the live tunnels have ended.
///
/// # Errors
///
/// The first bind that fails: nothing was served by then.
pub(super) fn run(config: &Config, source: Option<ConfigSource>) -> Result<(), Error> {
    match sys::raise_descriptor_limit() {
        Ok(limit) => info!("up to {} descriptors", limit),
        Err(e) => warn!("cannot raise the limit on descriptors: {}", e),
    }
    // Before there are threads, which might look at the environment meanwhile.
    let supervisor = ServiceManager::of_process(sys::monotonic);
    // Before the first line on stdout: whoever waits for it may send a signal the moment after.
    let caught = SignalPipe::new().map_err(|e| Error::other("cannot catch signals", e))?;
    let reload = source.map(Reload::at_hangup).transpose()?;
    let (roster, threads) = ListenerSet::open(config, super::open_path)?;
    let (senders, later): (Vec<_>, Vec<_>) = threads.iter().map(|_| mpsc::unbounded()).unzip();
    if let Some(reload) = reload {
        reload.start(config, roster, &supervisor, move |thread, delivery| {
            // Fails when the thread is gone, which the lack of an answer tells.
            let _ = senders[thread].unbounded_send(delivery);
        })?;
    }
    let threads = threads.into_iter().zip(later).collect();
    serve_on_all(threads, caught, supervisor, config)
}

/// The posts of one thread, and those that come when it runs.
type Share = (Vec<BoundListener>, mpsc::UnboundedReceiver<Delivery>);

/// How a reactor came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DrainEnd {
    /// Every tunnel had ended.
    Drained,
    /// The drain time was over first.
    TimedOut,
    /// A second signal came.
    Forced,
}

/// This thread is the first reactor, which hears the signals and tells the others.
fn serve_on_all(
    mut threads: Vec<Share>,
    caught: SignalPipe,
    supervisor: ServiceManager,
    config: &Config,
) -> Result<(), Error> {
    let settings = Settings::of(config);
    let permits = Permits::new(config.max_connections);
    let (leader, stop) = Leader::new();
    let (ender, end) = Leader::new();
    let (ended, ends) = mpsc::unbounded();
    let mut pulses = supervisor.heartbeats(threads.len());
    let others = threads.drain(1..).zip(pulses.drain(1..));
    for (index, ((posts, later), pulse)) in others.enumerate() {
        let (settings, permits, stop) = (settings.clone(), permits.clone(), stop.clone());
        let (end, ended) = (end.clone(), ended.clone());
        let serve = move || {
            let reactor = Reactor::new(settings, permits, &stop)?;
            reactor.accept(posts)?;
            reactor.join(later, pulse)?;
            reactor.follow(&end)
        };
        thread::Builder::new()
            .name(format!("reactor-{}", index + 2))
            // Fails when the leader is gone, and with it the program.
            .spawn(move || ended.unbounded_send(catch_unwind(AssertUnwindSafe(serve))))
            .map_err(|e| Error::other("cannot start a thread", e))?;
    }
    drop(ended);
    let reactor = Reactor::new(settings, permits, &stop)?;
    let (posts, later) = threads.remove(0);
    reactor.accept(posts)?;
    reactor.join(later, pulses.remove(0))?;
    reactor.lead(caught, supervisor, (leader, ender), all_ended(ends))
}

/// How a thread ended, or with what it panicked.
type ThreadEnd = thread::Result<Result<(), Error>>;

/// Resolves when each of the other threads has ended, and fails with the first that failed: who
/// connects to its listeners would wait in vain. A panic of one is ours, as it is when a thread is
/// joined.
fn all_ended(ends: mpsc::UnboundedReceiver<ThreadEnd>) -> impl Future<Item = (), Error = Error> {
    ends.then(|outcome| match outcome {
        Ok(Ok(end)) => end,
        Ok(Err(panic)) => resume_unwind(panic),
        Err(()) => unreachable!("a receiver never fails"),
    })
    .for_each(|()| Ok(()))
}

/// Resolves when the leader and the others have, or with a leader in a hurry; fails with the first
/// that fails.
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

/// One thread: its loop, its listeners and their tunnels.
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

    /// Starts to accept for each post, until it is time to stop.
    pub(super) fn accept(&self, posts: Vec<BoundListener>) -> Result<(), Error> {
        let stop = &self.stop;
        posts
            .into_iter()
            .try_for_each(|post| self.engine.accept(post, &self.permits, stop.wait()))
    }

    /// What makes it one of several: further posts, and a watchdog.
    fn join(
        &self,
        later: mpsc::UnboundedReceiver<Delivery>,
        pulse: Heartbeat,
    ) -> Result<(), Error> {
        let stop = self.stop.clone();
        self.engine
            .reload(later, &self.permits, move || stop.wait());
        self.engine.watchdog(pulse)
    }

    /// Runs until the leader says that it is over, and cuts what is left.
    pub(super) fn follow(mut self, end: &Shutdown) -> Result<(), Error> {
        let end = end.wait().then(|_| Ok(()));
        self.engine.handle().run(&mut self.core, end)
    }

    /// Runs until a signal, tells the others to stop, lets the tunnels end, and tells the others that
    /// it is over; a second signal is final.
    fn lead(
        mut self,
        caught: SignalPipe,
        supervisor: ServiceManager,
        (leader, ender): (Leader, Leader),
        others: impl Future<Item = (), Error = Error> + 'static,
    ) -> Result<(), Error> {
        let failed = |e| Error::other("cannot hear signals", e);
        let signals = caught.hear(self.engine.handle()).map_err(failed)?;
        let (engine, permits) = (self.engine.clone(), self.permits.clone());
        supervisor.ready("listening");
        let end = signals
            .into_future()
            .map_err(|(e, _)| e)
            .and_then(move |(_, signals)| {
                let limit = engine.settings().timeouts.drain;
                access_log::stopping(permits.held(), limit);
                supervisor.stopping();
                drop(leader);
                let hurried = signals.into_future().map(|_| DrainEnd::Forced);
                drain(&engine, &permits)
                    .select(hurried.map_err(|(e, _)| e))
                    .map_err(|(e, _)| e)
                    .map(move |(end, _)| {
                        // Counted before another thread cuts its own.
                        match end {
                            DrainEnd::Drained => {}
                            DrainEnd::TimedOut => access_log::cut_after(permits.held(), limit),
                            DrainEnd::Forced => access_log::cut_by_signal(permits.held()),
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

/// Resolves when no tunnel is left, or the drain time is over.
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

    /// What the leader does when another thread has come to this end before any signal.
    fn end_of_all(outcome: ThreadEnd) -> Result<(), Error> {
        let (ended, ends) = mpsc::unbounded();
        ended.unbounded_send(outcome).unwrap();
        together(future::empty(), all_ended(ends)).wait()
    }

    /// The others went on without it, and nobody looked at its end before theirs.
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
    fn a_leader_waits_for_the_others_unless_it_is_in_a_hurry() {
        let (ended, ends) = mpsc::unbounded();
        let hurried = together(future::ok(DrainEnd::Forced), all_ended(ends));
        hurried.wait().unwrap();
        drop(ended);
        let (ended, ends) = mpsc::unbounded();
        let orderly = together(future::ok(DrainEnd::Drained), all_ended(ends));
        let waiting = thread::spawn(|| orderly.wait());
        ended.unbounded_send(Ok(Err(Error::usage("late")))).unwrap();
        assert!(waiting.join().unwrap().is_err());
    }
}
