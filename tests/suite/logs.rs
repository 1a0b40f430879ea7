//! What is logged on stderr, and what isn't.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;

use support::ends::{Ends, Gate};
use support::{closed_address, eventually, parts, sys};
use support::{Peer, Ptunnel, Running, TempDir, TIMEOUT};

fn start(gate: &Gate, args: &[&str]) -> Running {
    Ptunnel::through(gate.address())
        .to("example.org:22")
        .args(args)
        .start()
}

#[test]
fn by_default_working_tunnels_are_not_logged() {
    let gate = Gate::open();
    let program = start(&gate, &[]);
    for _ in 0..3 {
        let mut ends = gate.join(&program);
        ends.check();
        let Ends { mut client, server } = ends;
        drop(server);
        client.expect_end();
    }
    let Ends { client, mut server } = gate.join(&program);
    client.reset();
    server.expect_nothing();
    assert_eq!(program.stderr(), "");
    program.signal(support::sys::SIGTERM);
    let told = program.finish().stderr;
    assert_eq!(told.lines().count(), 1, "{}", told);
    assert!(told.starts_with("warning: stopping: "), "{}", told);
}

#[test]
fn a_client_that_cannot_be_served_causes_one_line() {
    let dead = closed_address();
    let program = Ptunnel::through(dead).to("example.org:22").start();
    let mut client = program.connect();
    let from = client.local().to_string();
    client.expect_nothing();
    let line = program.says(&[&from, &dead.to_string()]);
    assert!(line.starts_with("warning"), "{}", line);
    assert_eq!(program.stderr().lines().count(), 1, "{}", program.stderr());
}

#[test]
fn quiet_omits_warnings() {
    let proxy = Peer::replying("HTTP/1.1 403 Forbidden\r\n\r\n");
    let program = Ptunnel::through(proxy.address())
        .to("example.org:22")
        .args(&["-q", "-U", "joe:secret"])
        .start();
    program.connect().expect_nothing();
    program.signal(support::sys::SIGTERM);
    let finished = program.finish();
    finished.expect_code(0);
    assert_eq!(finished.stderr, "");
}

#[test]
fn quiet_keeps_the_error_that_ends_the_program() {
    let proxy = Peer::replying("HTTP/1.1 403 Forbidden\r\n\r\n");
    let program = Ptunnel::through(proxy.address()).args(&["-q", "-W", "example.org:22"]);
    let finished = program.run();
    finished.expect_code(3);
    assert!(
        finished.stderr.contains("403 Forbidden"),
        "{}",
        finished.stderr
    );
}

/// Client, destination, proxy, bytes in each direction, seconds, and the reason.
#[test]
fn verbose_has_a_line_for_each_tunnel_when_it_ends() {
    let gate = Gate::open();
    let program = start(&gate, &["-v"]);
    let Ends {
        mut client,
        mut server,
    } = gate.join(&program);
    let from = client.local().to_string();
    client.send(vec![b'u'; 12_345]);
    server.receive(12_345);
    server.send(vec![b'd'; 54_321]);
    client.receive(54_321);
    assert!(!program.stderr().contains(&from), "{}", program.stderr());
    client.finish_sending();
    server.expect_end();
    drop(server);
    client.expect_end();
    let proxy = gate.address().to_string();
    let words = [
        &from,
        "example.org:22",
        &proxy,
        "12345",
        "54321",
        "s, ",
        "closed by both sides",
    ];
    let line = program.says(&words);
    assert!(line.find("12345") < line.find("54321"), "{}", line);
    let lines = program
        .stderr()
        .lines()
        .filter(|line| line.contains(&from))
        .count();
    assert_eq!(lines, 1, "{}", program.stderr());
}

#[test]
fn verbose_names_the_side_that_broke_a_tunnel() {
    let gate = Gate::open();
    let program = start(&gate, &["-v"]);
    let mut ends = gate.join(&program);
    ends.check();
    let from = ends.client.local().to_string();
    ends.client.reset();
    program.says(&[&from, "client", "reset"]);
    let mut ends = gate.join(&program);
    ends.check();
    let from = ends.client.local().to_string();
    ends.server.reset();
    program.says(&[&from, "upstream", "reset"]);
}

#[test]
fn verbose_counts_the_banner() {
    let proxy = Peer::proxy(|mut connection| {
        connection.send("HTTP/1.1 200 OK\r\n\r\nSSH-2.0-x\r\n");
        connection.finish_sending();
        connection.drain();
    });
    let program = Ptunnel::through(proxy.address())
        .to("example.org:22")
        .arg("-v")
        .start();
    let mut client = program.connect();
    client.expect("SSH-2.0-x\r\n");
    client.finish_sending();
    client.expect_end();
    program.says(&["0 bytes up", "11 down"]);
}

