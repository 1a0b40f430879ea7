//! When a password can be sent to a proxy: by one tunnel first, and by one again some time after a
//! refusal. A changed password that a command prints can be sent once before that time. Directories
//! lock an account after a few wrong passwords.
//!
//! Some proxies refuse a destination as they refuse a password, with 407. So a refusal is checked
//! with a destination that the proxy granted before: [`Blame::Unclear`]. Without one, a tunnel to
//! another destination decides. Either sends the password once more, which counts as a refusal.

use std::time::{Duration, Instant};

use super::destinations::Destinations;
use crate::config::HostPort;
use crate::text::debug::debug_by_name;

/// The pause after the refusal of a password that the proxy never accepted. Each further refusal
/// doubles it: a directory counts wrong passwords until none has arrived for a while, usually half
/// an hour, and locks the account at the fifth or tenth.
const SHORTEST: Duration = Duration::from_secs(5 * 60);

/// The first pause after the refusal of a password that the proxy accepted before: the directory may
/// have failed rather than the password. The next pause is [`SHORTEST`].
const AFTER_SUCCESS: Duration = Duration::from_secs(30);

const LONGEST: Duration = Duration::from_secs(60 * 60);

/// Time for which others wait for the reply to a check.
const CHECK: Duration = Duration::from_secs(3);

/// Keeps a wrong password from being sent once for every client.
#[derive(Default)]
pub(super) struct Lockout {
    /// The password was sent for the first time, and the proxy has replied.
    is_first_over: bool,
    /// The tunnels that wait for a reply to the only tunnel that can send the password now, or for
    /// the end of a check.
    waiting: Option<Vec<WakeFn>>,
    was_accepted: bool,
    pause: Option<Pause>,
    /// The pause that a changed password cut short; none has been accepted since.
    cut_short: Option<Duration>,
    destinations: Destinations,
    /// The granted destination with which a tunnel checks a refusal, and since when.
    checked: Option<(HostPort, Instant)>,
}

/// Has a waiting tunnel request its permission again.
pub(super) type WakeFn = Box<dyn FnOnce() + Send>;

debug_by_name!(Lockout);

#[derive(Debug)]
struct Pause {
    begun: Instant,
    until: Instant,
    length: Duration,
    /// The refused destination, if a tunnel to another one can send the password early.
    refused: Option<HostPort>,
    /// One tunnel has sent the password since; the proxy hasn't replied yet.
    retry: Option<Retry>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Retry {
    /// During the pause, for another destination than the refused one.
    Early,
    /// After the pause.
    Due,
}

/// Whether a tunnel may send the password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Permission {
    /// It may: the proxy hasn't refused the password.
    Granted,
    /// It alone may: the password hasn't been sent yet, or is sent again after a refusal.
    Sole,
    /// It may not for so much longer: the proxy refused the password.
    Withheld(Duration),
}

/// The credentials that a proxy refused, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// A ticket, which is never withheld.
    Ticket,
    /// The password, by any tunnel.
    Password,
    /// The password, by a tunnel with the sole permission.
    SolePassword,
}

/// What the refusal of a request with credentials is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::proto) enum Blame {
    /// The credentials.
    Credentials,
    /// The destination: the proxy accepted the credentials for others. For this time, none are sent
    /// for it.
    Destination(Option<Duration>),
    /// A request for this destination, which the proxy granted before, will show it.
    Unclear(HostPort),
}

impl Lockout {
    /// Decides for one tunnel to `target`; `None` if the password is sent before a destination.
    pub(super) fn permission(&mut self, target: Option<&HostPort>, now: Instant) -> Permission {
        match &mut self.pause {
            None if self.is_first_over || self.waiting.is_some() => return Permission::Granted,
            None => {}
            Some(pause) if now >= pause.until => {
                // Until that tunnel has a reply, or in case it never gets one.
                pause.until = now + pause.length;
                pause.retry = Some(Retry::Due);
            }
            Some(pause) => match (&pause.refused, target) {
                (Some(refused), Some(target)) if refused != target && pause.retry.is_none() => {
                    pause.retry = Some(Retry::Early);
                }
                _ => return Permission::Withheld(pause.until - now),
            },
        }
        self.waiting.get_or_insert_with(Vec::new);
        Permission::Sole
    }

