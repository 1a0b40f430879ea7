use std::thread;

use proptest::prelude::*;

use super::*;

const PERIOD: Duration = Duration::from_millis(100);

/// Notes that it was woken.
#[derive(Clone, Default)]
struct WakeFlag(Rc<Cell<bool>>);

impl Wake for WakeFlag {
    fn wake(&self) {
        self.0.set(true);
    }
}

fn is_idle(clock: &Clock<WakeFlag>) -> bool {
    clock.is_idle(WakeFlag::default)
}

#[test]
fn a_limit_is_never_cut_short_and_exceeded_by_two_periods_at_most() {
    let clock = Clock::new(PERIOD);
    let start = Instant::now();
    let watched = clock.watch(PERIOD * 5, WakeFlag::default()); // not before the start
    for tick in 0..=5 {
        clock.tick(start + PERIOD * tick);
    }
    assert!(!watched.is_over(), "it began after the start");
    clock.tick(start + PERIOD * 6);
    clock.tick(start + PERIOD * 7);
    assert!(watched.is_over());
    watched.restart(PERIOD);
    assert!(!watched.is_over());
}

#[test]
fn a_late_tick_cuts_nothing_short() {
    let clock = Clock::new(PERIOD);
    let start = Instant::now();
    let watched = clock.watch(PERIOD, WakeFlag::default());
    clock.tick(start);
    watched.restart(PERIOD); // as late as just before the next tick
    clock.tick(start + PERIOD * 50);
    assert!(!watched.is_over());
    clock.tick(start + PERIOD * 51);
    assert!(watched.is_over());
}

#[test]
fn what_is_dropped_is_not_watched() {
    let (clock, flag) = (Clock::new(PERIOD), WakeFlag::default());
    assert!(is_idle(&clock));
    let all: Vec<_> = (0..3).map(|_| clock.watch(PERIOD, flag.clone())).collect();
    assert!(!is_idle(&clock));
    drop(all);
    assert!(is_idle(&clock));
    clock.tick(Instant::now() + PERIOD * 9);
    assert!(!flag.0.get());
}

#[test]
fn who_ticks_is_woken_by_the_first_that_is_watched() {
    let (clock, ticker) = (Clock::new(PERIOD), WakeFlag::default());
    assert!(clock.is_idle(|| ticker.clone()));
    assert!(!ticker.0.get());
    let first = clock.watch(PERIOD, WakeFlag::default());
    assert!(ticker.0.replace(false));
    let second = clock.watch(PERIOD, WakeFlag::default());
    assert!(!ticker.0.get());
    drop((first, second));
}

/// Nobody had ticked for long, and it seemed to have waited since.
#[test]
fn what_is_watched_after_a_rest_has_all_its_time() {
    let period = Duration::from_millis(1);
    let clock = Clock::new(period);
    thread::sleep(period * 50);
    let start = Instant::now();
    assert!(is_idle(&clock));
    let watched = clock.watch(period * 5, WakeFlag::default());
    watched.restart(period * 5); // notes the time of the clock, which no tick has set
    clock.tick(start);
    clock.tick(start + period);
    assert!(!watched.is_over());
}

#[test]
fn a_limit_without_end_is_watched_without_end() {
    let clock = Clock::new(PERIOD);
    let watched = clock.watch(Duration::from_secs(u64::MAX), WakeFlag::default());
    for years in 1..100 {
        clock.tick(Instant::now() + Duration::from_secs(years * 31_536_000));
        assert!(!watched.is_over());
    }
}

/// Each was looked at four times a second: ten thousand that rested took 0.25 % of a processor.
#[test]
fn those_that_rest_are_hardly_looked_at() {
    let (count, ticks) = (1_000, 1_000);
    let clock = Clock::new(PERIOD);
    let start = Instant::now();
    let limit = PERIOD * ticks * 2;
    let all: Vec<_> = (0..count)
        .map(|_| clock.watch(limit, WakeFlag::default()))
        .collect();
    let mut looked = 0;
    for tick in 1..=ticks {
        let mut watched = clock.shared.watched.borrow_mut();
        let due = watched.due(clock.shared.time(start + PERIOD * tick));
        looked += due.len();
        for entry in due {
            let time = clock.shared.earliest_end(&entry);
            watched.put(entry, time);
        }
    }
    assert!(looked <= count * 4, "{} looks", looked);
    drop(all);
}

/// What can happen to a clock and four that wait for it.
#[derive(Clone, Debug)]
enum Act {
    /// So many milliseconds after the last one.
    Tick(u64),
    IdleTimer(usize, u64),
    Restart(usize, u64),
    Leave(usize),
}

fn act() -> impl Strategy<Value = Act> {
    let limit = || prop_oneof![0u64..2_000, 20_000u64..60_000];
    prop_oneof![
        6 => prop_oneof![8 => 60u64..140, 1 => 0u64..10, 1 => 500u64..40_000].prop_map(Act::Tick),
        1 => (0..4usize, limit()).prop_map(|(who, limit)| Act::IdleTimer(who, limit)),
        2 => (0..4usize, limit()).prop_map(|(who, limit)| Act::Restart(who, limit)),
        1 => (0..4usize).prop_map(Act::Leave),
    ]
}

proptest! {
    /// Whoever looked at each of them at each tick would find the same.
    #[test]
    fn a_tick_wakes_all_whose_time_is_over_and_nobody_else(
        acts in prop::collection::vec(act(), 1..300)
    ) {
        let clock: Clock<WakeFlag> = Clock::new(PERIOD);
        let mut now = Instant::now();
        let mut all = vec![None, None, None, None];
        for act in acts {
            match act {
                Act::Tick(later) => {
                    now += Duration::from_millis(later);
                    clock.tick(now);
                    for (watched, woken) in all.iter().flatten() {
                        let watched: &Watched<_> = watched;
                        let woken: &WakeFlag = woken;
                        prop_assert_eq!(woken.0.replace(false), watched.is_over());
                    }
                }
                Act::IdleTimer(who, limit) => {
                    let woken = WakeFlag::default();
                    let watched = clock.watch(Duration::from_millis(limit), woken.clone());
                    all[who] = Some((watched, woken));
                }
                Act::Restart(who, limit) => {
                    if let Some((watched, _)) = &all[who] {
                        watched.restart(Duration::from_millis(limit));
                    }
                }
                Act::Leave(who) => all[who] = None,
            }
        }
        drop(all);
        prop_assert!(is_idle(&clock));
    }
}
