//! The wrong passwords of each client address, and the limit of them.

use std::collections::HashMap;
use std::mem;
use std::time::{Duration, Instant};

use ptunnel_proto::values::ClientNetwork;

/// Number of wrong passwords within `PERIOD` after which an address is refused for the rest of it.
pub(super) const MOST: u32 = 10;
const PERIOD: Duration = Duration::from_secs(60);

/// Maximum number of addresses in each of the two maps.
const ADDRESSES: usize = 16 * 1024;

type Counts = HashMap<ClientNetwork, (u32, Instant)>;

/// The wrong guesses of each address.
///
/// With more than `ADDRESSES` addresses, those whose last guess is the oldest are forgotten: the memory
/// has a bound, and each address has the limit however many others guess. A client with so many
/// addresses has more guesses than it can make anyway.
#[derive(Default)]
pub(super) struct FailedLogins {
    /// The addresses that guessed last.
    young: Counts,
    /// Those before them, until `young` is full.
    old: Counts,
}

impl FailedLogins {
    /// Returns the number of wrong guesses of a client's address that still count.
    pub(super) fn of(&self, client: ClientNetwork, now: Instant) -> u32 {
        let count = self.young.get(&client).or_else(|| self.old.get(&client));
        match count {
            Some((count, since)) if is_recent(*since, now) => *count,
            _ => 0,
        }
    }

    /// Counts a wrong guess. Returns a line for the log when it is the last one of its address.
    pub(super) fn note(&mut self, client: ClientNetwork, now: Instant) -> Option<String> {
        if self.young.len() >= ADDRESSES && !self.young.contains_key(&client) {
            self.old = mem::take(&mut self.young);
        }
        let older = self.old.remove(&client);
        let count = self
            .young
            .entry(client)
            .or_insert(older.unwrap_or((0, now)));
        if !is_recent(count.1, now) {
            *count = (0, now);
        }
        count.0 += 1;
        if count.0 != MOST {
            return None;
        }
        let left = PERIOD.checked_sub(now.saturating_duration_since(count.1));
        Some(format!(
            "{}: {} wrong passwords within a minute; refusing further ones for {} seconds",
            client,
            MOST,
            left.unwrap_or_default().as_secs().max(1)
        ))
    }
}

fn is_recent(since: Instant, now: Instant) -> bool {
    now.saturating_duration_since(since) < PERIOD
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(number: usize) -> ClientNetwork {
        Some((number as u32).to_be_bytes().into()).into()
    }

    #[test]
    fn the_limit_holds_for_a_minute_and_is_reported_once() {
        let (mut guesses, start) = (FailedLogins::default(), Instant::now());
        let joe: ClientNetwork = Some([192, 0, 2, 1].into()).into();
        for second in 1..MOST {
            let now = start + Duration::from_secs(second.into());
            assert_eq!(guesses.note(joe, now), None);
            assert_eq!(guesses.of(joe, now), second);
        }
        let now = start + Duration::from_secs(20);
        let line = guesses.note(joe, now).expect("a line");
        let expected =
            "192.0.2.1: 10 wrong passwords within a minute; refusing further ones for 41";
        assert!(line.starts_with(expected), "{}", line);
        assert_eq!(guesses.note(joe, now), None);
        assert_eq!(guesses.of(joe, now), MOST + 1);
        assert_eq!(guesses.of(None.into(), now), 0);
        let later = start + Duration::from_secs(61);
        assert_eq!(guesses.of(joe, later), 0);
        assert_eq!(guesses.note(joe, later), None);
        assert_eq!(guesses.of(joe, later), 1);
    }

    /// Regression: beyond the limit of addresses, guesses weren't counted.
    #[test]
    fn many_addresses_fill_no_memory_and_each_has_the_limit() {
        let (mut guesses, now) = (FailedLogins::default(), Instant::now());
        let first = number(0);
        (0..MOST).for_each(|_| drop(guesses.note(first, now)));
        (1..ADDRESSES).for_each(|other| drop(guesses.note(number(other), now)));
        assert_eq!(guesses.of(first, now), MOST);
        for other in ADDRESSES..3 * ADDRESSES {
            let lines = (0..MOST).filter_map(|_| guesses.note(number(other), now));
            assert_eq!(lines.count(), 1);
            assert_eq!(guesses.of(number(other), now), MOST);
            assert!(guesses.young.len() + guesses.old.len() <= 2 * ADDRESSES);
        }
        assert_eq!(guesses.of(number(3 * ADDRESSES - 2), now), MOST);
    }

    /// An address that continues keeps its count when others are forgotten.
    #[test]
    fn a_count_outlives_those_that_are_forgotten() {
        let (mut guesses, now) = (FailedLogins::default(), Instant::now());
        let joe = number(0);
        for round in 1..=4 {
            guesses.note(joe, now);
            (0..ADDRESSES)
                .for_each(|other| drop(guesses.note(number(round * ADDRESSES + other), now)));
            assert_eq!(guesses.of(joe, now), round as u32);
        }
    }
}
