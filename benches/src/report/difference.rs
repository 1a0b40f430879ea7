//! Whether two sides differ by more than one side differs from itself.

use super::results::{Figure, Peer, Results};
use super::stats::Spread;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    Better,
    Worse,
    /// None that this machine can tell.
    None,
}

/// What is printed as 1.00 is no difference, be it ever so certain.
const SMALLEST: f64 = 0.005;

impl Difference {
    /// What `ratio`, ours over theirs, says beside the ratio of a control to what it measures once more.
    ///
    /// The control's spread counts from 1 to its farther end, to both sides: which of two equal sides came out ahead is
    /// chance.
    pub fn of(ratio: Spread, control: Option<Spread>, less_is_better: bool) -> Difference {
        let distance = |value: f64| value.ln().abs();
        let noise = control.map_or(0.0, |c| distance(c.low).max(distance(c.high)));
        let noise = noise.max(distance(1.0 + SMALLEST));
        let may_be_equal = ratio.count > 1 && ratio.low <= 1.0 && ratio.high >= 1.0;
        if may_be_equal || distance(ratio.median) <= noise {
            Difference::None
        } else if (ratio.median < 1.0) == less_is_better {
            Difference::Better
        } else {
            Difference::Worse
        }
    }
}

impl Results {
    /// The ratio of a figure's control to what it measures once more.
    pub fn control(&self, figure: &str) -> Option<Spread> {
        let pair = |p: &Peer| {
            let again = p.again.as_ref()?;
            self.ratio(figure, &p.name, again)
        };
        self.peers.iter().find_map(pair)
    }

    pub fn difference(&self, figure: &Figure, ratio: Spread) -> Difference {
        Difference::of(ratio, self.control(figure.name), figure.less_is_better)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(low: f64, median: f64, high: f64) -> Spread {
        Spread {
            median,
            low,
            high,
            count: 9,
        }
    }

    #[test]
    fn less_than_the_control_differs_from_itself_is_no_difference() {
        let control = Some(spread(0.98, 1.01, 1.05));
        let of = |ratio| Difference::of(ratio, control, true);
        assert_eq!(of(spread(1.02, 1.03, 1.04)), Difference::None);
        // To the other side, too: 1/1.05 is 0.952.
        assert_eq!(of(spread(0.95, 0.96, 0.97)), Difference::None);
        assert_eq!(of(spread(0.93, 0.94, 0.95)), Difference::Better);
        assert_eq!(of(spread(1.05, 1.06, 1.07)), Difference::Worse);
    }

    #[test]
    fn an_interval_that_holds_equality_is_no_difference() {
        let wide = spread(0.60, 0.80, 1.02);
        assert_eq!(Difference::of(wide, None, true), Difference::None);
        assert_eq!(
            Difference::of(spread(0.60, 0.80, 0.99), None, false),
            Difference::Worse
        );
    }

    #[test]
    fn one_sample_has_no_interval_and_is_held_against_the_control_alone() {
        let one = Spread {
            count: 1,
            ..spread(1.10, 1.10, 1.10)
        };
        let control = |high| Some(spread(1.0, 1.0, high));
        assert_eq!(Difference::of(one, control(1.11), true), Difference::None);
        assert_eq!(Difference::of(one, control(1.09), true), Difference::Worse);
        assert_eq!(Difference::of(one, None, false), Difference::Better);
        let hardly = Spread {
            median: 1.004,
            ..one
        };
        assert_eq!(Difference::of(hardly, None, true), Difference::None);
    }
}
