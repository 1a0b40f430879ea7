//! `--pac`: a JavaScript file that chooses the proxies for each destination.

use std::fs;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::route::{origin, proxy};
use crate::serve::granted;
use crate::status::eventually_is;
use support::parts::{curl, run, Nginx, Squid, SMALL};

use support::socks::{Microsocks, SshSocks};
use support::temp::free_port;
use support::tls::{Authority, Stunnel};
use support::{closed_address, eventually, sys, Blackhole, Connection, Finished, Peer};
use support::{Ptunnel, Running, TempDir};

/// Returns a file with a function of this body; `url` and `host` are the destination's.
pub fn saying(body: &str) -> String {
    format!("function FindProxyForURL(url, host) {{\n{}\n}}\n", body)
}

/// Returns the program with such a file, and the folder of the file.
fn with(body: &str) -> (Ptunnel, TempDir) {
    let folder = TempDir::new();
    let file = folder.file("corp.pac", saying(body));
    (Ptunnel::new().args(&["--pac", &file]), folder)
}

/// Returns the name in the greeting of a new client of a tunnel.
#[track_caller]
pub fn greeting(program: &Running, tunnel: usize) -> String {
    String::from_utf8(program.connect_to(tunnel).receive(3)).unwrap()
}

pub fn count_of(program: &Running, word: &str) -> usize {
    program.stderr().matches(word).count()
}

#[track_caller]
fn refused_at_start(file: &str, told: &[&str]) {
    let finished = Ptunnel::new()
        .args(&["--pac", file])
        .to("a.example:1")
        .run();
    finished.expect_code(2);
    for words in told {
        assert!(
            finished.stderr.contains(words),
            "{:?}: {}",
            words,
            finished.stderr
        );
    }
}

fn address(at: SocketAddr) -> String {
    format!("127.0.0.1:{}", at.port())
}

#[test]
fn each_destination_goes_through_its_own_proxy_or_directly() {
    let (one, two, home) = (proxy("one"), proxy("two"), origin("own"));
    let (program, _folder) = with(&format!(
        "if (shExpMatch(host, '*.one.example')) return 'PROXY {}';\n\
         if (url == 'https://two.example:99/') return 'PROXY {}';\n\
         return isInNet(host, '127.0.0.0', '255.0.0.0') ? 'DIRECT' : 'PROXY 127.0.0.1:9';",
        one.address(),
        two.address(),
    ));
    let program = program
        .to("www.one.example:1")
        .to("two.example:99")
        .to(home.address())
        .to(format!("localhost:{}", home.port()))
        .arg("-v")
        .start();
    for (tunnel, name) in ["one", "two", "own", "own"].iter().enumerate() {
        assert_eq!(greeting(&program, tunnel), *name);
    }
    assert_eq!(
        one.head().lines().next(),
        Some("CONNECT www.one.example:1 HTTP/1.1")
    );
    program.says(&["www.one.example:1", &format!("through {}", one.address())]);
    program.says(&["two.example:99", &format!("through {}", two.address())]);
    program.says(&[&home.address().to_string(), "directly"]);
    let line = &program.listening()[0].line;
    assert!(
        line.contains("for www.one.example:1 by PAC file ") && line.ends_with("corp.pac"),
        "{}",
        line
    );
}

#[test]
fn curl_fetches_through_each_real_proxy_that_the_file_names() {
    let nginx = Nginx::start();
    let authority = Authority::new();
    let identity = authority.issue("proxy", "DNS:localhost,IP:127.0.0.1");
    let (squid, open) = (Squid::start(Some(("joe", "hunter2"))), Squid::start(None));
    let stunnel = Stunnel::start(&identity, squid.address());
    let (socks, ssh) = (Microsocks::start(None), SshSocks::start());
    for said in &[
        format!("PROXY {}", squid.address()),
        format!("HTTPS localhost:{}", stunnel.address().port()),
        format!("SOCKS {}", socks.address()),
        format!("PROXY {}; SOCKS5 {}", closed_address(), socks.address()),
        format!("SOCKS4 {}", ssh.address()),
        format!("HTTP {}", open.address()),
    ] {
        let (program, _folder) = with(&format!("return '{}';", said));
        let program = program
            .args(&["-U", "joe", "--proxy-cacert", &authority.certificate()])
            .env("PTUNNEL_PASSWORD", "hunter2")
            .to(nginx.address())
            .start();
        let url = format!("http://{}/small", program.address());
        assert_eq!(
            curl(&["--noproxy", "*", &url]),
            SMALL.as_bytes(),
            "{}",
            said
        );
        assert!(!program.stderr().contains("hunter2"));
    }
}

