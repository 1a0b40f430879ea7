//! SIGHUP: reads the configuration again, and has the running program follow it.
//!
//! On a plain thread, for which no tunnel waits: a file may lie on a disk that sleeps, and the name
//! of an interface may have to be looked up. Live tunnels keep what they began with; who connects
//! from now on gets what is new.

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
use crate::text::escape::Escaped;

/// Reads the configuration as it is now, and what is to be warned of.
pub type Reader = dyn Fn() -> Result<(Config, Vec<String>), Error> + Send;

/// Where a configuration came from, and can be read again.
pub struct ConfigSource {
    /// The file's name.
    pub name: String,
    /// What reads it.
    pub read: Box<Reader>,
}

/// The listeners that a reload brings to one thread.
#[derive(Debug)]
pub struct Delivery<L> {
    listeners: Vec<BoundListener<L>>,
    answer: Sender<Result<(), Error>>,
}

impl<L> Delivery<L> {
    /// Watches each listener with `watch`, up to the first that fails, and answers how that went.
    /// A delivery that is dropped counts as failed.
    pub fn accept(self, watch: impl FnMut(BoundListener<L>) -> Result<(), Error>) {
        let end = self.listeners.into_iter().try_for_each(watch);
        let _ = self.answer.send(end); // fails when another thread has failed before
    }
}

/// Has `deliver` give each thread its listeners, and waits until every thread watches them.
///
/// # Errors
///
/// The first that a thread meets.
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

/// SIGHUP is caught; nothing is read yet.
///
/// From its making on SIGHUP no longer ends the process, and none that comes is lost, though
/// several may be one.
pub struct Reload {
    source: ConfigSource,
    hangups: UnixStream,
}

impl Reload {
    /// Catches the signal.
    ///
    /// # Errors
    ///
    /// When there is no descriptor for it.
    pub fn at_hangup(source: ConfigSource) -> Result<Reload, Error> {
        let catch = || {
            let (hangups, theirs) = UnixStream::pair()?;
            pipe::register(SIGHUP, theirs)?;
            Ok(hangups)
        };
        let hangups = catch().map_err(|e| Error::other("cannot catch signals", e))?;
        Ok(Reload { source, hangups })
    }

    /// Starts to follow the source's file at each signal, on a thread of its own: for a program
    /// that was started with `config`, and has the listeners of `set`. `deliver` hands new
    /// listeners to one of the program's threads, which are counted from 0.
    ///
    /// # Errors
    ///
    /// When there is no thread for it.
    pub fn start<L: Listen + 'static>(
        self,
        config: &Config,
        set: ListenerSet,
        supervisor: &ServiceManager,
        deliver: impl FnMut(usize, Delivery<L>) + Send + 'static,
    ) -> Result<(), Error> {
        let Reload { source, hangups } = self;
        let mut follower = Follower {
            source,
            started: config.clone(),
            set,
            supervisor: supervisor.clone(),
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

/// Waits for a signal; those that came together are one.
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
    supervisor: ServiceManager,
    deliver: D,
}

impl<D> Follower<D> {
    /// Follows the file, or stays with what there is, and tells which.
    fn reload<L: Listen>(&mut self)
    where
        D: FnMut(usize, Delivery<L>),
    {
        if !self.supervisor.reloading() {
            return; // it is too late for that
        }
        let mut change = match self.follow() {
            Ok(change) => change,
            Err(e) => {
                let status = format!("not reloaded, everything stays as it was: {}", e);
                error!("{}", status);
                return self.supervisor.ready(status);
            }
        };
        let name = Escaped(self.source.name.as_bytes());
        let status = format!("reloaded {}: {}", name, change);
        self.supervisor.ready(&status);
        change.lines.push(status);
        // Last, since the reader may be slow; or nobody may be reading any more.
        let _ = print_lines(&change.lines);
    }

    fn follow<L: Listen>(&mut self) -> Result<ReloadSummary, Error>
    where
        D: FnMut(usize, Delivery<L>),
    {
        let (config, warnings) = (self.source.read)()?;
        if config.demo || config.stdio.is_some() {
            return Err(Error::usage(
                "a demo, or standard input and output, can't take the place of listeners",
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
            warn!("only a restart changes {}", fixed.join(", "));
        }
        log::set_max_level(config.verbosity);
        Ok(change)
    }
}

/// The options that differ, and count once, at the start.
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
        ("status", started.status == config.status),
        ("log-format", started.log_format == config.log_format),
        ("log-to", started.log_to == config.log_to),
        ("log-time", started.log_time == config.log_time),
    ];
    let differing = all.iter().filter(|(_, is_same)| !is_same);
    differing.map(|(name, _)| *name).collect()
}
