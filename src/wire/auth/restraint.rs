//! When a password that a proxy has refused may be sent to it again.

use std::time::{Duration, Instant};

/// The pause after the first refusal. Each further refusal doubles it: a directory counts wrong
/// passwords until there was none for a while, mostly half an hour, and locks the account at the
/// fifth or tenth.
const SHORTEST: Duration = Duration::from_secs(5 * 60);

const LONGEST: Duration = Duration::from_secs(60 * 60);

/// Keeps a refused password from being sent for every client that comes.
#[derive(Debug, Default)]
pub(super) struct Restraint {
    pause: Option<Pause>,
}

#[derive(Debug)]
struct Pause {
    until: Instant,
    length: Duration,
}

/// Whether the password may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Permission {
    /// The proxy hasn't refused it.
    Granted,
    /// It did, and the pause is over: this caller alone tries it again.
    Once,
    /// It did, and the pause lasts so much longer.
    Withheld(Duration),
}

impl Restraint {
    /// Asks on behalf of one tunnel.
    pub(super) fn permission(&mut self, now: Instant) -> Permission {
        let pause = match &mut self.pause {
            None => return Permission::Granted,
            Some(pause) => pause,
        };
        if now < pause.until {
            return Permission::Withheld(pause.until - now);
        }
        // Until that tunnel has its answer, and if it never gets one.
        pause.length = LONGEST.min(pause.length * 2);
        pause.until = now + pause.length;
        Permission::Once
    }

    /// The proxy refused the password. Tunnels that had sent it at the same time prolong nothing.
    pub(super) fn refused(&mut self, now: Instant) {
        self.pause.get_or_insert(Pause {
            until: now + SHORTEST,
            length: SHORTEST,
        });
    }

    /// The proxy took it.
    pub(super) fn accepted(&mut self) {
        self.pause = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_tunnel_alone_tries_it_again_after_each_pause() {
        let mut restraint = Restraint::default();
        let mut now = Instant::now();
        assert_eq!(restraint.permission(now), Permission::Granted);
        for minutes in &[5, 10, 20, 40, 60, 60] {
            restraint.refused(now);
            restraint.refused(now);
            let pause = Duration::from_secs(minutes * 60);
            let left = Duration::from_secs(1);
            assert_eq!(restraint.permission(now), Permission::Withheld(pause));
            now += pause;
            let withheld = Permission::Withheld(left);
            assert_eq!(restraint.permission(now - left), withheld);
            assert_eq!(restraint.permission(now), Permission::Once);
            assert!(matches!(restraint.permission(now), Permission::Withheld(_)));
        }
        restraint.accepted();
        assert_eq!(restraint.permission(now), Permission::Granted);
        restraint.refused(now);
        let pause = Permission::Withheld(SHORTEST);
        assert_eq!(restraint.permission(now), pause);
    }
}
