//! Logs for collectors: JSON lines and syslog datagrams.

use std::fs;
use std::net::Shutdown;
use std::os::unix::net::UnixDatagram;
use std::process::Stdio;

use support::ends::{Ends, Gate};
use support::program::clean_command;
use support::sys::SIGTERM;
use support::{closed_address, eventually, parts, TIMEOUT};
use support::{Connection, Peer, Ptunnel, TempDir};

/// Parses each line with Python, fails on any line that isn't one object, and prints the selected
/// lines.
const READ: &str = "
import datetime, json, sys
for line in open(sys.argv[1], encoding='utf-8'):
    one = json.loads(line)
    keys = list(one)
    assert keys[:3] == ['time', 'level', 'message'], keys
    then = datetime.datetime.strptime(one['time'], '%Y-%m-%dT%H:%M:%S.%fZ')
    assert abs((datetime.datetime.utcnow() - then).total_seconds()) < 300, one['time']
    assert one['level'] in ('error', 'warning', 'info', 'debug'), one['level']
    print(one['level'], '|', one['message'], '|', *('%s=%r' % (k, one[k]) for k in keys[3:]))
";

/// Returns the lines of a log, as Python parses them.
fn read(log: &str) -> Vec<String> {
    let folder = TempDir::new();
    let file = folder.file("log", log);
    let output = parts::output("python3", &["-Wignore", "-c", READ, &file]);
    assert!(
        output.status.success(),
        "{}\n{}",
        parts::described(&output),
        log
    );
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines().map(str::to_string).collect()
}

#[test]
fn json_has_one_object_per_line_with_its_fields() {
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address())
        .to("example.org:22")
        .args(&["-vv", "--log-format", "json"])
        .start();
    let Ends {
        mut client,
        mut server,
    } = gate.join(&program);
    let from = client.local().to_string();
    client.send(vec![b'u'; 12_345]);
    server.receive(12_345);
    client.finish_sending();
    server.expect_end();
    drop(server);
    client.expect_end();
    program.says(&["closed by both sides"]);
    program.signal(SIGTERM);
    let listen = program.address().to_string();
    let lines = read(&program.finish().stderr);
    let proxy = gate.address().to_string();
    let end = lines.iter().find(|line| line.contains("12345 bytes up"));
    let end = end.unwrap_or_else(|| panic!("{:#?}", lines));
    for part in &[
        "info | ",
        &format!(
            "| {} on {} to example.org:22 through {}: ",
            from, listen, proxy
        ),
        &format!("| connection=1 client='{}' listen='{}' ", from, listen),
        &format!("destination='example.org:22' proxy='{}' via=[] ", proxy),
        "upload=12345 download=0 seconds=0.",
        "end='closed'",
    ] {
        assert!(end.contains(part), "{:?} is not in {}", part, end);
    }
    let phases = lines.iter().filter(|line| line.starts_with("debug | "));
    let phases: Vec<&String> = phases.collect();
    let connection = format!("| connection=1 client='{}' listen='{}'", from, listen);
    assert!(phases.len() >= 4, "{:#?}", phases);
    for phase in phases {
        assert!(phase.contains(&connection), "{}", phase);
    }
}

/// Text from a peer can't end its string or add a field.
#[test]
fn json_escapes_text_from_the_network() {
    for reason in &[
        "\"}, {\"level\": \"error",
        "\\\\\\",
        "\u{1c}client\u{1f}faked\u{1c}",
        "\u{1b}[31m\u{7f}\u{9b}\u{2028}ü",
        "\u{1f600}",
    ] {
        let reply = format!("HTTP/1.1 403 {}\r\n\r\n", reason);
        let proxy = Peer::replying(reply);
        let program = Ptunnel::through(proxy.address())
            .to("example.org:22")
            .args(&["--log-format", "json"])
            .start();
        let mut client = program.connect();
        let from = client.local().to_string();
        client.expect_nothing();
        program.says(&["warning"]);
        program.signal(SIGTERM);
        let listen = program.address().to_string();
        let lines = read(&program.finish().stderr);
        assert_eq!(lines.len(), 2, "{:?}", lines);
        assert!(lines[1].contains("stopping: "), "{:?}", lines);
        let fields = format!(
            " | connection=1 client='{}' listen='{}' destination='example.org:22' proxy='{}' \
             via=[] cause=",
            from,
            listen,
            proxy.address()
        );
        let is_cause = |cause| lines[0].ends_with(&format!("{}{}", fields, cause));
        assert!(
            is_cause("'refused'") || is_cause("'malformed'"),
            "{:?}",
            lines
        );
    }
}

