//! Opening a TCP connection to a host: its addresses are raced, and the first to answer wins (RFC
//! 8305).

use std::future::{poll_fn, Future};
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::timeout;
use tokio_core_compat::task::AsStd;

use super::resolve::Resolver;
use crate::config::Keepalive;
use crate::engine::io::{Connecting, Handle, Socket};
use crate::error::{Error, Peer};
use crate::observe::diagnose::{observe, PathEvent};
use crate::os::exhaustion;
use crate::upstream::Lookup;

/// Time between two attempts (RFC 8305 §8, "Connection Attempt Delay").
const HEAD_START: Duration = Duration::from_millis(250);

/// Resolves a name and connects to one of its addresses.
///
/// ```text
///   lookup ──addresses──▶ race ──first to connect──▶ done
///                           │ 250 ms, or an attempt failed: the next address is tried too
///                           └ the last one failed: an error
/// ```
///
/// Returns a connected [`Socket`] with this `keepalive`. Dropping the future abandons every attempt.
/// It has no time limit: wrap it in [`within`](super::limits::within).
///
/// # Errors
///
/// The error of the lookup, or that of an attempt if all have failed, with `peer` in it.
pub(super) async fn dial(
    peer: Peer,
    lookup: Lookup<'_>,
    resolver: &Resolver,
    keepalive: Option<Keepalive>,
    handle: &Handle,
) -> Result<Socket, Error> {
    observe(|| PathEvent::LookupStarted);
    // Clients that are accepted meanwhile could take the last descriptor.
    let reserved = match lookup.is_of_name() {
        true => handle.reserve_fd().ok(),
        false => None,
    };
    let own = lookup.own().clone();
    let found = resolver.lookup(lookup).await;
    drop(reserved);
    match found {
        Ok(addresses) => {
            observe(|| PathEvent::Resolved(peer.address(), &addresses));
            match race(addresses, keepalive, handle).await {
                Ok(socket) => {
                    own.connected(socket.as_raw_fd(), || socket.addresses());
                    observe(|| PathEvent::Connected(socket.addresses()));
                    Ok(socket)
                }
                Err(e) => Err(Error::connect(peer, e)),
            }
        }
        Err(e) => Err(Error::resolve(peer, e)),
    }
}

/// Connects to the first address that answers; see [`exhaustion`] for the error to report.
async fn race(
    addresses: Vec<SocketAddr>,
    keepalive: Option<Keepalive>,
    handle: &Handle,
) -> io::Result<Socket> {
    let mut waiting = addresses.into_iter();
    let mut connecting: Vec<AsStd<Connecting>> = Vec::new();
    let mut error = io::ErrorKind::NotFound.into();
    loop {
        match waiting.next() {
            Some(address) => match Socket::connect(&address, keepalive, handle) {
                Ok(attempt) => connecting.push(AsStd::new(attempt)),
                Err(e) => {
                    let e = exhaustion::connect_error(&address, e);
                    error = exhaustion::error_to_report(error, e);
                    continue;
                }
            },
            None if connecting.is_empty() => return Err(error),
            None => {}
        }
        let attempts = poll_attempts(&mut connecting);
        let answer = match waiting.len() {
            0 => attempts.await,
            _ => match timeout(HEAD_START, attempts).await {
                Ok(answer) => answer,
                Err(_elapsed) => continue,
            },
        };
        match answer {
            Ok(socket) => return Ok(socket),
            // The next attempt need not wait any longer (RFC 8305 §5).
            Err(e) => error = exhaustion::error_to_report(error, e),
        }
    }
}

/// Returns the result of the first attempt that ends, and removes it.
async fn poll_attempts(connecting: &mut Vec<AsStd<Connecting>>) -> io::Result<Socket> {
    poll_fn(|cx| {
        for index in 0..connecting.len() {
            if let Poll::Ready(answer) = Pin::new(&mut connecting[index]).poll(cx) {
                drop(connecting.remove(index));
                return Poll::Ready(answer);
            }
        }
        Poll::Pending
    })
    .await
}
