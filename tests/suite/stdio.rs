//! Standard input and output as the client: for pipes, and for ssh's ProxyCommand.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use support::ends::Gate;
use support::parts::{self, described, Sshd};
use support::{closed_address, eventually, steadily, sys};
use support::{Finished, Pattern, Peer, Ptunnel, Running, TempDir};

const MIB: u64 = 1 << 20;

/// Returns the program with the end of input passed on at once: `half_close` tests the delay.
fn through(gate: &Gate) -> Ptunnel {
    Ptunnel::through(gate.address()).args(&["-W", "example.org:22", "--half-close-delay", "0"])
}

#[test]
fn the_destination_can_be_one_or_two_arguments() {
    for words in &[
        &["-W", "example.org:22"][..],
        &["-W", "example.org", "22"],
        &["--stdio", "example.org:22"],
        &["--stdio=example.org:22"],
    ] {
        let proxy = Peer::echoing();
        let finished = Ptunnel::through(proxy.address())
            .args(words)
            .args(&["--half-close-delay", "0"])
            .run_with(b"hello");
        finished.expect_code(0);
        assert_eq!(finished.text(), "hello", "{:?}", words);
        assert_eq!(finished.stderr, "", "{:?}", words);
        assert!(
            proxy.head().starts_with("CONNECT example.org:22 "),
            "{}",
            proxy.head()
        );
    }
}

#[test]
fn ipv6_can_be_one_or_two_arguments() {
    for words in &[
        &["-W", "[2001:db8::1]:22"][..],
        &["-W", "2001:db8::1", "22"],
    ] {
        let proxy = Peer::echoing();
        let finished = Ptunnel::through(proxy.address())
            .args(words)
            .args(&["--half-close-delay", "0"])
            .run_with(b"hello");
        finished.expect_code(0);
        assert!(
            proxy.head().starts_with("CONNECT [2001:db8::1]:22 "),
            "{}",
            proxy.head()
        );
    }
}

#[test]
fn the_servers_greeting_is_output_first() {
    let gate = Gate::open();
    let mut program = through(&gate).spawn();
    let mut server = gate.accept();
    server.read_head();
    server.send("HTTP/1.1 200 OK\r\n\r\nSSH-2.0-x\r\n");
    let mut out = program.stdout();
    let mut greeting = [0; 11];
    out.read_exact(&mut greeting).unwrap();
    assert_eq!(&greeting, b"SSH-2.0-x\r\n");
    let mut input = program.stdin();
    input.write_all(b"SSH-2.0-y\r\n").unwrap();
    server.expect("SSH-2.0-y\r\n");
    drop(input);
    server.expect_end();
    server.finish_sending();
    program.finish().expect_code(0);
}

#[test]
fn no_input_is_lost_before_the_tunnel_is_open() {
    let gate = Gate::open();
    let mut program = through(&gate).spawn();
    let mut input = program.stdin();
    input.write_all(b"too early").unwrap();
    drop(input);
    let mut server = gate.accept();
    server.read_head();
    let quiet = || server.is_quiet();
    steadily(
        "nothing behind the request",
        Duration::from_millis(200),
        quiet,
    );
    server.send("HTTP/1.1 200 OK\r\n\r\n");
    assert_eq!(server.rest(), b"too early");
    server.finish_sending();
    program.finish().expect_code(0);
}

#[test]
fn the_end_of_input_is_passed_on_and_the_output_continues() {
    let gate = Gate::open();
    let running = through(&gate).spawn();
    let serving = thread::spawn(move || {
        let mut server = gate.grant();
        server.expect_end();
        Pattern::new(1).write(&mut server, 3 * MIB).unwrap();
    });
    let finished = running.finish();
    finished.expect_code(0);
    serving.join().unwrap();
    Pattern::new(1).read_all(&mut &finished.stdout[..], 3 * MIB);
}

#[test]
fn the_servers_end_reaches_the_output_while_the_input_stays_open() {
    let gate = Gate::open();
    let mut program = through(&gate).spawn();
    let mut input = program.stdin();
    let mut server = gate.grant();
    server.send("that is all");
    server.finish_sending();
    let mut all = Vec::new();
    program.stdout().read_to_end(&mut all).unwrap();
    assert_eq!(all, b"that is all");
    input.write_all(b"not quite").unwrap();
    drop(input);
    assert_eq!(server.rest(), b"not quite");
    drop(server);
    eventually("the program ends", || program.has_ended());
}

