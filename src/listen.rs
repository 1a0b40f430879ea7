//! The clients of one listening socket, as a stream. Each has a permit; no error of accept(2) ends
//! the stream.
//!
//! ```text
//!   accepting ──accept(2) lacks descriptors or memory──▶ pausing, longer each time
//!       ▲                                                  │ it works again
//!       └────────────── works for a second ────────── recovering
//! ```
//!
//! Invariant: a client is accepted only with a permit and, near the limit of descriptors, with one
//! reserved for the other side of its tunnel. Otherwise clients wait in the kernel's backlog.

use std::io;
use std::time::Duration;

use futures::{task, try_ready, Async, Future, Poll, Stream};
use log::{info, warn};
use tokio_core::reactor::Timeout;

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

/// Maximum number of clients in one poll that are accepted or found to have left, before the task
/// yields.
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
/// Never ends, and fails only if the timers do. A client that has left before it is accepted is
/// skipped. Without descriptors or memory the stream pauses, logs that once, and recovers. While
/// there is no permit nothing is accepted.
#[must_use = "streams do nothing unless polled"]
pub struct Listener {
    accepting: Acceptor,
    permits: Permits,
    permit: Option<Permit>,
    /// An accepted client for which no descriptor could be reserved yet.
    short: Option<(Socket, Origin)>,
    /// Number of clients below which there are enough descriptors, so that none is reserved.
    plenty: usize,
    handle: Handle,
    exhausted: Option<Exhausted>,
    /// Tries since the task yielded.
    tries: u8,
    /// Number of clients in a row that had left already.
    gone: u8,
}

/// accept(2) has lacked descriptors or memory.
///
/// If each client that ends lets one more in before the next failure, that is one episode, logged
/// once.
enum Exhausted {
    /// Until `wait` resolves, nothing is accepted.
    Pausing { wait: Timeout, pause: Duration },
    /// accept(2) works again; the episode ends when `wait` resolves, unless it fails before.
    Recovering { wait: Timeout },
}

impl Listener {
    /// Registers `listening` with the reactor of `handle`.
    ///
    /// # Errors
    ///
    /// The errors of epoll_ctl(2) and getrlimit(2).
    pub fn new(listening: BoundSocket, permits: &Permits, handle: &Handle) -> io::Result<Listener> {
        Ok(Listener {
            plenty: plenty(sys::descriptor_limit()?),
            accepting: listening.register(handle)?,
            permits: permits.clone(),
            permit: None,
            short: None,
            handle: handle.clone(),
            exhausted: None,
            tries: 0,
            gone: 0,
        })
    }

    /// Accepts a client if another descriptor is left for it. A client without one stays in `short`
    /// instead of being dropped.
    fn poll_client(&mut self) -> Poll<(Socket, Origin, Option<ReservedFd>), io::Error> {
        let (socket, origin) = match self.short.take() {
            Some(client) => client,
            None => {
                let (socket, address) = try_ready!(self.accepting.poll_accept());
                (socket, address.map_or(Origin::Unix, Origin::Address))
            }
        };
        if self.permits.held() < self.plenty {
            return Ok(Async::Ready((socket, origin, None)));
        }
        match self.reserve_fd() {
            Ok(reserved) => Ok(Async::Ready((socket, origin, Some(reserved)))),
            Err(e) => {
                self.short = Some((socket, origin));
                Err(e)
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
    fn back_off(&mut self, error: &io::Error) -> io::Result<()> {
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
        let wait = Timeout::new(pause, self.handle.core())?;
        self.exhausted = Some(Exhausted::Pausing { wait, pause });
        Ok(())
    }

    /// Notes that accept(2) works again.
    fn recover(&mut self) -> io::Result<()> {
        if let Some(Exhausted::Pausing { .. }) = self.exhausted {
            let wait = Timeout::new(BACK_OFF_MOST, self.handle.core())?;
            self.exhausted = Some(Exhausted::Recovering { wait });
        }
        Ok(())
    }

    /// Returns whether a pause is not over.
    fn is_pausing(&mut self) -> io::Result<bool> {
        match &mut self.exhausted {
            Some(Exhausted::Pausing { wait, .. }) => Ok(wait.poll()? == Async::NotReady),
            Some(Exhausted::Recovering { wait }) => {
                if wait.poll()?.is_ready() {
                    self.exhausted = None;
                    info!("accepting on {} again", self.accepting.name());
                }
                Ok(false)
            }
            None => Ok(false),
        }
    }
}

impl Stream for Listener {
    type Item = Client;
    type Error = io::Error;

    fn poll(&mut self) -> Poll<Option<Client>, io::Error> {
        loop {
            if self.is_pausing()? {
                return Ok(Async::NotReady);
            }
            if self.permit.is_none() {
                match self.permits.poll_take() {
                    Async::Ready(permit) => self.permit = Some(permit),
                    Async::NotReady => return Ok(Async::NotReady),
                }
            }
            if self.tries == TRIES {
                self.tries = 0;
                task::current().notify();
                return Ok(Async::NotReady);
            }
            self.tries += 1;
            match self.poll_client() {
                Ok(Async::Ready((socket, origin, reserved))) => {
                    self.gone = 0;
                    self.recover()?;
                    let mut permit = self.permit.take().expect("taken above");
                    permit.count_client();
                    return Ok(Async::Ready(Some(Client {
                        socket,
                        origin,
                        permit,
                        reserved,
                    })));
                }
                Ok(Async::NotReady) => {
                    // A permit that is kept without a client would be missing at other listeners,
                    // and would count as a client.
                    self.permit = None;
                    self.tries = 0;
                    if let Some(Exhausted::Pausing { .. }) = self.exhausted {
                        self.recover()?;
                        continue; // registers the task for the end of the recovery
                    }
                    return Ok(Async::NotReady);
                }
                // Tries the next client. If too many in a row have left, there is another cause.
                Err(ref e) if is_client_gone(e) && self.gone < TRIES => self.gone += 1,
                Err(e) => self.back_off(&e)?,
            }
        }
    }
}
