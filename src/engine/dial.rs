//! Opening a TCP connection to a host: its addresses are raced, the first to answer wins (RFC 8305).

use std::io;
use std::mem;
use std::net::SocketAddr;
use std::time::Duration;

use futures::{Async, Future, Poll};
use tokio_core::reactor::Timeout;

use super::resolve::{Lookup, Resolver};
use crate::config::{Family, HostPort, Keepalive};
use crate::engine::io::{Connecting, Handle, Socket};
use crate::error::{Error, Peer};
use crate::observe::diagnose::{observe, PathEvent};
use crate::os::exhaustion;
use crate::os::sys::ReservedFd;

/// Time between two attempts (RFC 8305 §8, "Connection Attempt Delay").
const HEAD_START: Duration = Duration::from_millis(250);

/// Resolves a name and connects to one of its addresses.
///
/// ```text
///   Resolving ──addresses──▶ Racing ──first to connect──▶ done
///                              │ 250 ms, or an attempt failed: the next address is tried too
///                              └ the last one failed: an error
/// ```
///
/// Resolves to a connected [`Socket`]; fails with the error of the lookup, or with that of an attempt
/// if all have failed. Dropping the future abandons every attempt. It has no time limit: wrap it in a
/// [`Deadline`](super::limits::Deadline).
#[must_use = "futures do nothing unless polled"]
pub struct Dial {
    peer: Peer,
    keepalive: Option<Keepalive>,
    handle: Handle,
    state: State,
}

enum State {
    /// With a reserved descriptor: clients that are accepted meanwhile could take the last one.
    Resolving(Lookup, Option<ReservedFd>),
    Racing(Race),
    Done,
}

impl Dial {
    /// Begins to look `address` up. Errors name it as `peer`; the connection gets this `keepalive`.
    pub fn new(
        peer: Peer,
        address: &HostPort,
        family: Family,
        resolver: &Resolver,
        keepalive: Option<Keepalive>,
        handle: &Handle,
    ) -> Dial {
        observe(|| PathEvent::LookupStarted);
        Dial {
            peer,
            keepalive,
            handle: handle.clone(),
            state: State::Resolving(resolver.lookup(address, family), None),
        }
    }
}

impl Future for Dial {
    type Item = Socket;
    type Error = Error;

    fn poll(&mut self) -> Poll<Socket, Error> {
        loop {
            let next = match &mut self.state {
                State::Resolving(lookup, reserved) => match lookup.poll() {
                    Ok(Async::Ready(addresses)) => {
                        observe(|| PathEvent::Resolved(self.peer.address(), &addresses));
                        State::Racing(Race::new(addresses, self.keepalive))
                    }
                    Ok(Async::NotReady) => {
                        if reserved.is_none() {
                            *reserved = self.handle.reserve_fd().ok();
                        }
                        return Ok(Async::NotReady);
                    }
                    Err(e) => return Err(Error::resolve(self.peer.clone(), e)),
                },
                State::Racing(race) => match race.poll(&self.handle) {
                    Ok(Async::Ready(socket)) => {
                        observe(|| PathEvent::Connected(socket.addresses()));
                        self.state = State::Done;
                        return Ok(Async::Ready(socket));
                    }
                    Ok(Async::NotReady) => return Ok(Async::NotReady),
                    Err(e) => return Err(Error::connect(self.peer.clone(), e)),
                },
                State::Done => panic!("Dial polled after it ended"),
            };
            self.state = next;
        }
    }
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
