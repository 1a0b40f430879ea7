//! Sources of events.

use std::io;
use std::sync::Arc;

use crate::{Poll, PollOpt, Ready, Token};

/// A source of events that a [`Poll`] can learn the descriptor of.
///
/// Implementations hand each call on to an [`EventedFd`](crate::unix::EventedFd), or to a field that
/// does.
pub trait Evented {
    /// Registers the source.
    ///
    /// # Errors
    ///
    /// With the implementation's error.
    fn register(&self, poll: &Poll, token: Token, interest: Ready, opts: PollOpt)
        -> io::Result<()>;

    /// Changes how the source is registered.
    ///
    /// # Errors
    ///
    /// With the implementation's error.
    fn reregister(
        &self,
        poll: &Poll,
        token: Token,
        interest: Ready,
        opts: PollOpt,
    ) -> io::Result<()>;

    /// Ends the registration.
    ///
    /// # Errors
    ///
    /// With the implementation's error.
    fn deregister(&self, poll: &Poll) -> io::Result<()>;
}

macro_rules! evented_through {
    ($(($($generics:tt)*) $pointer:ty),* $(,)?) => {$(
        impl<$($generics)*> Evented for $pointer {
            fn register(
                &self,
                poll: &Poll,
                token: Token,
                interest: Ready,
                opts: PollOpt,
            ) -> io::Result<()> {
                (**self).register(poll, token, interest, opts)
            }

            fn reregister(
                &self,
                poll: &Poll,
                token: Token,
                interest: Ready,
                opts: PollOpt,
            ) -> io::Result<()> {
                (**self).reregister(poll, token, interest, opts)
            }

            fn deregister(&self, poll: &Poll) -> io::Result<()> {
                (**self).deregister(poll)
            }
        }
    )*};
}

evented_through!(() Box<dyn Evented>, (T: Evented) Box<T>, (T: Evented) Arc<T>);