#[test]
fn carries_bulk_both_ways_at_once() {
    let gate = Gate::open();
    let mut program = through(&gate).spawn();
    let (mut input, mut output) = (program.stdin(), program.stdout());
    let mut server = gate.grant();
    let mut back = server.handle();
    let threads = vec![
        thread::spawn(move || Pattern::new(2).write(&mut input, 16 * MIB).unwrap()),
        thread::spawn(move || {
            Pattern::new(3).write(&mut back, 16 * MIB).unwrap();
            back.finish_sending();
        }),
        thread::spawn(move || Pattern::new(2).read_all(&mut server, 16 * MIB)),
    ];
    Pattern::new(3).read_all(&mut output, 16 * MIB);
    for thread in threads {
        thread.join().unwrap();
    }
    program.finish().expect_code(0);
}

#[test]
fn input_and_output_can_be_files() {
    let folder = TempDir::new();
    let input = folder.file("in", Pattern::new(4).take(MIB as usize));
    let output = folder.at("out");
    let proxy = Peer::echoing();
    let program = Ptunnel::through(proxy.address()).args(&["-W", "example.org:22"]);
    let program = program.args(&["--half-close-delay", "0"]);
    let mut command = program.command();
    command.stdin(std::fs::File::open(input).unwrap());
    command.stdout(std::fs::File::create(&output).unwrap());
    Running::spawn(command).finish().expect_code(0);
    Pattern::new(4).read_all(&mut std::fs::File::open(output).unwrap(), MIB);
}

/// Starts the program with this change to its streams, as another process that shares them could
/// make it.
fn started_after(program: Ptunnel, change: &str) -> Running {
    let become_it = format!(
        "import os, sys; {}; os.execv(sys.argv[1], sys.argv[1:])",
        change
    );
    program.started_by(&["python3", "-c", &become_it]).spawn()
}

/// Regression: a read that would block was treated as an end, and later input was lost, with exit
/// code 0.
#[test]
fn input_and_output_can_be_non_blocking() {
    let gate = Gate::open();
    let change = "os.set_blocking(0, False); os.set_blocking(1, False)";
    let mut program = started_after(through(&gate), change);
    let mut server = gate.grant();
    let quiet = || server.is_quiet();
    steadily("no end", Duration::from_millis(300), quiet);
    let mut input = program.stdin();
    for piece in &["first", "second"] {
        input.write_all(piece.as_bytes()).unwrap();
        server.expect(piece);
        let quiet = || server.is_quiet();
        steadily("no end", Duration::from_millis(100), quiet);
    }
    drop(input);
    server.expect_end();
    let mut output = program.stdout();
    let writing = thread::spawn(move || Pattern::new(6).write(&mut server, 3 * MIB).unwrap());
    // More bytes than a pipe holds, so the program waits for room.
    let at_work = || !program.has_ended();
    steadily("at work", Duration::from_millis(300), at_work);
    Pattern::new(6).read_all(&mut output, 3 * MIB);
    writing.join().unwrap();
    let finished = program.finish();
    finished.expect_code(0);
    assert_eq!(finished.stderr, "");
}

#[test]
fn an_input_that_cannot_be_read_resets_the_destination() {
    let gate = Gate::open();
    // The first read waits, and the second fails, as can happen with a terminal or a socket.
    let folder = TempDir::new();
    let library = parts::preloadable(&folder, FAILING_READ);
    let mut program = through(&gate).env("LD_PRELOAD", &library[..]).spawn();
    let mut input = program.stdin();
    input.write_all(b"first").unwrap();
    let mut server = gate.grant();
    server.expect("first");
    server.send("answer");
    let mut output = program.stdout();
    let mut answer = [0; 6];
    output.read_exact(&mut answer).unwrap();
    input.write_all(b"second").unwrap();
    server.expect_reset();
    let finished = program.finish();
    assert_eq!(&answer, b"answer");
    finished.expect_code(1);
    assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.stderr);
    for word in &[
        "the tunnel to example.org:22 was cut",
        "cannot read stdin",
        "os error 5",
    ] {
        assert!(finished.stderr.contains(word), "{}", finished.stderr);
    }
}

