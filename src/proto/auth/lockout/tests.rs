//! The lockout, whose clock the tests set.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use super::*;

/// The permission of a tunnel whose destination follows the password, as with SOCKS.
fn permission(lockout: &mut Lockout, now: Instant) -> Permission {
    lockout.permission(None, now)
}

/// Refuses the password of such a tunnel with the sole permission.
fn refuse(lockout: &mut Lockout, now: Instant) -> Vec<WakeFn> {
    let (blame, waiting) = lockout.refused(None, Refused::SolePassword, now);
    assert_eq!(blame, Blame::Credentials);
    waiting
}

fn withheld(left: Duration) -> Permission {
    Permission::Withheld(left)
}

/// A lockout, and the time.
struct Clock(Lockout, Instant);

impl Clock {
    /// A proxy that has granted these destinations.
    fn after_grants(names: &[&str]) -> Clock {
        let mut clock = Clock(Lockout::default(), Instant::now());
        for name in names {
            clock.ask(name);
            clock.0.accepted(Some(&named(name)));
        }
        clock
    }

    fn pass(&mut self, seconds: u64) {
        self.1 += Duration::from_secs(seconds);
    }

    fn ask(&mut self, name: &str) -> Permission {
        self.0.permission(Some(&named(name)), self.1)
    }

    /// Asks for a destination; returns how often the password was sent, to a proxy that refuses it.
    fn send_wrong(&mut self, name: &str) -> usize {
        let refused = match self.ask(name) {
            Permission::Granted => Refused::Password,
            Permission::Sole => Refused::SolePassword,
            Permission::Withheld(_) => return 0,
        };
        if let Blame::Unclear(_) = self.refuse(name, refused) {
            self.0.check_refused(refused, self.1);
            return 2;
        }
        1
    }

    fn refuse(&mut self, name: &str, refused: Refused) -> Blame {
        self.0.refused(Some(&named(name)), refused, self.1).0
    }

    fn refused_for(&self, name: &str) -> Option<Duration> {
        self.0.refused_for(&named(name), self.1)
    }

    fn is_clear(&mut self) -> bool {
        self.0.is_clear(|| Box::new(|| ()))
    }
}

fn named(name: &str) -> HostPort {
    format!("{}:443", name).parse().unwrap()
}

fn after(seconds: u64) -> Permission {
    withheld(Duration::from_secs(seconds))
}

#[test]
fn a_refusal_is_checked_with_a_granted_destination_and_kept_for_its_own() {
    let mut clock = Clock::after_grants(&["a", "b"]);
    assert_eq!(clock.ask("x"), Permission::Granted);
    let blame = clock.refuse("x", Refused::Password);
    assert_eq!(blame, Blame::Unclear(named("a")));
    assert!(!clock.is_clear(), "others wait, but not for ever:");
    for seconds in &[3, 2, 1, 0, 0] {
        let patience = clock.0.patience(clock.1);
        assert_eq!(patience, Duration::from_secs(*seconds));
        clock.pass(1);
    }
    assert_eq!(clock.ask("b"), Permission::Granted);
    let one_at_a_time = Blame::Destination(None);
    assert_eq!(clock.refuse("y", Refused::Password), one_at_a_time);
    assert!(clock.refused_for("y").is_some());
    clock
        .0
        .check_accepted(&named("x"), Refused::Password, clock.1);
    assert!(clock.is_clear());
    clock.pass(1);
    let left = Duration::from_secs(29);
    assert_eq!(clock.refused_for("x"), Some(left));
    let late = clock.refuse("x", Refused::Password);
    assert_eq!(late, Blame::Destination(Some(left)));
    assert_eq!(clock.ask("b"), Permission::Granted);
    assert_eq!(clock.refused_for("b"), None);
    clock.pass(29);
    assert_eq!(clock.refused_for("x"), None);
}

/// A client that asks for one such destination after the other must not delay the others each time.
#[test]
fn others_wait_for_one_check_in_a_second() {
    let mut clock = Clock::after_grants(&["a"]);
    for (name, is_clear) in &[("x", false), ("y", true), ("z", true)] {
        clock.refuse(name, Refused::Password);
        assert_eq!(clock.is_clear(), *is_clear, "{}", name);
        clock
            .0
            .check_accepted(&named(name), Refused::Password, clock.1);
    }
    clock.pass(1);
    clock.refuse("w", Refused::Password);
    assert!(!clock.is_clear());
}

/// It costs no wrong password.
#[test]
fn a_tunnel_that_needs_no_password_leaves_its_permission_to_the_next() {
    let mut clock = Clock::after_grants(&[]);
    clock.ask("x");
    clock.refuse("x", Refused::SolePassword);
    for _ in 0..2 {
        assert_eq!(clock.ask("open"), Permission::Sole);
        clock.0.unneeded(clock.1);
    }
    assert_eq!(clock.ask("a"), Permission::Sole);
    clock.refuse("a", Refused::SolePassword);
    clock.pass(600);
    for _ in 0..2 {
        assert_eq!(clock.ask("open"), Permission::Sole);
        clock.0.unneeded(clock.1);
    }
}

