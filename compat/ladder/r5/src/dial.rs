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

use crate::io::{Handle, Socket};
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
            match race(addresses, keepalive).await {
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

/// An attempt in progress.
type Connecting = Pin<Box<dyn Future<Output = io::Result<Socket>>>>;

/// Connects to the first address that answers; see [`exhaustion`] for the error to report.
async fn race(addresses: Vec<SocketAddr>, keepalive: Option<Keepalive>) -> io::Result<Socket> {
    let mut waiting = addresses.into_iter();
    let mut connecting: Vec<Connecting> = Vec::new();
    let mut error = io::ErrorKind::NotFound.into();
    loop {
        match waiting.next() {
            Some(address) => match Socket::connect(&address, keepalive) {
                Ok(attempt) => connecting.push(Box::pin(attempt)),
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
async fn poll_attempts(connecting: &mut Vec<Connecting>) -> io::Result<Socket> {
    poll_fn(|cx| {
        for index in 0..connecting.len() {
            if let Poll::Ready(answer) = connecting[index].as_mut().poll(cx) {
                drop(connecting.remove(index));
                return Poll::Ready(answer);
            }
        }
        Poll::Pending
    })
    .await
}
