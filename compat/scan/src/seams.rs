//! Where code of both generations will meet.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::check::Use;
use crate::sources::{Source, Sources};
use crate::table::{SeamKind, Table};

/// The seams of the code that isn't tests, each list in the order of files and lines.
#[derive(Debug, Default, Serialize)]
pub struct Seams {
    /// Where a Core or runtime is made or run.
    pub cores: Vec<Place>,
    pub machines: Vec<Machine>,
    pub spawns: Vec<Place>,
    /// Where a socket is opened or taken over.
    pub sockets: Vec<Place>,
    pub timers: Vec<Place>,
}

/// A place in a source file.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub struct Place {
    pub file: String,
    pub line: usize,
    /// The item, as rows.toml names it.
    pub item: String,
    /// False where the package doesn't compile, and the name alone was seen.
    pub sure: bool,
}

/// A hand-written future, stream or sink.
#[derive(Debug, Serialize)]
pub struct Machine {
    pub place: Place,
    /// The type.
    pub name: String,
    /// The line of its `poll`, of a sink its `start_send`.
    pub poll: Option<usize>,
    /// The lines with code of the methods of the trait, and of the type's own that they call.
    pub lines: usize,
    /// Its first and last line.
    #[serde(skip)]
    within: (usize, usize),
    /// At how many places these methods poll something else.
    pub polls: usize,
    /// The variants of the enum that it is, or of the largest enum among its fields that is defined
    /// in its file or named in its functions; 0 without one.
    pub states: usize,
}

impl Seams {
    pub fn of(table: &Table, uses: &[Use], sources: &Sources) -> Self {
        let mut seams = Self::default();
        let all = All::of(sources);
        for used in uses {
            let source = sources.of(&used.file);
            let at = (used.line, used.column);
            let Some((kind, shape)) = table.seam(&used.path) else {
                continue;
            };
            if source.shapes.is_import(at)
                || source.is_test(used.line)
                || shape.is_some_and(|shape| !source.shapes.has(at, shape))
            {
                continue;
            }
            let place = Place {
                file: source.shown.clone(),
                line: used.line,
                item: used.path.clone(),
                sure: used.sure,
            };
            match kind {
                SeamKind::Core => seams.cores.push(place),
                SeamKind::Spawn => seams.spawns.push(place),
                SeamKind::Socket => seams.sockets.push(place),
                SeamKind::Timer => seams.timers.push(place),
                SeamKind::Machine => {
                    seams
                        .machines
                        .extend(machine(place, used.column, source, &all))
                }
            }
        }
        seams
    }

    /// The seams for a reader: each list with its heading, and a line for each place.
    pub fn described(&self) -> [(&'static str, Vec<String>); 5] {
        let lines = |places: &[Place]| {
            let unsure = |place: &Place| if place.sure { "" } else { " (unsure)" };
            let line = |p: &Place| format!("{} {}{}", p.shown(), p.item, unsure(p));
            places.iter().map(line).collect()
        };
        let machine = |m: &Machine| format!("{} {}", m.place.shown(), m.summary());
        [
            ("a Core or runtime is owned", lines(&self.cores)),
            (
                "hand-written machines",
                self.machines.iter().map(machine).collect(),
            ),
            ("tasks are spawned", lines(&self.spawns)),
            ("sockets are opened", lines(&self.sockets)),
            ("timers are made", lines(&self.timers)),
        ]
    }
}

impl Place {
    /// The place as `file:line`.
    pub fn shown(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

impl Machine {
    /// One line: the type, its trait, its poll and its states.
    pub fn summary(&self) -> String {
        let name = self.place.item.rsplit("::").next().unwrap_or_default();
        let mut text = format!("{name} for {}: {} lines", self.name, self.lines);
        if self.states > 0 {
            text.push_str(&format!(", {} states", self.states));
        }
        text.push_str(&match self.polls {
            0 => ", polls nothing".to_owned(),
            1 => ", polls at one place".to_owned(),
            polls => format!(", polls at {polls} places"),
        });
        if let Some(line) = self.poll {
            let name = if name == "Sink" { "start_send" } else { "poll" };
            text.push_str(&format!(", {name} at line {line}"));
        }
        text
    }

    /// Whether a line of its file belongs to it.
    pub fn has(&self, line: usize) -> bool {
        self.within.0 <= line && line <= self.within.1
    }

    pub fn kind(&self) -> MachineKind {
        match (self.polls, self.states, self.lines) {
            (0, ..) => MachineKind::Alone,
            (1, 0, ..=WRAPPER_LINES) => MachineKind::Wrapper,
            (1, ..) => MachineKind::Sequence,
            _ => MachineKind::Several,
        }
    }
}

/// How many lines a machine has at most that only wraps another.
const WRAPPER_LINES: usize = 10;

/// What a port of a machine will be like.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MachineKind {
    /// Polls nothing: it is ready at once, or keeps the task that waits for it.
    Alone,
    /// Passes the poll of one thing on, in a few lines.
    Wrapper,
    /// Polls at one place.
    Sequence,
    /// Polls at several places, which may be several things at a time.
    Several,
}

/// What the whole project defines, by name.
struct All<'a> {
    /// The variants of each enum; of several with one name, of the largest.
    enums: BTreeMap<&'a str, usize>,
    /// The functions that return a `Poll`.
    pollers: BTreeSet<&'a str>,
}

impl<'a> All<'a> {
    fn of(sources: &'a Sources) -> Self {
        let mut enums = BTreeMap::new();
        let mut pollers = BTreeSet::new();
        for (_, source) in sources.iter() {
            for (name, variants) in &source.outline.enums {
                let known = enums.entry(name.as_str()).or_default();
                *known = (*variants).max(*known);
            }
            pollers.extend(source.outline.pollers.iter().map(String::as_str));
        }
        Self { enums, pollers }
    }

