//! A forest plot: a row a peer, with its ratio to ptunnel as a point and the interval as a line. Places are percentages of
//! the width, so that a page of any width can draw it without a script.

use serde::Serialize;

use crate::model::{Figure, Kind, Peer, Results, Spread};
use crate::report::number::{number, range};
use crate::report::standing::{noise, Standing};

/// How far from 1 a scale reaches at least, and at most.
const LEAST: f64 = 1.25;
const MOST: f64 = 20.0;
const TICKS: &[f64] = &[
    0.05, 0.1, 0.2, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0,
];
/// Percent of the width that two labels of the scale need between them.
const APART: f64 = 24.0;

#[derive(Debug, Serialize)]
pub struct Forest {
    pub figure: &'static str,
    pub title: String,
    /// What 1 on the scale is; absent where no peer has a ratio.
    pub reference: Option<String>,
    /// At the ends of the scale.
    pub ends: [&'static str; 2],
    pub ticks: Vec<Tick>,
    pub noise: Option<Noise>,
    pub rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
pub struct Tick {
    pub at: f64,
    pub label: String,
}

/// What a control can't tell from 1.
#[derive(Debug, Serialize)]
pub struct Noise {
    pub from: f64,
    pub to: f64,
    pub percent: f64,
}

#[derive(Debug, Serialize)]
pub struct Row {
    pub label: String,
    pub kind: Kind,
    pub value: String,
    /// Quartiles of the value.
    pub quartiles: Option<String>,
    pub ratio: Option<Ratio>,
}

#[derive(Debug, Serialize)]
pub struct Ratio {
    pub median: String,
    pub interval: Option<String>,
    /// From ptunnel's side: better is a peer that is behind.
    pub standing: Standing,
    pub word: &'static str,
    pub from: f64,
    pub to: f64,
    pub at: f64,
    /// The point is beyond the scale.
    pub beyond: bool,
}

impl Forest {
    /// Of these peers, in their order, those that have the figure.
    pub fn of<'a>(
        results: &Results,
        figure: &Figure,
        peers: impl Iterator<Item = &'a Peer>,
    ) -> Option<Forest> {
        let has = |p: &&Peer| results.median(figure.name, &p.name).is_some();
        let peers: Vec<&Peer> = peers.filter(has).collect();
        let reference = peers
            .iter()
            .find(|p| p.kind == Kind::Subject)
            .or(peers.first())?;
        let ratio = |p: &Peer| results.ratio(figure.name, &p.name, &reference.name);
        let ratios: Vec<Option<Spread>> = peers.iter().map(|p| ratio(p)).collect();
        let noise = noise(results, figure.name);
        let scale = Scale::of(ratios.iter().flatten(), noise);
        let (label, less) = (reference.label(), figure.less_is_better);
        let rows = peers.iter().zip(&ratios).map(|(peer, ratio)| {
            let value = results.spread(figure.name, &peer.name)?;
            Some(Row {
                label: peer.label(),
                kind: peer.kind,
                value: number(value.median),
                quartiles: (value.count > 1).then(|| range(value.low, value.high)),
                ratio: (peer.name != reference.name)
                    .then(|| ratio.map(|r| scale.ratio(r, noise, less)))
                    .flatten(),
            })
        });
        Some(Forest {
            figure: figure.name,
            title: format!("{}, {}", figure.title, figure.unit),
            ends: match less {
                true => ["◂ better", "worse ▸"],
                false => ["◂ worse", "better ▸"],
            },
            ticks: scale.ticks(),
            noise: (noise > 0.0).then(|| Noise {
                from: scale.at((-noise).exp()),
                to: scale.at(noise.exp()),
                percent: noise.exp_m1() * 100.0,
            }),
            rows: rows.flatten().collect(),
            reference: (ratios.iter().flatten().count() > 1).then_some(label),
        })
    }
}

/// A logarithmic scale with 1 in the middle of what it must show, from `low` to `high`.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn of<'a>(ratios: impl Iterator<Item = &'a Spread>, noise: f64) -> Scale {
        let (mut low, mut high) = (1.0 / LEAST, LEAST.max(noise.exp()));
        for ratio in ratios {
            low = ratio.low.min(low);
            high = ratio.high.max(high);
        }
        let low = low.min((-noise).exp());
        Scale {
            low: low.clamp(1.0 / MOST, 1.0) / 1.03,
            high: high.clamp(1.0, MOST) * 1.03,
        }
    }

    /// Percent of the width, 0 and 100 for what is beyond.
    fn at(&self, ratio: f64) -> f64 {
        let part = (ratio.max(0.0) / self.low).ln() / (self.high / self.low).ln();
        (part.clamp(0.0, 1.0) * 1000.0).round() / 10.0
    }

    fn ratio(&self, ratio: Spread, noise: f64, less_is_better: bool) -> Ratio {
        // The peer over ptunnel: what is better for the peer is worse for ptunnel.
        let standing = Standing::of(ratio, noise, !less_is_better);
        let at = self.at(ratio.median);
        Ratio {
            median: number(ratio.median),
            interval: (ratio.count > 1).then(|| range(ratio.low, ratio.high)),
            standing,
            word: match standing {
                Standing::Better => "behind",
                Standing::Worse => "ahead",
                Standing::Level => "level",
                Standing::Noise => "noise",
            },
            from: self.at(ratio.low),
            to: self.at(ratio.high),
            at,
            beyond: at == 0.0 || at == 100.0,
        }
    }

    /// Labels that don't touch; 1 is always among them.
    fn ticks(&self) -> Vec<Tick> {
        let mut chosen = vec![1.0];
        for &tick in TICKS {
            let is_free = |other: &f64| (self.at(*other) - self.at(tick)).abs() >= APART;
            if (self.low..=self.high).contains(&tick) && chosen.iter().all(is_free) {
                chosen.push(tick);
            }
        }
        let tick = |value: f64| Tick {
            at: self.at(value),
            label: format!("{value}"),
        };
        chosen.into_iter().map(tick).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::example::{example, CPU, RATE};

    fn forest(figure: Figure, peers: &[(&str, Kind, f64)]) -> Forest {
        let results = example(&[figure], peers);
        Forest::of(&results, &figure, results.peers.iter()).unwrap()
    }

    #[test]
    fn a_peer_stands_right_of_ptunnel_when_it_has_more_and_is_ahead_when_that_is_better() {
        let peers = [
            ("us", Kind::Subject, 1.0),
            ("more", Kind::Program, 2.0),
            ("same", Kind::Program, 1.0),
        ];
        let one = |f: &Forest| f.ticks.iter().find(|t| t.label == "1").unwrap().at;
        for (figure, word) in [(CPU, "behind"), (RATE, "ahead")] {
            let forest = forest(figure, &peers);
            assert!(forest.rows[0].ratio.is_none());
            let more = forest.rows[1].ratio.as_ref().unwrap();
            assert!(more.at > one(&forest) && more.word == word, "{more:?}");
            let same = forest.rows[2].ratio.as_ref().unwrap();
            assert_eq!((same.at, same.word), (one(&forest), "level"));
        }
    }

    #[test]
    fn what_is_too_far_is_beyond_and_labels_keep_their_distance() {
        let peers = [
            ("us", Kind::Subject, 1.0),
            ("far", Kind::Program, 90.0),
            ("none", Kind::Floor, 0.0),
            // An allocation less in the longer of two lives.
            ("less", Kind::Floor, -0.01),
        ];
        let forest = forest(CPU, &peers);
        let ratios = forest.rows.iter().filter_map(|row| row.ratio.as_ref());
        let at: Vec<_> = ratios.map(|ratio| (ratio.at, ratio.beyond)).collect();
        assert_eq!(at, [(100.0, true), (0.0, true), (0.0, true)]);
        let mut ticks: Vec<f64> = forest.ticks.iter().map(|t| t.at).collect();
        ticks.sort_by(f64::total_cmp);
        let apart = ticks.windows(2).all(|w| w[1] - w[0] >= APART);
        assert!(ticks.len() > 2 && apart, "{ticks:?}");
    }

    #[test]
    fn without_a_second_peer_there_is_no_reference() {
        assert_eq!(forest(CPU, &[("us", Kind::Subject, 1.0)]).reference, None);
    }
}
