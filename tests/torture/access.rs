//! Which clients the embedded proxy serves, and which input the program accepts.

use support::ends::Gate;
use support::namespace::Namespace;
use support::{parts, Connection, Peer, Ptunnel, Running, TempDir};

fn echo() -> Peer {
    Peer::start(|mut connection| connection.echo())
}

/// Returns the status of the reply to a request for `target`.
fn status(program: &Running, target: &str) -> String {
    ask(
        program,
        format!("CONNECT {t} HTTP/1.1\r\nHost: {t}\r\n\r\n", t = target),
    )
}

/// Returns the status of the reply to these bytes.
fn ask(program: &Running, bytes: impl AsRef<[u8]>) -> String {
    let mut client = Connection::open(program.proxy());
    client.send(bytes);
    let head = String::from_utf8(client.read_head()).expect("text");
    head.split(' ').nth(1).unwrap_or("none").to_string()
}

fn allowing(patterns: &[&str]) -> Ptunnel {
    let program = Ptunnel::new().serving().args(&["-w", "5"]);
    let allow = |program: Ptunnel, pattern: &&str| program.args(&["--serve-allow", pattern]);
    patterns.iter().fold(program, allow)
}

/// A listed name can belong to another person, who makes it resolve to this machine.
#[test]
fn a_name_that_resolves_to_this_machine_does_not_bypass_a_list() {
    let folder = TempDir::new();
    let hosts = folder.file(
        "hosts",
        "127.0.0.1 four.example\n127.9.9.9 other.example\n0.0.0.0 zero.example\n\
         ::1 six.example\n:: none.example\n::ffff:127.0.0.1 mapped.example\n\
         127.0.0.1 localhost\n",
    );
    let start = |patterns: &[&str]| {
        let mounting = format!("mount --bind {} /etc/hosts", hosts);
        allowing(patterns).after_mounting(&mounting).start()
    };
    let origin = echo();
    let lists: [&[&str]; 3] = [
        &["example"],
        &["*.example", "127.0.0.1"],
        &["example", "::1"],
    ];
    for list in &lists {
        let program = start(list);
        for name in &["four", "other", "zero", "six", "none", "mapped"] {
            let target = format!("{}.example:{}", name, origin.port());
            assert_eq!(status(&program, &target), "403", "{} {:?}", target, list);
        }
    }
    assert_eq!(origin.accepted(), 0);
    // An operator who allows this machine by its name, or everything, or who gives no list, intends
    // it.
    let lists: [&[&str]; 3] = [&["example", "localhost"], &["*"], &[]];
    for list in &lists {
        let program = start(list);
        let target = format!("four.example:{}", origin.port());
        assert_eq!(status(&program, &target), "200", "{:?}", list);
    }
}

/// Regression: "this machine" meant only loopback. Clients could reach its other addresses, on
/// which most of its services listen, and the address at which a cloud hands out secrets.
#[test]
fn a_name_that_resolves_to_an_interface_or_the_link_does_not_bypass_a_list() {
    let folder = TempDir::new();
    let hosts = folder.file(
        "hosts",
        "192.0.2.7 four.example\n2001:db8::7 six.example\n::ffff:192.0.2.7 mapped.example\n\
         169.254.169.254 cloud.example\nfe80::1 link.example\n192.0.2.8 other.example\n",
    );
    let namespace = Namespace::new();
    for address in &["192.0.2.7/32", "2001:db8::7/128"] {
        namespace.run(|| parts::run("ip", &["address", "add", address, "dev", "lo"]));
    }
    // As if an address moves between machines: then any address can be bound.
    namespace.set("ipv4/ip_nonlocal_bind", "1");
    let origin = namespace.run(|| Gate::on("[::]:0"));
    let status_with = |list: &[&str], target: &str| {
        let mounting = format!("mount --bind {} /etc/hosts", hosts);
        namespace.run(|| {
            let program = allowing(list).after_mounting(&mounting).start();
            status(&program, &format!("{}:{}", target, origin.address().port()))
        })
    };
    for name in &["four", "six", "mapped", "cloud", "link"] {
        let name = format!("{}.example", name);
        assert_eq!(status_with(&["example"], &name), "403", "{}", name);
    }
    assert!(origin.try_accept().is_none());
    assert_eq!(status_with(&["example"], "other.example"), "502");
    for list in &[&["example", "localhost"][..], &["*"], &[]] {
        assert_eq!(status_with(list, "four.example"), "200", "{:?}", list);
    }
    assert_eq!(status_with(&["192.0.2.7"], "192.0.2.7"), "200");
    // Without a list, clients from other machines can reach only other machines, with any form of
    // the request.
    let status_beyond = |target: &str| {
        let mounting = format!("mount --bind {} /etc/hosts", hosts);
        namespace.run(|| {
            let program = Ptunnel::new().serving_on("192.0.2.7:0").args(&["-w", "5"]);
            let program = program.args(&["--allow-from", "192.0.2.7"]);
            let program = program.after_mounting(&mounting).start();
            status(&program, &format!("{}:{}", target, origin.address().port()))
        })
    };
    for target in &[
        "192.0.2.7",
        "[2001:db8::7]",
        "[::ffff:192.0.2.7]",
        "127.0.0.1",
        "four.example",
        "cloud.example",
        "169.254.169.254",
    ] {
        assert_eq!(status_beyond(target), "403", "{}", target);
    }
    assert_eq!(status_beyond("192.0.2.8"), "502");
}

