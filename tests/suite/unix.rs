//! Unix sockets as listeners: `PATH:HOST:HOSTPORT`.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Stdio;
use std::thread;

use support::ends::Gate;
use support::parts::{command, curl, described, Nginx, Squid, SMALL};
use support::process::listener_at;
use support::program::Output;
use support::{eventually, sys, Pattern, Peer, Ptunnel, Running, TempDir, TIMEOUT};

const MIB: u64 = 1 << 20;

/// The program, and the line that it printed about its only tunnel.
struct Started {
    program: Running,
    line: String,
    _stdout: BufReader<Output>,
}

fn start(program: Ptunnel, path: &str) -> Started {
    let mut program = program.arg(format!("{}:example.org:22", path)).spawn();
    let (mut stdout, mut line) = (program.stdout(), String::new());
    stdout.read_line(&mut line).expect("text on stdout");
    assert!(!line.is_empty(), "{}", program.stderr());
    Started {
        program,
        line,
        _stdout: stdout,
    }
}

#[track_caller]
fn connect(path: &str) -> UnixStream {
    let client = UnixStream::connect(path).unwrap_or_else(|e| panic!("{}: {}", path, e));
    client.set_read_timeout(Some(TIMEOUT)).expect("a limit");
    client.set_write_timeout(Some(TIMEOUT)).expect("a limit");
    client
}

#[track_caller]
fn ping(path: &str) {
    let mut client = connect(path);
    client.write_all(b"ping").unwrap();
    let mut answer = [0; 4];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"ping");
}

fn exists(path: &str) -> bool {
    fs::symlink_metadata(path).is_ok()
}

#[track_caller]
fn end(mut program: Running) {
    program.signal(sys::SIGTERM);
    eventually("the program ends", || program.has_ended());
    program.finish().expect_code(0);
}

#[test]
fn says_where_it_listens_and_carries_both_ways() {
    let (folder, proxy) = (TempDir::new(), Peer::echoing());
    let path = folder.at("imap");
    let started = start(Ptunnel::through(proxy.address()).arg("-v"), &path);
    assert_eq!(
        started.line,
        format!(
            "listening on {} for example.org:22 through {}\n",
            path,
            proxy.address()
        )
    );
    let mut client = connect(&path);
    let mut writer = client.try_clone().unwrap();
    let writing = thread::spawn(move || {
        Pattern::new(1).write(&mut writer, 8 * MIB).unwrap();
        writer.shutdown(Shutdown::Write).unwrap();
    });
    Pattern::new(1).read_all(&mut client, 8 * MIB);
    writing.join().unwrap();
    assert!(proxy.head().starts_with("CONNECT example.org:22 "));
    let words = [
        &format!("info: unix on {} to example.org:22 through ", path)[..],
        "closed by both",
    ];
    started.program.says(&words);
}

#[test]
fn only_the_owner_can_connect_whatever_the_umask() {
    let folder = TempDir::new();
    for umask in &["000", "022", "077"] {
        let path = folder.at(umask);
        let script = format!("umask {}", umask);
        let _started = start(Ptunnel::through("proxy.example:1").after(&script), &path);
        let metadata = fs::symlink_metadata(&path).unwrap();
        assert!(metadata.file_type().is_socket());
        assert_eq!(metadata.mode() & 0o7777, 0o600, "umask {}", umask);
    }
}

#[test]
fn the_file_is_removed_at_the_end() {
    let folder = TempDir::new();
    let path = folder.at("sock");
    for args in &[&[][..], &["--threads", "2"]] {
        let started = start(Ptunnel::through("proxy.example:1").args(args), &path);
        end(started.program);
        assert!(!exists(&path));
    }
    // By a second signal, with an open tunnel.
    let gate = Gate::open();
    let started = start(Ptunnel::through(gate.address()), &path);
    let _client = connect(&path);
    let _server = gate.grant();
    let mut program = started.program;
    program.signal(sys::SIGTERM);
    eventually("it listens no more", || UnixStream::connect(&path).is_err());
    program.signal(sys::SIGTERM);
    eventually("the program ends", || program.has_ended());
    assert!(!exists(&path));
}

