//! Helpers for futures that other files write.

use futures::{future, Future, Poll};

use ptunnel_core::error::Error;

/// A boxed future: one that contains itself, or that is so rare that it must not take memory in
/// others.
pub type BoxFuture<T> = Box<dyn Future<Item = T, Error = Error>>;

pub(crate) fn boxed<T>(future: impl Future<Item = T, Error = Error> + 'static) -> BoxFuture<T> {
    Box::new(future)
}

/// Resolves to `state` and the item once `poll` is ready. Dropping the future drops the state.
pub(crate) fn poll_with<S, T, E>(
    state: S,
    mut poll: impl FnMut(&mut S) -> Poll<T, E>,
) -> impl Future<Item = (S, T), Error = E> {
    const ENDED: &str = "polled after it ended";
    let mut state = Some(state);
    future::poll_fn(move || {
        let state = &mut state; // captured, and so dropped, before what `poll` holds
        let polled = poll(state.as_mut().expect(ENDED))?;
        Ok(polled.map(|item| (state.take().expect(ENDED), item)))
    })
}
