//! When a password can be sent to a proxy: by one tunnel first, and by one again some time after a
//! refusal. A changed password that a command prints can be sent once before that time. Directories
//! lock an account after a few wrong passwords.
//!
//! ```text
//!   Unsent ──accepted──▶ Free ◀──accepted── Paused
//!     │                   │                  ▲  │
//!     └──────refused──────┴──────refused─────┘  └─refused: a longer pause
//! ```
//!
//! In each state, a [`Trial`] is the tunnel whose reply decides what the others can do.
//!
//! Some proxies refuse a destination as they refuse a password, with 407. So a refusal is checked
//! with a destination that the proxy granted before: [`Blame::Unclear`]. Without one, a tunnel to
//! another destination decides. Either sends the password once more, which counts as a refusal.

use std::mem;
use std::time::{Duration, Instant};

use super::destinations::{Destinations, Evidence};
use super::outcome::{Blame, Check, Outcome, Permission, Refused, Role};
use crate::debug_by_name;
use crate::values::HostPort;

/// The pause after the refusal of a password that the proxy never accepted. Each further refusal
/// doubles it: a directory counts wrong passwords until none has arrived for a while, usually half
/// an hour, and locks the account at the fifth or tenth.
const SHORTEST: Duration = Duration::from_secs(5 * 60);

/// The first pause after the refusal of a password that the proxy accepted before: the directory may
/// have failed rather than the password. The next pause is [`SHORTEST`].
const AFTER_SUCCESS: Duration = Duration::from_secs(30);

const LONGEST: Duration = Duration::from_secs(60 * 60);

/// Time for which all others wait for the reply to a check, beyond the time that the refusal took:
/// PAM, for example, refuses a wrong password after two or three seconds.
const CHECK: Duration = Duration::from_secs(3);

/// Time for which a tunnel waits that gets no password otherwise; also the longest time that a
/// refusal counts for [`CHECK`].
const LONG: Duration = Duration::from_secs(10);

/// Keeps a wrong password from being sent once for every client.
#[derive(Default)]
pub(super) struct Lockout {
    state: State,
    trial: Option<Trial>,
    /// The tunnels that wait for the reply to the trial.
    waiting: Vec<WakeFn>,
    was_accepted: bool,
    /// The pause that a changed password cut short; none has been accepted since.
    cut_short: Option<Duration>,
    pub(super) destinations: Destinations,
}

/// Has a waiting tunnel request its permission again.
pub(super) type WakeFn = Box<dyn FnOnce() + Send>;

debug_by_name!(Lockout);

enum State {
    /// The proxy hasn't replied to the password yet.
    Unsent,
    /// Every tunnel can send it.
    Free,
    /// The proxy refused it.
    Paused(Pause),
}

impl Default for State {
    fn default() -> State {
        State::Unsent
    }
}

struct Pause {
    begun: Instant,
    until: Instant,
    length: Duration,
    early: Early,
}

/// Which tunnel can send the password before the end of a pause, once.
#[derive(PartialEq, Eq)]
enum Early {
    Nobody,
    /// One to another destination than this.
    OtherThan(HostPort),
    /// One to a granted destination that hasn't been refused since: a check was refused, too.
    Trusted,
}

/// The tunnel whose reply decides whether others can send the password.
enum Trial {
    /// The first of all, or the first after a pause.
    Alone,
    /// The one during a pause.
    Early,
    Check(OpenCheck),
}

struct OpenCheck {
    other: HostPort,
    /// All others wait until then.
    until: Instant,
    /// One of them has sent the password since.
    has_deputy: bool,
}

impl Lockout {
    /// Decides for one tunnel to `target`; `None` if the password is sent before a destination.
    pub(super) fn permission(&mut self, target: Option<&HostPort>, now: Instant) -> Permission {
        let trial = match (&mut self.state, &mut self.trial) {
            (State::Paused(pause), _) if now >= pause.until => {
                // Until that tunnel has a reply, or in case it never gets one.
                pause.until = now + pause.length;
                Trial::Alone
            }
            (State::Paused(pause), None) if pause.allows(target, &self.destinations) => {
                Trial::Early
            }
            (State::Paused(pause), _) => return Permission::Withheld(pause.until - now),
            (_, Some(Trial::Check(check))) => return check.permission(now),
            (State::Unsent, None) => Trial::Alone,
            (State::Unsent, Some(_)) | (State::Free, _) => return Permission::Granted,
        };
        self.trial = Some(trial);
        Permission::Sole
    }

