//! Logs, counters, the status server and `--test`.
//!
//! - [`session`]: the plain types that say how a session ended. [`access_log`] writes them to the log; [`stats`] counts them, per listener. [`turned_away`] logs and counts the
//!   clients that an ACL excludes.
//! - [`logging`]: log lines, their fields, and where they go.
//! - `status`: the HTTP server of `--status` (page, JSON, Prometheus metrics).
//! - [`diagnose`] runs `--test`.
//!
//! Must not hold a decision about a session, or a future. `upstream` and the folders above it log
//! through [`logging`]; the engine, the listeners and `cli` use
//! the rest. Nothing here names an engine:
//! [`diagnose`] and the health probe of `status` open paths through the `PathOpener` that they get.

pub mod access_log;
pub mod diagnose;
pub mod logging;
pub mod session;
pub mod stats;
pub(crate) mod status;
pub mod turned_away;
