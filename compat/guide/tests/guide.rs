//! MIGRATION.md, the READMEs, and the files and tests that they name must not drift apart. That
//! their blocks of Rust compile and run is checked by `src/lib.rs`.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A document of this repository.
struct Page {
    path: &'static str,
    text: &'static str,
}

const GUIDE: Page = Page {
    path: "MIGRATION.md",
    text: include_str!("../../../MIGRATION.md"),
};

const TOKIO_0_1: Page = Page {
    path: "compat/drop-in/tokio-0.1/README.md",
    text: include_str!("../../drop-in/tokio-0.1/README.md"),
};

const PAGES: [Page; 6] = [
    GUIDE,
    Page {
        path: "compat/README.md",
        text: include_str!("../../README.md"),
    },
    Page {
        path: "compat/drop-in/tokio-core/README.md",
        text: include_str!("../../drop-in/tokio-core/README.md"),
    },
    TOKIO_0_1,
    Page {
        path: "compat/adapters/README.md",
        text: include_str!("../../adapters/README.md"),
    },
    Page {
        path: "compat/ladder/README.md",
        text: include_str!("../../ladder/README.md"),
    },
];

/// A file of the repository, by its path from there.
fn from_root(path: impl AsRef<Path>) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// All `row_…` names in a text, each with what comes before it.
fn rows(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.match_indices("row_").filter_map(|(at, _)| {
        let name = text[at..]
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .next()?;
        // `row_…` stands for all of them.
        (name.len() > "row_".len()).then_some((&text[..at], name))
    })
}

/// The tests of `tests/traps/`, and those that need old versions.
fn traps() -> BTreeSet<String> {
    let mut traps = BTreeSet::new();
    for folder in ["compat/guide/tests/traps", "compat/guide/faults/src"] {
        for file in fs::read_dir(from_root(folder)).unwrap() {
            let path = file.unwrap().path();
            let source = fs::read_to_string(&path).unwrap();
            for (before, name) in rows(&source) {
                if before.ends_with("fn ") {
                    assert!(is_compiled(&path), "{}", path.display());
                    assert!(is_run(before), "{name}");
                    traps.insert(name.to_owned());
                }
            }
        }
    }
    traps
}

/// Whether a file of `tests/traps/` is one of a crate's modules; those elsewhere are crates.
fn is_compiled(path: &Path) -> bool {
    let stem = path.file_stem().unwrap().to_str().unwrap();
    match (path.parent().unwrap().ends_with("traps"), stem) {
        (false, _) | (true, "main") => true,
        (true, "refusals") => include_str!("../src/lib.rs").contains("tests/traps/refusals.rs"),
        (true, name) => include_str!("traps/main.rs").contains(&format!("\nmod {name};")),
    }
}

/// Whether the function which begins where `before` ends is a test, or the documentation of one
/// that must not compile.
fn is_run(before: &str) -> bool {
    let head = before.rsplit("\n\n").next().unwrap_or_default();
    let is_test = ["#[test]", "#[tokio::test", "```compile_fail"];
    is_test.iter().any(|mark| head.contains(mark)) && !head.contains("#[ignore")
}

/// The rows of the guide's table of idioms.
fn idioms() -> impl Iterator<Item = &'static str> {
    let from_head = GUIDE
        .text
        .lines()
        .skip_while(|line| !line.starts_with("| # |"));
    from_head.skip(2).take_while(|line| line.starts_with("| "))
}

#[test]
fn every_test_that_is_named_exists() {
    let traps = traps();
    for page in &PAGES {
        for (_, name) in rows(page.text) {
            assert!(
                traps.contains(name),
                "{}: there is no test {name}",
                page.path
            );
        }
    }
}

#[test]
fn every_trap_is_in_its_row_of_the_table() {
    for name in traps() {
        let number: u32 = name["row_".len()..]
            .split('_')
            .next()
            .unwrap()
            .parse()
            .unwrap();
        let row = idioms().find(|row| row.starts_with(&format!("| {number} |")));
        assert!(
            row.is_some_and(|row| row.contains(&format!("`{name}`"))),
            "{name} is not there"
        );
    }
}

