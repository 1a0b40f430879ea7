//! The clients that `--allow-from` excludes, counted and logged.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use log::warn;
use log::Level::Warn;

use crate::config::unmap_ipv4;
use crate::observe::logging::context::LogContext;
use crate::observe::logging::field::{self, FieldValue};
use crate::os::mutex::lock;

/// Time during which an excluded address is logged only once.
const QUIET: Duration = Duration::from_secs(60);

/// Maximum number of addresses that are logged, and remembered, during that time.
const MOST: usize = 256;

/// The clients that ACLs have excluded. Clones share their state; cheap to clone, and to send to
/// another thread.
#[derive(Clone, Debug, Default)]
pub struct TurnedAway {
    shared: Arc<TurnedAwayState>,
}

#[derive(Debug, Default)]
struct TurnedAwayState {
    count: AtomicU64,
    recent: Mutex<RecentlyLogged>,
}

impl TurnedAway {
    /// Returns the number of excluded connections.
    pub fn count(&self) -> u64 {
        self.shared.count.load(Ordering::Relaxed)
    }

    /// Counts the client, and logs it once a minute.
    pub(crate) fn add(&self, context: &LogContext, client: SocketAddr) {
        let TurnedAwayState { count, recent } = &*self.shared;
        count.fetch_add(1, Ordering::Relaxed);
        let note = lock(recent).note(unmap_ipv4(client.ip()), Instant::now());
        match note {
            Note::New => field::log(
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
                MOST,
                QUIET.as_secs()
            ),
            Note::Known => {}
        }
    }
}

/// The log line about an excluded client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Note {
    /// A line with its address.
    New,
    /// No line: its address was logged recently.
    Known,
    /// A line that reports that there are too many addresses to log each of them.
    Crowd,
}

/// The addresses that were logged, and when.
#[derive(Debug, Default)]
struct RecentlyLogged {
    addresses: HashMap<IpAddr, Instant>,
    crowd: Option<Instant>,
}

impl RecentlyLogged {
    fn note(&mut self, ip: IpAddr, now: Instant) -> Note {
        let is_recent = |then: &Instant| now.saturating_duration_since(*then) < QUIET;
        if self.addresses.get(&ip).map_or(false, is_recent) {
            return Note::Known;
        }
        if self.addresses.len() >= MOST {
            self.addresses.retain(|_, then| is_recent(then));
        }
        if self.addresses.len() < MOST {
            self.addresses.insert(ip, now);
            return Note::New;
        }
        if self.crowd.as_ref().map_or(false, is_recent) {
            return Note::Known;
        }
        self.crowd = Some(now);
        Note::Crowd
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(number: usize) -> IpAddr {
        [192, 0, (number >> 8) as u8, number as u8].into()
    }

    #[test]
    fn an_address_is_logged_once_in_a_while() {
        let (mut recent, start) = (RecentlyLogged::default(), Instant::now());
        assert_eq!(recent.note(ip(1), start), Note::New);
        assert_eq!(recent.note(ip(1), start + QUIET / 2), Note::Known);
        assert_eq!(recent.note(ip(2), start + QUIET / 2), Note::New);
        assert_eq!(recent.note(ip(1), start + QUIET), Note::New);
    }

    #[test]
    fn many_addresses_fill_neither_the_log_nor_the_memory() {
        let (mut recent, start) = (RecentlyLogged::default(), Instant::now());
        for number in 0..MOST {
            assert_eq!(recent.note(ip(number), start), Note::New);
        }
        assert_eq!(recent.note(ip(MOST), start), Note::Crowd);
        for number in MOST..2 * MOST {
            assert_eq!(recent.note(ip(number), start), Note::Known);
        }
        assert_eq!(recent.addresses.len(), MOST);
        assert_eq!(recent.note(ip(MOST), start + QUIET), Note::New);
        assert_eq!(recent.addresses.len(), 1);
    }
}
