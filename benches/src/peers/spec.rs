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
    /// Lines that stand for `{settings}` in `config`.
    #[serde(default)]
    pub settings: String,
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
    /// The entry whose fields it shares.
    #[serde(rename = "use")]
    used: Option<String>,
}

/// An entry as it is written.
type Entry = toml::Table;

/// The entries of each rig.
type File = BTreeMap<String, Vec<Entry>>;

impl Spec {
    /// Whether it is asked for that group of figures.
    pub fn takes_part(&self, group: &str) -> bool {
        let names = |list: &[String]| list.iter().any(|name| name == group);
        match self.groups.is_empty() {
            true => !names(&self.without),
            false => names(&self.groups),
        }
    }

    /// Returns the peer that a control measures once more.
    pub fn again(&self) -> Option<&String> {
        self.used.as_ref().filter(|_| self.kind == Kind::Control)
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
    let file: File = toml::from_str(text).map_err(io::Error::other)?;
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
    let entries = file
        .get(rig)
        .ok_or_else(|| io::Error::other(format!("peers.toml has no [[{rig}]]")))?;
    let mut names = BTreeSet::new();
    let specs: Vec<Spec> = entries
        .iter()
        .map(|entry| spec(&file, rig, entry))
        .collect::<io::Result<_>>()?;
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

/// Reads one entry, with the fields that it takes from another.
fn spec(file: &File, rig: &str, entry: &Entry) -> io::Result<Spec> {
    let name = entry.get("name").and_then(toml::Value::as_str);
    let wrong = |e: &dyn std::fmt::Display| {
        let name = name.unwrap_or("an entry without a name");
        io::Error::other(format!("peers.toml: {name} in [[{rig}]]: {e}"))
    };
    let mut whole = whole(file, rig, entry, MOST_USES).map_err(|e| wrong(&e))?;
    let is_control = whole.get("kind").and_then(toml::Value::as_str) == Some("control");
    if let (true, Some(used)) = (is_control, whole.get("use").and_then(toml::Value::as_str)) {
        let about = format!("{used} once more: how far two equal sides differ in this run");
        whole.insert("about".to_string(), about.into());
    }
    whole.try_into().map_err(|e: toml::de::Error| wrong(&e))
}

/// An entry that uses one that uses one, and so on: more is a circle.
const MOST_USES: usize = 4;
/// What an entry never takes from the one that it uses: groups of figures are another rig's, or another peer's.
const OWN: [&str; 4] = ["name", "kind", "groups", "without"];

/// The entry with each field that it doesn't set from the one that it uses: `NAME` of this rig or `RIG/NAME`.
fn whole(file: &File, rig: &str, entry: &Entry, depth: usize) -> Result<Entry, String> {
    let Some(used) = entry.get("use") else {
        return Ok(entry.clone());
    };
    let used = used.as_str().unwrap_or_default();
    let (rig, name) = used.split_once('/').unwrap_or((rig, used));
    let is_it = |e: &&Entry| e.get("name").and_then(toml::Value::as_str) == Some(name);
    let found = file.get(rig).and_then(|entries| entries.iter().find(is_it));
    let found = found.filter(|_| depth > 0);
    let found = found.ok_or_else(|| format!("it can't use {used:?}"))?;
    let mut whole = whole(file, rig, found, depth - 1)?;
    whole.retain(|field, _| !OWN.contains(&field));
    whole.extend(entry.clone());
    Ok(whole)
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
    fn an_entry_takes_what_it_does_not_set_from_the_one_that_it_uses() {
        let list = "[[relay]]\nname = 'a'\nkind = 'program'\nabout = 'it'\nstart = ['x']\nbuild = 'make x'\n\
                    groups = ['cpu']\nsplice = true\n\
                    [[relay]]\nname = 'again'\nkind = 'control'\nuse = 'a'\n\
                    [[echo]]\nname = 'b'\nkind = 'variant'\nuse = 'relay/a'\nstart = ['y']\n\
                    [[tunnel]]\nname = 'c'\nkind = 'variant'\nuse = 'echo/b'\nsplice = false\n";
        let relays = parse(list, "relay", &[]).unwrap();
        let (first, again) = (&relays[0], &relays[1]);
        assert_eq!((first.again(), again.again()), (None, Some(&first.name)));
        assert!(again.about.starts_with("a once more"));
        assert!(again.splice && again.groups.is_empty());
        let b = parse(list, "echo", &[]).unwrap().remove(0);
        assert_eq!((b.name.as_str(), b.start[0].as_str()), ("b", "y"));
        assert_eq!((b.kind, b.again()), (Kind::Variant, None));
        let c = parse(list, "tunnel", &[]).unwrap().remove(0);
        assert_eq!((c.about.as_str(), c.install()), ("it", "make x"));
        assert!(b.splice && !c.splice);
    }

    #[test]
    fn an_entry_that_uses_none_or_itself_is_an_error_that_names_it() {
        for used in ["b", "echo/a", "a"] {
            let list = format!("[[relay]]\nname = 'a'\nkind = 'program'\nuse = '{used}'\n");
            let e = parse(&list, "relay", &[]).unwrap_err().to_string();
            assert!(
                e.contains("a in [[relay]]") && e.contains("can't use"),
                "{e}"
            );
        }
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
