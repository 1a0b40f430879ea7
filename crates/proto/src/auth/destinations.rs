//! The destinations that a proxy granted to these credentials, and those that it refused to them:
//! squid and other proxies refuse a destination with the status of a wrong password, 407.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::values::HostPort;

/// Number of granted destinations that are kept, the best.
const GRANTED: usize = 16;

/// Number of refused destinations that are kept, the newest.
const REFUSED: usize = 64;

/// Time in which no credentials are sent for a refused destination.
const REFUSED_FOR: Duration = Duration::from_secs(30);

/// Time in which a password hardly expires.
const PROVED_FOR: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(super) struct Destinations {
    /// The best first, and of equal ones the newest.
    granted: Vec<(HostPort, Evidence)>,
    /// The newest first, with the end of its time.
    refused: VecDeque<(HostPort, Instant)>,
    /// The last time that a check proved something.
    proved: Option<Instant>,
}

/// What the grant of a destination shows about the credentials, the most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Evidence {
    /// The proxy required them, and accepted them.
    Proof,
    /// The proxy may not have looked at them: they were sent ahead.
    Hint,
    /// The proxy has refused it since, or didn't reply.
    Doubt,
}

impl Destinations {
    /// Notes what the proxy's reply for a granted destination shows. A proof remains one.
    pub(super) fn granted(&mut self, target: &HostPort, evidence: Evidence) {
        let known = self.take(target);
        let (target, earlier) = known.unwrap_or_else(|| (target.clone(), Evidence::Doubt));
        let evidence = match (earlier, evidence) {
            (Evidence::Proof, Evidence::Hint) => Evidence::Proof,
            _ => evidence,
        };
        let mut worse = self.granted.iter();
        let place = worse.position(|(_, other)| *other >= evidence);
        let place = place.unwrap_or(self.granted.len());
        self.granted.insert(place, (target, evidence));
        self.granted.truncate(GRANTED);
    }

    fn take(&mut self, target: &HostPort) -> Option<(HostPort, Evidence)> {
        let mut all = self.granted.iter();
        let place = all.position(|(granted, _)| granted == target)?;
        Some(self.granted.remove(place))
    }

    /// Returns the granted destination other than this one with which a refusal is best checked.
    pub(super) fn other_than(&self, target: &HostPort) -> Option<HostPort> {
        let mut all = self.granted.iter().map(|(granted, _)| granted);
        all.find(|granted| *granted != target).cloned()
    }

    /// Returns whether the proxy granted this destination, and hasn't refused it since.
    pub(super) fn is_trusted(&self, target: &HostPort) -> bool {
        let mut all = self.granted.iter();
        all.any(|(granted, evidence)| granted == target && *evidence != Evidence::Doubt)
    }

    /// Returns whether so many destinations were granted without a proof that the next request had
    /// better go without credentials, until the proxy requires them. Else destinations that need none
    /// would take all places.
    pub(super) fn wants_proof(&self) -> bool {
        let best = self.granted.first();
        self.granted.len() == GRANTED && best.map_or(false, |best| best.1 != Evidence::Proof)
    }

    /// Notes that a check with this destination showed that the proxy accepts the credentials.
    pub(super) fn proved(&mut self, target: &HostPort, now: Instant) {
        self.proved = Some(now);
        self.granted(target, Evidence::Proof);
    }

    /// Returns whether a check proved something just now, which holds for the next refusal, too: clients
    /// that ask for one refused destination after the other don't delay others each time.
    pub(super) fn are_proved(&self, now: Instant) -> bool {
        let proved = self.proved.map(|at| now.saturating_duration_since(at));
        proved.map_or(false, |age| age < PROVED_FOR)
    }

    /// Has the other granted destinations come first.
    pub(super) fn doubt(&mut self, target: &HostPort) {
        if self.granted.iter().any(|(granted, _)| granted == target) {
            self.granted(target, Evidence::Doubt);
        }
    }

    /// Notes that nothing can be learned with a granted destination.
    pub(super) fn forget(&mut self, target: &HostPort) {
        self.take(target);
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
        self.proved = None;
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
        all.granted(&named(1), Evidence::Proof);
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
            all.granted(&named(index), Evidence::Proof);
            all.refused(&named(1000 + index), now);
        }
        assert_eq!((all.granted.len(), all.refused.len()), (GRANTED, REFUSED));
        assert!(all.refused_for(&named(1999), now).is_some(), "the newest");
        assert_eq!(all.other_than(&named(0)), Some(named(999)), "the newest");
    }

    #[test]
    fn the_best_and_newest_comes_first() {
        let mut all = Destinations::default();
        let first = |all: &Destinations| all.other_than(&named(9));
        (0..3).for_each(|index| all.granted(&named(index), Evidence::Hint));
        assert_eq!(first(&all), Some(named(2)));
        all.granted(&named(1), Evidence::Hint);
        assert_eq!(first(&all), Some(named(1)), "granted again");
        all.proved(&named(0), Instant::now());
        all.granted(&named(2), Evidence::Hint);
        all.granted(&named(0), Evidence::Hint);
        assert_eq!(first(&all), Some(named(0)));
        all.doubt(&named(0));
        assert!(!all.is_trusted(&named(0)) && all.is_trusted(&named(1)));
        assert_eq!(first(&all), Some(named(2)));
        all.forget(&named(2));
        assert_eq!(all.other_than(&named(1)), Some(named(0)));
        all.doubt(&named(5));
        assert!(!all.is_trusted(&named(5)), "never granted");
    }

    /// Regression: they took all places, and a destination with a proof got none.
    #[test]
    fn destinations_without_a_proof_leave_places_for_one() {
        let mut all = Destinations::default();
        for index in 0..GRANTED {
            assert!(!all.wants_proof());
            all.granted(&named(index), Evidence::Hint);
        }
        assert!(all.wants_proof());
        all.granted(&named(100), Evidence::Proof);
        assert!(!all.wants_proof());
        (0..GRANTED).for_each(|index| all.granted(&named(index), Evidence::Hint));
        assert_eq!(all.other_than(&named(0)), Some(named(100)));
    }
}
