//! Futures and streams, both ways.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures01::{Future as Future01, Poll as Poll01, Stream as Stream01};
use futures_core::{Stream, TryFuture, TryStream};

use super::{poll_01, poll_std, Crossing, Driver};

/// A 0.1 future or stream, as a std one.
///
/// Resolves to `Result<Item, Error>`; a stream yields them, and an error does not end it.
///
/// *Cost*: three allocations when made, none per poll. *Budget*: a unit of
/// [tokio's](crate::task#budget) for each ready poll. *Cancellation*: dropping it drops what is
/// inside, on the dropping thread. *Ownership*: [`into_inner`](AsStd::into_inner) gives the inner
/// value back at any time.
///
/// A 0.1 future that is bound to a tokio-core `Core` makes progress only while something turns that
/// Core: see [`CoreThread`](crate::core_thread::CoreThread).
///
/// ```
/// use futures01::Future as _;
/// use tokio_core_compat::task::AsStd;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let answer = futures01::future::ok::<u32, ()>(41).map(|n| n + 1);
/// assert_eq!(AsStd::new(answer).await, Ok(42));
/// # }
/// ```
#[must_use = "futures do nothing unless polled"]
pub struct AsStd<T> {
    driver: Driver,
    inner: T,
}

impl<T> AsStd<T> {
    /// Wraps a 0.1 future or stream.
    pub fn new(inner: T) -> AsStd<T> {
        AsStd {
            driver: Driver::new(),
            inner,
        }
    }

    /// Wraps what `make` returns, and calls it in the task that it will run in.
    #[cfg(feature = "service")]
    pub(crate) fn made_by(make: impl FnOnce() -> T) -> AsStd<T> {
        let mut driver = Driver::new();
        let inner = driver.enter_again(make);
        AsStd { driver, inner }
    }

    /// The future or stream inside.
    pub fn get_ref(&self) -> &T {
        &self.inner
    }

    /// The future or stream inside. What is polled through this does not see the task.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.inner
    }

    /// Gives back what is inside, with all progress it has made.
    pub fn into_inner(self) -> T {
        self.inner
    }
}

/// Nothing in 0.1 is ever pinned.
impl<T> Unpin for AsStd<T> {}

impl<F: Future01> Future for AsStd<F> {
    type Output = Result<F::Item, F::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let AsStd { driver, inner } = self.get_mut();
        let polled = driver.poll(cx, || poll_std(inner.poll()));
        if polled.is_ready() {
            driver.silence();
        }
        polled
    }
}

impl<S: Stream01> Stream for AsStd<S> {
    type Item = Result<S::Item, S::Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let AsStd { driver, inner } = self.get_mut();
        let polled = driver
            .poll(cx, || poll_std(inner.poll()))
            .map(Result::transpose);
        if let Poll::Ready(None) = polled {
            // Who polls again all the same is heard again: that poll brings its `Waker`.
            driver.silence();
        }
        polled
    }
}

/// A std future or stream of `Result`s, as a 0.1 one.
///
/// *Cost*: see [the module](crate::task#cost); at most one allocation a task. *Budget*: a stream
/// yields after 128 ready polls in a row; see [the module](crate::task#budget). *Cancellation*:
/// dropping it drops what is inside. *Ownership*: [`into_inner`](As01::into_inner).
///
/// 0.1 moves its futures about freely, so what is inside must be [`Unpin`]; [`As01::pin`] boxes
/// what is not, such as an `async` block. A tokio 1 timer or socket inside must be made inside a
/// tokio 1 runtime, and may be polled anywhere. An `async` block makes its own when it is polled, so
/// it needs a thread that is inside of one: [`CoreThread`](crate::core_thread::CoreThread)
/// enters one on its own thread, [`InRuntime`](super::InRuntime) on any other.
///
/// ```
/// use futures01::Future as _;
/// use tokio_core_compat::task::As01;
///
/// let sum = As01::pin(async { Ok::<u32, ()>(40) }).map(|n| n + 2);
/// assert_eq!(sum.wait(), Ok(42));
/// ```
#[must_use = "futures do nothing unless polled"]
pub struct As01<T> {
    crossing: Crossing,
    inner: T,
}

impl<T: Unpin> As01<T> {
    /// Wraps a std future or stream.
    pub fn new(inner: T) -> As01<T> {
        As01 {
            crossing: Crossing::default(),
            inner,
        }
    }
}

impl<T> As01<Pin<Box<T>>> {
    /// Boxes a std future or stream, and wraps it.
    pub fn pin(inner: T) -> As01<Pin<Box<T>>> {
        As01::new(Box::pin(inner))
    }
}

impl<T> As01<T> {
    /// The future or stream inside.
    pub fn get_ref(&self) -> &T {
        &self.inner
    }

    /// The future or stream inside.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.inner
    }

    /// Gives back what is inside, with all progress it has made.
    pub fn into_inner(self) -> T {
        self.inner
    }
}

impl<F: TryFuture + Unpin> Future01 for As01<F> {
    type Item = F::Ok;
    type Error = F::Error;

    fn poll(&mut self) -> Poll01<F::Ok, F::Error> {
        let inner = Pin::new(&mut self.inner);
        poll_01(
            self.crossing
                .enter("a future in task::As01", |cx| inner.try_poll(cx)),
        )
    }
}

impl<S: TryStream + Unpin> Stream01 for As01<S> {
    type Item = S::Ok;
    type Error = S::Error;

    fn poll(&mut self) -> Poll01<Option<S::Ok>, S::Error> {
        let inner = Pin::new(&mut self.inner);
        let polled = self
            .crossing
            .poll("a stream in task::As01", |cx| inner.try_poll_next(cx));
        poll_01(polled.map(Option::transpose))
    }
}
