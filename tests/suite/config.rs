//! The config file: what it sets, what overrides it, and the errors in a wrong one.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use support::sys::SIGTERM;
use support::{Finished, Peer, Ptunnel, TempDir};

/// Runs `--check-config` with this file and these arguments.
fn check(text: &str, args: &[&str]) -> Finished {
    let folder = TempDir::new();
    let file = folder.file_with_mode("ptunnel.toml", 0o600, text);
    let finished = Ptunnel::new()
        .args(&["--check-config", "--config", &file])
        .args(args)
        .run();
    Finished {
        stderr: finished.stderr.replace(&file, "FILE"),
        ..finished
    }
}

/// Returns the lines of `--check-config` about the resulting configuration.
#[track_caller]
fn outline(text: &str, args: &[&str]) -> String {
    let finished = check(text, args);
    finished.expect_code(0);
    assert_eq!(finished.stderr, "");
    finished.text()
}

#[track_caller]
fn assert_refused(text: &str, args: &[&str], said: &str) {
    let finished = check(text, args);
    finished.expect_code(2);
    assert_eq!(finished.text(), "");
    assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.stderr);
    assert!(
        finished.stderr.contains(said),
        "{:?} is not in {}",
        said,
        finished.stderr
    );
    assert!(
        finished.stderr.starts_with("ptunnel: FILE"),
        "{}",
        finished.stderr
    );
}

#[test]
fn a_file_makes_a_tunnel() {
    let proxy = Peer::echoing();
    let folder = TempDir::new();
    let text = format!(
        "proxy = \"{}\"\ntunnels = [\"0:example.org:22\"]\nheader = [\"X-Tag: a\"]\n\
         user = \"joe:secret\"\n",
        proxy.address()
    );
    let file = folder.file_with_mode("ptunnel.toml", 0o600, text);
    let program = Ptunnel::new()
        .args(&["--config", &file])
        .more_lines(1)
        .start();
    let mut client = program.connect();
    client.send("hello");
    client.expect("hello");
    let head = proxy.head();
    for part in &[
        "CONNECT example.org:22 ",
        "X-Tag: a\r\n",
        "am9lOnNlY3JldA==",
    ] {
        assert!(head.contains(part), "{:?} is not in {}", part, head);
    }
    assert_eq!(program.stderr(), "");
}

#[test]
fn check_config_shows_the_configuration_without_passwords() {
    let text = "proxy = [\"http://joe:hunter2@a.example:1\", \"b.example:2\"]\n\
                tunnels = [\"1:c.example:3\", \"*:2:10.1.1.1:4\"]\n\
                no-proxy = \"10.0.0.0/8\"\n\
                direct-fallback = true\n\
                serve-proxy = 3128\n\
                serve-user = \"ann:hunter3\"\n";
    let expected = "\
        warning: every host that can reach this machine can use *:2; bind to 127.0.0.1, or restrict the clients with \
        --allow-from CIDR\n\
        would listen on 127.0.0.1:1 for c.example:3 through a.example:1 as joe, then b.example:2, else directly\n\
        would listen on *:2 for 10.1.1.1:4 directly\n\
        would serve a proxy on 127.0.0.1:3128 for ann to all destinations\n";
    assert_eq!(outline(text, &[]), expected);
    let text = "proxy = 'a.example:1'\n\
                tunnels = '1:c.example:3'\n\
                accept-proxy-protocol = ['10.0.0.5', '10.1.0.0/16']\n\
                send-proxy-protocol = 'v2'\n\
                proxy-protocol-to = ['c.example:3', 'd.example']\n\
                send-proxy-protocol-to-proxy = 'v1'\n";
    let expected = "\
        would listen on 127.0.0.1:1 for c.example:3 through a.example:1\n\
        would read PROXY headers from 10.0.0.5/32, 10.1.0.0/16\n\
        would send PROXY v2 headers to 2 destinations\n\
        would send PROXY v1 headers to the proxy\n";
    assert_eq!(outline(text, &[]), expected);
    let stdio = outline("proxy = 'a.example:1'", &["-W", "b.example:2"]);
    assert_eq!(
        stdio,
        "would connect stdin and stdout to b.example:2 through a.example:1\n"
    );
}

