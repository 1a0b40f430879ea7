//! Opening a TCP connection to a host: its addresses are raced, and the first to answer wins (RFC
//! 8305).

use std::io;
use std::mem;
use std::net::SocketAddr;
use std::os::unix::io::AsRawFd;
use std::time::Duration;

use futures::future::{self, Either};
use futures::{Async, Future, Poll};
use tokio_core::reactor::Timeout;

use crate::io::{Connecting, Handle, Socket};
use crate::resolve::Resolver;
use ptunnel_core::config::Keepalive;
use ptunnel_core::error::{Error, Peer};
use ptunnel_core::observe::diagnose::{observe, PathEvent};
use ptunnel_core::os::exhaustion;
use ptunnel_core::upstream::Lookup;

/// Time between two attempts (RFC 8305 §8, "Connection Attempt Delay").
const HEAD_START: Duration = Duration::from_millis(250);

/// Resolves a name and connects to one of its addresses.
///
/// ```text
///   lookup ──addresses──▶ Race ──first to connect──▶ done
///                           │ 250 ms, or an attempt failed: the next address is tried too
///                           └ the last one failed: an error
/// ```
///
/// Resolves to a connected [`Socket`] with this `keepalive`; fails with the error of the lookup, or
/// with that of an attempt if all have failed, and names `peer` in it. Dropping the future abandons
/// every attempt. It has no time limit: wrap it in a [`deadline`](super::limits::deadline).
pub(super) fn dial(
    peer: Peer,
    lookup: Lookup,
    resolver: &Resolver,
    keepalive: Option<Keepalive>,
    handle: &Handle,
) -> impl Future<Item = Socket, Error = Error> {
    observe(|| PathEvent::LookupStarted);
    let own = lookup.own().clone();
    let mut lookup = resolver.lookup(lookup);
    let handle = handle.clone();
    let handle_of_lookup = handle.clone();
    // Clients that are accepted meanwhile could take the last descriptor.
    let mut reserved = None;
    let found = future::poll_fn(move || {
        let polled = lookup.poll()?;
        if !polled.is_ready() && reserved.is_none() {
            reserved = handle_of_lookup.reserve_fd().ok();
        }
        Ok(polled)
    });
    found.then(move |found| match found {
        Ok(addresses) => {
            observe(|| PathEvent::Resolved(peer.address(), &addresses));
            let mut race = Race::new(addresses, keepalive);
            let connected = future::poll_fn(move || race.poll(&handle));
            Either::A(connected.then(move |connected| match connected {
                Ok(socket) => {
                    own.connected(socket.as_raw_fd(), || socket.addresses());
                    observe(|| PathEvent::Connected(socket.addresses()));
                    Ok(socket)
                }
                Err(e) => Err(Error::connect(peer, e)),
            }))
        }
        Err(e) => Either::B(future::err(Error::resolve(peer, e))),
    })
}

/// The attempts in progress, and the addresses that are still to be tried.
struct Race {
    /// In reverse order.
    waiting: Vec<SocketAddr>,
    connecting: Vec<Connecting>,
    head_start: Option<Timeout>,
    keepalive: Option<Keepalive>,
    /// The error to report if all attempts fail: see [`exhaustion`].
    error: io::Error,
}

impl Race {
    fn new(mut addresses: Vec<SocketAddr>, keepalive: Option<Keepalive>) -> Race {
        addresses.reverse();
        Race {
            waiting: addresses,
            connecting: Vec::new(),
            head_start: None,
            keepalive,
            error: io::ErrorKind::NotFound.into(),
        }
    }

    fn poll(&mut self, handle: &Handle) -> Poll<Socket, io::Error> {
        loop {
            if let Some(winner) = self.poll_attempts() {
                return Ok(Async::Ready(winner));
            }
            if let Some(head_start) = &mut self.head_start {
                if !self.connecting.is_empty() && !head_start.poll()?.is_ready() {
                    return Ok(Async::NotReady);
                }
                self.head_start = None;
            }
            match self.waiting.pop() {
                Some(address) => self.begin(&address, handle)?,
                None if self.connecting.is_empty() => {
                    return Err(mem::replace(&mut self.error, io::ErrorKind::Other.into()))
                }
                None => return Ok(Async::NotReady),
            }
        }
    }

    /// Returns the first attempt that has succeeded, and removes those that failed.
    fn poll_attempts(&mut self) -> Option<Socket> {
        let mut index = 0;
        while index < self.connecting.len() {
            match self.connecting[index].poll() {
                Ok(Async::Ready(socket)) => return Some(socket),
                Ok(Async::NotReady) => index += 1,
                Err(e) => {
                    self.failed(e);
                    drop(self.connecting.remove(index));
                    // The next attempt need not wait any longer (RFC 8305 §5).
                    self.head_start = None;
                }
            }
        }
        None
    }

    fn failed(&mut self, error: io::Error) {
        let earlier = mem::replace(&mut self.error, io::ErrorKind::Other.into());
        self.error = exhaustion::error_to_report(earlier, error);
    }

    fn begin(&mut self, address: &SocketAddr, handle: &Handle) -> io::Result<()> {
        match Socket::connect(address, self.keepalive, handle) {
            Ok(connecting) => self.connecting.push(connecting),
            Err(e) => {
                self.failed(exhaustion::connect_error(address, e));
                return Ok(());
            }
        }
        if !self.waiting.is_empty() {
            self.head_start = Some(Timeout::new(HEAD_START, handle.core())?);
        }
        Ok(())
    }
}
