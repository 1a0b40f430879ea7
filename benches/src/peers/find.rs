//! Builds a peer or looks for it, and asks for its version. One that can't be had is named with its reason.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::spec::Spec;
use crate::model::Peer;

/// A peer that can be started.
#[derive(Clone, Debug)]
pub struct Found {
    pub spec: Spec,
    pub version: String,
    /// The executable that was built; empty for a peer from a package.
    pub binary: PathBuf,
    /// How long its build from nothing took, where that was asked for.
    pub built_in: Option<Duration>,
}

impl Found {
    /// One that isn't built here and whose version isn't asked for.
    pub fn of_package(spec: Spec) -> Found {
        Found {
            spec,
            version: String::new(),
            binary: PathBuf::new(),
            built_in: None,
        }
    }

    /// As the results keep it, asked for all but these figures.
    pub fn described(&self, without: Vec<String>) -> Peer {
        let spec = &self.spec;
        Peer {
            name: spec.name.clone(),
            kind: spec.kind,
            about: spec.about.clone(),
            splice: spec.splice,
            same_steps: spec.same_steps,
            again: spec.again().cloned(),
            // With its placeholders: paths say something about a machine and nothing about a peer.
            start: spec.start.join(" "),
            version: self.version.clone(),
            tls: spec.tls,
            without,
        }
    }
}

/// Looks for one peer. `project` is the folder above `benches/`; executables are copied to `folder`, since two builds
/// may write to one path. With `clean`, cargo builds it into an empty folder. The error says why it can't be had.
pub fn find(spec: &Spec, project: &Path, folder: &Path, clean: bool) -> Result<Found, String> {
    let mut found = Found::of_package(spec.clone());
    if let Some(command) = &spec.build {
        found.binary = folder.join(&spec.name);
        let lock = spec.locked.as_ref().map(|[lock, _]| Path::new(lock));
        let lock = lock.filter(|_| clean);
        found.built_in = build(command, project, &found.binary, lock)?;
    }
    found.version = version(spec, project)?;
    Ok(found)
}

/// What its lock file or its own command says.
pub fn version(spec: &Spec, project: &Path) -> Result<String, String> {
    if let Some([lock, package]) = &spec.locked {
        let named = |e: &dyn Display| format!("{lock}: {e}");
        let text = fs::read_to_string(project.join(lock)).map_err(|e| named(&e))?;
        let version = locked(&text, package).map_err(|e| named(&e))?;
        let (package, _) = package.split_once('@').unwrap_or((package, ""));
        return Ok(format!("{package} {version}"));
    }
    let [program, arguments @ ..] = spec.version.as_deref().unwrap_or_default() else {
        return Ok("unknown".to_string());
    };
    Ok(version_line(&run(Command::new(program).args(arguments))?))
}

/// Runs a build command whose executable becomes `kept`: what it writes to `{binary}`, or cargo's one if it doesn't name
/// that. With its lock file, builds from nothing, and returns how long cargo took, downloads left out.
fn build(
    command: &str,
    project: &Path,
    kept: &Path,
    lock: Option<&Path>,
) -> Result<Option<Duration>, String> {
    let is_cargo = !command.contains("{binary}");
    // The programs of benches/ share a package: its time would say nothing about one of them.
    let of_its_own = !command.contains("--manifest-path benches/");
    let lock = lock.filter(|_| is_cargo && of_its_own);
    let binary = kept.to_string_lossy();
    let words = command.split_whitespace();
    let words: Vec<String> = words
        .map(|word| word.replace("{binary}", &binary))
        .collect();
    let (program, arguments) = words.split_first().ok_or("its build command is empty")?;
    let mut builder = match program.contains('/') {
        true => Command::new(project.join(program)),
        false => Command::new(program),
    };
    builder.args(arguments).current_dir(project);
    if is_cargo {
        builder.arg("--message-format=json-render-diagnostics");
    }
    let target = kept.with_extension("target");
    if let Some(lock) = lock {
        let mut fetch = Command::new("cargo");
        let manifest = project.join(lock).with_extension("toml");
        fetch.args(["fetch", "--locked", "--manifest-path"]);
        succeed("its packages", fetch.arg(manifest))?;
        builder.env("CARGO_TARGET_DIR", &target);
    }
    let begun = Instant::now();
    let output = succeed("its build failed", &mut builder)?;
    let took = lock.map(|_| begun.elapsed());
    if !is_cargo {
        return Ok(None);
    }
    match &executables(&String::from_utf8_lossy(&output.stdout))[..] {
        [one] => fs::copy(one, kept).map_err(|e| format!("its executable can't be copied: {e}"))?,
        [] => return Err("its build made no executable".to_string()),
        _ => return Err("its build made several executables; name one with --bin".to_string()),
    };
    if lock.is_some() {
        fs::remove_dir_all(&target).map_err(|e| format!("{}: {e}", target.display()))?;
    }
    Ok(took)
}