#[test]
fn check_config_prints_warnings() {
    let told = outline("proxy = 'socks5h://a:1'\nheader = 'X: y'", &["1:b:1"]);
    let first = told.lines().next().unwrap();
    assert!(
        first.starts_with("warning: --header has no effect: "),
        "{}",
        told
    );
}

#[test]
fn check_config_needs_no_file_no_password_and_no_free_port() {
    let taken = Peer::echoing();
    let finished = Ptunnel::through("a.example:1")
        .arg(format!("{}:b.example:2", taken.port()))
        .args(&["--check-config", "-U", "joe"])
        .run();
    finished.expect_code(0);
    assert!(finished.text().contains(" as joe"), "{}", finished.text());
    Ptunnel::through("a.example:1")
        .args(&["--check-config", "1:b"])
        .run()
        .expect_code(2);
}

/// As when root checks the file of a service, and the password is available only where the service
/// runs.
#[test]
fn check_config_warns_of_missing_passwords() {
    let proxies = "proxy = ['a:1', 'b:2']\ntunnels = '1:x:1'\n";
    let folder = TempDir::new();
    let nowhere = folder.path().join("nowhere").display().to_string();
    let file = format!("user = 'joe'\npassword-file = '{}'\n", nowhere);
    for (more, told) in &[
        ("user = 'joe'\n", "no password for user 'joe'"),
        (
            &file,
            &format!("--password-file '{}': No such file", nowhere),
        ),
        (
            "dynamic = 0\ndynamic-user = 'ann'\n",
            "--dynamic-user ann has no password; add",
        ),
        (
            "serve-proxy = 0\nserve-user = 'ann'\n",
            "--serve-user ann has no password; add",
        ),
    ] {
        let text = outline(&format!("{}{}", proxies, more), &[]);
        let warning = format!("warning: checked without a password: {}", told);
        let warned = text.lines().filter(|line| line.starts_with(&warning));
        assert_eq!(warned.count(), 1, "{:?} in: {}", warning, text);
        assert!(
            text.contains("would listen on 127.0.0.1:1 for x:1"),
            "{}",
            text
        );
    }
    let open = folder.file_with_mode("open", 0o644, "x");
    let file = format!("{}user = 'joe'\npassword-file = '{}'\n", proxies, open);
    assert_refused(&file, &[], "other users can read it");
}

/// The command line overrides the file, and the file overrides the environment.
#[test]
fn the_command_line_overrides_the_file() {
    let file = "proxy = ['a:1', 'b:2']\ntunnels = ['1:x:1', '2:y:2']\n";
    for (args, said) in &[
        (&["-p", "c:3"][..], "through c:3\n"),
        (
            &["9:z:9"],
            "would listen on 127.0.0.1:9 for z:9 through a:1, then b:2\n",
        ),
        (
            &["-L", "9:z:9"],
            "would listen on 127.0.0.1:9 for z:9 through a:1, then b:2\n",
        ),
        (
            &["-W", "z:9"],
            "would connect stdin and stdout to z:9 through a:1, then b:2\n",
        ),
        (&["-l", "::1"], "would listen on [::1]:1 for x:1"),
    ] {
        let told = outline(file, args);
        assert!(told.contains(said), "{:?}: {}", args, told);
        let is_replaced = told.lines().count() == 1 && !told.contains("x:1");
        let replaces = said.contains("z:9");
        assert_eq!(is_replaced, replaces, "{:?}: {}", args, told);
    }
    for (text, args) in &[
        ("ipv4 = true", &["-6"][..]),
        ("verbose = 2", &["-q"]),
        ("quiet = true", &["-v"]),
        ("password = 'x'", &["--password-file", "/nonexistent"]),
        ("threads = 0", &["-m"]),
        (
            "user = 'joe'\npassword-file = '/nonexistent'",
            &["-U", "ann:x"],
        ),
    ] {
        let finished = check(&format!("{}\n{}", file, text), args);
        // Any other error is fine here: it isn't about the combination.
        let is_right = finished.code() == 0 || finished.stderr.contains("/nonexistent");
        assert!(
            is_right && !finished.stderr.contains("can't be combined"),
            "{}",
            finished.stderr
        );
        if text.contains("joe") {
            assert!(finished.text().contains("a:1 as ann"), "{:?}", finished);
        }
    }
    let folder = TempDir::new();
    let path = folder.file("ptunnel.toml", file);
    let finished = Ptunnel::new()
        .args(&["--check-config", "--config", &path])
        .env("https_proxy", "c:3")
        .run();
    assert!(
        finished.text().contains("through a:1, then b:2\n"),
        "{:?}",
        finished
    );
}

