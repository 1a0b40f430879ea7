//! Name lookups and other blocking work, on a pool of threads.
//!
//! getaddrinfo(3) follows the system's configuration (hosts file, search list, DNS), and blocks, so
//! it doesn't run on the tunnels' threads. The pool starts with the first name. `spawn_blocking` can't
//! take its place: it panics if no thread can be started.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

use tokio::sync::oneshot;

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
    /// Returns at least one address, in the order of attempts. Dropping the future abandons the
    /// lookup; a lookup that has begun runs to its end.
    ///
    /// # Errors
    ///
    /// The errors of getaddrinfo(3), and of pthread_create(3) if no thread can be started.
    pub async fn lookup(&self, lookup: Lookup<'_>) -> io::Result<Vec<SocketAddr>> {
        let work = lookup.work();
        match lookup.is_of_name() {
            true => self.run(lookup.chosen_by(), work)?.await,
            false => work(),
        }
    }

    /// Runs blocking `work` on a thread for names that are chosen so.
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
    ) -> io::Result<impl Future<Output = Result<T, E>>>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        self.pools.of(chosen_by).run(move || {
            if !sender.is_closed() {
                // Fails if the future was dropped meanwhile.
                let _ = sender.send(catch_unwind(AssertUnwindSafe(work)));
            }
        })?;
        Ok(async {
            match receiver.await {
                Ok(Ok(result)) => result,
                Ok(Err(panic)) => resume_unwind(panic),
                Err(_) => unreachable!("each job is done, and its panics are caught"),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use ptunnel_core::config::Route;
    use ptunnel_core::upstream::{ProxySelector, Tunnel};

    use super::*;
    use crate::io::runtime;

    fn configured() -> ChosenBy {
        let tunnel = Tunnel::to("a:1".parse().unwrap()).build();
        tunnel.lookup().chosen_by()
    }

    #[test]
    fn work_for_clients_does_not_delay_that_for_the_configuration() {
        let (runtime, resolver) = (runtime().unwrap(), Resolver::new());
        let selector = ProxySelector::new(Route::default());
        let tunnel = Tunnel::chosen_by_client("a:1".parse().unwrap(), &selector, false);
        let (holds, busy): (Vec<_>, Vec<_>) = (0..THREADS)
            .map(|_| {
                let (hold, held) = mpsc::channel::<()>();
                let wait = move || held.recv().or(Ok::<_, ()>(()));
                (
                    hold,
                    resolver.run(tunnel.lookup().chosen_by(), wait).unwrap(),
                )
            })
            .unzip();
        let done = resolver.run(configured(), || Ok::<_, ()>(42)).unwrap();
        assert_eq!(runtime.block_on(done), Ok(42));
        drop((holds, busy));
    }

    #[test]
    fn a_panic_of_the_work_reaches_the_caller_and_the_threads_stay() {
        let (runtime, resolver) = (runtime().unwrap(), Resolver::new());
        for _ in 0..=THREADS {
            let broken = resolver.run(configured(), || -> Result<(), ()> {
                panic!("broken on purpose")
            });
            let run = AssertUnwindSafe(|| runtime.block_on(broken.unwrap()));
            let panic = catch_unwind(run).unwrap_err();
            assert_eq!(panic.downcast_ref(), Some(&"broken on purpose"));
        }
        let answer = resolver.run(configured(), || Ok::<_, ()>(42)).unwrap();
        assert_eq!(runtime.block_on(answer), Ok(42));
    }
}
