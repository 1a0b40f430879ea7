//! Each flag, parsed: what it makes of the configuration, and what it says to nonsense.

use std::cell::RefCell;
use std::io;
use std::time::Duration;

use log::LevelFilter;

use super::*;
use crate::config::Timeouts;
use crate::config::{Bind, Family, ListenSpec, LogFormat, LogTarget, ProxySpec, Secret, Splice};

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
        let told = complaint(&format!("-p p:1 1:a:1 {}", word));
        assert!(
            told.contains(&format!("{}: a switch takes no", word)),
            "{}",
            told
        );
    }
    let header = config("-p p:1 1:a:1 -H X:--insecure=no --listen=127.0.0.2");
    assert!(header.listen == "127.0.0.2".parse().unwrap());
}

#[test]
fn proxies_keep_their_order_and_headers_theirs() {
    let route = config("-p p:1 --proxy http://q 1:a:1 -H A:_b -H C:_d").route;
    let proxies: Vec<String> = route.proxies.iter().map(|p| p.to_string()).collect();
    assert_eq!(proxies, ["p:1", "q:80"]);
    let names: Vec<&str> = route.headers.iter().map(|h| h.name()).collect();
    assert_eq!(names, ["A", "C"]);
    assert!(complaint("-p p 1:a:1").contains("'p'"));
    assert!(complaint("-p p:1 1:a:1 -H bad").contains("'bad'"));
}

#[cfg(feature = "tls")]
#[test]
fn tls_is_for_the_proxies_that_are_named_so() {
    let route = config("-p p:1 -p https://q 1:a:1").route;
    let proxies: Vec<String> = route.proxies.iter().map(|p| p.to_string()).collect();
    assert_eq!(proxies, ["p:1", "https://q:443"]);
    let insecure = config("-p https://q --proxy-insecure 1:a:1").route;
    let tls = insecure.proxies[0].tls.as_ref().unwrap();
    assert!(tls.is_insecure() && !tls.has_key());
    let env = [("https_proxy", "https://e")];
    match with_env(&env, "1:a:1", NO_TERMINAL).unwrap() {
        Command::Run(config, _) => assert!(config.route.proxies[0].tls.is_some()),
        Command::Print(text) => panic!("{}", text),
    }
    for name in &["cacert", "cert"] {
        let complaint = complaint(&format!("-p https://q --proxy-{} /no/file 1:a:1", name));
        let told = format!("--proxy-{} '/no/file': No such file", name);
        assert!(complaint.contains(&told), "{}", complaint);
    }
    assert!(complaint("-p https://q --proxy-key k 1:a:1").contains("--proxy-cert"));
}

/// A proxy's end without close_notify always counts, a destination's only by the option.
#[cfg(feature = "tls")]
#[test]
fn an_unexpected_eof_is_ignored_where_that_is_said() {
    for (option, is_ignored) in &[("", false), ("--ignore-unexpected-eof", true)] {
        let config = config(&format!("-p https://q 1:tls://a:1 {}", option));
        let proxy = config.route.proxies[0].tls.as_ref().unwrap();
        assert!(proxy.ignores_unexpected_eof());
        let destination = &config.tunnels[0].destination;
        let tls = destination.tls.as_ref().unwrap();
        assert_eq!(tls.ignores_unexpected_eof(), *is_ignored);
    }
    let (_, warnings) = warned("-p q:1 1:a:1 --ignore-unexpected-eof");
    assert!(warnings[0].starts_with("--ignore-unexpected-eof is of no use"));
}

#[test]
fn options_of_tls_without_a_proxy_that_speaks_it_are_warned_of() {
    for option in &["--proxy-insecure", "--proxy-cacert /no/file"] {
        let (_, warnings) = warned(&format!("-p q:1 {} 1:a:1", option));
        let name = option.split(' ').next().unwrap();
        assert!(
            warnings.len() == 1 && warnings[0].contains(name),
            "{:?}",
            warnings
        );
    }
}

