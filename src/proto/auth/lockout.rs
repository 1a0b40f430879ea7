//! When a password can be sent to a proxy: by one tunnel first, and by one again some time after a
//! refusal. A changed password that a command prints can be sent once before that time. Directories
//! lock an account after a few wrong passwords.

use std::time::{Duration, Instant};

use crate::text::debug::debug_by_name;

/// The pause after the refusal of a password that the proxy never accepted. Each further refusal
/// doubles it: a directory counts wrong passwords until none has arrived for a while, usually half
/// an hour, and locks the account at the fifth or tenth.
const SHORTEST: Duration = Duration::from_secs(5 * 60);

/// The first pause after the refusal of a password that the proxy accepted before: the directory may
/// have failed rather than the password. The next pause is [`SHORTEST`].
const AFTER_SUCCESS: Duration = Duration::from_secs(30);

const LONGEST: Duration = Duration::from_secs(60 * 60);

/// Keeps a wrong password from being sent once for every client.
#[derive(Default)]
pub(super) struct Lockout {
    /// The password was sent for the first time, and the proxy has replied.
    is_first_over: bool,
    /// The tunnels that wait for that reply, while one tunnel is the first to send the password.
    waiting: Option<Vec<WakeFn>>,
    was_accepted: bool,
    pause: Option<Pause>,
    /// The pause that a changed password cut short; none has been accepted since.
    cut_short: Option<Duration>,
}

/// Has a waiting tunnel request its permission again.
pub(super) type WakeFn = Box<dyn FnOnce() + Send>;

debug_by_name!(Lockout);

#[derive(Debug)]
struct Pause {
    begun: Instant,
    until: Instant,
    length: Duration,
    /// One tunnel has sent the password since; the proxy hasn't replied yet.
    is_retried: bool,
}

/// Whether a tunnel may send the password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Permission {
    /// It may: the proxy hasn't refused the password.
    Granted,
    /// It alone may: the password hasn't been sent yet, or a pause after a refusal is over.
    Sole,
    /// It may not for so much longer: the proxy refused the password.
    Withheld(Duration),
}

impl Lockout {
    /// Decides for one tunnel.
    pub(super) fn permission(&mut self, now: Instant) -> Permission {
        let pause = match &mut self.pause {
            None if !self.is_first_over && self.waiting.is_none() => {
                self.waiting = Some(Vec::new());
                return Permission::Sole;
            }
            None => return Permission::Granted,
            Some(pause) => pause,
        };
        if now < pause.until {
            return Permission::Withheld(pause.until - now);
        }
        // Until that tunnel has a reply, or in case it never gets one.
        pause.until = now + pause.length;
        pause.is_retried = true;
        Permission::Sole
    }

    /// Notes that the proxy refused the password; returns the waiting tunnels. Refusals of tunnels
    /// that had sent it at the same time don't prolong the pause.
    pub(super) fn refused(&mut self, now: Instant) -> Vec<WakeFn> {
        let length = match (&self.pause, self.cut_short) {
            (None, Some(length)) => Some((length * 2).max(SHORTEST)),
            (None, None) if self.was_accepted => Some(AFTER_SUCCESS),
            (None, None) => Some(SHORTEST),
            (Some(pause), _) if pause.is_retried => Some((pause.length * 2).max(SHORTEST)),
            (Some(_), _) => None,
        };
        if let Some(length) = length {
            let length = length.min(LONGEST);
            self.pause = Some(Pause {
                begun: now,
                until: now + length,
                length,
                is_retried: false,
            });
        }
        self.end_first()
    }

    /// Returns the time since which a command must have begun to print the password: the last refusal,
    /// or the end of the pause. So it runs once after each refusal and once before each new try.
    pub(super) fn stale_before(&self, now: Instant) -> Option<Instant> {
        let pause = self.pause.as_ref()?;
        Some(if now < pause.until {
            pause.begun
        } else {
            pause.until
        })
    }

    /// Notes that the password has changed: one tunnel is the first to send it. That ends a pause, but
    /// only once until the proxy accepts one: a command could print a wrong one each time.
    pub(super) fn changed(&mut self) {
        if let Some(pause) = &self.pause {
            if self.cut_short.is_some() {
                return;
            }
            self.cut_short = Some(pause.length);
            self.pause = None;
        }
        self.is_first_over = false;
    }

    /// Notes that the proxy accepted the password; returns the waiting tunnels.
    pub(super) fn accepted(&mut self) -> Vec<WakeFn> {
        self.pause = None;
        self.was_accepted = true;
        self.cut_short = None;
        self.end_first()
    }

    /// Notes that the first use has a reply, or wasn't needed; returns the waiting tunnels.
    pub(super) fn end_first(&mut self) -> Vec<WakeFn> {
        self.is_first_over = true;
        self.waiting.take().unwrap_or_default()
    }

    /// Notes that a tunnel with the sole permission ended without a reply; returns the waiting
    /// tunnels.
    pub(super) fn given_up(&mut self) -> Vec<WakeFn> {
        self.waiting.take().unwrap_or_default()
    }

