//! From the first signal to the last tunnel: stop accepting, let live tunnels end, go.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use futures::{Async, Poll, Stream};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

use crate::net::{Handle, Socket};
use std::io::Read;

/// SIGTERM and SIGINT, as they come; never ends.
///
/// From its making on these signals no longer end the process by themselves.
#[must_use = "streams do nothing unless polled"]
pub struct Signals {
    caught: Socket,
}

impl Signals {
    /// Catches the signals, and tells of them on the reactor of `handle`.
    ///
    /// # Errors
    ///
    /// When there is no descriptor for it.
    pub fn new(handle: &Handle) -> io::Result<Signals> {
        let (ours, theirs) = UnixStream::pair()?;
        pipe::register(SIGTERM, theirs.try_clone()?)?;
        pipe::register(SIGINT, theirs)?;
        Ok(Signals {
            caught: Socket::from_unix(ours, handle)?,
        })
    }
}

impl Stream for Signals {
    type Item = ();
    type Error = io::Error;

    fn poll(&mut self) -> Poll<Option<()>, io::Error> {
        // A byte a signal: two that come together are two.
        match self.caught.read(&mut [0]) {
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