#[test]
fn a_password_without_a_user_and_addresses_without_a_port_are_warned_of() {
    let file = std::env::temp_dir().join(format!("ptunnel-password-{}", std::process::id()));
    std::fs::write(&file, "x").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&file, mode).unwrap();
    let from_file = format!("--password-file {}", file.display());
    let last = |line: &str| {
        let (_, warnings) = warned(line);
        warnings.last().cloned().unwrap_or_default()
    };
    for password in &["-P x", &from_file] {
        let useless = |rest: &str| last(&format!("{} {}", rest, password)).contains("of no use");
        assert!(useless("-p p:1 1:a:1") && useless("1:a:1 --no-proxy *"));
        assert!(useless("-p p:1 --via joe:x@q:2 1:a:1"));
        assert!(!useless("-p p:1 -U joe 1:a:1") && !useless("-p joe@p:1 1:a:1"));
        let told = last(&format!("-p p:1 1:a:1 {}", password));
        assert!(
            told.ends_with("no proxy has a user: give -U USER"),
            "{}",
            told
        );
    }
    std::fs::remove_file(&file).unwrap();
    let useless = |line: &str| {
        let told = last(&format!("-p p:1 --allow-from ::1 {}", line));
        told == "--allow-from is of no use: no client has an address"
    };
    assert!(useless("-W a:1") && useless("/s:a:1 -D /t"));
    for line in &["/s:a:1 1:a:1", "-D 1", "fd:s:a:1", "/s:a:1 --serve-proxy 1"] {
        assert!(!useless(line), "{}", line);
    }
}

#[test]
fn socks_stands_in_the_list_beside_http() {
    let route = config("-p socks5h://q -p p:1 -p socks5://r:9 -p socks4a://s 1:a:1").route;
    let proxies: Vec<String> = route.proxies.iter().map(|p| p.to_string()).collect();
    assert_eq!(
        proxies,
        [
            "socks5h://q:1080",
            "p:1",
            "socks5://r:9",
            "socks4a://s:1080"
        ]
    );
}

/// Nobody is asked for it, and none is left out in silence.
#[test]
fn socks4_is_told_the_user_alone() {
    let user = |words: &str| {
        let route = config(words).route;
        let credentials = route.proxies[0].credentials.clone().unwrap();
        (
            credentials.user().to_string(),
            credentials.password().reveal().to_string(),
        )
    };
    let joe = ("joe".to_string(), String::new());
    assert_eq!(user("-p socks4://joe@q 1:a:1"), joe);
    assert_eq!(user("-p socks4a://q -U joe 1:a:1"), joe);
    assert!(complaint("-p socks4://joe:x@q 1:a:1").contains("SOCKS4 has no password"));
    for (words, told) in &[
        ("-p socks4://joe@q -P x 1:a:1", "--password is of no use: "),
        ("-p socks4://q -P x 1:a:1", "--password is of no use: "),
        (
            "-p socks4://q -U joe:x 1:a:1",
            "the password in --user is of no use: ",
        ),
    ] {
        let (_, warnings) = warned(words);
        let told = format!("{}SOCKS4 has no password", told);
        let is_told = warnings.iter().any(|line| line.starts_with(&told));
        assert!(is_told, "{:?}", warnings);
    }
    // It is sent to another proxy.
    let (_, warnings) = warned("-p socks4://q -p p:1 -U joe:x 1:a:1");
    assert!(warnings.iter().all(|line| !line.contains("SOCKS4")));
}

#[test]
fn proxies_behind_the_proxy_keep_their_order() {
    let route = config("-p p:1 --via q:2 --via socks5h://r -p s:3 1:a:1").route;
    let shown = |specs: &[ProxySpec]| specs.iter().map(|p| p.to_string()).collect::<Vec<_>>();
    assert_eq!(shown(&route.proxies), ["p:1", "s:3"]);
    assert_eq!(shown(&route.via), ["q:2", "socks5h://r:1080"]);
    let begun = with_env(&[("all_proxy", "e:1")], "--via q:2 1:a:1", NO_TERMINAL);
    match begun.unwrap() {
        Command::Run(config, _) => assert_eq!(shown(&config.route.proxies), ["e:1"]),
        Command::Print(text) => panic!("{}", text),
    }
    // It isn't left out in silence.
    for fallback in &["", "--direct-fallback"] {
        let complaint = complaint(&format!("--via q:2 1:a:1 {}", fallback));
        assert!(
            complaint.contains("--via is for those behind"),
            "{}",
            complaint
        );
    }
}