#[test]
fn the_file_is_removed_if_another_listener_fails() {
    let (folder, taken) = (TempDir::new(), Peer::echoing());
    let path = folder.at("sock");
    let finished = Ptunnel::through("proxy.example:1")
        .arg(format!("{}:a.example:1", path))
        .arg(format!("{}:a.example:1", taken.port()))
        .run();
    finished.expect_code(1);
    assert_eq!(finished.text(), "");
    assert!(!exists(&path));
}

#[test]
fn the_file_of_a_killed_program_is_replaced() {
    let (folder, proxy) = (TempDir::new(), Peer::echoing());
    let path = folder.at("sock");
    drop(start(Ptunnel::through(proxy.address()), &path)); // killed
    assert!(exists(&path));
    let started = start(Ptunnel::through(proxy.address()), &path);
    ping(&path);
    end(started.program);
    assert!(!exists(&path));
}

#[test]
fn a_socket_in_use_is_left_alone() {
    let (folder, proxy) = (TempDir::new(), Peer::echoing());
    let path = folder.at("sock");
    let _started = start(Ptunnel::through(proxy.address()), &path);
    let tunnel = format!("{}:a.example:1", path);
    let again = Ptunnel::through("proxy.example:1").arg(&tunnel).run();
    again.expect_code(1);
    for word in &["cannot listen on", &path, "another program listens on it"] {
        assert!(again.stderr.contains(word), "{}", again.stderr);
    }
    ping(&path);
    let twice = Ptunnel::through("proxy.example:1")
        .arg(format!("{}2:a.example:1", path))
        .arg(format!("{}2:a.example:1", path))
        .run();
    twice.expect_code(2);
    assert!(twice.stderr.contains("twice"), "{}", twice.stderr);
    assert!(!exists(&format!("{}2", path)));
}

/// A check that connected to this socket would hang.
#[test]
fn a_socket_in_use_with_a_full_backlog_is_left_alone() {
    let folder = TempDir::new();
    let path = folder.at("sock");
    let listener = UnixListener::bind(&path).unwrap();
    sys::set_backlog(&listener, 0);
    let _waiting = UnixStream::connect(&path).unwrap();
    let finished = Ptunnel::through("proxy.example:1")
        .arg(format!("{}:a.example:1", path))
        .run();
    finished.expect_code(1);
    assert!(
        finished.stderr.contains("another program"),
        "{}",
        finished.stderr
    );
}

#[test]
fn other_files_are_left_alone() {
    let folder = TempDir::new();
    let path = folder.file("letter", "dear");
    let run = |path: &str| {
        let tunnel = format!("{}:a.example:1", path);
        Ptunnel::through("proxy.example:1").arg(tunnel).run()
    };
    let finished = run(&path);
    finished.expect_code(1);
    assert!(
        finished.stderr.contains("isn't a socket"),
        "{}",
        finished.stderr
    );
    assert_eq!(fs::read(&path).unwrap(), b"dear");
    let nowhere = folder.at("nowhere/sock");
    let finished = run(&nowhere);
    finished.expect_code(1);
    assert!(finished.stderr.contains(&nowhere), "{}", finished.stderr);
}

#[test]
fn a_file_that_replaced_its_own_is_left_alone() {
    let (folder, proxy) = (TempDir::new(), Peer::echoing());
    let path = folder.at("sock");
    let first = start(Ptunnel::through(proxy.address()), &path);
    fs::remove_file(&path).unwrap();
    let _second = start(Ptunnel::through(proxy.address()), &path);
    end(first.program);
    ping(&path);
}

#[test]
fn threads_share_the_socket() {
    let (folder, proxy) = (TempDir::new(), Peer::echoing());
    let path = folder.at("sock");
    let program = Ptunnel::through(proxy.address()).args(&["--threads", "3"]);
    let started = start(program, &path);
    // Each thread that accepts clients has its own descriptor.
    let process = started.program.process();
    assert_eq!(process.copies_of(listener_at(&path)), 3);
    let mut clients: Vec<UnixStream> = (0..100).map(|_| connect(&path)).collect();
    for client in &mut clients {
        client.write_all(b"ping").unwrap();
    }
    for client in &mut clients {
        let mut answer = [0; 4];
        client.read_exact(&mut answer).unwrap();
    }
}

#[test]
fn allow_from_does_not_apply_to_unix_sockets() {
    let (folder, proxy) = (TempDir::new(), Peer::echoing());
    let path = folder.at("sock");
    let program = Ptunnel::through(proxy.address()).args(&["--allow-from", "192.0.2.1"]);
    let _started = start(program, &path);
    ping(&path);
}

