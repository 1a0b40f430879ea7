//! The lockout, whose clock the tests set.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use super::*;

/// The permission of a tunnel whose destination follows the password, as with SOCKS.
fn permission(lockout: &mut Lockout, now: Instant) -> Permission {
    lockout.permission(None, now)
}

/// Ends such a tunnel, which has the sole permission.
fn end(lockout: &mut Lockout, outcome: Outcome<'_>) {
    let (took, now) = (Duration::default(), Instant::now());
    assert_eq!(lockout.report(Role::Sole, outcome, took, now), None);
}

fn accept(lockout: &mut Lockout) {
    end(lockout, Outcome::Accepted(None));
}

fn refuse(lockout: &mut Lockout, now: Instant) {
    let (took, refused) = (
        Duration::default(),
        Outcome::Refused(None, Refused::Password),
    );
    assert_eq!(lockout.report(Role::Sole, refused, took, now), None);
}

fn withheld(left: Duration) -> Permission {
    Permission::Withheld(left)
}

/// A lockout, and the time.
struct Clock(Lockout, Instant);

/// A tunnel that has sent the password.
struct Tunnel {
    target: HostPort,
    role: Role,
    begun: Instant,
}

impl Clock {
    /// A proxy that has granted these destinations, to passwords that were sent ahead.
    fn after_grants(names: &[&str]) -> Clock {
        let mut clock = Clock(Lockout::default(), Instant::now());
        names.iter().for_each(|name| clock.grant(name));
        clock
    }

    fn grant(&mut self, name: &str) {
        let mut tunnel = self.send(name);
        assert_eq!(self.accept(&mut tunnel), None);
    }

    fn pass(&mut self, seconds: u64) {
        self.1 += Duration::from_secs(seconds);
    }

    fn ask(&mut self, name: &str) -> Permission {
        self.0.permission(Some(&named(name)), self.1)
    }

    /// Asks for a destination, and sends the password.
    fn try_send(&mut self, name: &str) -> Option<Tunnel> {
        Some(Tunnel {
            role: match self.ask(name) {
                Permission::Granted => Role::Any,
                Permission::Sole => Role::Sole,
                Permission::Withheld(_) => return None,
            },
            target: named(name),
            begun: self.1,
        })
    }

    fn send(&mut self, name: &str) -> Tunnel {
        self.try_send(name).expect("a permission")
    }

    fn report(&mut self, tunnel: &mut Tunnel, outcome: Outcome<'_>) -> Option<Blame> {
        let role = mem::replace(&mut tunnel.role, Role::Any);
        let took = self.1 - tunnel.begun;
        let blame = self.0.report(role, outcome, took, self.1);
        if let Some(Blame::Unclear(check)) = &blame {
            tunnel.role = Role::Check(check.clone());
        }
        blame
    }

    fn accept(&mut self, tunnel: &mut Tunnel) -> Option<Blame> {
        let target = tunnel.target.clone();
        self.report(tunnel, Outcome::Accepted(Some((&target, Evidence::Hint))))
    }

    fn refuse_as(&mut self, tunnel: &mut Tunnel, refused: Refused) -> Option<Blame> {
        let target = tunnel.target.clone();
        self.report(tunnel, Outcome::Refused(Some(&target), refused))
    }

    fn refuse(&mut self, tunnel: &mut Tunnel) -> Option<Blame> {
        self.refuse_as(tunnel, Refused::Password)
    }

    /// Has the password refused for this destination, and checked with that one.
    fn check(&mut self, name: &str, other: &str) -> Tunnel {
        let mut tunnel = self.send(name);
        assert_checked(self.refuse(&mut tunnel), other);
        tunnel
    }

    /// Asks for a destination; returns how often the password was sent, to a proxy that refuses it.
    fn send_wrong(&mut self, name: &str) -> usize {
        let mut tunnel = match self.try_send(name) {
            Some(tunnel) => tunnel,
            None => return 0,
        };
        if let Some(Blame::Unclear(_)) = self.refuse(&mut tunnel) {
            assert_eq!(self.refuse(&mut tunnel), None);
            return 2;
        }
        1
    }

    fn refused_for(&self, name: &str) -> Option<Duration> {
        self.0.destinations.refused_for(&named(name), self.1)
    }

    fn is_clear(&mut self) -> bool {
        self.0.is_clear(|| Box::new(|| ()))
    }

    fn patience(&self) -> u64 {
        self.0.patience(self.1).as_secs()
    }
}

fn named(name: &str) -> HostPort {
    format!("{}:443", name).parse().unwrap()
}

fn after(seconds: u64) -> Permission {
    withheld(Duration::from_secs(seconds))
}