    /// Takes what a tunnel in this role learned, `took` after its begin; returns what a refusal is about.
    pub(super) fn report(
        &mut self,
        role: Role,
        outcome: Outcome<'_>,
        took: Duration,
        now: Instant,
    ) -> Option<Blame> {
        match (role, outcome) {
            (Role::Check(check), _) => return self.end_check(check, outcome, took, now),
            (role, Outcome::Refused(target, refused)) => {
                return self.refused(role == Role::Sole, target, refused, took, now)
            }
            (role, Outcome::Accepted(granted)) => {
                self.granted(granted);
                self.accepted(role == Role::Sole);
            }
            (_, Outcome::AcceptedTicket(granted)) => self.granted(granted),
            (Role::Any, _) => {}
            (Role::Sole, Outcome::Unneeded) => {
                if let State::Unsent = self.state {
                    self.state = State::Free;
                }
                self.give_back(now);
            }
            (Role::Sole, Outcome::Unsent) => self.give_back(now),
            (Role::Sole, Outcome::Unknown) | (Role::Sole, Outcome::NoReply) => self.give_up(),
        }
        None
    }

    /// Refusals of tunnels that had sent the password at the same time don't prolong a pause.
    fn refused(
        &mut self,
        is_sole: bool,
        target: Option<&HostPort>,
        refused: Refused,
        took: Duration,
        now: Instant,
    ) -> Option<Blame> {
        let known = target.and_then(|target| self.destinations.refused_for(target, now));
        if known.is_some() {
            if is_sole {
                self.give_up();
            }
            return Some(Blame::Destination(known));
        }
        let can_check = match (&self.state, &self.trial) {
            _ if refused == Refused::Ticket => true,
            (State::Paused(_), trial) if trial.is_none() || !is_sole => return None,
            (_, Some(Trial::Check(_))) if !is_sole => return Some(Blame::Undecided),
            (_, Some(Trial::Check(_))) | (_, Some(Trial::Early)) => false,
            (_, Some(Trial::Alone)) | (_, None) => true,
        };
        let target = target.filter(|_| can_check);
        if let (Some(target), false, true) = (target, is_sole, self.destinations.are_proved(now)) {
            self.destinations.refused(target, now);
            return Some(Blame::Destination(None));
        }
        if let Some(check) = target.and_then(|target| self.check(target, refused)) {
            if refused != Refused::Ticket {
                self.trial = Some(Trial::Check(OpenCheck {
                    other: check.other.clone(),
                    until: now + CHECK + took.min(LONG),
                    has_deputy: false,
                }));
            }
            return Some(Blame::Unclear(check));
        }
        match (refused, &self.state, &self.trial) {
            // The check before it counts, too.
            (Refused::Password, State::Paused(pause), Some(Trial::Early))
                if pause.early == Early::Trusted =>
            {
                self.prolong(2, Early::Nobody, now)
            }
            (Refused::Password, ..) => {
                let early = target.cloned().map_or(Early::Nobody, Early::OtherThan);
                self.prolong(1, early, now);
            }
            _ if is_sole => self.give_back(now),
            _ => {}
        }
        None
    }

    fn check(&self, target: &HostPort, refused: Refused) -> Option<Check> {
        Some(Check {
            doubted: target.clone(),
            refused,
            other: self.destinations.other_than(target)?,
        })
    }

    fn end_check(
        &mut self,
        check: Check,
        outcome: Outcome<'_>,
        took: Duration,
        now: Instant,
    ) -> Option<Blame> {
        let is_open = check.refused != Refused::Ticket
            && matches!(&self.trial, Some(Trial::Check(open)) if open.other == check.other);
        if is_open {
            self.trial = None;
        }
        let is_paused = matches!(self.state, State::Paused(_));
        self.destinations.doubt(&check.other);
        match outcome {
            // Nothing can be learned with it: another one is chosen, if there is any.
            Outcome::Unneeded | Outcome::Unknown => {
                self.destinations.forget(&check.other);
                if let Outcome::Unneeded = outcome {
                    // Perhaps the proxy never looked at the password.
                    self.was_accepted &= self.destinations.has_granted();
                }
                if is_open {
                    self.trial = Some(Trial::Alone);
                }
                return self.refused(is_open, Some(&check.doubted), check.refused, took, now);
            }
            Outcome::Accepted(_) => {
                self.accepted(is_open);
                self.destinations.proved(&check.other, now);
            }
            Outcome::AcceptedTicket(_) => self.destinations.proved(&check.other, now),
            Outcome::Refused(_, Refused::Password) if is_open || is_paused => {
                self.destinations.doubt(&check.doubted);
                match is_paused {
                    // It is the second refusal since then.
                    true => self.prolong(2, Early::Nobody, now),
                    false => self.prolong(1, Early::Trusted, now),
                }
                return None;
            }
            // The proxy has accepted the password since, for another destination.
            Outcome::Refused(_, Refused::Password) => {}
            Outcome::Unsent => return Some(Blame::Destination(None)),
            Outcome::Refused(..) | Outcome::NoReply => return None,
        }
        self.destinations.refused(&check.doubted, now);
        Some(Blame::Destination(None))
    }

