//! A live tunnel and the bytes that its relay records.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::SystemTime;

use crate::config::Destination;
use crate::observe::logging::context::Origin;
use crate::observe::session::Traffic;
use crate::upstream::ProxyChain;

/// An open tunnel. Only its relay writes the byte counts; the status server reads them.
#[derive(Debug)]
pub struct LiveTunnel {
    /// The client.
    pub client: Origin,
    /// The name with which the client has authenticated.
    pub user: Option<Arc<str>>,
    /// The destination.
    pub destination: Destination,
    /// The proxies on the path.
    pub via: ProxyChain,
    /// Time at which the tunnel was opened.
    pub since: SystemTime,
    upload: AtomicU64,
    download: AtomicU64,
}

impl LiveTunnel {
    /// Returns a tunnel that opens now.
    pub fn new(client: Origin, destination: Destination, via: ProxyChain) -> LiveTunnel {
        LiveTunnel {
            client,
            user: None,
            destination,
            via,
            since: SystemTime::now(),
            upload: AtomicU64::new(0),
            download: AtomicU64::new(0),
        }
    }

    /// Returns the tunnel of a client that has authenticated as `user`, if it had to.
    pub fn of(self, user: Option<Arc<str>>) -> LiveTunnel {
        LiveTunnel { user, ..self }
    }

    pub(super) fn write(&self, carried: Traffic) {
        self.upload.store(carried.upload, Ordering::Relaxed);
        self.download.store(carried.download, Ordering::Relaxed);
    }

    /// Returns the bytes that have been delivered so far.
    pub fn read(&self) -> Traffic {
        Traffic {
            upload: self.upload.load(Ordering::Relaxed),
            download: self.download.load(Ordering::Relaxed),
        }
    }
}

/// Records the bytes that a relay delivers. Costs two plain stores, no atomic addition.
#[derive(Debug)]
pub struct TunnelBytes(pub(super) Arc<LiveTunnel>);

impl TunnelBytes {
    /// Records the totals so far. Called at the end of each poll.
    #[inline]
    pub fn note(&self, carried: Traffic) {
        self.0.write(carried);
    }
}