#[track_caller]
fn assert_checked(blame: Option<Blame>, other: &str) {
    match blame {
        Some(Blame::Unclear(check)) => assert_eq!(check.other, named(other)),
        blame => panic!("{:?}", blame),
    }
}

const OF_DESTINATION: Option<Blame> = Some(Blame::Destination(None));

#[test]
fn a_refusal_is_checked_with_a_granted_destination_and_kept_for_its_own() {
    let mut clock = Clock::after_grants(&["b", "a"]);
    let mut late = clock.send("x");
    let mut check = clock.check("x", "a");
    assert_eq!(clock.patience(), 3);
    assert!(!clock.is_clear(), "others wait");
    let mut open = clock.send("b");
    assert_eq!(clock.accept(&mut open), None);
    assert!(!clock.is_clear(), "it had sent the password before");
    assert_eq!(clock.accept(&mut check), OF_DESTINATION);
    assert!(clock.is_clear());
    clock.pass(1);
    let left = Duration::from_secs(29);
    assert_eq!(clock.refused_for("x"), Some(left));
    let blame = Some(Blame::Destination(Some(left)));
    assert_eq!(clock.refuse(&mut late), blame);
    assert_eq!(clock.ask("b"), Permission::Granted);
    assert_eq!(clock.refused_for("b"), None);
    clock.pass(29);
    assert_eq!(clock.refused_for("x"), None);
}

/// Regression: it was blamed on its destination.
#[test]
fn a_refusal_during_the_check_of_another_is_open() {
    let mut clock = Clock::after_grants(&["b", "a"]);
    let mut other = clock.send("y");
    let mut check = clock.check("x", "a");
    assert_eq!(clock.refuse(&mut other), Some(Blame::Undecided));
    assert_eq!(clock.refuse(&mut check), None);
    assert_eq!(clock.refused_for("y"), None);
    assert_eq!(clock.ask("y"), after(30), "it counts once");
}

/// A client that asks for one such destination after the other must not delay the others each time.
#[test]
fn one_check_in_a_second_is_enough() {
    let mut clock = Clock::after_grants(&["a"]);
    let mut check = clock.check("x", "a");
    assert!(!clock.is_clear());
    assert_eq!(clock.accept(&mut check), OF_DESTINATION);
    for name in &["y", "z"] {
        let mut tunnel = clock.send(name);
        assert_eq!(clock.refuse(&mut tunnel), OF_DESTINATION);
        assert!(clock.is_clear() && clock.refused_for(name).is_some());
    }
    clock.pass(1);
    clock.check("w", "a");
    assert!(!clock.is_clear());
}

/// Regression: if the proxy refused slowly, each of them sent the password.
#[test]
fn one_of_the_waiting_tunnels_goes_on_if_a_check_takes_long() {
    let slow = || {
        let mut clock = Clock::after_grants(&["b", "a"]);
        let mut tunnel = clock.send("x");
        clock.pass(4);
        assert_checked(clock.refuse(&mut tunnel), "a");
        for patience in &[7, 17, 17] {
            assert_eq!(clock.patience(), *patience);
            assert!(!clock.is_clear());
        }
        clock.pass(7);
        let deputy = clock.send("b");
        assert_eq!(deputy.role, Role::Sole);
        for name in &["b", "c", "x"] {
            assert_eq!(clock.ask(name), after(3));
        }
        (clock, tunnel, deputy)
    };
    // Its acceptance frees the others, and shows what the refusal is about.
    let (mut clock, mut check, mut deputy) = slow();
    assert_eq!(clock.accept(&mut deputy), None);
    assert!(clock.is_clear());
    assert_eq!(clock.refuse(&mut check), OF_DESTINATION);
    assert_eq!(clock.ask("c"), Permission::Granted);
    // Its refusal counts, and so does that of the check.
    let (mut clock, mut check, mut deputy) = slow();
    assert_eq!(clock.refuse(&mut deputy), None);
    assert_eq!(clock.ask("c"), after(30));
    assert_eq!(clock.refuse(&mut check), None);
    assert_eq!(clock.ask("c"), after(600));
    // Without a result, another one can go on.
    for outcome in &[Outcome::Unneeded, Outcome::Unsent] {
        let (mut clock, _, mut deputy) = slow();
        clock.report(&mut deputy, *outcome);
        assert_eq!(clock.ask("c"), Permission::Sole);
    }
}

/// It costs no wrong password.
#[test]
fn a_tunnel_that_needs_no_password_leaves_its_permission_to_the_next() {
    let mut clock = Clock::after_grants(&[]);
    let mut refused = clock.send("x");
    clock.refuse(&mut refused);
    let unneeded = |clock: &mut Clock| {
        for _ in 0..2 {
            let mut open = clock.send("open");
            assert_eq!(open.role, Role::Sole);
            clock.report(&mut open, Outcome::Unneeded);
        }
    };
    unneeded(&mut clock);
    let mut refused = clock.send("a");
    clock.refuse(&mut refused);
    clock.pass(600);
    unneeded(&mut clock);
}

