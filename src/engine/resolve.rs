//! Names to addresses: the system's own resolver, on a pool of threads.
//!
//! getaddrinfo is what the operator configured (hosts file, search list, DNS), and it blocks:
//! so it runs beside the reactors. The pool is started with the first name.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex};

use futures::future::{self, Either, FutureResult};
use futures::{Future, Poll};
use futures_cpupool::{Builder, CpuFuture, CpuPool};

use crate::config::{Family, Host, HostPort};

/// Look-ups at once; further ones wait. A resolver that hangs holds a thread until it gives up.
const THREADS: usize = 8;

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
                let found = select(vec![SocketAddr::new(*ip, port)], family);
                Lookup(Either::A(future::result(found)))
            }
            Host::Name(name) => {
                let name = name.clone();
                let found = self.pool().spawn_fn(move || {
                    let found = (&name[..], port).to_socket_addrs()?;
                    select(found.collect(), family)
                });
                Lookup(Either::B(found))
            }
        }
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

/// The addresses of the wanted family, the families taking turns (RFC 8305 §4).
///
/// # Errors
///
/// `NotFound` when none is left.
fn select(found: Vec<SocketAddr>, family: Family) -> io::Result<Vec<SocketAddr>> {
    let wanted = |address: &SocketAddr| match family {
        Family::Any => true,
        Family::V4 => address.is_ipv4(),
        Family::V6 => address.is_ipv6(),
    };
    let mut ordered: Vec<SocketAddr> = Vec::with_capacity(found.len());
    let (mut first, mut second): (Vec<_>, Vec<_>) = match found.first() {
        Some(leader) => {
            let leads = leader.is_ipv6();
            found
                .into_iter()
                .filter(wanted)
                .partition(|a| a.is_ipv6() == leads)
        }
        None => (Vec::new(), Vec::new()),
    };
    first.reverse();
    second.reverse();
    while !first.is_empty() || !second.is_empty() {
        for queue in &mut [&mut first, &mut second] {
            if let Some(address) = queue.pop() {
                // The resolver repeats an address for each socket type it knows.
                if !ordered.contains(&address) {
                    ordered.push(address);
                }
            }
        }
    }
    if ordered.is_empty() {
        let what = match family {
            Family::Any => "no address",
            Family::V4 => "no IPv4 address",
            Family::V6 => "no IPv6 address",
        };
        return Err(io::Error::new(io::ErrorKind::NotFound, what));
    }
    Ok(ordered)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(texts: &[&str]) -> Vec<SocketAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn the_families_take_turns_and_the_resolvers_first_choice_stays_first() {
        let found = addresses(&["[::1]:1", "[::2]:1", "1.0.0.1:1", "1.0.0.2:1", "1.0.0.2:1"]);
        let ordered = select(found, Family::Any).unwrap();
        assert_eq!(
            ordered,
            addresses(&["[::1]:1", "1.0.0.1:1", "[::2]:1", "1.0.0.2:1"])
        );
    }

    #[test]
    fn a_family_that_is_asked_for_is_all_there_is() {
        let found = addresses(&["[::1]:1", "1.0.0.1:1"]);
        assert_eq!(
            select(found.clone(), Family::V4).unwrap(),
            addresses(&["1.0.0.1:1"])
        );
        assert_eq!(select(found, Family::V6).unwrap(), addresses(&["[::1]:1"]));
        let none = select(addresses(&["1.0.0.1:1"]), Family::V6).unwrap_err();
        assert_eq!(none.to_string(), "no IPv6 address");
    }

    #[test]
    fn a_literal_needs_no_thread() {
        let resolver = Resolver::new();
        let address = HostPort {
            host: Host::Ip([127, 0, 0, 1].into()),
            port: 9,
        };
        let found = resolver.lookup(&address, Family::Any).wait().unwrap();
        assert_eq!(found, addresses(&["127.0.0.1:9"]));
        assert!(resolver.pool.lock().unwrap().is_none());
    }
}
