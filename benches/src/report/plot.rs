//! The figures as SVG: a panel a figure, a bar a peer, the best on top, the quartiles as a whisker.
//!
//! Where the subject's bar would be too short to see, the panel has a logarithmic scale and says so. A bar's length
//! means nothing on such a scale, so it has points.

use std::fmt::Write;

use super::markdown::number;
use super::results::{Figure, Peer, Results};
use super::stats::Spread;
use crate::peers::Kind;

pub const STYLE: &str = include_str!("plot.css");

const COLUMNS: usize = 3;
const PANEL: f64 = 400.0;
const BAR: f64 = 18.0;
const HEAD: f64 = 46.0;
/// Room for the numbers of a logarithmic scale.
const FOOT: f64 = 20.0;
/// Room for a letter of a name, on the average.
const LETTER: f64 = 6.6;
/// Room for the number behind a bar.
const VALUE: f64 = 62.0;
/// A subject whose bar is shorter than this part of the longest can't be read off.
const TOO_SHORT: f64 = 0.025;

/// All panels as one picture.
pub fn render(results: &Results) -> String {
    let figures = drawn(results);
    let most = figures.iter().map(|f| asked(results, f).count()).max();
    let height = panel_height(most.unwrap_or(0));
    let rows = figures.len().div_ceil(COLUMNS);
    let (width, total) = (PANEL * COLUMNS as f64, height * rows as f64 + 30.0);
    let smoke = if results.quick {
        " (quick run: a smoke test)"
    } else {
        ""
    };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" viewBox=\"0 0 {width} {total}\" \
         width=\"{width}\" height=\"{total}\">\n<style>{STYLE}</style>\n\
         <rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n\
         <text class=\"title\" x=\"10\" y=\"20\">{}, {}{smoke}: medians and quartiles</text>\n",
        results.title(),
        results.date
    );
    for (index, figure) in figures.iter().enumerate() {
        let x = PANEL * (index % COLUMNS) as f64;
        let y = 30.0 + height * (index / COLUMNS) as f64;
        svg.push_str(&panel(results, figure, &format!("x=\"{x}\" y=\"{y}\"")));
    }
    svg.push_str("</svg>\n");
    svg
}

/// The figures that are to be drawn and have samples.
pub fn drawn(results: &Results) -> Vec<Figure> {
    let mut figures = results.measured();
    figures.retain(|f| results.plotted.contains(&f.name));
    figures
}

fn panel_height(rows: usize) -> f64 {
    HEAD + BAR * rows as f64 + FOOT
}

/// Those that were asked for a figure, measured or not.
fn asked<'a>(results: &'a Results, figure: &'a Figure) -> impl Iterator<Item = &'a Peer> {
    let is_without = |p: &Peer| p.without.iter().any(|name| name == figure.name);
    results.peers.iter().filter(move |p| !is_without(p))
}

