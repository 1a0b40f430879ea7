//! Lets the compiler find the uses: `cargo check` of a project whose dependencies are marked.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufReader, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{bail, Context, Result};
use cargo_metadata::diagnostic::{Diagnostic, DiagnosticLevel};
use cargo_metadata::{Artifact, Message, PackageId, Target};

use crate::mark::NOTE;
use crate::project::{marked, mirror, Project};
use crate::toolchain::{first_error, Toolchain};

/// A use that the compiler reported.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Use {
    /// In the copy.
    pub file: PathBuf,
    pub line: usize,
    pub column: usize,
    /// The path in the table.
    pub path: String,
    /// False where the package doesn't compile, and the name alone was seen.
    pub sure: bool,
}

/// What the compiler found.
#[derive(Default)]
pub struct Checked {
    pub uses: BTreeSet<Use>,
    /// The local source files that were compiled, in the copy, and whether they belong to a library,
    /// to a program, or only to tests and examples.
    pub files: BTreeMap<PathBuf, Role>,
    /// The first error of each local package that doesn't compile.
    pub failed: BTreeMap<PackageId, String>,
}

/// What a source file is a part of; of several, the first.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Role {
    Library,
    Program,
    Test,
}

impl Role {
    /// The role of the files of a target, `None` for those of a build script.
    pub fn of(target: &Target) -> Option<Self> {
        if target.is_custom_build() {
            None
        } else if target.is_bin() {
            Some(Self::Program)
        } else if target.is_test() || target.is_example() || target.is_bench() {
            Some(Self::Test)
        } else {
            Some(Self::Library)
        }
    }
}

/// What to check beside libraries and programs.
#[derive(Clone, Copy, Default, Eq, PartialEq)]
pub struct Targets {
    pub tests: bool,
    pub examples: bool,
}

/// What the compiler warns of in local packages.
#[derive(Clone, Copy)]
pub struct Lints {
    /// With commas between them; these warn whatever the code says.
    pub forced: &'static str,
    /// Whether the lints that the code denies only warn.
    pub cap: bool,
}

/// The environment variable by which this program knows that it is to run the compiler.
pub const WRAPPER: &str = "CARGO_LEGACY_SCAN_SCRATCH";
/// The lints to force, where the compiler knows `--force-warn`.
const FORCE: &str = "CARGO_LEGACY_SCAN_FORCE_WARN";
/// Set where lints that the code denies only warn.
const CAP: &str = "CARGO_LEGACY_SCAN_CAP_LINTS";

/// Runs the compiler as cargo asks, for a scan in the folder that [`WRAPPER`] has. The marked crates
/// are compiled as leniently as those of a registry; the project's have the lints of the [`Lints`].
/// Does not return.
pub fn run_rustc(scratch: &Path) -> ! {
    let mut arguments = std::env::args_os().skip(1);
    let mut rustc = Command::new(arguments.next().unwrap_or_else(|| "rustc".into()));
    rustc.args(arguments);
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .map(PathBuf::from)
        .unwrap_or_default();
    if package.starts_with(marked(scratch)) {
        rustc.arg("--cap-lints=allow");
    } else if package.starts_with(mirror(scratch)) {
        // A lint that the code denies would end the build.
        if std::env::var_os(CAP).is_some() {
            rustc.arg("--cap-lints=warn");
        }
        if let Ok(lints) = std::env::var(FORCE) {
            for lint in lints.split(',') {
                rustc.arg(format!("--force-warn={lint}"));
            }
        }
    }
    std::process::exit(
        rustc
            .status()
            .ok()
            .and_then(|status| status.code())
            .unwrap_or(101),
    )
}

/// Checks the marked project once with each list of feature flags.
pub fn check(
    project: &Project,
    toolchain: &Toolchain,
    features: &[Vec<String>],
    targets: Targets,
) -> Result<Checked> {
    let mut checked = Checked::default();
    for flags in features {
        run(project, toolchain, flags, targets, &mut checked)?;
    }
    Ok(checked)
}

fn run(
    project: &Project,
    toolchain: &Toolchain,
    flags: &[String],
    targets: Targets,
    checked: &mut Checked,
) -> Result<()> {
    let root = project.metadata.workspace_root.as_std_path();
    let uses = &mut checked.uses;
    let lints = Lints {
        forced: "deprecated",
        cap: true,
    };
    let built = build(project, toolchain, flags, targets, lints, |seen| {
        if seen.level != DiagnosticLevel::Error {
            uses.extend(use_of(seen, root, project));
        }
    })?;
    for (package, error) in built.failed {
        checked.failed.entry(package).or_insert(error);
    }
    for (file, role) in built.files {
        add_file(&mut checked.files, file, role);
    }
    Ok(())
}

/// What a build consisted of.
#[derive(Default)]
pub struct Built {
    /// The first error of each local package that doesn't compile.
    pub failed: BTreeMap<PackageId, String>,
    /// As [`Checked::files`].
    pub files: BTreeMap<PathBuf, Role>,
}

