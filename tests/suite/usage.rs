//! Wrong input: exit code 2, and one or two lines with the fault and an example.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use support::{Finished, Ptunnel, TempDir};

/// Checks that the program refuses this, shows `offending`, and gives an example with `right`.
#[track_caller]
fn assert_refused(finished: &Finished, offending: &str, right: &str) {
    finished.expect_code(2);
    assert_eq!(finished.text(), "");
    let told = &finished.stderr;
    let lines = told.lines().count();
    assert!(lines == 1 || lines == 2, "{} lines: {}", lines, told);
    assert!(
        told.contains(offending),
        "{:?} is not shown: {}",
        offending,
        told
    );
    assert!(
        told.contains(right),
        "no example with {:?}: {}",
        right,
        told
    );
    let bad = told.chars().find(|c| c.is_control() && *c != '\n');
    assert_eq!(bad, None, "{:?}", told);
    assert!(!told.contains("panicked"), "{}", told);
}

/// Runs a valid command line with these additional arguments.
fn with(args: &[&str]) -> Finished {
    Ptunnel::through("proxy.example:3128")
        .to("example.org:22")
        .args(args)
        .run()
}

#[test]
fn tunnels() {
    let wrong = "22 x : :: ::: :::: a:b:c 1:2:3:4:5 8993:imap.example.org 8993::993 \
        8993:imap.example.org: 8993:imap.example.org:0 8993:imap.example.org:65536 \
        8993:imap.example.org:imaps 8993:imap.example.org:-1 8993:imap.example.org:+993 \
        8993:imap.example.org:993: 8993:imap.example.org:\u{661} 8993:\u{fc}mlaut.example:993 \
        65536:imap.example.org:993 +8993:imap.example.org:993 8993:imap.example.org/:993 \
        8993:u@imap.example.org:993 8993:-oProxyCommand=x:993 8993:`id`:993 8993:$(id):993 \
        8993:a;b:993 8993:2001:db8::1:993 8993:[2001:db8::1:993 8993:2001:db8::1]:993 \
        8993:[2001:db8::g]:993 8993:[fe80::1%eth0]:993 8993:[imap.example.org]:993";
    let with_spaces = [
        "",
        "8993:a b:993",
        "8993:a.example:9 93",
        "x y:8993:a.example:993",
        " ",
    ];
    for text in wrong.split(' ').chain(with_spaces.iter().copied()) {
        let run = |args: &[&str]| Ptunnel::through("proxy.example:3128").args(args).run();
        assert_refused(
            &run(&["--", text]),
            &format!("'{}'", text),
            ":imap.example.org:993",
        );
        assert_refused(
            &run(&["-L", text]),
            &format!("'{}'", text),
            ":imap.example.org:993",
        );
    }
}

/// CPython, CVE-2026-1502: text that becomes part of a request line must not end it.
#[test]
fn control_characters_in_a_host_or_header() {
    for (text, shown) in &[
        ("8993:a\r\nX: y:993", "a\\r\\nX: y"),
        ("8993:a\nb:993", "a\\nb"),
        ("8993:a\tb:993", "a\\tb"),
        ("8993:a\u{1b}[31m:993", "a\\x1b[31m"),
        ("8993:a\u{7f}:993", "a\\x7f"),
    ] {
        let finished = Ptunnel::through("proxy.example:3128").arg(*text).run();
        assert_refused(&finished, shown, ":imap.example.org:993");
    }
    for (text, shown) in &[
        ("X: y\r\nZ: z", "X: y\\r\\nZ: z"),
        ("X: y\nZ", "X: y\\nZ"),
        ("X: \u{1b}[31m", "\\x1b[31m"),
        ("X\r\n: y", "X\\r\\n"),
    ] {
        assert_refused(&with(&["-H", text]), shown, "'User-Agent: ptunnel'");
    }
}

#[test]
fn headers() {
    for text in &[
        "",
        "X",
        ": y",
        "X Y: z",
        "X\u{e9}: y",
        "(X): y",
        "X : y",
        " X: y",
    ] {
        assert_refused(
            &with(&["-H", text]),
            &format!("'{}'", text),
            "'User-Agent: ptunnel'",
        );
    }
    for text in &["Host: a", "content-length: 5", "Transfer-Encoding: chunked"] {
        assert_refused(&with(&["-H", text]), text, "'User-Agent: ptunnel'");
    }
}