    /// Notes that the proxy refused a tunnel's credentials; returns what that means, and the waiting
    /// tunnels. If it is open, others go on meanwhile: the proxy has accepted the credentials.
    /// Refusals of tunnels that had sent the password at the same time don't prolong the pause.
    pub(super) fn refused(
        &mut self,
        target: Option<&HostPort>,
        refused: Refused,
        now: Instant,
    ) -> (Blame, Vec<WakeFn>) {
        let known = target.and_then(|target| self.refused_for(target, now));
        if let (None, Some(_), Some(target)) = (known, &self.checked, target) {
            // Until the check is refused.
            self.destinations.refused(target, now);
        }
        match (known, &self.checked) {
            (_, Some(_)) => return (Blame::Destination(known), Vec::new()),
            (Some(_), None) => return (Blame::Destination(known), self.given_up()),
            (None, None) => {}
        }
        let (can_check, counts) = match (refused, &self.pause) {
            (Refused::Ticket, _) => (true, false),
            (_, None) => (true, true),
            (Refused::Password, Some(_)) => (false, false),
            (Refused::SolePassword, Some(Pause { retry, .. })) => {
                (*retry == Some(Retry::Due), retry.is_some())
            }
        };
        let target = target.filter(|_| can_check);
        if let Some(other) = target.and_then(|target| self.destinations.other_than(target)) {
            self.checked = Some((other.clone(), now));
            if !self.destinations.are_proved(now) {
                self.waiting.get_or_insert_with(Vec::new);
            }
            return (Blame::Unclear(other), Vec::new());
        }
        if !counts {
            return (Blame::Credentials, Vec::new());
        }
        self.prolong(target, now);
        (Blame::Credentials, self.end_first())
    }

    /// Returns for how much longer no credentials are sent for a destination that the proxy refused,
    /// although it accepts them for others.
    pub(super) fn refused_for(&self, target: &HostPort, now: Instant) -> Option<Duration> {
        self.destinations.refused_for(target, now)
    }

    /// Begins a pause, or doubles it; a tunnel to another destination than `refused` can send the
    /// password once before its end.
    fn prolong(&mut self, refused: Option<&HostPort>, now: Instant) {
        let length = match (&self.pause, self.cut_short) {
            (Some(pause), _) => (pause.length * 2).max(SHORTEST),
            (None, Some(length)) => (length * 2).max(SHORTEST),
            (None, None) if self.was_accepted => AFTER_SUCCESS,
            (None, None) => SHORTEST,
        };
        let length = length.min(LONGEST);
        self.pause = Some(Pause {
            begun: now,
            until: now + length,
            length,
            refused: refused.cloned(),
            retry: None,
        });
        self.destinations.drop_refused();
    }

    /// Notes that the proxy refused the credentials in a check, too; returns the waiting tunnels.
    pub(super) fn check_refused(&mut self, refused: Refused, now: Instant) -> Vec<WakeFn> {
        self.checked = None;
        if refused == Refused::Ticket {
            return self.given_up();
        }
        if self.pause.is_some() {
            // The check is the second refusal since then.
            self.prolong(None, now);
        }
        self.prolong(None, now);
        self.end_first()
    }

    /// Notes that the proxy accepted the credentials in a check: it refuses `target` alone. Returns
    /// the waiting tunnels.
    pub(super) fn check_accepted(
        &mut self,
        target: &HostPort,
        refused: Refused,
        now: Instant,
    ) -> Vec<WakeFn> {
        if let Some((other, _)) = self.checked.take() {
            self.destinations.proved(other, now);
        }
        self.destinations.refused(target, now);
        match refused {
            Refused::Ticket => self.given_up(),
            Refused::Password | Refused::SolePassword => self.accepted(None),
        }
    }