#[test]
fn no_notation_of_an_address_bypasses_a_list() {
    let origin = echo();
    let program = allowing(&["192.0.2.0/24", "2001:db8::/32", "example.org"]).start();
    for host in &[
        "127.0.0.1",
        "127.1",
        "0",
        "0.0.0.0",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "017700000001",
        "127.0.0.1.",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:ffff:7f00:0001]",
        "[64:ff9b::7f00:1]",
        "localhost",
        "localhost.",
        "LOCALHOST",
        "example.org.localhost",
        "notexample.org",
    ] {
        let target = format!("{}:{}", host, origin.port());
        assert_eq!(status(&program, &target), "403", "{}", target);
    }
    // Zone ids, users and nested names: nothing that two readers could read differently.
    for host in &[
        "[::1%lo]",
        "[::1%25lo]",
        "[fe80::1%1]",
        "example.org@127.0.0.1",
        "127.0.0.1#example.org",
        "127.0.0.1/example.org",
        "127.0.0.1%00.example.org",
        "example.org:80@127.0.0.1",
    ] {
        let target = format!("{}:{}", host, origin.port());
        assert_eq!(status(&program, &target), "400", "{}", target);
    }
    assert_eq!(origin.accepted(), 0);
}

/// Regression: such a block was accepted, and covered nothing.
#[test]
fn a_list_can_contain_an_ipv4_block_in_ipv6_notation() {
    let origin = echo();
    let program = allowing(&["::ffff:127.0.0.0/104"]).start();
    let port = origin.port();
    assert_eq!(status(&program, &format!("127.0.0.1:{}", port)), "200");
    assert_eq!(
        status(&program, &format!("[::ffff:127.0.0.1]:{}", port)),
        "200"
    );
    assert_eq!(status(&program, &format!("192.0.2.1:{}", port)), "403");
    let finished = Ptunnel::new()
        .serving()
        .args(&["--serve-allow", "::ffff:10.0.0.0/8"])
        .run();
    finished.expect_code(2);
    assert!(
        finished.stderr.contains("'::ffff:10.0.0.0/8'"),
        "{}",
        finished.stderr
    );
}

#[test]
fn is_never_an_open_proxy_by_default() {
    let everywhere = [
        &["--serve-proxy", "*:0"][..],
        &["--serve-proxy", ":0"],
        &["--serve-proxy", "0.0.0.0:0"],
        &["--serve-proxy", "[::]:0"],
        &["--serve-proxy", "[::ffff:0.0.0.0]:0"],
        &["--serve-proxy", "192.0.2.1:0"],
        &["--serve-proxy", "this-machine.invalid:0"],
        &["-l", "0.0.0.0", "--serve-proxy", "0"],
        &["-l", "*", "--serve-proxy", "0"],
    ];
    for args in &everywhere {
        let finished = Ptunnel::new().args(args).run();
        finished.expect_code(2);
        assert!(
            finished.stderr.contains("an open proxy"),
            "{}",
            finished.stderr
        );
    }
    for address in &["0", "localhost:0", "127.0.0.1:0", "[::1]:0"] {
        let program = Ptunnel::new().serving_on(address).start();
        assert!(program.proxy().ip().is_loopback(), "{}", program.proxy());
    }
}

#[test]
fn requests_that_two_readers_would_read_differently_are_refused() {
    let origin = echo();
    let program = Ptunnel::new().serving().start();
    let target = origin.address();
    let fields = [
        "Content-Length: 4\r\n",
        "Content-Length: 0\r\nContent-Length: 4\r\n",
        "Content-Length: -1\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Transfer-Encoding: identity\r\nContent-Length: 0\r\n",
        "Host: a\r\nHost: b\r\n",
        "Host : a\r\n",
        "Host: a\r\n b\r\n",
        "A: b\rHost: c\r\n",
        "A: \0\r\n",
        "\u{b}A: b\r\n",
    ];
    for fields in &fields {
        let head = format!(
            "CONNECT {} HTTP/1.1\r\n{}\r\nGET / HTTP/1.1\r\n\r\n",
            target, fields
        );
        assert_eq!(ask(&program, head), "400", "{:?}", fields);
    }
    for line in &[
        format!("CONNECT  {} HTTP/1.1", target),
        format!("CONNECT {}  HTTP/1.1", target),
        format!("CONNECT\t{} HTTP/1.1", target),
        format!("CONNECT {}\u{b}HTTP/1.1", target),
        format!("CONNECT {} HTTP/1.1 ", target),
        format!("CONNECT {} HTTP/2.0", target),
        format!("CONNECT {}", target),
    ] {
        assert_eq!(
            ask(&program, format!("{}\r\n\r\n", line)),
            "400",
            "{:?}",
            line
        );
    }
    assert_eq!(origin.accepted(), 0);
    let fine = format!("CONNECT {} HTTP/1.1\r\nContent-Length: 0\r\n\r\n", target);
    assert_eq!(ask(&program, fine), "200");
}