    fn granted(&mut self, granted: Option<(&HostPort, Evidence)>) {
        if let Some((target, evidence)) = granted {
            self.destinations.granted(target, evidence);
        }
    }

    /// Notes that the proxy accepted the password; `is_decisive` also for a check that is open.
    fn accepted(&mut self, is_decisive: bool) {
        self.state = State::Free;
        self.was_accepted = true;
        self.cut_short = None;
        if !matches!(self.trial, Some(Trial::Check(_))) || is_decisive {
            self.trial = None;
        }
    }

    /// Begins a pause, or doubles it, as often as the password was refused.
    fn prolong(&mut self, times: u32, early: Early, now: Instant) {
        let earlier = match &self.state {
            State::Paused(pause) => Some(pause.length),
            State::Unsent | State::Free => self.cut_short,
        };
        let first = match earlier {
            Some(earlier) => (earlier * 2).max(SHORTEST),
            None if self.was_accepted => AFTER_SUCCESS,
            None => SHORTEST,
        };
        let length = (first * times).min(LONGEST);
        self.state = State::Paused(Pause {
            begun: now,
            until: now + length,
            length,
            early,
        });
        self.trial = None;
        self.destinations.drop_refused();
    }

    /// Notes that the tunnel with the sole permission doesn't send the password: another one can.
    fn give_back(&mut self, now: Instant) {
        match (&mut self.state, &mut self.trial) {
            (_, Some(Trial::Check(check))) => return check.has_deputy = false,
            (State::Paused(pause), Some(Trial::Alone)) => pause.until = now,
            _ => {}
        }
        self.trial = None;
    }

    /// Notes that the tunnel with the sole permission got no reply.
    fn give_up(&mut self) {
        match (&mut self.state, &self.trial) {
            (_, Some(Trial::Check(_))) => return,
            (State::Paused(pause), Some(Trial::Early)) => pause.early = Early::Nobody,
            _ => {}
        }
        self.trial = None;
    }

    /// Returns the time since which a command must have begun to print the password: the last refusal,
    /// or the end of the pause. So it runs once after each refusal and once before each new try.
    pub(super) fn stale_before(&self, now: Instant) -> Option<Instant> {
        match &self.state {
            State::Paused(pause) if now < pause.until => Some(pause.begun),
            State::Paused(pause) => Some(pause.until),
            State::Unsent | State::Free => None,
        }
    }

    /// Notes that the password has changed: one tunnel is the first to send it. That ends a pause, but
    /// only once until the proxy accepts one: a command could print a wrong one each time.
    pub(super) fn changed(&mut self) {
        if let State::Paused(pause) = &self.state {
            if self.cut_short.is_some() {
                return;
            }
            self.cut_short = Some(pause.length);
        }
        self.state = State::Unsent;
        self.trial = None;
    }

    /// Returns the tunnels that wait no longer.
    pub(super) fn released(&mut self) -> Vec<WakeFn> {
        match self.trial {
            Some(_) => Vec::new(),
            None => mem::take(&mut self.waiting),
        }
    }

    /// Returns whether no reply has to be awaited; otherwise the function that `wake` makes is called
    /// once that has changed.
    pub(super) fn is_clear(&mut self, wake: impl FnOnce() -> WakeFn) -> bool {
        if self.trial.is_some() {
            self.waiting.push(wake());
        }
        self.trial.is_none()
    }

    /// Returns how long a tunnel waits for the reply to another. A proxy that takes long is as a rule
    /// connecting to the destination. During a pause, a tunnel that doesn't wait gets no password,
    /// and during a check only the first one that waits.
    pub(super) fn patience(&self, now: Instant) -> Duration {
        match (&self.state, &self.trial) {
            (State::Paused(_), _) => LONG,
            (_, Some(Trial::Check(check))) => {
                check.until.saturating_duration_since(now)
                    + LONG * u32::from(!self.waiting.is_empty())
            }
            _ => Duration::from_secs(1),
        }
    }
}

impl Pause {
    fn allows(&self, target: Option<&HostPort>, destinations: &Destinations) -> bool {
        target.map_or(false, |target| match &self.early {
            Early::Nobody => false,
            Early::OtherThan(refused) => refused != target,
            Early::Trusted => destinations.is_trusted(target),
        })
    }
}

impl OpenCheck {
    /// Tunnels that haven't waited were being opened when the check began.
    fn permission(&mut self, now: Instant) -> Permission {
        if now < self.until {
            Permission::Granted
        } else if mem::replace(&mut self.has_deputy, true) {
            Permission::Withheld(CHECK)
        } else {
            Permission::Sole
        }
    }
}

#[cfg(test)]
mod tests;
