//! From the first signal to the last tunnel: stop accepting, let live tunnels end, go.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use futures::{Async, Poll, Stream};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

use crate::net::{Handle, Socket};

/// The signals are caught; nobody hears them yet.
///
/// From its making on SIGTERM and SIGINT no longer end the process by themselves, and none that
/// comes is lost.
pub struct Caught {
    pipe: UnixStream,
}

impl Caught {
    /// Catches the signals.
    ///
    /// # Errors
    ///
    /// When there is no descriptor for it.
    pub fn new() -> io::Result<Caught> {
        let (ours, theirs) = UnixStream::pair()?;
        pipe::register(SIGTERM, theirs.try_clone()?)?;
        pipe::register(SIGINT, theirs)?;
        Ok(Caught { pipe: ours })
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

/// Leaves SIGINT to whoever shares the terminal with us.
///
/// # Errors
///
/// None that a process which may have signal handlers can meet.
pub fn ignore_interrupt() -> io::Result<()> {
    signal_hook::flag::register(SIGINT, Arc::new(AtomicBool::new(false))).map(drop)
}
