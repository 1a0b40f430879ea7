//! The order of work: the guide's steps, applied to what was found.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{at, callers, counted, Facts, Task};
use crate::seams::{Machine, MachineKind};
use crate::size::percent;

/// A step of MIGRATION.md.
#[derive(Debug, Serialize)]
pub struct Step {
    pub number: u8,
    pub title: &'static str,
    /// Why these places belong to it.
    pub why: String,
    /// Empty where the project has nothing for it.
    pub tasks: Vec<Task>,
}

/// So many lines, and so great a part of a file in percent, are worth a look at what can move out.
const WORTH_SPLITTING: (usize, usize) = (100, 60);

/// The steps for a project whose functions in chains are these.
pub fn steps(facts: &Facts, chains: &BTreeMap<String, BTreeSet<usize>>) -> Vec<Step> {
    let step = |number, title, why: &str, tasks: Vec<Task>| Step {
        number,
        title,
        why: why.to_owned(),
        tasks: tasks
            .into_iter()
            .filter(|task| !task.places.is_empty())
            .collect(),
    };
    vec![
        step(
            0,
            "separate what never polls",
            &untouched(facts),
            separate(facts),
        ),
        step(
            1,
            "the runtime, by one line",
            "The change is small, is undone by deleting it, and makes each later step a local one.",
            runtime(facts),
        ),
        step(
            2,
            "tokio 1 owns main",
            "The owner of the Core also has the start, the signals and the shutdown: they become async together.",
            main(facts),
        ),
        step(
            3,
            "from the trunk to the leaves",
            "An async function awaits an old future at little cost; the reverse needs a box. So callers come first, in this order.",
            trunk(facts, chains),
        ),
        step(
            4,
            "dissolve or port the state machines",
            "A machine that polls one thing dissolves into the lines between awaits; one that polls several may need a port through Pin. Sockets move with the functions that name them.",
            machines(facts),
        ),
        step(
            5,
            "the last crossing",
            "The old crates leave the manifest when nothing names them any more.",
            last(facts),
        ),
    ]
}

fn untouched(facts: &Facts) -> String {
    let touched: BTreeSet<_> = facts.uses.iter().map(|used| &*used.file).collect();
    let files = facts.sources.iter();
    let lines: Vec<_> = files
        .filter(|(path, _)| !touched.contains(path))
        .map(|(_, source)| source.outline.lines.len())
        .collect();
    format!(
        "Code that touches no future needs no port. {} with {} lines touch none.",
        counted(lines.len(), "file", "files"),
        lines.iter().sum::<usize>()
    )
}

fn separate(facts: &Facts) -> Vec<Task> {
    let mut mixed = Vec::new();
    for (path, source) in facts.sources.iter() {
        let outline = &source.outline;
        let uses = facts.uses.iter().filter(|used| used.file == path);
        let functions = outline.functions_with(uses.map(|used| used.line));
        let pure = outline.lines.len() - outline.lines_in(&functions);
        let share = percent(pure, outline.lines.len());
        if !functions.is_empty() && pure >= WORTH_SPLITTING.0 && share >= WORTH_SPLITTING.1 {
            mixed.push((pure, format!("{}: {pure} lines, {share} %", source.shown)));
        }
    }
    mixed.sort_by(|a, b| b.cmp(a));
    let mixed = mixed.into_iter().map(|(_, text)| text).collect();
    vec![Task::new(
        "Move code out of these files: most of their lines are outside the functions that touch a future",
        mixed,
    )]
}

fn runtime(facts: &Facts) -> Vec<Task> {
    vec![
        Task::new(
            "Update the packages that pass broken addresses to the kernel, in a separate commit",
            facts.lock.broken.clone(),
        ),
        Task::new(
            "Add the drop-ins: lines of [patch.crates-io], and the packages that cargo must update",
            facts.lock.drop_ins.clone(),
        ),
        Task::at(
            "Move these calls to `spawn_blocking`: the library owns a Core (row 70)",
            facts.places(&[70]),
        ),
        Task::at(
            "Check that the type wrapped here has a descriptor: the drop-in requires one (row 53)",
            facts.places(&[53]),
        ),
    ]
}

fn main(facts: &Facts) -> Vec<Task> {
    vec![
        Task::at(
            "Make these async: they own a Core or a runtime (row 48)",
            at(&facts.seams.cores),
        ),
        Task::at("Use `tokio::signal` (row 65)", facts.places(&[65])),
        Task::at(
            "Decide how to handle each task's panic (row 38)",
            at(&facts.seams.spawns),
        ),
        Task::at(
            "Make these timers tokio's (rows 51, 52)",
            at(&facts.seams.timers),
        ),
        Task::at(
            "Move what blocks the thread to `spawn_blocking`, or await it (row 20)",
            facts.places(&[20]),
        ),
    ]
}

fn trunk(facts: &Facts, chains: &BTreeMap<String, BTreeSet<usize>>) -> Vec<Task> {
    let order = callers::first(facts.project, facts.sources);
    let files = order.iter().filter_map(|file| {
        let functions = counted(chains.get(file)?.len(), "function", "functions");
        Some(format!("{file}: {functions}"))
    });
    vec![Task::new(
        "Make the functions of these files async that chain combinators",
        files.collect(),
    )]
}

fn machines(facts: &Facts) -> Vec<Task> {
    let lines = |kind| {
        let machines = facts.seams.machines.iter();
        let mut machines: Vec<_> = machines.filter(|m| m.kind() == kind).collect();
        machines.sort_by_key(|machine| machine.lines);
        let line = |m: &Machine| format!("{} {}", m.place.shown(), m.summary());
        machines.into_iter().map(line).collect()
    };
    vec![
        Task::new(
            "Write these as an `async fn` or a call: they wrap one future",
            lines(MachineKind::Wrapper),
        ),
        Task::new(
            "Check how these are woken, which poll nothing: they are ready at once, or keep the waiting task (row 13)",
            lines(MachineKind::Alone),
        ),
        Task::new(
            "Dissolve these, which poll at one place, the shortest first",
            lines(MachineKind::Sequence),
        ),
        Task::new(
            "Read each of these: dissolve it if its states follow each other, port it if it polls several things at once",
            lines(MachineKind::Several),
        ),
        Task::at("Move these sockets to tokio 1", at(&facts.seams.sockets)),
    ]
}

fn last(facts: &Facts) -> Vec<Task> {
    let holders = facts.lock.holders.iter().map(|holder| holder.summary());
    vec![
        Task::new(
            "Replace these packages, which hold futures 0.1 in the lock file",
            holders.collect(),
        ),
        Task::at(
            "If others use this library, release a major version: these public functions show an old type (row 76; fewer where their module is private)",
            facts.public(),
        ),
    ]
}