/// The file chooses the proxies that get the credentials of `--user`; the netrc file has
/// credentials for others by host.
#[test]
fn credentials_are_sent_to_http_proxies_and_to_hosts_in_the_netrc_file() {
    let (asked, known) = (proxy("one"), proxy("two"));
    let folder = TempDir::new();
    let netrc = "machine localhost login ann password secret\n";
    let netrc = folder.file_with_mode("netrc", 0o600, netrc);
    let body = format!(
        "return 'PROXY ' + (host == 'a.example' ? '{}' : 'localhost:{}');",
        asked.address(),
        known.port()
    );
    let (program, _folder) = with(&body);
    let program = program
        .args(&["--proxy-netrc", &netrc])
        .to("a.example:1")
        .to("b.example:2")
        .start();
    assert_eq!(
        (greeting(&program, 0), greeting(&program, 1)),
        ("one".into(), "two".into())
    );
    assert!(!asked.head().contains("Authorization"), "{}", asked.head());
    assert!(
        known.head().contains("Basic YW5uOnNlY3JldA=="),
        "{}",
        known.head()
    );
    let (program, _folder) = with(&body);
    let program = program.args(&["-U", "joe:x"]).to("a.example:1").start();
    assert_eq!(greeting(&program, 0), "one");
    let heads = asked.heads();
    assert!(heads[1].contains("Basic am9lOng="), "{}", heads[1]);
}

/// Regression: the advice was `--user`, which applies only to HTTP proxies.
#[test]
fn a_socks_proxy_gets_credentials_from_the_netrc_file() {
    let (nginx, folder) = (Nginx::start(), TempDir::new());
    let socks = Microsocks::start(Some(("joe", "hunter2")));
    let netrc = |name: &str, password: &str| {
        let text = format!("machine 127.0.0.1 login joe password {}\n", password);
        folder.file_with_mode(name, 0o600, &text)
    };
    let asking = |address: SocketAddr, kind: &str, args: &[&str]| {
        let (program, folder) = with(&format!("return '{} {}';", kind, address));
        let program = program.args(&["-U", "joe"]).args(args);
        (program.env("PTUNNEL_PASSWORD", "hunter2"), folder)
    };
    let (wrong, right) = (netrc("wrong", "x"), netrc("right", "hunter2"));
    let other = Peer::start(|mut connection| {
        connection.receive(9); // the request
        connection.send(b"\x00\x5d\x00\x00\x00\x00\x00\x00");
        connection.finish_sending();
    });
    for (address, kind, args, remedy) in &[
        (
            socks.address(),
            "SOCKS",
            &[][..],
            "; add an entry for the proxy to the --proxy-netrc file, because a PAC file names it",
        ),
        (
            socks.address(),
            "SOCKS",
            &["--proxy-netrc", &wrong],
            "; check the username and the password in the --proxy-netrc file",
        ),
        (
            other.address(),
            "SOCKS4",
            &[],
            "; set the login in the --proxy-netrc file to the user that ptunnel runs as",
        ),
    ] {
        let (program, _folder) = asking(*address, kind, args);
        let finished: Finished = program.args(&["-W", "127.0.0.1:22"]).run();
        finished.expect_code(4);
        let said = &finished.stderr;
        assert!(said.trim_end().ends_with(remedy), "{}", said);
        assert!(!said.contains("--user"), "{}", said);
    }
    let (program, _folder) = asking(socks.address(), "SOCKS", &[]);
    let finished: Finished = program.args(&["--test", "-W", "127.0.0.1:22"]).run();
    let advice = "try: set the username with --proxy-netrc FILE, not with -U";
    assert!(finished.text().contains(advice), "{}", finished.text());
    // These credentials are right.
    let (program, _folder) = asking(socks.address(), "SOCKS", &["--proxy-netrc", &right]);
    let program = program.to(nginx.address()).start();
    let url = format!("http://{}/small", program.address());
    assert_eq!(curl(&["--noproxy", "*", &url]), SMALL.as_bytes());
    // For an HTTP proxy that the file names, `--user` is the right advice.
    let asks = Peer::replying("HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic\r\n\r\n");
    let (program, _folder) = with(&format!("return 'PROXY {}';", asks.address()));
    let finished: Finished = program.args(&["-W", "127.0.0.1:22"]).run();
    finished.expect_code(4);
    let said = &finished.stderr;
    assert!(said.contains("; set --user and the password"), "{}", said);
}

