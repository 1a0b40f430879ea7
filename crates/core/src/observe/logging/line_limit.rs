//! A bound on the log lines about each client address: the first ones of a period are logged, the
//! others counted.

use std::collections::HashMap;
use std::fmt;
use std::time::{Duration, Instant};

use ptunnel_proto::values::ClientNetwork;

/// The period of an address, which starts with its first line.
pub(crate) const PERIOD: Duration = Duration::from_secs(60);

/// Maximum number of addresses that have lines, and are remembered, at a time.
pub(crate) const ADDRESSES: usize = 256;

/// What happens to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// It is logged.
    Line,
    /// It is left out and counted.
    LeftOut,
    /// The same, for the first one that is left out because there are too many addresses.
    Crowd,
}

/// The lines that an address has left out in its period; displays as the start of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeftOut {
    /// `None` for all addresses beyond the limit of them.
    client: Option<ClientNetwork>,
    pub(crate) count: u64,
    pub(crate) period: Duration,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.client {
            Some(client) => client.fmt(f),
            None => f.write_str("other addresses"),
        }
    }
}

/// The lines of each address.
#[derive(Debug)]
pub(crate) struct LineLimit {
    /// Maximum number of lines of an address in its period.
    lines: u64,
    period: Duration,
    /// `None` stands for the addresses for which there was no room.
    tallies: HashMap<Option<ClientNetwork>, Tally>,
}

#[derive(Clone, Copy, Debug)]
struct Tally {
    since: Instant,
    logged: u64,
    left_out: u64,
}

impl LineLimit {
    pub(crate) fn new(lines: u64, period: Duration) -> LineLimit {
        LineLimit {
            lines,
            period,
            tallies: HashMap::new(),
        }
    }

    /// Counts a line, which is left out unless it `is_shown`. The caller [ends](LineLimit::end) the
    /// periods that are over before that.
    pub(crate) fn note(&mut self, client: ClientNetwork, is_shown: bool, now: Instant) -> Note {
        let is_known = self.tallies.contains_key(&Some(client));
        let client = Some(client).filter(|_| is_known || self.tallies.len() < ADDRESSES);
        let tally = self.tallies.entry(client).or_insert(Tally {
            since: now,
            logged: 0,
            left_out: 0,
        });
        if is_shown && client.is_some() && tally.logged < self.lines {
            tally.logged += 1;
            return Note::Line;
        }
        tally.left_out += 1;
        match (client, tally.left_out) {
            (None, 1) => Note::Crowd,
            _ => Note::LeftOut,
        }
    }

    /// Ends the periods that are over, and returns those that have left out lines.
    pub(crate) fn end(&mut self, now: Instant) -> Vec<LeftOut> {
        self.end_after(self.period, now)
    }

    /// Ends all periods.
    pub(crate) fn end_all(&mut self, now: Instant) -> Vec<LeftOut> {
        self.end_after(Duration::from_secs(0), now)
    }

    fn end_after(&mut self, least: Duration, now: Instant) -> Vec<LeftOut> {
        let mut ended = Vec::new();
        self.tallies.retain(|client, tally| {
            let period = now.saturating_duration_since(tally.since);
            if period >= least && tally.left_out > 0 {
                ended.push(LeftOut {
                    client: *client,
                    count: tally.left_out,
                    period,
                });
            }
            period < least
        });
        ended
    }

    /// Returns the time until the end of the first period that has left out lines.
    pub(crate) fn next_end(&self, now: Instant) -> Option<Duration> {
        let tallies = self.tallies.values().filter(|tally| tally.left_out > 0);
        let since = tallies.map(|tally| tally.since).min()?;
        let left = self
            .period
            .checked_sub(now.saturating_duration_since(since));
        Some(left.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(number: usize) -> ClientNetwork {
        Some([192, 0, (number >> 8) as u8, number as u8].into()).into()
    }

    fn shown(left_out: Vec<LeftOut>) -> Vec<String> {
        let show = |it: &LeftOut| format!("{}: {} in {:?}", it, it.count, it.period);
        left_out.iter().map(show).collect()
    }

    #[test]
    fn each_line_of_an_address_is_logged_or_counted() {
        let (mut limit, start) = (LineLimit::new(2, PERIOD), Instant::now());
        let notes: Vec<Note> = (0..5).map(|_| limit.note(client(1), true, start)).collect();
        assert_eq!(notes[..2], [Note::Line, Note::Line]);
        assert_eq!(notes[2..], [Note::LeftOut; 3]);
        assert_eq!(limit.note(client(2), true, start + PERIOD / 2), Note::Line);
        assert_eq!(limit.next_end(start + PERIOD / 2), Some(PERIOD / 2));
        assert_eq!(limit.end(start + PERIOD / 2), []);
        let ended = limit.end(start + PERIOD);
        assert_eq!(shown(ended), ["192.0.0.1: 3 in 60s"]);
        assert_eq!(limit.next_end(start + PERIOD), None);
        assert_eq!(limit.note(client(1), true, start + PERIOD), Note::Line);
        assert_eq!(limit.note(client(2), true, start + PERIOD), Note::Line);
        assert_eq!(limit.note(client(2), true, start + PERIOD), Note::LeftOut);
        let ended = limit.end_all(start + PERIOD);
        assert_eq!(shown(ended), ["192.0.0.2: 1 in 30s"]);
        assert_eq!(limit.end_all(start + PERIOD), []);
    }

    #[test]
    fn a_line_of_a_level_that_is_not_shown_is_counted() {
        let (mut limit, start) = (LineLimit::new(1, PERIOD), Instant::now());
        assert_eq!(limit.note(client(1), false, start), Note::LeftOut);
        assert_eq!(limit.note(client(1), true, start), Note::Line);
        assert_eq!(shown(limit.end(start + PERIOD)), ["192.0.0.1: 1 in 60s"]);
    }

    #[test]
    fn many_addresses_fill_neither_the_log_nor_the_memory() {
        let (mut limit, start) = (LineLimit::new(1, PERIOD), Instant::now());
        for number in 0..ADDRESSES {
            assert_eq!(limit.note(client(number), true, start), Note::Line);
        }
        assert_eq!(limit.note(client(ADDRESSES), true, start), Note::Crowd);
        for number in ADDRESSES..2 * ADDRESSES {
            assert_eq!(limit.note(client(number), true, start), Note::LeftOut);
        }
        assert_eq!(limit.tallies.len(), ADDRESSES + 1);
        assert_eq!(limit.note(client(0), true, start), Note::LeftOut);
        let mut ended = shown(limit.end(start + PERIOD));
        ended.sort();
        assert_eq!(
            ended,
            ["192.0.0.0: 1 in 60s", "other addresses: 257 in 60s"]
        );
        assert!(limit.tallies.is_empty());
        assert_eq!(limit.note(client(ADDRESSES), true, start), Note::Line);
    }
}
