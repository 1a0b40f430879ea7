//! When a password may be sent to a proxy: by one tunnel first, and by which after it was refused.

use std::fmt;
use std::mem;
use std::time::{Duration, Instant};

/// The pause after a password that was never accepted is refused. Each further refusal doubles it:
/// a directory counts wrong passwords until there was none for a while, mostly half an hour, and
/// locks the account at the fifth or tenth.
const SHORTEST: Duration = Duration::from_secs(5 * 60);

/// The first pause after a password that was accepted before is refused: the directory may have
/// failed rather than the password. The next pause is the shortest of the others.
const AFTER_SUCCESS: Duration = Duration::from_secs(30);

const LONGEST: Duration = Duration::from_secs(60 * 60);

/// Keeps a wrong password from being sent for every client that comes.
#[derive(Debug, Default)]
pub(super) struct Lockout {
    first: First,
    was_accepted: bool,
    pause: Option<Pause>,
}

/// The first time that the password is sent.
enum First {
    Ahead,
    /// It was sent; these wait for the proxy's verdict.
    UnderWay(Vec<Tell>),
    Over,
}

/// Has a tunnel that waits ask again.
pub(super) type Tell = Box<dyn FnOnce() + Send>;

impl Default for First {
    fn default() -> First {
        First::Ahead
    }
}

impl fmt::Debug for First {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            First::Ahead => f.write_str("Ahead"),
            First::UnderWay(waiting) => write!(f, "UnderWay({})", waiting.len()),
            First::Over => f.write_str("Over"),
        }
    }
}

#[derive(Debug)]
struct Pause {
    until: Instant,
    length: Duration,
    /// One tunnel has sent the password since, and has no verdict yet.
    is_retried: bool,
}

/// Whether the password may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Permission {
    /// The proxy hasn't refused it.
    Granted,
    /// It hasn't been sent yet: this caller is the first.
    First,
    /// It did, and the pause is over: this caller alone tries it again.
    Once,
    /// It did, and the pause lasts so much longer.
    Withheld(Duration),
}

impl Lockout {
    /// Asks on behalf of one tunnel.
    pub(super) fn permission(&mut self, now: Instant) -> Permission {
        let pause = match &mut self.pause {
            None if matches!(self.first, First::Ahead) => {
                self.first = First::UnderWay(Vec::new());
                return Permission::First;
            }
            None => return Permission::Granted,
            Some(pause) => pause,
        };
        if now < pause.until {
            return Permission::Withheld(pause.until - now);
        }
        // Until that tunnel has its answer, and if it never gets one.
        pause.until = now + pause.length;
        pause.is_retried = true;
        Permission::Once
    }

    /// The proxy refused the password. Tunnels that had sent it at the same time prolong nothing.
    /// Returns who waits for that.
    pub(super) fn refused(&mut self, now: Instant) -> Vec<Tell> {
        let length = match &self.pause {
            None if self.was_accepted => Some(AFTER_SUCCESS),
            None => Some(SHORTEST),
            Some(pause) if pause.is_retried => Some((pause.length * 2).max(SHORTEST)),
            Some(_) => None,
        };
        if let Some(length) = length {
            let length = length.min(LONGEST);
            self.pause = Some(Pause {
                until: now + length,
                length,
                is_retried: false,
            });
        }
        self.end_first(First::Over)
    }

    /// The proxy took it. Returns who waits for that.
    pub(super) fn accepted(&mut self) -> Vec<Tell> {
        self.pause = None;
        self.was_accepted = true;
        self.end_first(First::Over)
    }

    /// The proxy went on without it. Returns who waits for a verdict.
    pub(super) fn unwanted(&mut self) -> Vec<Tell> {
        self.end_first(First::Over)
    }

    /// The tunnel that was the first has ended without a verdict. Returns who waits for one.
    pub(super) fn given_up(&mut self) -> Vec<Tell> {
        match self.first {
            First::UnderWay(_) => self.end_first(First::Ahead),
            First::Ahead | First::Over => Vec::new(),
        }
    }

    /// Whether the first verdict is there, or nobody has asked for it; if not, has `tell` called
    /// once that has changed.
    pub(super) fn is_clear(&mut self, tell: impl FnOnce() -> Tell) -> bool {
        match &mut self.first {
            First::UnderWay(waiting) => {
                waiting.push(tell());
                false
            }
            First::Ahead | First::Over => true,
        }
    }

    fn end_first(&mut self, next: First) -> Vec<Tell> {
        match mem::replace(&mut self.first, next) {
            First::UnderWay(waiting) => waiting,
            First::Ahead | First::Over => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::Arc;

    use super::*;

    #[test]
    fn one_tunnel_alone_tries_it_again_after_each_pause() {
        let mut restraint = Lockout::default();
        let mut now = Instant::now();
        assert_eq!(restraint.permission(now), Permission::First);
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
    }

    /// A directory that fails once stopped every tunnel for five minutes.
    #[test]
    fn a_password_that_was_accepted_before_is_tried_again_soon_and_then_as_rarely() {
        let mut restraint = Lockout::default();
        let mut now = Instant::now();
        restraint.accepted();
        for seconds in &[30, 300, 600] {
            restraint.refused(now);
            let pause = Duration::from_secs(*seconds);
            assert_eq!(restraint.permission(now), Permission::Withheld(pause));
            now += pause;
            assert_eq!(restraint.permission(now), Permission::Once);
        }
    }

    /// Each try without a verdict doubled the pause.
    #[test]
    fn a_try_without_a_verdict_prolongs_nothing() {
        let mut restraint = Lockout::default();
        let mut now = Instant::now();
        restraint.refused(now);
        for _ in 0..3 {
            now += SHORTEST;
            assert_eq!(restraint.permission(now), Permission::Once);
            restraint.given_up();
            assert_eq!(restraint.permission(now), Permission::Withheld(SHORTEST));
        }
    }

    #[test]
    fn others_wait_for_the_first_verdict() {
        let told = Arc::new(AtomicUsize::new(0));
        let tell = || -> Tell {
            let told = told.clone();
            Box::new(move || {
                told.fetch_add(1, Ordering::Relaxed);
            })
        };
        let tell_all = |all: Vec<Tell>| all.into_iter().for_each(|tell| tell());
        let now = Instant::now();
        let mut restraint = Lockout::default();
        assert!(restraint.is_clear(tell), "nobody has sent it");
        assert_eq!(restraint.permission(now), Permission::First);
        assert!(!restraint.is_clear(tell) && !restraint.is_clear(tell));
        tell_all(restraint.given_up());
        assert_eq!(told.load(Ordering::Relaxed), 2);
        assert!(restraint.is_clear(tell));
        assert_eq!(restraint.permission(now), Permission::First);
        assert!(!restraint.is_clear(tell));
        tell_all(restraint.refused(now));
        assert_eq!(told.load(Ordering::Relaxed), 3);
        assert!(restraint.is_clear(tell));
        assert!(matches!(restraint.permission(now), Permission::Withheld(_)));
        tell_all(restraint.given_up());
        tell_all(restraint.accepted());
        assert!(restraint.is_clear(tell));
        assert_eq!(restraint.permission(now), Permission::Granted);
    }
}