#[test]
fn proxies() {
    let wrong = "proxy.example :3128 proxy.example: proxy.example:0 proxy.example:65536 \
        proxy.example:http proxy.example:-1 proxy.example:3128:1 http:// http://:3128 \
        http://proxy.example: http://proxy.example:x http://proxy.example/path \
        http://proxy.example:3128/path http://proxy.example:3128?x http://proxy.example:3128#x \
        http:proxy.example:3128 ://proxy.example:3128 ftp://proxy.example:3128 \
        socks://proxy.example:1080 socks4://proxy.example: socks5h://proxy.example/path \
        https://proxy.example:3128/path 2001:db8::1:3128 [2001:db8::1] [2001:db8::1 [fe80::1%lo]:1 -proxy.example:3128";
    let with_spaces = ["", "a b:3128", "http://a b:3128", "proxy.example:3128 "];
    for text in wrong.split(' ').chain(with_spaces.iter().copied()) {
        let by_option = Ptunnel::new()
            .args(&["-p", text])
            .to("example.org:22")
            .run();
        assert_refused(&by_option, &format!("'{}'", text), "proxy.example:3128");
        // An empty variable counts as unset, and GNOME writes `socks://` into it.
        if text.is_empty() || text.starts_with("socks://") {
            continue;
        }
        let by_variable = Ptunnel::new()
            .env("all_proxy", text)
            .to("example.org:22")
            .run();
        assert_refused(&by_variable, &format!("'{}'", text), "proxy.example:3128");
        assert!(
            by_variable.stderr.contains("all_proxy"),
            "{}",
            by_variable.stderr
        );
    }
}

#[test]
fn times() {
    for name in &["connect", "handshake", "idle", "linger", "drain"] {
        let option = format!("--{}-timeout", name);
        for value in &[
            "", "x", "-1", "1s", "1,5", "nan", "inf", "1e300", "0x10", "1 ",
        ] {
            let finished = with(&[&format!("{}={}", option, value)]);
            assert_refused(&finished, &format!("'{}'", value), "2.5");
            assert!(finished.stderr.contains(&option), "{}", finished.stderr);
        }
    }
    for name in &["--connect-timeout", "--handshake-timeout"] {
        assert_refused(&with(&[name, "0"]), &format!("{} 0", name), "10");
    }
    assert_refused(&with(&["-w", "soon"]), "'soon'", "2.5");
}

#[test]
fn numbers() {
    for (name, most) in &[("--threads", "1024"), ("--max-connections", "1000000")] {
        for value in &["", "0", "-1", "x", "1.5", "1000001", "99999999999999999999"] {
            let finished = with(&[&format!("{}={}", name, value)]);
            let right = format!("from 1 to {}; e.g. ", most);
            assert_refused(&finished, &format!("'{}'", value), &right);
            assert!(finished.stderr.contains(name), "{}", finished.stderr);
        }
    }
}

#[test]
fn addresses_to_listen_on() {
    for value in &["a b", "127.0.0.1:x", "[::1", "127.0.0.1:80:90", "-x", "a/b"] {
        assert_refused(&with(&["-l", value]), &format!("'{}'", value), "127.0.0.1");
        assert_refused(
            &with(&["--serve-proxy", value]),
            &format!("'{}'", value),
            "127.0.0.1:3128",
        );
    }
    for value in &["localhost", "127.0.0.1:", "127.0.0.1:65536", "70000"] {
        assert_refused(
            &with(&["--serve-proxy", value]),
            &format!("'{}'", value),
            "127.0.0.1:3128",
        );
    }
}

#[test]
fn destinations_of_stdio() {
    let run = |args: &[&str]| Ptunnel::through("proxy.example:3128").args(args).run();
    for value in &[
        "",
        "example.org",
        "example.org:",
        ":22",
        "example.org:0",
        "example.org:ssh",
        "a b:1",
    ] {
        assert_refused(
            &run(&["-W", value]),
            &format!("'{}'", value),
            "example.org:22",
        );
    }
    assert_refused(
        &run(&["--stdio=-oProxyCommand=id:22"]),
        "-oProxyCommand=id",
        "example.org:22",
    );
    assert_refused(&run(&["-W", "example.org", "ssh"]), "ssh", "example.org:22");
    assert_refused(
        &run(&["-W", "example.org", "0"]),
        "example.org:0",
        "example.org:22",
    );
    assert_refused(&run(&["-W", "a;b", "22"]), "a;b", "example.org:22");
}

