//! `peers.toml`: a peer is an entry there and no Rust.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Subject,
    Variant,
    Floor,
    Program,
    Package,
    Control,
}

/// One entry; the head of `peers.toml` says what each field means.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    pub name: String,
    pub kind: Kind,
    pub about: String,
    pub build: Option<String>,
    pub config: Option<String>,
    pub start: Vec<String>,
    pub ready_line: Option<String>,
    pub version: Option<Vec<String>>,
    pub locked: Option<[String; 2]>,
    pub install: String,
    pub splice: bool,
    pub same_steps: bool,
    pub most_tunnels: Option<usize>,
    pub again: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    peer: Vec<Spec>,
}

/// Reads the file and keeps the entries named in `only`, or all of them when it names none.
pub fn parse(text: &str, only: &[String]) -> io::Result<Vec<Spec>> {
    let file: File = toml::from_str(text).map_err(io::Error::other)?;
    let mut names = BTreeSet::new();
    for spec in &file.peer {
        if !names.insert(spec.name.as_str()) {
            return Err(io::Error::other(format!(
                "peers.toml names {} twice",
                spec.name
            )));
        }
        if spec.start.is_empty() {
            return Err(io::Error::other(format!(
                "peers.toml starts {} with nothing",
                spec.name
            )));
        }
    }
    if let Some(name) = only.iter().find(|name| !names.contains(name.as_str())) {
        let known: Vec<&str> = names.into_iter().collect();
        let text = format!("no peer {name:?}; peers.toml has {}", known.join(", "));
        return Err(io::Error::other(text));
    }
    let wanted = |spec: &Spec| only.is_empty() || only.contains(&spec.name);
    Ok(file.peer.into_iter().filter(wanted).collect())
}

/// What the placeholders of a start command and a configuration stand for.
#[derive(Clone, Debug)]
pub struct Places<'a> {
    pub listen: SocketAddr,
    pub target: SocketAddr,
    pub binary: &'a str,
    pub config: &'a str,
    pub folder: &'a str,
    pub descriptors: u64,
}

impl Places<'_> {
    pub fn fill(&self, text: &str) -> String {
        text.replace("{listen}", &self.listen.to_string())
            .replace("{listen_host}", &self.listen.ip().to_string())
            .replace("{listen_port}", &self.listen.port().to_string())
            .replace("{target}", &self.target.to_string())
            .replace("{binary}", self.binary)
            .replace("{config}", self.config)
            .replace("{folder}", self.folder)
            .replace("{descriptors}", &self.descriptors.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHIPPED: &str = include_str!("../../peers.toml");

    #[test]
    fn the_shipped_file_reads_and_has_one_subject() {
        let specs = parse(SHIPPED, &[]).unwrap();
        let subjects = specs.iter().filter(|s| s.kind == Kind::Subject);
        assert_eq!(subjects.count(), 1);
        for spec in &specs {
            assert!(
                spec.version.is_some() || spec.locked.is_some(),
                "{} has no version",
                spec.name
            );
        }
    }

    #[test]
    fn keeps_only_the_named_peers_and_refuses_unknown_ones() {
        let only = |name: &str| parse(SHIPPED, &[name.to_string()]);
        assert_eq!(only("socat").unwrap().len(), 1);
        assert!(only("socket").unwrap_err().to_string().contains("socat"));
    }

    #[test]
    fn an_unknown_field_is_an_error() {
        assert!(parse("[[peer]]\nnames = 'x'\n", &[]).is_err());
    }

    #[test]
    fn fills_placeholders() {
        let places = Places {
            listen: "127.0.0.1:1".parse().unwrap(),
            target: "127.0.0.1:2".parse().unwrap(),
            binary: "/b",
            config: "/c",
            folder: "/f",
            descriptors: 9,
        };
        let text = "{binary} {listen}:{target} {listen_host} {listen_port} {config} {folder} {descriptors} {other}";
        assert_eq!(
            places.fill(text),
            "/b 127.0.0.1:1:127.0.0.1:2 127.0.0.1 1 /c /f 9 {other}"
        );
    }
}
