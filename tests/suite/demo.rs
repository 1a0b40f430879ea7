//! `--demo`: everything on this machine, in one process.

use support::Ptunnel;

#[test]
fn the_demo_prints_each_step_and_ends_with_exit_code_0() {
    let finished = Ptunnel::new().arg("--demo").run();
    finished.expect_code(0);
    assert_eq!(finished.stderr, "");
    let text = finished.text();
    let steps: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    let expected = [
        "origin", "proxy", "tunnel", "request", "download", "upload", "done",
    ];
    assert_eq!(steps, expected, "{}", text);
    for rate in &["64 MiB", "MiB/s"] {
        assert!(text.matches(rate).count() >= 2, "{}", text);
    }
}

#[test]
fn the_demo_uses_no_configured_proxy() {
    let finished = Ptunnel::new()
        .env("https_proxy", "nowhere.invalid:3128")
        .env("all_proxy", "nowhere.invalid:3128")
        .arg("--demo")
        .run();
    finished.expect_code(0);
}

#[test]
fn the_demo_runs_with_each_splice_mode() {
    for setting in &["always", "never"] {
        let finished = Ptunnel::new().args(&["--demo", "--splice", setting]).run();
        finished.expect_code(0);
    }
}