#[test]
fn json_names_a_rejected_client() {
    let program = Ptunnel::through("proxy.example:3128")
        .to("example.org:22")
        .args(&["--log-format", "json", "--allow-from", "127.0.0.2"])
        .start();
    let mut client = program.connect();
    let from = client.local().to_string();
    client.expect_nothing();
    program.says(&["turned away"]);
    program.signal(SIGTERM);
    let listen = program.address().to_string();
    let lines = read(&program.finish().stderr);
    let told = format!(
        " | connection=1 client='{}' listen='{}' cause='turned_away'",
        from, listen
    );
    assert!(lines[0].ends_with(&told), "{:?}", lines);
}

#[test]
fn json_includes_the_error_that_ends_the_program() {
    let taken = Peer::echoing();
    let finished = Ptunnel::through("proxy.example:3128")
        .arg(format!("{}:a.example:1", taken.port()))
        .args(&["--log-format", "json"])
        .run();
    finished.expect_code(1);
    let lines = read(&finished.stderr);
    assert!(
        lines[0].starts_with("error | cannot listen on "),
        "{:?}",
        lines
    );
    assert_eq!(lines.len(), 1);
}

/// The log line of a failure, in JSON and in text: `{}` is the listener, and `{P}`, `{Q}` and `{D}`
/// are two proxies and a destination that can't be connected to.
struct Failure {
    args: &'static [&'static str],
    /// The bytes from the client.
    request: &'static str,
    json: &'static str,
    text: &'static str,
}

const FAILURES: &[Failure] = &[
    // A proxy that can't be reached, and the next one, which can't be reached either.
    Failure {
        args: &["-p", "{P}", "-p", "{Q}", "0:example.org:22"],
        request: "",
        json: "destination='example.org:22' proxy='{P}' via=[] cause='connection'",
        text: "on {} to example.org:22 through {P}: cannot connect to proxy {P}: Connection \
               refused (os error 111); trying the next proxy",
    },
    Failure {
        args: &["-p", "{P}", "-p", "{Q}", "0:example.org:22"],
        request: "",
        json: "destination='example.org:22' proxy='{Q}' via=[] cause='connection'",
        text: "on {} to example.org:22 through {Q}: cannot connect to proxy {Q}: Connection \
               refused (os error 111)",
    },
    // A chain, and its first proxy.
    Failure {
        args: &["-p", "{P}", "--via", "second.example:3", "0:example.org:22"],
        request: "",
        json: "destination='example.org:22' proxy='{P}' via=['second.example:3'] \
               cause='connection'",
        text: "on {} to example.org:22 through {P} via second.example:3: cannot connect to proxy \
               {P}: Connection refused (os error 111)",
    },
    // A direct connection.
    Failure {
        args: &["-p", "{P}", "--no-proxy", "127.0.0.1", "0:{D}"],
        request: "",
        json: "destination='{D}' proxy=None via=[] cause='connection'",
        text: "on {} to {D} directly: cannot connect to {D}: Connection refused (os error 111)",
    },
    // A client of `-D`, and one of the embedded proxy.
    Failure {
        args: &["-p", "{P}", "-D", "0"],
        request: "CONNECT example.org:443 HTTP/1.1\r\n\r\n",
        json: "destination='example.org:443' proxy='{P}' via=[] cause='connection'",
        text: "on {} to example.org:443 through {P}: cannot connect to proxy {P}: Connection \
               refused (os error 111)",
    },
    Failure {
        args: &["--serve-proxy", "0"],
        request: "CONNECT {D} HTTP/1.1\r\n\r\n",
        json: "destination='{D}' proxy=None via=[] cause='denied'",
        text: "on {} to {D} directly: denied: 502 Bad Gateway (cannot connect to {D}: Connection \
               refused (os error 111))",
    },
    Failure {
        args: &["--serve-proxy", "0", "--serve-allow", "a.example"],
        request: "CONNECT b.example:5 HTTP/1.1\r\n\r\n",
        json: "destination='b.example:5' proxy=None via=[] cause='denied'",
        text: "on {} to b.example:5 directly: denied: 403 Forbidden (b.example:5 isn't \
               allowed; see --serve-allow)",
    },
];

