//! How long the port takes: MIGRATION.md's "How much work", with the counts of a project.

use serde::Serialize;

use super::{counted, Facts};
use crate::seams::MachineKind;

/// A range of hours with its reasons, for engineers who know both generations.
#[derive(Debug, Default, Serialize)]
pub struct Effort {
    pub costs: Vec<Cost>,
    /// The sums of the costs, in days of eight hours.
    pub days: (f64, f64),
    /// The upper end widened to three times the lower one, where the sums are closer.
    pub days_to_plan: (f64, f64),
    /// What has no number.
    pub uncounted: Vec<String>,
}

/// A part of the work.
#[derive(Debug, Serialize)]
pub struct Cost {
    pub what: String,
    pub hours: (f64, f64),
    /// What one of them costs.
    pub each: &'static str,
}

/// "Plan with a range whose ends differ by a factor of three."
const SPREAD: f64 = 3.0;
const HOURS_A_DAY: f64 = 8.0;

impl Effort {
    /// The effort for a project with so many functions in chains of combinators.
    pub fn of(facts: &Facts, chains: usize) -> Self {
        let seams = facts.seams;
        let blocking = facts.places(&[20]).len();
        let tests = facts.test_targets();
        let machines = |kind| {
            let machines = seams.machines.iter();
            machines.filter(|machine| machine.kind() == kind).count()
        };
        // The count, its noun, what one costs, and that in hours.
        let counts = [
            (
                seams.cores.len(),
                ("place that owns a Core or runtime", "places that own a Core or runtime"),
                "a day each, most of it for shutdown and panics",
                (8.0, 8.0),
            ),
            (
                machines(MachineKind::Wrapper),
                ("machine that wraps one future", "machines that wrap one future"),
                "ten minutes to an hour each",
                (1.0 / 6.0, 1.0),
            ),
            (
                machines(MachineKind::Alone),
                ("machine that polls nothing", "machines that poll nothing"),
                "ten minutes if it is ready at once, up to a day if it keeps a task to wake",
                (1.0 / 6.0, 8.0),
            ),
            (
                machines(MachineKind::Sequence),
                ("machine that polls at one place", "machines that poll at one place"),
                "one to eight hours each to dissolve",
                (1.0, 8.0),
            ),
            (
                machines(MachineKind::Several),
                ("machine that polls at several places", "machines that poll at several places"),
                "two hours each if its states follow each other, up to three days to port it if they don't",
                (2.0, 24.0),
            ),
            (
                chains,
                ("function that chains combinators", "functions that chain combinators"),
                "ten minutes to an hour each",
                (1.0 / 6.0, 1.0),
            ),
            (
                blocking,
                ("call that blocks its thread", "calls that block their thread"),
                "an hour each to move",
                (1.0, 1.0),
            ),
        ];
        let cost = |what, each, hours| Cost { what, hours, each };
        let counts = counts
            .into_iter()
            .map(|(count, (one, many), each, (low, high))| {
                let hours = (count as f64 * low, count as f64 * high);
                cost(counted(count, one, many), each, hours)
            });
        let mut costs: Vec<_> = counts.collect();
        costs.push(cost(
            "blocking calls that only load tests find".to_owned(),
            "up to three days",
            (0.0, 24.0),
        ));
        costs.push(if tests == 0 {
            let what = "no target of integration tests".to_owned();
            cost(what, "a week for tests of the whole program", (40.0, 40.0))
        } else {
            cost(
                counted(
                    tests,
                    "target of integration tests",
                    "targets of integration tests",
                ),
                "nothing if they are the harness that the port needs, a week if they aren't",
                (0.0, 40.0),
            )
        });
        costs.retain(|cost| cost.hours.1 > 0.0);
        let sum = |end: fn(&Cost) -> f64| costs.iter().map(end).sum::<f64>() / HOURS_A_DAY;
        let days = (sum(|cost| cost.hours.0), sum(|cost| cost.hours.1));
        Self {
            days,
            days_to_plan: to_plan(days),
            uncounted: uncounted(facts),
            costs,
        }
    }
}

impl Effort {
    /// The range to plan with, in one sentence.
    pub fn summary(&self) -> String {
        let (low, high) = self.days_to_plan;
        let mut text = format!(
            "{} to {} days of an engineer who knows both generations",
            rounded(low),
            rounded(high)
        );
        if self.days_to_plan != self.days {
            text.push_str(&format!(
                "; the counts say {} to {}, and a plan before step 2 needs ends that differ by a factor of three",
                rounded(self.days.0),
                rounded(self.days.1)
            ));
        }
        text
    }
}

impl Cost {
    /// The count, its hours and what one costs.
    pub fn summary(&self) -> String {
        let (low, high) = self.hours;
        let (low, high) = (rounded(low), rounded(high));
        let hours = if low == high {
            low
        } else {
            format!("{low} to {high}")
        };
        format!("{}: {hours} hours, {}", self.what, self.each)
    }
}

/// A range whose ends differ at least by the factor.
fn to_plan((low, high): (f64, f64)) -> (f64, f64) {
    (low, high.max(low * SPREAD))
}

/// Whole numbers, and no false precision: at most two digits count.
fn rounded(number: f64) -> String {
    let step = 10f64.powi((number.max(1.0).log10().floor() as i32 - 1).max(0));
    format!("{}", (number / step).round() * step)
}

fn uncounted(facts: &Facts) -> Vec<String> {
    let mut reasons = Vec::new();
    let without = facts.lock.holders.iter().filter(|h| h.successor.is_none());
    let without: Vec<_> = without.map(|holder| holder.package.as_str()).collect();
    if !without.is_empty() {
        reasons.push(format!(
            "a library without a known successor is adapted or forked, which can take weeks: {}",
            without.join(", ")
        ));
    }
    let public = facts.public().len();
    if public > 0 {
        reasons.push(format!(
            "{} with old types: a major version, and its users' work",
            counted(public, "public function", "public functions")
        ));
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::GUIDE;

    /// What the numbers are taken from.
    #[test]
    fn the_estimates_are_the_guides() {
        for words in [
            "a day each, most of it for shutdown and panics",
            "hours to dissolve one whose states follow each other; one to three days to port one that polls several things",
            "minutes to an hour each, after the first few",
            "an hour each to move, days to find by load tests",
            "a week if there are none",
            "a range whose ends differ by a factor of three",
        ] {
            assert!(GUIDE.contains(words), "{words}");
        }
    }

    #[test]
    fn a_narrow_range_is_widened_and_says_so() {
        let of = |days: (f64, f64)| Effort {
            days,
            days_to_plan: to_plan(days),
            ..Effort::default()
        };
        let wide = of((10.0, 123.0)).summary();
        assert!(
            wide.starts_with("10 to 120 days") && !wide.contains("the counts say"),
            "{wide}"
        );
        let narrow = of((10.0, 15.0)).summary();
        assert!(
            narrow.starts_with("10 to 30 days") && narrow.contains("the counts say 10 to 15"),
            "{narrow}"
        );
    }
}
