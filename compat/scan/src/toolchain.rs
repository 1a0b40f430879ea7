//! The cargo that scans, which may be another than the one that built this program.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{bail, Context, Result};

/// How cargo is started.
#[derive(Clone, Debug, Default)]
pub struct Toolchain {
    /// A toolchain of rustup, or cargo's own choice.
    pub name: Option<String>,
    /// No network, for cargo either.
    pub offline: bool,
}

impl Toolchain {
    /// A cargo in the folder, without the network where it is asked to do without.
    pub fn cargo(&self, folder: &Path, subcommand: &str) -> Command {
        let mut command = match &self.name {
            Some(name) => {
                let mut command = Command::new("rustup");
                command
                    .args(["run", name, "cargo"])
                    .env_remove("RUSTC")
                    .env("RUSTUP_AUTO_INSTALL", "0");
                command
            }
            None => Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())),
        };
        command
            .current_dir(folder)
            .arg(subcommand)
            .stdin(Stdio::null());
        // What the caller set for the build of its own tree, and what cargo sets for a subcommand.
        for variable in [
            "CARGO_TARGET_DIR",
            "CARGO_BUILD_TARGET_DIR",
            "CARGO_MANIFEST_DIR",
            "RUSTC_WRAPPER",
            "RUSTC_WORKSPACE_WRAPPER",
        ] {
            command.env_remove(variable);
        }
        if self.offline {
            command.arg("--offline");
        }
        command
    }

    /// Checks that the toolchain is there, and returns the major and minor number of its version.
    pub fn version(&self, folder: &Path) -> Result<(u32, u32)> {
        let name = self.name.as_deref().unwrap_or("default");
        let mut command = Self {
            offline: false,
            ..self.clone()
        }
        .cargo(folder, "-V");
        let output = command
            .output()
            .with_context(|| format!("the toolchain '{name}' does not work"))?;
        if !output.status.success() {
            bail!(
                "the toolchain '{name}' does not work: {}",
                first_error(&String::from_utf8_lossy(&output.stderr))
            );
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let mut numbers = text
            .split_whitespace()
            .nth(1)
            .unwrap_or_default()
            .split('.')
            .map(str::parse);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor))) => Ok((major, minor)),
            _ => bail!("the toolchain '{name}' has no version: {}", text.trim()),
        }
    }
}

/// The lines of an error of cargo that say what happened, as one line.
pub fn first_error(stderr: &str) -> String {
    let mut lines = stderr
        .lines()
        .map(str::trim)
        .skip_while(|line| !line.starts_with("error"));
    let first = lines.next().map_or_else(
        || stderr.trim(),
        |line| line.split_once(": ").map_or(line, |(_, text)| text),
    );
    // Where it happened, and what a build script that failed printed before.
    const AROUND: [&str; 6] = [
        "Caused by",
        "--> ",
        "--- ",
        "note: ",
        "cargo:",
        "process didn't exit",
    ];
    let cause = lines.filter(|line| {
        let is_place = line.contains(" panicked at ") && line.ends_with(':');
        !line.is_empty() && !is_place && !AROUND.iter().any(|start| line.starts_with(start))
    });
    let mut text = first.replace('\n', " ");
    for line in cause.take(3) {
        text.push_str("; ");
        text.push_str(line);
    }
    text
}