#[test]
fn a_line_break_in_host_header_or_credential_is_refused() {
    let proxy = Peer::echoing();
    let address = proxy.address().to_string();
    let url = |user_info: &str| format!("http://{}@{}", user_info, address);
    let (in_user, in_password) = (url("joe%0d%0aX:y"), url("joe:p%0d%0aX"));
    let (bare, wide) = (url("joe:p%0aX"), url("joe:p%c2%85X"));
    let folder = TempDir::new();
    let file = folder.file_with_mode("password", 0o600, "p\rX: y\n");
    for args in &[
        &["0:a\r\nX: y:1"][..],
        &["-W", "a\r\nX: y:1"],
        &["-W", "a\nX", "1"],
        &["0:a:1", "-H", "A: b\r\nX: y"],
        &["0:a:1", "-H", "A: b\nX: y"],
        &["0:a:1", "-H", "A: b\rX: y"],
        &["0:a:1", "-H", "A\r\nX: y"],
        &["0:a:1", "-H", "A: b\u{85}X: y"],
        &["0:a:1", "-U", "joe\r\nX: y:p"],
        &["0:a:1", "-U", "joe:p\r\nX: y"],
        &["0:a:1", "-U", "joe", "-P", "p\nX: y"],
        &["0:a:1", "-U", "joe", "--password-file", &file],
        &["0:a:1", "-p", &in_user],
        &["0:a:1", "-p", &in_password],
        &["0:a:1", "-p", &bare],
        &["0:a:1", "-p", &wide],
    ] {
        let finished = Ptunnel::through(&address).args(args).run();
        finished.expect_code(2);
    }
    let finished = Ptunnel::through(&address)
        .args(&["0:a:1", "-U", "joe"])
        .env("PTUNNEL_PASSWORD", "p\r\nX: y")
        .run();
    finished.expect_code(2);
    assert_eq!(proxy.accepted(), 0);
}

/// Regression: the first 64 KiB were used, and the rest was ignored silently.
#[test]
fn a_password_file_that_is_too_long_is_refused() {
    let folder = TempDir::new();
    for (length, code) in &[(65_537, 2), (100_000, 2)] {
        let file = folder.file_with_mode("password", 0o600, "x".repeat(*length));
        let finished = Ptunnel::through("192.0.2.1:1")
            .args(&["0:a:1", "-U", "joe", "--password-file", &file])
            .run();
        finished.expect_code(*code);
        assert!(finished.stderr.contains("65536"), "{}", finished.stderr);
    }
}

/// Characters that a terminal interprets, or shows as others, in a name that messages repeat.
#[test]
fn messages_escape_a_user_name() {
    let user = "j\u{1b}[2Jo\u{202e}e\u{feff}";
    let shown = "j\\x1b[2Jo\\u{202e}e\\u{feff}";
    let program = || Ptunnel::through("192.0.2.1:1").arg("0:a:1");
    let serving = Ptunnel::new().args(&["--serve-proxy", "127.0.0.1:0"]);
    for finished in &[
        serving.args(&["--serve-user", user]).run(),
        program().args(&["-D", "0", "--dynamic-user", user]).run(),
        program()
            .args(&["-U", user])
            .in_a_session_of_its_own()
            .run(),
    ] {
        finished.expect_code(2);
        assert!(finished.stderr.contains(shown), "{}", finished.stderr);
        assert!(!finished.stderr.contains('\u{1b}'), "{}", finished.stderr);
    }
}

/// Regression: a listener of both families logged IPv4 clients with another address.
#[test]
fn the_log_shows_an_ipv4_client_as_ipv4() {
    let program = Ptunnel::through("127.0.0.1:1")
        .tunnel("*:0:a.example:1")
        .start();
    let port = program.address().port();
    let client = Connection::open(([127, 0, 0, 1], port).into());
    let line = program.says(&["warning:", &client.local().to_string()]);
    assert!(!line.contains("ffff"), "{}", line);
}
