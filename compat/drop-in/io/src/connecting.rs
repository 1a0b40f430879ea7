//! A connect that goes on.

use std::{io, mem};

use futures::{try_ready, Async, Poll};

/// A socket that is being connected, with all but how it is watched.
#[derive(Debug)]
pub enum Connecting<S> {
    /// The connect goes on, or has ended.
    Begun(S),
    /// It could not begin.
    Failed(io::Error),
    /// It has been handed out.
    Done,
}

impl<S> From<io::Result<S>> for Connecting<S> {
    fn from(begun: io::Result<S>) -> Connecting<S> {
        begun.map_or_else(Connecting::Failed, Connecting::Begun)
    }
}

impl<S> Connecting<S> {
    /// Returns the socket once it is connected: when `writable` is ready and `error`, its
    /// `SO_ERROR`, is none.
    ///
    /// # Errors
    ///
    /// Why the connect could not begin, or failed.
    ///
    /// # Panics
    ///
    /// With `done`, when it is polled after it has resolved.
    pub fn poll<W>(
        &mut self,
        writable: impl FnOnce(&S) -> Poll<W, io::Error>,
        error: impl FnOnce(&S) -> io::Result<Option<io::Error>>,
        done: &str,
    ) -> Poll<S, io::Error> {
        if let Connecting::Begun(socket) = self {
            try_ready!(writable(socket));
        }
        match mem::replace(self, Connecting::Done) {
            Connecting::Begun(socket) => match error(&socket)? {
                Some(error) => Err(error),
                None => Ok(Async::Ready(socket)),
            },
            Connecting::Failed(error) => Err(error),
            Connecting::Done => panic!("{done}"),
        }
    }
}
