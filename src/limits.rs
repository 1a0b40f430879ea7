//! Bounds: the number of clients at once ([`Permits`]) and the time of a phase ([`deadline`]).

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::task::{self, Task};
use futures::{future, Async, Future};

use crate::timer::TaskTimer;
use ptunnel_core::error::Error;
use ptunnel_proto::sync::lock;

/// A bound on the clients of all listeners and threads, and their count. Cheap to clone.
#[derive(Clone)]
pub struct Permits {
    shared: Arc<PermitCounts>,
}

struct PermitCounts {
    most: usize,
    held: AtomicUsize,
    clients: AtomicUsize,
    waiting: Mutex<Vec<Task>>,
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

    /// Takes a permit, or has the current task notified when one is returned.
    pub fn poll_take(&self) -> Async<Permit> {
        self.poll_until(|| self.take())
    }

    /// Resolves as soon as no permit is held.
    pub fn idle(&self) -> impl Future<Item = (), Error = io::Error> {
        let permits = self.clone();
        future::poll_fn(move || {
            let none_held = || Some(()).filter(|()| permits.held() == 0);
            Ok(permits.poll_until(none_held))
        })
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

    fn poll_until<T>(&self, condition: impl Fn() -> Option<T>) -> Async<T> {
        if let Some(value) = condition() {
            return Async::Ready(value);
        }
        self.shared.register();
        // Again, since a permit that was returned in between has notified no task.
        condition().map_or(Async::NotReady, Async::Ready)
    }
}

impl PermitCounts {
    /// Registers the current task, once until a permit is returned.
    fn register(&self) {
        let mut waiting = lock(&self.waiting);
        if !waiting.iter().any(Task::will_notify_current) {
            waiting.push(task::current());
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
            task.notify();
        }
    }
}

/// Limits `future` to `limit`, which starts with the first poll; `timer` must be ticking.
///
/// Resolves as the future does, or fails with the error that `late` returns when the limit is over.
/// Before that, and if the returned future is dropped, `future` is dropped.
pub(super) fn deadline<T>(
    future: impl Future<Item = T, Error = Error>,
    limit: Duration,
    timer: &TaskTimer,
    late: impl Fn() -> Error,
) -> impl Future<Item = T, Error = Error> {
    let timer = timer.clone();
    let (mut running, mut countdown) = (Some(future), None);
    future::poll_fn(move || {
        let future = running.as_mut().expect("deadline polled after its end");
        if let Async::Ready(item) = future.poll()? {
            return Ok(Async::Ready(item));
        }
        let countdown = countdown.get_or_insert_with(|| timer.start(limit));
        if countdown.is_over() {
            running = None;
            return Err(late());
        }
        Ok(Async::NotReady)
    })
}

#[cfg(test)]
mod tests {
    use futures::executor::{spawn, Notify};
    use futures::future::poll_fn;
    use futures::Poll;

    use super::*;
    use ptunnel_notify::Notifier;

    struct Deaf;

    impl Notify for Deaf {
        fn notify(&self, _: usize) {}
    }

    /// A listener's task that is woken for another reason tries to take a permit again.
    #[test]
    fn a_task_that_registers_twice_is_woken_once() {
        let permits = Permits::new(Some(0));
        let asking = permits.clone();
        let mut task = spawn(poll_fn(move || -> Poll<(), ()> {
            Ok(asking.poll_take().map(drop))
        }));
        let deaf = Notifier::new(Deaf);
        for _ in 0..2 {
            let answer = task.poll_future_notify(&deaf, 0);
            assert_eq!(answer, Ok(Async::NotReady));
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