    /// Returns whether no tunnel waits for the first reply; otherwise the function that `wake` makes
    /// is called once that has changed.
    pub(super) fn is_clear(&mut self, wake: impl FnOnce() -> WakeFn) -> bool {
        match &mut self.waiting {
            Some(waiting) => {
                waiting.push(wake());
                false
            }
            None => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_single_tunnel_tries_again_after_each_pause() {
        let mut lockout = Lockout::default();
        let mut now = Instant::now();
        assert_eq!(lockout.permission(now), Permission::Sole);
        assert_eq!(lockout.permission(now), Permission::Granted);
        for minutes in &[5, 10, 20, 40, 60, 60] {
            lockout.refused(now);
            lockout.refused(now);
            let pause = Duration::from_secs(minutes * 60);
            let left = Duration::from_secs(1);
            assert_eq!(lockout.permission(now), Permission::Withheld(pause));
            now += pause;
            let withheld = Permission::Withheld(left);
            assert_eq!(lockout.permission(now - left), withheld);
            assert_eq!(lockout.permission(now), Permission::Sole);
            assert!(matches!(lockout.permission(now), Permission::Withheld(_)));
        }
        lockout.accepted();
        assert_eq!(lockout.permission(now), Permission::Granted);
    }

    /// Regression: a directory that failed once stopped every tunnel for five minutes.
    #[test]
    fn an_accepted_password_is_tried_again_soon_and_then_rarely() {
        let mut lockout = Lockout::default();
        let mut now = Instant::now();
        lockout.accepted();
        for seconds in &[30, 300, 600] {
            lockout.refused(now);
            let pause = Duration::from_secs(*seconds);
            assert_eq!(lockout.permission(now), Permission::Withheld(pause));
            now += pause;
            assert_eq!(lockout.permission(now), Permission::Sole);
        }
    }

    /// Regression: each try without a reply doubled the pause.
    #[test]
    fn a_try_without_a_reply_prolongs_no_pause() {
        let mut lockout = Lockout::default();
        let mut now = Instant::now();
        lockout.refused(now);
        for _ in 0..3 {
            now += SHORTEST;
            assert_eq!(lockout.permission(now), Permission::Sole);
            lockout.given_up();
            assert_eq!(lockout.permission(now), Permission::Withheld(SHORTEST));
        }
    }

    /// A one-time password, or a keyring with a wrong one, must not lock the account.
    #[test]
    fn a_changed_password_is_tried_once_before_the_pause_is_over() {
        let mut lockout = Lockout::default();
        let now = Instant::now();
        lockout.changed();
        assert_eq!(lockout.permission(now), Permission::Sole);
        assert_eq!(lockout.stale_before(now), None);
        lockout.refused(now);
        assert_eq!(lockout.stale_before(now), Some(now));
        let is_withheld =
            |lockout: &mut Lockout| matches!(lockout.permission(now), Permission::Withheld(_));
        assert!(is_withheld(&mut lockout));
        lockout.changed();
        assert_eq!(lockout.permission(now), Permission::Sole);
        assert!(!lockout.is_clear(|| Box::new(|| ())), "others wait");
        lockout.refused(now);
        lockout.changed();
        assert!(is_withheld(&mut lockout), "a second one has to wait");
        let later = now + SHORTEST * 2;
        assert_eq!(lockout.stale_before(later), Some(later));
        assert_eq!(lockout.permission(later), Permission::Sole);
        lockout.accepted();
        lockout.refused(later);
        lockout.changed();
        assert_eq!(lockout.permission(later), Permission::Sole);
    }

    #[test]
    fn others_wait_for_the_first_reply() {
        let woken = Arc::new(AtomicUsize::new(0));
        let wake = || -> WakeFn {
            let woken = woken.clone();
            Box::new(move || {
                woken.fetch_add(1, Ordering::Relaxed);
            })
        };
        let wake_all = |all: Vec<WakeFn>| all.into_iter().for_each(|wake| wake());
        let now = Instant::now();
        let mut lockout = Lockout::default();
        assert!(lockout.is_clear(wake), "no tunnel has sent it");
        assert_eq!(lockout.permission(now), Permission::Sole);
        assert!(!lockout.is_clear(wake) && !lockout.is_clear(wake));
        wake_all(lockout.given_up());
        assert_eq!(woken.load(Ordering::Relaxed), 2);
        assert!(lockout.is_clear(wake));
        assert_eq!(lockout.permission(now), Permission::Sole);
        assert!(!lockout.is_clear(wake));
        wake_all(lockout.refused(now));
        assert_eq!(woken.load(Ordering::Relaxed), 3);
        assert!(lockout.is_clear(wake));
        assert!(matches!(lockout.permission(now), Permission::Withheld(_)));
        wake_all(lockout.given_up());
        wake_all(lockout.accepted());
        assert!(lockout.is_clear(wake));
        assert_eq!(lockout.permission(now), Permission::Granted);
    }
}
