//! Name lookups and other blocking work, on the runtime's threads for it.
//!
//! getaddrinfo(3) follows the system's configuration (hosts file, search list, DNS), and blocks, so
//! it doesn't run on the tunnels' threads.

use std::io;
use std::net::SocketAddr;
use std::panic::resume_unwind;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::os::resolver::THREADS;
use crate::upstream::{ChosenBy, Lookup, PerChooser};

/// A resolver with a share of the runtime's threads for the names in the configuration, and another
/// one for those that clients choose. Cheap to clone, also for other threads.
#[derive(Clone)]
pub struct Resolver {
    threads: PerChooser<Arc<Semaphore>>,
}

impl Default for Resolver {
    fn default() -> Resolver {
        Resolver::new()
    }
}

impl Resolver {
    /// Returns a resolver.
    pub fn new() -> Resolver {
        Resolver {
            threads: PerChooser::new(|| Arc::new(Semaphore::new(THREADS))),
        }
    }

    /// Looks up an address; nothing is cached.
    ///
    /// Returns at least one address, in the order of attempts. Dropping the future abandons the
    /// lookup; a lookup that has begun runs to its end.
    ///
    /// # Errors
    ///
    /// The errors of getaddrinfo(3).
    pub async fn lookup(&self, lookup: Lookup<'_>) -> io::Result<Vec<SocketAddr>> {
        let work = lookup.work();
        match lookup.is_of_name() {
            true => self.run(lookup.chosen_by(), work).await,
            false => work(),
        }
    }

    /// Runs blocking `work` on a thread for names that are chosen so.
    ///
    /// Returns its result, and panics if the work panics. Dropping the future abandons the work;
    /// work that has begun runs to its end.
    pub async fn run<T, E>(
        &self,
        chosen_by: ChosenBy,
        work: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        let thread = self.threads.of(chosen_by).clone().acquire_owned().await;
        let done = spawn_blocking(move || {
            let _thread = thread;
            work()
        });
        match done.await {
            Ok(result) => result,
            Err(e) => resume_unwind(e.into_panic()),
        }
    }
}