#[test]
fn a_check_that_is_refused_too_begins_the_pause() {
    let mut clock = Clock::after_grants(&["a"]);
    clock.refuse("x", Refused::Password);
    clock.0.check_refused(Refused::Password, clock.1);
    for name in &["a", "b", "x"] {
        assert_eq!(clock.ask(name), after(30), "{}: one more was sent", name);
    }
    // After a pause the check is the second refusal.
    clock.pass(30);
    assert_eq!(clock.ask("x"), Permission::Sole);
    assert_eq!(clock.ask("a"), after(30));
    let blame = clock.refuse("x", Refused::SolePassword);
    assert_eq!(blame, Blame::Unclear(named("a")));
    clock.0.check_refused(Refused::SolePassword, clock.1);
    assert_eq!(clock.ask("b"), after(600));
    clock.pass(600);
    assert_eq!(clock.ask("a"), Permission::Sole);
    clock.0.accepted(Some(&named("a")));
    assert_eq!(clock.ask("b"), Permission::Granted);
}

#[test]
fn without_a_granted_destination_the_next_one_decides() {
    let refused_first = || {
        let mut clock = Clock::after_grants(&[]);
        assert_eq!(clock.ask("x"), Permission::Sole);
        let blame = clock.refuse("x", Refused::SolePassword);
        assert_eq!(blame, Blame::Credentials);
        assert_eq!(clock.ask("x"), after(300));
        assert_eq!(clock.ask("a"), Permission::Sole);
        assert!(!clock.is_clear(), "others wait");
        assert_eq!(clock.0.patience(clock.1), Duration::from_secs(10));
        assert_eq!(clock.ask("b"), after(300));
        clock
    };
    let mut clock = refused_first();
    clock.0.accepted(Some(&named("a")));
    assert_eq!(clock.ask("b"), Permission::Granted);
    let blame = clock.refuse("x", Refused::Password);
    assert_eq!(blame, Blame::Unclear(named("a")));
    let mut clock = refused_first();
    let blame = clock.refuse("a", Refused::SolePassword);
    assert_eq!(blame, Blame::Credentials);
    assert_eq!(clock.ask("b"), after(600));
    // Without a destination there is no other one.
    let mut lockout = Lockout::default();
    refuse(&mut lockout, clock.1);
    assert_eq!(permission(&mut lockout, clock.1), after(300));
}

/// Four and five before a directory starts to count again, half an hour later, were sent when each
/// refusal was the password's.
#[test]
fn clients_that_alternate_destinations_send_hardly_more_wrong_passwords() {
    for (granted, most) in &[(&[][..], 4), (&["a"], 6), (&["a", "b", "c"], 6)] {
        let mut clock = Clock::after_grants(granted);
        let (mut sent, mut last) = (0, 0);
        for second in 0..24 * 60 * 60 {
            let count = clock.send_wrong(&format!("x{}", second));
            if count > 0 {
                if second - last > 30 * 60 {
                    sent = 0;
                }
                last = second;
                sent += count;
                assert!(count < 3 && sent <= *most, "{} at {}", sent, second);
            }
            clock.pass(1);
        }
        assert!(sent > 0);
    }
}

/// E.g. those that a proxy grants without a password.
#[test]
fn destinations_that_prove_nothing_are_left_out() {
    let mut clock = Clock::after_grants(&["open", "a"]);
    let unproven = |clock: &mut Clock, doubted: &str| {
        let doubted = named(doubted);
        clock
            .0
            .check_unproven(&doubted, Refused::Password, clock.1)
            .0
    };
    clock.refuse("x", Refused::Password);
    assert_eq!(unproven(&mut clock, "x"), Blame::Unclear(named("a")));
    clock
        .0
        .check_accepted(&named("x"), Refused::Password, clock.1);
    let blame = clock.refuse("y", Refused::Password);
    assert_eq!(blame, Blame::Unclear(named("a")));
    // Without any, the proxy has perhaps never accepted the password.
    assert_eq!(unproven(&mut clock, "y"), Blame::Credentials);
    assert_eq!(clock.ask("a"), Permission::Sole);
    assert_eq!(clock.ask("b"), after(300));
}

#[test]
fn a_check_without_a_reply_says_nothing_and_the_next_one_is_another() {
    let mut clock = Clock::after_grants(&["a", "b"]);
    clock.refuse("x", Refused::Password);
    clock.0.check_given_up();
    assert!(clock.is_clear());
    assert_eq!(clock.ask("x"), Permission::Granted);
    let blame = clock.refuse("x", Refused::Password);
    assert_eq!(blame, Blame::Unclear(named("b")));
}

#[test]
fn a_refused_ticket_withholds_nothing() {
    let mut clock = Clock::after_grants(&[]);
    assert_eq!(clock.refuse("x", Refused::Ticket), Blame::Credentials);
    assert_eq!(clock.ask("y"), Permission::Sole);
    let mut clock = Clock::after_grants(&["a"]);
    let blame = clock.refuse("x", Refused::Ticket);
    assert_eq!(blame, Blame::Unclear(named("a")));
    clock.0.check_refused(Refused::Ticket, clock.1);
    assert_eq!(clock.ask("x"), Permission::Granted);
}