#[test]
fn a_check_that_is_refused_too_begins_the_pause() {
    let mut clock = Clock::after_grants(&["a"]);
    let mut check = clock.check("x", "a");
    assert_eq!(clock.refuse(&mut check), None);
    for name in &["a", "b", "x"] {
        assert_eq!(clock.ask(name), after(30), "{}: one more was sent", name);
    }
    // After a pause the check is the second refusal.
    clock.pass(30);
    let mut due = clock.send("x");
    assert_eq!((due.role.clone(), clock.ask("a")), (Role::Sole, after(30)));
    assert_checked(clock.refuse(&mut due), "a");
    assert_eq!(clock.ask("b"), after(30));
    assert_eq!(clock.refuse(&mut due), None);
    assert_eq!(clock.ask("b"), after(600));
    clock.pass(600);
    clock.grant("a");
    assert_eq!(clock.ask("b"), Permission::Granted);
}

/// Regression: if the proxy refused that one, too, from some day on, no tunnel was opened any more.
#[test]
fn a_granted_destination_ends_the_pause_after_a_refused_check() {
    let mut clock = Clock::after_grants(&["c", "b", "a"]);
    let mut check = clock.check("x", "a");
    clock.refuse(&mut check);
    for name in &["x", "a", "new"] {
        assert_eq!(clock.ask(name), after(30));
    }
    clock.grant("b");
    for name in &["x1", "x2", "x3"] {
        let mut check = clock.check(name, "b");
        assert_eq!(clock.accept(&mut check), OF_DESTINATION);
        clock.pass(1);
    }
    // With a wrong password, it is the third and last one.
    let mut clock = Clock::after_grants(&["c", "b", "a"]);
    let mut check = clock.check("x", "a");
    clock.refuse(&mut check);
    let mut early = clock.send("b");
    assert_eq!(clock.refuse(&mut early), None);
    for name in &["x", "a", "b", "c"] {
        assert_eq!(clock.ask(name), after(600));
    }
}

#[test]
fn without_a_granted_destination_the_next_one_decides() {
    let refused_first = || {
        let mut clock = Clock::after_grants(&[]);
        let mut first = clock.send("x");
        assert_eq!(
            (first.role.clone(), clock.refuse(&mut first)),
            (Role::Sole, None)
        );
        assert_eq!(clock.ask("x"), after(300));
        let next = clock.send("a");
        assert_eq!(next.role, Role::Sole);
        assert!(!clock.is_clear(), "others wait");
        assert_eq!(clock.patience(), 10);
        assert_eq!(clock.ask("b"), after(300));
        (clock, next)
    };
    let (mut clock, mut next) = refused_first();
    assert_eq!(clock.accept(&mut next), None);
    assert_eq!(clock.ask("b"), Permission::Granted);
    clock.check("x", "a");
    let (mut clock, mut next) = refused_first();
    assert_eq!(clock.refuse(&mut next), None);
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
    let many: Vec<String> = (0..16).map(|index| format!("g{}", index)).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for (granted, most) in &[(&[][..], 4), (&["a"], 6), (&["a", "b", "c"], 6), (&many, 6)] {
        for asks_for_granted in &[false, true] {
            let mut clock = Clock::after_grants(granted);
            let (mut sent, mut last) = (0, 0);
            for second in 0..24 * 60 * 60 {
                let mut count = clock.send_wrong(&format!("x{}", second));
                if *asks_for_granted {
                    let all = granted.iter();
                    count += all.map(|name| clock.send_wrong(name)).sum::<usize>();
                }
                if count > 0 {
                    if second - last > 30 * 60 {
                        sent = 0;
                    }
                    last = second;
                    sent += count;
                    assert!(count < 4 && sent <= *most, "{} at {}", sent, second);
                }
                clock.pass(1);
            }
            assert!(sent > 0);
        }
    }
}

/// E.g. those that a proxy grants without a password.
#[test]
fn destinations_that_prove_nothing_are_left_out() {
    let mut clock = Clock::after_grants(&["a", "open"]);
    let mut check = clock.check("x", "open");
    let next = clock.report(&mut check, Outcome::Unneeded);
    assert_checked(next, "a");
    assert!(!clock.is_clear(), "others still wait");
    assert_eq!(clock.accept(&mut check), OF_DESTINATION);
    clock.pass(1);
    let mut check = clock.check("y", "a");
    // Without any, the proxy has perhaps never accepted the password.
    assert_eq!(clock.report(&mut check, Outcome::Unneeded), None);
    let mut next = clock.send("a");
    assert_eq!(clock.ask("b"), after(300));
    // After a pause it is the same.
    clock.accept(&mut next);
    let mut check = clock.check("x", "a");
    clock.refuse(&mut check);
    clock.pass(30);
    let mut due = clock.check("x", "a");
    assert_eq!(clock.report(&mut due, Outcome::Unneeded), None);
    assert_eq!(clock.ask("x"), after(300));
}

