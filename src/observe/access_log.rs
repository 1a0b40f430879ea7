//! How a tunnel went, what the log says of it, and what is counted.

use std::error;
use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use log::Level::{Debug, Info, Warn};
use log::{log_enabled, warn, Level};

use crate::config::Destination;
use crate::error::{Cause, Error, Seconds, LEFT};
pub use crate::observe::logging::context::{LogContext, LogScope, Origin};
use crate::observe::logging::field::{self, Fields, Heading, TunnelPath, Value};
use crate::observe::stats::{end_label, ConnGuard, LiveTunnel, Stats, TunnelBytes};
use crate::proto::BrokenChunk;
use crate::text::seconds::Took;
use crate::upstream::UpstreamPath;

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

/// A relay that carried both directions to their end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Closed {
    /// What it has carried.
    pub traffic: Traffic,
    /// Whether the upstream answered the client's end with its own, without a byte in between.
    pub is_unanswered: bool,
}

impl From<Traffic> for Closed {
    /// An end that nothing is to be said of.
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
    /// Where the tunnel was asked for.
    Client,
    /// The proxy, or the destination when there is none.
    Upstream,
}

/// A relay that ended before both of its directions did.
#[derive(Debug)]
pub struct RelayError {
    /// What it had carried.
    pub traffic: Traffic,
    reason: Reason,
}

#[derive(Debug)]
enum Reason {
    Failed(Side, io::Error),
    Silent(Duration),
}

/// Whether the error is in the client's request, so that nothing more can be sent or expected.
pub fn breaks_request(error: &io::Error) -> bool {
    error.get_ref().map_or(false, |e| e.is::<BrokenChunk>())
}

impl RelayError {
    /// One side's stream broke; or the client's request did, on its way to the other side.
    pub fn failed(traffic: Traffic, side: Side, error: io::Error) -> RelayError {
        let side = match breaks_request(&error) {
            true => Side::Client,
            false => side,
        };
        RelayError {
            traffic,
            reason: Reason::Failed(side, error),
        }
    }

    /// Nothing moved for `limit`.
    pub fn silent(traffic: Traffic, limit: Duration) -> RelayError {
        RelayError {
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

impl fmt::Display for RelayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Reason::Failed(Side::Client, e) => write!(f, "client: {}", e),
            Reason::Failed(Side::Upstream, e) => write!(f, "upstream: {}", e),
            Reason::Silent(limit) => write!(f, "nothing moved for {}", Seconds(*limit)),
        }
    }
}

impl error::Error for RelayError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match &self.reason {
            Reason::Failed(_, e) => Some(e),
            Reason::Silent(_) => None,
        }
    }
}

/// A client, from its arrival on.
#[derive(Debug)]
pub struct ClientSession {
    context: LogContext,
    start: Instant,
    /// Boxed: mostly there is none, and no tunnel shall weigh more for it.
    arrival: Option<Box<ConnGuard>>,
}

impl From<Origin> for ClientSession {
    /// Of a client that no listener accepted, and that isn't counted.
    fn from(origin: Origin) -> ClientSession {
        ClientSession::new(LogContext::new(origin, None), None)
    }
}

impl ClientSession {
    /// A client has come just now, and is counted in the listener's tally, if it has one.
    pub fn new(context: LogContext, tally: Option<&Stats>) -> ClientSession {
        tell(
            &context,
            Debug,
            format_args!("{}: accepted", context),
            Vec::new,
        );
        ClientSession {
            context,
            start: Instant::now(),
            arrival: tally.map(|tally| Box::new(tally.arrival())),
        }
    }

    /// Where it comes from.
    pub fn origin(&self) -> Origin {
        self.context.client()
    }

    /// How log lines name its connection: whatever is polled for it belongs into this one's scope.
    pub fn context(&self) -> &LogContext {
        &self.context
    }

    /// There is a tunnel for it.
    pub fn opened(mut self, destination: impl Into<Destination>, via: UpstreamPath) -> SessionLog {
        let destination = destination.into();
        let context = &self.context;
        tell(
            context,
            Debug,
            format_args!("{} to {}: open {}", context, destination, via),
            || via.path_to(&destination).fields(),
        );
        if let Some(arrival) = &mut self.arrival {
            let flow = LiveTunnel::new(context.client(), destination.clone(), via.clone());
            arrival.opened(self.start.elapsed(), flow);
        }
        SessionLog {
            visit: self,
            destination,
            via,
        }
    }

    /// Logs how it broke while it waited for its tunnel: nobody is left to be served.
    pub fn left(self, destination: &impl fmt::Display, error: io::Error) -> SessionSummary {
        if let Some(arrival) = &self.arrival {
            arrival.left();
        }
        let carried = SessionSummary {
            end: Err(RelayError::failed(Traffic::default(), Side::Client, error)),
            lasted: self.start.elapsed(),
        };
        let context = &self.context;
        tell(
            context,
            Info,
            format_args!("{} to {}: {}", context, destination, carried),
            || carried.fields(TunnelPath::to(destination), LEFT),
        );
        carried
    }
}

