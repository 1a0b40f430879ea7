//! An hour of everything at once: mixed traffic with random faults, and the resources that the
//! program holds meanwhile.
//!
//! `make soak MINUTES=60` keeps a report, a graph and every sample; without it, this is a short
//! form that each change must pass. Like the suite, it tests the program from outside, and
//! `PTUNNEL_BIN` points it at another binary. `PTUNNEL_SEED=…` repeats what is random: in each
//! round, each lane of traffic and the faults run through the same list, as far as time allows.
//!
//! Each byte is compared with the one that was sent, which detects more than a hash: a transfer
//! without a fault must be whole, and one with a fault a prefix. Traffic rests from time to time;
//! what is held then but wasn't at the first rest has leaked.

mod counters;
mod faults;
mod hostile;
mod jobs;
mod origin;
mod plot;
mod record;
mod run;
mod site;
mod verdict;
mod watch;
mod workload;

use std::env;
use std::path::PathBuf;

use crate::hostile::Habit;
use crate::jobs::Touch;
use crate::run::Length;
use crate::site::Site;
use support::traffic;

#[test]
fn nothing_is_lost_and_nothing_leaks() {
    let length = match env::var("PTUNNEL_SOAK_MINUTES") {
        Ok(text) => Length::minutes(text.parse().expect("PTUNNEL_SOAK_MINUTES is a number")),
        Err(_) => Length::short(),
    };
    let folder = env::var_os("PTUNNEL_SOAK_RECORD").map(PathBuf::from);
    if let Some(folder) = &folder {
        record::claim(folder).unwrap_or_else(|why| panic!("{}", why));
    }
    let finished = run::soak(traffic::seed(), length);
    print!("{}", finished.verdict);
    if let Some(folder) = &folder {
        record::write(folder, &finished);
    }
    assert!(finished.verdict.is_good(), "{}", finished.verdict);
}

/// If these weren't detected, a program with the same faults would pass.
#[test]
fn an_altered_byte_and_a_missing_one_are_detected() {
    let site = Site::open();
    let found = |habit, touch| workload::meet(&site, habit, touch).expect_err("it went unnoticed");
    let altered = found(Habit::Alters, Touch::Untouched);
    assert!(
        altered.contains("is not the one that was sent"),
        "{}",
        altered
    );
    found(Habit::ResetsInTheMiddle, Touch::Untouched);
    found(Habit::EndsInTheMiddle, Touch::Untouched);
    let ended = found(Habit::EndsInTheMiddle, Touch::Torn);
    assert!(ended.contains("became an orderly end"), "{}", ended);
    let whole = found(Habit::Trickles, Touch::Torn);
    assert!(whole.contains("nothing was torn"), "{}", whole);
    for (habit, touch) in &[
        (Habit::Trickles, Touch::Untouched),
        (Habit::ResetsInTheMiddle, Touch::Torn),
    ] {
        workload::meet(&site, *habit, *touch).expect("all is well");
    }
}

#[test]
fn every_length_has_time_for_rests() {
    for length in &[Length::short(), Length::minutes(1), Length::minutes(62)] {
        assert!(length.rounds >= 3);
        assert!(length.round > length.pause);
    }
}
