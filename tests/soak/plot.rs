//! The graph: what each program holds and uses over time, and during which traffic.

use std::fmt::Write;
use std::time::Duration;

use crate::run::Finished;
use crate::verdict::{grouped, tenths, Range, MIB};
use crate::watch::{Reading, Sample};

const WIDTH: f64 = 1000.0;
const LEFT: f64 = 64.0;
/// Room for the names at the ends of the lines.
const RIGHT: f64 = 150.0;
const PANEL: f64 = 170.0;
const HEAD: f64 = 76.0;
const GAP: f64 = 54.0;
/// Maximum number of points: more would overlap.
const POINTS: usize = 240;

/// As in the other plots; they also differ in lightness.
const COLOURS: &[&str] = &["#0b4f8a", "#d9822b", "#79add9", "#a9b1b9", "#7a4a12"];

/// The minute, and the value.
type Point = (f64, f64);

struct Line {
    name: String,
    colour: &'static str,
    points: Vec<Point>,
    rests: Vec<Point>,
}

struct Panel {
    title: &'static str,
    lines: Vec<Line>,
}

pub fn render(finished: &Finished) -> String {
    let panels = panels(finished);
    let height = HEAD + panels.len() as f64 * (PANEL + GAP);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\">\n\
         <style>text{{font:12px system-ui,sans-serif;fill:#1b1f24}}.title{{font-weight:bold}}.dim{{fill:#57606a}}\
         path{{fill:none;stroke-width:1.5}}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text class=\"title\" x=\"10\" y=\"20\">Soak of {} minutes, seed {}: {} tunnels, {} GiB, {} faults, {} failures</text>\n\
         <text class=\"dim\" x=\"10\" y=\"38\">lines: under traffic; dots: at rest, with all tunnels closed</text>\n",
        tenths(finished.took.as_secs_f64() / 60.0),
        finished.seed,
        grouped(finished.counts.tunnels),
        tenths(finished.counts.bytes as f64 / 1024.0 / MIB),
        grouped(finished.counts.all_faults()),
        finished.verdict.complaints.len(),
        w = WIDTH,
        h = height,
    );
    let minutes = finished.took.as_secs_f64() / 60.0;
    for (number, panel) in panels.iter().enumerate() {
        let top = HEAD + number as f64 * (PANEL + GAP);
        draw(&mut svg, panel, &Frame::of(panel, minutes, top));
    }
    svg.push_str("</svg>\n");
    svg
}

fn panels(finished: &Finished) -> Vec<Panel> {
    let held = |title, value: fn(&Reading) -> f64| Panel {
        title,
        lines: each_program(finished, |number| {
            let samples = finished.samples.iter();
            let samples = samples.map(|s| (minutes(s.at), value(&s.programs[number])));
            binned(&samples.collect::<Vec<_>>(), most)
        })
        .map(|(number, mut line)| {
            let rests = finished.rests.iter();
            let rests = rests.map(|rest| (minutes(rest.at), value(&rest.programs[number])));
            line.rests = rests.collect();
            line
        })
        .collect(),
    };
    let cpu = each_program(finished, |number| {
        let spent = rates(&finished.samples, |sample| {
            sample.programs[number].cpu.as_secs_f64() * 100.0
        });
        binned(&spent, mean)
    });
    let traffic = [
        ("tunnels", rates(&finished.samples, |s| s.tunnels as f64)),
        ("MiB", rates(&finished.samples, |s| s.bytes as f64 / MIB)),
        ("faults", rates(&finished.samples, |s| s.faults as f64)),
    ];
    let traffic = traffic
        .iter()
        .zip(COLOURS)
        .map(|((name, points), colour)| Line {
            name: name.to_string(),
            colour,
            points: binned(points, mean),
            rests: Vec::new(),
        });
    vec![
        held("RSS, MiB, its peaks", |reading| {
            reading.resident as f64 / MIB
        }),
        held("Open descriptors, their peaks", |reading| {
            reading.descriptors() as f64
        }),
        Panel {
            title: "CPU, per cent of one processor",
            lines: cpu.map(|(_, line)| line).collect(),
        },
        Panel {
            title: "Traffic, per second",
            lines: traffic.collect(),
        },
    ]
}

fn each_program<'a>(
    finished: &'a Finished,
    points: impl Fn(usize) -> Vec<Point> + 'a,
) -> impl Iterator<Item = (usize, Line)> + 'a {
    let named = finished.names.iter().zip(COLOURS).enumerate();
    named.map(move |(number, (name, colour))| {
        let line = Line {
            name: name.to_string(),
            colour,
            points: points(number),
            rests: Vec::new(),
        };
        (number, line)
    })
}

fn minutes(time: Duration) -> f64 {
    time.as_secs_f64() / 60.0
}

/// Returns the growth of a sum, per second.
fn rates(samples: &[Sample], sum: impl Fn(&Sample) -> f64) -> Vec<Point> {
    let pairs = samples.windows(2);
    pairs
        .map(|pair| {
            let time = pair[1].at - pair[0].at;
            (
                minutes(pair[1].at),
                (sum(&pair[1]) - sum(&pair[0])) / time.as_secs_f64(),
            )
        })
        .collect()
}