#[test]
fn via_continues_after_each_proxy_that_the_file_names() {
    let (first, second) = (proxy("one"), Peer::echoing());
    let (program, _folder) = with(&format!("return 'PROXY {}';", second.address()));
    let program = program
        .args(&["--via", &first.address().to_string()])
        .to("a.example:1")
        .start();
    // The first proxy echoes the request for the second.
    let mut client = program.connect();
    client.expect_nothing();
    let head = second.head();
    assert!(
        head.starts_with(&format!("CONNECT {} ", first.address())),
        "{}",
        head
    );
}

#[test]
fn no_proxy_overrides_the_file_and_the_file_overrides_the_environment() {
    let (one, home) = (proxy("one"), origin("own"));
    let (program, _folder) = with(&format!("return 'PROXY {}';", one.address()));
    let program = program
        .args(&["--no-proxy", "127.0.0.0/8"])
        .env("https_proxy", format!("http://{}", closed_address()))
        .to(home.address())
        .to("a.example:1")
        .start();
    assert_eq!(
        (greeting(&program, 0), greeting(&program, 1)),
        ("own".into(), "one".into())
    );
    assert_eq!(one.accepted(), 1);
}

#[test]
fn the_next_proxy_is_tried_and_failures_are_remembered_across_answers() {
    let (hole, two, three) = (Blackhole::start(), proxy("two"), proxy("3rd"));
    let (program, _folder) = with(&format!(
        "return 'PROXY {}; PROXY ' + (host == 'a.example' ? '{}' : '{}');",
        hole.address(),
        two.address(),
        three.address(),
    ));
    let program = program
        .args(&["-w", "2"])
        .to("a.example:1")
        .to("b.example:2")
        .start();
    let start = Instant::now();
    assert_eq!(greeting(&program, 0), "two");
    assert!(start.elapsed() >= Duration::from_millis(1900));
    program.says(&[&hole.address().to_string(), "trying the next proxy"]);
    let start = Instant::now();
    assert_eq!(
        (greeting(&program, 1), greeting(&program, 0)),
        ("3rd".into(), "two".into())
    );
    assert!(start.elapsed() < Duration::from_millis(1900));
}

#[test]
fn direct_is_tried_after_unreachable_proxies_and_never_after_a_refusal() {
    let homes = [origin("own"), origin("own"), origin("own")];
    let no = Peer::replying("HTTP/1.1 403 Forbidden\r\n\r\n");
    let nonsense = Peer::replying("what?\r\n\r\n");
    let (program, _folder) = with(&format!(
        "var all = {{ {}: '{}', {}: '{}', {}: '{}' }};\n\
         return 'PROXY ' + all[url.split(/[:/]+/)[2]] + '; DIRECT';",
        homes[0].port(),
        closed_address(),
        homes[1].port(),
        no.address(),
        homes[2].port(),
        nonsense.address(),
    ));
    let to_each = |program: Ptunnel, home: &Peer| program.to(home.address());
    let program = homes.iter().fold(program, to_each).start();
    assert_eq!(greeting(&program, 0), "own");
    program.says(&[&format!("connecting to {} directly", homes[0].address())]);
    program.connect_to(1).expect_nothing();
    program.says(&["403 Forbidden"]);
    program.connect_to(2).expect_nothing();
    program.says(&[&nonsense.address().to_string(), "an invalid reply"]);
    let accepted: Vec<usize> = homes.iter().map(Peer::accepted).collect();
    assert_eq!(accepted, [1, 0, 0]);
}

#[test]
fn a_proxy_after_direct_is_tried_if_the_destination_is_unreachable() {
    let one = proxy("one");
    let (program, _folder) = with(&format!("return 'DIRECT; PROXY {}';", one.address()));
    let program = program.to(closed_address()).start();
    assert_eq!(greeting(&program, 0), "one");
    program.says(&["cannot connect", "trying the next proxy"]);
}

