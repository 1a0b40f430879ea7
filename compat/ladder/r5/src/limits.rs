//! Bounds: the number of clients at once ([`Permits`]) and the time of a phase ([`within`]).

use std::future::{poll_fn, Future};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::time::timeout;

use ptunnel_core::error::Error;
use ptunnel_proto::sync::lock;

/// A bound on the clients of all listeners and threads, and their count. Cheap to clone.
///
/// Not tokio's `Semaphore`: that one queues each caller, and a listener without clients must not be
/// in a queue before one with clients.
#[derive(Clone)]
pub struct Permits {
    shared: Arc<PermitCounts>,
}

struct PermitCounts {
    most: usize,
    held: AtomicUsize,
    clients: AtomicUsize,
    waiting: Mutex<Vec<Waker>>,
}

impl Permits {
    /// Returns a bound of `most` clients at once; `None` means no bound.
    pub fn new(most: Option<usize>) -> Permits {
        Permits {
            shared: Arc::new(PermitCounts {
                most: most.unwrap_or(usize::MAX),
                held: AtomicUsize::new(0),
                clients: AtomicUsize::new(0),
                waiting: Mutex::new(Vec::new()),
            }),
        }
    }

    /// Returns the number of clients that are connected. A listener that tries to accept holds a
    /// permit, too.
    pub fn clients(&self) -> usize {
        self.shared.clients.load(Ordering::SeqCst)
    }

    /// Returns the number of permits that are held.
    pub fn held(&self) -> usize {
        self.shared.held.load(Ordering::SeqCst)
    }

    /// Takes a permit, or has the current task woken when one is returned.
    pub fn poll_take(&self, cx: &Context<'_>) -> Poll<Permit> {
        self.poll_until(cx, || self.take())
    }

    /// Resolves as soon as no permit is held.
    pub async fn idle(&self) {
        let none_held = || Some(()).filter(|()| self.held() == 0);
        poll_fn(|cx| self.poll_until(cx, none_held)).await
    }

    fn take(&self) -> Option<Permit> {
        let one_more = |held: usize| Some(held + 1).filter(|&held| held <= self.shared.most);
        self.shared
            .held
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_more)
            .ok()
            .map(|_| Permit {
                shared: self.shared.clone(),
                has_client: false,
            })
    }

    fn poll_until<T>(&self, cx: &Context<'_>, condition: impl Fn() -> Option<T>) -> Poll<T> {
        if let Some(value) = condition() {
            return Poll::Ready(value);
        }
        self.shared.register(cx.waker());
        // Again, since a permit that was returned in between has woken no task.
        condition().map_or(Poll::Pending, Poll::Ready)
    }
}

impl PermitCounts {
    /// Registers the current task, once until a permit is returned.
    fn register(&self, waker: &Waker) {
        let mut waiting = lock(&self.waiting);
        if !waiting.iter().any(|known| known.will_wake(waker)) {
            waiting.push(waker.clone());
        }
    }
}

/// The right to serve one client; dropping it returns it.
pub struct Permit {
    shared: Arc<PermitCounts>,
    has_client: bool,
}

impl Permit {
    /// Counts the permit's client, from when it is accepted until the permit is returned.
    pub fn count_client(&mut self) {
        self.has_client = true;
        self.shared.clients.fetch_add(1, Ordering::SeqCst);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.has_client {
            self.shared.clients.fetch_sub(1, Ordering::SeqCst);
        }
        self.shared.held.fetch_sub(1, Ordering::SeqCst);
        let waiting = std::mem::take(&mut *lock(&self.shared.waiting));
        for task in waiting {
            task.wake();
        }
    }
}

/// Limits `future` to `limit`, which starts with the first poll. Dropping the returned future drops
/// `future`, too.
///
/// # Errors
///
/// The future's error, or the one that `late` returns when the limit is over.
pub(super) async fn within<T>(
    future: impl Future<Output = Result<T, Error>>,
    limit: Duration,
    late: impl FnOnce() -> Error,
) -> Result<T, Error> {
    timeout(limit, future)
        .await
        .unwrap_or_else(|_elapsed| Err(late()))
}

#[cfg(test)]
mod tests {
    use std::task::Wake;

    use super::*;

    struct Deaf;

    impl Wake for Deaf {
        fn wake(self: Arc<Self>) {}
    }

    /// A listener's task that is woken for another reason tries to take a permit again.
    #[test]
    fn a_task_that_registers_twice_is_woken_once() {
        let permits = Permits::new(Some(0));
        // Not `noop`, since a clone of it isn't always recognised.
        let deaf = Waker::from(Arc::new(Deaf));
        let cx = Context::from_waker(&deaf);
        for _ in 0..2 {
            assert!(permits.poll_take(&cx).is_pending());
        }
        assert_eq!(lock(&permits.shared.waiting).len(), 1);
    }

    /// Regression: a listener that had a permit but no client yet made `stopping:` report an open
    /// connection.
    #[test]
    fn a_permit_counts_as_a_client_once_it_has_one() {
        let permits = Permits::new(None);
        let mut permit = permits.take().unwrap();
        assert_eq!((permits.held(), permits.clients()), (1, 0));
        permit.count_client();
        assert_eq!((permits.held(), permits.clients()), (1, 1));
        drop(permit);
        assert_eq!((permits.held(), permits.clients()), (0, 0));
    }
}
