//! futures 0.1 before 0.1.30, under the budget that tokio gives to each poll. `mended/` holds the
//! other side.

use std::time::Duration;

use futures01::{Future as _, Stream as _};
use ptunnel_guide_faults::{all_ready, count, drain, within, MANY};

const LONG: Duration = Duration::from_secs(20);

#[test]
fn row_24_a_set_without_budget_spins_for_ever() {
    // futures 0.1: there is no budget.
    let waited = within(LONG, || all_ready().collect().wait().map(|all| all.len()));
    assert_eq!(waited, Some(Ok(MANY)));

    // Right, where neither futures 0.1.30 nor a tokio of today can be had: no budget.
    let unconstrained = count(LONG, || tokio::task::unconstrained(drain()));
    assert_eq!(unconstrained, Some(MANY));

    // Naive: without budget, each receiver is pending and rings at once. The set polls it again
    // without ever returning to the scheduler, which would give it a new budget.
    assert_eq!(count(Duration::from_secs(2), drain), None);
}