/// Stdin fails with EIO from the second read on.
const FAILING_READ: &str = "
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>
ssize_t read(int fd, void *bytes, size_t most) {
    static int reads;
    ssize_t (*real)(int, void *, size_t) = dlsym(RTLD_NEXT, \"read\");
    ssize_t count = real(fd, bytes, most);
    if (fd == 0 && ++reads > 1) {
        errno = EIO;
        return -1;
    }
    return count;
}
";

#[test]
fn an_unreadable_input_fails_at_once() {
    let gate = Gate::open();
    let finished = through(&gate).after("exec </").run();
    assert_failed(
        &finished,
        1,
        &["example.org:22", "cannot read stdin", "os error 21"],
    );
}

/// Ctrl-C in a session is for the programs in it (proxytunnel#61).
#[test]
fn sigint_is_ignored() {
    let gate = Gate::open();
    let mut program = through(&gate).spawn();
    let mut server = gate.grant();
    for round in 0..3 {
        program.signal(sys::SIGINT);
        let (input, text) = (program.stdin_ref(), format!("round {}", round));
        input.write_all(text.as_bytes()).unwrap();
        server.expect(text);
    }
    server.send("still here");
    server.finish_sending();
    let finished = program.finish();
    finished.expect_code(0);
    assert_eq!(finished.text(), "still here");
}

#[test]
fn sigint_is_ignored_before_the_tunnel_is_open() {
    let gate = Gate::open();
    let program = through(&gate).spawn();
    let mut server = gate.accept();
    server.read_head();
    program.signal(sys::SIGINT);
    server.send("HTTP/1.1 200 OK\r\n\r\nhello");
    server.finish_sending();
    let finished = program.finish();
    finished.expect_code(0);
    assert_eq!(finished.text(), "hello");
}

#[test]
fn sigterm_ends_it() {
    let gate = Gate::open();
    let mut program = through(&gate).spawn();
    let _input = program.stdin();
    let mut server = gate.grant();
    server.send("x");
    let mut byte = [0; 1];
    program.stdout().read_exact(&mut byte).unwrap();
    program.signal(sys::SIGTERM);
    eventually("the program ends", || program.has_ended());
    server.expect_nothing();
}

#[test]
fn a_reader_that_leaves_ends_the_session() {
    let gate = Gate::open();
    let mut program = through(&gate).spawn();
    let _input = program.stdin();
    let mut server = gate.grant();
    drop(program.stdout());
    let piece = vec![1; 65_536];
    eventually("the destination learns it", || {
        server.try_send(&piece).is_err()
    });
    eventually("the program ends", || program.has_ended());
}

/// Checks for one line on stderr with these words, and nothing on stdout.
#[track_caller]
fn assert_failed(finished: &Finished, code: i32, words: &[&str]) {
    finished.expect_code(code);
    assert!(finished.stdout.is_empty(), "{:?}", finished);
    assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.stderr);
    for word in words {
        assert!(
            finished.stderr.contains(word),
            "{:?} is not in {}",
            word,
            finished.stderr
        );
    }
}

#[test]
fn the_exit_code_shows_the_kind_of_failure() {
    let run = |proxy: &str| {
        Ptunnel::through(proxy)
            .args(&["-W", "example.org:22"])
            .run()
    };
    let dead = closed_address().to_string();
    assert_failed(&run(&dead), 1, &[&dead]);
    assert_failed(&run("nowhere.invalid:3128"), 1, &["nowhere.invalid:3128"]);
    for (code, reply) in &[
        (3, "HTTP/1.1 403 Forbidden\r\n\r\n"),
        (3, "HTTP/1.1 502 Bad Gateway\r\n\r\n"),
        (
            4,
            "HTTP/1.1 407 Who?\r\nProxy-Authenticate: Basic realm=x\r\n\r\n",
        ),
        (1, "HTTP/1.1 200 OK\r\n"),
    ] {
        let proxy = Peer::replying(*reply);
        let finished = run(&proxy.address().to_string());
        assert_failed(&finished, *code, &[&proxy.address().to_string()]);
    }
}