#[test]
fn at_least_thirty_rows_have_a_test() {
    let rows: BTreeSet<String> = traps().iter().map(|name| name[..6].to_owned()).collect();
    assert!(rows.len() >= 30);
    for number in [6, 8, 21, 30, 31, 37, 38, 43, 49, 51, 52, 55, 56, 58, 59, 60] {
        assert!(
            rows.contains(&format!("row_{number:02}")),
            "row {number} has no test"
        );
    }
}

#[test]
fn the_readme_counts_the_rows() {
    let (shown, bare): (Vec<_>, Vec<_>) = idioms().partition(|row| row.contains("`row_"));
    let count = format!(
        "{} idioms with their traps, {} of them shown by tests",
        shown.len() + bare.len(),
        shown.len()
    );
    let readme = fs::read_to_string(from_root("README.md")).unwrap();
    assert!(readme.contains(&count), "README.md does not say: {count}");
}

/// The block of dependencies that the guide prints is the one that its snippets are compiled with.
#[test]
fn the_guides_manifest_is_the_one_that_compiles() {
    let dependencies = |text: &str| -> Vec<String> {
        let block = text.split("[dependencies]\n").nth(1).unwrap();
        let lines = block
            .lines()
            .take_while(|line| !line.starts_with(['`', '[', '#']));
        let code = lines.map(|line| line.split("   #").next().unwrap().to_owned());
        code.filter(|line| !line.is_empty()).collect()
    };
    let printed = dependencies(GUIDE.text);
    let compiled = dependencies(include_str!("../Cargo.toml"));
    let adapters = |line: &String| line.starts_with("tokio-core-compat = { path = ");
    assert_eq!(printed.len(), compiled.len());
    for (printed, compiled) in printed.iter().zip(&compiled) {
        assert!(
            printed == compiled || adapters(printed) && adapters(compiled),
            "{printed} is not {compiled}"
        );
    }
    // The traps may use more; the snippets of the guide may not.
    let names = compiled.iter().map(|line| line.split(' ').next().unwrap());
    let names: BTreeSet<String> = names.map(|name| name.replace('-', "_")).collect();
    let snippets = GUIDE.text.split("\n```rust\n").skip(1);
    for snippet in snippets.map(|text| text.split("\n```").next().unwrap()) {
        for used in snippet.lines().filter_map(|line| line.strip_prefix("use ")) {
            let used = used.split([':', ';']).next().unwrap();
            assert!(used == "std" || names.contains(used), "{used} is not in it");
        }
    }
}

/// The lines for tokio 0.1 that the pages print are those of the workspace whose tests pass.
#[test]
fn the_lines_for_tokio_0_1_are_those_of_its_programs() {
    let patches = |text: &str| -> Vec<(String, String)> {
        let block = text.split("[patch.crates-io]\nmio = ").nth(1).unwrap();
        let block = format!("mio = {block}");
        let lines = block.lines().take_while(|line| line.contains(" = { path"));
        lines
            .map(|line| {
                let path = line.split('"').nth(1).unwrap();
                let folder = path.rsplit('/').next().unwrap();
                (
                    line.split(' ').next().unwrap().to_owned(),
                    folder.to_owned(),
                )
            })
            .collect()
    };
    let manifest = include_str!("../../Cargo.toml");
    let tested = patches(manifest);
    assert!(tested.iter().all(|(name, folder)| name == folder));
    for page in [GUIDE, TOKIO_0_1] {
        assert_eq!(patches(page.text), tested, "{}", page.path);
    }
}

/// r5 passes the gate that the guide hands to its readers.
#[test]
fn the_gate_of_the_guide_is_ours() {
    let gate = GUIDE.text.split("grep -E '").nth(1).unwrap();
    let gate = gate.split('\'').next().unwrap();
    assert!(gate.starts_with("^(futures v0"), "{gate}");
    let ladder = fs::read_to_string(from_root(".ci/ladder")).unwrap();
    assert!(ladder.contains(&format!("lacks r5 '{gate}'")), "{gate}");
}

