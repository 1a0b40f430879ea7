//! What is remembered of the proxies of a list: which of them failed lately, and which one worked.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::Arc;

/// How long a proxy that couldn't be used isn't asked first, in milliseconds.
const AVOIDED: u64 = 30_000;

/// What is remembered of one proxy, whichever lists it is in.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// A time in milliseconds; 0 unless it failed and hasn't answered since.
    avoided_until: AtomicU64,
    /// How often it could be used.
    answers: AtomicU64,
    /// And how often not.
    failures: AtomicU64,
}

/// How a proxy has done so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProxyHealth {
    /// New tunnels go through it, as far as is known.
    pub(crate) is_in_use: bool,
    /// It failed, and hasn't answered since.
    pub(crate) is_down: bool,
    /// It isn't asked first for now.
    pub(crate) is_avoided: bool,
    /// How often it answered, be it with a no.
    pub(crate) answers: u64,
    /// How often it couldn't be used.
    pub(crate) failures: u64,
}

impl Record {
    fn avoided_until(&self) -> u64 {
        self.avoided_until.load(Ordering::Relaxed)
    }

    /// Once its time is over it is asked by one client alone, whose answer then counts: others shall
    /// not wait for it with him. Whether that is this one; if not, it is avoided again.
    fn may_be_first(&self, now: u64) -> bool {
        match self.avoided_until() {
            0 => true,
            // So are all others.
            time if time > now => true,
            time => self
                .avoided_until
                .compare_exchange(time, now + AVOIDED, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok(),
        }
    }
}

/// For all tunnels and threads together; proxies are called by their places in the list.
#[derive(Debug)]
pub(super) struct Memory {
    records: Vec<Arc<Record>>,
    /// After so many of them the destination itself is tried; those behind are for when that fails.
    direct_after: Option<usize>,
    /// The one that worked when it was its turn.
    in_use: AtomicUsize,
}

impl Memory {
    /// Of a list of the proxies that these records are of.
    pub(super) fn of(records: Vec<Arc<Record>>, direct_after: Option<usize>) -> Memory {
        Memory {
            records,
            direct_after,
            in_use: AtomicUsize::new(0),
        }
    }

    /// Puts them into the order in which one client must ask them: the list's own, but those that
    /// failed lately last, and among these the one that worked before the others. None passes the
    /// destination. `place` is that of a proxy in the list.
    pub(super) fn order<P>(&self, proxies: &mut [P], place: impl Fn(&P) -> usize, now: u64) {
        loop {
            self.sort(proxies, &place, now);
            let first = match self.direct_after {
                Some(0) => None,
                _ => proxies.first(),
            };
            if first.map_or(true, |first| self.records[place(first)].may_be_first(now)) {
                return;
            }
        }
    }

    /// The same for somebody of whom nobody learns what they answered: it takes no one's turn.
    pub(super) fn sort<P>(&self, proxies: &mut [P], place: impl Fn(&P) -> usize, now: u64) {
        let in_use = self.in_use.load(Ordering::Relaxed);
        // Each is read once: others write.
        proxies.sort_by_cached_key(|proxy| {
            let place = place(proxy);
            let is_behind = self.direct_after.map_or(false, |count| place >= count);
            let is_avoided = self.records[place].avoided_until() > now;
            let is_last = is_avoided && place != in_use;
            // As one number: valgrind takes what the optimiser makes of three for uninitialised.
            let rank = u8::from(is_behind) << 2 | u8::from(is_avoided) << 1 | u8::from(is_last);
            (rank, place)
        });
    }

    /// After how many of the proxies the destination itself is tried.
    pub(super) fn direct_after(&self) -> Option<usize> {
        self.direct_after
    }

    /// It couldn't be used: others first, for a while.
    pub(super) fn failed(&self, place: usize, now: u64) {
        let record = &self.records[place];
        record.failures.fetch_add(1, Ordering::Relaxed);
        record.avoided_until.store(now + AVOIDED, Ordering::Relaxed);
    }

    /// It could. Returns whether that is news: another one was in use before.
    pub(super) fn worked(&self, place: usize) -> bool {
        let record = &self.records[place];
        record.answers.fetch_add(1, Ordering::Relaxed);
        record.avoided_until.store(0, Ordering::Relaxed);
        // Otherwise it was asked before one in front of it came back, and answers late.
        let is_its_turn = self.records[..place]
            .iter()
            .all(|record| record.avoided_until() > 0);
        is_its_turn && self.in_use.swap(place, Ordering::Relaxed) != place
    }