#[test]
fn direct_fallback_applies_to_the_files_proxies() {
    let home = origin("own");
    let (program, _folder) = with(&format!("return 'PROXY {}';", closed_address()));
    let program = program.arg("--direct-fallback").to(home.address()).start();
    assert_eq!(greeting(&program, 0), "own");
}

/// A call that hangs for one destination delays no client of another.
#[test]
fn an_endless_call_is_stopped_and_delays_no_other_client() {
    let one = proxy("one");
    let (program, _folder) = with(&format!(
        "while (host == 'loop.example') {{}}\nreturn 'PROXY {}';",
        one.address()
    ));
    let program = program
        .args(&["-w", "2"])
        .to("loop.example:1")
        .to("a.example:2")
        .start();
    let start = Instant::now();
    let mut waiting: Vec<Connection> = (0..4).map(|_| program.connect_to(0)).collect();
    assert_eq!(greeting(&program, 1), "one");
    assert!(
        start.elapsed() < Duration::from_millis(1900),
        "{:?}",
        start.elapsed()
    );
    for client in &mut waiting {
        client.expect_nothing();
    }
    program.says(&["corp.pac returned no usable proxy for loop.example:1: no answer within 2s"]);
    assert_eq!(greeting(&program, 1), "one");
    let left = || program.process().children();
    eventually("what hung was killed", || left().len() == 1);
    // No process is busy any more.
    left()[0].settle();
    program.process().settle();
}

/// Regression: eight such calls held all threads of the resolver.
#[test]
fn uninterruptible_calls_delay_no_other_client() {
    let one = proxy("one");
    let (program, _folder) = with(&format!(
        "if (host == 'loop.example') [].indexOf.call({{ length: 2147483647 }}, 1);\n\
         return 'PROXY {}';",
        one.address()
    ));
    let program = program
        .args(&["-w", "1"])
        .to("loop.example:1")
        .to("a.example:2")
        .start();
    let mut waiting: Vec<Connection> = (0..8).map(|_| program.connect_to(0)).collect();
    for client in &mut waiting {
        client.expect_nothing();
    }
    assert_eq!(greeting(&program, 1), "one");
}

#[test]
fn an_invalid_answer_fails_the_client_and_is_logged() {
    let one = proxy("one");
    let (program, _folder) = with(&format!(
        "if (host == 'a.example') return ' '.repeat(9000);\n\
         if (host == 'b.example') return nobody(host);\n\
         if (host == 'c.example') throw 'no idea';\n\
         return 'PROXY {}';",
        one.address()
    ));
    let program = program
        .to("a.example:1")
        .to("b.example:2")
        .to("c.example:3")
        .to("d.example:4")
        .start();
    for (tunnel, told) in [
        "corp.pac returned no usable proxy for a.example:1: it returned '",
        "corp.pac returned no usable proxy for b.example:2: line 3: ReferenceError",
        "corp.pac returned no usable proxy for c.example:3: no idea",
    ]
    .iter()
    .enumerate()
    {
        program.connect_to(tunnel).expect_nothing();
        program.says(&[told]);
    }
    assert_eq!(greeting(&program, 3), "one");
}

/// Browsers connect directly if the file names no proxy. Regression: ptunnel refused the client.
#[test]
fn an_answer_without_a_proxy_means_direct_as_in_a_browser() {
    for (value, notes) in &[
        (
            "''",
            &["no proxy in the answer ''; connecting directly, as browsers do"][..],
        ),
        ("null", &[]),
        ("undefined", &["no proxy in the answer ''"]),
        ("['PROXY 127.0.0.1:9']", &["no proxy in the answer ''"]),
        (
            "'PROXY of ours\\n; nonsense; PROXY http://127.0.0.1:9'",
            &[
                "skipping 'PROXY of ours': PROXY takes HOST:PORT",
                "skipping 'nonsense': unknown kind of proxy",
                "skipping 'PROXY http://127.0.0.1:9': PROXY takes HOST:PORT, without a scheme",
                "'; connecting directly, as browsers do",
            ],
        ),
    ] {
        let home = origin("own");
        let (program, _folder) = with(&format!("return {};", value));
        let program = program.to(home.address()).start();
        for _ in 0..2 {
            assert_eq!(greeting(&program, 0), "own", "{}", value);
        }
        for note in *notes {
            program.says(&["warning: ", "corp.pac: ", note]);
        }
        let warned = count_of(&program, "warning");
        assert_eq!(warned, notes.len(), "{}", program.stderr());
    }
}