/// They had sent the password before the first of them was refused.
#[test]
fn concurrent_refusals_count_once() {
    let mut clock = Clock::after_grants(&[]);
    clock.ask("x");
    clock.refuse("x", Refused::SolePassword);
    assert_eq!(clock.ask("a"), Permission::Sole);
    for name in &["x", "y", "z"] {
        let blame = clock.refuse(name, Refused::Password);
        assert_eq!(blame, Blame::Credentials);
    }
    assert!(!clock.is_clear(), "others still wait for the reply to 'a'");
    assert_eq!(clock.ask("b"), after(300));
}

#[test]
fn a_single_tunnel_tries_again_after_each_pause() {
    let mut lockout = Lockout::default();
    let mut now = Instant::now();
    assert_eq!(permission(&mut lockout, now), Permission::Sole);
    assert_eq!(permission(&mut lockout, now), Permission::Granted);
    for minutes in &[5, 10, 20, 40, 60, 60] {
        refuse(&mut lockout, now);
        refuse(&mut lockout, now);
        let pause = Duration::from_secs(minutes * 60);
        let left = Duration::from_secs(1);
        assert_eq!(permission(&mut lockout, now), withheld(pause));
        now += pause;
        assert_eq!(permission(&mut lockout, now - left), withheld(left));
        assert_eq!(permission(&mut lockout, now), Permission::Sole);
        assert!(matches!(
            permission(&mut lockout, now),
            Permission::Withheld(_)
        ));
    }
    lockout.accepted(None);
    assert_eq!(permission(&mut lockout, now), Permission::Granted);
}

/// Regression: a directory that failed once stopped every tunnel for five minutes.
#[test]
fn an_accepted_password_is_tried_again_soon_and_then_rarely() {
    let mut lockout = Lockout::default();
    let mut now = Instant::now();
    lockout.accepted(None);
    for seconds in &[30, 300, 600] {
        refuse(&mut lockout, now);
        let pause = Duration::from_secs(*seconds);
        assert_eq!(permission(&mut lockout, now), withheld(pause));
        now += pause;
        assert_eq!(permission(&mut lockout, now), Permission::Sole);
    }
}

/// Regression: each try without a reply doubled the pause.
#[test]
fn a_try_without_a_reply_prolongs_no_pause() {
    let mut lockout = Lockout::default();
    let mut now = Instant::now();
    refuse(&mut lockout, now);
    for _ in 0..3 {
        now += SHORTEST;
        assert_eq!(permission(&mut lockout, now), Permission::Sole);
        lockout.given_up();
        assert_eq!(permission(&mut lockout, now), withheld(SHORTEST));
    }
}

/// A one-time password, or a keyring with a wrong one, must not lock the account.
#[test]
fn a_changed_password_is_tried_once_before_the_pause_is_over() {
    let mut lockout = Lockout::default();
    let now = Instant::now();
    lockout.changed();
    assert_eq!(permission(&mut lockout, now), Permission::Sole);
    assert_eq!(lockout.stale_before(now), None);
    refuse(&mut lockout, now);
    assert_eq!(lockout.stale_before(now), Some(now));
    let is_withheld =
        |lockout: &mut Lockout| matches!(permission(lockout, now), Permission::Withheld(_));
    assert!(is_withheld(&mut lockout));
    lockout.changed();
    assert_eq!(permission(&mut lockout, now), Permission::Sole);
    assert!(!lockout.is_clear(|| Box::new(|| ())), "others wait");
    refuse(&mut lockout, now);
    lockout.changed();
    assert!(is_withheld(&mut lockout), "a second one has to wait");
    let later = now + SHORTEST * 2;
    assert_eq!(lockout.stale_before(later), Some(later));
    assert_eq!(permission(&mut lockout, later), Permission::Sole);
    lockout.accepted(None);
    refuse(&mut lockout, later);
    lockout.changed();
    assert_eq!(permission(&mut lockout, later), Permission::Sole);
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
    assert_eq!(permission(&mut lockout, now), Permission::Sole);
    assert!(!lockout.is_clear(wake) && !lockout.is_clear(wake));
    wake_all(lockout.given_up());
    assert_eq!(woken.load(Ordering::Relaxed), 2);
    assert!(lockout.is_clear(wake));
    assert_eq!(permission(&mut lockout, now), Permission::Sole);
    assert!(!lockout.is_clear(wake));
    wake_all(refuse(&mut lockout, now));
    assert_eq!(woken.load(Ordering::Relaxed), 3);
    assert!(lockout.is_clear(wake));
    assert!(matches!(
        permission(&mut lockout, now),
        Permission::Withheld(_)
    ));
    wake_all(lockout.given_up());
    wake_all(lockout.accepted(None));
    assert!(lockout.is_clear(wake));
    assert_eq!(permission(&mut lockout, now), Permission::Granted);
}