/// One figure; `place` is what else its element says, such as where it stands in another picture.
pub fn panel(results: &Results, figure: &Figure, place: &str) -> String {
    let mut rows: Vec<(&Peer, Option<Spread>)> = asked(results, figure)
        .map(|p| (p, results.spread(figure.name, &p.name)))
        .collect();
    rows.sort_by(|(_, a), (_, b)| match (a, b) {
        (Some(a), Some(b)) if figure.less_is_better => a.median.total_cmp(&b.median),
        (Some(a), Some(b)) => b.median.total_cmp(&a.median),
        _ => a.is_none().cmp(&b.is_none()),
    });
    let subject = rows.iter().find(|(p, _)| p.kind == Kind::Subject);
    let subject = subject.and_then(|(_, s)| *s).map(|s| s.median);
    let spreads: Vec<Spread> = rows.iter().filter_map(|row| row.1).collect();
    let longest = rows.iter().map(|(p, _)| p.name.chars().count()).max();
    let left = (LETTER * longest.unwrap_or(0) as f64 + 12.0).clamp(80.0, 210.0);
    let scale = Scale::of(&spreads, subject, left);

    let height = panel_height(rows.len());
    let better = if figure.less_is_better {
        "less is better"
    } else {
        "more is better"
    };
    let logarithmic = if scale.logarithmic {
        ", logarithmic scale"
    } else {
        ""
    };
    let mut svg = format!(
        "<svg class=\"plot\" {place} viewBox=\"0 0 {PANEL} {height}\" width=\"{PANEL}\" height=\"{height}\" role=\"img\">\n\
         <title>{0}</title>\n<text class=\"title\" x=\"10\" y=\"18\">{0}</text>\n\
         <text class=\"dim\" x=\"10\" y=\"34\">{1}, {better}{logarithmic}</text>\n",
        escape(figure.title),
        escape(figure.unit)
    );
    scale.grid(&mut svg, HEAD + BAR * rows.len() as f64);
    for (index, (peer, spread)) in rows.iter().enumerate() {
        row(
            &mut svg,
            peer,
            *spread,
            &scale,
            HEAD + BAR * (index as f64 + 0.5),
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn row(svg: &mut String, peer: &Peer, spread: Option<Spread>, scale: &Scale, middle: f64) {
    let class = class(peer.kind);
    let _ = writeln!(
        svg,
        "<text class=\"{class}-name\" x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">{}</text>",
        scale.left - 6.0,
        middle + 4.0,
        escape(&peer.name)
    );
    let Some(s) = spread else {
        let _ = writeln!(
            svg,
            "<text class=\"dim\" x=\"{:.0}\" y=\"{:.0}\">not measured</text>",
            scale.left,
            middle + 4.0
        );
        return;
    };
    let (low, mid, high) = (scale.x(s.low), scale.x(s.median), scale.x(s.high));
    if scale.logarithmic {
        let _ = writeln!(
            svg,
            "<circle class=\"{class}\" cx=\"{mid:.1}\" cy=\"{middle}\" r=\"5\"/>"
        );
    } else {
        let _ = writeln!(
            svg,
            "<rect class=\"{class}\" x=\"{:.0}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.0}\"/>",
            scale.left,
            middle - BAR / 2.0 + 2.0,
            (mid - scale.left).max(0.5),
            BAR - 4.0
        );
    }
    if s.count > 1 {
        let _ = writeln!(
            svg,
            "<path class=\"whisker\" d=\"M{low:.1} {middle:.1}H{high:.1}M{low:.1} {0:.1}v6M{high:.1} {0:.1}v6\"/>",
            middle - 3.0
        );
    }
    let _ = writeln!(
        svg,
        "<text class=\"{class}-name\" x=\"{:.1}\" y=\"{:.0}\">{}</text>",
        mid.max(high) + 7.0,
        middle + 4.0,
        number(s.median)
    );
}

/// Where a value stands.
struct Scale {
    left: f64,
    /// The value at the left end, and at the right one; powers of ten on a logarithmic scale.
    from: f64,
    to: f64,
    logarithmic: bool,
}

impl Scale {
    fn of(spreads: &[Spread], subject: Option<f64>, left: f64) -> Scale {
        let most = spreads.iter().map(|s| s.high.max(s.median));
        let most = most.fold(f64::MIN_POSITIVE, f64::max);
        let least = spreads.iter().map(|s| s.low.min(s.median));
        let least = least.fold(f64::INFINITY, f64::min);
        let logarithmic = least > 0.0 && subject.is_some_and(|s| s < TOO_SHORT * most);
        let (from, to) = if logarithmic {
            let decade = |log: f64| 10f64.powf(log);
            (decade(least.log10().floor()), decade(most.log10().ceil()))
        } else {
            (0.0, most)
        };
        Scale {
            left,
            from,
            to,
            logarithmic,
        }
    }

    fn x(&self, value: f64) -> f64 {
        let part = if self.logarithmic {
            (value / self.from).ln() / (self.to / self.from).ln()
        } else {
            value / self.to
        };
        self.left + part * (PANEL - self.left - VALUE)
    }

    /// A line at each power of ten; a bar needs none, since it begins at nought and its number stands behind it.
    fn grid(&self, svg: &mut String, bottom: f64) {
        let mut value = self.from;
        // Not <=: the last power may be off by a rounding.
        while self.logarithmic && value < self.to * 1.5 {
            let x = self.x(value);
            let _ = writeln!(
                svg,
                "<path class=\"grid\" d=\"M{x:.1} {HEAD}V{bottom}\"/>\n\
                 <text class=\"dim\" x=\"{x:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
                bottom + 14.0,
                power(value)
            );
            value *= 10.0;
        }
    }
}

/// A power of ten without digits that say nothing.
fn power(value: f64) -> String {
    match value.log10().round() as i32 {
        log @ 0..=5 => format!("{}", 10i64.pow(log as u32)),
        log @ -4..=-1 => format!("{value:.*}", -log as usize),
        log => format!("1e{log}"),
    }
}

fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Subject => "subject",
        Kind::Variant => "variant",
        Kind::Floor => "floor",
        Kind::Program => "program",
        Kind::Package => "package",
        Kind::Control => "control",
    }
}

pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::super::results::{figure, tests::example};
    use super::*;

    const CPU: Figure = figure("cpu", "µs", "CPU <us>", true);
    const RATE: Figure = figure("rate", "1/s", "Rate", false);

    #[test]
    fn draws_a_bar_for_each_sample_and_says_where_there_is_none() {
        let peers = [("us", Kind::Subject, 1.0), ("them", Kind::Program, 2.0)];
        let mut results = example(&[CPU, RATE], &peers);
        results
            .samples
            .retain(|s| s.peer != "them" || s.figure != "cpu");
        results.plotted = vec!["cpu"];
        let svg = render(&results);
        assert_eq!(svg.matches("<rect").count(), 2);
        assert!(svg.contains("CPU &lt;us&gt;") && !svg.contains("Rate"));
        assert!(svg.contains("not measured"));
        assert!(svg.trim_end().ends_with("</svg>"));
    }

    #[test]
    fn who_was_not_asked_has_no_row() {
        let peers = [("us", Kind::Subject, 1.0), ("unable", Kind::Program, 2.0)];
        let mut results = example(&[CPU, RATE], &peers);
        results.peers[1].without = vec!["cpu".to_string()];
        assert!(!panel(&results, &CPU, "").contains("unable"));
        assert!(panel(&results, &RATE, "").contains("unable"));
    }

    #[test]
    fn the_best_stands_on_top_whichever_way_is_better() {
        let peers = [("big", Kind::Subject, 2.0), ("small", Kind::Program, 1.0)];
        let results = example(&[CPU, RATE], &peers);
        let first = |figure| {
            let svg = panel(&results, figure, "");
            svg.find(">big<") < svg.find(">small<")
        };
        assert!(!first(&CPU) && first(&RATE));
    }

    #[test]
    fn a_subject_too_short_to_see_makes_the_scale_logarithmic_and_nought_never_does() {
        let panel_of = |us, them| {
            let peers = [("us", Kind::Subject, us), ("them", Kind::Program, them)];
            panel(&example(&[CPU], &peers), &CPU, "")
        };
        assert!(panel_of(1.0, 100.0).contains("logarithmic scale"));
        assert!(panel_of(1.0, 100.0).contains("<circle"));
        for svg in [
            panel_of(1.0, 10.0),
            panel_of(100.0, 1.0),
            panel_of(0.0, 1.0),
        ] {
            assert!(!svg.contains("logarithmic") && svg.contains("<rect"));
        }
    }

    #[test]
    fn a_logarithmic_scale_ends_at_powers_of_ten() {
        let spread = |median| Spread {
            median,
            low: median,
            high: median,
            count: 1,
        };
        let scale = Scale::of(&[spread(0.02), spread(30.0)], Some(0.02), 100.0);
        assert_eq!(scale.x(0.01).round(), 100.0);
        assert_eq!(scale.x(100.0).round(), PANEL - VALUE);
        let mut svg = String::new();
        scale.grid(&mut svg, 100.0);
        assert_eq!(svg.matches("<path").count(), 5, "{svg}");
        assert!(svg.contains(">0.01<") && svg.contains(">100<"));
    }
}