/// What is known of a tunnel before it is carried: the first half of its line in the log.
#[derive(Debug)]
pub struct SessionLog {
    visit: ClientSession,
    destination: Destination,
    via: UpstreamPath,
}

impl SessionLog {
    /// Where its relay notes what it carries, if anybody wants to know; for one relay.
    pub fn meter(&self) -> Option<TunnelBytes> {
        self.visit
            .arrival
            .as_ref()
            .and_then(|arrival| arrival.meter())
    }

    /// Logs how its relay went: once, here.
    pub fn log(self, end: Result<Closed, RelayError>) -> SessionSummary {
        let ClientSession {
            context,
            start,
            arrival,
        } = self.visit;
        if let Some(arrival) = &arrival {
            arrival.ended(&end);
        }
        let carried = SessionSummary {
            end,
            lasted: start.elapsed(),
        };
        let (destination, via) = (&self.destination, &self.via);
        tell(
            &context,
            Info,
            format_args!("{} to {} {}: {}", context, destination, via, carried),
            || carried.fields(via.path_to(destination), Cause::RelayError.label()),
        );
        if let Some(level) = carried.unanswered() {
            tell(
                &context,
                level,
                format_args!("{} to {} {}: {}", context, destination, via, UNANSWERED),
                || via.path_to(destination).fields(),
            );
        }
        carried
    }
}

/// For a user who sees no reply: most proxies close both directions at a half-close.
const UNANSWERED: &str = "the upstream closed the connection when the client's end was passed on, \
     without sending another byte; if a reply is missing, the upstream closes both directions at a \
     half-close: use --half-close-delay with more seconds, or never";

/// Logs a line about a connection; where nobody wants it, that costs a comparison.
fn tell(
    context: &LogContext,
    level: Level,
    text: fmt::Arguments<'_>,
    fields: impl FnOnce() -> Fields,
) {
    if log_enabled!(level) {
        context.scope(|| field::log(level, text, fields));
    }
}

/// Logs, and counts, why a client couldn't be served. That it left is none of ours to mend: who
/// checks whether somebody listens here does it every few seconds.
pub fn unserved(context: &LogContext, tally: Option<&Stats>, error: &Error) {
    let is_departure = error.is_departure();
    let level = if is_departure { Info } else { Warn };
    tell(
        context,
        level,
        format_args!("{}{}", Heading(Some(context), error.path()), error),
        || error.fields(),
    );
    match tally {
        Some(tally) if is_departure => tally.left(),
        Some(tally) => tally.failed(error),
        None => {}
    }
}

/// Reports, at a signal to stop, what is still open and how long it has. At the level of warnings,
/// so that Ctrl-C never looks like nothing.
pub fn stopping(open: usize, limit: Duration) {
    match open {
        0 => warn!("stopping: no connection is open"),
        _ => warn!(
            "stopping: {} open and {} {} to end; a second signal cuts {}",
            Connections(open),
            if open == 1 { "has" } else { "have" },
            Seconds(limit),
            if open == 1 { "it" } else { "them" },
        ),
    }
}

/// Reports what is cut because the drain time is over.
pub fn cut_after(open: usize, limit: Duration) {
    warn!(
        "cutting: {} still open after {}",
        Connections(open),
        Seconds(limit)
    );
}

/// Reports what is cut by a second signal.
pub fn cut_by_signal(open: usize) {
    warn!(
        "cutting: {} still open at a second signal",
        Connections(open)
    );
}

/// So many of them, with their verb.
struct Connections(usize);

impl fmt::Display for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("1 connection is"),
            count => write!(f, "{} connections are", count),
        }
    }
}

/// How a relay went; displays as its line in the log ends.
#[derive(Debug)]
pub struct SessionSummary {
    /// What was carried to both ends, or what was and why it went no further.
    pub end: Result<Closed, RelayError>,
    /// Since the client came.
    pub lasted: Duration,
}

impl SessionSummary {
    /// The bytes that were carried, whatever the end.
    pub fn traffic(&self) -> Traffic {
        match &self.end {
            Ok(closed) => closed.traffic,
            Err(cut) => cut.traffic,
        }
    }

    /// The same for programs; a cut tunnel has this cause.
    fn fields(&self, path: TunnelPath, cause: &str) -> Fields {
        let Traffic { upload, download } = self.traffic();
        let mut fields = path.fields();
        fields.push(("upload", Value::Number(upload)));
        fields.push(("download", Value::Number(download)));
        fields.push(("seconds", Value::Duration(self.lasted)));
        fields.push(("end", Value::Text(end_label(&self.end).into())));
        if self.end.is_err() {
            fields.push(("cause", Value::Text(cause.into())));
        }
        fields
    }

    /// At which level to report that the upstream answered the client's end with its own, without a
    /// byte in between; `None` when it didn't. Clients that have got their reply end so, too: what
    /// is worth a warning is one that sent something and got nothing at all.
    fn unanswered(&self) -> Option<Level> {
        let Traffic { upload, download } = self.traffic();
        match &self.end {
            Ok(closed) if closed.is_unanswered && upload > 0 && download == 0 => Some(Warn),
            Ok(closed) if closed.is_unanswered => Some(Debug),
            _ => None,
        }
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
