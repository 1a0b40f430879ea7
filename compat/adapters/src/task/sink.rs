//! Sinks, both ways.
//!
//! A 0.1 sink hands the item back when it is full; a std sink says before whether it has room.

use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{ready, Context, Poll};

use futures01::{Async, AsyncSink, Poll as Poll01, Sink as Sink01, StartSend};
use futures_sink::Sink;

use super::{poll_01, poll_std, Crossing, Driver};

/// A 0.1 sink, as a std one.
///
/// `start_send` offers the item to the sink at once, so that an error shows in the call that caused
/// it. An item that the sink did not take waits here, in a buffer of one, until `poll_ready`,
/// `poll_flush` or `poll_close` has brought it in.
///
/// *Cost*: three allocations when made, none per item. *Budget*: a unit of
/// [tokio's](crate::task#budget) for each `poll_ready` that is ready. *Cancellation*: an item for which `start_send`
/// returned `Ok` is in the sink or in the buffer; dropping this drops both. *Ownership*:
/// [`into_inner`](AsStdSink::into_inner) gives back the sink and a buffered item.
///
/// ```
/// use futures01::{Sink as _, Stream as _};
/// use futures_util::SinkExt as _;
/// use tokio_core_compat::task::AsStdSink;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let (tx, rx) = futures01::sync::mpsc::channel(4);
/// let mut tx = AsStdSink::new(tx);
/// tx.send("a line").await.unwrap();
/// tx.close().await.unwrap();
/// # drop(tx);
/// assert_eq!(rx.wait().collect::<Vec<_>>(), [Ok("a line")]);
/// # }
/// ```
#[must_use = "sinks do nothing unless polled"]
pub struct AsStdSink<S: Sink01> {
    driver: Driver,
    inner: S,
    refused: Option<S::SinkItem>,
}

impl<S: Sink01> AsStdSink<S> {
    /// Wraps a 0.1 sink.
    pub fn new(inner: S) -> AsStdSink<S> {
        AsStdSink {
            driver: Driver::new(),
            inner,
            refused: None,
        }
    }

    /// The sink inside.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    /// The sink inside.
    pub fn get_mut(&mut self) -> &mut S {
        &mut self.inner
    }

    /// Gives back the sink, and the item that it had not taken yet.
    pub fn into_inner(self) -> (S, Option<S::SinkItem>) {
        (self.inner, self.refused)
    }

    /// Offers the refused item again.
    fn poll_refused(&mut self, cx: &Context<'_>) -> Poll<Result<(), S::SinkError>> {
        let AsStdSink {
            driver,
            inner,
            refused,
        } = self;
        if let Some(item) = refused.take() {
            match driver.enter(cx, || inner.start_send(item))? {
                AsyncSink::Ready => {}
                AsyncSink::NotReady(item) => {
                    *refused = Some(item);
                    return Poll::Pending;
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// Nothing in 0.1 is ever pinned.
impl<S: Sink01> Unpin for AsStdSink<S> {}

impl<S: Sink01> Sink<S::SinkItem> for AsStdSink<S> {
    type Error = S::SinkError;

    fn poll_ready(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        let this = self.get_mut();
        // Entered even when there is nothing to offer: `start_send` has no context of its own and
        // registers this one.
        ready!(this.driver.poll(cx, || Poll::Ready(())));
        this.poll_refused(cx)
    }

    fn start_send(self: Pin<&mut Self>, item: S::SinkItem) -> Result<(), Self::Error> {
        let AsStdSink {
            driver,
            inner,
            refused,
        } = self.get_mut();
        assert!(
            refused.is_none(),
            "task::AsStdSink is full: await poll_ready before each start_send, or use SinkExt::send"
        );
        match driver.enter_again(|| inner.start_send(item))? {
            AsyncSink::Ready => {}
            AsyncSink::NotReady(item) => *refused = Some(item),
        }
        Ok(())
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        let this = self.get_mut();
        ready!(this.poll_refused(cx))?;
        let AsStdSink { driver, inner, .. } = this;
        poll_std(driver.enter(cx, || inner.poll_complete()))
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        let this = self.get_mut();
        ready!(this.poll_refused(cx))?;
        let AsStdSink { driver, inner, .. } = this;
        poll_std(driver.enter(cx, || inner.close()))
    }
}

/// A std sink, as a 0.1 one: an item comes back in `AsyncSink::NotReady` when there is no room.
///
/// *Cost*: as [`As01`](super::As01). *Budget*: `start_send` hands the item back after 128 in a row;
/// see [the module](crate::task#budget). *Cancellation*: dropping it drops the sink. *Ownership*:
/// [`into_inner`](As01Sink::into_inner); nothing is buffered here.
///
/// ```
/// use futures01::{Future as _, Sink as _};
/// use tokio_core_compat::task::As01Sink;
///
/// let lines: Vec<&str> = As01Sink::new(Vec::new()).send("a line").wait().unwrap().into_inner();
/// assert_eq!(lines, ["a line"]);
/// ```
#[must_use = "sinks do nothing unless polled"]
pub struct As01Sink<S, Item> {
    crossing: Crossing,
    inner: S,
    item: PhantomData<fn(Item)>,
}

impl<S: Sink<Item> + Unpin, Item> As01Sink<S, Item> {
    /// Wraps a std sink.
    pub fn new(inner: S) -> As01Sink<S, Item> {
        As01Sink {
            crossing: Crossing::default(),
            inner,
            item: PhantomData,
        }
    }
}

impl<S, Item> As01Sink<S, Item> {
    /// The sink inside.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }

    /// The sink inside.
    pub fn get_mut(&mut self) -> &mut S {
        &mut self.inner
    }

    /// Gives back the sink.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

const SINK: &str = "a sink in task::As01Sink";

impl<S: Sink<Item> + Unpin, Item> Sink01 for As01Sink<S, Item> {
    type SinkItem = Item;
    type SinkError = S::Error;

    fn start_send(&mut self, item: Item) -> StartSend<Item, S::Error> {
        let inner = Pin::new(&mut self.inner);
        match poll_01(self.crossing.poll(SINK, |cx| inner.poll_ready(cx)))? {
            Async::Ready(()) => Pin::new(&mut self.inner)
                .start_send(item)
                .map(|()| AsyncSink::Ready),
            Async::NotReady => Ok(AsyncSink::NotReady(item)),
        }
    }

    fn poll_complete(&mut self) -> Poll01<(), S::Error> {
        let inner = Pin::new(&mut self.inner);
        poll_01(self.crossing.enter(SINK, |cx| inner.poll_flush(cx)))
    }

    fn close(&mut self) -> Poll01<(), S::Error> {
        let inner = Pin::new(&mut self.inner);
        poll_01(self.crossing.enter(SINK, |cx| inner.poll_close(cx)))
    }
}
