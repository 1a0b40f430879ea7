//! A peer, as the results keep it.

use serde::{Deserialize, Serialize};

/// The head of `peers.toml` says what each means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Subject,
    Variant,
    Floor,
    #[default]
    Program,
    Package,
    Control,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Peer {
    pub name: String,
    pub kind: Kind,
    pub about: String,
    pub splice: bool,
    pub same_steps: bool,
    /// The peer that it measures once more.
    pub again: Option<String>,
    pub start: String,
    pub version: String,
    /// It speaks TLS where the others don't.
    pub tls: bool,
    /// Figures that its entry says it can't give.
    pub without: Vec<String>,
}

impl Peer {
    /// Its name, with what makes its figures another thing.
    pub fn label(&self) -> String {
        match self.tls {
            true => format!("{} (encrypts)", self.name),
            false => self.name.clone(),
        }
    }

    /// Whether it is asked for the figure.
    pub fn gives(&self, figure: &str) -> bool {
        !self.without.iter().any(|name| name == figure)
    }
}