/// Regression: with several tunnels, operators couldn't see which one a line was about.
#[test]
fn each_failure_names_its_tunnel_and_its_cause() {
    for failure in FAILURES {
        let (first, second, destination) = (closed_address(), closed_address(), closed_address());
        let fill = |text: &str| {
            let text = text.replace("{P}", &first.to_string());
            let text = text.replace("{Q}", &second.to_string());
            text.replace("{D}", &destination.to_string())
        };
        let args: Vec<String> = failure.args.iter().map(|arg| fill(arg)).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        for format in &["text", "json"] {
            let program = Ptunnel::new()
                .args(&args)
                .args(&["--log-format", format])
                .more_lines(1)
                .start();
            let listen = program.listening()[0].address();
            let mut client = Connection::open(listen);
            let from = client.local().to_string();
            client.send(fill(failure.request));
            client.rest_or_reset();
            let text = fill(failure.text).replace("{}", &listen.to_string());
            if *format == "text" {
                let expected = format!("warning: {} {}", from, text);
                eventually(&expected, || {
                    program.stderr().lines().any(|line| line == expected)
                });
                continue;
            }
            program.says(&[&text]);
            program.signal(SIGTERM);
            let lines = read(&program.finish().stderr);
            let expected = format!(
                "warning | {} {} | connection=1 client='{}' listen='{}' {}",
                from,
                text,
                from,
                listen,
                fill(failure.json)
            );
            assert!(lines.contains(&expected), "{}\n{:#?}", expected, lines);
        }
    }
}

/// The reason why an open tunnel was cut, with the name that counters use.
#[test]
fn the_end_of_a_tunnel_has_fields() {
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address())
        .to("example.org:22")
        .args(&["-v", "--log-format", "json"])
        .start();
    let mut ends = gate.join(&program);
    ends.check();
    ends.server.reset();
    program.says(&["upstream"]);
    let mut ends = gate.join(&program);
    ends.check();
    ends.client.reset();
    program.says(&["cut: client"]);
    let client = program.connect();
    let _asked = gate.accept();
    client.reset();
    program.says(&["\"left\""]);
    program.signal(SIGTERM);
    let lines = read(&program.finish().stderr);
    for (number, is_open, end) in &[
        (1, true, "end='upstream' cause='cut'"),
        (2, true, "end='client' cause='cut'"),
        (3, false, "end='client' cause='left'"),
    ] {
        let number = format!("| connection={} ", number);
        let is_it = |line: &&String| line.contains(&number) && line.ends_with(end);
        let line = lines.iter().find(is_it);
        let line = line.unwrap_or_else(|| panic!("{} {}: {:#?}", number, end, lines));
        assert!(line.contains("destination='example.org:22' "), "{}", line);
        let through = format!("proxy='{}' via=[] ", gate.address());
        assert_eq!(line.contains(&through), *is_open, "{}", line);
    }
}

