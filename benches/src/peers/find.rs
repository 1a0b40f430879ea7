//! Builds a peer or looks for it, and asks for its version. One that can't be had is named with its reason.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::spec::Spec;

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

/// A peer that can't, and why.
#[derive(Clone, Debug)]
pub struct Missing {
    pub spec: Spec,
    pub reason: String,
}

/// Looks for one peer. `project` is the folder above `benches/`; executables are copied to `folder`, since two builds
/// may write to one path. With `clean`, cargo builds it into an empty folder.
pub fn find(spec: Spec, project: &Path, folder: &Path, clean: bool) -> Result<Found, Box<Missing>> {
    match try_find(&spec, project, folder, clean) {
        Ok((binary, version, built_in)) => Ok(Found {
            spec,
            version,
            binary,
            built_in,
        }),
        Err(reason) => Err(Box::new(Missing { spec, reason })),
    }
}

type Things = (PathBuf, String, Option<Duration>);

fn try_find(spec: &Spec, project: &Path, folder: &Path, clean: bool) -> Result<Things, String> {
    let mut built_in = None;
    let binary = match &spec.build {
        Some(command) => {
            let kept = folder.join(&spec.name);
            built_in = build(command, project, &kept, clean)?;
            kept
        }
        None => PathBuf::new(),
    };
    let version = match (&spec.locked, &spec.version) {
        (Some([lock, package]), _) => {
            let text =
                fs::read_to_string(project.join(lock)).map_err(|e| format!("{lock}: {e}"))?;
            let version = locked(&text, package).map_err(|e| format!("{lock}: {e}"))?;
            let (package, _) = package.split_once('@').unwrap_or((package, ""));
            format!("{package} {version}")
        }
        (None, Some(command)) => {
            let (program, arguments) = command
                .split_first()
                .ok_or("its version command is empty")?;
            let output = Command::new(program).args(arguments).output();
            version_line(&output.map_err(|e| format!("{program}: {e}"))?)
        }
        (None, None) => "unknown".to_string(),
    };
    Ok((binary, version, built_in))
}

/// Runs a build command whose executable becomes `kept`: cargo's one, or what another command writes to `{binary}`.
/// With `clean`, returns how long cargo took to build it from nothing, downloads left out.
fn build(
    command: &str,
    project: &Path,
    kept: &Path,
    clean: bool,
) -> Result<Option<Duration>, String> {
    let words: Vec<String> = command
        .split_whitespace()
        .map(|word| word.replace("{binary}", &kept.to_string_lossy()))
        .collect();
    let (program, arguments) = words.split_first().ok_or("its build command is empty")?;
    let manifest = arguments
        .iter()
        .skip_while(|word| *word != "--manifest-path")
        .nth(1);
    if let Some(manifest) = manifest.filter(|path| !project.join(path).exists()) {
        return Err(format!("{manifest} does not exist"));
    }
    let mut builder = Command::new(program);
    builder.args(arguments).current_dir(project);
    let is_cargo = program == "cargo";
    if is_cargo {
        builder.arg("--message-format=json-render-diagnostics");
    }
    // The programs of benches/ share a package: its time would say nothing about one of them.
    let of_its_own = !manifest.is_some_and(|path| path.starts_with("benches/"));
    let clean = clean && is_cargo && of_its_own;
    let target = kept.with_extension("target");
    if clean {
        let mut fetch = Command::new(program);
        fetch.args(["fetch", "--locked"]).current_dir(project);
        if let Some(manifest) = manifest {
            fetch.args(["--manifest-path", manifest]);
        }
        let output = fetch.output().map_err(|e| format!("{program}: {e}"))?;
        if !output.status.success() {
            return Err(format!("its packages: {}", first_error(&output)));
        }
        builder.env("CARGO_TARGET_DIR", &target);
    }
    let begun = Instant::now();
    let output = builder.output().map_err(|e| format!("{program}: {e}"))?;
    let took = clean.then(|| begun.elapsed());
    if !output.status.success() {
        return Err(format!("its build failed: {}", first_error(&output)));
    }
    if !is_cargo {
        return Ok(None);
    }
    let made = executables(&String::from_utf8_lossy(&output.stdout));
    match &made[..] {
        [one] => fs::copy(one, kept)
            .map(drop)
            .map_err(|e| format!("its executable can't be copied: {e}"))?,
        [] => return Err("its build made no executable".to_string()),
        _ => return Err("its build made several executables; name one with --bin".to_string()),
    }
    if clean {
        fs::remove_dir_all(&target).map_err(|e| format!("{}: {e}", target.display()))?;
    }
    Ok(took)
}

fn first_error(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().find(|line| line.starts_with("error"));
    let line = line.or_else(|| text.lines().next_back());
    line.unwrap_or("no reason given").to_string()
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
pub fn version_line(output: &Output) -> String {
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    let lines = || {
        out.lines()
            .chain(err.lines())
            .map(str::trim)
            .filter(|line| !line.is_empty())
    };
    let line = lines()
        .find(|line| line.contains("version"))
        .or_else(|| lines().next());
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
        let output = |out: &str, err: &str| Output {
            status: std::process::ExitStatus::from_raw(0),
            stdout: out.into(),
            stderr: err.into(),
        };
        let socat = output(
            "socat by its authors\nsocat version 1.7.4.4 on some day\n",
            "",
        );
        assert_eq!(version_line(&socat), "socat version 1.7.4.4 on some day");
        assert_eq!(
            version_line(&output("", "nginx version: nginx/1.22.1\n")),
            "nginx version: nginx/1.22.1"
        );
        assert_eq!(version_line(&output("", "")), "unknown");
    }

    #[test]
    fn a_manifest_that_is_not_there_is_the_reason() {
        let reason = build(
            "cargo build --manifest-path none/Cargo.toml",
            Path::new("/"),
            Path::new("/dev/null"),
            false,
        )
        .unwrap_err();
        assert_eq!(reason, "none/Cargo.toml does not exist");
    }
}
