//! The destinations that a proxy granted to these credentials, and those that it refused to them:
//! squid and other proxies refuse a destination with the status of a wrong password, 407.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::config::HostPort;

/// Number of granted destinations that are kept. The oldest stay: a client of `-D` could otherwise
/// replace them by others, which need no credentials and so prove nothing.
const GRANTED: usize = 16;

/// Number of refused destinations that are kept, the newest.
const REFUSED: usize = 64;

/// Time in which no credentials are sent for a refused destination.
const REFUSED_FOR: Duration = Duration::from_secs(30);

/// Time in which a password hardly expires.
const PROVED_FOR: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(super) struct Destinations {
    /// In the order in which a refusal of another one is checked with them. The proxy may have granted
    /// them without a look at the credentials.
    granted: VecDeque<HostPort>,
    /// The newest first, with the end of its time.
    refused: VecDeque<(HostPort, Instant)>,
    /// The last time that the proxy required the credentials and accepted them.
    proved: Option<Instant>,
}

impl Destinations {
    /// Notes that the proxy granted a destination.
    pub(super) fn granted(&mut self, target: &HostPort) {
        if !self.granted.contains(target) && self.granted.len() < GRANTED {
            self.granted.push_back(target.clone());
        }
    }

    /// Returns a granted destination other than this one.
    pub(super) fn other_than(&self, target: &HostPort) -> Option<HostPort> {
        let mut others = self.granted.iter().filter(|granted| *granted != target);
        others.next().cloned()
    }

    /// Notes that the proxy required the credentials for a granted destination, and accepted them.
    pub(super) fn proved(&mut self, target: HostPort, now: Instant) {
        self.proved = Some(now);
        self.forget(&target);
        self.granted.push_front(target);
        self.granted.truncate(GRANTED);
    }

    /// Returns whether the proxy accepted the credentials just now. Then no tunnel waits for another
    /// check: clients that ask for one refused destination after the other don't delay others.
    pub(super) fn are_proved(&self, now: Instant) -> bool {
        let proved = self.proved.map(|at| now.saturating_duration_since(at));
        proved.map_or(false, |age| age < PROVED_FOR)
    }

    /// Has the other granted destinations come first: nothing was learned with this one yet.
    pub(super) fn postpone(&mut self, target: HostPort) {
        if self.granted.contains(&target) {
            self.forget(&target);
            self.granted.push_back(target);
        }
    }

    /// Notes that nothing can be learned with a granted destination.
    pub(super) fn forget(&mut self, target: &HostPort) {
        self.granted.retain(|granted| granted != target);
    }

    pub(super) fn has_granted(&self) -> bool {
        !self.granted.is_empty()
    }

    /// Notes that the proxy refused a destination, but accepts the credentials.
    pub(super) fn refused(&mut self, target: &HostPort, now: Instant) {
        self.forget(target);
        self.refused.retain(|(refused, _)| refused != target);
        self.refused.truncate(REFUSED - 1);
        self.refused.push_front((target.clone(), now + REFUSED_FOR));
    }

    /// Returns for how much longer no credentials are sent for this destination.
    pub(super) fn refused_for(&self, target: &HostPort, now: Instant) -> Option<Duration> {
        let mut all = self.refused.iter();
        let (_, until) = all.find(|(refused, _)| refused == target)?;
        until
            .checked_duration_since(now)
            .filter(|left| left.as_nanos() > 0)
    }

    /// Drops what was learned while the proxy accepted the credentials.
    pub(super) fn drop_refused(&mut self) {
        self.refused.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(index: usize) -> HostPort {
        format!("d{}:1", index).parse().unwrap()
    }

    #[test]
    fn a_refusal_is_kept_for_its_destination_and_its_time() {
        let (mut all, now) = (Destinations::default(), Instant::now());
        all.granted(&named(1));
        all.refused(&named(1), now);
        assert_eq!(all.other_than(&named(2)), None, "it is granted no more");
        assert_eq!(all.refused_for(&named(1), now), Some(REFUSED_FOR));
        assert_eq!(all.refused_for(&named(2), now), None);
        assert_eq!(all.refused_for(&named(1), now + REFUSED_FOR), None);
    }

    #[test]
    fn both_lists_are_bounded() {
        let (mut all, now) = (Destinations::default(), Instant::now());
        for index in 0..1000 {
            all.granted(&named(index));
            all.refused(&named(1000 + index), now);
        }
        assert_eq!((all.granted.len(), all.refused.len()), (GRANTED, REFUSED));
        assert!(all.refused_for(&named(1999), now).is_some(), "the newest");
        assert_eq!(all.other_than(&named(0)), Some(named(1)), "the oldest");
    }

    #[test]
    fn what_proved_something_comes_first_and_what_did_not_last() {
        let mut all = Destinations::default();
        (0..3).for_each(|index| all.granted(&named(index)));
        all.proved(named(2), Instant::now());
        assert_eq!(all.other_than(&named(9)), Some(named(2)));
        all.postpone(named(2));
        assert_eq!(all.other_than(&named(9)), Some(named(0)));
        all.forget(&named(0));
        assert_eq!(all.other_than(&named(1)), Some(named(2)));
    }
}