/// Regression: no line named the client that was connecting.
#[test]
fn each_phase_carries_the_number_of_its_connection() {
    let gate = Gate::open();
    let program = Ptunnel::through(closed_address())
        .proxy(gate.address())
        .to("a.example:1")
        .args(&["-vv", "-D", "0"])
        .more_lines(1)
        .start();
    // Both clients are connecting at the same time.
    let mut first = program.connect();
    let first_client = first.local().to_string();
    let mut first_server = gate.accept();
    let mut second = program.connect_to(1);
    let second_client = second.local().to_string();
    second.send("CONNECT b.example:2 HTTP/1.1\r\n\r\n");
    let mut second_server = gate.accept();
    for server in &mut [&mut first_server, &mut second_server] {
        server.read_head();
        server.send("HTTP/1.1 200 OK\r\n\r\n");
    }
    first_server.send("1");
    first.expect("1");
    second.read_head();
    second.reset();
    program.says(&["cut: client"]);
    first.reset();
    eventually("both ends", || {
        program.stderr().matches("cut: client").count() == 2
    });
    program.signal(SIGTERM);
    let stderr = program.finish().stderr;
    let of = |number: &str| -> Vec<&str> {
        let lines = stderr.lines().filter_map(|line| {
            let rest = line.splitn(2, ": ").nth(1)?;
            rest.strip_prefix(number)
        });
        lines.collect()
    };
    for (number, other, client, phases) in &[
        ("[1] ", "b.example:2", &first_client, 6),
        ("[2] ", "a.example:1", &second_client, 5),
    ] {
        let lines = of(number);
        assert!(lines[0].starts_with(&client[..]), "{}", stderr);
        assert!(lines[0].ends_with(": accepted"), "{}", stderr);
        assert!(lines.len() >= *phases, "{}", stderr);
        assert!(lines.iter().any(|line| line.ends_with(": connecting")));
        assert!(lines.iter().any(|line| line.contains("asking for")));
        assert!(lines.last().unwrap().contains("cut: client"), "{}", stderr);
        assert!(!lines.iter().any(|line| line.contains(other)), "{}", stderr);
    }
    let unnumbered = |line: &&str| line.starts_with("debug: ") && !line.starts_with("debug: [");
    assert_eq!(stderr.lines().find(unnumbered), None);
}

/// Fails unless each line begins with the time.
const TIMED: &str = "
import datetime, sys
for line in open(sys.argv[1]):
    then, rest = line.split(' ', 1)
    then = datetime.datetime.strptime(then, '%Y-%m-%dT%H:%M:%S.%fZ')
    assert abs((datetime.datetime.utcnow() - then).total_seconds()) < 300, line
    print(rest, end='')
";

#[test]
fn text_lines_have_the_time_with_the_option() {
    let proxy = Peer::replying("HTTP/1.1 403 Forbidden\r\n\r\n");
    let folder = TempDir::new();
    let timed = |stderr: &str| {
        let log = folder.file("log", stderr);
        let output = parts::output("python3", &["-Wignore", "-c", TIMED, &log]);
        assert!(output.status.success(), "{}", parts::described(&output));
        String::from_utf8(output.stdout).expect("text")
    };
    let program = Ptunnel::through(proxy.address())
        .to("example.org:22")
        .args(&["-vv", "--log-time"])
        .start();
    program.connect().expect_nothing();
    program.says(&["403 Forbidden"]);
    program.signal(SIGTERM);
    let lines = timed(&program.finish().stderr);
    for level in &["info: ", "debug: ", "warning: "] {
        assert!(
            lines.lines().any(|line| line.starts_with(level)),
            "{}",
            lines
        );
    }
    let finished = Ptunnel::through(proxy.address())
        .args(&["--log-time", "-W", "example.org:22"])
        .run();
    finished.expect_code(3);
    let line = timed(&finished.stderr);
    assert!(line.starts_with("ptunnel: to example.org:22 "), "{}", line);
    // Outputs that have the time already.
    for other in &["--log-format=json", "--log-to=syslog:/nonexistent/log"] {
        let finished = Ptunnel::through(proxy.address())
            .args(&["--log-time", other, "1:a:1", "--check-config"])
            .run();
        let told = "--log-time has no effect: ";
        let said = finished.text() + &finished.stderr;
        assert!(said.contains(told), "{}", said);
    }
}

