//! Compares this crate with those that do something alike: each cell of the table in ../README.md is
//! what a probe observed, or a dash where the crate has no item to probe.
//!
//! ```console
//! $ cargo run --locked              # fails when the table is not what the probes observe
//! $ cargo run --locked -- --write   # writes it
//! ```

mod io;
mod runtime;
mod task;

use std::future::Future;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, thread};

/// The columns: a crate, and what it is called in this package's lock file.
const CRATES: [(&str, &str); 4] = [
    ("this crate", "tokio-core-compat"),
    ("futures-util's `compat`", "futures-util"),
    ("tokio-compat", "tokio-compat"),
    ("async-compat", "async-compat"),
];

/// What a crate does; `None` when it has no item for it.
type Probe = Option<fn() -> String>;

/// A row of the table: a property, and a probe for each of [`CRATES`].
struct Row(&'static str, [Probe; 4]);

/// How long a probe may take before it counts as hung.
const TIMEOUT: Duration = Duration::from_secs(10);

fn observe(probe: Probe) -> String {
    let Some(probe) = probe else {
        return "–".into();
    };
    let (tx, rx) = mpsc::channel();
    thread::spawn(move || tx.send(probe()));
    match rx.recv_timeout(TIMEOUT) {
        Ok(observed) => observed,
        Err(mpsc::RecvTimeoutError::Timeout) => "hangs".into(),
        Err(mpsc::RecvTimeoutError::Disconnected) => "panics".into(),
    }
}

fn yes(observed: bool) -> String {
    if observed { "yes" } else { "no" }.into()
}

/// Runs a std future on tokio 1.
fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

fn version(name: &str) -> &'static str {
    let lock = include_str!("../Cargo.lock");
    let (_, after) = lock
        .split_once(&format!("name = \"{name}\"\nversion = \""))
        .expect("locked");
    after.split('"').next().expect("a version")
}

fn table() -> String {
    let heads = CRATES.map(|(title, name)| format!(" {title} {} |", version(name)));
    let mut table = format!("| |{}\n|---|{}\n", heads.concat(), "---|".repeat(4));
    for Row(property, probes) in [task::rows(), io::rows(), runtime::rows()]
        .into_iter()
        .flatten()
    {
        let cells = probes.map(|probe| format!(" {} |", observe(probe)));
        table += &format!("| {property} |{}\n", cells.concat());
    }
    table
}

fn main() -> ExitCode {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    // The first is for tests/matrix.rs, which compares README.md with it in no time.
    let [stored, readme] = ["tests/comparison.md", "README.md"].map(|f| format!("{folder}/{f}"));
    // A probe that panics is in the table.
    std::panic::set_hook(Box::new(|_| {}));
    let table = table();
    let before = fs::read_to_string(&stored).unwrap_or_default();
    if before == table {
        println!("README.md has what the probes observe");
        return ExitCode::SUCCESS;
    }
    print!("{table}");
    if std::env::args().nth(1).as_deref() != Some("--write") {
        eprintln!("tests/comparison.md has another table: run this with --write");
        return ExitCode::FAILURE;
    }
    let text = fs::read_to_string(&readme).unwrap();
    let (start, end) = ("<!-- comparison -->\n", "<!-- end of comparison -->\n");
    let (head, rest) = text.split_once(start).expect("the mark of the start");
    let (_, tail) = rest.split_once(end).expect("the mark of the end");
    fs::write(&readme, [head, start, &table, end, tail].concat()).unwrap();
    fs::write(&stored, table).unwrap();
    ExitCode::SUCCESS
}