#[test]
fn verbose_names_direct_connections() {
    let origin = Peer::start(|mut connection| connection.echo());
    let program = Ptunnel::new()
        .to(origin.address())
        .args(&["--no-proxy", "*", "-v"])
        .start();
    let mut client = program.connect();
    client.send("x");
    client.finish_sending();
    assert_eq!(client.rest(), b"x");
    program.says(&[&origin.address().to_string(), "directly", "1 bytes up"]);
}

#[test]
fn a_second_verbose_logs_the_phases() {
    let gate = Gate::open();
    let program = start(&gate, &["-vv"]);
    let proxy = gate.address().to_string();
    let client = program.connect();
    program.says(&[&proxy, "connecting"]);
    let mut server = gate.accept();
    server.read_head();
    program.says(&[&proxy, "connected", "example.org:22"]);
    server.send("HTTP/1.1 200 OK\r\n\r\n");
    program.says(&[&client.local().to_string(), "example.org:22", "open"]);
}

/// A terminal interprets control characters: as colours, or even as keystrokes.
#[test]
fn control_characters_from_the_network_are_escaped() {
    let replies = [
        "HTTP/1.1 403 Forb\u{1b}[31midden\r\n\r\n",
        "HTTP/1.1 403 Forbidden\r\n\r\n\u{1b}]0;title\u{7}\u{9b}2J\u{8}\r\nINJECTED: line",
        "HTTP/1.1 403 Forbidden\r\n\r\n<title>\u{1b}[2J\u{202e}</title>",
        "HTTP/1.1 407 Who\u{7f}?\r\nProxy-Authenticate: \u{1b}[31m, Basic\u{9b}\r\n\r\n",
        "HTTP/1.1 407 Who?\r\nProxy-Authenticate: Basic\t\u{8}\u{85}\r\n\r\n",
        "\u{1b}[31mSSH-2.0\r\n\r\n",
        "HTTP/1.1 \u{1b}\u{1b}\u{1b} OK\r\n\r\n",
    ];
    for reply in &replies {
        let proxy = Peer::replying(*reply);
        let program = Ptunnel::through(proxy.address())
            .to("example.org:22")
            .arg("-vvv")
            .start();
        program.connect().expect_nothing();
        program.says(&["warning", &proxy.address().to_string()]);
        let told = program.stderr();
        let bad = told
            .chars()
            .find(|c| c.is_control() && *c != '\n' || *c == '\u{202e}');
        assert_eq!(bad, None, "{:?}", told);
        assert!(
            !told.lines().any(|line| line.starts_with("INJECTED")),
            "{:?}",
            told
        );
    }
}

#[test]
fn stdout_has_only_the_lines_about_addresses() {
    let gate = Gate::open();
    let program = start(&gate, &["-vvv"]);
    let mut ends = gate.join(&program);
    ends.check();
    drop(ends);
    program.says(&["bytes up"]);
    program.signal(support::sys::SIGTERM);
    let finished = program.finish();
    finished.expect_code(0);
    assert_eq!(finished.text(), "");
}

/// Stderr can't be written to: that must not end the program.
#[test]
fn an_unwritable_log_does_not_end_the_program() {
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address())
        .to("example.org:22")
        .arg("-vv")
        .after("exec 2> /dev/full")
        .start();
    for _ in 0..3 {
        let mut ends = gate.join(&program);
        ends.check();
    }
    let mut program = program;
    program.signal(support::sys::SIGTERM);
    eventually("the program ends", || program.has_ended());
    program.finish().expect_code(0);
}

/// A pipe for the program's stderr, which nothing reads before the test does.
struct Unread {
    pipe: File,
    path: String,
    _folder: TempDir,
}

impl Unread {
    fn new() -> Unread {
        let folder = TempDir::new();
        let path = folder.at("pipe");
        assert!(parts::output("mkfifo", &[&path]).status.success());
        // Opened for both, so that neither end is ever missing.
        let mut both = OpenOptions::new();
        both.read(true).write(true).custom_flags(libc::O_NONBLOCK);
        Unread {
            pipe: both.open(&path).expect("the pipe"),
            path,
            _folder: folder,
        }
    }

    fn full() -> Unread {
        let mut unread = Unread::new();
        for size in &[4096, 1] {
            while unread.pipe.write(&vec![b'\n'; *size]).is_ok() {}
        }
        unread
    }

    fn of(&self, program: Ptunnel) -> Ptunnel {
        program.after(&format!("exec 2> {}", self.path))
    }

    /// Reads until `is_all` accepts the text.
    fn read_until(&mut self, is_all: impl Fn(&str) -> bool) -> String {
        let (mut text, mut buffer) = (String::new(), [0; 4096]);
        while !is_all(&text) {
            match self.pipe.read(&mut buffer) {
                Ok(n) => text.push_str(std::str::from_utf8(&buffer[..n]).expect("text")),
                Err(ref e) if e.kind() == ErrorKind::WouldBlock => {
                    sys::wait_readable(&self.pipe, TIMEOUT)
                        .unwrap_or_else(|e| panic!("{} after {}", e, text));
                }
                Err(e) => panic!("the pipe: {}", e),
            }
        }
        text
    }
}

