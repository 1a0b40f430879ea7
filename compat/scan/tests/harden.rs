//! `--harden` shows and proves a change, writes it on request, and the result builds and is scanned.

use std::fs;
use std::process::Command;

use crate::support::{command, git, package, scan, snapshot, stderr};

/// The target that the compiler builds for by default.
fn host() -> String {
    let said = Command::new("rustc").arg("-vV").output().unwrap().stdout;
    let said = String::from_utf8(said).unwrap();
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.unwrap().to_owned()
}

#[test]
fn it_is_shown_then_written_and_proved_both_times() {
    let source = "use std::sync::Arc;\nuse futures::executor::{spawn, Notify};\n\
        struct N;\nimpl Notify for N {\n    fn notify(&self, _: usize) {}\n}\n\
        pub fn f() {\n    let _ = spawn(futures::future::ok::<u8, ()>(1)).poll_future_notify(&Arc::new(N), 0);\n}\n";
    let folder = package("harden", "futures = \"0.1.31\" # old\n", source);
    git(&folder, &["init", "-q"]);
    git(&folder, &["add", "."]);
    git(&folder, &["commit", "-qm", "all"]);

    let report = scan(&folder, &[]);
    let soundness = &report["soundness"];
    assert!(
        soundness["verdict"]
            .as_str()
            .unwrap()
            .starts_with("--harden is needed"),
        "{soundness}"
    );
    assert!(
        soundness["verdict"]
            .as_str()
            .unwrap()
            .ends_with("; profile release: opt-level 3"),
        "{soundness}"
    );
    let signs = [
        "src/lib.rs:4 implements Notify",
        "src/lib.rs:8 calls poll_future_notify",
    ];
    assert_eq!(soundness["signs"], serde_json::json!(signs));
    // The first build of a lock file is the scan's, in its copy.
    assert!(!folder.join("Cargo.lock").exists());

    let before = snapshot(&folder);
    // With this setting, cargo builds in a folder of the target's.
    let target = host();
    let run = |arguments: &[&str]| {
        let mut command = command(&folder, arguments);
        command.env("CARGO_BUILD_TARGET", &target).output().unwrap()
    };
    let shown = run(&["--harden"]);
    let text = String::from_utf8(shown.stdout.clone()).unwrap();
    assert!(shown.status.success(), "{}", stderr(&shown));
    assert_eq!(snapshot(&folder), before);
    for part in [
        "\n-struct ArcWrapped<T>(PhantomData<T>);\n",
        "\n+struct ArcWrapped<T>(PhantomData<T>, [::std::sync::atomic::AtomicBool; 0]);\n",
        "\n+futures = { path = \"patched/futures-0.1.31\" }\n",
        " tasks never woken again\n  after:  0 of 1000 tasks never woken again\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // A compiler without the fault would say 0 of 1000.
    println!("{text}");

    let written = run(&["--harden", "--write", "--offline"]);
    assert!(written.status.success(), "{}", stderr(&written));
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    assert!(
        manifest.contains("futures = \"0.1.31\" # old\n"),
        "{manifest}"
    );
    let source = "patched/futures-0.1.31/src/task_impl/std/mod.rs";
    assert!(fs::read_to_string(folder.join(source))
        .unwrap()
        .contains("AtomicBool; 0]"));

    let report = scan(&folder, &[]);
    assert_eq!(report["soundness"]["verdict"], "futures 0.1.31 is hardened");
    let places: Vec<_> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["file"].as_str().unwrap())
        .collect();
    assert!(
        !places.is_empty() && places.iter().all(|file| *file == "src/lib.rs"),
        "{places:?}"
    );
    let again = run(&["--harden"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).ends_with("futures 0.1.31 is already hardened\n"));
}
