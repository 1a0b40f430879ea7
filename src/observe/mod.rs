//! What ptunnel reports of itself: logs, counters, the status server and `--test`.
//!
//! Holds no decision about a tunnel. The engine and the listeners report here; nothing here calls
//! them.

pub mod access_log;
pub mod diagnose;
pub mod logging;
pub mod stats;
pub(crate) mod status;
