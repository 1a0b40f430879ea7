//! Unit tests: the configuration that each option makes, and its errors.

mod listeners;
mod passwords;
mod proxies;

use std::cell::RefCell;
use std::io;
use std::time::Duration;

use log::LevelFilter;

use super::*;
use ptunnel_core::config::{Family, ProxySpec, Timeouts};
use ptunnel_proto::values::{Bind, ListenSpec, LogFormat, LogTarget, Secret, Splice};

const NO_TERMINAL: Prompt<'static> = &|_| Err(io::ErrorKind::NotFound.into());

fn with_env(env: &[(&str, &str)], line: &str, prompt: Prompt<'_>) -> Result<Command, Error> {
    let read = |name: &str| {
        let pair = env.iter().find(|(key, _)| *key == name);
        pair.map(|(_, value)| OsString::from(value))
    };
    // '' is an empty word, _ a space within one.
    let words = line.split_whitespace().map(|word| match word {
        "''" => String::new(),
        word => word.replace('_', " "),
    });
    let words = std::iter::once("ptunnel".to_string()).chain(words);
    parse(words, &Environment::new(&read), prompt)
}

fn warned(line: &str) -> (Config, Vec<String>) {
    match with_env(&[], line, NO_TERMINAL) {
        Ok(Command::Run(config, warnings)) => (*config, warnings),
        other => panic!("{}: {:?}", line, other),
    }
}

fn config(line: &str) -> Config {
    let (config, warnings) = warned(line);
    assert!(warnings.is_empty(), "{}: {:?}", line, warnings);
    config
}

fn complaint(line: &str) -> String {
    let e = with_env(&[], line, NO_TERMINAL).expect_err(line);
    assert!(e.is_usage(), "{}: {:?}", line, e);
    assert_eq!(e.exit_code(), 2);
    e.to_string()
}

#[test]
fn tunnels_keep_their_order_in_both_forms() {
    let config = config("-p p:1 1:a:1 -L 2:b:2 3:c:3 -L 4:d:4");
    let destinations = config.tunnels.iter().map(|tunnel| &tunnel.destination);
    let ports: Vec<u16> = destinations
        .map(|destination| destination.address.port)
        .collect();
    assert_eq!(ports, [1, 2, 3, 4]);
    assert!(complaint("-p p:1 1:a").contains("'1:a'"));
}

/// `--insecure=no` was `--insecure`.
#[test]
fn a_switch_takes_no_value() {
    for word in &[
        "--insecure=no",
        "--proxy-insecure=false",
        "--quiet=",
        "--demo=1",
    ] {
        let message = complaint(&format!("-p p:1 1:a:1 {}", word));
        assert!(
            message.contains(&format!("{}: a switch takes no", word)),
            "{}",
            message
        );
    }
    let header = config("-p p:1 1:a:1 -H X:--insecure=no --listen=127.0.0.2");
    assert!(header.listen == "127.0.0.2".parse().unwrap());
}

/// Regression: `--proxy-user` was answered with `did you mean --proxy-insecure?`.
#[test]
fn no_misspelt_option_is_answered_with_an_insecure_one() {
    for name in &["--insecure", "--proxy-insecure"] {
        let shorter = (3..name.len()).map(|end| name[..end].to_string());
        let longer = ["s", "-tls", "=1"]
            .iter()
            .map(|end| format!("{}{}", name, end));
        let others = (2..name.len()).map(|at| format!("{}x{}", &name[..at], &name[at + 1..]));
        for word in shorter.chain(longer).chain(others) {
            let message = match with_env(&[], &format!("-p p:1 1:a:1 {}", word), NO_TERMINAL) {
                Ok(_) => continue, // --proxy, which takes the next word
                Err(e) => e.to_string(),
            };
            let hint = message.replacen(&word, "", 1);
            assert!(!hint.contains("--insecure"), "{}", message);
            assert!(!hint.contains("--proxy-insecure"), "{}", message);
        }
    }
}

/// A proxy's end without close_notify always counts, a destination's only by the option.
#[cfg(feature = "tls")]
#[test]
fn an_unexpected_eof_is_ignored_on_request() {
    for (option, is_ignored) in &[("", false), ("--ignore-unexpected-eof", true)] {
        let config = config(&format!("-p https://q 1:tls://a:1 {}", option));
        let proxy = config.route.proxies[0].tls.as_ref().unwrap();
        assert!(proxy.ignores_unexpected_eof());
        let destination = &config.tunnels[0].destination;
        let tls = destination.tls.as_ref().unwrap();
        assert_eq!(tls.ignores_unexpected_eof(), *is_ignored);
    }
    let (_, warnings) = warned("-p q:1 1:a:1 --ignore-unexpected-eof");
    assert!(warnings[0].starts_with("--ignore-unexpected-eof has no effect"));
}