/// Binds a daemon's socket, played by the test.
fn daemon(path: &str) -> UnixDatagram {
    let socket = UnixDatagram::bind(path).expect("a socket");
    socket.set_read_timeout(Some(TIMEOUT)).expect("a limit");
    socket
}

fn receive(daemon: &UnixDatagram) -> String {
    let mut buffer = vec![0; 65_536];
    let n = daemon.recv(&mut buffer).expect("a line");
    String::from_utf8(buffer[..n].to_vec()).expect("text")
}

#[test]
fn syslog_gets_priority_tag_and_line() {
    let folder = TempDir::new();
    let path = folder.at("log");
    let daemon = daemon(&path);
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address())
        .to("example.org:22")
        .args(&["-vv", "--log-to", &format!("syslog:{}", path)])
        .start();
    let tag = format!("ptunnel[{}]: ", program.process().0);
    let confined = receive(&daemon);
    assert!(confined.contains("confined: "), "{}", confined);
    let first = receive(&daemon);
    assert!(
        first.starts_with(&format!("<30>{}info: limit of file descriptors: ", tag)),
        "{}",
        first
    );
    drop(gate.join(&program));
    let next = receive(&daemon);
    assert!(next.starts_with(&format!("<31>{}debug: ", tag)), "{}", next);
    program.signal(SIGTERM);
    let finished = program.finish();
    finished.expect_code(0);
    assert_eq!(finished.stderr, "");
}

#[test]
fn syslog_gets_the_error_that_ends_the_program() {
    let folder = TempDir::new();
    let path = folder.at("log");
    let daemon = daemon(&path);
    let taken = Peer::echoing();
    let finished = Ptunnel::through("proxy.example:3128")
        .arg(format!("{}:a.example:1", taken.port()))
        .args(&["--log-to", &format!("syslog:{}", path)])
        .run();
    finished.expect_code(1);
    let line = receive(&daemon);
    assert!(line.starts_with("<27>ptunnel["), "{}", line);
    assert!(line.contains("]: error: cannot listen on "), "{}", line);
}

/// Regression: without a daemon the error wasn't printed at all.
#[test]
fn the_error_that_ends_the_program_is_always_on_stderr() {
    let taken = Peer::echoing();
    let folder = TempDir::new();
    let there = folder.at("log");
    let _daemon = daemon(&there);
    for path in &[there, folder.at("nothing")] {
        let finished = Ptunnel::through("proxy.example:3128")
            .arg(format!("{}:a.example:1", taken.port()))
            .args(&["--log-to", &format!("syslog:{}", path)])
            .run();
        finished.expect_code(1);
        let last = finished.stderr.lines().last().unwrap_or_default();
        assert!(
            last.starts_with("ptunnel: cannot listen on "),
            "{:?}",
            finished.stderr
        );
    }
}

/// inetd's client is connected to all three streams.
const AS_INETD_DOES: &str = "
import socket, subprocess, sys
client, connection = socket.socketpair()
program = subprocess.Popen(sys.argv[1:], stdin=connection, stdout=connection, stderr=connection)
connection.close()
print(client.makefile().read(), end='')
sys.exit(program.wait())
";

#[test]
fn no_log_line_reaches_inetds_client() {
    let folder = TempDir::new();
    let refuses = Peer::replying("HTTP/1.1 403 Forbidden\r\n\r\n");
    let log_to = format!("syslog:{}", folder.at("nothing"));
    let finished = Ptunnel::through(refuses.address())
        .args(&["-W", "a.example:1", "--log-to", &log_to])
        .started_by(&["python3", "-c", AS_INETD_DOES])
        .run();
    finished.expect_code(3);
    assert_eq!(finished.text(), "");
}

