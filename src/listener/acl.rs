//! Who may connect: `--allow-from`, and what the log says of those who may not.
//!
//! The rule is a part of a listener's [settings](crate::listener::settings::ListenerSettings), so that it changes with them. Who
//! was turned away is known for all listeners and threads together, and stays known when the rule
//! changes: somebody who knocks without end fills no log.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use log::warn;
use log::Level::Warn;

use crate::config::{unmap_ipv4, Cidr};
use crate::observe::logging::context::{LogContext, Origin};
use crate::observe::logging::field::{self, FieldValue};

/// How long nothing more is said of an address.
const QUIET: Duration = Duration::from_secs(60);

/// Addresses that are told of in that time, and remembered for it.
const MOST: usize = 256;

/// Whose connections are taken; the default takes everybody's.
#[derive(Clone, Debug, Default)]
pub struct IpAcl {
    blocks: Vec<Cidr>,
    others: TurnedAway,
}

/// Those whose connections were not taken. Cheap to clone, and to send to another thread: they are
/// the same then.
#[derive(Clone, Debug, Default)]
pub struct TurnedAway {
    shared: Arc<TurnedAwayState>,
}

#[derive(Debug, Default)]
struct TurnedAwayState {
    count: AtomicU64,
    told: Mutex<Told>,
}

impl IpAcl {
    /// For those in one of `blocks`, or for everybody, if there is none; who isn't admitted is one
    /// of these `others`.
    pub fn new(blocks: Vec<Cidr>, others: &TurnedAway) -> IpAcl {
        let others = others.clone();
        IpAcl { blocks, others }
    }

    /// Whether this client is served. One that isn't stands in the log, once a minute.
    /// Whoever has no address was let in by other rules.
    pub fn admits(&self, client: &LogContext) -> bool {
        let address = match client.client() {
            Origin::Address(address) => address,
            Origin::Unix | Origin::Stdio => return true,
        };
        let mut blocks = self.blocks.iter();
        let is_admitted = self.blocks.is_empty() || blocks.any(|block| block.covers(address.ip()));
        if !is_admitted {
            client.scope(|| self.others.add(client, address));
        }
        is_admitted
    }
}

impl TurnedAway {
    /// How often that was.
    pub fn count(&self) -> u64 {
        self.shared.count.load(Ordering::Relaxed)
    }

    fn add(&self, context: &LogContext, client: SocketAddr) {
        let TurnedAwayState { count, told } = &*self.shared;
        count.fetch_add(1, Ordering::Relaxed);
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        let note = told.note(unmap_ipv4(client.ip()), Instant::now());
        drop(told);
        match note {
            Note::New => field::log(
                Warn,
                format_args!(
                    "{}: turned away: its address isn't in --allow-from",
                    context
                ),
                || vec![("cause", FieldValue::Text("turned_away".into()))],
            ),
            Note::Crowd => warn!(
                "turned away {} addresses that aren't in --allow-from; others come and aren't told \
                 of for {}s",
                MOST,
                QUIET.as_secs()
            ),
            Note::Known => {}
        }
    }
}

/// What is worth saying of somebody who was turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Note {
    /// Who it is.
    New,
    /// Nothing: it was said.
    Known,
    /// That there are too many to name.
    Crowd,
}

/// Who was told of, and when.
#[derive(Debug, Default)]
struct Told {
    addresses: HashMap<IpAddr, Instant>,
    crowd: Option<Instant>,
}

impl Told {
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
    use crate::config::CidrList;

    fn ip(number: usize) -> IpAddr {
        [192, 0, (number >> 8) as u8, number as u8].into()
    }

    fn client(address: &str) -> LogContext {
        LogContext::new(Origin::Address(address.parse().unwrap()), None)
    }

    #[test]
    fn everybody_comes_in_where_nobody_is_named() {
        assert!(IpAcl::default().admits(&client("203.0.113.1:5")));
    }

    #[test]
    fn others_than_those_named_do_not() {
        let CidrList(blocks) = "10.0.0.0/8,::1".parse().unwrap();
        let others = TurnedAway::default();
        let access = IpAcl::new(blocks, &others);
        let admits = |address: &str| access.admits(&client(address));
        assert!(admits("10.0.0.1:5") && admits("[::ffff:10.0.0.1]:5") && admits("[::1]:5"));
        assert!(access.admits(&LogContext::new(Origin::Unix, None)));
        assert_eq!(others.count(), 0);
        assert!(!admits("11.0.0.1:5") && !admits("[::ffff:11.0.0.1]:5") && !admits("[::2]:5"));
        assert_eq!(others.count(), 3);
    }

    #[test]
    fn an_address_is_told_of_once_in_a_while() {
        let (mut told, start) = (Told::default(), Instant::now());
        assert_eq!(told.note(ip(1), start), Note::New);
        assert_eq!(told.note(ip(1), start + QUIET / 2), Note::Known);
        assert_eq!(told.note(ip(2), start + QUIET / 2), Note::New);
        assert_eq!(told.note(ip(1), start + QUIET), Note::New);
    }

    #[test]
    fn a_crowd_fills_neither_the_log_nor_the_memory() {
        let (mut told, start) = (Told::default(), Instant::now());
        for number in 0..MOST {
            assert_eq!(told.note(ip(number), start), Note::New);
        }
        assert_eq!(told.note(ip(MOST), start), Note::Crowd);
        for number in MOST..2 * MOST {
            assert_eq!(told.note(ip(number), start), Note::Known);
        }
        assert_eq!(told.addresses.len(), MOST);
        assert_eq!(told.note(ip(MOST), start + QUIET), Note::New);
        assert_eq!(told.addresses.len(), 1);
    }
}