#[test]
fn lists_of_destinations() {
    for value in &[
        "a b/c",
        "10.0.0.0/33",
        "10.0.0.0/x",
        "2001:db8::/129",
        "fe80::1%eth0",
        "*.*",
    ] {
        let by_option = with(&["--no-proxy", value]);
        by_option.expect_code(2);
        let entry = value.split(' ').next_back().unwrap();
        assert_refused(&by_option, &format!("'{}'", entry), "example.org");
        // Other programs read the variable, too.
        let by_variable = Ptunnel::through("proxy.example:3128")
            .to("example.org:22")
            .env("NO_PROXY", *value)
            .arg("--check-config")
            .run();
        by_variable.expect_code(0);
        let text = by_variable.text();
        let warning = text.lines().next().unwrap();
        let begin = "warning: environment variable no_proxy: skipping '";
        for part in &[begin, &format!("'{}'", entry), "example.org"] {
            assert!(warning.contains(part), "{:?} isn't in: {}", part, warning);
        }
    }
    for value in &["", "a b", "a:0", "a:x", "10.0.0.0/33:1"] {
        let finished = with(&["--serve-proxy", "127.0.0.1:0", "--serve-allow", value]);
        assert_refused(&finished, &format!("'{}'", value), "example.org");
    }
}

#[test]
fn users_and_passwords() {
    assert_refused(&with(&["-U", ":secret"]), "username", "joe");
    assert_refused(&with(&["-U", ""]), "username", "joe");
    assert_refused(&with(&["-U", "j\u{7}oe:x"]), "username", "joe");
    let control = with(&["-U", "joe", "-P", "a\nb"]);
    assert_refused(&control, "control character", "joe");
    assert!(!control.stderr.contains("a\\nb"), "{}", control.stderr);
    assert_refused(
        &with(&["--serve-proxy", "127.0.0.1:0", "--serve-user", ":x"]),
        "username",
        "joe",
    );
    assert_refused(
        &with(&["-D", "0", "--dynamic-user", ":x"]),
        "username",
        "joe",
    );
    let folder = TempDir::new();
    let missing = folder.at("missing");
    assert_refused(
        &with(&["-U", "joe", "--password-file", &missing]),
        &missing,
        "",
    );
    let empty = folder.file_with_mode("empty", 0o600, "");
    assert_refused(&with(&["-U", "joe", "--password-file", &empty]), &empty, "");
    let lines = folder.file_with_mode("lines", 0o600, "one\ntwo\n");
    assert_refused(&with(&["-U", "joe", "--password-file", &lines]), &lines, "");
    let bytes = folder.file_with_mode("bytes", 0o600, b"\xff\xfe\n");
    assert_refused(&with(&["-U", "joe", "--password-file", &bytes]), &bytes, "");
    let directory = folder.path().to_str().unwrap();
    with(&["-U", "joe", "--password-file", directory]).expect_code(2);
    let file = folder.file_with_mode("file", 0o600, "x");
    assert_refused(
        &with(&["-U", "joe", "-P", "x", "--password-file", &file]),
        "--password",
        "e.g. ptunnel -p",
    );
}

#[test]
fn variables_that_are_not_utf_8() {
    let odd = || OsString::from_vec(b"proxy\xff.example:1".to_vec());
    for name in &["https_proxy", "ALL_PROXY", "no_proxy", "PTUNNEL_PASSWORD"] {
        let finished = Ptunnel::through("a.example:1")
            .args(if name.contains("no_proxy") || name.contains("PASS") {
                &["-U", "joe"]
            } else {
                &[]
            })
            .env(name, odd());
        let finished = match *name {
            "https_proxy" | "ALL_PROXY" => Ptunnel::new().env(name, odd()),
            _ => finished,
        };
        let finished = finished.to("example.org:22").run();
        assert_refused(&finished, name, "");
    }
}