#[test]
fn timeouts_have_defaults() {
    assert_eq!(config("-p p:1 1:a:1").timeouts, Timeouts::default());
    let timeouts = config(
        "-p p:1 1:a:1 -w 0.5 --handshake-timeout 2 --idle-timeout 3 --linger-timeout 0 --drain-timeout 0",
    )
    .timeouts;
    assert_eq!(timeouts.connect, Duration::from_millis(500));
    assert_eq!(timeouts.handshake, Duration::from_secs(2));
    assert_eq!(timeouts.idle, Some(Duration::from_secs(3)));
    assert_eq!(timeouts.linger, None);
    assert_eq!(timeouts.drain, Duration::from_secs(0));
    for bad in &["-1", "x", "nan", "inf", "1e99", "''"] {
        let complaint = complaint(&format!("-p p:1 1:a:1 --connect-timeout {}", bad));
        assert!(complaint.contains("--connect-timeout"), "{}", complaint);
    }
    assert!(complaint("-p p:1 1:a:1 -w 0").contains("every connection fail"));
}

/// A file that is missing here isn't a fault of the example.
#[cfg(all(feature = "tls", feature = "pac"))]
#[test]
fn the_examples_of_the_table_are_valid() {
    let read = |name: &str| match name {
        flags::DYNAMIC_PASSWORD | flags::SERVE_PASSWORD => Some(OsString::from("x")),
        _ => None,
    };
    for flag in flags::all().chain(Some(flags::TUNNEL)) {
        let words = flags::words(flag.example).into_iter();
        let words = words.map(|word| word.replace('\'', ""));
        let prompt: Prompt<'_> = &|_| Ok(Secret::new("x"));
        if let Err(e) = super::parse(words, &Environment::new(&read), prompt) {
            let message = e.to_string();
            assert!(
                message.contains("No such file"),
                "{}: {}",
                flag.example,
                message
            );
        }
    }
}

/// The table's defaults are what holds without the options.
#[test]
fn a_default_can_be_typed() {
    let usual = format!("{:?}", config("-p p:1 1:a:1"));
    let mut typed = 0;
    for flag in flags::all() {
        let option = format!("--{}={}", flag.name, flag.default_text(false));
        let words = vec!["ptunnel", "-p", "p:1", "1:a:1", &option];
        let command = super::parse(words, &Environment::new(&|_| None), NO_TERMINAL);
        // Other defaults are words.
        if let Ok(Command::Run(config, _)) = command {
            assert_eq!(format!("{:?}", config), usual, "{}", option);
            typed += 1;
        }
    }
    assert!(typed >= 12, "{}", typed);
}

#[test]
fn the_half_close_delay_has_a_default_for_stdin() {
    let delay = |line: &str| config(line).timeouts.half_close_delay;
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    assert_eq!(delay("-p p:1 1:a:1"), seconds(0));
    assert_eq!(delay("-p p:1 -W a:1"), seconds(5));
    for tunnel in &["1:a:1", "-W a:1", "-D 1"] {
        let with = |value: &str| delay(&format!("-p p:1 {} --half-close-delay {}", tunnel, value));
        assert_eq!(with("0"), seconds(0));
        assert_eq!(with("2.5"), Some(Duration::from_millis(2500)));
        assert_eq!(with("never"), None);
    }
    for bad in &["-1", "x", "Never", "inf", "''"] {
        let complaint = complaint(&format!("-p p:1 1:a:1 --half-close-delay {}", bad));
        assert!(complaint.contains("--half-close-delay"), "{}", complaint);
        assert!(complaint.contains("or never; e.g. 2.5"), "{}", complaint);
    }
}

