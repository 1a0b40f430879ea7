//! What those who collect logs are given: JSON lines, and syslog's datagrams.

use std::fs;
use std::os::unix::net::UnixDatagram;
use std::process::Stdio;

use crate::ends::{Ends, Gate};
use crate::support::program::clean_command;
use crate::support::sys::SIGTERM;
use crate::support::{eventually, parts, Peer, Ptunnel, TempDir, PATIENCE};

/// Reads each line as Python does, fails on any that is not one object, and prints the asked ones.
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

/// The lines of a log, as Python reads them.
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
fn json_has_an_object_a_line_with_what_the_line_names() {
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
    let lines = read(&program.finish().stderr);
    let proxy = gate.address().to_string();
    let end = lines.iter().find(|line| line.contains("12345 bytes up"));
    let end = end.unwrap_or_else(|| panic!("{:#?}", lines));
    for part in &[
        "info | ",
        &format!("| {} to example.org:22 through {}: ", from, proxy),
        &format!("| client='{}' ", from),
        "destination='example.org:22' ",
        &format!("via='through {}' ", proxy),
        "upload=12345 download=0 seconds=0",
        "end='closed by both sides'",
    ] {
        assert!(end.contains(part), "{:?} is not in {}", part, end);
    }
    assert!(lines.iter().any(|line| line.starts_with("debug | ")));
}

/// What a peer says cannot end its string, nor bring along a part with a name.
#[test]
fn json_escapes_what_comes_from_the_network() {
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
        let lines = read(&program.finish().stderr);
        assert_eq!(lines.len(), 1, "{:?}", lines);
        assert!(
            lines[0].ends_with(&format!(" | client='{}'", from)),
            "{:?}",
            lines
        );
    }
}

#[test]
fn json_names_the_client_that_is_turned_away() {
    let program = Ptunnel::through("proxy.example:3128")
        .to("example.org:22")
        .args(&["--log-format", "json", "--allow-from", "127.0.0.2"])
        .start();
    let mut client = program.connect();
    let from = client.local().to_string();
    client.expect_nothing();
    program.says(&["turned away"]);
    program.signal(SIGTERM);
    let lines = read(&program.finish().stderr);
    let told = format!(" | client='{}'", from);
    assert!(lines[0].ends_with(&told), "{:?}", lines);
}

#[test]
fn json_has_the_error_that_ends_the_program_too() {
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

/// A daemon's socket, as a test has it.
fn daemon(path: &str) -> UnixDatagram {
    let socket = UnixDatagram::bind(path).expect("a socket");
    socket.set_read_timeout(Some(PATIENCE)).expect("a limit");
    socket
}

fn receive(daemon: &UnixDatagram) -> String {
    let mut buffer = vec![0; 65_536];
    let n = daemon.recv(&mut buffer).expect("a line");
    String::from_utf8(buffer[..n].to_vec()).expect("text")
}

#[test]
fn syslog_is_sent_priority_tag_and_line() {
    let folder = TempDir::new();
    let path = folder.at("log");
    let daemon = daemon(&path);
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address())
        .to("example.org:22")
        .args(&["-vv", "--log-to", &format!("syslog:{}", path)])
        .start();
    let tag = format!("ptunnel[{}]: ", program.process().0);
    let first = receive(&daemon);
    assert!(
        first.starts_with(&format!("<30>{}info: up to ", tag)),
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

/// Without a daemon it was told to nobody.
#[test]
fn the_error_that_ends_the_program_is_on_stderr_whatever_becomes_of_the_log() {
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

/// inetd's client is all three streams.
const AS_INETD_DOES: &str = "
import socket, subprocess, sys
client, connection = socket.socketpair()
program = subprocess.Popen(sys.argv[1:], stdin=connection, stdout=connection, stderr=connection)
connection.close()
print(client.makefile().read(), end='')
sys.exit(program.wait())
";

#[test]
fn inetds_client_reads_no_word_of_ours() {
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

/// Not there at first, gone for a while, and there again: lines are lost and counted, no more.
#[test]
fn syslog_may_come_and_go() {
    let folder = TempDir::new();
    let path = folder.at("log");
    let proxy = Peer::replying("HTTP/1.1 403 Forbidden\r\n\r\n");
    let program = Ptunnel::through(proxy.address())
        .to("example.org:22")
        .args(&["--log-to", &format!("syslog:{}", path)])
        .start();
    program.says(&["no syslog at", &path]);
    for round in 0..2 {
        for _ in 0..3 {
            program.connect().expect_nothing();
        }
        let daemon = daemon(&path);
        program.connect().expect_nothing();
        let note = receive(&daemon);
        // A client may see its end a moment before the line about it is lost.
        let is_counted = note.contains(" log lines were lost");
        assert!(
            is_counted && note.starts_with("<28>ptunnel["),
            "{}: {}",
            round,
            note
        );
        assert!(receive(&daemon).contains("403 Forbidden"));
        drop(daemon);
        fs::remove_file(&path).expect("the socket");
    }
}

/// A daemon that reads nothing has room for a few lines; then each tunnel would wait for it.
#[test]
fn syslog_that_takes_no_more_holds_nothing_up() {
    let folder = TempDir::new();
    let path = folder.at("log");
    let daemon = daemon(&path);
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address())
        .to("example.org:22")
        .args(&["-vvv", "--log-to", &format!("syslog:{}", path)])
        .start();
    // The kernel keeps some ten or, by its setting, some hundred datagrams for a socket.
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
    assert!(note.contains(" log lines were lost"), "{}", note);
}

#[test]
fn rsyslogd_takes_the_lines_for_what_they_are() {
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
        "daemon.warning ptunnel {} warning: {}: proxy {} refused example.org:22: 403 Forbidden\n",
        program.process().0,
        from,
        proxy.address()
    );
    eventually(&expected, || {
        fs::read_to_string(&log)
            .unwrap_or_default()
            .contains(&expected)
    });
    daemon.kill().expect("rsyslogd ends");
    daemon.wait().expect("rsyslogd ends");
}
