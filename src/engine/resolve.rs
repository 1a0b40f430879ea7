//! Names to addresses: the system's own resolver, on a pool of threads.
//!
//! getaddrinfo is what the operator configured (hosts file, search list, DNS), and it blocks:
//! so it runs beside the reactors. The pool is started with the first name.

use std::io;
use std::net::SocketAddr;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use futures::future::{self, Either, FutureResult};
use futures::sync::oneshot;
use futures::{Async, Future, Poll};

use crate::config::{Family, Host, HostPort};
use crate::os::resolver::{look_up, THREADS};
use crate::upstream;

/// Resolves names; cloned freely, to other threads too.
#[derive(Clone, Default)]
pub struct Resolver {
    jobs: Arc<Mutex<Option<Sender<Job>>>>,
}

/// What a thread of the pool is to do.
type Job = Box<dyn FnOnce() + Send>;

impl Resolver {
    /// A resolver without threads yet.
    pub fn new() -> Resolver {
        Resolver::default()
    }

    /// Looks `host` up, now and each time: nothing is kept.
    pub fn lookup(&self, address: &HostPort, family: Family) -> Lookup {
        let port = address.port;
        match &address.host {
            Host::Ip(ip) => {
                let found = upstream::in_order(vec![SocketAddr::new(*ip, port)], family);
                Lookup(Either::A(future::result(found)))
            }
            Host::Name(name) => {
                let name = name.clone();
                let found = self.run(move || upstream::in_order(look_up(&name, port)?, family));
                Lookup(match found {
                    Ok(found) => Either::B(found),
                    Err(e) => Either::A(future::err(e)),
                })
            }
        }
    }

    /// Does what blocks on the same threads.
    ///
    /// # Errors
    ///
    /// When no thread can be started.
    pub fn run<T, E>(
        &self,
        work: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> io::Result<BlockingWork<T, E>>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        let (tell, told) = oneshot::channel();
        let job: Job = Box::new(move || {
            if !tell.is_canceled() {
                // Fails when the answer was dropped meanwhile.
                let _ = tell.send(catch_unwind(AssertUnwindSafe(work)));
            }
        });
        let mut jobs = lock(&self.jobs);
        let sender = match jobs.take() {
            Some(sender) => sender,
            None => start()?,
        };
        sender
            .send(job)
            .expect("the threads live as long as this sender");
        *jobs = Some(sender);
        Ok(BlockingWork(told))
    }
}

/// Starts the threads; each ends when the sender is gone. Fewer than all of them will do.
fn start() -> io::Result<Sender<Job>> {
    let (sender, jobs) = mpsc::channel();
    let jobs = Arc::new(Mutex::new(jobs));
    for index in 0..THREADS {
        let jobs = jobs.clone();
        let started = thread::Builder::new()
            .name(format!("resolver-{}", index))
            .spawn(move || while next(&jobs).map(|job| job()).is_some() {});
        match started {
            Err(e) if index == 0 => return Err(e),
            _ => {}
        }
    }
    Ok(sender)
}

/// Waits for a job; there is none when the sender is gone.
fn next(jobs: &Mutex<Receiver<Job>>) -> Option<Job> {
    lock(jobs).recv().ok()
}

/// Nothing under these locks can panic half-way.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the work on a thread of the pool comes to; a panic there goes on here.
///
/// Dropping it abandons the work; work that has begun ends by itself.
#[must_use = "futures do nothing unless polled"]
pub struct BlockingWork<T, E>(oneshot::Receiver<thread::Result<Result<T, E>>>);

impl<T, E> Future for BlockingWork<T, E> {
    type Item = T;
    type Error = E;

    fn poll(&mut self) -> Poll<T, E> {
        match self.0.poll() {
            Ok(Async::NotReady) => Ok(Async::NotReady),
            Ok(Async::Ready(Ok(result))) => result.map(Async::Ready),
            Ok(Async::Ready(Err(panic))) => resume_unwind(panic),
            Err(oneshot::Canceled) => unreachable!("each job is done, and its panics are caught"),
        }
    }
}

/// Addresses in the order of attempts, at least one.
///
/// Dropping it abandons the look-up; one that is under way ends by itself.
#[must_use = "futures do nothing unless polled"]
pub struct Lookup(
    Either<FutureResult<Vec<SocketAddr>, io::Error>, BlockingWork<Vec<SocketAddr>, io::Error>>,
);

impl Future for Lookup {
    type Item = Vec<SocketAddr>;
    type Error = io::Error;

    fn poll(&mut self) -> Poll<Vec<SocketAddr>, io::Error> {
        self.0.poll()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_needs_no_thread() {
        let resolver = Resolver::new();
        let address = HostPort {
            host: Host::Ip([127, 0, 0, 1].into()),
            port: 9,
        };
        let found = resolver.lookup(&address, Family::ANY).wait().unwrap();
        assert_eq!(found, ["127.0.0.1:9".parse().unwrap()]);
        assert!(resolver.jobs.lock().unwrap().is_none());
    }

    #[test]
    fn a_panic_of_the_work_is_the_callers_and_the_threads_go_on() {
        let resolver = Resolver::new();
        for _ in 0..=THREADS {
            let broken = resolver.run(|| -> Result<(), ()> { panic!("broken on purpose") });
            let panic = catch_unwind(AssertUnwindSafe(|| broken.unwrap().wait())).unwrap_err();
            assert_eq!(panic.downcast_ref(), Some(&"broken on purpose"));
        }
        assert_eq!(resolver.run(|| Ok::<_, ()>(42)).unwrap().wait(), Ok(42));
    }

    #[test]
    fn what_nobody_waits_for_any_more_is_not_begun() {
        let resolver = Resolver::new();
        let (hold, held) = mpsc::channel::<()>();
        let held = Arc::new(Mutex::new(held));
        let busy: Vec<_> = (0..THREADS)
            .map(|_| {
                let held = held.clone();
                resolver.run(move || lock(&held).recv().map_err(drop).or(Ok::<_, ()>(())))
            })
            .collect();
        let (begin, begun) = mpsc::channel();
        drop(resolver.run(move || begin.send(()).map_err(drop)));
        drop(hold);
        for work in busy {
            work.unwrap().wait().unwrap();
        }
        assert!(begun.recv().is_err(), "it was begun");
    }
}
