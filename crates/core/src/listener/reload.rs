//! SIGHUP: reads the configuration again and changes the listeners accordingly.
//!
//! Runs on a separate thread, because it blocks: a disk can be slow, and the name of an interface
//! can need a lookup. Open tunnels keep their settings; the next client gets the new ones.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{channel, Sender};
use std::thread;

use log::{error, warn};
use signal_hook::consts::SIGHUP;
use signal_hook::low_level::pipe;

use crate::config::Config;
use crate::error::Error;
use crate::listener::bind::{BoundListener, Listen};
use crate::listener::set::{print_lines, BoundListeners, ListenerSet, ReloadSummary};
use crate::os::sd_notify::ServiceManager;
use ptunnel_proto::text::escape::Escaped;

/// Reads the current configuration; returns it with warnings.
pub type Reader = dyn Fn() -> Result<(Config, Vec<String>), Error> + Send;

/// The file that a configuration was read from.
pub struct ConfigSource {
    /// Name of the file.
    pub name: String,
    /// Reads it again.
    pub read: Box<Reader>,
}

/// New listeners for one thread.
#[derive(Debug)]
pub struct Delivery<L> {
    listeners: Vec<BoundListener<L>>,
    answer: Sender<Result<(), Error>>,
}

impl<L> Delivery<L> {
    /// Passes each listener to `register`, up to the first that fails, and reports the result to the
    /// reload. A delivery that is dropped counts as failed.
    pub fn accept(self, register: impl FnMut(BoundListener<L>) -> Result<(), Error>) {
        let end = self.listeners.into_iter().try_for_each(register);
        let _ = self.answer.send(end); // fails after the failure of another thread
    }
}

/// Gives each thread its listeners through `deliver`, and waits until every thread has registered
/// them.
///
/// # Errors
///
/// The first error of a thread, or [`io::ErrorKind::BrokenPipe`] when one has ended.
fn deliver_all<L>(
    threads: BoundListeners<L>,
    mut deliver: impl FnMut(usize, Delivery<L>),
) -> Result<(), Error> {
    let (sender, answers) = channel();
    let mut missing = 0;
    for (thread, listeners) in threads.into_iter().enumerate() {
        if !listeners.is_empty() {
            missing += 1;
            let answer = sender.clone();
            deliver(thread, Delivery { listeners, answer });
        }
    }
    drop(sender);
    for answer in &answers {
        answer?;
        missing -= 1;
    }
    if missing > 0 {
        let gone = io::Error::new(io::ErrorKind::BrokenPipe, "a thread has ended");
        return Err(Error::other("cannot open the new listeners", gone));
    }
    Ok(())
}

/// A handler of SIGHUP that hasn't started to reload.
///
/// Once it is made, SIGHUP no longer ends the process, and none is lost, though several can cause one
/// reload.
pub struct Reload {
    source: ConfigSource,
    hangups: UnixStream,
}

impl Reload {
    /// Registers a handler for SIGHUP.
    ///
    /// # Errors
    ///
    /// [`Error::other`] when the process has no free descriptor.
    pub fn at_hangup(source: ConfigSource) -> Result<Reload, Error> {
        let catch = || {
            let (hangups, writer) = UnixStream::pair()?;
            pipe::register(SIGHUP, writer)?;
            Ok(hangups)
        };
        let hangups = catch().map_err(|e| Error::other("cannot catch signals", e))?;
        Ok(Reload { source, hangups })
    }

    /// Starts a thread that reads the file at each signal and changes the listeners of `set`. The
    /// process was started with `config`. `deliver` sends new listeners to one of the engine's
    /// threads, counted from 0.
    ///
    /// # Errors
    ///
    /// [`Error::other`] when the thread can't be started.
    pub fn start<L: Listen + 'static>(
        self,
        config: &Config,
        set: ListenerSet,
        manager: &ServiceManager,
        deliver: impl FnMut(usize, Delivery<L>) + Send + 'static,
    ) -> Result<(), Error> {
        let Reload { source, hangups } = self;
        let mut follower = Follower {
            source,
            started: config.clone(),
            set,
            manager: manager.clone(),
            deliver,
        };
        let start = thread::Builder::new().name("reload".into()).spawn(move || {
            while next(&hangups).is_ok() {
                follower.reload::<L>();
            }
        });
        start
            .map(drop)
            .map_err(|e| Error::other("cannot start a thread", e))
    }
}

/// Waits for a signal; several that are pending count as one.
fn next(mut hangups: &UnixStream) -> io::Result<()> {
    loop {
        match hangups.read(&mut [0; 64]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Err(ref e) if e.kind() == io::ErrorKind::Interrupted => {}
            answer => return answer.map(drop),
        }
    }
}

struct Follower<D> {
    source: ConfigSource,
    started: Config,
    set: ListenerSet,
    manager: ServiceManager,
    deliver: D,
}

impl<D> Follower<D> {
    /// Reads the file and changes the listeners, or leaves everything as it is; reports which.
    fn reload<L: Listen>(&mut self)
    where
        D: FnMut(usize, Delivery<L>),
    {
        if !self.manager.reloading() {
            return; // ptunnel is stopping
        }
        let mut change = match self.follow() {
            Ok(change) => change,
            Err(e) => {
                let status = format!("reload failed, nothing is changed: {}", e);
                error!("{}", status);
                return self.manager.ready(status);
            }
        };
        let name = Escaped(self.source.name.as_bytes());
        let status = format!("reloaded {}: {}", name, change);
        self.manager.ready(&status);
        change.lines.push(status);
        // Last, because the reader of stdout can be slow, or have exited.
        let _ = print_lines(&change.lines);
    }

    fn follow<L: Listen>(&mut self) -> Result<ReloadSummary, Error>
    where
        D: FnMut(usize, Delivery<L>),
    {
        let (config, warnings) = (self.source.read)()?;
        if config.demo || config.stdio.is_some() {
            return Err(Error::usage(
                "a reload can't change to --demo or -W; restart ptunnel",
            ));
        }
        let deliver = &mut self.deliver;
        let register = |threads| deliver_all(threads, deliver);
        let change = self.set.follow(&config, register)?;
        for warning in warnings {
            warn!("{}", warning);
        }
        let fixed = fixed(&self.started, &config);
        if !fixed.is_empty() {
            warn!(
                "a reload doesn't change {}; restart ptunnel",
                fixed.join(", ")
            );
        }
        log::set_max_level(config.verbosity);
        Ok(change)
    }
}

/// Returns the names of the changed options that only a restart applies.
fn fixed(started: &Config, config: &Config) -> Vec<&'static str> {
    let all = [
        ("threads", started.threads == config.threads),
        (
            "max-connections",
            started.max_connections == config.max_connections,
        ),
        (
            "drain-timeout",
            started.timeouts.drain == config.timeouts.drain,
        ),
        ("unconfined", started.is_confined == config.is_confined),
        ("status", started.status == config.status),
        ("log-format", started.log_format == config.log_format),
        ("log-to", started.log_to == config.log_to),
        ("log-time", started.log_time == config.log_time),
    ];
    let differing = all.iter().filter(|(_, is_same)| !is_same);
    differing.map(|(name, _)| *name).collect()
}
