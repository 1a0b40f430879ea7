//! `compat/ladder/ladder`, in copies of what it reads.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// What the tool reads.
const PARTS: [&str; 7] = [
    "src",
    "Cargo.toml",
    "Cargo.lock",
    "compat/Cargo.toml",
    "compat/Cargo.lock",
    "compat/real/0.1.18/Cargo.lock",
    "compat/ladder",
];

/// A repository with those.
struct Repository {
    root: PathBuf,
}

impl Repository {
    fn new(name: &str) -> Repository {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&root);
        for part in PARTS {
            copy(&Path::new(ROOT).join(part), &root.join(part));
        }
        let repository = Repository { root };
        fs::write(repository.path(".gitignore"), "target/\n").unwrap();
        repository.git(".", &["init", "-q"]);
        repository.commit();
        repository
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    fn git(&self, folder: &str, arguments: &[&str]) -> String {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=test", "-c", "user.email=test@localhost"]);
        git.current_dir(self.path(folder)).env("GIT_EDITOR", "true");
        let output = git.args(arguments).output().unwrap();
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            stderr(&output)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    fn commit(&self) {
        self.git(".", &["add", "-A"]);
        self.git(".", &["commit", "-qm", "change"]);
    }

    fn changed(&self) -> String {
        self.git(".", &["diff", "--name-only"])
    }

    /// Replaces a text of a file.
    fn change(&self, path: &str, from: &str, to: &str) {
        let text = self.read(path);
        assert!(text.contains(from), "{path}: {from}");
        fs::write(self.path(path), text.replacen(from, to, 1)).unwrap();
    }

    fn ladder(&self, arguments: &[&str]) -> Output {
        let mut ladder = Command::new(self.path("compat/ladder/ladder"));
        ladder.args(arguments).output().unwrap()
    }

    fn succeed(&self, arguments: &[&str]) {
        let output = self.ladder(arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            stderr(&output)
        );
    }

    /// The line of a failure with this exit code.
    fn fail(&self, arguments: &[&str], code: i32) -> String {
        let output = self.ladder(arguments);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        said
    }
}

fn copy(from: &Path, to: &Path) {
    if !from.is_dir() {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
        return;
    }
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        copy(&entry.path(), &to.join(entry.file_name()));
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn what_edit_makes_of_the_patches_save_writes_back() {
    let repository = Repository::new("ladder-round-trip");
    repository.succeed(&["check"]);
    repository.succeed(&["edit"]);
    repository.succeed(&["save"]);
    assert_eq!(repository.changed(), "");

    repository.succeed(&["edit", "r3"]);
    let said = repository.fail(&["save"], 2);
    assert!(said.contains("in the middle of a rebase"), "{said}");
    let edit = "target/ladder/edit";
    repository.change(
        "target/ladder/edit/src/path.rs",
        "//! A path",
        "//! One path",
    );
    repository.git(edit, &["commit", "-qa", "--amend", "--no-edit"]);
    repository.git(edit, &["rebase", "--continue"]);
    repository.succeed(&["save"]);
    repository.succeed(&["tree", "trunk"]);
    repository.succeed(&["tree", "r3"]);
    assert!(repository
        .read("target/ladder/trunk/src/path.rs")
        .starts_with("//! A path"));
    assert!(repository
        .read("target/ladder/r3/src/path.rs")
        .starts_with("//! One path"));
    assert!(repository
        .read("compat/ladder/r5/src/path.rs")
        .starts_with("//! One path"));
}

#[test]
fn a_change_that_no_patch_touches_reaches_every_step() {
    let repository = Repository::new("ladder-change");
    repository.change("src/path.rs", "//! A path", "//! One path");
    for step in ["r0", "r4"] {
        repository.succeed(&["tree", step]);
        let path = format!("target/ladder/{step}/src/path.rs");
        assert!(repository.read(&path).starts_with("//! One path"), "{step}");
    }
    let said = repository.fail(&["check"], 1);
    assert!(
        said.contains("compat/ladder/r5/src/path.rs is not"),
        "{said}"
    );
    repository.succeed(&["edit"]);
    repository.succeed(&["save"]);
    repository.succeed(&["check"]);
    assert_eq!(
        repository.changed(),
        "compat/ladder/r5/src/path.rs\nsrc/path.rs\n"
    );
}

#[test]
fn a_conflict_names_the_patch_and_the_file_and_is_solved_with_git() {
    let repository = Repository::new("ladder-conflict");
    // The next lines are others from the trunk on.
    repository.change(
        "src/path.rs",
        "failover.worked(&path);",
        "failover.worked(&path); //",
    );
    repository.succeed(&["tree", "r2"]);
    for command in [&["tree", "r3"][..], &["check"], &["edit"]] {
        let said = repository.fail(command, 1);
        let next = if command == ["edit"] {
            "ladder save"
        } else {
            "ladder edit"
        };
        for part in ["steps/13-trunk.patch", "src/path.rs", next] {
            assert!(said.contains(part), "{command:?}: {said}");
        }
    }
    let edit = "target/ladder/edit";
    repository.git(edit, &["checkout", "-q", "--theirs", "src/path.rs"]);
    repository.git(edit, &["add", "-A"]);
    repository.git(edit, &["rebase", "--continue"]);
    repository.succeed(&["save"]);
    repository.succeed(&["tree", "r5"]);
    assert_eq!(
        repository.changed(),
        "compat/ladder/steps/13-trunk.patch\nsrc/path.rs\n"
    );
}

#[test]
fn what_it_cannot_do_is_one_line_and_exit_code_2() {
    let repository = Repository::new("ladder-errors");
    for command in ["show", "tree", "build", "edit"] {
        let said = repository.fail(&[command, "r9"], 2);
        assert!(said.contains("there is no step 'r9'"), "{said}");
    }
    let said = repository.fail(&["tree", "r0", "src"], 2);
    assert!(said.contains("is not empty"), "{said}");
    let said = repository.fail(&["save"], 2);
    assert!(said.contains("nothing to save"), "{said}");

    repository.change("compat/ladder/r5/src/path.rs", "//! A path", "//! One path");
    let said = repository.fail(&["edit"], 2);
    assert!(said.contains("r5/src/path.rs"), "{said}");
    assert!(said.contains("not committed"), "{said}");

    let python = Command::new("python3")
        .args(["-c", "import sys; print(sys.executable)"])
        .output();
    let python = String::from_utf8(python.unwrap().stdout).unwrap();
    let ladder = repository.path("compat/ladder/ladder");
    let output = Command::new(python.trim())
        .arg(ladder)
        .arg("list")
        .env("PATH", "/nowhere")
        .output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(stderr(&output), "ladder: git is missing: apt install git\n");
}