    pub(super) fn standing(&self, place: usize, now: u64) -> ProxyHealth {
        let record = &self.records[place];
        let answers = record.answers.load(Ordering::Relaxed);
        let avoided_until = record.avoided_until();
        let (is_down, is_avoided) = (avoided_until > 0, avoided_until > now);
        let worked_last = answers > 0 && self.in_use.load(Ordering::Relaxed) == place;
        ProxyHealth {
            is_in_use: worked_last && !is_down,
            is_down,
            is_avoided,
            answers,
            failures: record.failures.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(count: usize) -> Memory {
        Memory::of((0..count).map(|_| Arc::default()).collect(), None)
    }

    fn order(memory: &Memory, takes_turns: bool, now: u64) -> Vec<usize> {
        let mut places: Vec<usize> = (0..memory.records.len()).collect();
        if takes_turns {
            memory.order(&mut places, |place| *place, now);
        } else {
            memory.sort(&mut places, |place| *place, now);
        }
        places
    }

    #[test]
    fn the_lists_order_holds_until_one_fails() {
        let memory = of(3);
        assert_eq!(order(&memory, true, 0), [0, 1, 2]);
        assert!(!memory.worked(0));
        memory.failed(0, 5);
        assert_eq!(order(&memory, true, 6), [1, 2, 0]);
        memory.failed(1, 7);
        assert_eq!(order(&memory, true, 8), [2, 0, 1]);
    }

    #[test]
    fn one_client_alone_asks_it_again_after_its_time() {
        let memory = of(2);
        memory.failed(0, 5);
        assert!(memory.worked(1), "it takes over");
        assert!(!memory.worked(1), "that is no news any more");
        assert_eq!(order(&memory, true, 5 + AVOIDED - 1), [1, 0]);
        assert_eq!(order(&memory, true, 5 + AVOIDED), [0, 1]);
        assert_eq!(order(&memory, true, 5 + AVOIDED), [1, 0], "another client");
        // Nobody tells how that one fared: he may have left.
        assert_eq!(order(&memory, true, 5 + AVOIDED * 2), [0, 1]);
        assert!(memory.worked(0), "it is back");
        assert_eq!(order(&memory, true, 6 + AVOIDED * 2), [0, 1]);
    }

    /// As a probe does.
    #[test]
    fn who_tells_nobody_of_the_answer_takes_no_ones_turn() {
        let memory = of(2);
        memory.failed(0, 5);
        assert_eq!(order(&memory, false, 5 + AVOIDED), [0, 1]);
        assert_eq!(order(&memory, true, 5 + AVOIDED), [0, 1]);
    }

    #[test]
    fn a_proxy_is_in_use_once_it_has_answered_and_down_from_a_failure_to_its_next_answer() {
        let memory = of(2);
        let standing = |proxy, now| {
            let standing = memory.standing(proxy, now);
            let ProxyHealth {
                answers, failures, ..
            } = standing;
            let state = match (standing.is_in_use, standing.is_down, standing.is_avoided) {
                (true, false, false) => "in use",
                (false, false, false) => "standby",
                (false, true, true) => "avoided",
                (false, true, false) => "down",
                other => panic!("{:?}", other),
            };
            (state, answers, failures)
        };
        assert_eq!(standing(0, 0), ("standby", 0, 0));
        memory.worked(0);
        assert_eq!(standing(0, 1), ("in use", 1, 0));
        memory.failed(0, 5);
        memory.worked(1);
        assert_eq!(standing(0, 6), ("avoided", 1, 1));
        assert_eq!(standing(1, 6), ("in use", 1, 0));
        // Its time is over, but nobody has asked it again.
        assert_eq!(standing(0, 5 + AVOIDED), ("down", 1, 1));
        memory.worked(0);
        assert_eq!(standing(0, 6 + AVOIDED), ("in use", 2, 1));
        assert_eq!(standing(1, 6 + AVOIDED), ("standby", 1, 0));
    }

    #[test]
    fn the_time_of_one_behind_the_first_is_not_used_up() {
        let memory = of(3);
        memory.failed(1, 0);
        assert_eq!(order(&memory, true, AVOIDED), [0, 1, 2]);
        memory.failed(0, AVOIDED);
        assert_eq!(order(&memory, true, AVOIDED), [1, 2, 0]);
    }

    #[test]
    fn where_all_failed_the_one_that_worked_is_asked_first() {
        let memory = of(3);
        memory.failed(0, 1);
        memory.failed(1, 2);
        assert!(memory.worked(2));
        memory.failed(2, 3);
        assert_eq!(order(&memory, true, 4), [2, 0, 1]);
    }

    /// Its tunnel was asked for while the first one was down.
    #[test]
    fn a_late_answer_takes_nothing_over() {
        let memory = of(2);
        memory.failed(0, 1);
        assert!(memory.worked(1));
        assert!(memory.worked(0));
        assert!(!memory.worked(1));
        assert!(!memory.worked(0));
    }

    /// A name that the list tries directly went past its first proxy, which had failed lately.
    #[test]
    fn what_failed_is_asked_again_before_the_destination_itself() {
        let records: Vec<Arc<Record>> = (0..3).map(|_| Arc::default()).collect();
        let memory = Memory::of(records, Some(2));
        memory.failed(0, 1);
        memory.failed(1, 2);
        assert_eq!(order(&memory, true, 3), [0, 1, 2]);
        assert!(memory.worked(1));
        memory.failed(1, 4);
        assert_eq!(order(&memory, true, 5), [1, 0, 2]);
    }

    #[test]
    fn what_one_list_learns_of_a_proxy_another_one_knows() {
        let records: Vec<Arc<Record>> = (0..3).map(|_| Arc::default()).collect();
        let [a, b, c] = [&records[0], &records[1], &records[2]];
        let one = Memory::of(vec![a.clone(), b.clone()], None);
        let other = Memory::of(vec![a.clone(), c.clone()], None);
        one.failed(0, 1);
        assert_eq!(order(&other, true, 2), [1, 0]);
        assert!(other.worked(1), "for this list that is news");
        assert!(one.worked(1), "and for the other one");
    }
}
