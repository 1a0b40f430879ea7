//! Signals, and the phases from serving to the end that every thread follows.
//!
//! The thread of `main` receives the signals and passes the phase on to the other threads, and does
//! nothing else.

use std::future::Future;
use std::io;
use std::time::Duration;

use tokio::signal::unix::{signal, Signal, SignalKind};
use tokio::sync::watch;

use ptunnel_core::observe::access_log;
use ptunnel_core::os::sd_notify::ServiceManager;

/// The stream of SIGTERM and SIGINT.
///
/// Once it exists, these signals no longer end the process, and none is lost, though two of a kind
/// can become one.
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

    /// Resolves at the next signal.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Ignores SIGINT, which the terminal sends to every program of the session: tokio's handler stays
/// after the stream.
///
/// # Errors
///
/// `EMFILE` or `ENFILE` if there is no descriptor.
pub fn ignore_interrupt() -> io::Result<()> {
    signal(SignalKind::interrupt()).map(drop)
}

/// The phases of the program, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShutdownPhase {
    /// Clients are accepted.
    Serving,
    /// No client is accepted; open tunnels continue to their end.
    Draining,
    /// Open tunnels are cut.
    Ending,
}

/// A thread's view of the phase.
#[derive(Clone)]
pub struct ShutdownPhases(watch::Receiver<ShutdownPhase>);

impl ShutdownPhases {
    /// Returns the sender that sets the phase, and a view of it.
    pub fn new() -> (watch::Sender<ShutdownPhase>, ShutdownPhases) {
        let (sender, receiver) = watch::channel(ShutdownPhase::Serving);
        (sender, ShutdownPhases(receiver))
    }

    /// Resolves once `phase` is reached, or the leader has ended.
    pub async fn reached(&self, phase: ShutdownPhase) {
        let _ = self.0.clone().wait_for(|now| *now >= phase).await;
    }
}

/// The end of the drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrainEnd {
    /// Every tunnel had ended, or was cut when the drain time was over.
    Orderly,
    /// A second signal arrived.
    Forced,
}

/// Lets the threads serve until a signal arrives, then lets the clients end for at most `limit`; a
/// second signal is final. The service manager is notified of both.
pub async fn lead(
    mut signals: Signals,
    phase: &watch::Sender<ShutdownPhase>,
    service_manager: &ServiceManager,
    limit: Duration,
    clients: impl Fn() -> usize,
    idle: impl Future<Output = ()>,
) -> DrainEnd {
    service_manager.ready("listening");
    signals.next().await;
    access_log::stopping(clients(), limit);
    service_manager.stopping();
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
