//! The clients of one socket, one after the other: each gets a permit, and no error of accept(2) ends
//! the listener.

use std::future::{poll_fn, Future};
use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{ready, Context, Poll};
use std::time::Duration;

use log::{info, warn};
use ptunnel::observe::access_log::Origin;
use ptunnel::os::exhaustion::{is_client_gone, plenty};
use ptunnel::os::resolver;
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{getrlimit, Resource};
use tokio::time::{sleep, Sleep};

use crate::io::Accept;
use crate::limits::{Permit, Permits};

/// First pause after accept(2) lacked descriptors or memory.
const BACK_OFF: Duration = Duration::from_millis(100);
/// Longest pause, after doubling; also the time without another failure that ends the recovery.
const BACK_OFF_MOST: Duration = Duration::from_secs(1);

/// Clients in a row that are found gone before accept(2) pauses.
const TRIES: u8 = 16;

/// One accepted client.
pub struct Client<S> {
    /// Its connection.
    pub socket: S,
    /// The address that it connects from.
    pub origin: Origin,
    /// Held while the client is served.
    pub permit: Permit,
    /// A descriptor for the other side of its tunnel, if they are nearly exhausted: dropped when that
    /// is connected.
    pub reserved: Option<OwnedFd>,
}

/// The clients of one listening socket.
///
/// A client that is gone before it is accepted is skipped, and without descriptors or memory the
/// listener pauses, logs that once, and recovers. While there is no permit nothing is accepted, and
/// further clients wait in the kernel's backlog.
pub struct Listener<A: Accept> {
    listener: A,
    permits: Permits,
    /// A client that is accepted, while no descriptor could be reserved for it.
    short: Option<(A::Stream, Origin)>,
    /// Number of clients below which there are enough descriptors, so that none is reserved.
    plenty: usize,
    exhausted: Option<Exhausted>,
    /// Clients in a row that were gone already.
    gone: u8,
}

/// accept(2) has lacked descriptors or memory.
///
/// If each client that ends lets one more in before the next failure, that is one episode, logged
/// once.
enum Exhausted {
    /// Until `wait` resolves, nothing is accepted.
    Pausing {
        wait: Pin<Box<Sleep>>,
        pause: Duration,
    },
    /// accept(2) works again; the episode ends when `wait` resolves, unless it fails before.
    Recovering { wait: Pin<Box<Sleep>> },
}

impl<A: Accept> Listener<A> {
    /// Accepts from `listener`, within `permits`.
    pub fn new(listener: A, permits: &Permits) -> Listener<A> {
        let limit = getrlimit(Resource::Nofile).current;
        Listener {
            listener,
            permits: permits.clone(),
            short: None,
            plenty: plenty(limit.unwrap_or(u64::MAX)),
            exhausted: None,
            gone: 0,
        }
    }

    /// Returns the next client. Dropping the future loses none.
    pub async fn next(&mut self) -> Client<A::Stream> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Client<A::Stream>> {
        loop {
            if self.is_pausing(cx) {
                return Poll::Pending;
            }
            match self.poll_client(cx) {
                Poll::Ready(Ok(client)) => {
                    self.gone = 0;
                    self.recover();
                    return Poll::Ready(client);
                }
                Poll::Pending => {
                    // Nothing is lacking, or no client may be accepted.
                    if let Some(Exhausted::Pausing { .. }) = self.exhausted {
                        self.recover();
                        continue; // to be woken at its end
                    }
                    return Poll::Pending;
                }
                // Tries the next client; if too many are gone in a row, the cause is another one.
                Poll::Ready(Err(e)) if is_client_gone(&e) && self.gone < TRIES => self.gone += 1,
                Poll::Ready(Err(e)) => self.back_off(&e),
            }
        }
    }

    /// Pauses, longer each time, and warns the first time.
    fn back_off(&mut self, error: &io::Error) {
        let pause = match &self.exhausted {
            Some(Exhausted::Pausing { pause, .. }) => BACK_OFF_MOST.min(*pause * 2),
            Some(Exhausted::Recovering { .. }) => BACK_OFF,
            None => {
                let name = self.listener.name();
                warn!("cannot accept on {name}: {error}; clients wait until this is over");
                BACK_OFF
            }
        };
        let wait = Box::pin(sleep(pause));
        self.exhausted = Some(Exhausted::Pausing { wait, pause });
    }

    /// Notes that accept(2) works again.
    fn recover(&mut self) {
        if let Some(Exhausted::Pausing { .. }) = self.exhausted {
            let wait = Box::pin(sleep(BACK_OFF_MOST));
            self.exhausted = Some(Exhausted::Recovering { wait });
        }
    }

    /// Returns whether a pause is not over.
    fn is_pausing(&mut self, cx: &mut Context<'_>) -> bool {
        match &mut self.exhausted {
            Some(Exhausted::Pausing { wait, .. }) => wait.as_mut().poll(cx).is_pending(),
            Some(Exhausted::Recovering { wait }) => {
                if wait.as_mut().poll(cx).is_ready() {
                    self.exhausted = None;
                    info!("accepting on {} again", self.listener.name());
                }
                false
            }
            None => false,
        }
    }

    /// Accepts a client when there is a permit and another descriptor for it: a client that
    /// couldn't be served must wait in the backlog, not be accepted and dropped.
    fn poll_client(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Client<A::Stream>>> {
        let mut permit = ready!(self.permits.poll_take(cx));
        let (socket, origin) = match self.short.take() {
            Some(short) => short,
            // A permit that is kept without a client would be missing elsewhere, and would count as
            // a served client.
            None => ready!(self.listener.poll_accept(cx))?,
        };
        let reserved = if self.permits.held() <= self.plenty {
            None
        } else {
            match self.reserve_fd() {
                Ok(reserved) => Some(reserved),
                Err(e) => {
                    self.short = Some((socket, origin));
                    return Poll::Ready(Err(e));
                }
            }
        };
        permit.count_client();
        Poll::Ready(Ok(Client {
            socket,
            origin,
            permit,
            reserved,
        }))
    }

    /// Reserves a descriptor, if there are others left for name lookups.
    fn reserve_fd(&self) -> io::Result<OwnedFd> {
        let reserved = fcntl_dupfd_cloexec(&self.listener, 0)?;
        (0..resolver::reserved_descriptors())
            .map(|_| fcntl_dupfd_cloexec(&self.listener, 0))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(reserved)
    }
}
