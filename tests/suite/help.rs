//! What the program tells of itself.

use crate::support::Ptunnel;

#[test]
fn the_help_names_every_option() {
    for flag in &["-h", "--help"] {
        let finished = Ptunnel::new().arg(*flag).run();
        finished.expect_code(0);
        assert_eq!(finished.stderr, "");
        let help = finished.text();
        let options = "--proxy --no-proxy --direct-fallback --user --password --password-file -L \
            --proxy-cacert --proxy-cert --proxy-key --proxy-insecure \
            --listen --allow-from --dynamic -D --dynamic-user --stdio --header -4 -6 --connect-timeout --handshake-timeout --idle-timeout \
            --linger-timeout --drain-timeout --max-connections --multithreaded --threads \
            --serve-proxy --serve-user --serve-allow --status --demo --test --config --check-config --generate --log-format --log-to --verbose --quiet --version --help \
            TUNNEL PTUNNEL_PASSWORD https_proxy";
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
