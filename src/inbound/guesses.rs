//! The wrong passwords of each client address, and the limit of them.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use crate::config::unmap_ipv4;

/// Number of wrong passwords within `PERIOD` after which an address is refused for the rest of it.
const MOST: u32 = 10;
const PERIOD: Duration = Duration::from_secs(60);

/// Maximum number of addresses that are counted. Beyond it, only the speed of crypt(3) limits further
/// addresses.
const ADDRESSES: usize = 16 * 1024;

/// The wrong guesses of each address: of IPv6 the network of 64 bits, which one client can have for
/// itself. Clients of Unix sockets count as one address.
#[derive(Default)]
pub(super) struct Guesses {
    counts: HashMap<Option<IpAddr>, (u32, Instant)>,
}

impl Guesses {
    /// Returns whether the client's address is to be refused.
    pub(super) fn are_over(&self, client: Option<IpAddr>, now: Instant) -> bool {
        let count = self.counts.get(&client.map(network));
        count.map_or(false, |(count, since)| {
            *count >= MOST && is_recent(*since, now)
        })
    }

    /// Counts a wrong guess. Returns a line for the log when it is the last one of its address.
    pub(super) fn note(&mut self, client: Option<IpAddr>, now: Instant) -> Option<String> {
        let network = client.map(network);
        if self.counts.len() >= ADDRESSES && !self.counts.contains_key(&network) {
            self.counts.retain(|_, (_, since)| is_recent(*since, now));
            if self.counts.len() >= ADDRESSES {
                return None;
            }
        }
        let (count, since) = self.counts.entry(network).or_insert((0, now));
        if !is_recent(*since, now) {
            *count = 0;
            *since = now;
        }
        *count += 1;
        if *count != MOST {
            return None;
        }
        let whose = match network {
            None => "clients of Unix sockets".to_string(),
            Some(IpAddr::V4(ip)) => ip.to_string(),
            Some(IpAddr::V6(ip)) => format!("{}/64", ip),
        };
        let left = PERIOD.checked_sub(now.saturating_duration_since(*since));
        Some(format!(
            "{}: {} wrong passwords within a minute; refusing further ones for {} seconds",
            whose,
            MOST,
            left.unwrap_or_default().as_secs().max(1)
        ))
    }
}

fn is_recent(since: Instant, now: Instant) -> bool {
    now.saturating_duration_since(since) < PERIOD
}

fn network(client: IpAddr) -> IpAddr {
    match unmap_ipv4(client) {
        IpAddr::V6(ip) => Ipv6Addr::from(u128::from(ip) >> 64 << 64).into(),
        ip => ip,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn the_limit_holds_for_a_minute_and_is_reported_once() {
        let (mut guesses, start) = (Guesses::default(), Instant::now());
        let joe = ip("192.0.2.1");
        for second in 1..MOST {
            let now = start + Duration::from_secs(second.into());
            assert_eq!(guesses.note(joe, now), None);
            assert!(!guesses.are_over(joe, now));
        }
        let now = start + Duration::from_secs(20);
        let line = guesses.note(joe, now).expect("a line");
        let expected =
            "192.0.2.1: 10 wrong passwords within a minute; refusing further ones for 41";
        assert!(line.starts_with(expected), "{}", line);
        assert_eq!(guesses.note(joe, now), None);
        assert!(guesses.are_over(joe, now) && !guesses.are_over(ip("192.0.2.2"), now));
        assert!(guesses.are_over(ip("::ffff:192.0.2.1"), now));
        let later = start + Duration::from_secs(61);
        assert!(!guesses.are_over(joe, later));
        assert_eq!(guesses.note(joe, later), None);
        assert!(!guesses.are_over(joe, later));
    }

    #[test]
    fn an_ipv6_network_is_one_address() {
        let (mut guesses, now) = (Guesses::default(), Instant::now());
        let lines: Vec<String> = (0..MOST)
            .filter_map(|number| guesses.note(ip(&format!("2001:db8::{:x}:1", number)), now))
            .collect();
        assert_eq!(lines.len(), 1);
        assert!(lines[0].starts_with("2001:db8::/64: "), "{}", lines[0]);
        assert!(guesses.are_over(ip("2001:db8::ffff"), now));
        assert!(!guesses.are_over(ip("2001:db8:0:1::1"), now));
        assert!(!guesses.are_over(None, now));
    }

    #[test]
    fn the_number_of_addresses_has_a_limit() {
        let (mut guesses, start) = (Guesses::default(), Instant::now());
        let address = |number: usize| Some((number as u32).to_be_bytes().into());
        (0..ADDRESSES + 10).for_each(|number| drop(guesses.note(address(number), start)));
        assert_eq!(guesses.counts.len(), ADDRESSES);
        guesses.note(address(3 * ADDRESSES), start + PERIOD);
        assert_eq!(guesses.counts.len(), 1);
    }
}
