//! Bounds: the number of clients at once ([`Permits`]) and the time of a phase ([`within`], and
//! [`deadline`] for a future of 0.1).

use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::task::{self, Task};
use futures::{future, Async, Future as Future01};
use tokio::time::timeout;

use super::timer::TaskTimer;
use crate::error::Error;
use crate::os::mutex::lock;

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
    pub fn idle(&self) -> impl Future01<Item = (), Error = io::Error> {
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

/// Limits `future` to `limit`, which starts with the first poll; `timer` must be ticking.
///
/// Resolves as the future does, or fails with the error that `late` returns when the limit is over.
/// Before that, and if the returned future is dropped, `future` is dropped.
pub(super) fn deadline<T>(
    future: impl Future01<Item = T, Error = Error>,
    limit: Duration,
    timer: &TaskTimer,
    late: impl Fn() -> Error,
) -> impl Future01<Item = T, Error = Error> {
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
