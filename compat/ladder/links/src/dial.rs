//! Opening a TCP connection to a host: its addresses are raced, the first to answer wins (RFC 8305).

use std::future::{poll_fn, Future};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use ptunnel::config::{Family, HostPort, Keepalive};
use ptunnel::observe::diagnose::{observe, PathEvent};
use ptunnel::os::exhaustion;
use ptunnel::{Error, Peer};
use tokio::time::timeout;

use crate::io::{connect, Tcp};
use crate::Resolver;

/// Time between two attempts (RFC 8305 §8, "Connection Attempt Delay").
const HEAD_START: Duration = Duration::from_millis(250);

/// Resolves a name and connects to one of its addresses; dropping it abandons every attempt. The
/// connection has this `keepalive`.
///
/// It has no time limit: wrap it in [`within`](crate::limits::within).
///
/// # Errors
///
/// Those of the resolver; if all attempts fail, that of the last one, or of an earlier one that failed
/// for a lack of descriptors or memory.
pub async fn dial(
    peer: Peer,
    address: &HostPort,
    family: Family,
    resolver: &Resolver,
    keepalive: Option<Keepalive>,
) -> Result<Tcp, Error> {
    observe(|| PathEvent::LookupStarted);
    let addresses = resolver.lookup(address, family).await;
    let addresses = addresses.map_err(|e| Error::resolve(peer.clone(), e))?;
    observe(|| PathEvent::Resolved(address, &addresses));
    let socket = race(addresses, keepalive).await;
    let socket = socket.map_err(|e| Error::connect(peer, e))?;
    observe(|| {
        let (peer, local) = (socket.get_ref().peer_addr(), socket.get_ref().local_addr());
        PathEvent::Connected(peer.ok().zip(local.ok()))
    });
    Ok(socket)
}

type Attempt = Pin<Box<dyn Future<Output = io::Result<Tcp>>>>;

async fn race(addresses: Vec<SocketAddr>, keepalive: Option<Keepalive>) -> io::Result<Tcp> {
    let mut waiting = addresses.into_iter();
    let mut attempts: Vec<Attempt> = Vec::new();
    let mut error = io::ErrorKind::NotFound.into();
    loop {
        match waiting.next() {
            Some(address) => attempts.push(Box::pin(attempt(address, keepalive))),
            None if attempts.is_empty() => return Err(error),
            None => {}
        }
        let answer = next_answer(&mut attempts);
        let answer = match waiting.len() {
            0 => answer.await,
            _ => match timeout(HEAD_START, answer).await {
                Ok(answer) => answer,
                Err(_elapsed) => continue,
            },
        };
        match answer {
            Ok(stream) => return Ok(stream),
            // No reason to let the next one wait any longer (RFC 8305 §5).
            Err(e) => error = exhaustion::error_to_report(error, e),
        }
    }
}

async fn attempt(address: SocketAddr, keepalive: Option<Keepalive>) -> io::Result<Tcp> {
    let connected = connect(address, keepalive).await;
    connected.map_err(|e| exhaustion::connect_error(&address, e))
}

/// Returns the result of the first attempt that ends, and removes it from them.
async fn next_answer(attempts: &mut Vec<Attempt>) -> io::Result<Tcp> {
    poll_fn(|cx| {
        for index in 0..attempts.len() {
            if let Poll::Ready(answer) = attempts[index].as_mut().poll(cx) {
                drop(attempts.remove(index));
                return Poll::Ready(answer);
            }
        }
        Poll::Pending
    })
    .await
}
