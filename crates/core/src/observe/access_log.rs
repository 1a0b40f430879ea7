//! The access log: lines about each client's session, from its connection to its end, and about
//! sessions that are still open at a shutdown. Counts the same events in the listener's [`Stats`].

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use log::Level::{Debug, Info, Warn};
use log::{log_enabled, warn, Level};

use crate::config::Destination;
use crate::error::{Cause, Error, Peer, TunnelPath, LEFT};
pub use crate::observe::logging::context::{LogContext, LogScope, Origin};
use crate::observe::logging::field::{self, FieldValue, Fields, Heading};
use crate::observe::session::{end_index, Closed, RelayError, SessionSummary, Side, Traffic, ENDS};
use crate::observe::stats::{ConnGuard, LiveTunnel, Stats, TunnelBytes};
use crate::upstream::ProxyChain;
use ptunnel_proto::text::seconds::Seconds;
use ptunnel_proto::values::{Host, HostPort};

/// A client's session whose tunnel isn't open yet.
#[derive(Debug)]
pub struct ClientSession {
    context: LogContext,
    start: Instant,
    /// Boxed, so that it adds only a pointer to a session without `--status`.
    guard: Option<Box<ConnGuard>>,
}

impl From<Origin> for ClientSession {
    /// Returns the session of a client that no listener accepted. It isn't counted.
    fn from(origin: Origin) -> ClientSession {
        ClientSession::new(LogContext::new(origin, None), None)
    }
}

impl ClientSession {
    /// Starts a session: logs that the client was accepted, and counts it in the listener's stats.
    pub fn new(context: LogContext, stats: Option<&Stats>) -> ClientSession {
        log_line(
            &context,
            Debug,
            format_args!("{}: accepted", context),
            Vec::new,
        );
        ClientSession {
            context,
            start: Instant::now(),
            guard: stats.map(|stats| Box::new(stats.connected())),
        }
    }

    /// Returns the client's origin.
    pub fn origin(&self) -> Origin {
        self.context.client()
    }

    /// Returns the address that the client connects from; `None` if it has none.
    pub fn ip(&self) -> Option<IpAddr> {
        self.origin().ip()
    }

    /// Returns the client as the peer of a TLS connection.
    pub fn peer(&self) -> Peer {
        Peer::Client(match self.origin() {
            Origin::Address(address) => HostPort {
                host: Host::Ip(address.ip()),
                port: address.port(),
            },
            origin => HostPort {
                host: Host::Name(origin.to_string()),
                port: 0,
            },
        })
    }

    /// Returns the session of a client that has authenticated as `user`, if it had to.
    pub fn of(mut self, user: Option<Arc<str>>) -> ClientSession {
        self.context = self.context.of(user);
        self
    }

    /// Returns the log context of the connection. All polling for this client must run in the
    /// context's scope.
    pub fn context(&self) -> &LogContext {
        &self.context
    }

    /// Logs and counts that the client's tunnel is open.
    pub fn opened(mut self, destination: impl Into<Destination>, via: ProxyChain) -> SessionLog {
        let destination = destination.into();
        let context = &self.context;
        log_line(
            context,
            Debug,
            format_args!("{} to {}: open {}", context, destination, via),
            || via.path_to(&destination).fields(),
        );
        if let Some(guard) = &mut self.guard {
            let tunnel = LiveTunnel::new(context.client(), destination.clone(), via.clone());
            let tunnel = tunnel.of(context.user().cloned());
            guard.opened(self.start.elapsed(), tunnel);
        }
        SessionLog {
            session: self,
            destination,
            via,
        }
    }

    /// Logs that the client received the tunnel's socket, so that no relay follows.
    pub fn handed_over(&self, destination: &Destination, via: &ProxyChain) {
        self.note(destination, via, "handed over");
    }

    /// Logs why the client receives one end of a socket pair instead, which ptunnel relays.
    pub fn keeps(&self, destination: &Destination, via: &ProxyChain, why: &str) {
        let text = format!("relaying in the background, because {}", why);
        self.note(destination, via, &text);
    }

    fn note(&self, destination: &Destination, via: &ProxyChain, text: &str) {
        let context = &self.context;
        log_line(
            context,
            Info,
            format_args!("{} to {} {}: {}", context, destination, via, text),
            || via.path_to(destination).fields(),
        );
    }

    /// Logs and counts that the client's connection failed before its tunnel was open.
    pub fn left(self, destination: &impl fmt::Display, error: io::Error) -> SessionSummary {
        if let Some(guard) = &self.guard {
            guard.stats.left();
        }
        let summary = SessionSummary {
            end: Err(RelayError::failed(Traffic::default(), Side::Client, error)),
            lasted: self.start.elapsed(),
        };
        let context = &self.context;
        log_line(
            context,
            Info,
            format_args!("{} to {}: {}", context, destination, summary),
            || fields(&summary, TunnelPath::to(destination), LEFT),
        );
        summary
    }
}

/// A session with an open tunnel, which is logged when it ends.
#[derive(Debug)]
pub struct SessionLog {
    session: ClientSession,
    destination: Destination,
    via: ProxyChain,
}

