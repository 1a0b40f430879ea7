//! Name lookups and other blocking work, on a pool of threads.
//!
//! getaddrinfo(3) follows the system's configuration (hosts file, search list, DNS), and blocks, so
//! it doesn't run on the reactors' threads. The pool starts with the first name.

use std::io;
use std::net::SocketAddr;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

use futures::future::{self, Either};
use futures::sync::oneshot;
use futures::Future;

use crate::config::{Family, Host, HostPort};
use crate::os::resolver::{look_up, THREADS};
use crate::os::thread_pool::ThreadPool;
use crate::upstream;

/// A resolver with its own pool of threads. Cheap to clone, also for other threads.
#[derive(Clone)]
pub struct Resolver {
    threads: ThreadPool,
}

impl Default for Resolver {
    fn default() -> Resolver {
        Resolver::new()
    }
}

impl Resolver {
    /// Returns a resolver that has not started its threads.
    pub fn new() -> Resolver {
        Resolver {
            threads: ThreadPool::new(THREADS),
        }
    }

    /// Looks up the host of `address`; nothing is cached.
    ///
    /// Resolves to at least one address, in the order of attempts. Dropping the future abandons the
    /// lookup; a lookup that has begun runs to its end.
    pub fn lookup(
        &self,
        address: &HostPort,
        family: Family,
    ) -> impl Future<Item = Vec<SocketAddr>, Error = io::Error> {
        let port = address.port;
        match &address.host {
            Host::Ip(ip) => {
                let found = upstream::in_order(vec![SocketAddr::new(*ip, port)], family);
                Either::A(future::result(found))
            }
            Host::Name(name) => {
                let name = name.clone();
                let found = self.run(move || upstream::in_order(look_up(&name, port)?, family));
                match found {
                    Ok(found) => Either::B(found),
                    Err(e) => Either::A(future::err(e)),
                }
            }
        }
    }

    /// Runs blocking `work` on a thread of the pool.
    ///
    /// Resolves to its result, and panics if the work panics. Dropping the future abandons the
    /// work; work that has begun runs to its end.
    ///
    /// # Errors
    ///
    /// The errors of pthread_create(3), such as `EAGAIN`, if no thread can be started.
    pub fn run<T, E>(
        &self,
        work: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> io::Result<impl Future<Item = T, Error = E>>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        self.threads.run(move || {
            if !sender.is_canceled() {
                // Fails if the future was dropped meanwhile.
                let _ = sender.send(catch_unwind(AssertUnwindSafe(work)));
            }
        })?;
        Ok(receiver.then(|done| match done {
            Ok(Ok(result)) => result,
            Ok(Err(panic)) => resume_unwind(panic),
            Err(oneshot::Canceled) => unreachable!("each job is done, and its panics are caught"),
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{mpsc, Arc, Mutex};

    use super::*;
    use crate::os::mutex::lock;

    #[test]
    fn a_literal_needs_no_thread() {
        let resolver = Resolver::new();
        let address = HostPort {
            host: Host::Ip([127, 0, 0, 1].into()),
            port: 9,
        };
        let found = resolver.lookup(&address, Family::ANY).wait().unwrap();
        assert_eq!(found, ["127.0.0.1:9".parse().unwrap()]);
        assert!(!resolver.threads.has_started());
    }

    #[test]
    fn a_panic_of_the_work_reaches_the_caller_and_the_threads_stay() {
        let resolver = Resolver::new();
        for _ in 0..=THREADS {
            let broken = resolver.run(|| -> Result<(), ()> { panic!("broken on purpose") });
            let panic = catch_unwind(AssertUnwindSafe(|| broken.unwrap().wait())).unwrap_err();
            assert_eq!(panic.downcast_ref(), Some(&"broken on purpose"));
        }
        assert_eq!(resolver.run(|| Ok::<_, ()>(42)).unwrap().wait(), Ok(42));
    }

    #[test]
    fn an_abandoned_lookup_is_not_begun() {
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