#[test]
fn no_page_has_a_gap_to_be_filled_in() {
    const GAPS: [&str; 3] = ["TODO", "FIXME", "XXX"];
    let pages = [
        "README",
        "docs/guide",
        "MIGRATION",
        "compat/README",
        "compat/ladder/README",
    ];
    let others = [
        "SECURITY",
        "CONTRIBUTING",
        "docs/operating",
        "docs/security",
    ];
    for page in pages.iter().chain(&others) {
        let page = format!("{page}.md");
        let text = fs::read_to_string(from_root(&page)).unwrap();
        for (number, line) in (1..).zip(text.lines()) {
            let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
            let gap = words.find(|word| GAPS.contains(word));
            assert_eq!(gap, None, "{page}, line {number}: {line}");
        }
    }
}

#[test]
fn every_link_leads_somewhere() {
    for page in &PAGES {
        let (prose, _) = take_apart(page.text);
        for (_, line) in &prose {
            for link in line.split("](").skip(1) {
                let link = link.split(')').next().unwrap_or_default();
                if let Err(missing) = look_up(page.path, link) {
                    panic!("{}: [{link}]: {missing}", page.path);
                }
            }
        }
    }
}

/// Finds the file that a link in `page` leads to, and its heading.
fn look_up(page: &str, link: &str) -> Result<(), String> {
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = match file {
        "" => from_root(page),
        file => from_root(page).with_file_name(file),
    };
    if !target.exists() {
        return Err(format!("no file {file}"));
    }
    if anchor.is_empty() {
        return Ok(());
    }
    let text = fs::read_to_string(target).map_err(|error| error.to_string())?;
    let (prose, _) = take_apart(&text);
    let mut headings = prose
        .iter()
        .filter_map(|(_, line)| line.strip_prefix('#').map(anchor_of));
    headings
        .any(|heading| heading == anchor)
        .then_some(())
        .ok_or_else(|| format!("no heading #{anchor}"))
}

/// The name that a heading gets when the file is shown as a page.
fn anchor_of(heading: &str) -> String {
    let heading = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// A line and its number, which counts from 1.
type Numbered<'a> = (usize, &'a str);

/// A fenced block of code.
struct Block<'a> {
    language: &'a str,
    /// The line of its fence.
    begins: usize,
    lines: Vec<Numbered<'a>>,
}

/// The text between the blocks, and the blocks.
fn take_apart(text: &str) -> (Vec<Numbered<'_>>, Vec<Block<'_>>) {
    let (mut prose, mut blocks) = (Vec::new(), Vec::<Block>::new());
    let mut inside = false;
    for (number, line) in (1..).zip(text.lines()) {
        match line.strip_prefix("```") {
            Some(_) if inside => inside = false,
            Some(language) => {
                inside = true;
                blocks.push(Block {
                    language: language.trim(),
                    begins: number,
                    lines: Vec::new(),
                });
            }
            None if inside => blocks
                .last_mut()
                .expect("it has begun")
                .lines
                .push((number, line)),
            None => prose.push((number, line)),
        }
    }
    (prose, blocks)
}