fn run(command: &mut Command) -> Result<Output, String> {
    let output = command.output();
    output.map_err(|e| format!("{}: {e}", command.get_program().display()))
}

/// An error is what failed and its first line, or its last one where none says "error".
fn succeed(what: &str, command: &mut Command) -> Result<Output, String> {
    let output = run(command)?;
    if output.status.success() {
        return Ok(output);
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| line.starts_with("error"));
    let line = line.or_else(|| text.lines().next_back());
    Err(format!("{what}: {}", line.unwrap_or("no reason given")))
}

/// The executables among cargo's messages.
fn executables(messages: &str) -> Vec<PathBuf> {
    #[derive(Deserialize)]
    struct Message {
        executable: Option<PathBuf>,
    }
    let messages = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Message>(line).ok());
    messages.filter_map(|message| message.executable).collect()
}

/// The version of a package in a lock file. `NAME@1` is the one whose version begins with `1.`, where there are several.
fn locked(lock: &str, package: &str) -> Result<String, String> {
    let table: toml::Table = lock.parse().map_err(|e| format!("{e}"))?;
    let (name, major) = package.split_once('@').unwrap_or((package, ""));
    let packages = table.get("package").and_then(toml::Value::as_array);
    let version = |p: &toml::Value| {
        let version = p.get("version")?.as_str()?;
        let is_it = p.get("name")?.as_str()? == name && version.starts_with(major);
        is_it.then(|| version.to_string())
    };
    let found: BTreeSet<String> = packages.into_iter().flatten().filter_map(version).collect();
    match found.len() {
        1 => Ok(found.into_iter().collect()),
        _ => Err(format!("it holds {found:?} of {package}")),
    }
}

/// The first line that speaks of a version, else the first that says anything.
fn version_line(output: &Output) -> String {
    let said = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    let lines = || said.iter().flat_map(|text| text.lines()).map(str::trim);
    let line = lines().find(|line| line.contains("version"));
    let line = line.or_else(|| lines().find(|line| !line.is_empty()));
    // Some add their home page.
    let line = line.unwrap_or("unknown");
    line.split(" - http").next().unwrap_or(line).to_string()
}

/// The folder above `benches/`.
pub fn project() -> io::Result<PathBuf> {
    let parent = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    parent
        .map(Path::to_path_buf)
        .ok_or_else(|| io::Error::other("benches/ has no folder above it"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn reads_a_lock_file() {
        let package =
            |name, version| format!("[[package]]\nname = '{name}'\nversion = '{version}'\n");
        let lock = ["0.1.22", "1.54.1"].map(|version| package("tokio", version));
        let lock = package("tokio-core", "0.1.12") + &lock.concat();
        assert_eq!(locked(&lock, "tokio-core").as_deref(), Ok("0.1.12"));
        assert_eq!(locked(&lock, "tokio@1").as_deref(), Ok("1.54.1"));
        let e = locked(&lock, "tokio").unwrap_err();
        assert_eq!(e, "it holds {\"0.1.22\", \"1.54.1\"} of tokio");
        assert!(locked(&lock, "mio").is_err());
    }

    #[test]
    fn reads_cargos_messages() {
        let messages = "{\"reason\":\"compiler-artifact\",\"executable\":null}\n\
                        {\"reason\":\"compiler-artifact\",\"executable\":\"/t/release/relay\"}\n\
                        {\"reason\":\"build-finished\",\"success\":true}\n";
        assert_eq!(executables(messages), [PathBuf::from("/t/release/relay")]);
    }

    #[test]
    fn a_version_is_the_line_that_says_so() {
        let line = |out: &str, err: &str| {
            version_line(&Output {
                status: std::process::ExitStatus::from_raw(0),
                stdout: out.into(),
                stderr: err.into(),
            })
        };
        let socat = line(
            "socat by its authors\nsocat version 1.7.4.4 on some day\n",
            "",
        );
        assert_eq!(socat, "socat version 1.7.4.4 on some day");
        assert_eq!(
            line("", "nginx version: nginx/1.22.1\n"),
            "nginx version: nginx/1.22.1"
        );
        assert_eq!(line("", ""), "unknown");
    }

    #[test]
    fn a_manifest_that_is_not_there_is_the_reason() {
        let command = "cargo build --manifest-path none/Cargo.toml";
        let reason = build(command, Path::new("/"), Path::new("/dev/null"), None).unwrap_err();
        assert!(
            reason.contains("`none/Cargo.toml` does not exist"),
            "{reason}"
        );
    }
}
