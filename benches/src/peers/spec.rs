//! `peers.toml`: a peer is an entry there and no Rust.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;

use serde::Deserialize;

use crate::model::Kind;

/// One entry; the head of `peers.toml` says what each field means.
#[derive(Clone, Debug, Deserialize)]
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

/// Reads the entries of one rig; `rigs` are all that the file may have entries of.
///
/// # Errors
/// Names the entry that is wrong, and what is wrong with it.
pub fn parse(text: &str, rigs: &[&str], rig: &str) -> io::Result<Vec<Spec>> {
    let file: File = toml::from_str(text).map_err(io::Error::other)?;
    let wrong = |text: String| Err(io::Error::other(format!("peers.toml: {text}")));
    let is_unknown = |name: &&String| *name != rig && !rigs.contains(&name.as_str());
    if let Some(name) = file.keys().find(is_unknown) {
        let known = rigs.join(", ");
        return wrong(format!("[[{name}]] is no rig; there are {known}"));
    }
    let Some(entries) = file.get(rig) else {
        return wrong(format!("there is no [[{rig}]]"));
    };
    let specs = entries.iter().map(|entry| spec(&file, rig, entry));
    let specs: Vec<Spec> = specs.collect::<io::Result<_>>()?;
    let mut names = BTreeSet::new();
    for spec in &specs {
        let faults = [
            (!names.insert(&spec.name), "is named twice"),
            (spec.start.is_empty(), "is started with nothing"),
            (spec.install().is_empty(), "has neither install nor build"),
            (
                !spec.groups.is_empty() && !spec.without.is_empty(),
                "has both groups and without",
            ),
        ];
        if let Some((_, fault)) = faults.iter().find(|(is_it, _)| *is_it) {
            return wrong(format!("{} in [[{rig}]] {fault}", spec.name));
        }
    }
    Ok(specs)
}

/// Those of the names in `only`, or all when it has none.
///
/// # Errors
/// For an unknown name, with those that there are.
pub fn named(all: &[Spec], rig: &str, only: &[String]) -> io::Result<Vec<Spec>> {
    let known: Vec<&str> = all.iter().map(|spec| spec.name.as_str()).collect();
    if let Some(name) = only.iter().find(|name| !known.contains(&name.as_str())) {
        let text = format!("no peer {name:?}; {rig} has {}", known.join(", "));
        return Err(io::Error::other(text));
    }
    let wanted = |spec: &&Spec| only.is_empty() || only.contains(&spec.name);
    Ok(all.iter().filter(wanted).cloned().collect())
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

    const ENTRY: &str =
        "[[relay]]\nname = 'x'\nkind = 'program'\nabout = ''\nstart = ['x']\nbuild = 'make x'\n";

    fn relays(list: &str) -> io::Result<Vec<Spec>> {
        parse(list, &["echo", "tunnel"], "relay")
    }

    #[test]
    fn keeps_only_the_named_peers_and_refuses_unknown_ones() {
        let all = relays(&[ENTRY, &ENTRY.replace("'x'\nkind", "'y'\nkind")].concat()).unwrap();
        let only = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| name.to_string()).collect();
            named(&all, "relay", &names)
        };
        assert_eq!(only(&[]).unwrap().len(), 2);
        assert_eq!(only(&["y"]).unwrap()[0].name, "y");
        assert!(only(&["z"]).unwrap_err().to_string().contains("x, y"));
    }

    #[test]
    fn a_wrong_entry_is_an_error_that_names_it() {
        for (list, wanted) in [
            (ENTRY.replace("relay", "relai"), "[[relai]]"),
            (String::new(), "[[relay]]"),
            (ENTRY.repeat(2), "x in [[relay]] is named twice"),
            (
                format!("{ENTRY}groups = ['cpu']\nwithout = ['bulk']"),
                "has both",
            ),
            (ENTRY.replace("make x", ""), "has neither"),
            (ENTRY.replace("['x']", "[]"), "with nothing"),
            (format!("{ENTRY}names = 'x'"), "unknown field"),
            (format!("{ENTRY}use = 'x'"), "x in [[relay]]: it can't use"),
            (format!("{ENTRY}use = 'y'"), "x in [[relay]]: it can't use"),
            (
                format!("{ENTRY}use = 'echo/x'"),
                "x in [[relay]]: it can't use",
            ),
        ] {
            let e = relays(&list).unwrap_err().to_string();
            assert!(e.contains(wanted), "{e}");
        }
    }

    #[test]
    fn a_peer_is_asked_for_its_groups_or_for_all_but_some() {
        let with = |line: &str| relays(&format!("{ENTRY}{line}")).unwrap().remove(0);
        let asked = |line: &str| ["cpu", "bulk"].map(|group| with(line).takes_part(group));
        assert_eq!(asked(""), [true, true]);
        assert_eq!(asked("without = ['cpu']"), [false, true]);
        assert_eq!(asked("groups = ['cpu']"), [true, false]);
        assert_eq!(with("").install(), "make x");
        assert_eq!(with("install = 'get x'").install(), "get x");
    }

    #[test]
    fn an_entry_takes_what_it_does_not_set_from_the_one_that_it_uses() {
        let list = format!(
            "{ENTRY}groups = ['cpu']\nsplice = true\n\
                    [[relay]]\nname = 'again'\nkind = 'control'\nuse = 'x'\n\
                    [[echo]]\nname = 'b'\nkind = 'variant'\nuse = 'relay/x'\nstart = ['y']\n\
                    [[tunnel]]\nname = 'c'\nkind = 'variant'\nuse = 'echo/b'\nsplice = false\n"
        );
        let all = ["relay", "echo", "tunnel"]
            .map(|rig| parse(&list, &["relay", "echo", "tunnel"], rig).unwrap());
        let [[first, again], [b], [c]] = [&all[0][..], &all[1], &all[2]] else {
            panic!()
        };
        assert_eq!((first.again(), again.again()), (None, Some(&first.name)));
        assert!(again.about.starts_with("x once more"));
        assert!(again.splice && again.groups.is_empty());
        assert_eq!((b.name.as_str(), b.start[0].as_str()), ("b", "y"));
        assert_eq!((b.kind, b.again()), (Kind::Variant, None));
        assert_eq!((c.start[0].as_str(), c.install()), ("y", "make x"));
        assert!(b.splice && !c.splice);
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
