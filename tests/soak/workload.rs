//! The traffic: lanes, each with one job after the other.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::faults::Since;
use crate::hostile::{self, Habit};
use crate::jobs::{self, Pace, Passed, Round, Sending, Streams, Touch};
use crate::run::Length;
use crate::site::{Site, DOORS};
use crate::watch::Load;
use support::traffic::{Dice, End, Plan};
use support::{Connection, Pattern};

/// The state that all lanes share.
pub struct Field {
    pub site: Site,
    pub load: Load,
    pub length: Length,
    pub pattern: Pattern,
}

type Job = fn(&Field, &mut Dice) -> Passed;

/// Each kind of traffic, and its number of lanes.
const LANES: &[(&str, usize, Job)] = &[
    ("bulk", 4, bulk),
    ("conversations", 6, conversation),
    ("idle tunnels", 24, idle),
    ("bursts of 200", 1, burst),
    ("refused, or with a bad proxy", 3, unlucky),
    ("sessions of -W", 1, session),
];

pub const KINDS: usize = LANES.len();

pub fn start(field: &Arc<Field>, dice: &mut Dice) -> Vec<JoinHandle<()>> {
    let mut lanes = Vec::new();
    for &(kind, count, job) in LANES {
        for _ in 0..count {
            let (field, mut dice) = (field.clone(), dice.fork());
            lanes.push(thread::spawn(move || {
                while !field.site.counters.is_resting() {
                    if field.load.is_light() {
                        run(kind, job, &field, &mut dice);
                    } else {
                        thread::sleep(Duration::from_millis(5));
                    }
                }
            }));
        }
    }
    lanes
}

fn run(kind: &'static str, job: Job, field: &Field, dice: &mut Dice) {
    let counters = &field.site.counters;
    match panic::catch_unwind(AssertUnwindSafe(|| job(field, dice))) {
        Ok(passed) => counters.carried(kind, passed),
        Err(cause) => counters.failure(format!("{}: {}", kind, text(cause))),
    }
}

fn text(cause: Box<dyn Any + Send>) -> String {
    match cause.downcast::<String>() {
        Ok(text) => *text,
        Err(cause) => cause.downcast_ref::<&str>().unwrap_or(&"?").to_string(),
    }
}

/// Runs one tunnel with this fault of its proxy, checked as if `touch` had happened; returns the
/// failure.
pub fn meet(site: &Site, habit: Habit, touch: Touch) -> Result<(), String> {
    let plan = Plan {
        bytes: 1_000_000,
        end: End::Orderly,
    };
    let mut dice = Dice::new(1);
    let streams = streams(&Pattern::new(1), &mut dice);
    let client = site.hostile.connect_to(Site::door_of(habit));
    let ticket = site.origin.ticket();
    let work = || jobs::exchange(client, ticket, streams, (plan, plan), &mut dice, || touch);
    let judged = panic::catch_unwind(AssertUnwindSafe(work));
    judged.map(drop).map_err(text)
}

fn streams(pattern: &Pattern, dice: &mut Dice) -> Streams {
    let number = dice.below(500_000);
    Streams {
        up: pattern.variant(2 * number),
        down: pattern.variant(2 * number + 1),
    }
}

/// A client's connection, and the proxy that can be killed, if its tunnel depends on one.
struct Way<'a> {
    client: Connection,
    mortal: Option<Since<'a>>,
}

