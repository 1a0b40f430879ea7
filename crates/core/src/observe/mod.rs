//! Logs, counters, the status server and `--test`.
//!
//! - [`session`]: plain types for the end of a session. [`access_log`] logs them; [`stats`] counts
//!   them per listener. [`turned_away`] logs and counts the clients that an ACL excludes.
//! - [`limits`] warns before ptunnel reaches one.
//! - [`logging`]: log lines, their fields, and their destinations.
//! - `status`: the HTTP server of `--status` (page, JSON, Prometheus metrics).
//! - [`diagnose`] runs `--test`.
//!
//! This folder must not contain decisions about a session, or futures. `upstream` and the folders
//! above it log through [`logging`]; the program, the listeners and `ptunnel-cli` use the rest. What
//! opens a path is passed to [`diagnose`] and to the health probe of `status` as a `PathOpener`.

pub mod access_log;
pub mod diagnose;
pub mod limits;
pub mod logging;
pub mod session;
pub mod stats;
pub(crate) mod status;
pub mod turned_away;