/// Checks the copy of a project with some feature flags, and passes on what the compiler says of the
/// local packages. A dependency that doesn't compile is an error.
pub fn build(
    project: &Project,
    toolchain: &Toolchain,
    flags: &[String],
    targets: Targets,
    lints: Lints,
    mut said: impl FnMut(&Diagnostic),
) -> Result<Built> {
    let root = project.metadata.workspace_root.as_std_path();
    // The first `cargo metadata` has fetched everything.
    let offline = Toolchain {
        offline: true,
        ..toolchain.clone()
    };
    let mut command = offline.cargo(root, "check");
    command
        .args(["--workspace", "--message-format=json", "--target-dir"])
        .arg(project.target())
        .args(flags)
        .env("RUSTC_WRAPPER", std::env::current_exe()?)
        .env(WRAPPER, &project.scratch)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let (_, minor) = toolchain.version(root)?;
    if minor >= 60 {
        command.env(FORCE, lints.forced);
    }
    if lints.cap {
        command.env(CAP, "1");
    }
    if minor >= 74 {
        command.arg("--keep-going");
    }
    if targets.tests || targets.examples {
        command.args(["--lib", "--bins"]);
    }
    if targets.tests {
        command.args(["--tests"]);
    }
    if targets.examples {
        command.args(["--examples"]);
    }
    let mut child = command.spawn().context("cannot start cargo check")?;
    let mut stderr = child.stderr.take().expect("piped");
    let errors = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = stderr.read_to_string(&mut text);
        text
    });

    let local: BTreeSet<&PackageId> = project
        .local_packages()
        .map(|package| &package.id)
        .collect();
    let mut progress = Progress::new(project.metadata.packages.len());
    let mut built = Built::default();
    let mut foreign_error = None;
    let mut finished = BTreeSet::new();
    for message in Message::parse_stream(BufReader::new(child.stdout.take().expect("piped"))) {
        match message.context("cannot read what cargo check printed")? {
            Message::CompilerArtifact(artifact) => {
                progress.step(&artifact.target.name);
                if local.contains(&artifact.package_id) {
                    add_files(&mut built.files, &artifact, root, project);
                }
                finished.insert(artifact.package_id);
            }
            Message::CompilerMessage(message) => {
                let is_error = message.message.level == DiagnosticLevel::Error;
                if local.contains(&message.package_id) {
                    said(&message.message);
                    if is_error {
                        let text = message.message.message;
                        built.failed.entry(message.package_id).or_insert(text);
                    }
                } else if is_error {
                    let name = message.target.name;
                    foreign_error.get_or_insert((name, message.message.message));
                }
            }
            _ => {}
        }
    }
    progress.end();
    let status = child.wait()?;
    let errors = errors.join().unwrap_or_default();
    if status.success() {
        return Ok(built);
    }
    if let Some((name, error)) = foreign_error {
        bail!("the dependency '{name}' does not compile: {error}");
    }
    if built.failed.is_empty() {
        bail!("cargo check failed: {}", first_error(&errors));
    }
    // What depends on a package that fails isn't compiled either.
    for package in project.metadata.workspace_packages() {
        if !finished.contains(&package.id) {
            built
                .failed
                .entry(package.id.clone())
                .or_insert_with(|| "a package that it needs does not compile".to_owned());
        }
    }
    Ok(built)
}

fn add_file(files: &mut BTreeMap<PathBuf, Role>, file: PathBuf, role: Role) {
    let old = files.entry(file).or_insert(role);
    *old = role.min(*old);
}

/// The use that a diagnostic reports, if it is about a mark.
fn use_of(diagnostic: &Diagnostic, root: &Path, project: &Project) -> Option<Use> {
    let code = diagnostic.code.as_ref()?;
    if code.code != "deprecated" {
        return None;
    }
    let (what, note) = diagnostic.message.split_once(&format!(": {NOTE}"))?;
    // A variant passes its mark on to its fields.
    if what.contains("deprecated field") {
        return None;
    }
    let path = note.split_whitespace().next()?;
    let span = diagnostic.spans.iter().find(|span| span.is_primary)?;
    // What another crate's macro uses is not the project's to port; that it calls the macro is. Old
    // compilers name the macro in the place of its file.
    let file = root.join(&span.file_name);
    project.original(&file).filter(|_| file.is_file())?;
    Some(Use {
        file,
        line: span.line_start,
        column: span.column_start,
        path: path.to_owned(),
        sure: true,
    })
}

/// Adds the source files that the compiler read for an artifact, which its dep-info lists.
fn add_files(
    files: &mut BTreeMap<PathBuf, Role>,
    artifact: &Artifact,
    root: &Path,
    project: &Project,
) {
    let Some(role) = Role::of(&artifact.target) else {
        return;
    };
    let package = artifact.manifest_path.with_file_name("");
    for file in &artifact.filenames {
        let name = file.file_stem().unwrap_or_default();
        let name = name.strip_prefix("lib").unwrap_or(name);
        let Ok(text) = std::fs::read_to_string(file.with_file_name(format!("{name}.d"))) else {
            continue;
        };
        // Each file stands in a line of its own, too, before a colon.
        let names = text.lines().filter_map(|line| line.strip_suffix(':'));
        for name in names.filter(|name| name.ends_with(".rs")) {
            let name = name.replace("\\ ", " ");
            let folders = [root, package.as_std_path()];
            let found = folders.map(|folder| folder.join(&name));
            if let Some(file) = found.into_iter().find(|file| file.is_file()) {
                if project.original(&file).is_some() {
                    add_file(files, file, role);
                }
            }
        }
    }
}

/// Says on stderr how far the build has come.
struct Progress {
    done: usize,
    all: usize,
    terminal: bool,
}

impl Progress {
    fn new(all: usize) -> Self {
        Self {
            done: 0,
            all,
            terminal: std::io::stderr().is_terminal(),
        }
    }

    fn step(&mut self, name: &str) {
        self.done += 1;
        if self.terminal {
            eprint!(
                "\r\x1b[Kchecking: {} of about {}, {name}",
                self.done,
                self.all.max(self.done)
            );
            let _ = std::io::stderr().flush();
        } else if self.done % 25 == 0 {
            eprintln!(
                "checking: {} of about {}",
                self.done,
                self.all.max(self.done)
            );
        }
    }

    fn end(&self) {
        if self.terminal {
            eprint!("\r\x1b[K");
        }
    }
}
