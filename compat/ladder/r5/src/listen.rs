//! The clients of one listening socket, one after the other. Each has a permit; no error of
//! accept(2) ends them.
//!
//! ```text
//!   accepting ──accept(2) lacks descriptors or memory──▶ pausing, longer each time
//!       ▲                                                  │ it works again
//!       └────────────── works for a second ────────── recovering
//! ```
//!
//! Invariant: a client is accepted only with a permit and, near the limit of descriptors, with one
//! reserved for the other side of its tunnel. Otherwise clients wait in the kernel's backlog.

use std::future::{poll_fn, Future};
use std::io;
use std::pin::Pin;
use std::task::{ready, Context, Poll};
use std::time::Duration;

use log::{info, warn};
use tokio::time::{sleep, Sleep};

use crate::io::{Acceptor, BoundSocket, Handle, Socket};
use crate::limits::{Permit, Permits};
use ptunnel_core::observe::access_log::Origin;
use ptunnel_core::os::exhaustion::{is_client_gone, plenty};
use ptunnel_core::os::resolver;
use ptunnel_core::os::sys::{self, ReservedFd};

/// First pause after accept(2) lacked descriptors or memory.
const BACK_OFF: Duration = Duration::from_millis(100);
/// Longest pause, after doubling; also the time without another failure that ends the recovery.
const BACK_OFF_MOST: Duration = Duration::from_secs(1);

/// Maximum number of clients in a row that have left before accept(2) pauses.
const TRIES: u8 = 16;

/// One accepted client.
pub struct Client {
    /// Its connection.
    pub socket: Socket,
    /// The address that it connects from.
    pub origin: Origin,
    /// Held while the client is served.
    pub permit: Permit,
    /// A descriptor for the other side of its tunnel, if they are nearly exhausted: dropped when that
    /// is connected.
    pub(crate) reserved: Option<ReservedFd>,
}

/// The clients of one listening socket.
///
/// Never ends. A client that has left before it is accepted is skipped. Without descriptors or
/// memory the listener pauses, logs that once, and recovers. While there is no permit nothing is
/// accepted.
pub struct Listener {
    accepting: Acceptor,
    permits: Permits,
    /// An accepted client for which no descriptor could be reserved yet.
    short: Option<(Socket, Origin)>,
    /// Number of clients below which there are enough descriptors, so that none is reserved.
    plenty: usize,
    handle: Handle,
    exhausted: Option<Exhausted>,
    /// Number of clients in a row that had left already.
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

impl Listener {
    /// Registers `listening` with the runtime.
    ///
    /// # Errors
    ///
    /// The errors of epoll_ctl(2) and getrlimit(2).
    pub fn new(listening: BoundSocket, permits: &Permits, handle: &Handle) -> io::Result<Listener> {
        Ok(Listener {
            plenty: plenty(sys::descriptor_limit()?),
            accepting: listening.register()?,
            permits: permits.clone(),
            short: None,
            handle: handle.clone(),
            exhausted: None,
            gone: 0,
        })
    }

    /// Accepts a client if another descriptor is left for it. A client without one stays in `short`
    /// instead of being dropped.
    fn poll_client(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<(Socket, Origin, Option<ReservedFd>)>> {
        let (socket, origin) = match self.short.take() {
            Some(client) => client,
            None => {
                let (socket, address) = ready!(self.accepting.poll_accept(cx))?;
                (socket, address.map_or(Origin::Unix, Origin::Address))
            }
        };
        if self.permits.held() < self.plenty {
            return Poll::Ready(Ok((socket, origin, None)));
        }
        match self.reserve_fd() {
            Ok(reserved) => Poll::Ready(Ok((socket, origin, Some(reserved)))),
            Err(e) => {
                self.short = Some((socket, origin));
                Poll::Ready(Err(e))
            }
        }
    }

    /// Reserves a descriptor, if there are others left for name lookups.
    fn reserve_fd(&self) -> io::Result<ReservedFd> {
        let reserved = self.handle.reserve_fd()?;
        (0..resolver::reserved_descriptors())
            .map(|_| self.handle.reserve_fd())
            .collect::<io::Result<Vec<_>>>()?;
        Ok(reserved)
    }

    /// Pauses, longer each time, and warns the first time.
    fn back_off(&mut self, error: &io::Error) {
        let pause = match &self.exhausted {
            Some(Exhausted::Pausing { pause, .. }) => BACK_OFF_MOST.min(*pause * 2),
            Some(Exhausted::Recovering { .. }) => BACK_OFF,
            None => {
                warn!(
                    "cannot accept on {}: {}; new clients wait until it is possible again",
                    self.accepting.name(),
                    error
                );
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
                    info!("accepting on {} again", self.accepting.name());
                }
                false
            }
            None => false,
        }
    }

    /// Returns the next client. Dropping the future loses none.
    pub async fn next(&mut self) -> Client {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Client> {
        loop {
            if self.is_pausing(cx) {
                return Poll::Pending;
            }
            // A permit that is kept without a client would be missing at other listeners, and would
            // count as a client.
            let mut permit = ready!(self.permits.poll_take(cx));
            match self.poll_client(cx) {
                Poll::Ready(Ok((socket, origin, reserved))) => {
                    self.gone = 0;
                    self.recover();
                    permit.count_client();
                    return Poll::Ready(Client {
                        socket,
                        origin,
                        permit,
                        reserved,
                    });
                }
                Poll::Pending => {
                    if let Some(Exhausted::Pausing { .. }) = self.exhausted {
                        self.recover();
                        continue; // registers the task for the end of the recovery
                    }
                    return Poll::Pending;
                }
                // Tries the next client. If too many in a row have left, there is another cause.
                Poll::Ready(Err(e)) if is_client_gone(&e) && self.gone < TRIES => self.gone += 1,
                Poll::Ready(Err(e)) => self.back_off(&e),
            }
        }
    }
}