/// The previous engine supported only ECMAScript 5.
#[test]
fn modern_javascript_runs() {
    let one = proxy("one");
    let text = format!(
        "const table = new Map([['one.example', '{}']]);\n\
         const FindProxyForURL = (url, host) => {{\n\
         let found = [];\n\
         for (const [domain, proxy] of table) {{\n\
         if (['a', 'one'].includes(host.split('.')[0]) && host.endsWith(domain))\n\
         found.push(`PROXY ${{proxy}}`);\n\
         }}\n\
         return found.join('; ') || `PROXY ${{table.get('x')?.y ?? '127.0.0.1:9'}}`;\n\
         }};\n",
        one.address()
    );
    let folder = TempDir::new();
    let file = folder.file("corp.pac", text);
    let program = Ptunnel::new().args(&["--pac", &file]);
    let program = program.to("one.example:1").start();
    assert_eq!(greeting(&program, 0), "one");
}

/// Regression: it ran in the process that holds the passwords and the connections.
#[test]
fn a_file_runs_in_a_process_that_has_only_a_socket() {
    let one = proxy("one");
    let (program, _folder) = with(&format!("return 'PROXY {}';", one.address()));
    let program = program
        .args(&["-U", "joe"])
        .env("PTUNNEL_PASSWORD", "hunter2")
        .env("TZ", "UTC")
        .to("a.example:1")
        .start();
    let mut live = program.connect();
    live.expect("one");
    let children = program.process().children();
    let child = match children[..] {
        [child] => child,
        _ => panic!("{:?}", children),
    };
    assert_eq!(child.descriptors(), 1);
    assert_eq!(child.environment(), "TZ=UTC\0");
    assert!(program.process().remembers(b"hunter2") && !child.remembers(b"hunter2"));
    for name in &[
        "Max open files",
        "Max processes",
        "Max file size",
        "Max core file size",
    ] {
        assert_eq!(child.limit(name), "0", "{}", name);
    }
    assert_eq!(child.limit("Max cpu time"), "60");
    assert!(child.limit("Max address space") != "unlimited");
    assert_eq!(child.status("NoNewPrivs"), "1");
    assert_eq!(child.status("Seccomp"), "2");
    assert_eq!(child.status("Threads"), "1");
    // A terminal sends these signals to the whole group; the process ignores them.
    for signal in &[sys::SIGHUP, sys::SIGINT, sys::SIGTERM] {
        sys::signal(child.0, *signal);
    }
    assert_eq!(greeting(&program, 0), "one");
    assert_eq!(program.process().children()[0].0, child.0);
    // It ends with its parent.
    sys::signal(program.process().0, sys::SIGKILL);
    eventually("it has ended", || {
        fs::metadata(format!("/proc/{}/fd/0", child.0)).is_err()
    });
}

#[test]
fn a_dead_process_is_replaced_even_if_the_program_was_deleted() {
    let one = proxy("one");
    let (program, folder) = with(&format!(
        "return 'PROXY ' + (isInNet(host, '127.0.0.0', '255.0.0.0') ? '{}' : '127.0.0.1:9')",
        one.address()
    ));
    let copy = folder.at("copy");
    let program = program
        .to("localhost:1")
        .after(&format!(
            "cp \"$1\" '{0}'; shift; set -- '{0}' \"$@\"",
            copy
        ))
        .start();
    fs::remove_file(copy).unwrap();
    assert_eq!(greeting(&program, 0), "one");
    let child = program.process().children()[0];
    sys::signal(child.0, sys::SIGKILL);
    eventually("it has ended", || program.process().children().is_empty());
    assert_eq!(greeting(&program, 0), "one");
    let next = program.process().children()[0];
    assert!(next.0 != child.0 && next.program() == program.process().program());
}

#[test]
fn unknown_kinds_are_skipped_and_logged_once() {
    let one = proxy("one");
    let (program, _folder) = with(&format!(
        "return 'SOCKS6 127.0.0.1:9; QUIC x:1; PROXY {}';",
        one.address()
    ));
    let program = program.to("a.example:1").to("b.example:1").start();
    for tunnel in &[0, 0, 1] {
        assert_eq!(greeting(&program, *tunnel), "one");
    }
    program.says(&["warning", "corp.pac: skipping 'SOCKS6 127.0.0.1:9'"]);
    assert_eq!(count_of(&program, "skipping"), 2, "{}", program.stderr());
}