#[test]
fn tcp_keepalive_takes_whole_seconds() {
    let time = |line: &str| {
        let keepalive = config(line).timeouts.tcp_keepalive;
        keepalive.map(|it| (it.time.as_secs(), it.interval().as_secs()))
    };
    assert_eq!(time("-p p:1 1:a:1"), Some((300, 75)));
    assert_eq!(time("-p p:1 1:a:1 --tcp-keepalive 20"), Some((20, 20)));
    let longest = "-p p:1 1:a:1 --tcp-keepalive 32767";
    assert_eq!(time(longest), Some((32_767, 75)));
    assert_eq!(time("-p p:1 -W a:1 --tcp-keepalive 0"), None);
    for bad in &["-1", "0.5", "32768", "never", "''"] {
        let complaint = complaint(&format!("-p p:1 1:a:1 --tcp-keepalive {}", bad));
        assert!(complaint.contains("--tcp-keepalive"), "{}", complaint);
        assert!(complaint.contains("up to 32767, or 0"), "{}", complaint);
    }
}

#[test]
fn stdio_takes_one_word_or_two() {
    for line in &[
        "-p p:1 -W a:22",
        "-p p:1 -W a 22",
        "-W a:22 -p p:1",
        "-p p:1 --stdio a 22 -q",
    ] {
        assert_eq!(config(line).stdio.unwrap().to_string(), "a:22", "{}", line);
    }
    assert_eq!(
        config("-p p:1 -W ::1 22").stdio.unwrap().to_string(),
        "[::1]:22"
    );
    assert!(complaint("-p p:1 -W a").contains("'a'"));
    assert!(complaint("-p p:1 -W a x").contains("'a:x'"));
    assert!(complaint("-p p:1 -W a:22 -L 1:b:1").contains("-W"));
    assert!(complaint("-p p:1 -W a:22 1:b:1").contains("can't be combined with tunnels"));
    assert!(complaint("-p p:1 -W a:22 22").contains("invalid tunnel '22'"));
    let both = config("-p p:1 --test -W a:22 1:b:1");
    assert_eq!((both.tunnels.len(), both.stdio.is_some()), (1, true));
}

#[cfg(feature = "tls")]
#[test]
fn tls_options_are_for_their_kind_of_peer() {
    let shown = config("-p p:1 1:tls://a:1 2:b:2").tunnels;
    let shown: Vec<String> = shown.iter().map(|it| it.destination.to_string()).collect();
    assert_eq!(shown, ["tls://a:1", "b:2"]);
    for line in &["-p p:1 -W tls://a:1", "-p p:1 -W tls://a 1"] {
        assert_eq!(config(line).stdio.unwrap().to_string(), "tls://a:1");
    }
    let unused = |line: &str| {
        let (_, warnings) = warned(line);
        assert_eq!(warnings.len(), 1, "{:?}", warnings);
        warnings[0].clone()
    };
    assert_eq!(
        unused("-p p:1 1:a:1 --insecure"),
        "--insecure has no effect: no tls:// destination is given"
    );
    assert!(unused("-p https://p 1:a:1 --cacert /no/file").starts_with("--cacert has no effect"));
    let proxys = unused("-p p:1 1:tls://a:1 --proxy-insecure");
    assert!(proxys.starts_with("--proxy-insecure has no effect"));
    let missing = complaint("-p p:1 1:tls://a:1 --cacert /no/file");
    assert!(missing.starts_with("--cacert '/no/file': "), "{}", missing);
    assert!(complaint("-p p:1 1:tls://a:1 --key x").contains("--cert"));
    assert!(complaint("-p p:1 1:https://a:1").contains("write tls://"));
    assert!(complaint("-p p:1 -W https://a:1").contains("write tls://"));
    for option in &["-D", "--redirect", "--serve-proxy", "--status"] {
        let complaint = complaint(&format!("-p p:1 1:a:1 {} tls://a:1", option));
        assert!(
            complaint.contains("tls:// isn't allowed here"),
            "{}",
            complaint
        );
    }
}

#[test]
fn bind_addresses_and_numbers() {
    let config = config("-p p:1 1:a:1 -l ::1 --max-connections 5 --threads 3 --splice never");
    assert_eq!(config.listen, "::1".parse().unwrap());
    assert_eq!(config.max_connections, Some(5));
    assert_eq!(config.threads, 3);
    assert_eq!(config.splice, Splice::Never);
    assert!(complaint("-p p:1 1:a:1 --threads 0").contains("'0'"));
    assert!(complaint("-p p:1 1:a:1 --max-connections x").contains("'x'"));
    assert!(complaint("-p p:1 1:a:1 --splice maybe").contains("'maybe'"));
    assert!(complaint("-p p:1 1:a:1 -l a/b").contains("'a/b'"));
    assert_eq!(
        super::parse(
            vec!["ptunnel", "-p", "p:1", "-m", "1:a:1"],
            &Environment::new(&|_| None),
            NO_TERMINAL
        )
        .map(|c| match c {
            Command::Run(config, _) => config.threads,
            Command::Print(_) => 0,
        })
        .unwrap(),
        num_cpus::get()
    );
}

