//! How a tunnel went, what the log says of it, and what is counted.

use std::error;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use log::Level::{Info, Warn};
use log::{debug, info, log};

use crate::config::{plain, Destination};
use crate::error::{Error, Seconds};
use crate::field::Field;
use crate::route::Via;
use crate::tally::{Arrival, Flow, Meter, Tally};
use crate::wire::BrokenChunk;

/// Where a client comes from, as logs call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Over the network.
    Address(SocketAddr),
    /// This machine, over a Unix socket.
    Unix,
    /// Our own standard input and output.
    Stdio,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Address(address) => match plain(address.ip()) {
                // As the rest of the log calls it, whatever the listener's family.
                IpAddr::V4(ip) => SocketAddr::from((ip, address.port())).fmt(f),
                IpAddr::V6(_) => address.fmt(f),
            },
            Origin::Unix => f.write_str("unix"),
            Origin::Stdio => f.write_str("stdio"),
        }
    }
}

/// Bytes carried in each direction.
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

/// One of a relay's two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Where the tunnel was asked for.
    Client,
    /// The proxy, or the destination when there is none.
    Upstream,
}

/// A relay that ended before both of its directions did.
#[derive(Debug)]
pub struct Cut {
    /// What it had carried.
    pub traffic: Traffic,
    reason: Reason,
}

#[derive(Debug)]
enum Reason {
    Failed(Side, io::Error),
    Silent(Duration),
}

impl Cut {
    /// One side's stream broke; or the client's request did, on its way to the other side.
    pub fn failed(traffic: Traffic, side: Side, error: io::Error) -> Cut {
        let cause = error.get_ref();
        let is_clients = cause.map_or(false, |cause| cause.is::<BrokenChunk>());
        let side = if is_clients { Side::Client } else { side };
        Cut {
            traffic,
            reason: Reason::Failed(side, error),
        }
    }

    /// Nothing moved for `limit`.
    pub fn silent(traffic: Traffic, limit: Duration) -> Cut {
        Cut {
            traffic,
            reason: Reason::Silent(limit),
        }
    }

    /// The side that failed; `None` when nothing moved for too long.
    pub fn side(&self) -> Option<Side> {
        match self.reason {
            Reason::Failed(side, _) => Some(side),
            Reason::Silent(_) => None,
        }
    }
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Reason::Failed(Side::Client, e) => write!(f, "client: {}", e),
            Reason::Failed(Side::Upstream, e) => write!(f, "upstream: {}", e),
            Reason::Silent(limit) => write!(f, "nothing moved for {}", Seconds(*limit)),
        }
    }
}

impl error::Error for Cut {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match &self.reason {
            Reason::Failed(_, e) => Some(e),
            Reason::Silent(_) => None,
        }
    }
}

/// A client, from its arrival on.
#[derive(Debug)]
pub struct Visit {
    origin: Origin,
    start: Instant,
    /// Boxed: mostly there is none, and no tunnel shall weigh more for it.
    arrival: Option<Box<Arrival>>,
}

impl From<Origin> for Visit {
    /// Of somebody who isn't counted.
    fn from(origin: Origin) -> Visit {
        Visit::new(origin, None)
    }
}

impl Visit {
    /// Somebody has come just now, and is counted in the listener's tally, if it has one.
    pub fn new(origin: Origin, tally: Option<&Tally>) -> Visit {
        Visit {
            origin,
            start: Instant::now(),
            arrival: tally.map(|tally| Box::new(tally.arrival())),
        }
    }

    /// Where it comes from.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// There is a tunnel for it.
    pub fn opened(mut self, destination: impl Into<Destination>, via: Via) -> Line {
        let destination = destination.into();
        let client = Field("client", self.origin);
        debug!("{} to {}: open {}", client, destination, via);
        if let Some(arrival) = &mut self.arrival {
            let flow = Flow::new(self.origin, destination.clone(), via.clone());
            arrival.opened(self.start.elapsed(), flow);
        }
        Line {
            visit: self,
            destination,
            via,
        }
    }

    /// Logs how it broke while it waited for its tunnel: nobody is left to be served.
    pub fn left(self, destination: &impl fmt::Display, error: io::Error) -> Carried {
        if let Some(arrival) = &self.arrival {
            arrival.left();
        }
        let carried = Carried {
            end: Err(Cut::failed(Traffic::default(), Side::Client, error)),
            lasted: self.start.elapsed(),
        };
        info!(
            "{} to {}: {}",
            Field("client", self.origin),
            Field("destination", destination),
            carried
        );
        carried
    }
}

/// What is known of a tunnel before it is carried: the first half of its line in the log.
#[derive(Debug)]
pub struct Line {
    visit: Visit,
    destination: Destination,
    via: Via,
}

impl Line {
    /// Where its relay notes what it carries, if anybody wants to know; for one relay.
    pub fn meter(&self) -> Option<Meter> {
        self.visit
            .arrival
            .as_ref()
            .and_then(|arrival| arrival.meter())
    }

    /// Logs how its relay went: once, here.
    pub fn log(self, end: Result<Traffic, Cut>) -> Carried {
        let Visit {
            origin,
            start,
            arrival,
        } = self.visit;
        if let Some(arrival) = &arrival {
            arrival.ended(&end);
        }
        let carried = Carried {
            end,
            lasted: start.elapsed(),
        };
        info!(
            "{} to {} {}: {}",
            Field("client", origin),
            Field("destination", &self.destination),
            Field("via", &self.via),
            carried
        );
        carried
    }
}

/// Logs, and counts, why a client couldn't be served. That it left is none of ours to mend: who
/// checks whether somebody listens here does it every few seconds.
pub fn unserved(origin: Origin, tally: Option<&Tally>, error: &Error) {
    let is_departure = error.is_departure();
    let level = if is_departure { Info } else { Warn };
    log!(level, "{}: {}", Field("client", origin), error);
    match tally {
        Some(tally) if is_departure => tally.left(),
        Some(tally) => tally.failed(error),
        None => {}
    }
}

/// How a relay went; displays as its line in the log ends.
#[derive(Debug)]
pub struct Carried {
    /// What was carried to both ends, or what was and why it went no further.
    pub end: Result<Traffic, Cut>,
    /// Since the client came.
    pub lasted: Duration,
}

impl Carried {
    /// The bytes that were carried, whatever the end.
    pub fn traffic(&self) -> Traffic {
        match &self.end {
            Ok(traffic) => *traffic,
            Err(cut) => cut.traffic,
        }
    }
}

impl fmt::Display for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Traffic { upload, download } = self.traffic();
        let lasted = Duration::from_millis(self.lasted.as_millis() as u64);
        write!(
            f,
            "{} bytes up, {} down in {}s, ",
            Field("upload", upload),
            Field("download", download),
            Field("seconds", lasted.as_secs_f64())
        )?;
        match &self.end {
            Ok(_) => Field("end", "closed by both sides").fmt(f),
            Err(cut) => Field("end", format_args!("cut: {}", cut)).fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Origin;

    /// A listener of both families made clients of IPv4 look like others in the log.
    #[test]
    fn a_client_is_called_the_same_whatever_the_listeners_family() {
        for (address, shown) in &[
            ("[::ffff:10.0.0.1]:5", "10.0.0.1:5"),
            ("10.0.0.1:5", "10.0.0.1:5"),
            ("[2001:db8::1]:5", "[2001:db8::1]:5"),
        ] {
            let origin = Origin::Address(address.parse().unwrap());
            assert_eq!(origin.to_string(), *shown);
        }
    }
}
