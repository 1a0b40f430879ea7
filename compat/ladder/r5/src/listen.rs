//! Clients, one after the other: accepts them, one permit each, and outlives every error of
//! accept(2).

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

/// How long to wait before accept(2) is tried again after it ran out of something.
const BACK_OFF: Duration = Duration::from_millis(100);
/// The wait doubles up to here; and for so long it must not happen again to be over.
const BACK_OFF_MOST: Duration = Duration::from_secs(1);

/// Clients in a row that may be found gone before accept(2) is given a rest.
const TRIES: u8 = 16;

/// One client for whom there is room.
pub struct Client<S> {
    /// Its connection.
    pub socket: S,
    /// Where it comes from.
    pub origin: Origin,
    /// Held for as long as it is served.
    pub permit: Permit,
    /// For the other side of its tunnel, where descriptors may run short: dropped when that is
    /// connected.
    pub spare: Option<OwnedFd>,
}

/// The clients of one listening socket.
///
/// A client that is gone before it is accepted is skipped, and without descriptors or memory the
/// listener waits, says so once, and recovers. While no permit is to be had nothing is accepted,
/// and further clients wait in the kernel's backlog.
pub struct Listener<A: Accept> {
    listener: A,
    permits: Permits,
    /// Accepted, but without a descriptor for the other side of its tunnel yet.
    short: Option<(A::Stream, Origin)>,
    /// With fewer clients than this there are descriptors for another, without a look.
    plenty: usize,
    exhausted: Option<Exhausted>,
    /// Clients in a row that were gone already.
    gone: u8,
}

/// accept(2) ran out of something.
///
/// One client's end lets another one in, and the next is short again: that is all one lack, told
/// once.
enum Exhausted {
    /// It is tried again when `wait` is over.
    Pausing {
        wait: Pin<Box<Sleep>>,
        pause: Duration,
    },
    /// It went well, and is over with `wait` if it goes on like that.
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

    /// The next client. Dropping the future loses none.
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
                    // Nothing is lacking, or nobody may come in.
                    if let Some(Exhausted::Pausing { .. }) = self.exhausted {
                        self.recover();
                        continue; // to hear of its end
                    }
                    return Poll::Pending;
                }
                // The next one, please; but when nobody else comes it isn't they who are gone.
                Poll::Ready(Err(e)) if is_client_gone(&e) && self.gone < TRIES => self.gone += 1,
                Poll::Ready(Err(e)) => self.back_off(&e),
            }
        }
    }

    /// Waits longer each time, and warns the first time.
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

    /// Nothing is lacking at the moment.
    fn recover(&mut self) {
        if let Some(Exhausted::Pausing { .. }) = self.exhausted {
            let wait = Box::pin(sleep(BACK_OFF_MOST));
            self.exhausted = Some(Exhausted::Recovering { wait });
        }
    }

    /// Whether it is not the time to accept.
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

    /// A client with a permit, and with another descriptor to be had: one that couldn't be
    /// served shall wait, not be accepted and dropped.
    fn poll_client(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Client<A::Stream>>> {
        let permit = ready!(self.permits.poll_take(cx));
        let (socket, origin) = match self.short.take() {
            Some(short) => short,
            // A permit kept while nobody comes would be one client less elsewhere, and would look
            // like one that is served.
            None => ready!(self.listener.poll_accept(cx))?,
        };
        let spare = if self.permits.held() <= self.plenty {
            None
        } else {
            match self.spare() {
                Ok(spare) => Some(spare),
                Err(e) => {
                    self.short = Some((socket, origin));
                    return Poll::Ready(Err(e));
                }
            }
        };
        Poll::Ready(Ok(Client {
            socket,
            origin,
            permit,
            spare,
        }))
    }

    /// A descriptor, where there are others for look-ups.
    fn spare(&self) -> io::Result<OwnedFd> {
        let spare = fcntl_dupfd_cloexec(&self.listener, 0)?;
        (0..resolver::reserved_descriptors())
            .map(|_| fcntl_dupfd_cloexec(&self.listener, 0))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(spare)
    }
}