/// A password for the company's proxy is nothing for the next one.
#[test]
fn who_we_are_to_the_proxy_is_not_said_behind_it() {
    let credentials = |line: &str| {
        let env = [("PTUNNEL_PASSWORD", "secret")];
        let typed: Prompt<'_> = &|_| Ok(Secret::new("typed"));
        let via = match with_env(&env, line, typed).unwrap() {
            Command::Run(config, _) => config.route.via,
            Command::Print(text) => panic!("{}", text),
        };
        let credentials = via[0].credentials.clone();
        credentials.map(|c| format!("{} {}", c.user(), c.password().reveal()))
    };
    assert_eq!(credentials("-p p:1 -U joe --via q:2 1:a:1"), None);
    assert_eq!(credentials("-p p:1 -U joe:x --via q:2 1:a:1"), None);
    let own = credentials("-p p:1 -U joe --via ann:own@q:2 1:a:1");
    assert_eq!(own.unwrap(), "ann own");
    let asked = credentials("-p p:1 -U joe --via ann@q:2 1:a:1");
    assert_eq!(asked.unwrap(), "ann typed");
    let no_terminal = complaint("-p p:1 --via ann@q:2 1:a:1");
    assert!(no_terminal.contains("--proxy-netrc"), "{}", no_terminal);
}

#[test]
fn what_is_told_to_http_proxies_alone_is_warned_of_without_one() {
    for option in &["-H A:_b", "--proxy-auth digest"] {
        let (_, warnings) = warned(&format!("-p socks5h://q {} 1:a:1", option));
        assert!(
            warnings.len() == 1 && warnings[0].contains("no proxy is given that speaks HTTP"),
            "{:?}",
            warnings
        );
        config(&format!("-p socks5h://q -p p:1 {} 1:a:1", option));
    }
}

#[test]
fn the_usual_limits_and_others() {
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
    assert!(complaint("-p p:1 1:a:1 -w 0").contains("fail every connection"));
}

