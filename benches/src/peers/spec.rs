//! `peers.toml`: a peer is an entry there and no Rust.

use std::collections::{BTreeMap, BTreeSet};
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
    #[serde(default)]
    pub splice: bool,
    #[serde(default)]
    pub same_steps: bool,
    #[serde(default)]
    pub without: Vec<String>,
    /// It speaks TLS to its target.
    #[serde(default)]
    pub tls: bool,
    pub most_tunnels: Option<usize>,
    pub warm_up: Option<u64>,
    pub reply_bytes: Option<usize>,
    pub again: Option<String>,
}

/// Reads the file and keeps the entries of one rig that are named in `only`, or all of them when it names none.
pub fn parse(text: &str, rig: &str, only: &[String]) -> io::Result<Vec<Spec>> {
    let mut file: BTreeMap<String, Vec<Spec>> = toml::from_str(text).map_err(io::Error::other)?;
    let specs = file
        .remove(rig)
        .ok_or_else(|| io::Error::other(format!("peers.toml has no [[{rig}]]")))?;
    let mut names = BTreeSet::new();
    for spec in &specs {
        if !names.insert(spec.name.as_str()) {
            return Err(io::Error::other(format!(
                "peers.toml names {} twice in [[{rig}]]",
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
        let text = format!("no peer {name:?}; {rig} has {}", known.join(", "));
        return Err(io::Error::other(text));
    }
    let wanted = |spec: &Spec| only.is_empty() || only.contains(&spec.name);
    Ok(specs.into_iter().filter(wanted).collect())
}

/// What a rig asks of a peer.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Where a relay, tunnel or proxy connects to.
    pub target: Option<SocketAddr>,
    /// The proxy that a tunnel goes through.
    pub proxy: Option<SocketAddr>,
    /// Threads that serve. A peer with more than one isn't pinned.
    pub threads: usize,
}

impl Setup {
    /// A server, with that many threads.
    pub fn serving(threads: usize) -> Setup {
        Setup {
            target: None,
            proxy: None,
            threads,
        }
    }

    /// A relay in front of `target`, with one thread.
    pub fn relaying_to(target: SocketAddr) -> Setup {
        Setup {
            target: Some(target),
            ..Setup::serving(1)
        }
    }

    /// The same through a proxy.
    pub fn through(self, proxy: SocketAddr) -> Setup {
        Setup {
            proxy: Some(proxy),
            ..self
        }
    }
}

/// What the placeholders of a start command and a configuration stand for.
#[derive(Clone, Debug)]
pub struct Places<'a> {
    pub setup: Setup,
    pub listen: SocketAddr,
    pub binary: &'a str,
    pub config: &'a str,
    pub folder: &'a str,
    pub project: &'a str,
    pub descriptors: u64,
}

impl Places<'_> {
    pub fn fill(&self, text: &str) -> String {
        let mut text = text
            .replace("{binary}", self.binary)
            .replace("{config}", self.config)
            .replace("{folder}", self.folder)
            .replace("{project}", self.project)
            .replace("{threads}", &self.setup.threads.to_string())
            .replace("{descriptors}", &self.descriptors.to_string());
        for (name, address) in [
            ("listen", Some(self.listen)),
            ("target", self.setup.target),
            ("proxy", self.setup.proxy),
        ] {
            if let Some(address) = address {
                text = text
                    .replace(&format!("{{{name}}}"), &address.to_string())
                    .replace(&format!("{{{name}_host}}"), &address.ip().to_string())
                    .replace(&format!("{{{name}_port}}"), &address.port().to_string());
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHIPPED: &str = include_str!("../../peers.toml");

    #[test]
    fn the_shipped_file_has_peers_and_one_subject_for_each_rig() {
        for rig in crate::rigs::RIGS {
            let specs = parse(SHIPPED, rig.name, &[]).unwrap();
            let subjects = specs.iter().filter(|s| s.kind == Kind::Subject);
            assert_eq!(subjects.count(), 1, "{}", rig.name);
            for spec in &specs {
                assert!(
                    spec.version.is_some() || spec.locked.is_some(),
                    "{} has no version",
                    spec.name
                );
                let groups: Vec<&str> = rig.groups.iter().map(|g| g.name).collect();
                let unknown = spec.without.iter().find(|g| !groups.contains(&g.as_str()));
                assert_eq!(unknown, None, "{}", spec.name);
            }
        }
    }

    #[test]
    fn keeps_only_the_named_peers_and_refuses_unknown_ones() {
        let only = |name: &str| parse(SHIPPED, "relay", &[name.to_string()]);
        assert_eq!(only("socat").unwrap().len(), 1);
        assert!(only("socket").unwrap_err().to_string().contains("socat"));
        assert!(parse(SHIPPED, "none", &[]).is_err());
    }

    #[test]
    fn an_unknown_field_is_an_error() {
        assert!(parse("[[relay]]\nnames = 'x'\n", "relay", &[]).is_err());
    }

    #[test]
    fn fills_placeholders() {
        let address = |text: &str| text.parse().unwrap();
        let places = Places {
            setup: Setup::relaying_to(address("127.0.0.1:2")).through(address("127.0.0.3:3")),
            listen: address("127.0.0.1:1"),
            binary: "/b",
            config: "/c",
            folder: "/f",
            project: "/p",
            descriptors: 9,
        };
        let text = "{binary} {listen}:{target} {listen_host} {target_port} {proxy_host}";
        let filled = places.fill(text);
        assert_eq!(filled, "/b 127.0.0.1:1:127.0.0.1:2 127.0.0.1 2 127.0.0.3");
        let rest = places.fill("{config} {folder} {project} {threads} {descriptors} {other}");
        assert_eq!(rest, "/c /f /p 1 9 {other}");
    }
}