/// An option can require another one that is given in the other place.
#[test]
fn options_in_the_file_and_on_the_command_line_combine() {
    let told = outline("serve-proxy = '*:1'", &["--serve-user", "ann:x"]);
    assert!(told.contains("on *:1 for ann"), "{}", told);
    let told = outline("dynamic-user = 'ann:x'\nproxy = 'a:1'", &["-D", "*:1"]);
    assert!(
        told.contains("on *:1 for SOCKS5 and HTTP by ann through"),
        "{}",
        told
    );
    let told = outline("serve-user = 'ann:x'", &["--serve-proxy", "*:1"]);
    assert!(
        told.ends_with("on *:1 for ann to all destinations on other machines\n"),
        "{}",
        told
    );
    let alone = Ptunnel::new()
        .args(&["--demo", "--serve-user", "ann:x"])
        .run();
    alone.expect_code(2);
}

#[test]
fn errors_have_their_line() {
    let right = "proxy = 'a:1'\ntunnels = ['1:x:1']\n";
    for (text, said) in &[
        ("threads = 0", "FILE:3: --threads: invalid number '0'"),
        (
            "\ntreads = 1",
            "FILE:4: no option 'treads': did you mean 'threads'?",
        ),
        (
            "threads = [1]",
            "FILE:3: 'threads' takes a string or a number, not a list; e.g. threads = 4",
        ),
        (
            "check-config = true",
            "FILE:3: 'check-config' is for the command line",
        ),
        (
            "splice = 'maybe'",
            "FILE:3: --splice: 'maybe' isn't one of auto, never, always",
        ),
        (
            "header = [\n'A: b',\n'bad']",
            "FILE:5: --header: invalid header 'bad'",
        ),
        ("user = ':x'", "FILE:3: --user: "),
        (
            "serve-proxy = '*:1'",
            "FILE:3: --serve-proxy *:1 would be an open proxy",
        ),
        ("ipv4 = true\nipv6 = true", "FILE:4: --ipv"),
        ("stdio = 'a:1'", "FILE: -W carries stdin and stdout"),
        (
            "proxy = {host = 'a'}",
            "FILE:3: 'proxy' is already set on line 1",
        ),
        (
            "user = {name = 'a'}",
            "FILE:3: 'user' takes a string or a number, not a table",
        ),
        (
            "user = 2021-01-01",
            "FILE:3: 'user' takes a string or a number, not a date or time",
        ),
        (
            "via = ['b:1', 2021-01-01]",
            "FILE:3: 'via' takes a string or a list of strings, not a date or time inside the list",
        ),
        (
            "verbose = 2.5",
            "FILE:3: 'verbose' takes true, false or a whole number from 0 to 255, not 2.5",
        ),
        (
            "forward = [\n'9991:x:1',\n'9992:x:1',\n'9991:y:1']",
            "FILE:6: 127.0.0.1:9991 is given twice",
        ),
        ("serve-user = 'a:b'", "FILE: "),
        (
            "user = 'joe:x'\npassword-file = '/nowhere'",
            "FILE:4: two passwords for 'joe': in --user of FILE:3 and in --password-file of FILE:4;",
        ),
        (
            "password = 'y'\nuser = 'joe:x'",
            "FILE:3: two passwords for 'joe': in --user of FILE:4 and in --password of FILE:3;",
        ),
        ("x", "FILE:3: expected an equals"),
        (
            "threads = 1\nthreads = 2",
            "FILE:4: 'threads' is already set on line 3",
        ),
    ] {
        assert_refused(&format!("{}{}", right, text), &[], said);
    }
    assert_refused(
        "tunnels = ['1:x:1', '1:a']",
        &["-p", "a:1"],
        "FILE:1: invalid tunnel '1:a'",
    );
    assert_refused("proxy = 'a:1'", &[], "FILE: nothing to do");
    assert_refused(
        "proxy = 'ann@a:1'\ntunnels = '1:x:1'\nuser = 'joe'\npassword = 'y'",
        &[],
        "FILE:1: two usernames for a:1: 'ann' in --proxy of FILE:1 and 'joe' in --user of FILE:3;",
    );
    let missing = Ptunnel::new()
        .args(&["--config", "/nonexistent/file"])
        .run();
    missing.expect_code(2);
    let folder = TempDir::new();
    let text = format!("{}password-file = '/nonexistent'", right);
    let file = folder.file_with_mode("ptunnel.toml", 0o600, text);
    let finished = Ptunnel::new().args(&["--config", &file]).run();
    finished.expect_code(2);
    let told = format!("{}:3: --password-file '/nonexistent': ", file);
    assert!(finished.stderr.contains(&told), "{}", finished.stderr);
    assert!(
        missing
            .stderr
            .contains("--config '/nonexistent/file': No such file"),
        "{}",
        missing.stderr
    );
}