#[test]
fn a_relative_path_needs_a_slash_too() {
    let (folder, proxy) = (TempDir::new(), Peer::echoing());
    let script = format!("cd {}", folder.path().display());
    let program = Ptunnel::through(proxy.address()).after(&script);
    let started = start(program, "./sock");
    ping(&folder.at("sock"));
    end(started.program);
    assert!(!Path::new(&folder.at("sock")).exists());
}

#[test]
fn wrong_paths_are_refused() {
    let long = format!("/{}:a.example:1", "x".repeat(107));
    for (tunnel, word) in &[
        (&long[..], "107 bytes"),
        ("/a\u{1b}b:a.example:1", "control characters"),
        ("/sock:a.example", "2 parts"),
        ("/sock:/other", "2 parts"),
    ] {
        let finished = Ptunnel::through("proxy.example:1").arg(*tunnel).run();
        finished.expect_code(2);
        for word in &[word, ":imap.example.org:993"] {
            assert!(finished.stderr.contains(*word), "{}", finished.stderr);
        }
    }
}

#[test]
fn check_config_creates_no_file() {
    let folder = TempDir::new();
    let path = folder.at("sock");
    let text = format!(
        "proxy = 'a.example:1'\ntunnels = ['{}:b.example:2']\n",
        path
    );
    let file = folder.file("ptunnel.toml", text);
    let program = Ptunnel::new().args(&["--config", &file, "--check-config"]);
    let finished = program.run();
    finished.expect_code(0);
    let line = format!(
        "would listen on {} for b.example:2 through a.example:1\n",
        path
    );
    assert_eq!(finished.text(), line);
    assert!(!exists(&path));
}

#[test]
fn curl_and_socat_connect_through_squid() {
    let (folder, nginx, squid) = (TempDir::new(), Nginx::start(), Squid::start(None));
    let path = folder.at("sock");
    let tunnel = format!("{}:127.0.0.1:{}", path, nginx.address().port());
    let mut program = Ptunnel::through(squid.address()).arg(tunnel).spawn();
    program.stdout().read_line(&mut String::new()).unwrap();
    let get = |file: &str| {
        let url = format!("http://localhost/{}", file);
        curl(&["--noproxy", "*", "--unix-socket", &path, &url])
    };
    assert_eq!(get("small"), SMALL.as_bytes());
    Nginx::big().check(0, &get("big"));
    let mut socat = command("socat");
    socat.args(&["-t0.1", "-", &format!("UNIX-CONNECT:{}", path)]);
    let mut socat = socat
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("socat");
    // Kept open until the reply has arrived: squid treats a client's end as its departure.
    let mut input = socat.stdin.take().unwrap();
    input
        .write_all(b"GET /small HTTP/1.0\r\n\r\n")
        .expect("socat reads");
    let output = socat.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.ends_with(SMALL), "{}", described(&output));
}

const SEND_A_DESCRIPTOR: &str = "
import socket, sys
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
client.sendall(b'before ')
socket.send_fds(client, [b'with it '], [0])
client.sendall(b'after')
print('sent', flush=True)
while True:
    answer = client.recv(100)
    if not answer:
        break
    print(answer.decode(), flush=True)
";

/// Regression: a message with a descriptor ends the read that returns it, and the bytes after it
/// were never read.
#[test]
fn bytes_after_a_message_with_a_descriptor_are_read() {
    for splice in &["auto", "never", "always"] {
        let (folder, gate) = (TempDir::new(), Gate::open());
        let path = folder.at("sock");
        let program = Ptunnel::through(gate.address()).args(&["--splice", splice]);
        let _started = start(program, &path);
        let mut client = command("python3");
        client.args(&["-c", SEND_A_DESCRIPTOR, &path]);
        let mut client = client
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3");
        let mut said = BufReader::new(client.stdout.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert_eq!(line, "sent\n");
        // All of it is there before the first read.
        let mut server = gate.grant();
        server.expect("before with it after");
        server.send("heard");
        server.finish_sending();
        line.clear();
        said.read_line(&mut line).unwrap();
        assert_eq!(line, "heard\n");
        client.wait().unwrap();
    }
}
