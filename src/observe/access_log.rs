//! How a tunnel went, what the log says of it, and what is counted.

use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use log::Level::{Debug, Info, Warn};
use log::{log_enabled, warn, Level};

use crate::config::Destination;
use crate::error::{Cause, Error, Seconds, LEFT};
pub use crate::observe::logging::context::{LogContext, LogScope, Origin};
use crate::observe::logging::field::{self, Fields, Heading, TunnelPath, Value};
use crate::observe::session::{end_index, Closed, RelayError, SessionSummary, Side, Traffic, ENDS};
use crate::observe::stats::{ConnGuard, LiveTunnel, Stats, TunnelBytes};
use crate::upstream::UpstreamPath;

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
            || fields(&carried, TunnelPath::to(destination), LEFT),
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
            || {
                fields(
                    &carried,
                    via.path_to(destination),
                    Cause::RelayError.label(),
                )
            },
        );
        if let Some(level) = unanswered_level(&carried) {
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

/// Returns the fields of a session's line; `cause` is that of a session that failed.
fn fields(summary: &SessionSummary, path: TunnelPath, cause: &str) -> Fields {
    let Traffic { upload, download } = summary.traffic();
    let mut fields = path.fields();
    fields.push(("upload", Value::Number(upload)));
    fields.push(("download", Value::Number(download)));
    fields.push(("seconds", Value::Duration(summary.lasted)));
    fields.push(("end", Value::Text(ENDS[end_index(&summary.end)].into())));
    if summary.end.is_err() {
        fields.push(("cause", Value::Text(cause.into())));
    }
    fields
}

/// Returns the level at which to report that the upstream answered the client's half-close with its
/// own, without a byte between; `None` when it didn't. Clients that have received their reply end
/// this way too: only one that sent something and received nothing at all is worth a warning.
fn unanswered_level(summary: &SessionSummary) -> Option<Level> {
    let Traffic { upload, download } = summary.traffic();
    match &summary.end {
        Ok(closed) if closed.is_unanswered && upload > 0 && download == 0 => Some(Warn),
        Ok(closed) if closed.is_unanswered => Some(Debug),
        _ => None,
    }
}
