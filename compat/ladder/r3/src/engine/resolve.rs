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

use crate::config::{Family, Host, HostPort};
use crate::os::resolver::{look_up, THREADS};
use crate::upstream;

/// A resolver with a share of the runtime's threads, which another resolver can't take. Cheap to
/// clone, also for other threads.
#[derive(Clone)]
pub struct Resolver {
    threads: Arc<Semaphore>,
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
            threads: Arc::new(Semaphore::new(THREADS)),
        }
    }

    /// Looks up the host of `address`; nothing is cached.
    ///
    /// Returns at least one address, in the order of attempts. Dropping the future abandons the
    /// lookup; a lookup that has begun runs to its end.
    ///
    /// # Errors
    ///
    /// The errors of getaddrinfo(3).
    pub async fn lookup(&self, address: &HostPort, family: Family) -> io::Result<Vec<SocketAddr>> {
        let port = address.port;
        match &address.host {
            Host::Ip(ip) => upstream::in_order(vec![SocketAddr::new(*ip, port)], family),
            Host::Name(name) => {
                let name = name.clone();
                self.run(move || upstream::in_order(look_up(&name, port)?, family))
                    .await
            }
        }
    }

    /// Runs blocking `work` on a thread.
    ///
    /// Returns its result, and panics if the work panics. Dropping the future abandons the work;
    /// work that has begun runs to its end.
    pub async fn run<T, E>(
        &self,
        work: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        let thread = self.threads.clone().acquire_owned().await;
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