#[test]
fn a_connection_that_breaks_midway_is_a_failure() {
    let gate = Gate::open();
    let mut program = through(&gate).spawn();
    let _input = program.stdin();
    let mut server = gate.grant();
    server.send("half of");
    let mut half = [0; 7];
    program.stdout().read_exact(&mut half).unwrap();
    server.reset();
    eventually("the program ends", || program.has_ended());
    program.finish().expect_code(1);
}

#[test]
fn stdout_has_only_the_tunnels_bytes() {
    let proxy = Peer::echoing();
    let program = Ptunnel::through(proxy.address()).args(&[
        "-W",
        "example.org:22",
        "-vv",
        "--half-close-delay",
        "0",
    ]);
    let finished = program.run_with(b"hello");
    finished.expect_code(0);
    assert_eq!(finished.text(), "hello");
}

/// ssh through this program and an embedded proxy, to a real sshd.
struct Session {
    sshd: Sshd,
    proxy: Running,
}

impl Session {
    fn start() -> Session {
        Session {
            sshd: Sshd::start(),
            proxy: Ptunnel::new().serving().start(),
        }
    }

    fn command(&self, name: &str, destination: &str) -> Command {
        let command = Ptunnel::through(self.proxy.proxy()).words();
        let options = self
            .sshd
            .client_options(&format!("{} {}", command, destination));
        let mut command = parts::command(name);
        command.args(options);
        command
    }
}

#[track_caller]
fn succeed(command: &mut Command) -> Vec<u8> {
    let output = command.output().expect("ssh runs");
    assert!(output.status.success(), "{}", described(&output));
    output.stdout
}

#[test]
fn ssh_runs_a_command_through_it() {
    let session = Session::start();
    for destination in &["-W %h:%p", "-W %h %p"] {
        let mut ssh = session.command("ssh", destination);
        let ssh = ssh
            .args(&["127.0.0.1", "echo through; exit 7"])
            .stdin(Stdio::null());
        let output = ssh.output().unwrap();
        assert_eq!(output.status.code(), Some(7), "{}", described(&output));
        assert_eq!(output.stdout, b"through\n");
    }
}

#[test]
fn ssh_copies_a_file_both_ways_through_it() {
    let session = Session::start();
    let folder = TempDir::new();
    let content = Pattern::new(5).take(5 * MIB as usize);
    let (local, remote) = (folder.file("local", &content), folder.at("remote"));
    let mut up = session.command("ssh", "-W %h:%p");
    up.args(&["127.0.0.1", &format!("cat > {}", remote)]);
    succeed(up.stdin(std::fs::File::open(&local).unwrap()));
    assert!(std::fs::read(&remote).unwrap() == content);
    let mut down = session.command("ssh", "-W %h:%p");
    down.args(&["127.0.0.1", &format!("cat {}", remote)]);
    assert!(succeed(down.stdin(Stdio::null())) == content);
}

#[test]
fn scp_copies_a_file_both_ways_through_it() {
    let session = Session::start();
    let folder = TempDir::new();
    let content = Pattern::new(6).take(3 * MIB as usize);
    let (local, remote, back) = (
        folder.file("local", &content),
        folder.at("remote"),
        folder.at("back"),
    );
    let there = format!("127.0.0.1:{}", remote);
    succeed(
        session
            .command("scp", "-W %h:%p")
            .args(&["-q", &local, &there]),
    );
    succeed(
        session
            .command("scp", "-W %h:%p")
            .args(&["-q", &there, &back]),
    );
    assert!(std::fs::read(&back).unwrap() == content);
}

/// The person at the terminal learns what to try, also below the messages of ssh.
#[test]
fn a_failure_of_the_network_leads_to_the_test() {
    let program = Ptunnel::through("127.0.0.1:1").args(&["-W", "a.example:22"]);
    let finished = program.run();
    finished.expect_code(1);
    let end = "Connection refused (os error 111); run it with --test to see what to try\n";
    assert!(finished.stderr.ends_with(end), "{}", finished.stderr);
}
