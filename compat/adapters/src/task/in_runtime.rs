//! A tokio 1 runtime for the length of each poll.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures01::future::{ExecuteError, Executor};
use futures01::{Future as Future01, Poll as Poll01, Stream as Stream01};
use futures_core::Stream;
use tokio::runtime;

/// A future or stream of either generation that is inside of a tokio 1 runtime whenever it is
/// polled, and when it is dropped.
///
/// For threads that belong to an executor of 0.1 and are in no runtime: tokio 0.1's pool, on which
/// tokio-core 0.1.18's `Handle::spawn_send` and hyper 0.12 run what they spawn; a `CpuPool`; a Core
/// that is turned by hand. Without it, a timer or socket of tokio's that is made there panics with
/// "there is no reactor running".
///
/// Around an `Executor` of 0.1 it does the same to everything that is spawned through it.
///
/// *Cost*: no allocation; at each poll, two accesses to a thread's variable and a count of
/// references. *Budget*: unchanged. *Cancellation*: dropping it drops what is inside.
/// *Ownership*: [`into_inner`](InRuntime::into_inner) gives it back.
///
/// The runtime has to run elsewhere: this lends its clock and its sockets, and polls nothing. Once
/// it has ended, what is made in here panics with tokio's message.
///
/// 0.1 code takes async code through a [`As01`](super::As01) inside:
///
/// ```
/// use std::time::Duration;
/// use futures01::Future as _;
/// use tokio_core_compat::task::{As01, InRuntime};
///
/// let runtime = tokio::runtime::Builder::new_multi_thread()
///     .worker_threads(1)
///     .enable_time()
///     .build()
///     .unwrap();
/// let sleep = async {
///     // Made in the poll, on whichever thread that is.
///     tokio::time::sleep(Duration::from_millis(1)).await;
///     Ok::<_, ()>("slept")
/// };
/// let sleep = InRuntime::new(As01::pin(sleep), runtime.handle().clone());
/// let slept = std::thread::spawn(|| sleep.wait()).join().unwrap();
/// assert_eq!(slept, Ok("slept"));
/// ```
#[derive(Clone)]
#[must_use = "futures do nothing unless polled"]
pub struct InRuntime<T> {
    runtime: runtime::Handle,
    /// `None` only after `into_inner`.
    inner: Option<T>,
}

impl<T> InRuntime<T> {
    /// Wraps a future or stream of either generation, or an `Executor` of 0.1.
    ///
    /// A std future must be [`Unpin`] to be polled: `Box::pin` makes it so.
    pub fn new(inner: T, runtime: runtime::Handle) -> InRuntime<T> {
        InRuntime {
            runtime,
            inner: Some(inner),
        }
    }

    /// What is inside.
    pub fn get_ref(&self) -> &T {
        self.inner.as_ref().expect(TAKEN)
    }

    /// What is inside. What is called through this doesn't see the runtime.
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.as_mut().expect(TAKEN)
    }

    /// Gives back what is inside.
    pub fn into_inner(mut self) -> T {
        self.inner.take().expect(TAKEN)
    }

    fn enter<R>(&mut self, f: impl FnOnce(&mut T) -> R) -> R {
        let _inside = self.runtime.enter();
        f(self.inner.as_mut().expect(TAKEN))
    }
}

const TAKEN: &str = "only into_inner takes it";

/// Inside of the runtime too: a destructor may look for it.
impl<T> Drop for InRuntime<T> {
    fn drop(&mut self) {
        if let Some(inner) = self.inner.take() {
            let _inside = self.runtime.enter();
            drop(inner);
        }
    }
}

impl<F: Future01> Future01 for InRuntime<F> {
    type Item = F::Item;
    type Error = F::Error;

    fn poll(&mut self) -> Poll01<F::Item, F::Error> {
        self.enter(F::poll)
    }
}

impl<S: Stream01> Stream01 for InRuntime<S> {
    type Item = S::Item;
    type Error = S::Error;

    fn poll(&mut self) -> Poll01<Option<S::Item>, S::Error> {
        self.enter(S::poll)
    }
}

impl<F: Future + Unpin> Future for InRuntime<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.enter(|inner| Pin::new(inner).poll(cx))
    }
}

impl<S: Stream + Unpin> Stream for InRuntime<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        self.enter(|inner| Pin::new(inner).poll_next(cx))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.get_ref().size_hint()
    }
}

impl<E, F> Executor<F> for InRuntime<E>
where
    E: Executor<InRuntime<F>>,
    F: Future01<Item = (), Error = ()>,
{
    fn execute(&self, future: F) -> Result<(), ExecuteError<F>> {
        let future = InRuntime::new(future, self.runtime.clone());
        self.get_ref()
            .execute(future)
            .map_err(|error| ExecuteError::new(error.kind(), error.into_future().into_inner()))
    }
}

impl<T> fmt::Debug for InRuntime<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InRuntime").finish_non_exhaustive()
    }
}