/// Returns at most [`POINTS`] points, each an average of neighbours.
fn binned(points: &[Point], of: fn(&[Point]) -> f64) -> Vec<Point> {
    let size = (points.len() + POINTS - 1) / POINTS;
    let bins = points.chunks(size.max(1));
    bins.map(|bin| (bin[bin.len() / 2].0, of(bin))).collect()
}

fn most(bin: &[Point]) -> f64 {
    Range::of(bin.iter().map(|point| point.1)).most
}

fn mean(bin: &[Point]) -> f64 {
    bin.iter().map(|point| point.1).sum::<f64>() / bin.len() as f64
}

/// A panel's place and scales.
struct Frame {
    top: f64,
    minutes: f64,
    step: f64,
    highest: f64,
}

impl Frame {
    fn of(panel: &Panel, minutes: f64, top: f64) -> Frame {
        let values = panel.lines.iter().flat_map(|line| line.points.iter());
        let most = Range::of(values.map(|point| point.1)).most;
        let step = step(most / 4.0);
        Frame {
            top,
            minutes,
            step,
            highest: (most / step).ceil() * step,
        }
    }

    fn x(&self, minute: f64) -> f64 {
        LEFT + minute / self.minutes * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, value: f64) -> f64 {
        self.bottom() - value / self.highest * PANEL
    }

    fn bottom(&self) -> f64 {
        self.top + PANEL
    }

    fn right(&self) -> f64 {
        self.x(self.minutes)
    }
}

fn draw(svg: &mut String, panel: &Panel, frame: &Frame) {
    text(svg, "title", "start", (10.0, frame.top - 10.0), panel.title);
    let mut value = 0.0;
    while value <= frame.highest * 1.001 {
        let y = frame.y(value);
        path(
            svg,
            "#d5dae0",
            &format!("M{} {:.1}H{:.1}", LEFT, y, frame.right()),
        );
        text(svg, "dim", "end", (LEFT - 6.0, y + 4.0), &plain(value));
        value += frame.step;
    }
    let under = frame.bottom() + 15.0;
    let mut minute = 0.0;
    while minute <= frame.minutes {
        text(
            svg,
            "dim",
            "middle",
            (frame.x(minute), under),
            &plain(minute),
        );
        minute += step(frame.minutes / 8.0);
    }
    text(
        svg,
        "dim",
        "start",
        (frame.right() + 10.0, under),
        "minutes",
    );
    for line in &panel.lines {
        let places = line.points.iter();
        let places = places.map(|point| format!("{:.1} {:.1}", frame.x(point.0), frame.y(point.1)));
        let places = places.collect::<Vec<_>>().join("L");
        path(svg, line.colour, &format!("M{}", places));
        for rest in &line.rests {
            let _ = writeln!(
                svg,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{}\"/>",
                frame.x(rest.0),
                frame.y(rest.1),
                line.colour
            );
        }
    }
    names(svg, panel, frame);
}

/// Writes the names beside the ends of their lines, and separates names that would overlap.
fn names(svg: &mut String, panel: &Panel, frame: &Frame) {
    let mut names: Vec<(f64, &Line)> = panel
        .lines
        .iter()
        .map(|line| {
            (
                frame.y(mean(&line.points[line.points.len() * 9 / 10..])),
                line,
            )
        })
        .collect();
    names.sort_by(|a, b| b.0.partial_cmp(&a.0).expect("numbers"));
    let mut lowest = frame.bottom() - 4.0;
    for (y, line) in names {
        let y = y.min(lowest);
        lowest = y - 15.0;
        let x = frame.right() + 10.0;
        path(svg, line.colour, &format!("M{:.1} {:.1}h12", x, y));
        text(svg, "", "start", (x + 17.0, y + 4.0), &line.name);
    }
}

fn text(svg: &mut String, class: &str, anchor: &str, place: (f64, f64), text: &str) {
    let _ = writeln!(
        svg,
        "<text class=\"{}\" text-anchor=\"{}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
        class, anchor, place.0, place.1, text
    );
}

fn path(svg: &mut String, colour: &str, way: &str) {
    let _ = writeln!(svg, "<path stroke=\"{}\" d=\"{}\"/>", colour, way);
}

/// Returns the next number among 1, 2, 5, 10 and so on.
fn step(least: f64) -> f64 {
    let decade = 10f64.powf(least.max(1e-3).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0];
    let step = steps
        .iter()
        .map(|step| step * decade)
        .find(|step| *step >= least);
    step.unwrap_or(decade)
}

/// Returns the number without insignificant digits.
fn plain(number: f64) -> String {
    let text = format!("{:.2}", number);
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[test]
fn steps_are_round() {
    for (least, expected) in &[
        (0.3, 0.5),
        (1.0, 1.0),
        (1.1, 2.0),
        (37.0, 50.0),
        (51.0, 100.0),
    ] {
        assert!((step(*least) - expected).abs() < 1e-9, "{}", step(*least));
    }
}

#[test]
fn numbers_are_short() {
    assert_eq!(plain(0.5), "0.5");
    assert_eq!(plain(100.0), "100");
    assert_eq!(plain(0.0), "0");
}