/// Regression: the whole answer failed, for each client.
#[test]
fn a_proxy_whose_password_is_too_long_is_skipped_and_logged_once() {
    let one = proxy("one");
    let folder = TempDir::new();
    let netrc = format!("machine localhost login joe password {}\n", "x".repeat(256));
    let netrc = folder.file_with_mode("netrc", 0o600, netrc);
    let (program, _folder) = with(&format!(
        "return 'SOCKS localhost:9; PROXY {}';",
        one.address()
    ));
    let program = program
        .args(&["--proxy-netrc", &netrc])
        .to("a.example:1")
        .start();
    for _ in 0..2 {
        assert_eq!(greeting(&program, 0), "one");
    }
    program.says(&["corp.pac: skipping 'SOCKS localhost:9': the username and the"]);
    assert_eq!(count_of(&program, "skipping"), 1);
    assert!(!program.stderr().contains("xxx"), "{}", program.stderr());
}

#[test]
fn the_file_applies_to_clients_that_name_their_destination() {
    let (one, home) = (
        Peer::echoing(),
        Peer::start(|mut connection| connection.echo()),
    );
    let (program, _folder) = with(&format!(
        "alert('asked for ' + host);\n\
         return dnsDomainIs(host, '.example') ? 'PROXY {}' : 'DIRECT';",
        one.address()
    ));
    let program = program.args(&["-D", "0", "-vv"]).more_lines(1).start();
    for destination in &["www.one.example:1".to_string(), address(home.address())] {
        let mut client = granted(program.connect(), destination);
        client.send("ping");
        client.expect("ping");
    }
    assert_eq!((one.accepted(), home.accepted()), (1, 1));
    program.says(&["debug", "corp.pac: alert: asked for www.one.example"]);
}

#[test]
fn an_unusable_file_ends_the_start_with_exit_code_2() {
    let folder = TempDir::new();
    for (text, told) in &[
        (
            "\nfunction FindProxyForURL(url, host) {\n  return 'x;\n}",
            "line 3: SyntaxError",
        ),
        (
            "function FindProxyForURL(url, host) {\n",
            "at the end of the file; check that it is a PAC file",
        ),
        (
            "let proxy = 'DIRECT';",
            "no function FindProxyForURL(url, host)",
        ),
        ("var a = 1;\nnobody();", "line 2: ReferenceError"),
        (
            "function findProxyForURL() {}",
            "no function FindProxyForURL(url, host)",
        ),
        ("", "no function FindProxyForURL(url, host)"),
        (
            "for (;;) {}",
            "no answer within 5s; check that it is a PAC file",
        ),
        ("a\0b", "NUL"),
    ] {
        let file = folder.file("corp.pac", text);
        refused_at_start(&file, &["--pac", "corp.pac", told]);
        let check = Ptunnel::new().args(&["--pac", &file, "--check-config"]);
        check.to("a.example:1").run().expect_code(2);
    }
    refused_at_start(
        &folder.at("none.pac"),
        &["No such file", "; check the path"],
    );
    let file = folder.file("corp.pac", " ".repeat(1 << 20) + "\n");
    refused_at_start(&file, &["more than 1048576 bytes"]);
}

#[test]
fn it_conflicts_with_other_proxies() {
    let (program, _folder) = with("return 'DIRECT';");
    let finished = program.args(&["-p", "a.example:1"]).to("a.example:1").run();
    finished.expect_code(2);
    let told = &finished.stderr;
    assert!(
        told.contains("--proxy") && told.contains("--pac"),
        "{}",
        told
    );
}

#[test]
fn check_config_names_the_file() {
    let (program, _folder) = with("return 'DIRECT';");
    let checked = program
        .args(&[
            "--check-config",
            "--via",
            "m.example:1",
            "--direct-fallback",
        ])
        .args(&["9999:a.example:1", "-D", "9998"])
        .run();
    checked.expect_code(0);
    let told = checked.text();
    for line in &[
        "would listen on 127.0.0.1:9999 for a.example:1 by PAC file ",
        "corp.pac via m.example:1, else directly",
    ] {
        assert!(told.contains(line), "{}", told);
    }
}

