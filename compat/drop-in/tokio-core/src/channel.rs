//! An unbounded channel, between tasks and threads.
//!
//! tokio-core had it before futures did.

#![deprecated(since = "0.1.1", note = "use `futures::sync::mpsc` instead")]
#![allow(deprecated)]

use std::io;

use futures::sync::mpsc;
use futures::{Async, AsyncSink, Poll, Sink, StartSend, Stream};

use crate::reactor::Handle;

/// The end that sends.
#[must_use = "sinks do nothing unless polled"]
pub struct Sender<T> {
    tx: mpsc::UnboundedSender<T>,
}

/// The end that receives. The stream ends once all senders are dropped and all messages taken.
#[must_use = "streams do nothing unless polled"]
pub struct Receiver<T> {
    rx: mpsc::UnboundedReceiver<T>,
}

/// Creates a channel without bound. The `Core` isn't needed: any task can receive.
///
/// # Errors
///
/// Never.
pub fn channel<T>(_handle: &Handle) -> io::Result<(Sender<T>, Receiver<T>)>
where
    T: Send + 'static,
{
    let (tx, rx) = mpsc::unbounded();
    Ok((Sender { tx }, Receiver { rx }))
}

impl<T> Sender<T> {
    /// Queues a message and notifies the receiving task, from any thread.
    ///
    /// # Errors
    ///
    /// When the receiver is gone.
    pub fn send(&self, t: T) -> io::Result<()> {
        self.tx
            .unbounded_send(t)
            .map_err(|_| io::Error::other("the channel's receiver was dropped"))
    }
}

impl<T> Sink for Sender<T> {
    type SinkItem = T;
    type SinkError = io::Error;

    fn start_send(&mut self, t: T) -> StartSend<T, io::Error> {
        Sender::send(self, t).map(|()| AsyncSink::Ready)
    }

    fn poll_complete(&mut self) -> Poll<(), io::Error> {
        Ok(Async::Ready(()))
    }

    fn close(&mut self) -> Poll<(), io::Error> {
        Ok(Async::Ready(()))
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Sender<T> {
        Sender {
            tx: self.tx.clone(),
        }
    }
}

impl<T> Stream for Receiver<T> {
    type Item = T;
    type Error = io::Error;

    fn poll(&mut self) -> Poll<Option<T>, io::Error> {
        Ok(self.rx.poll().expect("an unbounded channel doesn't fail"))
    }
}
