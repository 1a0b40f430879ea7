//! What the program prints about itself.

use crate::support::{Ptunnel, TempDir};

#[test]
fn the_help_names_every_option() {
    for flag in &["-h", "--help"] {
        let finished = Ptunnel::new().arg(*flag).run();
        finished.expect_code(0);
        assert_eq!(finished.stderr, "");
        let help = finished.text();
        let options =
            "--forward -L --proxy -p --pac --via --proxy-cacert --proxy-cert --proxy-key \
            --proxy-insecure --no-proxy --direct-fallback --failover-on --user --password --password-file \
            --proxy-netrc --proxy-auth --header --ipv4 -4 --ipv6 -6 --listen --allow-from \
            --dynamic -D --dynamic-user --stdio -W --connect-timeout --handshake-timeout \
            --idle-timeout --linger-timeout --half-close-delay --drain-timeout --tcp-keepalive --max-connections --multithreaded \
            --threads --splice --serve-proxy --serve-user --serve-allow --status --demo --test \
            --config --check-config --generate --log-format --log-to --log-time --verbose --quiet --version \
            --help TUNNEL PTUNNEL_PASSWORD https_proxy";
        for option in options.split(' ') {
            assert!(help.contains(option), "{} is not in the help", option);
        }
        assert!(
            help.lines().all(|line| line.chars().count() <= 100),
            "{}",
            help
        );
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

/// As in `ptunnel --help | head`, whose reader goes when it has enough.
#[test]
fn a_reader_who_has_enough_is_no_failure() {
    let folder = TempDir::new();
    let pipe = folder.path().join("pipe");
    let nobody_reads = format!("mkfifo {0}; exec 3<>{0} >{0} 3<&-", pipe.display());
    let finished = Ptunnel::new().arg("--help").after(&nobody_reads).run();
    finished.expect_code(0);
    assert_eq!(finished.stderr, "");
}

#[test]
fn a_stdout_that_takes_nothing_is_told() {
    let finished = Ptunnel::new().arg("--help").after("exec >/dev/full").run();
    finished.expect_code(1);
    let told = &finished.stderr;
    assert!(told.contains("cannot write to stdout"), "{}", told);
}
