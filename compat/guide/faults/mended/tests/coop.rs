//! The same futures on the same tokio, with the version of futures that fixed it.

use std::time::Duration;

use ptunnel_guide_faults::{count, drain, MANY};

/// Once it has polled as many futures as it holds, the set of 0.1.30 returns: to the one who gives
/// it a new budget.
#[test]
fn a_set_of_today_s_0_1_returns_for_its_budget() {
    assert_eq!(count(Duration::from_secs(20), drain), Some(MANY));
}