    fn is_poll(&self, name: &str) -> bool {
        name == "poll" || name.starts_with("poll_") || self.pollers.contains(name)
    }
}

fn machine(place: Place, column: usize, source: &Source, all: &All) -> Option<Machine> {
    let outline = &source.outline;
    let of = outline.impls.get(&(place.line, column))?;
    let methods = outline.methods.get(&of.of)?;
    // What `self` is asked for is the machine's own, where this file has it.
    let (mut reached, mut polls) = (BTreeMap::new(), 0);
    let mut to_read: Vec<&String> = of.methods.iter().collect();
    while let Some(name) = to_read.pop() {
        let Some(method) = methods.get(name) else {
            continue;
        };
        if reached.insert(name, method).is_some() {
            continue;
        }
        for (on_self, called) in &method.calls {
            if *on_self && methods.contains_key(called) {
                to_read.push(called);
            } else if all.is_poll(called) {
                polls += 1;
            }
        }
    }
    let poll = ["poll", "start_send"].map(|name| of.methods.iter().find(|m| *m == name));
    let poll = poll.into_iter().flatten().next();
    let states = |name: &String| {
        let named = || reached.values().any(|method| method.names.contains(name));
        match outline.enums.get(name) {
            Some(variants) => *variants,
            None if named() => all.enums.get(name.as_str()).copied().unwrap_or_default(),
            None => 0,
        }
    };
    let lines = reached.values().map(|method| {
        let (from, to) = method.lines;
        outline.lines.range(from..=to).count()
    });
    Some(Machine {
        name: of.of.clone(),
        poll: poll.map(|name| methods[name].lines.0),
        lines: lines.sum(),
        within: of.lines,
        polls,
        states: match outline.structs.get(&of.of) {
            Some(fields) => fields.iter().map(states).max().unwrap_or_default(),
            None => states(&of.of),
        },
        place,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Role;
    use crate::outline::Outline;
    use crate::shape::Shapes;

    #[test]
    fn a_machine_has_the_polls_of_its_own_methods() {
        let text = "\
impl Future for Dispatcher {
    fn poll(&mut self) -> Poll<(), ()> {
        try_ready!(self.read_all());
        self.read_all()
    }
}
impl Dispatcher {
    fn read_all(&mut self) -> Poll<(), ()> {
        self.state = State::Body;
        try_ready!(self.body.poll_ready());
        self.conn.read_head()
    }
    fn close(&mut self) {
        self.conn.poll_close();
    }
}
struct Dispatcher { state: State, kind: Kind, conn: Conn }
impl Future for Idle {
    fn poll(&mut self) -> Poll<(), ()> {
        self.task = Some(task::current());
        Ok(Async::NotReady)
    }
}
";
        let file = syn::parse_file(text).unwrap();
        let source = Source {
            shown: "a.rs".into(),
            role: Role::Library,
            shapes: Shapes::of(&file),
            outline: Outline::of(text, Some(&file), false),
        };
        let all = All {
            enums: [("State", 5), ("Kind", 9)].into(),
            pollers: ["read_head", "read_all"].into(),
        };
        let at = |line| {
            let place = Place {
                file: "a.rs".into(),
                line,
                item: "futures::Future".into(),
                sure: true,
            };
            machine(place, 6, &source, &all).unwrap()
        };
        assert_eq!(at(18).kind(), MachineKind::Alone);
        let machine = at(1);
        // Of `Kind`, no method that is called has a word.
        assert_eq!((machine.states, machine.polls, machine.lines), (5, 2, 9));
        assert_eq!(
            (machine.poll, machine.kind()),
            (Some(2), MachineKind::Several)
        );
        assert!(machine
            .summary()
            .starts_with("Future for Dispatcher: 9 lines, 5 states"));
    }
}
