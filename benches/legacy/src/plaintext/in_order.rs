//! `Stream::buffered` without its cost for a future that is ready at once.
//!
//! futures 0.1.31 puts each future of a buffered stream into a node of its own (`FuturesOrdered`): one allocation, one
//! task handle and a run through two queues for each request, ready or not. That pays when many futures wait long. Here
//! a future that is ready at the first look, with none before it, never enters a queue; the others wait on the
//! connection's own task, which looks at all of them, at most `most`, whenever it is woken.

use std::collections::VecDeque;

use futures::stream::Fuse;
use futures::{Async, Future, IntoFuture, Poll, Stream};

/// The results of a stream of futures, in the stream's order; at most `most` futures run at once.
///
/// Fails with the first error that is met, whatever waits before it.
#[must_use = "streams do nothing unless polled"]
pub struct InOrder<S>
where
    S: Stream,
    S::Item: IntoFuture,
{
    stream: Fuse<S>,
    most: usize,
    waiting: VecDeque<Slot<<S::Item as IntoFuture>::Future>>,
}

enum Slot<F: Future> {
    Running(F),
    Done(F::Item),
}

impl<F: Future> Slot<F> {
    /// Looks at a future that runs.
    fn poll(&mut self) -> Result<(), F::Error> {
        if let Slot::Running(future) = self {
            if let Async::Ready(item) = future.poll()? {
                *self = Slot::Done(item);
            }
        }
        Ok(())
    }
}

pub fn in_order<S>(stream: S, most: usize) -> InOrder<S>
where
    S: Stream,
    S::Item: IntoFuture<Error = S::Error>,
{
    InOrder {
        stream: stream.fuse(),
        most,
        waiting: VecDeque::new(),
    }
}

impl<S> InOrder<S>
where
    S: Stream,
    S::Item: IntoFuture<Error = S::Error>,
{
    /// Looks at all that wait, and takes the first of them if it is done.
    fn first(&mut self) -> Result<Option<<S::Item as IntoFuture>::Item>, S::Error> {
        for slot in &mut self.waiting {
            slot.poll()?;
        }
        match self.waiting.pop_front() {
            Some(Slot::Done(item)) => return Ok(Some(item)),
            Some(running) => self.waiting.push_front(running),
            None => {}
        }
        Ok(None)
    }

    /// Starts futures until there are enough, or no more for now. The result of one that is ready, with none before it,
    /// is handed over.
    fn start(&mut self) -> Poll<Option<<S::Item as IntoFuture>::Item>, S::Error> {
        while self.waiting.len() < self.most {
            let mut future = match self.stream.poll()? {
                Async::Ready(Some(item)) => item.into_future(),
                Async::Ready(None) | Async::NotReady => break,
            };
            let slot = match future.poll()? {
                Async::Ready(item) if self.waiting.is_empty() => {
                    return Ok(Async::Ready(Some(item)))
                }
                Async::Ready(item) => Slot::Done(item),
                Async::NotReady => Slot::Running(future),
            };
            self.waiting.push_back(slot);
        }
        if self.waiting.is_empty() && self.stream.is_done() {
            return Ok(Async::Ready(None));
        }
        Ok(Async::NotReady)
    }
}

impl<S> Stream for InOrder<S>
where
    S: Stream,
    S::Item: IntoFuture<Error = S::Error>,
{
    type Item = <S::Item as IntoFuture>::Item;
    type Error = S::Error;

    fn poll(&mut self) -> Poll<Option<Self::Item>, S::Error> {
        if !self.waiting.is_empty() {
            if let Some(item) = self.first()? {
                return Ok(Async::Ready(Some(item)));
            }
        }
        self.start()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::executor::{spawn, Notify, NotifyHandle};
    use futures::sync::oneshot;
    use futures::{future, stream};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::Arc;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Notify for Count {
        fn notify(&self, _: usize) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    type Boxed = Box<dyn Future<Item = u32, Error = ()>>;

    fn later() -> (oneshot::Sender<u32>, Boxed) {
        let (sender, receiver) = oneshot::channel();
        (sender, Box::new(receiver.map_err(drop)))
    }

    fn now(value: u32) -> Boxed {
        Box::new(future::ok(value))
    }

    #[test]
    fn results_keep_the_order_of_their_futures() {
        let (first, waits) = later();
        let count = Arc::new(Count::default());
        let notify = NotifyHandle::from(count.clone());
        let mut task = spawn(in_order(
            stream::iter_ok(vec![now(1), waits, now(3), now(4)]),
            32,
        ));
        let mut poll = || task.poll_stream_notify(&notify, 0).unwrap();
        assert_eq!(poll(), Async::Ready(Some(1)));
        assert_eq!(poll(), Async::NotReady);
        assert_eq!(count.0.load(Ordering::SeqCst), 0);
        first.send(2).unwrap();
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
        assert_eq!(poll(), Async::Ready(Some(2)));
        assert_eq!(poll(), Async::Ready(Some(3)));
        assert_eq!(poll(), Async::Ready(Some(4)));
        assert_eq!(poll(), Async::Ready(None));
    }

    #[test]
    fn no_more_futures_run_than_may() {
        let (senders, futures): (Vec<_>, Vec<_>) = (0..3).map(|_| later()).unzip();
        let taken = AtomicUsize::new(0);
        let requests = stream::iter_ok(futures).inspect(|_| {
            taken.fetch_add(1, Ordering::SeqCst);
        });
        let notify = NotifyHandle::from(Arc::new(Count::default()));
        let mut task = spawn(in_order(requests, 2));
        assert_eq!(task.poll_stream_notify(&notify, 0), Ok(Async::NotReady));
        assert_eq!(taken.load(Ordering::SeqCst), 2);
        for (value, sender) in senders.into_iter().enumerate() {
            sender.send(value as u32).unwrap();
        }
        for value in 0..3 {
            assert_eq!(
                task.poll_stream_notify(&notify, 0),
                Ok(Async::Ready(Some(value)))
            );
        }
        assert_eq!(taken.load(Ordering::SeqCst), 3);
    }

    #[test]
    fn an_error_comes_through() {
        let failing = stream::iter_ok::<_, ()>(vec![future::ok(1), future::err(())]);
        let notify = NotifyHandle::from(Arc::new(Count::default()));
        let mut task = spawn(in_order(failing, 2));
        assert_eq!(
            task.poll_stream_notify(&notify, 0),
            Ok(Async::Ready(Some(1)))
        );
        assert_eq!(task.poll_stream_notify(&notify, 0), Err(()));
    }
}