#[test]
fn a_reload_rereads_the_file_and_keeps_open_tunnels() {
    let (one, two) = (proxy("one"), proxy("two"));
    let folder = TempDir::new();
    let says = |peer: &Peer| saying(&format!("return 'PROXY {}';", peer.address()));
    let pac = folder.file("corp.pac", says(&one));
    let port = free_port();
    let text = format!("pac = \"{}\"\ntunnels = [\"{}:a.example:1\"]\n", pac, port);
    let file = folder.file("ptunnel.toml", text);
    let program = Ptunnel::new()
        .args(&["--config", &file])
        .more_lines(1)
        .start();
    let mut live = program.connect();
    live.expect("one");
    fs::write(&pac, "function FindProxyForURL( {").unwrap();
    program.signal(sys::SIGHUP);
    program.says(&["reload failed", "corp.pac", "line 1: SyntaxError"]);
    assert_eq!(greeting(&program, 0), "one");
    fs::write(&pac, says(&two)).unwrap();
    program.signal(sys::SIGHUP);
    eventually("the new file counts", || greeting(&program, 0) == "two");
    live.send("ping");
    live.expect("ping");
}

#[test]
fn the_status_shows_named_proxies_and_failed_calls() {
    let (one, two) = (proxy("one"), proxy("two"));
    let (program, _folder) = with(&format!(
        "if (host == 'c.example') throw 'no idea';\n\
         return 'PROXY {}; PROXY ' + (host == 'a.example' ? '{}' : '{}');",
        closed_address(),
        one.address(),
        two.address(),
    ));
    let program = program
        .to("a.example:1")
        .to("b.example:2")
        .to("c.example:3")
        .watched()
        .start();
    assert_eq!(
        (greeting(&program, 0), greeting(&program, 1)),
        ("one".into(), "two".into())
    );
    program.connect_to(2).expect_nothing();
    for peer in &[one, two] {
        // Without a position in a list, which another name would change.
        let label = format!("{{proxy=\"{}\"", peer.address());
        eventually_is(&program, "ptunnel_proxy_in_use", &[&label], 1.0);
        eventually_is(&program, "ptunnel_proxy_answers_total", &[&label], 1.0);
    }
    eventually_is(&program, "ptunnel_proxy_down", &[], 1.0);
    eventually_is(&program, "ptunnel_proxy_failures_total", &[], 1.0);
    eventually_is(
        &program,
        "ptunnel_tunnels_failed_total",
        &["undecided"],
        1.0,
    );
}

#[test]
fn a_test_shows_the_answer() {
    let one = proxy("one");
    let said = format!("PROXY {}; DIRECT", one.address());
    let (program, _folder) = with(&format!("return '{}';", said));
    let finished = program.args(&["--test", "-W", "a.example:1"]).run();
    finished.expect_code(0);
    let text = finished.text();
    let step = text.lines().nth(1).unwrap();
    assert!(step.starts_with("  pac "), "{}", text);
    assert!(
        step.contains(" ms  ") && step.ends_with(&format!("corp.pac returns {}", said)),
        "{}",
        text
    );
    for (body, told) in &[
        ("return nobody();", "line 2: ReferenceError"),
        (
            "return 'joe:hunter2@a:1' + ' '.repeat(9000)",
            "it returned '***@a:1",
        ),
        ("return nobody('joe:hunter2@a:1');", "in '***@a:1');'"),
        ("throw 'PROXY joe:hunter2@a:1'", "***@a:1"),
    ] {
        let (program, _folder) = with(body);
        let finished: Finished = program.args(&["--test", "-W", "a.example:1"]).run();
        finished.expect_code(1);
        let text = finished.text();
        assert!(text.contains("FAILED: ") && text.contains(told), "{}", text);
        assert!(!text.contains("hunter2"), "{}", text);
    }
    let (program, _folder) = with("return '';");
    let finished: Finished = program
        .args(&["--test", "-w", "1", "-W", "127.0.0.1:9"])
        .run();
    let text = finished.text();
    assert!(
        text.contains("corp.pac returns nothing, which means DIRECT\ndirectly\n"),
        "{}",
        text
    );
    // Skipped, but still part of the answer.
    let (program, _folder) = with("return 'SOCKS9 joe:hunter2@a:1; DIRECT'");
    let finished: Finished = program
        .args(&["--test", "-W", &closed_address().to_string()])
        .run();
    let text = finished.text();
    assert!(
        text.contains("corp.pac returns ***@a:1; DIRECT"),
        "{}",
        text
    );
    for told in &[&text, &finished.stderr] {
        assert!(!told.contains("hunter2"), "{}", told);
    }
}

