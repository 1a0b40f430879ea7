//! Who may connect: `--allow-from`, and what the log says of those who may not.
//!
//! The rule is one for all listeners and threads, and so is what was told: somebody who knocks
//! without end fills no log. Whoever reloads changes it meanwhile.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use log::warn;

use crate::config::{plain, Block};
use crate::report::Origin;

/// How long nothing more is said of an address.
const QUIET: Duration = Duration::from_secs(60);

/// Addresses that are told of in that time, and remembered for it.
const MOST: usize = 256;

/// Whose connections are taken. Cheap to clone, and to send to another thread; the default takes
/// everybody's.
#[derive(Clone, Debug, Default)]
pub struct Access {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    blocks: RwLock<Vec<Block>>,
    told: Mutex<Told>,
    turned_away: AtomicU64,
}

impl Access {
    /// For those in one of `blocks`; for everybody, if there is none.
    pub fn new(blocks: Vec<Block>) -> Access {
        Access {
            shared: Arc::new(Shared {
                blocks: RwLock::new(blocks),
                ..Shared::default()
            }),
        }
    }

    /// For those in one of `blocks` from now on; for everybody, if there is none.
    pub fn change(&self, blocks: Vec<Block>) {
        let current = self.shared.blocks.write();
        *current.unwrap_or_else(PoisonError::into_inner) = blocks;
    }

    /// Whether this client is served. One that isn't stands in the log, once a minute.
    /// Whoever has no address was let in by other rules.
    pub fn admits(&self, client: Origin) -> bool {
        let Shared {
            blocks,
            told,
            turned_away,
        } = &*self.shared;
        let address = match client {
            Origin::Address(address) => address,
            Origin::Unix | Origin::Stdio => return true,
        };
        let blocks = blocks.read().unwrap_or_else(PoisonError::into_inner);
        if blocks.is_empty() || blocks.iter().any(|block| block.covers(address.ip())) {
            return true;
        }
        turned_away.fetch_add(1, Ordering::Relaxed);
        let mut told = told.lock().unwrap_or_else(|e| e.into_inner());
        let note = told.note(plain(address.ip()), Instant::now());
        drop(told);
        match note {
            Note::New => warn!("{}: turned away: its address isn't in --allow-from", client),
            Note::Crowd => warn!(
                "turned away {} addresses that aren't in --allow-from; others come and aren't told \
                 of for {}s",
                MOST,
                QUIET.as_secs()
            ),
            Note::Known => {}
        }
        false
    }

    /// How often somebody wasn't.
    pub fn turned_away(&self) -> u64 {
        self.shared.turned_away.load(Ordering::Relaxed)
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
    use crate::config::Blocks;

    fn ip(number: usize) -> IpAddr {
        [192, 0, (number >> 8) as u8, number as u8].into()
    }

    #[test]
    fn everybody_comes_in_where_nobody_is_named() {
        let client = Origin::Address("203.0.113.1:5".parse().unwrap());
        assert!(Access::default().admits(client));
    }

    #[test]
    fn others_than_those_named_do_not() {
        let Blocks(blocks) = "10.0.0.0/8,::1".parse().unwrap();
        let access = Access::new(blocks);
        let admits = |client: &str| access.admits(Origin::Address(client.parse().unwrap()));
        assert!(admits("10.0.0.1:5") && admits("[::ffff:10.0.0.1]:5") && admits("[::1]:5"));
        assert!(access.admits(Origin::Unix));
        assert_eq!(access.turned_away(), 0);
        assert!(!admits("11.0.0.1:5") && !admits("[::ffff:11.0.0.1]:5") && !admits("[::2]:5"));
        assert_eq!(access.turned_away(), 3);
    }

    #[test]
    fn who_is_admitted_may_change_for_all_who_ask() {
        let access = Access::default();
        let asking = access.clone();
        let client = Origin::Address("11.0.0.1:5".parse().unwrap());
        let Blocks(blocks) = "10.0.0.0/8".parse().unwrap();
        access.change(blocks);
        assert!(!asking.admits(client));
        access.change(Vec::new());
        assert!(asking.admits(client));
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
