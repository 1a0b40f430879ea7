//! Clients, one after the other: accepts them, one permit each, and outlives every error of
//! accept(2).

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::task::{ready, Context, Poll};
use std::time::Duration;

use log::{info, warn};
use ptunnel::lookup;
use ptunnel::shortage::is_gone;
use rustix::io::fcntl_dupfd_cloexec;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

use crate::limits::{Permit, Permits};

/// How long to wait before accept(2) is tried again after it ran out of something.
const BACK_OFF: Duration = Duration::from_millis(100);
/// The wait doubles up to here.
const BACK_OFF_MOST: Duration = Duration::from_secs(1);

/// One client that was let in.
pub struct Client {
    /// Its connection.
    pub socket: TcpStream,
    /// Where it comes from.
    pub address: SocketAddr,
    /// Held for as long as it is served.
    pub permit: Permit,
    /// For the other side of its tunnel: dropped when that is connected.
    pub spare: OwnedFd,
}

/// The clients of one listening socket.
///
/// A client that is gone before it is accepted is skipped, and without descriptors or memory the
/// listener waits, says so once, and recovers. While no permit is to be had nothing is accepted,
/// and further clients wait in the kernel's backlog.
pub struct Listener {
    listener: TcpListener,
    permits: Permits,
    /// Accepted, but without a descriptor for the other side of its tunnel yet.
    short: Option<(TcpStream, SocketAddr)>,
}

impl Listener {
    /// Accepts from `listener`, within `permits`.
    pub fn new(listener: TcpListener, permits: &Permits) -> Listener {
        Listener {
            listener,
            permits: permits.clone(),
            short: None,
        }
    }

    /// The next client. Dropping the future loses none.
    pub async fn next(&mut self) -> Client {
        let mut pause = None;
        loop {
            match poll_fn(|cx| self.poll_client(cx, &mut pause)).await {
                Ok(client) => {
                    if pause.is_some() {
                        info!("accepting on {} again", self.address());
                    }
                    return client;
                }
                Err(e) if is_gone(&e) => {} // the next one, please
                Err(e) => {
                    if pause.is_none() {
                        let address = self.address();
                        warn!("cannot accept on {address}: {e}; clients wait until this is over");
                    }
                    let longer = pause.map_or(BACK_OFF, |pause: Duration| pause * 2);
                    pause = Some(longer.min(BACK_OFF_MOST));
                    sleep(longer.min(BACK_OFF_MOST)).await;
                }
            }
        }
    }

    /// A client with a permit, and with another descriptor to be had: one that couldn't be
    /// served shall wait, not be accepted and dropped.
    fn poll_client(
        &mut self,
        cx: &mut Context<'_>,
        pause: &mut Option<Duration>,
    ) -> Poll<io::Result<Client>> {
        let permit = ready!(self.permits.poll_take(cx));
        let (socket, address) = match self.short.take() {
            Some(short) => short,
            None => match self.listener.poll_accept(cx) {
                Poll::Ready(accepted) => accepted?,
                Poll::Pending => {
                    // Nothing is lacking. And a permit kept while nobody comes would be one client
                    // less elsewhere, and would look like one that is served.
                    *pause = None;
                    return Poll::Pending;
                }
            },
        };
        let spare = match self.spare() {
            Ok(spare) => spare,
            Err(e) => {
                self.short = Some((socket, address));
                return Poll::Ready(Err(e));
            }
        };
        socket.set_nodelay(true)?;
        Poll::Ready(Ok(Client {
            socket,
            address,
            permit,
            spare,
        }))
    }

    /// A descriptor, where there are others for look-ups.
    fn spare(&self) -> io::Result<OwnedFd> {
        let spare = fcntl_dupfd_cloexec(&self.listener, 0)?;
        (0..lookup::room())
            .map(|_| fcntl_dupfd_cloexec(&self.listener, 0))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(spare)
    }

    fn address(&self) -> String {
        self.listener
            .local_addr()
            .map_or_else(|e| e.to_string(), |address| address.to_string())
    }
}
