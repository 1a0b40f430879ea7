//! `--check` fails where a use was added since `--save`, and nowhere else.

use std::fs;

use crate::support::{command, package, stderr};

#[test]
fn a_new_use_fails_and_one_less_does_not() {
    let one =
        "use futures::Future;\nfn f() {\n    let _ = futures::future::ok::<u8, ()>(1).wait();\n}\n";
    let two = one.replace(
        "{\n",
        "{\n    let _ = futures::future::ok::<u8, ()>(1).wait();\n",
    );
    let folder = package("ratchet", "futures = \"0.1.31\"", one);
    let source = folder.join("src/lib.rs");
    let run = |arguments: &[&str]| {
        let output = command(&folder, arguments).output().unwrap();
        (output.status.code(), stderr(&output))
    };
    assert_eq!(run(&["--save"]).0, Some(0));
    assert_eq!(run(&["--check"]).0, Some(0));

    fs::write(&source, two).unwrap();
    let (code, stderr) = run(&["--check"]);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(
        stderr.contains("src/lib.rs: row 20 has 2 uses, 1 before"),
        "{stderr}"
    );
    assert_eq!(run(&["--check", "--save"]).0, Some(1));
    assert_eq!(run(&["--check", "--save"]).0, Some(1));
    let (code, stderr) = run(&["--check", "--tests"]);
    assert_eq!(code, Some(2), "{stderr}");
    assert!(
        stderr.contains("was saved with the options [], and this scan has [--tests]"),
        "{stderr}"
    );

    let saved = fs::read(folder.join("legacy-scan.json")).unwrap();
    fs::write(&source, "fn f() {").unwrap();
    for option in ["--check", "--save"] {
        let (code, stderr) = run(&[option]);
        assert_eq!(code, Some(2), "{stderr}");
        assert!(
            stderr.contains("cannot count the uses: ratchet"),
            "{stderr}"
        );
    }
    assert_eq!(fs::read(folder.join("legacy-scan.json")).unwrap(), saved);

    fs::write(&source, "fn f() {}\n").unwrap();
    assert_eq!(run(&["--check"]).0, Some(0));
}
