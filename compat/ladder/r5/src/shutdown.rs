//! Signals, and the phases from serving to the end that every thread follows.
//!
//! The thread of `main` does nothing else: it hears the signals and tells the others how far
//! things have come.

use std::future::Future;
use std::io;
use std::time::Duration;

use ptunnel::observe::access_log;
use ptunnel::os::sd_notify::ServiceManager;
use tokio::signal::unix::{signal, Signal, SignalKind};
use tokio::sync::watch;

/// SIGTERM and SIGINT, as they come.
///
/// From its making on these signals no longer end the process by themselves, and none that comes
/// is lost, though two of a kind may be one.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Catches the signals, inside a runtime.
    ///
    /// # Errors
    ///
    /// `EMFILE` or `ENFILE` if there is no descriptor.
    pub fn new() -> io::Result<Signals> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Resolves when one has come.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Leaves SIGINT to whoever shares the terminal with us: tokio's handler stays after the stream.
///
/// # Errors
///
/// When there is no descriptor for it.
pub fn ignore_interrupt() -> io::Result<()> {
    signal(SignalKind::interrupt()).map(drop)
}

/// How far things have come, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShutdownPhase {
    /// Threads come up; none accepts before all of them are there.
    Starting,
    /// Clients are accepted.
    Serving,
    /// None any more; those who are there may end.
    Draining,
    /// Those who are still there are cut.
    Ending,
}

/// What every thread learns of the phase.
#[derive(Clone)]
pub struct ShutdownPhases(watch::Receiver<ShutdownPhase>);

impl ShutdownPhases {
    /// A thread's view of the phase, and what sets it.
    pub fn new() -> (watch::Sender<ShutdownPhase>, ShutdownPhases) {
        let (sender, receiver) = watch::channel(ShutdownPhase::Starting);
        (sender, ShutdownPhases(receiver))
    }

    /// Resolves once things have come to `phase`. A leader that is gone without a word is a word,
    /// too.
    pub async fn reached(&self, phase: ShutdownPhase) {
        let _ = self.0.clone().wait_for(|now| *now >= phase).await;
    }
}

/// How the end came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrainEnd {
    /// Every tunnel had ended, or was cut when the drain time was over.
    Orderly,
    /// A second signal came.
    Forced,
}

/// Lets the threads serve until a signal comes, then lets the clients end for at most `limit`; a
/// second signal is final. The service manager is notified of both.
pub async fn lead(
    mut signals: Signals,
    phase: &watch::Sender<ShutdownPhase>,
    supervisor: &ServiceManager,
    limit: Duration,
    clients: impl Fn() -> usize,
    idle: impl Future<Output = ()>,
) -> DrainEnd {
    phase.send_replace(ShutdownPhase::Serving);
    supervisor.ready("listening");
    signals.next().await;
    access_log::stopping(clients(), limit);
    supervisor.stopping();
    phase.send_replace(ShutdownPhase::Draining);
    tokio::select! {
        biased;
        () = idle => {}
        () = signals.next() => {
            access_log::cut_by_signal(clients());
            return DrainEnd::Forced;
        }
        () = tokio::time::sleep(limit) => access_log::cut_after(clients(), limit),
    }
    phase.send_replace(ShutdownPhase::Ending);
    DrainEnd::Orderly
}
