//! A crossing for calls that take `&self`.

use std::sync::{Mutex, PoisonError};
#[cfg(all(unix, feature = "net"))]
use std::{
    mem,
    task::{Context, Poll},
};

use super::Crossing;

/// A [`Crossing`] for calls that take `&self`, from any thread.
#[derive(Default)]
pub(crate) struct SharedCrossing(Mutex<Crossing>);

impl SharedCrossing {
    /// The crossing, for a caller that has it to itself.
    pub(crate) fn get_mut(&mut self) -> &mut Crossing {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}

/// No lock is held during a poll: a second caller meanwhile makes its own `Waker`.
#[cfg(all(unix, feature = "net"))]
impl SharedCrossing {
    /// As [`Crossing::enter`].
    #[track_caller]
    pub(crate) fn enter<R>(&self, what: &str, poll: impl FnOnce(&mut Context<'_>) -> R) -> R {
        let mut crossing = self.replace(Crossing::default());
        let polled = crossing.enter(what, poll);
        self.replace(crossing);
        polled
    }

    /// As [`Crossing::poll`].
    #[track_caller]
    pub(crate) fn poll<T>(
        &self,
        what: &str,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let mut crossing = self.replace(Crossing::default());
        let polled = crossing.poll(what, poll);
        self.replace(crossing);
        polled
    }

    /// What comes back is dropped outside of the lock, like every `Waker`.
    fn replace(&self, crossing: Crossing) -> Crossing {
        mem::replace(
            &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner),
            crossing,
        )
    }
}
