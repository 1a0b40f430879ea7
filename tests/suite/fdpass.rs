//! `-W … --fdpass`, which hands the connection over: to OpenSSH (ProxyUseFdpass), and to a program
//! that looks at what it gets.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;

use support::parts::{self, described, Squid, Sshd};
use support::tls::{Authority, Stunnel};
use support::{eventually, Connection, Finished, Pattern, Peer, Ptunnel, TempDir};

/// An ssh that runs a script on sshd, which this program reaches at `server`.
fn ssh(server: SocketAddr, sshd: &Sshd, program: &Ptunnel, script: &str) -> Command {
    let proxy_command = format!("{} -W %h:%p --fdpass -v", program.words());
    let mut command = parts::command("ssh");
    // The first of two has priority.
    command.args(&["-o", &format!("Port={}", server.port())]);
    command.args(sshd.client_options(&proxy_command));
    command.args(&["-o", "ProxyUseFdpass=yes", "127.0.0.1", script]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(Stdio::piped());
    command
}

/// A session with a server that answers each line.
struct Session {
    ssh: Child,
    proxy: String,
}

impl Session {
    fn start(server: SocketAddr, sshd: &Sshd, proxy: String, options: &[&str]) -> Session {
        let program = Ptunnel::through(&proxy).args(options);
        let script = "while read line; do echo \"answer to $line\"; done; exit 7";
        let ssh = ssh(server, sshd, &program, script)
            .spawn()
            .expect("ssh starts");
        Session { ssh, proxy }
    }

    fn ask(&mut self, line: &str) {
        let mut input = self.ssh.stdin.as_ref().expect("a pipe");
        writeln!(input, "{}", line).expect("ssh reads");
        let answer = format!("answer to {}\n", line);
        let mut read = vec![0; answer.len()];
        let output = self.ssh.stdout.as_mut().expect("a pipe");
        output.read_exact(&mut read).expect("an answer");
        assert_eq!(String::from_utf8_lossy(&read), answer);
    }

    /// Returns the number of processes of the program.
    fn programs(&self) -> usize {
        programs(&self.proxy)
    }

    /// Ends the session; returns what ssh and the program logged.
    fn end(mut self) -> String {
        drop(self.ssh.stdin.take());
        let Session { ssh, proxy } = self;
        let output = ssh.wait_with_output().expect("an end");
        assert_eq!(output.status.code(), Some(7), "{}", described(&output));
        eventually("no process of the program", || programs(&proxy) == 0);
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

/// Returns the number of processes of the program with this proxy. ssh's own command line has it in
/// another word.
fn programs(proxy: &str) -> usize {
    let processes = fs::read_dir("/proc").expect("/proc");
    let is_one = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.expect("an entry").path().join("cmdline");
        let words = fs::read_to_string(path).unwrap_or_default();
        words.split('\0').any(|word| word == proxy)
    };
    processes.map(is_one).filter(|is_one| *is_one).count()
}

#[test]
fn ssh_gets_the_socket_and_no_process_remains() {
    let (sshd, squid) = (Sshd::start(), Squid::start(None));
    let server = patient_server(&sshd);
    let mut session = Session::start(server.address(), &sshd, squid.address().to_string(), &[]);
    session.ask("one");
    // It exits a moment after it has handed the socket over.
    eventually("no process of the program", || session.programs() == 0);
    session.ask("two");
    let said = session.end();
    assert!(said.ends_with(": handed over\n"), "{}", said);
}

#[test]
fn a_connection_in_tls_is_relayed_until_ssh_ends() {
    let (sshd, squid, authority) = (Sshd::start(), Squid::start(None), Authority::new());
    let identity = authority.issue("proxy", "DNS:localhost");
    let stunnel = Stunnel::start(&identity, squid.address());
    let proxy = format!("https://localhost:{}", stunnel.address().port());
    let options = &["--proxy-cacert", &authority.certificate()[..]];
    let mut session = Session::start(sshd.address(), &sshd, proxy, options);
    session.ask("one");
    // Not the one that ssh has started and awaited.
    assert_eq!(session.programs(), 1);
    session.ask("two");
    let said = session.end();
    let reason = ": relaying in the background, because TLS is on the path\n";
    assert!(said.contains(reason), "{}", said);
    assert!(said.contains("closed by both sides"), "{}", said);
}

/// Sends the server's first bytes together with the reply.
fn eager_proxy(sshd: &Sshd) -> Peer {
    let server = sshd.address();
    Peer::start(move |mut connection: Connection| {
        connection.read_head();
        let mut server = TcpStream::connect(server).expect("sshd");
        let mut banner = vec![0; 1024];
        let count = server.read(&mut banner).expect("a banner");
        let mut reply = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        reply.extend_from_slice(&banner[..count]);
        connection.send(reply);
        carry(&connection, &server);
    })
}

/// Connects to sshd when the client has spoken: no byte of the server can come together with the reply.
fn patient_server(sshd: &Sshd) -> Peer {
    let server = sshd.address();
    Peer::start(move |connection: Connection| {
        connection.stream().peek(&mut [0]).expect("a byte");
        carry(&connection, &TcpStream::connect(server).expect("sshd"));
    })
}

/// Copies both directions to their ends.
fn carry(client: &Connection, server: &TcpStream) {
    let from_client = client.handle();
    let to_server = server.try_clone().expect("a descriptor");
    let upload = thread::spawn(move || copy(from_client.stream(), &to_server));
    copy(server, client.stream());
    upload.join().expect("a copy");
}

/// Copies to the end, and passes it on.
fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(std::net::Shutdown::Write);
}

#[test]
fn bytes_that_came_with_the_reply_are_relayed() {
    let sshd = Sshd::start();
    let proxy = eager_proxy(&sshd);
    let mut session = Session::start(sshd.address(), &sshd, proxy.address().to_string(), &[]);
    session.ask("one");
    assert_eq!(session.programs(), 1);
    let said = session.end();
    let reason = "because data came together with the proxy's reply\n";
    assert!(said.contains(reason), "{}", said);
}

#[test]
fn ssh_copies_a_file_both_ways_over_the_socket_and_over_a_relay() {
    let (sshd, squid) = (Sshd::start(), Squid::start(None));
    let eager = eager_proxy(&sshd);
    let content = Pattern::new(5).take(3 << 20);
    for proxy in &[squid.address(), eager.address()] {
        let folder = TempDir::new();
        let (local, remote) = (folder.file("local", &content), folder.at("remote"));
        let program = Ptunnel::through(proxy);
        let script = format!("cat > {0} && cat {0}", remote);
        let mut command = ssh(sshd.address(), &sshd, &program, &script);
        let input = fs::File::open(local).expect("the file");
        let output = command.stdin(input).output().expect("ssh runs");
        assert!(output.status.success(), "{}", described(&output));
        assert!(output.stdout == content, "{} bytes", output.stdout.len());
    }
}

/// Starts the program as ssh does, waits for its end, and only then reports the exit code and the
/// modes of the socket, and talks over it.
const RECEIVER: &str = "
import os, socket, subprocess, sys
near, far = socket.socketpair()
child = subprocess.Popen(sys.argv[1:], stdin=far, stdout=far)
far.close()
_, fds, _, _ = socket.recv_fds(near, 1, 4)
print('exit code', child.wait(), 'sockets', len(fds))
for fd in fds:
    passed = socket.socket(fileno=fd)
    options = (socket.IPPROTO_TCP, socket.TCP_NODELAY), (socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    if passed.family == socket.AF_UNIX:
        options = ()
    print('blocking', os.get_blocking(fd), [passed.getsockopt(*it) for it in options])
    passed.sendall(b'hello')
    passed.shutdown(socket.SHUT_WR)
    print(b''.join(iter(lambda: passed.recv(99), b'')).decode())
";

fn received(program: Ptunnel) -> Finished {
    let program = program.args(&["-W", "example.org:22", "--fdpass"]);
    let program = program.args(&["--half-close-delay", "0"]);
    program.started_by(&["python3", "-c", RECEIVER]).run()
}

#[test]
fn the_socket_is_in_blocking_mode_and_the_program_has_ended() {
    let proxy = Peer::echoing();
    let finished = received(Ptunnel::through(proxy.address()));
    let shown = "exit code 0 sockets 1\nblocking True [1, 1]\nhello\n";
    assert_eq!(finished.text(), shown, "{}", finished.stderr);
    assert_eq!(finished.stderr, "");
}

/// The parent must end although the receiver keeps its own socket open.
#[test]
fn a_relay_does_not_keep_its_parent_waiting() {
    let proxy = Peer::proxy(|mut connection| {
        connection.send("HTTP/1.1 200 OK\r\n\r\nearly ");
        connection.echo();
    });
    let finished = received(Ptunnel::through(proxy.address()));
    let shown = "exit code 0 sockets 1\nblocking True []\nearly hello\n";
    assert_eq!(finished.text(), shown, "{}", finished.stderr);
    assert_eq!(finished.stderr, "");
}

#[test]
fn a_failure_has_the_usual_exit_code_and_hands_nothing_over() {
    for (code, reply) in &[
        (3, "HTTP/1.1 403 Forbidden\r\n\r\n"),
        (
            4,
            "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=x\r\n\r\n",
        ),
        (1, "nonsense"),
    ] {
        let proxy = Peer::replying(*reply);
        let finished = received(Ptunnel::through(proxy.address()));
        let shown = format!("exit code {} sockets 0\n", code);
        assert_eq!(finished.text(), shown, "{}", finished.stderr);
        assert_eq!(finished.stderr.lines().count(), 1, "{}", finished.stderr);
    }
}

#[test]
fn it_requires_a_unix_socket_as_output() {
    let program = || Ptunnel::through("127.0.0.1:1").args(&["-W", "example.org:22", "--fdpass"]);
    let finished = program().run();
    finished.expect_code(2);
    let why = "ptunnel: --fdpass: standard output is a pipe, not the Unix socket over which ssh \
               receives the connection; add ProxyUseFdpass yes to ~/.ssh/config, or remove \
               --fdpass\n";
    assert_eq!(finished.stderr, why);
    let finished = program().after("exec >/dev/null").run();
    finished.expect_code(2);
    let is = "standard output is a device";
    assert!(finished.stderr.contains(is), "{}", finished.stderr);
}

#[test]
fn it_belongs_to_stdio() {
    let through = || Ptunnel::through("127.0.0.1:1").arg("--fdpass");
    let finished = through().to("example.org:22").run();
    finished.expect_code(2);
    let why = "ptunnel: --fdpass requires --stdio HOST:PORT; ";
    assert!(finished.stderr.starts_with(why), "{}", finished.stderr);
    // A tunnel on the command line replaces both of the file.
    let folder = TempDir::new();
    let config = "stdio = 'example.org:22'\nfdpass = true\nproxy = '127.0.0.1:1'\n";
    let config = folder.file("config", config);
    let program = Ptunnel::new().args(&["--config", &config, "--check-config"]);
    program.to("example.org:22").run().expect_code(0);
}

#[test]
fn a_check_and_a_test_need_no_socket() {
    let proxy = Peer::echoing();
    let program = || Ptunnel::through(proxy.address()).args(&["-W", "example.org:22", "--fdpass"]);
    program().arg("--check-config").run().expect_code(0);
    program().arg("--test").run().expect_code(0);
}

#[test]
fn sigterm_ends_it_before_the_tunnel_is_open() {
    let proxy = Peer::start(|mut connection: Connection| connection.drain());
    let program = Ptunnel::through(proxy.address()).args(&["--handshake-timeout", "300"]);
    let words = program.args(&["-W", "example.org:22", "--fdpass"]).words();
    let script = "
import os, signal, socket, subprocess, sys
near, far = socket.socketpair()
child = subprocess.Popen(sys.argv[1:], stdin=far, stdout=far)
far.close()
sys.stdin.readline()
child.terminate()
print(child.wait(), near.recv(1))
";
    let mut command = parts::command("python3");
    command.args(&["-c", script]).args(words.split(' '));
    let mut running = support::Running::spawn({
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    });
    eventually("a request", || proxy.accepted() == 1);
    running.stdin().write_all(b"now\n").expect("it reads");
    let finished = running.finish();
    // The end of the socket: no process has it any more.
    assert_eq!(finished.text(), "-15 b''\n", "{}", finished.stderr);
}
