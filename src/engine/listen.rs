//! Clients, as a stream: accepts them, one permit each, and outlives every error of accept(2).

use std::io;
use std::time::Duration;

use futures::{task, try_ready, Async, Future, Poll, Stream};
use log::{info, warn};
use tokio_core::reactor::Timeout;

use super::limits::{Permit, Permits};
use crate::engine::io::{Acceptor, BoundSocket, Handle, Socket};
use crate::observe::access_log::Origin;
use crate::os::exhaustion::{is_client_gone, plenty};
use crate::os::resolver;
use crate::os::sys::{self, ReservedFd};

/// How long to wait before accept(2) is tried again after it ran out of something.
const BACK_OFF: Duration = Duration::from_millis(100);
/// The wait doubles up to here; and for so long it must not happen again to be over.
const BACK_OFF_MOST: Duration = Duration::from_secs(1);

/// Clients accepted, or found gone, before other tasks get their turn.
const TRIES: u8 = 16;

/// One client for whom there is room.
pub struct Client {
    /// Its connection.
    pub socket: Socket,
    /// Where it comes from.
    pub origin: Origin,
    /// Held for as long as it is served.
    pub permit: Permit,
    /// For the other side of its tunnel, where descriptors may run short: dropped when that is
    /// connected.
    pub(crate) reserved: Option<ReservedFd>,
}

/// The clients of one listening socket.
///
/// Never ends and never fails: a client that is gone before it is accepted is skipped, and
/// without descriptors or memory the stream waits, says so once, and recovers. While no permit
/// is to be had nothing is accepted, and further clients wait in the kernel's backlog.
#[must_use = "streams do nothing unless polled"]
pub struct Listener {
    accepting: Acceptor,
    permits: Permits,
    permit: Option<Permit>,
    /// Accepted, but without a descriptor for the other side of its tunnel yet.
    short: Option<(Socket, Origin)>,
    /// With fewer clients than this there are descriptors for another, without a look.
    plenty: usize,
    handle: Handle,
    exhausted: Option<Exhausted>,
    /// Tries since other tasks had their turn.
    tries: u8,
    /// Clients in a row that were gone already.
    gone: u8,
}

/// accept(2) ran out of something.
///
/// One client's end lets another one in, and the next is short again: that is all one lack, told
/// once.
enum Exhausted {
    /// It is tried again when `wait` is over.
    Pausing { wait: Timeout, pause: Duration },
    /// It went well, and is over with `wait` if it goes on like that.
    Recovering { wait: Timeout },
}

impl Listener {
    /// Starts to accept from `listening` on the reactor of `handle`.
    ///
    /// # Errors
    ///
    /// When the reactor can't take another source.
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

    /// The next client for whom there is another descriptor: one that could not be served shall
    /// wait, not be accepted and dropped.
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

    /// A descriptor, where there are others for look-ups.
    fn reserve_fd(&self) -> io::Result<ReservedFd> {
        let reserved = self.handle.reserve_fd()?;
        (0..resolver::reserved_descriptors())
            .map(|_| self.handle.reserve_fd())
            .collect::<io::Result<Vec<_>>>()?;
        Ok(reserved)
    }

    /// Waits longer each time, and warns the first time.
    fn back_off(&mut self, error: &io::Error) -> io::Result<()> {
        let pause = match &self.exhausted {
            Some(Exhausted::Pausing { pause, .. }) => BACK_OFF_MOST.min(*pause * 2),
            Some(Exhausted::Recovering { .. }) => BACK_OFF,
            None => {
                warn!(
                    "cannot accept on {}: {}; clients wait until this is over",
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

    /// Nothing is lacking at the moment.
    fn recover(&mut self) -> io::Result<()> {
        if let Some(Exhausted::Pausing { .. }) = self.exhausted {
            let wait = Timeout::new(BACK_OFF_MOST, self.handle.core())?;
            self.exhausted = Some(Exhausted::Recovering { wait });
        }
        Ok(())
    }

    /// Whether it is not the time to accept.
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
                    let permit = self.permit.take().expect("taken above");
                    return Ok(Async::Ready(Some(Client {
                        socket,
                        origin,
                        permit,
                        reserved,
                    })));
                }
                Ok(Async::NotReady) => {
                    // A permit kept while nobody comes would be one client less elsewhere, and
                    // would look like a client that is served.
                    self.permit = None;
                    self.tries = 0;
                    if let Some(Exhausted::Pausing { .. }) = self.exhausted {
                        self.recover()?;
                        continue; // to hear of its end
                    }
                    return Ok(Async::NotReady);
                }
                // The next one, please; but when nobody else comes it isn't they who are gone.
                Err(ref e) if is_client_gone(e) && self.gone < TRIES => self.gone += 1,
                Err(e) => self.back_off(&e)?,
            }
        }
    }
}
