//! A ratio as a point with its interval, beside its target: right of the middle is better for us, whichever way the
//! figure counts.

use std::fmt::Write;

use super::super::difference::Difference;
use super::super::stats::Spread;
use super::super::targets::Bound;
use super::sign;

const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 20.0;
const EDGE: f64 = 8.0;
/// The farthest advantage that has a place; what is beyond is an arrow.
pub const MOST: f64 = 3.0;

pub fn draw(
    ratio: Spread,
    bound: Option<Bound>,
    less_is_better: bool,
    difference: Difference,
) -> String {
    let x = |ratio: f64| place(if less_is_better { 1.0 / ratio } else { ratio });
    let middle = HEIGHT / 2.0;
    let (class, _) = sign(difference);
    let mut svg = format!(
        "<svg class=\"strip {class}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" aria-hidden=\"true\">\
         <path class=\"equal\" d=\"M{:.1} 0V{HEIGHT}\"/>",
        place(1.0)
    );
    if let Some(Bound::AtMost(limit) | Bound::AtLeast(limit)) = bound {
        let _ = write!(
            svg,
            "<path class=\"target\" d=\"M{0:.1} 1l4 0l-4 5l-4 -5zM{0:.1} 1V{HEIGHT}\"/>",
            x(limit)
        );
    }
    let (low, high) = (x(ratio.low), x(ratio.high));
    if ratio.count > 1 {
        let _ = write!(
            svg,
            "<path class=\"interval\" d=\"M{low:.1} {middle}H{high:.1}\"/>"
        );
    }
    let at = x(ratio.median);
    if at <= EDGE || at >= WIDTH - EDGE {
        let away = if at <= EDGE { -EDGE + 1.0 } else { EDGE - 1.0 };
        let _ = write!(
            svg,
            "<path class=\"point\" d=\"M{at:.1} {:.1}v10l{away:.1} -5z\"/>",
            middle - 5.0
        );
    } else {
        let _ = write!(
            svg,
            "<circle class=\"point\" cx=\"{at:.1}\" cy=\"{middle}\" r=\"4.5\"/>"
        );
    }
    svg.push_str("</svg>");
    svg
}

fn place(advantage: f64) -> f64 {
    let part = (advantage.ln() / MOST.ln()).clamp(-1.0, 1.0);
    EDGE + (part + 1.0) / 2.0 * (WIDTH - 2.0 * EDGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equality_is_in_the_middle_and_the_ends_are_equally_far() {
        assert_eq!(place(1.0), WIDTH / 2.0);
        let (right, left) = (place(2.0) - place(1.0), place(1.0) - place(0.5));
        assert!((right - left).abs() < 1e-9);
        assert_eq!(place(100.0), WIDTH - EDGE);
        assert_eq!(place(0.0), EDGE);
        assert_eq!(place(f64::INFINITY), WIDTH - EDGE);
    }

    #[test]
    fn what_is_better_is_on_the_right_whichever_way_the_figure_counts() {
        let point = |median, less| {
            let ratio = Spread {
                median,
                low: median,
                high: median,
                count: 1,
            };
            let svg = draw(ratio, None, less, Difference::Better);
            let (_, rest) = svg.split_once("cx=\"").unwrap();
            rest.split_once('"').unwrap().0.parse::<f64>().unwrap()
        };
        assert!(point(0.5, true) > WIDTH / 2.0);
        assert!(point(0.5, false) < WIDTH / 2.0);
    }

    #[test]
    fn what_is_too_far_is_an_arrow_and_one_sample_has_no_interval() {
        let spread = |count| Spread {
            median: 40.0,
            low: 20.0,
            high: 80.0,
            count,
        };
        let svg = draw(
            spread(9),
            Some(Bound::AtLeast(2.0)),
            false,
            Difference::Better,
        );
        assert!(!svg.contains("<circle") && svg.contains("class=\"interval\""));
        assert!(svg.contains("class=\"target\""));
        let svg = draw(spread(1), None, false, Difference::Better);
        assert!(!svg.contains("interval") && !svg.contains("target"));
    }
}
