//! The clients that `--allow-from` excludes, counted and logged.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use log::warn;
use log::Level::Warn;

use crate::observe::logging::context::LogContext;
use crate::observe::logging::field::{self, FieldValue};
use crate::observe::logging::line_limit::{LineLimit, Note, ADDRESSES, PERIOD};
use ptunnel_proto::sync::lock;

/// The clients that ACLs have excluded. Clones share their state; cheap to clone, and to send to
/// another thread.
#[derive(Clone, Debug, Default)]
pub struct TurnedAway {
    shared: Arc<TurnedAwayState>,
}

#[derive(Debug)]
struct TurnedAwayState {
    count: AtomicU64,
    limit: Mutex<LineLimit>,
}

impl Default for TurnedAwayState {
    fn default() -> TurnedAwayState {
        TurnedAwayState {
            count: AtomicU64::default(),
            limit: Mutex::new(LineLimit::new(1, PERIOD)),
        }
    }
}

impl TurnedAway {
    /// Returns the number of excluded connections.
    pub fn count(&self) -> u64 {
        self.shared.count.load(Ordering::Relaxed)
    }

    /// Counts the client, and logs it once a minute.
    pub(crate) fn add(&self, context: &LogContext, client: SocketAddr) {
        let TurnedAwayState { count, limit } = &*self.shared;
        count.fetch_add(1, Ordering::Relaxed);
        let (mut limit, now) = (lock(limit), Instant::now());
        limit.end(now);
        let note = limit.note(Some(client.ip()).into(), true, now);
        drop(limit);
        match note {
            Note::Line => field::log(
                Warn,
                format_args!(
                    "{}: turned away: the address isn't in --allow-from",
                    context
                ),
                || vec![("cause", FieldValue::Text("turned_away".into()))],
            ),
            Note::Crowd => warn!(
                "turned away {} addresses that aren't in --allow-from; further ones aren't logged \
                 for {}s",
                ADDRESSES,
                PERIOD.as_secs()
            ),
            Note::LeftOut => {}
        }
    }
}
