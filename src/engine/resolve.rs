//! Names to addresses: the system's own resolver, on a pool of threads.
//!
//! getaddrinfo is what the operator configured (hosts file, search list, DNS), and it blocks:
//! so it runs beside the reactors. The pool is started with the first name.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use futures::future::{self, Either, FutureResult};
use futures::{Future, Poll};
use futures_cpupool::{Builder, CpuFuture, CpuPool};

use crate::config::{Family, Host, HostPort};
use crate::lookup::{look_up, THREADS};
use crate::route;

/// Resolves names; cloned freely, to other threads too.
#[derive(Clone, Default)]
pub struct Resolver {
    pool: Arc<Mutex<Option<CpuPool>>>,
}

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
                let found = route::in_order(vec![SocketAddr::new(*ip, port)], family);
                Lookup(Either::A(future::result(found)))
            }
            Host::Name(name) => {
                let name = name.clone();
                let found = self.run(move || route::in_order(look_up(&name, port)?, family));
                Lookup(Either::B(found))
            }
        }
    }

    /// Does what blocks on the same threads.
    pub fn run<T, E>(&self, work: impl FnOnce() -> Result<T, E> + Send + 'static) -> CpuFuture<T, E>
    where
        T: Send + 'static,
        E: Send + 'static,
    {
        self.pool().spawn_fn(work)
    }

    fn pool(&self) -> CpuPool {
        let mut pool = self.pool.lock().unwrap_or_else(|e| e.into_inner());
        pool.get_or_insert_with(|| {
            Builder::new()
                .pool_size(THREADS)
                .name_prefix("resolver-")
                .create()
        })
        .clone()
    }
}

/// Addresses in the order in which they shall be tried; never none of them.
///
/// Dropping it abandons the look-up; one that is under way ends by itself.
#[must_use = "futures do nothing unless polled"]
pub struct Lookup(
    Either<FutureResult<Vec<SocketAddr>, io::Error>, CpuFuture<Vec<SocketAddr>, io::Error>>,
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
        assert!(resolver.pool.lock().unwrap().is_none());
    }
}