#[test]
fn arguments_that_are_not_utf_8() {
    let odd = OsString::from_vec(b"8993:a\xff:993".to_vec());
    let finished = Ptunnel::through("proxy.example:3128").arg(odd).run();
    finished.expect_code(2);
    assert!(finished.stderr.lines().count() <= 2, "{}", finished.stderr);
}

#[test]
fn flags_that_do_not_exist_or_contradict_each_other() {
    assert_refused(&with(&["--frobnicate"]), "--frobnicate", "ptunnel -p");
    assert_refused(&with(&["-z"]), "-z", "ptunnel -p");
    assert_refused(&with(&["-4", "-6"]), "--ipv4", "e.g. ptunnel -4");
    assert_refused(&with(&["-q", "-v"]), "-q", "e.g. ptunnel -q");
    assert_refused(&with(&["-p"]), "--proxy", "ptunnel -p");
    assert_refused(
        &with(&["--serve-user", "a:b"]),
        "--serve-proxy",
        "e.g. ptunnel --serve-proxy",
    );
    assert_refused(&with(&["--dynamic-user", "a:b"]), "--dynamic", "ptunnel -p");
    assert_refused(&with(&["-W", "example.org:22"]), "-W", "-W example.org:22");
    assert_refused(&with(&["--splice", "sometimes"]), "sometimes", "auto");
    assert_refused(&with(&["--log-format", "xml"]), "xml", "json");
    assert_refused(&with(&["--log-to", "syslog:x"]), "syslog:x", "syslog");
}

#[test]
fn no_proxy_at_all() {
    let tunnel = || Ptunnel::new().to("example.org:22");
    assert_refused(&tunnel().run(), "proxy", "-p proxy.example:3128");
    assert_refused(
        &tunnel().env("https_proxy", "").run(),
        "proxy",
        "-p proxy.example:3128",
    );
    assert_refused(
        &tunnel().env("http_proxy", "a:1").run(),
        "http_proxy",
        "-p proxy.example:3128",
    );
    assert_refused(
        &tunnel().env("HTTP_PROXY", "a:1").run(),
        "proxy",
        "-p proxy.example:3128",
    );
    let partly = tunnel()
        .to("other.net:1")
        .args(&["--no-proxy", "example.org"])
        .run();
    assert_refused(&partly, "proxy", "-p proxy.example:3128");
    let emptied = tunnel()
        .env("no_proxy", "*")
        .args(&["--no-proxy", ""])
        .run();
    assert_refused(&emptied, "proxy", "-p proxy.example:3128");
    let stdio = Ptunnel::new().args(&["-W", "example.org:22"]).run();
    assert_refused(&stdio, "proxy", "-p proxy.example:3128");
}

#[test]
fn no_proxy_is_needed_where_every_destination_is_direct() {
    for list in &["*", "example.org", "net,ORG"] {
        let program = Ptunnel::new()
            .to("example.org:22")
            .args(&["--no-proxy", list])
            .start();
        assert!(program.listening()[0].line.ends_with(" directly"));
    }
}

#[test]
fn nothing_to_do() {
    assert_refused(
        &Ptunnel::through("proxy.example:3128").run(),
        "nothing to do",
        "8993:imap.example.org:993",
    );
    assert_refused(
        &Ptunnel::new().run(),
        "nothing to do",
        "8993:imap.example.org:993",
    );
    assert_refused(
        &Ptunnel::new().arg("-v").run(),
        "nothing to do",
        "8993:imap.example.org:993",
    );
}

#[test]
fn an_open_proxy() {
    for address in &["0.0.0.0:0", "*:0", ":0", "[::]:0", "192.0.2.1:0"] {
        let finished = Ptunnel::new().args(&["--serve-proxy", address]).run();
        assert_refused(&finished, address, "--serve-user");
    }
}