fn is_object(line: &str) -> bool {
    line.starts_with('{') && line.ends_with('}')
}

/// Returns the number of lost lines that a line reports.
fn lost(line: &str) -> Option<usize> {
    let rest = line.strip_prefix("warning: ")?;
    let count = rest.strip_suffix(" log lines lost: the log's reader didn't accept them")?;
    count.parse().ok()
}

/// Regression: the thread that carries the tunnels wrote each line, and once the pipe was full,
/// after several hundred refused clients, all tunnels stalled.
#[test]
fn a_full_log_pipe_delays_no_tunnel() {
    const REFUSED: usize = 2_000;
    let mut log = Unread::new();
    let proxy = Peer::replying("HTTP/1.1 403 Forbidden\r\n\r\n");
    let origin = Peer::start(|mut connection| connection.echo());
    let program = Ptunnel::through(proxy.address())
        .to("example.org:22")
        .to(origin.address())
        .args(&["--no-proxy", "127.0.0.1"]);
    let program = log.of(program).start();
    let mut early = program.connect_to(1);
    for _ in 0..REFUSED {
        program.connect().expect_nothing();
    }
    let mut late = program.connect_to(1);
    for client in &mut [&mut early, &mut late] {
        client.send("carried");
        client.expect("carried");
    }

    let accounted = |text: &str| -> usize {
        let lines = text.lines().filter(|_| text.ends_with('\n'));
        lines.map(|line| lost(line).unwrap_or(1)).sum()
    };
    let text = log.read_until(|text| accounted(text) >= REFUSED);
    assert_eq!(accounted(&text), REFUSED);
    let (told, kept): (Vec<&str>, Vec<&str>) = text.lines().partition(|l| lost(l).is_some());
    assert_eq!(told.len(), 1, "{:?}", told);
    let is_whole = |line: &&str| {
        line.starts_with("warning: 127.0.0.1:") && line.ends_with("example.org:22: 403 Forbidden")
    };
    assert!(kept.iter().all(is_whole), "{}", text);

    let mut client = program.connect();
    let from = client.local().to_string();
    client.expect_nothing();
    let next = log.read_until(|text| text.ends_with('\n'));
    assert!(
        next.contains(&from) && next.lines().count() == 1,
        "{}",
        next
    );
    program.signal(sys::SIGTERM);
    program.finish().expect_code(0);
}

/// Regression: it waited for ever.
#[test]
fn a_full_log_pipe_does_not_delay_the_exit() {
    let proxy = Peer::replying("HTTP/1.1 403 Forbidden\r\n\r\n");
    let log = Unread::full();
    let program = Ptunnel::through(proxy.address()).args(&["-W", "example.org:22"]);
    log.of(program).run().expect_code(3);
    let program = Ptunnel::through(proxy.address()).to("example.org:22");
    let program = log.of(program).start();
    program.connect().expect_nothing();
    program.signal(sys::SIGTERM);
    program.finish().expect_code(0);
}

#[test]
fn lost_lines_are_counted_in_the_log_format() {
    let mut log = Unread::full();
    let proxy = Peer::replying("HTTP/1.1 403 Forbidden\r\n\r\n");
    let program = Ptunnel::through(proxy.address())
        .to("example.org:22")
        .args(&["--log-format", "json"]);
    let program = log.of(program).start();
    for _ in 0..1_000 {
        program.connect().expect_nothing();
    }
    let is_all = |text: &str| text.ends_with('\n') && text.contains(" log lines lost: ");
    let text = log.read_until(is_all);
    // The test filled the pipe with empty lines.
    let mut lines = text.lines().filter(|line| !line.is_empty());
    assert!(lines.all(is_object), "{}", text);
}

/// Makes epoll_wait(2) fail as it never does, so that the program panics.
const BROKEN: &str = "
#include <errno.h>
#include <sys/epoll.h>

int epoll_wait(int set, struct epoll_event *events, int most, int limit) {
    errno = EBADF;
    return -1;
}
";

/// Regression: the panic was printed in its own format, and waited for the reader.
#[test]
fn a_panic_is_logged() {
    let folder = TempDir::new();
    let library = parts::preloadable(&folder, BROKEN);
    let broken = || {
        let program = Ptunnel::through("192.0.2.1:1").arg("0:example.org:22");
        program.env("LD_PRELOAD", &library)
    };
    let finished = broken().run();
    finished.expect_code(101);
    let line = finished.stderr.lines().next().unwrap_or_default();
    assert!(line.starts_with("error: thread '"), "{}", finished.stderr);
    assert!(line.contains(" panicked at "), "{}", finished.stderr);
    let finished = broken().args(&["--log-format", "json"]).run();
    assert!(
        finished.stderr.lines().all(is_object),
        "{}",
        finished.stderr
    );
    Unread::full().of(broken()).run().expect_code(101);
}