#[test]
fn the_clients_end_is_held_back_on_request_and_for_stdin() {
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
fn a_quiet_peer_is_asked_after_this_time() {
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
fn a_dynamic_listener_is_for_those_who_are_named() {
    let ports = |line: &str| -> Vec<u16> {
        let entrances = config(line).dynamic;
        let port = |listen: &ListenSpec| match listen {
            ListenSpec::Port(spec) => spec.port,
            other => panic!("{:?}", other),
        };
        entrances.iter().map(port).collect()
    };
    assert!(ports("-p p:1 1:a:1").is_empty());
    assert_eq!(ports("-p p:1 -D 1080 --dynamic [::1]:1081"), [1080, 1081]);
    assert_eq!(ports("-p p:1 -D *:1 --allow-from 10.0.0.0/8"), [1]);
    assert!(complaint("-p p:1 -D *:1").contains("-D *:1 would be a proxy for everybody"));
    assert!(complaint("-p p:1 -D 1 -l 0.0.0.0").contains("-D 0.0.0.0:1 would be"));
    assert!(complaint("-p p:1 -D x").contains("'x'"));
    let elsewhere = config("-p p:1 -D /run/s -D fd:s -l 0.0.0.0").dynamic;
    assert_eq!(
        elsewhere,
        ["/run/s".parse().unwrap(), ListenSpec::Inherited("s".into())]
    );
    assert!(complaint("-p p:1 -D 1 -W a:1").contains("-W carries stdin and stdout"));
}

/// Which proxy is wanted isn't known before a client has named its destination.
#[test]
fn a_dynamic_listener_wants_a_proxy_unless_nothing_does() {
    assert!(complaint("-D 1 --no-proxy a 2:a:1").contains("no proxy"));
    config("-D 1 --no-proxy *");
    let (_, warnings) = warned("-D 1 --direct-fallback");
    assert!(warnings[0].contains("directly"), "{:?}", warnings);
}

#[test]
fn clients_may_be_named_in_lists_and_again() {
    assert!(config("-p p:1 1:a:1").allow_from.is_empty());
    let blocks =
        config("-p p:1 1:a:1 --allow-from 10.0.0.0/8,::1 --allow-from 192.0.2.7").allow_from;
    let blocks: Vec<String> = blocks.iter().map(|block| block.to_string()).collect();
    assert_eq!(blocks, ["10.0.0.0/8", "::1/128", "192.0.2.7/32"]);
    assert!(complaint("-p p:1 1:a:1 --allow-from a.example").contains("'a.example'"));
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
fn options_for_tls_are_for_those_whom_they_name() {
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
        "--insecure is of no use: no destination is given as tls://HOST:PORT"
    );
    assert!(unused("-p https://p 1:a:1 --cacert /no/file").starts_with("--cacert is of no use"));
    let proxys = unused("-p p:1 1:tls://a:1 --proxy-insecure");
    assert!(proxys.starts_with("--proxy-insecure is of no use"));
    let missing = complaint("-p p:1 1:tls://a:1 --cacert /no/file");
    assert!(missing.starts_with("--cacert '/no/file': "), "{}", missing);
    assert!(complaint("-p p:1 1:tls://a:1 --key x").contains("--cert"));
    assert!(complaint("-p p:1 1:https://a:1").contains("write tls://"));
    assert!(complaint("-p p:1 -W https://a:1").contains("write tls://"));
    for option in &["-D", "--serve-proxy", "--status"] {
        let complaint = complaint(&format!("-p p:1 1:a:1 {} tls://a:1", option));
        assert!(
            complaint.contains("tls:// has no place in it"),
            "{}",
            complaint
        );
    }
}

#[test]
fn where_and_how_many() {
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
fn where_the_log_goes_and_how_it_looks() {
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
        ["--log-time is of no use: JSON lines have the time"]
    );
    assert!(complaint("-p p:1 1:a:1 --log-format xml").contains("'xml'"));
    assert!(complaint("-p p:1 1:a:1 --log-to file").contains("'file'"));
}

#[test]
fn a_proxy_comes_from_the_environment_unless_given() {
    let env = [("https_proxy", "e:1"), ("no_proxy", "b")];
    let route = |line: &str| match with_env(&env, line, NO_TERMINAL) {
        Ok(Command::Run(config, _)) => config.route,
        other => panic!("{}: {:?}", line, other),
    };
    assert_eq!(route("1:a:1").proxies[0].to_string(), "e:1");
    assert_eq!(route("-p p:1 1:a:1").proxies[0].to_string(), "p:1");
    let to_b = "b:1".parse().unwrap();
    assert!(route("-p p:1 1:b:1").is_direct(&to_b));
    assert!(!route("-p p:1 1:b:1 --no-proxy ''").is_direct(&to_b));
}

#[test]
fn without_a_proxy_there_must_be_a_reason() {
    assert!(complaint("1:a:1").contains("no proxy"));
    assert!(complaint("1:a:1 2:b:2 --no-proxy a").contains("no proxy"));
    config("1:a:1 2:b:2 --no-proxy a,b");
    config("1:a:1 --no-proxy *");
    config("--serve-proxy 0");
    config("--demo");
    let (_, warnings) = warned("1:a:1 --direct-fallback");
    assert!(warnings[0].contains("directly"));
    let hinted = with_env(&[("http_proxy", "p:1")], "1:a:1", NO_TERMINAL).unwrap_err();
    assert!(hinted.to_string().contains("http_proxy is not used"));
}

#[test]
fn nothing_to_do_is_an_error() {
    assert!(complaint("").contains("nothing to do"));
    assert!(complaint("-p p:1").contains("nothing to do"));
}

#[test]
fn passwords_are_taken_in_their_order() {
    let env = [("PTUNNEL_PASSWORD", "from-env")];
    let password =
        |env: &[(&str, &str)], line: &str| match with_env(env, line, &|_| Ok(Secret::new("typed")))
        {
            Ok(Command::Run(config, _)) => {
                let credentials = config.route.proxies[0].credentials.clone().unwrap();
                format!("{} {}", credentials.user(), credentials.password().reveal())
            }
            other => panic!("{}: {:?}", line, other),
        };
    assert_eq!(
        password(&env, "1:a:1 -p http://joe:url@p -P opt"),
        "joe opt"
    );
    assert_eq!(password(&env, "1:a:1 -p http://joe:url@p"), "joe from-env");
    assert_eq!(
        password(&[], "1:a:1 -p http://joe:url@p -U ann:x"),
        "joe url"
    );
    assert_eq!(password(&[], "1:a:1 -p p:1 -U ann:x"), "ann x");
    assert_eq!(password(&[], "1:a:1 -p http://joe@p"), "joe typed");
    let env = [("https_proxy", "http://joe:url@p")];
    assert_eq!(password(&env, "1:a:1"), "joe url");
    assert_eq!(password(&env, "1:a:1 -U ann:x"), "ann x");
}

#[test]
fn the_prompt_says_whose_password_it_wants() {
    let asked = RefCell::new(String::new());
    let prompt = |whose: &str| {
        *asked.borrow_mut() = whose.to_string();
        Ok(Secret::new("x"))
    };
    with_env(&[], "1:a:1 -p http://joe@p.example", &prompt).unwrap();
    assert_eq!(*asked.borrow(), "Password for joe at p.example:80: ");
    assert!(complaint("1:a:1 -p http://joe@p").contains("no password for user 'joe'"));
}

#[test]
fn a_password_on_the_command_line_is_warned_of() {
    for line in &[
        "1:a:1 -p p:1 -U joe:pw",
        "1:a:1 -p p:1 -U joe -P pw",
        "1:a:1 -p joe:pw@p:1",
        "1:a:1 -p p:1 --via joe:pw@q:1",
    ] {
        let (config, warnings) = warned(line);
        assert_eq!(warnings.len(), 1, "{}: {:?}", line, warnings);
        assert!(
            !format!("{:?}{:?}", config, warnings).contains("pw"),
            "{}",
            line
        );
    }
}

#[test]
fn an_open_proxy_needs_a_user_or_a_list() {
    assert!(complaint("--serve-proxy *:3128").contains("for everybody"));
    assert!(complaint("--serve-proxy 3128 -l 0.0.0.0").contains("for everybody"));
    assert!(complaint("--serve-proxy *:1").contains("--allow-from"));
    config("--serve-proxy *:1 --allow-from 10.0.0.0/8");
    assert!(complaint("--serve-proxy localhost").contains("'localhost'"));
    for user in &["joe", "joe:"] {
        let serve = format!("--serve-proxy 0 --serve-user {}", user);
        assert!(complaint(&serve).contains("no password"), "{}", user);
    }
    assert!(complaint("--serve-user joe:x --demo").contains("--serve-proxy"));
    let serve = config("--serve-proxy :3128 --serve-allow a --serve-allow b:1")
        .serve
        .unwrap();
    assert_eq!(
        (serve.bind, serve.port, serve.allow.len()),
        (Bind::Any, 3128, 2)
    );
    let serve = warned("--serve-proxy :3128 --serve-user joe:x")
        .0
        .serve
        .unwrap();
    assert_eq!(serve.credentials.unwrap().user(), "joe");
}

/// The bind failed, and somebody else was said to be there.
#[test]
fn no_place_is_for_two_things() {
    for (line, told) in &[
        (
            "1:a:1 -L 1:b:2",
            "127.0.0.1:1 is given twice: for a:1 and for b:2",
        ),
        (
            "1:a:1 -D localhost:1",
            "127.0.0.1:1 for a:1 and localhost:1 for -D can't be had together",
        ),
        (
            "-D 1 --serve-proxy 1",
            "127.0.0.1:1 is given twice: for -D and for --serve-proxy",
        ),
        (
            "*:1:a:1 [::1]:1:b:2",
            "*:1 for a:1 and [::1]:1 for b:2 can't",
        ),
        (
            "-D 1 --status 1",
            "127.0.0.1:1 is given twice: for -D and for --status",
        ),
        (
            "--listen * 1:a:1 --status 1",
            "*:1 for a:1 and 127.0.0.1:1 for --status can't be had together",
        ),
        ("/s:a:1 -D /s", "/s is given twice: for a:1 and for -D"),
        (
            "fd:x:a:1 fd:x:b:2",
            "fd:x is given twice: for a:1 and for b:2",
        ),
    ] {
        for check in &["", "--check-config"] {
            let complaint = complaint(&format!("-p p:1 {} {}", line, check));
            assert!(complaint.starts_with(told), "{}", complaint);
        }
    }
    config("-p p:1 0:a:1 0:b:2 1:a:1 127.0.0.2:1:b:2 [::1]:1:c:3 --status 0 /s:a:1 /t:b:2 fd:1:a:1 fd:2:b:2");
}

#[test]
fn whom_dynamic_listeners_serve_may_be_one_user() {
    let at_all = "-D *:1080 --dynamic-user joe:x -p a:1";
    let user = warned(at_all).0.dynamic_user.unwrap();
    assert_eq!((user.user(), user.password().reveal()), ("joe", "x"));
    assert!(complaint("-D *:1080 -p a:1").contains("--dynamic-user"));
    for user in &["joe", "joe:"] {
        let dynamic = format!("-D 1080 --dynamic-user {} -p a:1", user);
        assert!(complaint(&dynamic).contains("PTUNNEL_DYNAMIC_PASSWORD"));
    }
    assert!(complaint("--dynamic-user joe:x --demo").contains("--dynamic"));
    let long = "x".repeat(256);
    for login in &[format!("{}:x", long), format!("joe:{}", long)] {
        let complaint = complaint(&format!("-D 1080 -p a:1 --dynamic-user {}", login));
        assert!(complaint.contains("255") && !complaint.contains("xx"));
    }
}

#[test]
fn what_clap_refuses_is_told_in_a_line() {
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
        assert!(
            !complaint.contains('\n') && complaint.contains("--help"),
            "{}",
            complaint
        );
    }
    assert!(complaint("--wat").contains("--wat"));
    assert!(complaint("--generate pdf").contains("complete-bash"));
}

#[test]
fn help_and_version_are_no_errors() {
    for line in &["-h", "--help", "-V", "--version", "--generate man"] {
        assert!(
            matches!(with_env(&[], line, NO_TERMINAL), Ok(Command::Print(_))),
            "{}",
            line
        );
    }
}

#[test]
fn schemes_are_all_of_them_unless_some_are_named() {
    use crate::config::Scheme;

    let schemes = |flags: &str| config(&format!("-p p:1 1:a:1 {}", flags)).route.schemes;
    assert!(schemes("").send_basic_ahead());
    let some = schemes("--proxy-auth digest,NTLM");
    assert!(some.allow(Scheme::Digest) && some.allow(Scheme::Ntlm));
    assert!(!some.allow(Scheme::Basic));
    let complaint = complaint("-p p:1 1:a:1 --proxy-auth kerberos");
    assert!(complaint.contains("--proxy-auth") && complaint.contains("'kerberos'"));
}

#[test]
fn refusals_are_final_unless_the_user_names_some() {
    let failover = |flags: &str| {
        let line = format!("-p p:1 -p q:1 1:a:1 {}", flags);
        config(&line).route.failover_on
    };
    assert!(!failover("").includes(503));
    let some = failover("--failover-on 503,504");
    assert!(some.includes(503) && some.includes(504) && !some.includes(502));
    let complaint = complaint("-p p:1 -p q:1 1:a:1 --failover-on 403");
    assert!(complaint.contains("--failover-on") && complaint.contains("'403'"));
    let (_, warnings) = warned("-p p:1 1:a:1 --failover-on 503");
    assert!(
        warnings.len() == 1 && warnings[0].contains("no other proxy"),
        "{:?}",
        warnings
    );
}

#[test]
fn a_netrc_file_fills_in_what_nothing_else_says() {
    let path = std::env::temp_dir().join(format!("ptunnel-netrc-{}", std::process::id()));
    let text = "machine p login joe password file\nmachine p login ann password apple\n";
    std::fs::write(&path, text).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&path, mode).unwrap();
    let who = |env: &[(&str, &str)], line: &str| {
        let line = format!("1:a:1 --proxy-netrc {} {}", path.display(), line);
        match with_env(env, &line, &|_| Ok(Secret::new("typed"))) {
            Ok(Command::Run(config, warnings)) => {
                assert!(warnings.iter().all(|warning| !warning.contains("chmod")));
                let credentials = config.route.proxies[0].credentials.clone();
                credentials.map(|c| format!("{} {}", c.user(), c.password().reveal()))
            }
            other => panic!("{}: {:?}", line, other),
        }
    };
    assert_eq!(who(&[], "-p p:1").unwrap(), "joe file");
    assert_eq!(who(&[], "-p p:1 -U ann").unwrap(), "ann apple");
    assert_eq!(who(&[], "-p http://ann@p").unwrap(), "ann apple");
    assert_eq!(who(&[], "-p http://ann:url@p").unwrap(), "ann url");
    assert_eq!(who(&[], "-p p:1 -U bob").unwrap(), "bob typed");
    assert_eq!(who(&[], "-p q:1"), None);
    let env = [("PTUNNEL_PASSWORD", "from-env")];
    assert_eq!(who(&env, "-p p:1 -U ann").unwrap(), "ann from-env");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_tunnel_for_other_hosts_is_warned_of_unless_clients_are_restricted() {
    let told = |line: &str| warned(line).1;
    let one = "every host that can reach this one can use *:1: bind to 127.0.0.1, or restrict \
               clients with --allow-from CIDR";
    assert_eq!(told("-p p:1 *:1:a:1 2:a:1"), [one]);
    let several = told("-p p:1 1:a:1 [::1]:2:a:1 3:a:1 -l 0.0.0.0");
    assert!(
        several[0].contains("0.0.0.0:1, 0.0.0.0:3:"),
        "{}",
        several[0]
    );
    for line in &[
        "*:1:a:1 --allow-from 10.0.0.0/8",
        "1:a:1 /run/s:a:1",
        "*:1:a:1 --test",
    ] {
        assert!(told(&format!("-p p:1 {}", line)).is_empty(), "{}", line);
    }
}

#[test]
fn the_demo_goes_alone() {
    assert!(config("--demo -v --splice never").demo);
    for beside in &[
        "1:a:1",
        "-L 1:a:1",
        "-W a:1",
        "-D 1",
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
fn a_test_needs_somewhere_to_go() {
    assert!(config("-p p:1 --test 1:a:1").test && config("-p p:1 --test -W a:1").test);
    assert!(!config("-p p:1 1:a:1").test);
    for (line, told) in &[
        ("--test", "--test needs a destination: add"),
        ("-p p:1 --test", "--test needs a destination: add"),
        (
            "-p p:1 --test --serve-proxy 1",
            "--test needs a destination, and -D and --serve-proxy have none: add",
        ),
    ] {
        assert!(complaint(line).contains(told), "{}", line);
    }
    assert!(complaint("--demo --test").contains("--demo"));
}

#[test]
fn the_status_is_for_this_machine_unless_told_otherwise() {
    let status = |line: &str| warned(&format!("-p p:1 1:a:1 {}", line)).0.status.unwrap();
    let local = status("-l 10.0.0.1 --status 9090");
    assert!(local.bind.is_loopback() && local.port == 9090);
    assert_eq!(status("--status *:2").bind, Bind::Any);
    for (line, warnings) in &[
        ("9090", 0),
        ("localhost:0", 0),
        ("[::1]:0", 0),
        ("0.0.0.0:0", 1),
    ] {
        let (_, said) = warned(&format!("-p p:1 1:a:1 --status {}", line));
        assert_eq!(said.len(), *warnings, "{:?}", said);
    }
    assert!(complaint("-p p:1 1:a:1 --status a:b").contains("--status: "));
    assert!(complaint("-p p:1 -W a:1 --status 1").contains("--status"));
}