impl<'a> Way<'a> {
    fn any(site: &'a Site, dice: &mut Dice) -> Way<'a> {
        if dice.below(10) < 4 {
            let since = site.mortal.now();
            return Way {
                client: site.threads.connect(),
                mortal: Some(since),
            };
        }
        Way {
            client: site.tunnels.connect_to(dice.below(DOORS as u64) as usize),
            mortal: None,
        }
    }

    /// Returns the path of a conversation: one of `one_of` uses squid, which can carry it.
    fn of_conversation(one_of: u64, site: &'a Site, dice: &mut Dice) -> Way<'a> {
        if dice.below(one_of) > 0 {
            return Way::any(site, dice);
        }
        Way {
            client: site.squid.connect(),
            mortal: None,
        }
    }
}

fn bulk(field: &Field, dice: &mut Dice) -> Passed {
    let site = &field.site;
    let streams = streams(&field.pattern, dice);
    let plans = jobs::plans(dice);
    match (plans.0.end, plans.1.end) {
        (End::Reset, _) => site.counters.fault("a client resets"),
        (_, End::Reset) => site.counters.fault("the origin resets"),
        _ => {}
    }
    let ticket = site.origin.ticket();
    let Way { client, mortal } = Way::any(site, dice);
    let touch = || {
        if is_touched(&mortal) {
            Touch::Anything
        } else {
            Touch::Untouched
        }
    };
    jobs::exchange(client, ticket, streams, plans, dice, touch)
}

fn is_touched(mortal: &Option<Since>) -> bool {
    mortal.as_ref().map_or(false, Since::was_away)
}

/// A tenth is large and read slowly, so that its whole path is full of bytes.
fn conversation(field: &Field, dice: &mut Dice) -> Passed {
    let (count, most, pace) = match dice.below(10) {
        0 => (1, 2_000_000, slow(dice)),
        _ => (10, 20_000, AT_ONCE),
    };
    let rounds = (0..1 + dice.below(count))
        .map(|_| Round {
            ask: 1 + dice.below(most) as usize,
            answer: 1 + dice.below(most) as usize,
            pause: Duration::from_millis(dice.below(50)),
        })
        .collect();
    let way = Way::of_conversation(4, &field.site, dice);
    converse(field, way, rounds, pace, dice)
}

const AT_ONCE: Pace = Pace {
    piece: 65_536,
    pause: Duration::from_secs(0),
};

fn slow(dice: &mut Dice) -> Pace {
    Pace {
        piece: 20_000 + dice.below(40_000) as usize,
        pause: Duration::from_millis(dice.below(10)),
    }
}

/// An idle tunnel with a byte now and then.
fn idle(field: &Field, dice: &mut Dice) -> Passed {
    let rounds = (0..2 + dice.below(3))
        .map(|_| Round {
            ask: 1,
            answer: 1,
            pause: field.length.within(field.length.round / 2, dice),
        })
        .collect();
    let way = Way::of_conversation(8, &field.site, dice);
    converse(field, way, rounds, AT_ONCE, dice)
}

fn converse(field: &Field, way: Way, rounds: Vec<Round>, pace: Pace, dice: &mut Dice) -> Passed {
    let (site, streams) = (&field.site, streams(&field.pattern, dice));
    let Way { mut client, mortal } = way;
    let ticket = site.origin.ticket();
    let server = match jobs::meet(&mut client, &ticket) {
        Some(server) => server,
        None => {
            assert!(is_touched(&mortal), "an untouched tunnel was not opened");
            return Passed::nothing();
        }
    };
    let ends = (client.handle(), Sending(client));
    let rests = || site.counters.is_resting();
    let (bytes, ended) = jobs::converse(ends, server, streams, rounds, pace, rests);
    if let Err(e) = &ended {
        assert!(is_touched(&mortal), "an untouched conversation: {}", e);
    }
    Passed {
        tunnels: 1,
        bytes,
        is_whole: ended.is_ok(),
    }
}

fn burst(field: &Field, dice: &mut Dice) -> Passed {
    let streams = streams(&field.pattern, dice);
    let passed = jobs::burst(&field.site, &streams, 200, dice);
    field.pause(field.length.pause, dice);
    passed
}

fn unlucky(field: &Field, dice: &mut Dice) -> Passed {
    let site = &field.site;
    let habits = Habit::of_traffic();
    let choice = dice.below(habits.len() as u64 + 1) as usize;
    let passed = match habits.get(choice) {
        Some(habit) => meets(field, *habit, dice),
        None => {
            site.counters.fault("the origin refuses");
            site.tunnels.connect_to(DOORS).expect_nothing();
            Passed::nothing()
        }
    };
    field.pause(field.length.pause / 20, dice);
    passed
}

fn meets(field: &Field, habit: Habit, dice: &mut Dice) -> Passed {
    let site = &field.site;
    site.counters.fault(habit.fault());
    let mut client = site.hostile.connect_to(Site::door_of(habit));
    if !habit.grants() {
        while client.is_quiet() && !site.counters.is_resting() {
            thread::sleep(Duration::from_millis(5));
        }
        if client.is_quiet() {
            // Leaves, instead of waiting for the handshake timeout.
            client.reset();
        } else {
            client.expect_nothing();
        }
        return Passed::nothing();
    }
    let plan = |bytes| Plan {
        bytes,
        end: End::Orderly,
    };
    let (least, touch) = match habit {
        Habit::ResetsInTheMiddle => (hostile::PAST_THE_MIDDLE, Touch::Torn),
        _ => (0, Touch::Untouched),
    };
    let plans = (
        plan(dice.below(1_000_000)),
        plan(least + dice.below(2_000_000)),
    );
    let (ticket, streams) = (site.origin.ticket(), streams(&field.pattern, dice));
    jobs::exchange(client, ticket, streams, plans, dice, || touch)
}

fn session(field: &Field, dice: &mut Dice) -> Passed {
    let streams = streams(&field.pattern, dice);
    let is_killed = dice.below(4) == 0;
    if is_killed {
        field.site.counters.fault("a session is killed");
    }
    let rounds = (0..1 + dice.below(5))
        .map(|_| Round {
            ask: dice.size(),
            answer: dice.size(),
            pause: Duration::from_secs(0),
        })
        .collect();
    let passed = jobs::session(&field.site, streams, rounds, is_killed);
    field.pause(field.length.pause / 5, dice);
    passed
}

impl Field {
    /// Pauses for at most this time, unless the traffic must rest.
    fn pause(&self, most: Duration, dice: &mut Dice) {
        let time = self.length.within(most, dice);
        jobs::rest(time, &|| self.site.counters.is_resting());
    }
}
