//! Signals, and the flag that stops every thread.
//!
//! The leader (see `server`) reads the [`SignalPipe`]. It owns two [`Leader`]s, each with a
//! [`Shutdown`] that all threads wait for: the first stops the listeners, the second ends the
//! drain.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use futures::sync::oneshot::{self, Sender};
use futures::{stream, Future, Stream};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

use crate::io::{poll_io, Handle, Socket};
use ptunnel_proto::sync::lock;

/// A pipe to which each SIGTERM and SIGINT writes a byte.
///
/// Once it exists, these signals no longer end the process, and none is lost.
pub struct SignalPipe {
    pipe: UnixStream,
}

impl SignalPipe {
    /// Catches the signals.
    ///
    /// # Errors
    ///
    /// `EMFILE` or `ENFILE` if there is no descriptor.
    pub fn new() -> io::Result<SignalPipe> {
        let (reading, writing) = UnixStream::pair()?;
        pipe::register(SIGTERM, writing.try_clone()?)?;
        pipe::register(SIGINT, writing)?;
        Ok(SignalPipe { pipe: reading })
    }

    /// Returns the signals, an item for each, on the reactor of `handle`; the stream never ends.
    ///
    /// # Errors
    ///
    /// The errors of epoll_ctl(2).
    pub fn signals(self, handle: &Handle) -> io::Result<impl Stream<Item = (), Error = io::Error>> {
        let mut pipe = Socket::from_unix(self.pipe, handle)?;
        // One byte at a time: two signals that arrive together are two items.
        let next = move || poll_io(pipe.read(&mut [0]).map(|_| Some(())));
        Ok(stream::poll_fn(next))
    }
}

/// Stops every thread that waits for its [`Shutdown`] when it is dropped. So a leader that fails
/// stops them too.
pub struct Leader(Shutdown);

impl Leader {
    /// Returns a leader and the shutdown that it begins.
    pub fn new() -> (Leader, Shutdown) {
        let stop = Shutdown {
            waiting: Arc::new(Mutex::new(Some(Vec::new()))),
        };
        (Leader(stop.clone()), stop)
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        let waiting = lock(&self.0.waiting).take();
        drop(waiting); // notifies the tasks, outside of the lock
    }
}

/// Whether a [`Leader`] was dropped. Cheap to clone, for other threads too.
#[derive(Clone)]
pub struct Shutdown {
    /// `None` once the leader was dropped.
    waiting: Arc<Mutex<Option<Vec<Sender<()>>>>>,
}

impl Shutdown {
    /// Resolves when the leader is dropped.
    pub fn wait(&self) -> impl Future<Item = (), Error = ()> {
        let (sender, receiver) = oneshot::channel();
        if let Some(waiting) = &mut *lock(&self.waiting) {
            waiting.retain(|sender| !sender.is_canceled()); // listeners that a reload has closed
            waiting.push(sender);
        }
        receiver.then(|_| Ok(()))
    }
}

/// Ignores SIGINT, which the terminal sends to the other programs of the session too.
///
/// # Errors
///
/// The errors of sigaction(2): none in practice.
pub fn ignore_interrupt() -> io::Result<()> {
    signal_hook::flag::register(SIGINT, Arc::new(AtomicBool::new(false))).map(drop)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_dropped_leader_stops_present_and_later_waiters() {
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
    fn dropped_waiters_are_removed() {
        let (_leader, stop) = Leader::new();
        for _ in 0..100 {
            drop(stop.wait());
        }
        assert_eq!(lock(&stop.waiting).as_ref().map(Vec::len), Some(1));
    }
}
