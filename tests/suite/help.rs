//! The texts of `-h`, `--help` and `--version`.

use support::{Ptunnel, TempDir};

fn help(flag: &str) -> String {
    let finished = Ptunnel::new().arg(flag).run();
    finished.expect_code(0);
    assert_eq!(finished.stderr, "");
    let text = finished.text();
    let is_narrow = text.lines().all(|line| line.chars().count() <= 80);
    assert!(is_narrow, "{}", text);
    text
}

#[test]
fn the_short_help_is_one_screen_and_leads_to_the_long_one() {
    let text = help("-h");
    assert!(text.lines().count() <= 40, "{}", text);
    assert!(
        text.ends_with("\n\nptunnel --help: all options\n"),
        "{}",
        text
    );
    let first_option = text.lines().find(|line| line.starts_with("  -"));
    assert!(
        first_option.unwrap().starts_with("  -p, --proxy PROXY "),
        "{}",
        text
    );
}

#[test]
fn the_long_help_names_every_option() {
    let help = help("--help");
    let options =
        "--forward -L --proxy -p --pac --via --proxy-cacert --proxy-cert --proxy-key \
            --proxy-insecure --proxy-sni --sni --no-proxy --direct-fallback --failover-on --user --password --password-file \
            --password-command --dynamic-password-command --serve-password-command \
            --proxy-netrc --proxy-auth --header --ipv4 -4 --ipv6 -6 --listen --allow-from \
            --accept-proxy-protocol --send-proxy-protocol --proxy-protocol-to \
            --send-proxy-protocol-to-proxy --dynamic -D --dynamic-user --stdio -W --connect-timeout --handshake-timeout \
            --idle-timeout --linger-timeout --half-close-delay --drain-timeout --tcp-keepalive --max-connections --multithreaded \
            --threads --splice --serve-proxy --serve-user --serve-allow --status --demo --test \
            --config --check-config --generate --log-format --log-to --log-time --verbose --quiet --version \
            --help TUNNEL PTUNNEL_PASSWORD https_proxy";
    for option in options.split(' ') {
        assert!(help.contains(option), "{} is not in the help", option);
    }
}

/// Other options beside it, even invalid ones, don't prevent the help.
#[test]
fn the_help_needs_no_valid_options() {
    for args in &[
        &["-h", "-h"][..],
        &["-h", "-4", "-6"],
        &["--threads", "x", "-h"],
    ] {
        let finished = Ptunnel::new().args(args).run();
        finished.expect_code(0);
        assert_eq!(finished.text(), help("-h"));
    }
}

#[test]
fn the_version_is_one_line() {
    for flag in &["-V", "--version"] {
        let finished = Ptunnel::new().arg(*flag).run();
        finished.expect_code(0);
        let text = finished.text();
        assert_eq!(text.lines().count(), 1, "{:?}", text);
        assert!(text.contains(|c: char| c.is_ascii_digit()), "{:?}", text);
        assert_eq!(finished.stderr, "");
    }
}

/// As in `ptunnel --help | head`.
#[test]
fn a_closed_pipe_is_no_error() {
    let folder = TempDir::new();
    let pipe = folder.path().join("pipe");
    let unread = format!("mkfifo {0}; exec 3<>{0} >{0} 3<&-", pipe.display());
    let finished = Ptunnel::new().arg("--help").after(&unread).run();
    finished.expect_code(0);
    assert_eq!(finished.stderr, "");
}

#[test]
fn a_full_disk_at_stdout_is_an_error() {
    let finished = Ptunnel::new().arg("--help").after("exec >/dev/full").run();
    finished.expect_code(1);
    let told = &finished.stderr;
    assert!(told.contains("cannot write to stdout"), "{}", told);
}