#[test]
fn an_error_in_a_tls_file_has_the_line_of_its_option() {
    let right = "tunnels = ['1:tls://x:1']\nproxy = 'a:1'\n";
    let folder = TempDir::new();
    let empty = folder.file("empty", "");
    for (given, line, said) in &[
        (["cacert", "cert", "key"], 3, "--cacert '"),
        (["cert", "key", "cacert"], 5, "--cacert '"),
    ] {
        let given = given.iter().map(|name| format!("{} = '{}'\n", name, empty));
        let said = format!("FILE:{}: {}", line, said);
        assert_refused(
            &(right.to_string() + &given.collect::<String>()),
            &[],
            &said,
        );
    }
    let text = format!("{}key = '{1}'\ncert = '{1}'\n", right, empty);
    assert_refused(&text, &[], "FILE:4: --cert '");
    let finished = check(
        &format!("{}cert = '{}'\n", right, empty),
        &["--cacert", &empty],
    );
    assert!(
        finished.stderr.starts_with("ptunnel: --cacert '"),
        "{}",
        finished.stderr
    );
}

/// The argument is wrong, not the file.
#[test]
fn an_error_in_an_argument_does_not_name_the_file() {
    let right = "proxy = 'a:1'\ntunnels = ['1:x:1']";
    for args in &[&["--threads", "0"][..], &["--", "1:a"], &["-p", "b"]] {
        let finished = check(right, args);
        finished.expect_code(2);
        assert!(!finished.stderr.contains("FILE"), "{}", finished.stderr);
    }
}

#[test]
fn a_password_that_others_can_read_causes_a_warning() {
    let folder = TempDir::new();
    for (text, mode, is_warned) in &[
        ("password = 'hunter2'", 0o644, true),
        ("user = 'joe:hunter2'", 0o640, true),
        ("proxy = 'joe:hunter2@a:1'", 0o604, true),
        ("user = 'joe:hunter2'", 0o600, false),
        ("user = 'joe'", 0o644, false),
    ] {
        let file = folder.file("ptunnel.toml", text);
        fs::set_permissions(&file, fs::Permissions::from_mode(*mode)).expect("permissions");
        let program = Ptunnel::new()
            .args(&["--config", &file, "--serve-proxy", "0"])
            .more_lines(1)
            .start();
        program.signal(SIGTERM);
        let said = program.finish().stderr;
        assert_eq!(
            said.contains("other users can read the password in "),
            *is_warned,
            "{}: {}",
            text,
            said
        );
        assert!(
            !said.contains("process list") && !said.contains("hunter2"),
            "{}",
            said
        );
    }
}