#[test]
fn a_warning_in_a_test_starts_on_its_own_line() {
    let closed = closed_address();
    for _ in 0..20 {
        let (program, _folder) = with(&format!("return 'NONE a:1; PROXY {}'", closed));
        let program = program.args(&["--test", "-W", "a.example:1"]);
        let text = program.after("exec 2>&1").run().text();
        let warnings: Vec<&str> = text
            .lines()
            .filter(|line| line.contains("NONE a:1'"))
            .collect();
        assert!(
            matches!(&warnings[..], [line] if line.starts_with("warning: ")),
            "{}",
            text
        );
    }
}

/// Scripts, each with destinations, for which another program's answer is known: libpacparser's,
/// which has Mozilla's functions.
#[test]
fn pactester_gives_the_same_answers() {
    let folder = TempDir::new();
    let expressions = [
        "isPlainHostName(host)",
        "dnsDomainIs(host, '.example.org')",
        "dnsDomainIs(host, 'org')",
        "localHostOrDomainIs(host, 'www.example.org')",
        "localHostOrDomainIs(host, 'localhost.localdomain')",
        "dnsDomainLevels(host)",
        "isResolvable(host)",
        "isInNet(host, '10.0.0.0', '255.0.0.0')",
        "isInNet(host, '127.0.0.1', '255.255.255.255')",
        "isInNet(host, '0.0.0.0', '0.0.0.0')",
        "dnsResolve('127.0.0.1')",
        "convert_addr(host.replace(/[a-z.]*[a-z]/, '10.1.2.3')) + 0 === 167838211",
        "shExpMatch(host, '*.example.org')",
        "shExpMatch(host, '*.e?ample.*')",
        "shExpMatch(url, 'https://*:9?/*')",
        "shExpMatch(url, '*org:99/')",
        "shExpMatch(host, '10.*')",
        "weekdayRange('SUN', 'SAT')",
        "weekdayRange('SUN', 'SAT', 'GMT')",
        "weekdayRange(['SUN','MON','TUE','WED','THU','FRI','SAT'][new Date().getDay()])",
        "weekdayRange(['SUN','MON','TUE','WED','THU','FRI','SAT'][(new Date().getDay() + 2) % 7])",
        "dateRange(1, 31)",
        "dateRange('JAN', 'DEC')",
        "dateRange(1990, 2090)",
        "dateRange(1990, 1995)",
        "dateRange(1, 'JAN', 31, 'DEC')",
        "dateRange('JAN', 1990, 'DEC', 2090, 'GMT')",
        "dateRange(1, 'JAN', 1990, 31, 'DEC', 2090)",
        "timeRange(0, 23)",
        "timeRange(0, 0, 23, 59)",
        "timeRange(0, 0, 0, 23, 59, 59)",
        "timeRange(0, 0, 0, 23, 59, 59, 'GMT')",
        "timeRange(new Date().getHours(), new Date().getHours())",
        "timeRange((new Date().getHours() + 3) % 24)",
    ];
    // Several at once, as an unknown kind of proxy, which neither program uses.
    for some in expressions.chunks(8) {
        let values = some.join(") + '|' + (");
        let body = format!("return 'NONE ' + ({}) + ':1; PROXY 127.0.0.1:9';", values);
        let file = folder.file("table.pac", saying(&body));
        for host in &["localhost", "www.example.org", "10.1.2.3", "127.0.0.1"] {
            let url = format!("https://{}:99/", host);
            let theirs = run("pactester", &["-p", &file, "-u", &url, "-h", host]);
            let theirs = String::from_utf8(theirs).unwrap();
            let program = Ptunnel::new().args(&["--pac", &file, "--test"]);
            let ours = program
                .args(&["-w", "1", "-W", &format!("{}:99", host)])
                .run();
            let said = format!("returns {}\n", theirs.trim());
            assert!(
                ours.text().contains(&said),
                "{:#?}: {}: {}",
                some,
                said,
                ours.text()
            );
        }
    }
}
