//! The end of a session: plain types that the relay returns, the access log writes and the stats
//! count.

use std::error;
use std::fmt;
use std::io;
use std::time::Duration;

use ptunnel_proto::text::seconds::{Seconds, Took};
use ptunnel_proto::BrokenChunk;

/// Bytes that a relay delivered, by direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// From the client to the destination.
    pub upload: u64,
    /// From the destination to the client.
    pub download: u64,
}

impl Traffic {
    pub(crate) fn add(&mut self, other: Traffic) {
        self.upload += other.upload;
        self.download += other.download;
    }
}

/// A relay that carried both directions to their end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Closed {
    /// Bytes that the relay delivered.
    pub traffic: Traffic,
    /// Whether the upstream answered the client's half-close with its own, without a byte in
    /// between.
    pub is_unanswered: bool,
}

impl From<Traffic> for Closed {
    /// Returns an answered close.
    fn from(traffic: Traffic) -> Closed {
        Closed {
            traffic,
            is_unanswered: false,
        }
    }
}

/// One of a relay's two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The connection of the client.
    Client,
    /// The connection to the proxy, or to the destination when there is no proxy.
    Upstream,
}

/// A relay that ended before both of its directions did.
#[derive(Debug)]
pub struct RelayError {
    /// Bytes that the relay delivered before.
    pub traffic: Traffic,
    cause: RelayErrorCause,
}

#[derive(Debug)]
enum RelayErrorCause {
    Failed(Side, io::Error),
    Silent(Duration),
}

/// Whether the error is a malformed request body from the client. After it the relay can neither
/// send nor receive.
pub fn breaks_request(error: &io::Error) -> bool {
    error.get_ref().map_or(false, |e| e.is::<BrokenChunk>())
}

impl RelayError {
    /// Returns the error of a stream that failed. A malformed request counts as a failure of the
    /// client, on whichever `side` it was found.
    pub fn failed(traffic: Traffic, side: Side, error: io::Error) -> RelayError {
        let side = match breaks_request(&error) {
            true => Side::Client,
            false => side,
        };
        RelayError {
            traffic,
            cause: RelayErrorCause::Failed(side, error),
        }
    }

    /// Returns the error of a relay on which no byte moved for `limit`.
    pub fn silent(traffic: Traffic, limit: Duration) -> RelayError {
        RelayError {
            traffic,
            cause: RelayErrorCause::Silent(limit),
        }
    }

    /// Returns the side that failed; `None` after an idle timeout.
    pub fn side(&self) -> Option<Side> {
        match self.cause {
            RelayErrorCause::Failed(side, _) => Some(side),
            RelayErrorCause::Silent(_) => None,
        }
    }
}

impl fmt::Display for RelayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            RelayErrorCause::Failed(Side::Client, e) => write!(f, "client: {}", e),
            RelayErrorCause::Failed(Side::Upstream, e) => write!(f, "upstream: {}", e),
            RelayErrorCause::Silent(limit) => write!(f, "no data for {}", Seconds(*limit)),
        }
    }
}

impl error::Error for RelayError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match &self.cause {
            RelayErrorCause::Failed(_, e) => Some(e),
            RelayErrorCause::Silent(_) => None,
        }
    }
}

/// Labels of the ways in which a relay ends, in the order of [`end_index`].
pub(crate) const ENDS: [&str; 4] = ["closed", "client", "upstream", "silence"];

/// Returns the index in [`ENDS`] of a relay's end.
pub(crate) fn end_index(end: &Result<Closed, RelayError>) -> usize {
    match end.as_ref().map_err(RelayError::side) {
        Ok(_) => 0,
        Err(Some(Side::Client)) => 1,
        Err(Some(Side::Upstream)) => 2,
        Err(None) => 3,
    }
}

/// The outcome of a session. Displays as the second half of its line in the access log.
#[derive(Debug)]
pub struct SessionSummary {
    /// The end of the relay.
    pub end: Result<Closed, RelayError>,
    /// Time since the client connected.
    pub lasted: Duration,
}

impl SessionSummary {
    /// Returns the bytes that were delivered, whatever the end.
    pub fn traffic(&self) -> Traffic {
        traffic(&self.end)
    }
}

/// Returns the bytes that a relay delivered, whatever its end.
pub(crate) fn traffic(end: &Result<Closed, RelayError>) -> Traffic {
    match end {
        Ok(closed) => closed.traffic,
        Err(cut) => cut.traffic,
    }
}

impl fmt::Display for SessionSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Traffic { upload, download } = self.traffic();
        let took = Took(self.lasted);
        write!(f, "{} bytes up, {} down in {}, ", upload, download, took)?;
        match &self.end {
            Ok(_) => f.write_str("closed by both sides"),
            Err(cut) => write!(f, "cut: {}", cut),
        }
    }
}