/// The daemon isn't there at first, disappears for a while, and returns: lines are lost and
/// counted, nothing else.
#[test]
fn syslog_can_disappear_and_return() {
    let folder = TempDir::new();
    let path = folder.at("log");
    let proxy = Peer::replying("HTTP/1.1 403 Forbidden\r\n\r\n");
    let program = Ptunnel::through(proxy.address())
        .to("example.org:22")
        .args(&["--log-to", &format!("syslog:{}", path)])
        .start();
    program.says(&["cannot connect to syslog at", &path]);
    for round in 0..2 {
        for _ in 0..3 {
            program.connect().expect_nothing();
        }
        let daemon = daemon(&path);
        program.connect().expect_nothing();
        let note = receive(&daemon);
        // A client can see its end a moment before the line about it is lost.
        let is_counted = note.contains(" log lines lost: ");
        assert!(
            is_counted && note.starts_with("<28>ptunnel["),
            "{}: {}",
            round,
            note
        );
        assert!(receive(&daemon).contains("403 Forbidden"));
        // Closing isn't enough: a child that another test is just starting has a copy of the socket.
        daemon.shutdown(Shutdown::Both).expect("a socket");
        fs::remove_file(&path).expect("the socket");
    }
}

/// A daemon that reads nothing has room for a few lines; then each tunnel would wait for it.
#[test]
fn a_full_syslog_delays_no_tunnel() {
    let folder = TempDir::new();
    let path = folder.at("log");
    let daemon = daemon(&path);
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address())
        .to("example.org:22")
        .args(&["-vvv", "--log-to", &format!("syslog:{}", path)])
        .start();
    // The kernel keeps about ten or, with another setting, several hundred datagrams per socket.
    let room = fs::read_to_string("/proc/sys/net/unix/max_dgram_qlen").expect("a number");
    let room: usize = room.trim().parse().expect("a number");
    for _ in 0..room / 3 + 2 {
        gate.join(&program).check();
    }
    for _ in 0..=room {
        receive(&daemon);
    }
    let mut ends = gate.join(&program);
    ends.check();
    let note = receive(&daemon);
    assert!(note.contains(" log lines lost: "), "{}", note);
}

#[test]
fn rsyslogd_parses_the_lines() {
    let folder = TempDir::new();
    let (path, log) = (folder.at("log.sock"), folder.at("log"));
    let config = folder.file(
        "rsyslog.conf",
        format!(
            "global(workDirectory=\"{folder}\")\n\
             module(load=\"imuxsock\" SysSock.Use=\"off\")\n\
             input(type=\"imuxsock\" Socket=\"{path}\")\n\
             template(name=\"parts\" type=\"string\" string=\"%pri-text% %app-name% %procid%%msg%\\n\")\n\
             action(type=\"omfile\" file=\"{log}\" template=\"parts\")\n",
            folder = folder.path().display(),
            path = path,
            log = log
        ),
    );
    let mut daemon = clean_command(parts::find("rsyslogd"))
        .args(&["-n", "-f", &config, "-i", &folder.at("pid")])
        .stdin(Stdio::null())
        .spawn()
        .expect("rsyslogd");
    eventually("rsyslogd listens", || fs::metadata(&path).is_ok());
    let proxy = Peer::replying("HTTP/1.1 403 Forbidden\r\n\r\n");
    let program = Ptunnel::through(proxy.address())
        .to("example.org:22")
        .args(&["--log-to", &format!("syslog:{}", path)])
        .start();
    let mut client = program.connect();
    let from = client.local().to_string();
    client.expect_nothing();
    let expected = format!(
        "daemon.warning ptunnel {} warning: {} on {} to example.org:22 through {proxy}: \
         proxy {proxy} refused example.org:22: 403 Forbidden\n",
        program.process().0,
        from,
        program.address(),
        proxy = proxy.address()
    );
    eventually(&expected, || {
        fs::read_to_string(&log)
            .unwrap_or_default()
            .contains(&expected)
    });
    daemon.kill().expect("rsyslogd ends");
    daemon.wait().expect("rsyslogd ends");
}
