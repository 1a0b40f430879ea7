//! The command line.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{bail, ensure, Context, Result};
use clap::Parser;

use crate::check::{self, Targets};
use crate::explain;
use crate::history::History;
use crate::lock::Lock;
use crate::plan::{Facts, Plan};
use crate::project::Project;
use crate::ratchet::{self, Saved};
use crate::report::{html, print, sarif, terminal, write, Failed, Report};
use crate::scan;
use crate::seams::Seams;
use crate::size::Size;
use crate::soundness::Soundness;
use crate::sources::Sources;
use crate::table::Table;
use crate::toolchain::Toolchain;
use crate::tree::{self, Change};
use crate::{fix, harden};

/// Finds the uses of futures 0.1, tokio-core and tokio 0.1 in a project, and reports what each becomes
///
/// The compiler finds the uses: the scan checks a copy of the project against copies of those crates whose
/// items are marked as deprecated. The project itself isn't changed.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo legacy-scan", version)]
struct Arguments {
    /// Scan the project of this Cargo.toml
    #[arg(long, value_name = "FILE", default_value = "Cargo.toml")]
    manifest_path: PathBuf,
    /// Scan with this rustup toolchain, for a project that needs an older one
    #[arg(long, value_name = "NAME")]
    toolchain: Option<String>,
    /// Use no network: every crate must be in cargo's cache or in the vendor folder
    #[arg(long)]
    offline: bool,
    /// Take the crates from this folder of `cargo vendor`
    #[arg(long, value_name = "DIR")]
    vendor: Option<PathBuf>,
    /// Scan the default features, then all of them
    #[arg(long)]
    all_features: bool,
    /// Also scan tests
    #[arg(long)]
    tests: bool,
    /// Also scan examples
    #[arg(long)]
    examples: bool,
    /// Folder for copies and builds [default: cargo-legacy-scan in the user's cache]
    #[arg(long, value_name = "DIR")]
    scratch: Option<PathBuf>,
    /// Write the report as JSON to this file; `-` is stdout
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the findings as SARIF 2.1.0, for code review, to this file; `-` is stdout
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Write the report as one self-contained HTML page to this file; `-` is stdout
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Save the number of uses of each row in each file, for --check; with --check, only if none has grown
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "legacy-scan.json")]
    save: Option<PathBuf>,
    /// Exit with 1 if a file has more uses of a row than the saved number
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "legacy-scan.json")]
    check: Option<PathBuf>,
    /// Print the saved numbers over the git history of their file, with --html as a page; no scan
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "legacy-scan.json", conflicts_with_all = ["save", "check", "sarif", "fix", "harden"])]
    history: Option<PathBuf>,
    /// Explain a row of MIGRATION.md, or `fix` or `harden`; no scan
    #[arg(long, value_name = "ROW")]
    explain: Option<String>,
    /// Print a diff of edits that don't change the program's behaviour, and with which it still builds
    #[arg(long, conflicts_with_all = OF_A_SCAN)]
    fix: bool,
    /// Print a diff that makes the task handles of futures 0.1 sound, and test it; no scan
    #[arg(long, conflicts_with = "fix", conflicts_with_all = OF_A_SCAN)]
    harden: bool,
    /// Make the changes of --fix or --harden, all or none; requires that git has everything committed
    #[arg(long)]
    write: bool,
}

/// What only a scan can write or compare.
const OF_A_SCAN: [&str; 5] = ["json", "sarif", "html", "save", "check"];