#[test]
fn families_and_verbosity() {
    assert_eq!(config("-p p:1 1:a:1 -4").route.family, Family::V4);
    assert_eq!(config("-p p:1 1:a:1 -6").route.family, Family::V6);
    assert!(complaint("-p p:1 1:a:1 -4 -6").contains("--ipv6"));
    for (flags, level) in &[
        ("", LevelFilter::Warn),
        ("-v", LevelFilter::Info),
        ("-vv", LevelFilter::Debug),
        ("-v -v -v", LevelFilter::Trace),
        ("-q", LevelFilter::Error),
    ] {
        assert_eq!(config(&format!("-p p:1 1:a:1 {}", flags)).verbosity, *level);
    }
}

#[test]
fn log_target_and_format() {
    let usual = config("-p p:1 1:a:1");
    assert_eq!(usual.log_format, LogFormat::Text);
    assert_eq!(usual.log_to, LogTarget::Stderr);
    let other = config("-p p:1 1:a:1 --log-format json --log-to syslog");
    assert_eq!(other.log_format, LogFormat::Json);
    assert_eq!(other.log_to, LogTarget::Syslog("/dev/log".into()));
    assert!(!usual.log_time && config("-p p:1 1:a:1 --log-time").log_time);
    let (_, warnings) = warned("-p p:1 1:a:1 --log-time --log-format json");
    assert_eq!(
        warnings,
        ["--log-time has no effect: JSON lines have the time"]
    );
    assert!(complaint("-p p:1 1:a:1 --log-format xml").contains("'xml'"));
    assert!(complaint("-p p:1 1:a:1 --log-to file").contains("'file'"));
}

#[test]
fn nothing_to_do_is_an_error() {
    assert!(complaint("").contains("nothing to do"));
    assert!(complaint("-p p:1").contains("nothing to do"));
}

#[test]
fn errors_of_clap_are_one_line() {
    for line in &[
        "--wat",
        "-p",
        "-p a:1 1:b:1 -p",
        "-p a:1 1:b:1 -L",
        "--demo --demo=x",
        "-q -v --demo",
        "-w 1 -w 2 --demo",
    ] {
        let complaint = complaint(line);
        let has_fix = complaint.contains("e.g. ptunnel ") || complaint.contains("; remove ");
        assert!(!complaint.contains('\n') && has_fix, "{}", complaint);
    }
    assert!(complaint("--wat").contains("--wat"));
    assert!(complaint("--generate pdf").contains("complete-bash"));
}

#[test]
fn help_and_version_are_not_errors() {
    for line in &["-h", "--help", "-V", "--version", "--generate man"] {
        assert!(
            matches!(with_env(&[], line, NO_TERMINAL), Ok(Command::Print(_))),
            "{}",
            line
        );
    }
}

#[test]
fn the_demo_excludes_tunnels_and_proxies() {
    assert!(config("--demo -v --splice never").demo);
    for beside in &[
        "1:a:1",
        "-L 1:a:1",
        "-W a:1",
        "-D 1",
        "--redirect 1",
        "--serve-proxy 1",
        "-p p:1",
    ] {
        let complaint = complaint(&format!("--demo {}", beside));
        assert!(
            complaint.contains("can't be combined with"),
            "{}",
            complaint
        );
    }
    assert!(complaint("--demo 1:a:1").contains("the tunnel '1:a:1'"));
}

#[test]
fn a_test_needs_a_destination() {
    assert!(config("-p p:1 --test 1:a:1").test && config("-p p:1 --test -W a:1").test);
    assert!(!config("-p p:1 1:a:1").test);
    for (line, message) in &[
        ("--test", "--test needs a destination; add"),
        ("-p p:1 --test", "--test needs a destination; add"),
        (
            "-p p:1 --test --serve-proxy 1",
            "--test needs a destination, and -D, --redirect and --serve-proxy have none; add",
        ),
    ] {
        assert!(complaint(line).contains(message), "{}", line);
    }
    assert!(complaint("--demo --test").contains("--demo"));
}
