//! Name lookup and other blocking work, on the runtime's threads for it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use ptunnel::config::{Family, Host, HostPort};
use ptunnel::os::resolver::{look_up, THREADS};
use ptunnel::upstream;
use rustix::io::fcntl_dupfd_cloexec;
use rustix::stdio::stderr;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// A share of the runtime's threads, which lookups of another resolver can't take.
#[derive(Clone, Debug)]
pub struct Resolver {
    threads: Arc<Semaphore>,
}

impl Default for Resolver {
    fn default() -> Resolver {
        Resolver {
            threads: Arc::new(Semaphore::new(THREADS)),
        }
    }
}

impl Resolver {
    /// Returns the addresses of a host in the order of attempts, at least one.
    ///
    /// getaddrinfo(3) follows the system's configuration (hosts file, search list, DNS), and it blocks.
    /// Dropping the future abandons the lookup, which runs to its end on its thread.
    ///
    /// # Errors
    ///
    /// Those of the resolver.
    pub async fn lookup(&self, address: &HostPort, family: Family) -> io::Result<Vec<SocketAddr>> {
        let port = address.port;
        let name = match &address.host {
            Host::Ip(ip) => return upstream::in_order(vec![SocketAddr::new(*ip, port)], family),
            Host::Name(name) => name.clone(),
        };
        let found = self.run(move || look_up(&name, port)).await;
        upstream::in_order(found??, family)
    }

    /// Runs blocking `work` on the same threads.
    ///
    /// # Errors
    ///
    /// If `work` panics.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<T> {
        // Clients that are accepted meanwhile could take the last descriptor.
        let reserved = fcntl_dupfd_cloexec(stderr(), 0);
        let thread = self.threads.clone().acquire_owned().await;
        let done = spawn_blocking(move || {
            let _thread = thread;
            work()
        });
        let done = done.await;
        drop(reserved);
        Ok(done?)
    }
}