    /// Notes that a check shows nothing, because the proxy needs no credentials for its destination
    /// or can't reach it any more. As [`refused`](Lockout::refused), which may choose another one.
    pub(super) fn check_unproven(
        &mut self,
        target: &HostPort,
        refused: Refused,
        now: Instant,
    ) -> (Blame, Vec<WakeFn>) {
        if let Some((other, _)) = self.checked.take() {
            self.forget(&other);
        }
        // Perhaps the proxy never looked at the password.
        self.was_accepted &= self.destinations.has_granted();
        self.refused(Some(target), refused, now)
    }

    /// Notes that a check ended without a reply; returns the waiting tunnels.
    pub(super) fn check_given_up(&mut self) -> Vec<WakeFn> {
        if let Some((other, _)) = self.checked.take() {
            self.destinations.postpone(other);
        }
        self.given_up()
    }

    /// Checks no refusal with this destination any more.
    pub(super) fn forget(&mut self, target: &HostPort) {
        self.destinations.forget(target);
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

    /// Notes that the proxy granted this destination, if any, to a tunnel with credentials.
    pub(super) fn granted(&mut self, target: Option<&HostPort>) {
        if let Some(target) = target {
            self.destinations.granted(target);
        }
    }

    /// Notes that the proxy accepted the password, and granted `target`, if any; returns the waiting
    /// tunnels.
    pub(super) fn accepted(&mut self, target: Option<&HostPort>) -> Vec<WakeFn> {
        self.granted(target);
        self.pause = None;
        self.was_accepted = true;
        self.cut_short = None;
        self.end_first()
    }

    /// Notes that a tunnel with the sole permission doesn't send the password: another one can.
    /// Returns the waiting tunnels.
    pub(super) fn returned(&mut self, now: Instant) -> Vec<WakeFn> {
        if let Some(pause) = &mut self.pause {
            if pause.retry.take() == Some(Retry::Due) {
                pause.until = now;
            }
        }
        self.given_up()
    }

    /// As [`returned`](Lockout::returned), since the proxy doesn't require the password.
    pub(super) fn unneeded(&mut self, now: Instant) -> Vec<WakeFn> {
        self.is_first_over = true;
        self.returned(now)
    }

    /// Notes that the first use is over; returns the waiting tunnels.
    fn end_first(&mut self) -> Vec<WakeFn> {
        self.is_first_over = true;
        self.waiting.take().unwrap_or_default()
    }

    /// Notes that a tunnel with the sole permission ended without a reply; returns the waiting
    /// tunnels.
    pub(super) fn given_up(&mut self) -> Vec<WakeFn> {
        self.waiting.take().unwrap_or_default()
    }

    /// Returns whether no tunnel waits for a reply or a check; otherwise the function that `wake`
    /// makes is called once that has changed.
    pub(super) fn is_clear(&mut self, wake: impl FnOnce() -> WakeFn) -> bool {
        match &mut self.waiting {
            Some(waiting) => {
                waiting.push(wake());
                false
            }
            None => true,
        }
    }

    /// Returns how long a tunnel waits for the replies to others. A proxy refuses a wrong password at
    /// once, or after the two or three seconds of e.g. PAM; a proxy that takes longer is connecting
    /// to the destination. During a pause, a tunnel that doesn't wait gets no password.
    pub(super) fn patience(&self, now: Instant) -> Duration {
        match (&self.pause, &self.checked) {
            (Some(_), _) => Duration::from_secs(10),
            (None, Some((_, since))) => CHECK
                .checked_sub(now.saturating_duration_since(*since))
                .unwrap_or_default(),
            (None, None) => Duration::from_secs(1),
        }
    }
}

#[cfg(test)]
mod tests;
