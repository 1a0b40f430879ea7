//! What the compiler doesn't get to is scanned by its syntax, and the report says so.

use std::fs;

use crate::support::{package, scan};

#[test]
fn what_is_not_compiled_is_unsure() {
    let machine = "\
use futures::{future, Future};
fn wait(n: u8) {
    future::loop_fn(n, |n| Ok::<_, ()>(future::Loop::Break(n))).wait();
}
struct Machine;
impl Future for Machine {
    type Item = ();
}
";
    // The compiler reports what it can of a package with an error, but not of what depends on it.
    let folder = package(
        "uncompiled",
        "futures = \"0.1.31\"",
        &format!("use missing::Thing;\n{machine}"),
    );
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let root = manifest.replace("[workspace]", "[workspace]\nmembers = [\"above\"]");
    fs::write(folder.join("Cargo.toml"), root).unwrap();
    let above = manifest
        .replace("[workspace]\n", "")
        .replace("uncompiled", "above");
    fs::create_dir_all(folder.join("above/src")).unwrap();
    fs::write(
        folder.join("above/Cargo.toml"),
        above + "\nuncompiled = { path = \"..\" }",
    )
    .unwrap();
    fs::write(folder.join("above/src/lib.rs"), machine).unwrap();

    let report = scan(&folder, &[]);
    let failed = report["failed"].as_array().unwrap();
    let failed: Vec<_> = failed
        .iter()
        .map(|failed| failed["package"].as_str().unwrap())
        .collect();
    assert_eq!(failed, ["uncompiled", "above"]);
    let findings = report["findings"].as_array().unwrap();
    let found = findings
        .iter()
        .map(|f| (f["file"].as_str().unwrap(), &f["row"], &f["sure"]));
    let found: Vec<_> = found
        .map(|(file, row, sure)| format!("{file} {row} {sure}"))
        .collect();
    let (above, root) = ("above/src/lib.rs", "src/lib.rs");
    let row = |file, row, sure| format!("{file} {row} {sure}");
    assert_eq!(
        found,
        [
            row(above, 11, false),
            row(above, 20, false),
            row(above, 44, false),
            row(root, 11, true),
            row(root, 20, true),
            row(root, 44, true),
        ]
    );
}