impl SessionLog {
    /// Returns the byte recorder for the session's relay; `None` without `--status`. Only one relay
    /// may use it.
    pub fn byte_recorder(&self) -> Option<TunnelBytes> {
        self.session.guard.as_ref()?.byte_recorder()
    }

    /// Logs and counts how the session's relay ended.
    pub fn log(self, end: Result<Closed, RelayError>) -> SessionSummary {
        let ClientSession {
            context,
            start,
            guard,
        } = self.session;
        if let Some(guard) = &guard {
            guard.ended(&end);
        }
        let summary = SessionSummary {
            end,
            lasted: start.elapsed(),
        };
        let (destination, via) = (&self.destination, &self.via);
        log_line(
            &context,
            Info,
            format_args!("{} to {} {}: {}", context, destination, via, summary),
            || {
                fields(
                    &summary,
                    via.path_to(destination),
                    Cause::RelayError.label(),
                )
            },
        );
        if let Some(level) = unanswered_level(&summary) {
            log_line(
                &context,
                level,
                format_args!("{} to {} {}: {}", context, destination, via, UNANSWERED),
                || via.path_to(destination).fields(),
            );
        }
        summary
    }
}

/// A reason why `--fdpass` hands over one end of a socket pair instead of the socket.
pub const TLS_ON_PATH: &str = "TLS is on the path";

/// Another such reason.
pub const EARLY_DATA: &str = "data came together with the proxy's reply";

/// Explains a missing reply: most proxies close both directions at a half-close.
const UNANSWERED: &str = "the upstream closed the connection when the client's end was passed on, \
     without sending another byte; if a reply is missing, the upstream closes both directions at a \
     half-close: use --half-close-delay with more seconds, or never";

/// Logs a line about a connection. Costs one comparison when the level is off.
fn log_line(
    context: &LogContext,
    level: Level,
    text: fmt::Arguments<'_>,
    fields: impl FnOnce() -> Fields,
) {
    if log_enabled!(level) {
        context.scope(|| field::log(level, text, fields));
    }
}

/// Logs and counts why a client got no tunnel. A client that left is logged at `Info`, since load
/// balancers connect and leave every few seconds to check that the listener is up; and so is one that
/// continues what was logged before. Of the lines about denied clients, the program's logger leaves
/// some out.
pub fn unserved(context: &LogContext, stats: Option<&Stats>, error: &Error) {
    let is_departure = error.is_departure();
    let level = match is_departure || error.is_throttled() {
        true => Info,
        false => Warn,
    };
    let heading = Heading(Some(context), error.path());
    let fields = || error.fields();
    match error.cause() {
        Cause::Rejection => context.scope(|| {
            field::log_denial(level, format_args!("{}{}", heading, error), fields);
        }),
        _ => log_line(context, level, format_args!("{}{}", heading, error), fields),
    }
    match stats {
        Some(stats) if is_departure => stats.left(),
        Some(stats) => stats.failed(error),
        None => {}
    }
}

/// Logs, after a signal to stop, how many connections are open and how long they have to end. Uses
/// `Warn`, so that Ctrl-C always has a visible effect.
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

/// Logs how many connections are cut because the drain time is over.
pub fn cut_after(open: usize, limit: Duration) {
    warn!(
        "cutting: {} still open after {}",
        Connections(open),
        Seconds(limit)
    );
}

/// Logs how many connections are cut by a second signal.
pub fn cut_by_signal(open: usize) {
    warn!(
        "cutting: {} still open at a second signal",
        Connections(open)
    );
}

/// Displays a number of connections with its verb.
struct Connections(usize);

impl fmt::Display for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => f.write_str("1 connection is"),
            count => write!(f, "{} connections are", count),
        }
    }
}

/// Returns the fields of a session's line. `cause` is used only for a session that failed.
fn fields(summary: &SessionSummary, path: TunnelPath, cause: &str) -> Fields {
    let Traffic { upload, download } = summary.traffic();
    let mut fields = path.fields();
    fields.push(("upload", FieldValue::Number(upload)));
    fields.push(("download", FieldValue::Number(download)));
    fields.push(("seconds", FieldValue::Duration(summary.lasted)));
    fields.push((
        "end",
        FieldValue::Text(ENDS[end_index(&summary.end)].into()),
    ));
    if summary.end.is_err() {
        fields.push(("cause", FieldValue::Text(cause.into())));
    }
    fields
}

/// Returns the level at which to report that the upstream answered the client's half-close with its
/// own, without a byte in between; `None` when it didn't. Sessions whose client has received its
/// reply end this way too. Only a client that sent something and received nothing gets a warning.
fn unanswered_level(summary: &SessionSummary) -> Option<Level> {
    let Traffic { upload, download } = summary.traffic();
    match &summary.end {
        Ok(closed) if closed.is_unanswered && upload > 0 && download == 0 => Some(Warn),
        Ok(closed) if closed.is_unanswered => Some(Debug),
        _ => None,
    }
}