/// Regression: each of these named another fault than the actual one.
#[test]
fn the_message_names_the_fault() {
    let proxy = &["-p", "proxy.example:3128"][..];
    for (args, told) in &[
        (
            &["-W", "a.example:1", "8993:b.example:2"][..],
            "-W carries stdin and stdout and can't be combined with tunnels",
        ),
        (
            &["--listen", "127.0.0.1:9000", "1:a.example:2"],
            "'127.0.0.1:9000': write only the address; the port is part of each tunnel",
        ),
        (
            &["-p", "http:/host:3128", "1:a.example:2"],
            "'http:/host:3128': '//' is missing after the scheme",
        ),
        (
            &["-U", "", "1:a.example:2"],
            "--user: the username is empty; e.g. joe",
        ),
        (
            &["-U", ":x", "1:a.example:2"],
            "--user: the username before ':' is empty; e.g. joe:secret",
        ),
        (&["--test"], "--test needs a destination; add a tunnel"),
        (
            &["--demo", "8993:a.example:2"],
            "--demo brings its own tunnel and proxy",
        ),
        (&["--foo", "1:a.example:2"], "unknown option '--foo'; e.g. "),
        (
            &["--prxy", "a:1"],
            "unknown option '--prxy': did you mean --proxy?",
        ),
        (&["-U"], "--user needs a value; e.g. ptunnel -p"),
        (
            &["--splice=x", "1:a.example:2"],
            "--splice: 'x' isn't one of auto, never, always",
        ),
        (
            &["--proxy-key", "k", "1:a.example:2"],
            "--proxy-key requires --proxy-cert FILE",
        ),
    ] {
        let finished = Ptunnel::new().args(proxy).args(args).run();
        assert_refused(&finished, told, "");
    }
}

/// Regression: these names had no answer, or a wrong one.
#[test]
fn an_option_of_curl_ssh_or_haproxy_is_answered_with_ours() {
    for (args, told) in &[
        (
            &["-x", "a:1"][..],
            "'-x'; use --proxy PROXY; e.g. ptunnel -p ",
        ),
        (&["--socks5", "a:1"], "e.g. -p socks5h://proxy.example:1080"),
        (&["-u", "joe:x"], "'-u'; use --user USER[:PASSWORD]; e.g. "),
        (&["--proxy-user=joe:x"], "'--proxy-user'; use --user USER"),
        (
            &["--proxy-header", "A: b"],
            "use --header NAME: VALUE; e.g. ",
        ),
        (
            &["-k"],
            "'-k'; to trust a private CA, use --proxy-cacert FILE ",
        ),
        (&["--no-verify"], "use --proxy-cacert FILE "),
        (&["-c", "f"], "'-c'; use --config FILE; e.g. "),
        (&["--config-file", "f"], "use --config FILE; e.g. "),
        (
            &["-f", "f"],
            "use --config FILE to read options from a file; ",
        ),
        (&["-fN"], "'-f'; use --config FILE "),
        (
            &["-d"],
            "to run in the background, start ptunnel as a service",
        ),
        (&["-N"], "'-N'; leave it out: "),
        (
            &["-o", "A=b"],
            "see --help; to write the log to a file, add 2>FILE",
        ),
        (&["-b", "::1"], "'-b'; use --listen ADDR; e.g. "),
        (&["--bind", "::1"], "use --listen ADDR; e.g. "),
        (&["--listen-address", "::1"], "use --listen ADDR; e.g. "),
        (&["--port", "1"], "'--port'; a tunnel has its port, "),
        (
            &["--timeout", "3"],
            "use --connect-timeout SECONDS to reach ",
        ),
    ] {
        let finished = Ptunnel::through("a:1").arg("1:a:1").args(args).run();
        assert_refused(&finished, told, "");
        assert!(!finished.stderr.contains("insecure"), "{}", finished.stderr);
    }
}

/// There is exactly one example, in the form that was probably meant.
#[test]
fn a_wrong_tunnel_gets_one_correct_example() {
    for (text, example) in &[
        (
            "8993:a.example",
            "; e.g. 8993:imap.example.org:993, of the form [BIND:]PORT:HOST:HOSTPORT",
        ),
        (
            "/run/s:a.example",
            "; e.g. /run/user/1000/imap:imap.example.org:993",
        ),
        ("fd:web:a.example", "; e.g. fd:imap:imap.example.org:993"),
        (
            "1143:tls://a.example",
            "; e.g. 1143:tls://imap.example.org:993",
        ),
    ] {
        let finished = Ptunnel::through("proxy.example:3128").args(&[text]).run();
        assert_refused(&finished, &format!("'{}'", text), "");
        assert!(
            finished.stderr.trim_end().ends_with(example),
            "{}",
            finished.stderr
        );
    }
}