/// It says nothing about the password, which the proxy has accepted.
#[test]
fn a_destination_that_cannot_be_reached_leaves_the_short_pause() {
    let mut clock = Clock::after_grants(&["a"]);
    let mut check = clock.check("x", "a");
    assert_eq!(clock.report(&mut check, Outcome::Unknown), None);
    assert_eq!(clock.ask("x"), after(30));
    assert_eq!(clock.ask("b"), Permission::Sole);
}

#[test]
fn a_check_without_a_reply_says_nothing_and_the_next_one_is_another() {
    let mut clock = Clock::after_grants(&["b", "a"]);
    let mut check = clock.check("x", "a");
    assert_eq!(clock.report(&mut check, Outcome::NoReply), None);
    assert!(clock.is_clear());
    clock.check("x", "b");
}

#[test]
fn a_refused_ticket_withholds_nothing() {
    for granted in &[&[][..], &["a"]] {
        let mut clock = Clock::after_grants(granted);
        let mut tunnel = clock.send("x");
        tunnel.role = Role::Any;
        let before = clock.is_clear();
        let blame = clock.refuse_as(&mut tunnel, Refused::Ticket);
        if !granted.is_empty() {
            assert_checked(blame, "a");
            assert_eq!(clock.refuse_as(&mut tunnel, Refused::Ticket), None);
        }
        assert_eq!(clock.is_clear(), before);
        assert_eq!(clock.ask("y"), Permission::Granted);
    }
}

/// Regression: it began the pause.
#[test]
fn a_refusal_without_a_challenge_withholds_nothing() {
    let mut clock = Clock::after_grants(&[]);
    for name in &["x", "y"] {
        let mut tunnel = clock.send(name);
        assert_eq!(tunnel.role, Role::Sole);
        assert_eq!(clock.refuse_as(&mut tunnel, Refused::Unchallenged), None);
    }
    clock.grant("a");
    let mut check = clock.send("x");
    let blame = clock.refuse_as(&mut check, Refused::Unchallenged);
    assert_checked(blame, "a");
    assert_eq!(clock.refuse(&mut check), None);
    assert_eq!(clock.ask("x"), after(30), "the password was refused");
}

/// They had sent the password before the first of them was refused.
#[test]
fn concurrent_refusals_count_once() {
    let mut clock = Clock::after_grants(&[]);
    let mut first = clock.send("x");
    let mut others: Vec<Tunnel> = ["x", "y", "z"]
        .iter()
        .map(|name| clock.send(name))
        .collect();
    clock.refuse(&mut first);
    assert_eq!(clock.ask("a"), Permission::Sole);
    for other in &mut others {
        assert_eq!(clock.refuse(other), None);
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
    accept(&mut lockout);
    assert_eq!(permission(&mut lockout, now), Permission::Granted);
}

/// Regression: a directory that failed once stopped every tunnel for five minutes.
#[test]
fn an_accepted_password_is_tried_again_soon_and_then_rarely() {
    let mut lockout = Lockout::default();
    let mut now = Instant::now();
    accept(&mut lockout);
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
        end(&mut lockout, Outcome::NoReply);
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
    accept(&mut lockout);
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
    let wake_all = |lockout: &mut Lockout| {
        let all = lockout.released();
        all.into_iter().for_each(|wake| wake());
        woken.load(Ordering::Relaxed)
    };
    let now = Instant::now();
    let mut lockout = Lockout::default();
    assert!(lockout.is_clear(wake), "no tunnel has sent it");
    assert_eq!(permission(&mut lockout, now), Permission::Sole);
    assert!(!lockout.is_clear(wake) && !lockout.is_clear(wake));
    assert_eq!(wake_all(&mut lockout), 0);
    end(&mut lockout, Outcome::NoReply);
    assert_eq!(wake_all(&mut lockout), 2);
    assert!(lockout.is_clear(wake));
    assert_eq!(permission(&mut lockout, now), Permission::Sole);
    assert!(!lockout.is_clear(wake));
    refuse(&mut lockout, now);
    assert_eq!(wake_all(&mut lockout), 3);
    assert!(lockout.is_clear(wake));
    assert!(matches!(
        permission(&mut lockout, now),
        Permission::Withheld(_)
    ));
    accept(&mut lockout);
    assert!(lockout.is_clear(wake));
    assert_eq!(permission(&mut lockout, now), Permission::Granted);
}
