//! The figures as one SVG: a panel a figure, a bar a peer, the quartiles as a whisker.

use std::fmt::Write;

use super::markdown::number;
use super::results::{Figure, Results};
use super::stats::Spread;
use crate::peers::Kind;

const COLUMNS: usize = 3;
const PANEL: f64 = 400.0;
const LABEL: f64 = 110.0;
const BAR: f64 = 18.0;
const HEAD: f64 = 46.0;

/// Panels for the figures that are to be drawn and have samples.
pub fn render(results: &Results) -> String {
    let figures: Vec<Figure> = results
        .measured()
        .into_iter()
        .filter(|f| results.plotted.contains(&f.name))
        .collect();
    let height = HEAD + BAR * results.peers.len() as f64 + 20.0;
    let rows = figures.len().div_ceil(COLUMNS);
    let (width, total) = (PANEL * COLUMNS as f64, height * rows as f64 + 30.0);
    let mut svg = String::new();
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {total}\" width=\"{width}\" \
         height=\"{total}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>"
    );
    let smoke = if results.quick {
        " (quick run: a smoke test)"
    } else {
        ""
    };
    let _ = writeln!(
        svg,
        "<text x=\"10\" y=\"20\" font-size=\"14\" font-weight=\"bold\">{} rig, {}{smoke}: medians and quartiles</text>",
        results.rig, results.date
    );
    for (index, figure) in figures.iter().enumerate() {
        let x = PANEL * (index % COLUMNS) as f64;
        let y = 30.0 + height * (index / COLUMNS) as f64;
        panel(&mut svg, results, figure, x, y);
    }
    svg.push_str("</svg>\n");
    svg
}

fn panel(svg: &mut String, results: &Results, figure: &Figure, x: f64, y: f64) {
    let better = if figure.less_is_better {
        "less is better"
    } else {
        "more is better"
    };
    let _ = writeln!(
        svg,
        "<text x=\"{:.0}\" y=\"{:.0}\" font-weight=\"bold\">{}</text>\n\
         <text x=\"{:.0}\" y=\"{:.0}\" fill=\"#666666\">{}, {better}</text>",
        x + 10.0,
        y + 18.0,
        escape(figure.title),
        x + 10.0,
        y + 34.0,
        escape(figure.unit)
    );
    let spreads: Vec<Option<Spread>> = results
        .peers
        .iter()
        .map(|p| results.spread(figure.name, &p.name))
        .collect();
    let most = spreads
        .iter()
        .flatten()
        .map(|s| s.high.max(s.median))
        .fold(f64::MIN_POSITIVE, f64::max);
    let scale = (PANEL - LABEL - 80.0) / most;
    for (row, (peer, spread)) in results.peers.iter().zip(&spreads).enumerate() {
        let top = y + HEAD + BAR * row as f64;
        let middle = top + BAR / 2.0;
        let left = x + LABEL;
        let _ = writeln!(
            svg,
            "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">{}</text>",
            left - 6.0,
            middle + 4.0,
            escape(&peer.name)
        );
        let Some(s) = spread else {
            let _ = writeln!(
                svg,
                "<text x=\"{left:.0}\" y=\"{:.0}\" fill=\"#999999\">–</text>",
                middle + 4.0
            );
            continue;
        };
        let (low, mid, high) = (
            left + s.low * scale,
            left + s.median * scale,
            left + s.high * scale,
        );
        let _ = writeln!(
            svg,
            "<rect x=\"{left:.0}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.0}\" fill=\"{}\"/>\n\
             <path d=\"M{low:.1} {middle:.1}H{high:.1}\" stroke=\"#222222\"/>\n\
             <text x=\"{:.1}\" y=\"{:.0}\">{}</text>",
            top + 2.0,
            (mid - left).max(0.5),
            BAR - 4.0,
            colour(peer.kind),
            mid.max(high) + 5.0,
            middle + 4.0,
            number(s.median)
        );
    }
}

/// Told apart without colour vision too: by lightness.
fn colour(kind: Kind) -> &'static str {
    match kind {
        Kind::Subject => "#0b5394",
        Kind::Variant => "#6fa8dc",
        Kind::Floor | Kind::Control => "#bbbbbb",
        Kind::Program => "#e69138",
        Kind::Package => "#f9cb9c",
    }
}

pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::example;
    use super::*;

    #[test]
    fn draws_a_bar_for_each_sample_and_a_dash_for_none() {
        let figure = |name, title| Figure {
            name,
            unit: "µs",
            title,
            less_is_better: true,
        };
        let figures = [figure("cpu", "CPU <us>"), figure("other", "Other")];
        let mut results = example(
            &figures,
            &[("us", Kind::Subject, 1.0), ("them", Kind::Program, 2.0)],
        );
        results
            .samples
            .retain(|s| s.peer != "them" || s.figure != "cpu");
        results.plotted = vec!["cpu"];
        let svg = render(&results);
        assert_eq!(svg.matches("<rect").count(), 2);
        assert!(
            svg.contains("CPU &lt;us&gt;") && !svg.contains("Other") && svg.contains("–</text>")
        );
        assert!(svg.trim_end().ends_with("</svg>"));
    }
}
