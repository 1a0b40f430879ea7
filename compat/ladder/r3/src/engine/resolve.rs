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
    /// Returns at least one address, in the order of attempts. Dropping the future abandons the
    /// lookup; a lookup that has begun runs to its end.
    ///
    /// # Errors
    ///
    /// The errors of getaddrinfo(3), and of pthread_create(3) if no thread can be started.
    pub async fn lookup(&self, address: &HostPort, family: Family) -> io::Result<Vec<SocketAddr>> {
        let port = address.port;
        match &address.host {
            Host::Ip(ip) => upstream::in_order(vec![SocketAddr::new(*ip, port)], family),
            Host::Name(name) => {
                let name = name.clone();
                self.run(move || upstream::in_order(look_up(&name, port)?, family))?
                    .await
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
    ) -> io::Result<impl Future<Output = Result<T, E>>>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        self.threads.run(move || {
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
    use super::*;
    use crate::engine::io::runtime;

    #[test]
    fn a_panic_of_the_work_reaches_the_caller_and_the_threads_stay() {
        let (runtime, resolver) = (runtime().unwrap(), Resolver::new());
        for _ in 0..=THREADS {
            let broken = resolver.run(|| -> Result<(), ()> { panic!("broken on purpose") });
            let run = AssertUnwindSafe(|| runtime.block_on(broken.unwrap()));
            let panic = catch_unwind(run).unwrap_err();
            assert_eq!(panic.downcast_ref(), Some(&"broken on purpose"));
        }
        let answer = resolver.run(|| Ok::<_, ()>(42)).unwrap();
        assert_eq!(runtime.block_on(answer), Ok(42));
    }
}