/// Does what the command line asks for.
pub fn run() -> Result<ExitCode> {
    // cargo passes the name of the subcommand first.
    let own = std::env::args_os().enumerate();
    let words = own
        .filter(|(at, word)| !(*at == 1 && word == "legacy-scan"))
        .map(|(_, word)| word);
    let arguments = Arguments::parse_from(words);
    if let Some(what) = &arguments.explain {
        let text = match what.parse() {
            Ok(row) => explain::explain(row, &Table::load()),
            Err(_) => explain::option(what).map(str::to_owned),
        };
        let text = text.with_context(|| format!("MIGRATION.md has no row {what}"))?;
        print(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
    ensure!(
        !arguments.write || arguments.fix || arguments.harden,
        "--write requires --fix or --harden"
    );
    if let Some(file) = &arguments.history {
        draw(file, &arguments)?;
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.fix {
        print(&fix(&arguments)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.harden {
        print(&harden(&arguments)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    // Before the build, which takes a while.
    let options = options(&arguments);
    let saved = arguments.check.as_deref().map(|file| {
        let saved = Saved::load(file)?;
        saved.ensure_scanned_with(&options, file).map(|()| saved)
    });
    let saved = saved.transpose()?;
    let report = scan(&arguments)?;
    let mut to_stdout = false;
    type Render = fn(&Report) -> Result<String>;
    let forms: [(_, Render); 3] = [
        (&arguments.json, Report::json),
        (&arguments.sarif, sarif::render),
        (&arguments.html, html::render),
    ];
    for (file, render) in forms {
        if let Some(file) = file {
            write(file, &render(&report)?)?;
            to_stdout |= file.as_os_str() == "-";
        }
    }
    if !to_stdout {
        print(&terminal::render(&report))?;
    }
    if let Some(failed) = report.failed.first() {
        if arguments.save.is_some() || arguments.check.is_some() {
            let (package, error) = (&failed.package, &failed.error);
            bail!("cannot count the uses: {package} does not compile ({error}); fix it first");
        }
    }
    let uses = ratchet::counts(&report.findings);
    let grown = saved.map_or_else(Vec::new, |saved| ratchet::grown(&saved.uses, &uses));
    for line in &grown {
        eprintln!("cargo legacy-scan: {line}");
    }
    if let Some(file) = arguments.save.as_ref().filter(|_| grown.is_empty()) {
        Saved { options, uses }.write(file)?;
    }
    Ok(ExitCode::from(u8::from(!grown.is_empty())))
}

/// The options that add to what is scanned.
fn options(arguments: &Arguments) -> Vec<String> {
    let options = [
        (arguments.all_features, "--all-features"),
        (arguments.tests, "--tests"),
        (arguments.examples, "--examples"),
    ];
    let given = options.iter().filter(|(given, _)| *given);
    given.map(|(_, name)| (*name).to_owned()).collect()
}

/// Draws the history of a file of --save in the forms that are asked for.
fn draw(file: &Path, arguments: &Arguments) -> Result<()> {
    let history = History::of(file)?;
    if arguments.html.is_none() && arguments.json.is_none() {
        print(&history.text())?;
    }
    if let Some(file) = &arguments.html {
        write(file, &history.html()?)?;
    }
    if let Some(file) = &arguments.json {
        write(file, &history.json()?)?;
    }
    Ok(())
}

/// The project's copy, in a folder of its own in the scratch folder.
fn copy(arguments: &Arguments, folder: &str) -> Result<(Project, Toolchain)> {
    let toolchain = Toolchain {
        name: arguments.toolchain.clone(),
        offline: arguments.offline,
    };
    let (major, minor) = toolchain.version(&std::env::current_dir()?)?;
    ensure!(
        (major, minor) >= (1, 39),
        "cannot scan with cargo {major}.{minor}: the scan needs 1.39 or later; name one with --toolchain"
    );
    eprintln!("copying the project");
    let scratch = arguments.scratch.clone().map_or_else(default_scratch, Ok)?;
    let project = Project::copy(
        &arguments.manifest_path,
        &scratch.join(folder),
        arguments.vendor.as_deref(),
        &toolchain,
    )?;
    harden::futures(&project)?;
    Ok((project, toolchain))
}

/// Fails unless what the arguments ask to write can be undone by git.
fn ensure_writable(arguments: &Arguments) -> Result<()> {
    let manifest = &arguments.manifest_path;
    if arguments.write && manifest.is_file() {
        tree::ensure_clean(&manifest.canonicalize()?.with_file_name(""))?;
    }
    Ok(())
}

/// Fixes the project, in its copy or, with `--write`, in the tree, and says what that changes.
fn fix(arguments: &Arguments) -> Result<String> {
    ensure_writable(arguments)?;
    let (project, toolchain) = copy(arguments, "changed")?;
    let fixed = fix::fix(&project, &toolchain, &features(arguments), &Table::load())?;
    let mut text: String = fixed.changes.iter().map(Change::diff).collect();
    for kept in &fixed.kept {
        text += &format!("not changed: {kept}\n");
    }
    let count = fixed.changes.len();
    if arguments.write {
        tree::write(&project.root(), &fixed.changes)?;
        text += &format!("{count} files written; the project builds as before\n");
    } else {
        text += &format!("{count} files to change; --write changes them\n");
    }
    Ok(text)
}

/// The flags of each build that a scan or a fix makes.
fn features(arguments: &Arguments) -> Vec<Vec<String>> {
    let mut features = vec![vec![]];
    if arguments.all_features {
        features.push(vec!["--all-features".to_owned()]);
    }
    features
}

/// Hardens the project's futures 0.1, in its copy or, with `--write`, in the tree, and says what that changes.
fn harden(arguments: &Arguments) -> Result<String> {
    ensure_writable(arguments)?;
    let (project, toolchain) = copy(arguments, "changed")?;
    let hardened = harden::harden(&project, &toolchain)?;
    let mut text: String = hardened.changes.iter().map(Change::diff).collect();
    text += &hardened.proof;
    if arguments.write {
        hardened.write(&project.root())?;
        text += &format!("wrote {} and [patch] in Cargo.toml\n", hardened.folder);
    } else {
        text += &format!(
            "--write copies futures to {}, with the first change, and makes the others\n",
            hardened.folder
        );
    }
    Ok(text)
}

fn scan(arguments: &Arguments) -> Result<Report> {
    let table = Table::load();
    let (project, toolchain) = copy(arguments, "")?;
    project.mark(&table)?;
    let targets = Targets {
        tests: arguments.tests,
        examples: arguments.examples,
    };
    let checked = check::check(&project, &toolchain, &features(arguments), targets)?;
    let uses = scan::uses(&table, &project, &checked)?;
    let sources = Sources::read(&project, &checked, &uses, targets)?;
    let findings = scan::findings(&table, &uses, &sources);
    let failed = checked.failed.iter().map(|(id, error)| Failed {
        package: project.metadata[id].name.to_string(),
        error: error.clone(),
    });
    let lock = Lock::of(&project, &table)?;
    let seams = Seams::of(&table, &uses, &sources);
    let plan = Plan::of(&Facts {
        project: &project,
        table: &table,
        uses: &uses,
        sources: &sources,
        findings: &findings,
        seams: &seams,
        lock: &lock,
    });
    Ok(Report {
        project: project.root().display().to_string(),
        size: Size::of(&uses, &sources),
        soundness: Soundness::of(&project, &toolchain)?,
        lock,
        failed: failed.collect(),
        findings,
        seams,
        plan,
    })
}

fn default_scratch() -> Result<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
    Ok(cache
        .context("no home folder found; set a folder with --scratch")?
        .join("cargo-legacy-scan"))
}
