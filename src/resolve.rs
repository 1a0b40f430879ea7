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

use ptunnel_core::os::resolver::THREADS;
use ptunnel_core::os::thread_pool::ThreadPool;
use ptunnel_core::upstream::{ChosenBy, Lookup, PerChooser};

/// A resolver with a pool of threads for the names in the configuration, and another one for those
/// that clients choose. Cheap to clone, also for other threads.
#[derive(Clone)]
pub struct Resolver {
    pools: PerChooser<ThreadPool>,
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
            pools: PerChooser::new(|| ThreadPool::new(THREADS)),
        }
    }

    /// Looks up an address; nothing is cached.
    ///
    /// Resolves to at least one address, in the order of attempts. Dropping the future abandons the
    /// lookup; a lookup that has begun runs to its end.
    pub fn lookup(&self, lookup: Lookup) -> impl Future<Item = Vec<SocketAddr>, Error = io::Error> {
        let work = lookup.work();
        if !lookup.is_of_name() {
            return Either::A(future::result(work()));
        }
        match self.run(lookup.chosen_by(), work) {
            Ok(found) => Either::B(found),
            Err(e) => Either::A(future::err(e)),
        }
    }

    /// Runs blocking `work` on a thread of the pool for names that are chosen so.
    ///
    /// Resolves to its result, and panics if the work panics. Dropping the future abandons the
    /// work; work that has begun runs to its end.
    ///
    /// # Errors
    ///
    /// The errors of pthread_create(3), such as `EAGAIN`, if no thread can be started.
    pub fn run<T, E>(
        &self,
        chosen_by: ChosenBy,
        work: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> io::Result<impl Future<Item = T, Error = E>>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        self.pools.of(chosen_by).run(move || {
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
    use ptunnel_core::config::Route;
    use ptunnel_core::upstream::{ProxySelector, Tunnel};
    use ptunnel_proto::sync::lock;

    fn tunnel() -> Tunnel {
        Tunnel::to("127.0.0.1:9".parse().unwrap()).build()
    }

    fn configured() -> ChosenBy {
        tunnel().lookup().chosen_by()
    }

    /// Occupies all threads of a pool until the sender is dropped.
    fn occupied(
        resolver: &Resolver,
        chosen_by: ChosenBy,
    ) -> (mpsc::Sender<()>, impl Future<Item = Vec<()>, Error = ()>) {
        let (hold, held) = mpsc::channel();
        let held = Arc::new(Mutex::new(held));
        let busy = (0..THREADS).map(|_| {
            let held = held.clone();
            let wait = move || lock(&held).recv().or(Ok(()));
            resolver.run(chosen_by, wait).unwrap()
        });
        (hold, future::join_all(busy.collect::<Vec<_>>()))
    }

    #[test]
    fn a_literal_needs_no_thread() {
        let (resolver, tunnel) = (Resolver::new(), tunnel());
        let found = resolver.lookup(tunnel.lookup()).wait().unwrap();
        assert_eq!(found, ["127.0.0.1:9".parse().unwrap()]);
        assert!(!resolver.pools.of(configured()).has_started());
    }

    #[test]
    fn work_for_clients_does_not_delay_that_for_the_configuration() {
        let resolver = Resolver::new();
        let selector = ProxySelector::new(Route::default());
        let tunnel = Tunnel::chosen_by_client("a:1".parse().unwrap(), &selector, false);
        let (hold, busy) = occupied(&resolver, tunnel.lookup().chosen_by());
        let done = resolver.run(configured(), || Ok::<_, ()>(42)).unwrap();
        assert_eq!(done.wait(), Ok(42));
        drop(hold);
        assert_eq!(busy.wait().map(drop), Ok(()));
    }

    #[test]
    fn a_panic_of_the_work_reaches_the_caller_and_the_threads_stay() {
        let resolver = Resolver::new();
        for _ in 0..=THREADS {
            let broken = resolver.run(configured(), || -> Result<(), ()> {
                panic!("broken on purpose")
            });
            let panic = catch_unwind(AssertUnwindSafe(|| broken.unwrap().wait())).unwrap_err();
            assert_eq!(panic.downcast_ref(), Some(&"broken on purpose"));
        }
        let done = resolver.run(configured(), || Ok::<_, ()>(42)).unwrap();
        assert_eq!(done.wait(), Ok(42));
    }

    #[test]
    fn an_abandoned_lookup_is_not_begun() {
        let resolver = Resolver::new();
        let (hold, busy) = occupied(&resolver, configured());
        let (begin, begun) = mpsc::channel();
        drop(resolver.run(configured(), move || begin.send(()).map_err(drop)));
        drop(hold);
        assert_eq!(busy.wait().map(drop), Ok(()));
        assert!(begun.recv().is_err(), "it was begun");
    }
}
