//! Runs case.rs on futures as it is and as it was made, optimised as far as the fault needs.

use std::fs;
use std::path::Path;

use anyhow::{bail, ensure, Context, Result};

use crate::toolchain::{first_error, Toolchain};

/// Two lines on the case: on the futures in folder `before`, and on that in `after`. An error if a
/// task is lost on the latter.
pub fn run(folder: &Path, before: &Path, after: &Path, toolchain: &Toolchain) -> Result<String> {
    let (major, minor) = toolchain.version(Path::new("/"))?;
    let lost = |name, futures| lost(&folder.join(name), futures, toolchain);
    let (before, after) = (lost("before", before)?, lost("after", after)?);
    ensure!(
        after == NONE,
        "the change does not help with rustc {major}.{minor}: {after}"
    );
    Ok(format!(
        "rustc {major}.{minor}, opt-level 3, codegen-units 1\n  before: {before}\n  after:  {after}\n"
    ))
}

const NONE: &str = "0 of 1000 tasks never woken again";

/// Builds and runs the case on the futures of a folder.
fn lost(folder: &Path, futures: &Path, toolchain: &Toolchain) -> Result<String> {
    fs::create_dir_all(folder.join("src"))?;
    let path = toml_edit::Value::from(futures.to_string_lossy().into_owned());
    let manifest = format!(
        "[package]\nname = \"case\"\nversion = \"0.0.0\"\n[workspace]\n[dependencies]\n\
         futures = {{ path = {path} }}\n[profile.release]\nopt-level = 3\ncodegen-units = 1\n"
    );
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::write(folder.join("src/main.rs"), include_str!("case.rs"))?;
    let _ = fs::remove_file(folder.join("Cargo.lock"));
    let target = folder.join("target");
    let offline = Toolchain {
        offline: true,
        ..toolchain.clone()
    };
    let cargo = |subcommand| {
        let mut cargo = offline.cargo(folder, subcommand);
        cargo.args(["--release", "--target-dir"]);
        cargo.arg(&target).output().context("cannot start cargo")
    };
    let output = cargo("build")?;
    if !output.status.success() {
        bail!(
            "the case does not build: {}",
            first_error(&String::from_utf8_lossy(&output.stderr))
        );
    }
    // cargo knows where it is, and how it runs: its settings may have `build.target`.
    let output = cargo("run")?;
    let tasks = String::from_utf8_lossy(&output.stdout);
    Ok(match tasks.trim().parse::<usize>() {
        Ok(tasks) => format!("{tasks} of 1000 tasks never woken again"),
        Err(_) => format!(
            "the case died: {}",
            first_error(&String::from_utf8_lossy(&output.stderr))
        ),
    })
}
