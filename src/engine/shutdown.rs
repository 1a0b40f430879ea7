//! From the first signal to the last tunnel: stop accepting, let live tunnels end, go.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::sync::oneshot::{self, Sender};
use futures::{Async, Future, Poll, Stream};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

use crate::engine::io::{Handle, Socket};

/// The signals are caught; nobody hears them yet.
///
/// From its making on SIGTERM and SIGINT no longer end the process by themselves, and none that
/// comes is lost.
pub struct SignalPipe {
    pipe: UnixStream,
}

impl SignalPipe {
    /// Catches the signals.
    ///
    /// # Errors
    ///
    /// When there is no descriptor for it.
    pub fn new() -> io::Result<SignalPipe> {
        let (ours, theirs) = UnixStream::pair()?;
        pipe::register(SIGTERM, theirs.try_clone()?)?;
        pipe::register(SIGINT, theirs)?;
        Ok(SignalPipe { pipe: ours })
    }

    /// Tells of them on the reactor of `handle`.
    ///
    /// # Errors
    ///
    /// When the reactor can't take another source.
    pub fn hear(self, handle: &Handle) -> io::Result<Signals> {
        let pipe = Socket::from_unix(self.pipe, handle)?;
        Ok(Signals { pipe })
    }
}

/// SIGTERM and SIGINT, as they come; never ends.
#[must_use = "streams do nothing unless polled"]
pub struct Signals {
    pipe: Socket,
}

impl Stream for Signals {
    type Item = ();
    type Error = io::Error;

    fn poll(&mut self) -> Poll<Option<()>, io::Error> {
        // A byte a signal: two that come together are two.
        match self.pipe.read(&mut [0]) {
            Ok(_) => Ok(Async::Ready(Some(()))),
            Err(ref e) if e.kind() == io::ErrorKind::WouldBlock => Ok(Async::NotReady),
            Err(e) => Err(e),
        }
    }
}

/// Tells every thread to stop accepting, by being dropped: a leader that fails has stopped, too.
pub struct Leader(Shutdown);

impl Leader {
    /// A leader, and what it stops.
    pub fn new() -> (Leader, Shutdown) {
        let stop = Shutdown {
            waiting: Arc::new(Mutex::new(Some(Vec::new()))),
        };
        (Leader(stop.clone()), stop)
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        let waiting = self.0.lock().take();
        drop(waiting); // tells them, outside of the lock
    }
}

/// Whether it is time to stop; cloned freely, to other threads too.
#[derive(Clone)]
pub struct Shutdown {
    /// Nothing from when on it is time.
    waiting: Arc<Mutex<Option<Vec<Sender<()>>>>>,
}

impl Shutdown {
    /// Resolves when it is time to stop.
    pub fn wait(&self) -> impl Future<Item = (), Error = ()> {
        let (tell, told) = oneshot::channel();
        if let Some(waiting) = &mut *self.lock() {
            waiting.retain(|tell| !tell.is_canceled()); // listeners that a reload has closed
            waiting.push(tell);
        }
        told.then(|_| Ok(()))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Vec<Sender<()>>>> {
        // Nothing under this lock can panic half-way.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Leaves SIGINT to whoever shares the terminal with us.
///
/// # Errors
///
/// None that a process which may have signal handlers can meet.
pub fn ignore_interrupt() -> io::Result<()> {
    signal_hook::flag::register(SIGINT, Arc::new(AtomicBool::new(false))).map(drop)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_leader_that_is_gone_stops_those_who_wait_and_those_who_come_later() {
        let (leader, stop) = Leader::new();
        let waiting: Vec<_> = (0..3)
            .map(|_| stop.wait())
            .map(|wait| thread::spawn(|| wait.wait()))
            .collect();
        drop(stop.wait()); // a listener that a reload has closed
        drop(leader);
        for thread in waiting {
            assert_eq!(thread.join().unwrap(), Ok(()));
        }
        assert_eq!(stop.wait().wait(), Ok(()));
    }

    #[test]
    fn nothing_is_kept_of_those_who_wait_no_more() {
        let (_leader, stop) = Leader::new();
        for _ in 0..100 {
            drop(stop.wait());
        }
        assert_eq!(stop.lock().as_ref().map(Vec::len), Some(1));
    }
}