#[test]
fn every_diff_is_one_of_the_files_that_it_names() {
    let written = RefCell::new(BTreeSet::new());
    let read = |path: &str| {
        if let Some(step) = step_of(path) {
            if written.borrow_mut().insert(step.to_owned()) {
                write_tree(step)?;
            }
        }
        fs::read_to_string(from_root(path)).map_err(|error| format!("cannot read {path}: {error}"))
    };
    let wrong: Vec<String> = PAGES
        .iter()
        .flat_map(|page| {
            let (_, blocks) = take_apart(page.text);
            let diffs = blocks.into_iter().filter(|block| block.language == "diff");
            let wrong = diffs.filter_map(|diff| check(&diff, read).err().map(|e| (diff.begins, e)));
            let wrong = wrong.map(|(begins, error)| {
                format!("{}: the diff in line {begins}: {error}", page.path)
            });
            wrong.collect::<Vec<_>>()
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The step of the ladder to whose tree a file belongs.
fn step_of(path: &str) -> Option<&str> {
    path.strip_prefix("target/ladder/")?.split('/').next()
}

fn write_tree(step: &str) -> Result<(), String> {
    let ladder = from_root("compat/ladder/ladder");
    let output = Command::new(ladder).args(["tree", step]).output();
    let output = output.map_err(|error| format!("cannot run compat/ladder/ladder: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// One side of a diff: a file, and how far its lines have been found in it.
struct Side {
    path: String,
    lines: Vec<String>,
    found: usize,
}

impl Side {
    fn open(
        header: Option<&Numbered<'_>>,
        sign: &str,
        read: impl Fn(&str) -> Result<String, String>,
    ) -> Result<Side, String> {
        let path = header
            .and_then(|(_, line)| line.strip_prefix(sign))
            .ok_or_else(|| format!("it does not begin with `--- PATH` and `+++ PATH` ({sign})"))?
            .trim();
        let text = match path {
            "/dev/null" => String::new(),
            path => read(path)?,
        };
        let lines: Vec<String> = text.lines().map(|line| line.trim().to_owned()).collect();
        Ok(Side {
            path: path.to_owned(),
            lines,
            found: 0,
        })
    }

    /// Finds the next such line, and says which ones it has passed by.
    fn find(&mut self, wanted: &str, (number, line): Numbered<'_>) -> Result<&[String], String> {
        let rest = &self.lines[self.found..];
        let Some(passed) = rest.iter().position(|line| line == wanted) else {
            return Err(format!(
                "line {number} `{line}` is not in {}, after the lines before it",
                self.path
            ));
        };
        self.found += passed + 1;
        Ok(&rest[..passed])
    }
}

/// The lines that a diff has taken away since the last one that it showed of the new file.
#[derive(Default)]
struct Taken<'a> {
    lines: Vec<Numbered<'a>>,
    /// Whether it has shown one, so that they are known to have been after it.
    behind_one: bool,
}

impl Taken<'_> {
    /// A line as short as this, e.g. a brace, can be there for another reason.
    const SHORT: usize = 12;

    /// Fails if one of them is in the passage that they were taken from.
    fn from(&mut self, passage: &[String], path: &str) -> Result<(), String> {
        for (number, line) in self.lines.drain(..) {
            let taken = line[1..].trim();
            if taken.len() > Taken::SHORT && passage.iter().any(|line| line == taken) {
                return Err(format!("line {number} `{line}` stands in {path} still"));
            }
        }
        Ok(())
    }

    /// The same, where no line of the new file says how far the passage goes: it is one line.
    fn at_the_end(&mut self, new: &Side) -> Result<(), String> {
        let next = new.lines[new.found..].iter().take(1);
        let next = next.filter(|_| self.behind_one).cloned();
        self.from(&next.collect::<Vec<_>>(), &new.path)
    }
}

/// Whether the lines that a diff takes away are in the one file and no longer in the other, those
/// that it adds in the other, and the rest in both: in this order, and whatever their indentation.
fn check(diff: &Block<'_>, read: impl Fn(&str) -> Result<String, String>) -> Result<(), String> {
    let mut lines = diff.lines.iter();
    let mut old = Side::open(lines.next(), "--- ", &read)?;
    let mut new = Side::open(lines.next(), "+++ ", &read)?;
    let mut taken = Taken::default();
    for &(number, line) in lines {
        let (sign, wanted) = match line.chars().next() {
            Some(sign @ ('-' | '+' | ' ')) => (sign, line[1..].trim()),
            _ => (' ', line.trim()),
        };
        if wanted.starts_with("@@") {
            taken.at_the_end(&new)?;
            taken = Taken::default();
        }
        if wanted.is_empty() || wanted.starts_with("@@") || wanted.starts_with('…') {
            continue;
        }
        if sign != '+' {
            old.find(wanted, (number, line))?;
        }
        if sign == '-' {
            taken.lines.push((number, line));
            continue;
        }
        let path = new.path.clone();
        let mut passage = new.find(wanted, (number, line))?;
        if !taken.behind_one {
            // Where it begins is not said; that it ends here is.
            passage = &passage[passage.len().saturating_sub(1)..];
        }
        taken.from(passage, &path)?;
        taken.behind_one = true;
    }
    taken.at_the_end(&new)
}

/// The check itself, on two files of three lines.
mod diffs {
    use super::{check, take_apart};

    fn outcome(diff: &str) -> Result<(), String> {
        let read = |path: &str| match path {
            "old.rs" => Ok("fn f() {\n    old();\n}\n".to_owned()),
            "new.rs" => Ok("fn f() {\n    new();\n}\n".to_owned()),
            "kept.rs" => Ok("one();\n    it_is_still_there();\ntwo();\nthree();\n".to_owned()),
            path => Err(format!("cannot read {path}")),
        };
        let text = format!("Text.\n\n```diff\n{diff}\n```\n");
        let (_, blocks) = take_apart(&text);
        assert_eq!((blocks[0].language, blocks[0].begins), ("diff", 3));
        check(&blocks[0], read)
    }

    #[test]
    fn a_true_one_passes() {
        let whole = "--- old.rs\n+++ new.rs\n@@ f\n fn f() {\n-    old();\n+    new();\n }";
        assert_eq!(outcome(whole), Ok(()));
        let parts = "--- old.rs\n+++ new.rs\n-old();\n …\n…\n+new();\n\n }";
        assert_eq!(outcome(parts), Ok(()));
        assert_eq!(outcome("--- /dev/null\n+++ new.rs\n+    new();"), Ok(()));
        assert_eq!(outcome("--- old.rs\n+++ /dev/null\n-    old();"), Ok(()));
    }

    #[test]
    fn what_is_taken_away_is_gone_from_there() {
        let kept = "--- kept.rs\n+++ kept.rs\n";
        let there = [
            " one();\n-it_is_still_there();\n two();",
            " one();\n-it_is_still_there();\n…\n three();",
            "-it_is_still_there();\n two();",
            " one();\n-it_is_still_there();",
            " one();\n-it_is_still_there();\n@@ more\n three();",
        ];
        for lines in there {
            let error = outcome(&format!("{kept}{lines}")).unwrap_err();
            assert!(error.contains("stands in kept.rs still"), "{error}");
        }
        let elsewhere = [
            // Not in this passage.
            "-it_is_still_there();\n three();",
            // Nothing says where that was.
            "-it_is_still_there();",
            // Short.
            " two();\n-three();",
        ];
        for lines in elsewhere {
            assert_eq!(outcome(&format!("{kept}{lines}")), Ok(()));
        }
    }

    #[test]
    fn a_false_one_says_which_line() {
        let wrong = [
            (
                "--- old.rs\n+++ new.rs\n-    new();",
                "line 6 `-    new();` is not in old.rs",
            ),
            (
                "--- old.rs\n+++ new.rs\n+    old();",
                "line 6 `+    old();` is not in new.rs",
            ),
            (
                "--- old.rs\n+++ new.rs\n     old();",
                "line 6 `     old();` is not in new.rs",
            ),
            (
                "--- old.rs\n+++ new.rs\n }\n fn f() {",
                "line 7 ` fn f() {` is not in old.rs",
            ),
            (
                "--- old.rs\n+++ new.rs\n }\n…\n-old();",
                "line 8 `-old();` is not in old.rs",
            ),
            (
                "--- /dev/null\n+++ new.rs\n }",
                "line 6 ` }` is not in /dev/null",
            ),
            ("--- old.rs\n+++ gone.rs\n }", "cannot read gone.rs"),
            ("-    old();", "does not begin with `--- PATH`"),
            ("--- old.rs\n-    old();", "`+++ PATH`"),
        ];
        for (diff, told) in wrong {
            let error = outcome(diff).unwrap_err();
            assert!(error.contains(told), "{error}");
        }
    }
}
