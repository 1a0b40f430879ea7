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
    #[serde(default)]
    install: Option<String>,
    #[serde(default)]
    pub splice: bool,
    #[serde(default)]
    pub same_steps: bool,
    #[serde(default)]
    pub without: Vec<String>,
    /// The only groups of figures that it is asked for; empty for all but `without`.
    #[serde(default)]
    pub groups: Vec<String>,
    /// It speaks TLS to its target.
    #[serde(default)]
    pub tls: bool,
    pub most_tunnels: Option<usize>,
    pub warm_up: Option<u64>,
    pub reply_bytes: Option<usize>,
    pub again: Option<String>,
}

impl Spec {
    /// Whether it is asked for that group of figures.
    pub fn takes_part(&self, group: &str) -> bool {
        let names = |list: &[String]| list.iter().any(|name| name == group);
        match self.groups.is_empty() {
            true => !names(&self.without),
            false => names(&self.groups),
        }
    }

    /// The command that installs it, which is that of its build where nothing else is said.
    pub fn install(&self) -> &str {
        let command = self.install.as_ref().or(self.build.as_ref());
        command.map_or("", String::as_str)
    }
}

/// The peers of a rig in the list that comes with it.
///
/// # Errors
/// Those of [`parse`].
pub fn shipped(rig: &str) -> io::Result<Vec<Spec>> {
    parse(include_str!("../../peers.toml"), rig, &[])
}

/// Reads the file and keeps the entries of one rig that are named in `only`, or all of them when it names none.
pub fn parse(text: &str, rig: &str, only: &[String]) -> io::Result<Vec<Spec>> {
    let mut file: BTreeMap<String, Vec<Spec>> = toml::from_str(text).map_err(io::Error::other)?;
    let known = |name: &&String| {
        *name == rig
            || crate::rigs::RIGS
                .iter()
                .any(|other| other.name == name.as_str())
    };
    if let Some(name) = file.keys().find(|name| !known(name)) {
        let text = format!(
            "peers.toml has [[{name}]], which is no rig; there are {}",
            rigs()
        );
        return Err(io::Error::other(text));
    }
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
        let wrong = |what: &str| {
            Err(io::Error::other(format!(
                "peers.toml: {} {what}",
                spec.name
            )))
        };
        if spec.start.is_empty() {
            return wrong("is started with nothing");
        }
        if spec.install().is_empty() {
            return wrong("has neither install nor build");
        }
        if !spec.groups.is_empty() && !spec.without.is_empty() {
            return wrong("has both groups and without");
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

fn rigs() -> String {
    let names: Vec<&str> = crate::rigs::RIGS.iter().map(|rig| rig.name).collect();
    names.join(", ")
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

    #[test]
    fn the_shipped_file_has_peers_and_one_subject_for_each_rig() {
        for rig in crate::rigs::RIGS {
            let specs = shipped(rig.name).unwrap();
            let subjects = specs.iter().filter(|s| s.kind == Kind::Subject);
            assert_eq!(subjects.count(), 1, "{}", rig.name);
            for spec in &specs {
                assert!(
                    spec.version.is_some() || spec.locked.is_some(),
                    "{} has no version",
                    spec.name
                );
                let groups: Vec<&str> = rig.groups.iter().map(|g| g.name).collect();
                let named = spec.without.iter().chain(&spec.groups);
                let unknown = named.clone().find(|g| !groups.contains(&g.as_str()));
                assert_eq!(unknown, None::<&String>, "{}", spec.name);
            }
        }
    }

    #[test]
    fn keeps_only_the_named_peers_and_refuses_unknown_ones() {
        let entry = |name| {
            format!("[[relay]]\nname = '{name}'\nkind = 'program'\nabout = ''\nstart = ['x']\nbuild = 'x'\n")
        };
        let list = entry("socat") + &entry("other");
        let only = |name: &str| parse(&list, "relay", &[name.to_string()]);
        assert_eq!(only("socat").unwrap().len(), 1);
        assert!(only("socket").unwrap_err().to_string().contains("socat"));
        assert!(parse(&list, "echo", &[]).is_err());
    }

    #[test]
    fn a_head_that_is_no_rig_is_an_error_that_names_it() {
        let e = parse(
            "[[relai]]\nname = 'x'\nkind = 'program'\nabout = ''\nstart = ['x']\nbuild = 'x'\n",
            "relay",
            &[],
        );
        assert!(e.unwrap_err().to_string().contains("[[relai]]"));
    }

    #[test]
    fn a_peer_is_asked_for_its_groups_or_for_all_but_some() {
        let with = |line: &str| {
            let entry = "[[relay]]\nname = 'x'\nkind = 'program'\nabout = ''\nstart = ['x']\nbuild = 'make x'\n";
            Ok::<_, io::Error>(parse(&format!("{entry}{line}"), "relay", &[])?.remove(0))
        };
        let asked = |line: &str| ["cpu", "bulk"].map(|group| with(line).unwrap().takes_part(group));
        assert_eq!(asked(""), [true, true]);
        assert_eq!(asked("without = ['cpu']"), [false, true]);
        assert_eq!(asked("groups = ['cpu']"), [true, false]);
        assert!(with("groups = ['cpu']\nwithout = ['bulk']").is_err());
        assert_eq!(with("").unwrap().install(), "make x");
        assert_eq!(with("install = 'get x'").unwrap().install(), "get x");
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
