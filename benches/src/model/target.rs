//! Targets as data: what a figure is held against, and where the promise comes from.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

/// What a figure is divided by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Beside {
    /// Nothing: the bound is in the figure's own unit.
    Limit,
    Subject,
    Peer(&'static str),
    /// Each rival but these: programs, packages and the floor.
    EachBut(&'static [&'static str]),
    /// Each rival that does the same steps per tunnel.
    EachOfSameSteps,
    EachThatSplices,
}

#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Names, with a space between two.
    pub figures: &'static str,
    /// What a run of a rig that didn't have the figure yet is judged by.
    pub before: Option<&'static str>,
    /// None where nothing is promised.
    pub bound: Option<Bound>,
    /// The peer whose figure it is; none for the subject.
    pub ours: Option<&'static str>,
    pub beside: Beside,
    /// Where it comes from: a promise, an article, what the system calls allow.
    pub source: &'static str,
}

/// A target of the subject, for each of the figures: names with a space between two.
pub const fn target(figures: &'static str, bound: Bound, beside: Beside) -> Target {
    Target {
        figures,
        before: None,
        bound: Some(bound),
        ours: None,
        beside,
        source: "",
    }
}

/// That `peer` was measured is what is wanted; its ratio to the subject is there to be seen.
pub const fn shown(figures: &'static str, peer: &'static str) -> Target {
    let source = "nothing is promised";
    let bound = None;
    Target {
        bound,
        source,
        ..target(figures, Bound::AtMost(0.0), Beside::Subject).of(peer)
    }
}

impl Target {
    pub const fn from(self, source: &'static str) -> Target {
        Target { source, ..self }
    }

    /// Of this peer, whatever the subject is.
    pub const fn of(self, peer: &'static str) -> Target {
        Target {
            ours: Some(peer),
            ..self
        }
    }

    /// Judged by `before` where the run's rig didn't have the figure yet.
    pub const fn or(self, before: &'static str) -> Target {
        Target {
            before: Some(before),
            ..self
        }
    }

    pub fn figures(&self) -> impl Iterator<Item = &'static str> {
        self.figures.split(' ')
    }

    /// The peers that it names.
    pub fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.ours.into_iter().collect();
        match self.beside {
            Beside::Peer(name) => names.push(name),
            Beside::EachBut(others) => names.extend(others),
            _ => {}
        }
        names
    }
}

impl Bound {
    pub fn holds(self, value: f64) -> bool {
        match self {
            Bound::AtMost(limit) => value <= limit,
            Bound::AtLeast(limit) => value >= limit,
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::AtMost(limit) => write!(f, "<= {limit:.2}"),
            Bound::AtLeast(limit) => write!(f, ">= {limit:.2}"),
        }
    }
}
