//! SIGHUP with a config file: what it changes, what it leaves alone, and the errors in a wrong
//! file.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use crate::serve::{echo, granted, request};
use crate::socket_activation::launched;
use support::process::{is_listening, listeners};
use support::program::{start_on_terminal, Output};
use support::temp::free_port;
use support::tls::{Authority, Stunnel};
use support::{closed_address, eventually, eventually_some, steadily, sys};
use support::{Connection, Peer, Ptunnel, Running, TempDir};

/// The program, its configuration file, and its output.
pub struct Site {
    folder: TempDir,
    program: Running,
    out: BufReader<Output>,
}

impl Site {
    /// Starts the program with this file, and waits for `lines` listeners.
    fn start(text: &str, lines: usize, args: &[&str]) -> Site {
        Site::start_as(Ptunnel::new().args(args), text, lines)
    }

    pub fn start_as(program: Ptunnel, text: &str, lines: usize) -> Site {
        let folder = TempDir::new();
        let file = folder.file_with_mode("ptunnel.toml", 0o600, text);
        let program = program.args(&["--config", &file]).more_lines(lines);
        let mut program = program.start();
        let out = program.stdout();
        Site {
            folder,
            program,
            out,
        }
    }

    pub fn program(&self) -> &Running {
        &self.program
    }

    pub fn signal_with(&self, text: &str) {
        fs::write(self.folder.at("ptunnel.toml"), text).expect("the file");
        self.program.signal(sys::SIGHUP);
    }

    /// Reloads with this file; returns the new lines and the summary, without the file's name.
    #[track_caller]
    pub fn reload(&mut self, text: &str) -> (Vec<String>, String) {
        self.signal_with(text);
        let begin = format!("reloaded {}: ", self.folder.at("ptunnel.toml"));
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            self.out.read_line(&mut line).expect("text on stdout");
            assert!(!line.is_empty(), "ended: {}", self.program.stderr());
            match line.trim_end().strip_prefix(&begin[..]) {
                Some(change) => return (lines, change.to_string()),
                None => lines.push(line.trim_end().to_string()),
            }
        }
    }

    /// Reloads with this file, which the program must refuse; returns the error, with the file's
    /// name as FILE.
    #[track_caller]
    pub fn refuse(&self, text: &str) -> String {
        let lines = |text: &str| -> Vec<String> {
            let lines = text.lines().filter(|line| line.contains("reload failed"));
            lines.map(str::to_string).collect()
        };
        let before = lines(&self.program.stderr()).len();
        self.signal_with(text);
        let line = eventually_some("it says why not", || {
            lines(&self.program.stderr()).get(before).cloned()
        });
        line.replace(&self.folder.at("ptunnel.toml"), "FILE")
    }
}

