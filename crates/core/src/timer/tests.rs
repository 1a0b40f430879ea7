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

fn is_idle(timer: &Timer<WakeFlag>) -> bool {
    timer.is_idle(WakeFlag::default)
}

#[test]
fn a_limit_ends_at_most_two_periods_late_and_never_early() {
    let timer = Timer::new(PERIOD);
    let start = Instant::now();
    let countdown = timer.start(PERIOD * 5, WakeFlag::default()); // not before the start
    for tick in 0..=5 {
        timer.tick(start + PERIOD * tick);
    }
    assert!(!countdown.is_over(), "it began after the start");
    timer.tick(start + PERIOD * 6);
    timer.tick(start + PERIOD * 7);
    assert!(countdown.is_over());
    countdown.restart(PERIOD);
    assert!(!countdown.is_over());
}

#[test]
fn no_limit_ends_early_after_a_late_tick() {
    let timer = Timer::new(PERIOD);
    let start = Instant::now();
    let countdown = timer.start(PERIOD, WakeFlag::default());
    timer.tick(start);
    countdown.restart(PERIOD); // as late as just before the next tick
    timer.tick(start + PERIOD * 50);
    assert!(!countdown.is_over());
    timer.tick(start + PERIOD * 51);
    assert!(countdown.is_over());
}

#[test]
fn a_dropped_countdown_never_ends() {
    let (timer, flag) = (Timer::new(PERIOD), WakeFlag::default());
    assert!(is_idle(&timer));
    let all: Vec<_> = (0..3).map(|_| timer.start(PERIOD, flag.clone())).collect();
    assert!(!is_idle(&timer));
    drop(all);
    assert!(is_idle(&timer));
    timer.tick(Instant::now() + PERIOD * 9);
    assert!(!flag.0.get());
}

#[test]
fn the_first_countdown_wakes_the_ticker() {
    let (timer, ticker) = (Timer::new(PERIOD), WakeFlag::default());
    assert!(timer.is_idle(|| ticker.clone()));
    assert!(!ticker.0.get());
    let first = timer.start(PERIOD, WakeFlag::default());
    assert!(ticker.0.replace(false));
    let second = timer.start(PERIOD, WakeFlag::default());
    assert!(!ticker.0.get());
    drop((first, second));
}

/// Regression: after a long time without a tick, a new entry seemed to have waited all that time.
#[test]
fn a_countdown_after_an_idle_time_has_its_full_length() {
    let period = Duration::from_millis(1);
    let timer = Timer::new(period);
    thread::sleep(period * 50);
    let start = Instant::now();
    assert!(is_idle(&timer));
    let countdown = timer.start(period * 5, WakeFlag::default());
    countdown.restart(period * 5); // notes the time of the timer, which no tick has set
    timer.tick(start);
    timer.tick(start + period);
    assert!(!countdown.is_over());
}

#[test]
fn a_limit_without_end_is_never_reached() {
    let timer = Timer::new(PERIOD);
    let countdown = timer.start(Duration::from_secs(u64::MAX), WakeFlag::default());
    for years in 1..100 {
        timer.tick(Instant::now() + Duration::from_secs(years * 31_536_000));
        assert!(!countdown.is_over());
    }
}

/// Regression: each was polled four times a second, and ten thousand idle ones took 0.25 % of a
/// processor.
#[test]
fn idle_countdowns_are_hardly_polled() {
    let (count, ticks) = (1_000, 1_000);
    let timer = Timer::new(PERIOD);
    let start = Instant::now();
    let limit = PERIOD * ticks * 2;
    let all: Vec<_> = (0..count)
        .map(|_| timer.start(limit, WakeFlag::default()))
        .collect();
    let mut polled = 0;
    for tick in 1..=ticks {
        let mut wheel = timer.shared.wheel.borrow_mut();
        let due = wheel.due(timer.shared.time(start + PERIOD * tick));
        polled += due.len();
        for entry in due {
            let time = timer.shared.earliest_end(&entry);
            wheel.put(entry, time);
        }
    }
    assert!(polled <= count * 4, "{} polls", polled);
    drop(all);
}

/// An event of a timer with four countdowns.
#[derive(Clone, Debug)]
enum Act {
    /// The time since the last tick, in milliseconds.
    Tick(u64),
    Start(usize, u64),
    Restart(usize, u64),
    Drop(usize),
}

fn act() -> impl Strategy<Value = Act> {
    let limit = || prop_oneof![0u64..2_000, 20_000u64..60_000];
    prop_oneof![
        6 => prop_oneof![8 => 60u64..140, 1 => 0u64..10, 1 => 500u64..40_000].prop_map(Act::Tick),
        1 => (0..4usize, limit()).prop_map(|(index, limit)| Act::Start(index, limit)),
        2 => (0..4usize, limit()).prop_map(|(index, limit)| Act::Restart(index, limit)),
        1 => (0..4usize).prop_map(Act::Drop),
    ]
}

proptest! {
    /// Compares the timer with a check of each entry at each tick.
    #[test]
    fn a_tick_wakes_exactly_the_countdowns_that_are_over(
        acts in prop::collection::vec(act(), 1..300)
    ) {
        let timer: Timer<WakeFlag> = Timer::new(PERIOD);
        let mut now = Instant::now();
        let mut all = vec![None, None, None, None];
        for act in acts {
            match act {
                Act::Tick(later) => {
                    now += Duration::from_millis(later);
                    timer.tick(now);
                    for (countdown, woken) in all.iter().flatten() {
                        let countdown: &Countdown<_> = countdown;
                        let woken: &WakeFlag = woken;
                        prop_assert_eq!(woken.0.replace(false), countdown.is_over());
                    }
                }
                Act::Start(index, limit) => {
                    let woken = WakeFlag::default();
                    let countdown = timer.start(Duration::from_millis(limit), woken.clone());
                    all[index] = Some((countdown, woken));
                }
                Act::Restart(index, limit) => {
                    if let Some((countdown, _)) = &all[index] {
                        countdown.restart(Duration::from_millis(limit));
                    }
                }
                Act::Drop(index) => all[index] = None,
            }
        }
        drop(all);
        prop_assert!(is_idle(&timer));
    }
}