fn local(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// Returns a file with these `tunnels`, through a proxy.
fn file(proxy: &Peer, tunnels: &[String]) -> String {
    format!("proxy = \"{}\"\ntunnels = {:?}\n", proxy.address(), tunnels)
}

/// Returns the summary when this listener has changed and is the only one.
fn changed(port: u16) -> String {
    format!("changed 127.0.0.1:{}; kept 0", port)
}

/// Returns a client of this listener, after a check of its tunnel.
#[track_caller]
fn live(port: u16) -> Connection {
    let mut client = Connection::open(local(port));
    check(&mut client);
    client
}

#[track_caller]
fn check(client: &mut Connection) {
    client.send("ping");
    client.expect("ping");
}

#[test]
fn listeners_are_opened_closed_and_kept_and_tunnels_stay_open() {
    for args in &[&[][..], &["--threads", "3"]] {
        let proxy = Peer::echoing();
        let (a, b, c) = (free_port(), free_port(), free_port());
        let (first, kept) = (format!("{}:a.example:1", a), format!("{}:b.example:2", b));
        let new = format!("{}:c.example:3", c);
        let mut site = Site::start(&file(&proxy, &[first, kept.clone()]), 2, args);
        let sockets = listeners(local(b));
        let mut clients = vec![live(a), live(b)];
        let (lines, change) = site.reload(&file(&proxy, &[new, kept.clone()]));
        let line = format!(
            "listening on 127.0.0.1:{} for c.example:3 through {}",
            c,
            proxy.address()
        );
        assert_eq!(lines, [line]);
        let expected = format!("opened 127.0.0.1:{}; closed 127.0.0.1:{}; kept 1", c, a);
        assert_eq!(change, expected);
        eventually("the other one is closed", || !is_listening(local(a)));
        clients.push(live(b));
        for _ in 0..4 {
            clients.push(live(c));
        }
        assert_eq!(listeners(local(b)), sockets, "not closed for a moment");
        assert_eq!(listeners(local(c)).len(), sockets.len());
        clients.iter_mut().for_each(check);
        let (lines, change) = site.reload(&file(&proxy, &[kept]));
        assert!(lines.is_empty(), "{:?}", lines);
        assert_eq!(change, format!("closed 127.0.0.1:{}; kept 1", c));
        eventually("what was opened is closed", || !is_listening(local(c)));
        clients.iter_mut().for_each(check);
        assert_eq!(site.program.stderr(), "");
        drop(clients);
        site.program.signal(sys::SIGTERM);
        site.program.finish().expect_code(0);
    }
}

#[test]
fn a_changed_destination_or_proxy_keeps_the_socket() {
    let (proxy, other) = (Peer::echoing(), Peer::echoing());
    let port = free_port();
    let tunnel = |destination: &str| [format!("{}:{}", port, destination)];
    let mut site = Site::start(&file(&proxy, &tunnel("a.example:1")), 1, &[]);
    let sockets = listeners(local(port));
    let mut old = live(port);
    let (lines, change) = site.reload(&file(&other, &tunnel("b.example:2")));
    assert!(lines[0].ends_with(&format!(" for b.example:2 through {}", other.address())));
    assert_eq!(change, changed(port));
    let mut new = live(port);
    assert!(other.head().starts_with("CONNECT b.example:2 "));
    assert_eq!(proxy.heads().len(), 1, "the old client's");
    check(&mut old);
    check(&mut new);
    assert_eq!(listeners(local(port)), sockets);
}

#[test]
fn a_wrong_file_changes_nothing_and_its_line_is_reported() {
    let proxy = Peer::echoing();
    let (port, new) = (free_port(), free_port());
    let right = file(&proxy, &[format!("{}:a.example:1", port)]);
    let mut site = Site::start(&right, 1, &[]);
    let mut client = live(port);
    let sockets = listeners(local(port));
    let more = file(&proxy, &[format!("{}:b.example:1", new)]);
    for (text, said) in &[
        ("threads = 0", "FILE:3: --threads: invalid number '0'"),
        (
            "\ntreads = 1",
            "FILE:4: no option 'treads': did you mean 'threads'?",
        ),
        (
            "password-file = '/nonexistent'",
            "FILE:3: --password-file '/nonexistent': ",
        ),
        (
            "user = 'joe'",
            "no password for user 'joe', and no terminal to prompt on",
        ),
        ("x", "FILE:3: expected an equals"),
    ] {
        let line = site.refuse(&format!("{}{}", more, text));
        let begin = "error: reload failed, nothing is changed: FILE:";
        assert!(line.starts_with(begin) && line.contains(said), "{}", line);
    }
    for (text, said) in &[
        ("", "FILE: nothing to do"),
        (
            "proxy = 'a:1'\nstdio = 'a:1'",
            "a reload can't change to --demo or -W",
        ),
    ] {
        let line = site.refuse(text);
        assert!(line.contains(said), "{}", line);
    }
    fs::remove_file(site.folder.at("ptunnel.toml")).unwrap();
    fs::create_dir(site.folder.at("ptunnel.toml")).unwrap();
    site.program.signal(sys::SIGHUP);
    site.program.says(&["reload failed", "directory"]);
    fs::remove_dir(site.folder.at("ptunnel.toml")).unwrap();
    check(&mut client);
    check(&mut live(port));
    assert_eq!(listeners(local(port)), sockets);
    assert!(!is_listening(local(new)));
    let (_, change) = site.reload(&right);
    assert_eq!(change, "kept 1");
}

#[test]
fn a_bind_that_fails_changes_nothing() {
    let proxy = Peer::echoing();
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = other.local_addr().unwrap();
    for args in &[&[][..], &["--threads", "2"]] {
        let (port, new) = (free_port(), free_port());
        let right = file(&proxy, &[format!("{}:a.example:1", port)]);
        let mut site = Site::start(&right, 1, args);
        let sockets = listeners(local(port));
        let wrong = [
            format!("{}:b.example:2", new),
            format!("{}:c.example:3", taken.port()),
        ];
        let others = "allow-from = '127.0.0.9'\n";
        let line = site.refuse(&(file(&proxy, &wrong) + others));
        let said = format!(
            "error: reload failed, nothing is changed: cannot listen on {} for c.example:3: ",
            taken
        );
        assert!(line.starts_with(&said), "{}", line);
        assert!(!is_listening(local(new)), "what was bound before");
        assert_eq!(listeners(local(port)), sockets);
        check(&mut live(port));
        assert_eq!(site.reload(&right).1, "kept 1");
    }
}

#[test]
fn referenced_files_are_read_again() {
    let proxy = Peer::echoing();
    let port = free_port();
    let folder = TempDir::new();
    let password = folder.file_with_mode("password", 0o600, "first");
    let text = format!(
        "{}user = 'joe'\npassword-file = '{}'\n",
        file(&proxy, &[format!("{}:a.example:1", port)]),
        password
    );
    let mut site = Site::start(&text, 1, &[]);
    live(port);
    fs::write(&password, "second").unwrap();
    assert_eq!(site.reload(&text).1, changed(port));
    live(port);
    let heads = proxy.heads();
    for (head, credentials) in heads.iter().zip(&["am9lOmZpcnN0", "am9lOnNlY29uZA=="]) {
        assert!(
            head.contains(&format!("Basic {}\r\n", credentials)),
            "{}",
            head
        );
    }
}

/// Regression: after a change of a password, the summary said "kept". The lines about the listeners
/// were compared, and they show no password.
#[test]
fn hidden_changes_are_reported_for_the_affected_listeners() {
    let proxy = Peer::echoing();
    let ports = [free_port(), free_port(), free_port(), free_port()];
    let [tunnel, direct, dynamic, serve] = ports;
    let text = |options: &str| {
        format!(
            "{}dynamic = {}\nserve-proxy = {}\nno-proxy = 'd.example'\n{}",
            file(
                &proxy,
                &[
                    format!("{}:a.example:1", tunnel),
                    format!("{}:d.example:1", direct)
                ]
            ),
            dynamic,
            serve,
            options
        )
    };
    let mut site = Site::start(&text(""), 4, &[]);
    // The changed options, and the listeners that they affect.
    let steps = [
        ("serve-user = 'joe:x'", &[serve][..]),
        ("serve-user = 'joe:y'", &[serve]),
        ("user = 'joe:x'", &[tunnel, dynamic, serve]),
        ("user = 'joe:y'", &[tunnel, dynamic]),
        ("header = 'A: b'", &[tunnel, dynamic]),
        ("header = 'A: b'", &[]),
        ("header = 'A: b'\nipv4 = true", &[tunnel, direct, dynamic]),
        ("header = 'A: b'\nipv4 = true\nidle-timeout = 9", &[]),
    ];
    for (options, differing) in &steps {
        let (lines, change) = site.reload(&text(options));
        let names: Vec<String> = ports
            .iter()
            .filter(|port| differing.contains(port))
            .map(|port| local(*port).to_string())
            .collect();
        let mut expected = format!("kept {}", 4 - names.len());
        if !names.is_empty() {
            expected = format!("changed {}; {}", names.join(", "), expected);
        }
        assert_eq!(change, expected, "{}", options);
        assert_eq!(lines.len(), names.len(), "{:?}", lines);
    }
}

/// The file's name stays the same when its CA changes.
#[test]
fn a_changed_ca_file_is_reported_as_changed() {
    let (one, other) = (Authority::new(), Authority::new());
    let cases: &[(&str, &str)] = &[
        ("proxy = 'https://localhost:1'\nproxy-cacert", ""),
        ("proxy = 'localhost:1'\ncacert", "tls://"),
    ];
    for (trust, scheme) in cases {
        let port = free_port();
        let folder = TempDir::new();
        let ca = folder.file("ca.pem", fs::read(one.certificate()).unwrap());
        let text = format!(
            "{} = '{}'\ntunnels = '{}:{}a.example:1'\n",
            trust, ca, port, scheme
        );
        let mut site = Site::start(&text, 1, &[]);
        assert_eq!(site.reload(&text).1, "kept 1");
        fs::copy(other.certificate(), &ca).unwrap();
        assert_eq!(site.reload(&text).1, changed(port));
    }
}

/// The trusted CAs are checked when a client connects: connected clients stay, and so do other
/// tunnels.
#[test]
fn a_changed_ca_applies_to_the_next_client() {
    let (authority, other) = (Authority::new(), Authority::new());
    let origin = Peer::start(|mut connection| connection.echo());
    let identity = authority.issue("origin", "IP:127.0.0.1");
    let stunnel = Stunnel::start(&identity, origin.address());
    let (secure, plain) = (free_port(), free_port());
    let text = |cacert: &str, scheme: &str| {
        format!(
            "no-proxy = '*'\ncacert = '{}'\ntunnels = ['{}:{}{}', '{}:{}']\n",
            cacert,
            secure,
            scheme,
            stunnel.address(),
            plain,
            origin.address()
        )
    };
    let mut site = Site::start(&text(&authority.certificate(), "tls://"), 2, &[]);
    let mut live = live(secure);
    let distrusting = text(&other.certificate(), "tls://");
    let (lines, change) = site.reload(&distrusting);
    let expected = format!("changed {}; kept 1", local(secure));
    assert_eq!(change, expected);
    let line = format!(
        "listening on {} for tls://{} directly",
        local(secure),
        stunnel.address()
    );
    assert_eq!(lines, [line]);
    live.send("still");
    live.expect("still");
    Connection::open(local(secure)).rest_or_reset();
    site.program
        .says(&["the certificate is from an unknown CA"]);
    // Without TLS it is another tunnel.
    let (_, change) = site.reload(&text(&authority.certificate(), ""));
    assert_eq!(change, expected);
}

#[test]
fn a_typed_password_is_not_requested_again() {
    let proxy = Peer::echoing();
    let (port, new) = (free_port(), free_port());
    let text = |port| {
        let tunnel = format!("{}:a.example:1", port);
        format!("{}user = 'joe'\n", file(&proxy, &[tunnel]))
    };
    let folder = TempDir::new();
    let path = folder.file("ptunnel.toml", text(port));
    let program = Ptunnel::new().args(&["--config", &path]);
    let (mut program, mut person) = start_on_terminal(program);
    eventually("the terminal stops to show what is typed", || {
        !sys::echoes(&person)
    });
    person.write_all(b"hunter2\n").unwrap();
    program.read_lines(1);
    fs::write(&path, text(new)).unwrap();
    program.signal(sys::SIGHUP);
    eventually("the new one is there", || is_listening(local(new)));
    live(new);
    assert!(
        proxy.head().contains("Basic am9lOmh1bnRlcjI=\r\n"),
        "{}",
        proxy.head()
    );
}

/// On kept listeners and on a new one; connected clients stay.
#[test]
fn a_changed_allow_from_applies_at_once() {
    let origin = Peer::start(|mut connection| connection.echo());
    for args in &[&[][..], &["--threads", "3"]] {
        let (tunnel, dynamic, new) = (free_port(), free_port(), free_port());
        let text = |tunnels: &[u16], allowed: &str| {
            let tunnels: Vec<String> = tunnels
                .iter()
                .map(|port| format!("{}:{}", port, origin.address()))
                .collect();
            let allowed = Some(allowed).filter(|allowed| !allowed.is_empty());
            let allowed = allowed.map_or(String::new(), |it| format!("allow-from = '{}'\n", it));
            format!(
                "no-proxy = '*'\ntunnels = {:?}\ndynamic = {}\n{}",
                tunnels, dynamic, allowed
            )
        };
        let from = |ip: &str, port| Connection::open_from(ip.parse().unwrap(), local(port));
        let assert_served = |ip: &str, port| {
            let mut client = from(ip, port);
            if port == dynamic {
                client = granted(client, origin.address());
            }
            check(&mut client);
        };
        let mut site = Site::start(&text(&[tunnel], ""), 2, args);
        let mut old = from("127.0.0.3", tunnel);
        check(&mut old);
        let sockets = listeners(local(tunnel));
        for (allowed, served, others) in &[
            (
                "127.0.0.2",
                &["127.0.0.2"][..],
                &["127.0.0.1", "127.0.0.3"][..],
            ),
            ("127.0.0.1", &["127.0.0.1"], &["127.0.0.2", "127.0.0.3"]),
            ("", &["127.0.0.1", "127.0.0.2", "127.0.0.3"], &[]),
        ] {
            let (_, change) = site.reload(&text(&[tunnel, new], allowed));
            assert!(
                change.ends_with("kept 2") || change.ends_with("kept 3"),
                "{}",
                change
            );
            for port in &[tunnel, dynamic, new] {
                served.iter().for_each(|ip| assert_served(ip, *port));
                others
                    .iter()
                    .for_each(|ip| from(ip, *port).expect_nothing());
            }
            check(&mut old);
        }
        assert_eq!(listeners(local(tunnel)), sockets);
    }
}

/// Regression: only new sockets were checked, and a kept one became an open proxy.
#[test]
fn an_open_listener_never_becomes_an_open_proxy() {
    let origin = echo();
    let tunnel = format!("tunnels = 'fd:web:{}'", closed_address());
    for (before, after) in &[
        (
            "dynamic = 'fd:web'\nallow-from = '127.0.0.2'",
            "dynamic = 'fd:web'",
        ),
        (
            "dynamic = 'fd:web'\ndynamic-user = 'joe:x'",
            "dynamic = 'fd:web'",
        ),
        (&tunnel[..], "dynamic = 'fd:web'"),
        (
            "dynamic = '*:PORT'\nallow-from = '127.0.0.2'",
            "dynamic = '*:PORT'",
        ),
        (
            "serve-proxy = '*:PORT'\nserve-user = 'joe:x'",
            "serve-proxy = '*:PORT'",
        ),
    ] {
        let port = free_port();
        let text = |options: &str| {
            let options = options.replace("PORT", &port.to_string());
            format!("no-proxy = '*'\n{}\n", options)
        };
        let socket = format!("0.0.0.0:{}=web", port);
        let mut program = Ptunnel::new();
        if before.contains("fd:") {
            program = launched(program, &[&socket]);
        }
        let mut site = Site::start_as(program, &text(before), 1);
        let line = site.refuse(&text(after));
        assert!(line.contains("an open proxy"), "{}", line);
        let mut client = Connection::open(local(port));
        client.send(request(origin.address()));
        let answer = client.rest_or_reset();
        assert!(!answer.starts_with(b"HTTP/1.1 200 "), "{}", after);
        assert_eq!(origin.accepted(), 0);
        assert_eq!(site.reload(&text(before)).1, "kept 1");
    }
}

/// A client with the old user's credentials is rejected after the reload.
#[test]
fn a_changed_dynamic_user_applies_at_once() {
    let proxy = Peer::echoing();
    let port = free_port();
    let text = |user: &str| {
        let proxy = proxy.address();
        format!("proxy = '{}'\ndynamic = {}\n{}", proxy, port, user)
    };
    let mut site = Site::start(&text("dynamic-user = 'joe:x'"), 1, &[]);
    let answer = |login: &[u8]| {
        let mut client = Connection::open(local(port));
        client.send([&[5, 2, 0, 2][..], login].concat());
        let answer = client.receive(2);
        if answer == [5, 2] {
            [answer, client.receive(2)].concat()
        } else {
            answer
        }
    };
    let (joe, ann) = (b"\x01\x03joe\x01x", b"\x01\x03ann\x01x");
    assert_eq!(
        (answer(joe), answer(ann)),
        (vec![5, 2, 1, 0], vec![5, 2, 1, 1])
    );
    let ann_alone = text("dynamic-user = 'ann:x'");
    assert_eq!(site.reload(&ann_alone).1, changed(port));
    assert_eq!(
        (answer(joe), answer(ann)),
        (vec![5, 2, 1, 1], vec![5, 2, 1, 0])
    );
    assert_eq!(site.reload(&text("")).1, changed(port));
    assert_eq!(answer(b""), [5, 0]);
}

#[test]
fn changed_limits_apply_to_later_clients() {
    let proxy = Peer::echoing();
    let port = free_port();
    let text = file(&proxy, &[format!("{}:a.example:1", port)]);
    let mut site = Site::start(&text, 1, &[]);
    let mut old = live(port);
    let (_, change) = site.reload(&format!("{}idle-timeout = 0.5\nverbose = 1\n", text));
    assert_eq!(change, "kept 1");
    let mut new = live(port);
    new.expect_nothing();
    // The new verbosity applies at once.
    site.program.says(&["info: ", "cut: no data for 0.5s"]);
    check(&mut old);
}

#[test]
fn warnings_about_the_new_file_are_printed() {
    let text = "proxy = 'socks5h://127.0.0.1:1'\ntunnels = '0:a.example:1'\n";
    let mut site = Site::start(text, 1, &[]);
    let (_, change) = site.reload(&format!("{}header = 'X: y'\n", text));
    assert!(change.starts_with("changed "), "{}", change);
    site.program.says(&["warning: --header has no effect"]);
}

#[test]
fn options_that_need_a_restart_are_named() {
    let proxy = Peer::echoing();
    let text = file(&proxy, &["0:a.example:1".to_string()]);
    let mut site = Site::start(&text, 1, &["--log-format", "text"]);
    let changed = "threads = 2\nmax-connections = 7\ndrain-timeout = 1\nlog-to = 'syslog'\n\
                   log-format = 'json'\n";
    assert_eq!(site.reload(&format!("{}{}", text, changed)).1, "kept 1");
    // The command line overrides the file.
    let line = "warning: a reload doesn't change threads, max-connections, drain-timeout, log-to; \
                restart ptunnel";
    assert_eq!(site.program.says(&["warning"]), line);
    check(&mut site.program.connect());
}

#[test]
fn the_service_manager_is_notified() {
    let folder = TempDir::new();
    let name = folder.at("notify");
    let manager = UnixDatagram::bind(&name).unwrap();
    let hears = || {
        let mut buffer = [0; 1024];
        manager.set_read_timeout(Some(support::TIMEOUT)).unwrap();
        let count = manager.recv(&mut buffer).expect("a notification");
        String::from_utf8(buffer[..count].to_vec()).unwrap()
    };
    let proxy = Peer::echoing();
    let text = file(&proxy, &["0:a.example:1".to_string()]);
    let program = Ptunnel::new().env("NOTIFY_SOCKET", &name);
    let mut site = Site::start_as(program, &text, 1);
    assert!(hears().starts_with("READY=1\n"));
    let uptime = || -> f64 {
        let text = fs::read_to_string("/proc/uptime").unwrap();
        text.split(' ').next().unwrap().parse().unwrap()
    };
    for is_right in &[true, false] {
        if *is_right {
            site.reload(&text);
        } else {
            site.refuse("x");
        }
        let reloading = hears();
        let microseconds = reloading.strip_prefix("RELOADING=1\nMONOTONIC_USEC=");
        let at = microseconds.expect(&reloading).parse::<f64>().unwrap() / 1e6;
        // CLOCK_MONOTONIC stops while the machine sleeps; /proc/uptime doesn't, and has a
        // resolution of 10 ms.
        assert!(at > 0.0 && at <= uptime() + 0.01, "{}", at);
        let ready = hears();
        let status = if *is_right {
            "reloaded "
        } else {
            "reload failed"
        };
        assert!(
            ready.starts_with(&format!("READY=1\nSTATUS={}", status)),
            "{}",
            ready
        );
    }
}

#[test]
fn a_stopping_program_ignores_reloads() {
    let proxy = Peer::echoing();
    let (port, new) = (free_port(), free_port());
    let site = Site::start(&file(&proxy, &[format!("{}:a.example:1", port)]), 1, &[]);
    let mut client = live(port);
    site.program.signal(sys::SIGTERM);
    eventually("nobody listens any more", || !is_listening(local(port)));
    site.signal_with(&file(&proxy, &[format!("{}:a.example:1", new)]));
    steadily("no listener is opened", Duration::from_millis(300), || {
        !is_listening(local(new))
    });
    check(&mut client);
    drop(client);
    let Site {
        program, mut out, ..
    } = site;
    let finished = program.finish();
    finished.expect_code(0);
    let stopping = "warning: stopping: 1 connection is open and has 30s to end; \
                    a second signal cuts it\n";
    assert_eq!(finished.stderr, stopping);
    let mut told = String::new();
    out.read_to_string(&mut told).expect("text on stdout");
    assert_eq!(told, "");
}

/// SIGHUP then means that the terminal has closed.
#[test]
fn without_a_file_to_follow_the_signal_ends_the_program() {
    let proxy = Peer::echoing();
    let folder = TempDir::new();
    let file = folder.file("ptunnel.toml", format!("proxy = '{}'", proxy.address()));
    let plain = Ptunnel::through(proxy.address()).to("a.example:1").start();
    let mut stdio = Ptunnel::new()
        .args(&["--config", &file, "-W", "a.example:1"])
        .spawn();
    stdio.stdin_ref().write_all(b"x").unwrap();
    eventually("it is at work", || proxy.accepted() == 1);
    for program in vec![plain, stdio] {
        program.signal(sys::SIGHUP);
        assert_eq!(program.finish().status.signal(), Some(sys::SIGHUP));
    }
}
