//! Sockets that the starting program has bound: systemd's socket activation, and inetd.

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};

use crate::serve::request;
use support::ends::Gate;
use support::parts::{curl, Nginx, Squid, SMALL};
use support::process::listeners;
use support::program::{clean_command, Finished};
use support::temp::free_port;
use support::{eventually_some, Connection, Peer, Ptunnel, TempDir, TIMEOUT};

/// Binds the sockets that are given as ADDRESS=NAME before `--`, and executes the command after it,
/// as systemd would: with LISTEN_FDS, and with its own process id in LISTEN_PID, or another one if
/// OTHERS is set.
const LAUNCHER: &str = "
import fcntl, os, socket, sys
end = sys.argv.index('--')
names, sockets = [], []
for word in sys.argv[1:end]:
    address, name = word.split('=')
    host, _, port = address.rpartition(':')
    if address == 'file':
        sockets.append(os.open('/dev/null', os.O_RDONLY))
    elif address == 'datagrams':
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        one.bind(('127.0.0.1', 0))
        sockets.append(one.detach())
    else:
        path = '/' in address
        family = socket.AF_UNIX if path else socket.AF_INET6 if ':' in host else socket.AF_INET
        one = socket.socket(family)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind(address if path else (host, int(port)))
        if name != 'deaf':
            one.listen(100)
        sockets.append(one.detach())
    names.append(name)
high = [fcntl.fcntl(one, fcntl.F_DUPFD, 50) for one in sockets]
for place, one in enumerate(high):
    os.dup2(one, 3 + place, inheritable=True)
    os.set_inheritable(one, False)
os.environ['LISTEN_FDS'] = str(len(names))
os.environ['LISTEN_FDNAMES'] = ':'.join(names)
os.environ['LISTEN_PID'] = str(os.getppid() if os.environ.get('OTHERS') else os.getpid())
os.execv(sys.argv[end + 1], sys.argv[end + 1:])
";

/// Starts the program with these sockets.
pub fn launched(program: Ptunnel, sockets: &[&str]) -> Ptunnel {
    let mut words = vec!["python3", "-c", LAUNCHER];
    words.extend(sockets);
    words.push("--");
    program.started_by(&words)
}

fn on_loopback(port: u16) -> SocketAddr {
    SocketAddr::new("127.0.0.1".parse().unwrap(), port)
}

#[track_caller]
fn ping(mut client: Connection) {
    client.send("ping");
    client.expect("ping");
}

#[test]
fn a_tunnel_uses_the_socket_with_its_name_or_number() {
    let proxy = Peer::echoing();
    let (one, two) = (free_port(), free_port());
    let sockets = [
        format!("127.0.0.1:{}=a", one),
        format!("127.0.0.1:{}=b", two),
    ];
    let sockets: Vec<&str> = sockets.iter().map(String::as_str).collect();
    for (args, threads) in &[(&[][..], 1), (&["--threads", "2"], 2)] {
        let program = Ptunnel::through(proxy.address())
            .tunnel("fd:b:b.example:2")
            .tunnel("fd:3:a.example:1")
            .args(args);
        let program = launched(program, &sockets).start();
        let line = &program.listening()[0].line;
        assert_eq!(
            *line,
            format!(
                "listening on 127.0.0.1:{} for b.example:2 through {}",
                two,
                proxy.address()
            )
        );
        for (port, host) in &[(one, "a.example:1"), (two, "b.example:2")] {
            // The inherited descriptor, and one for each thread that accepts clients.
            let socket = listeners(on_loopback(*port))[0];
            assert_eq!(program.process().copies_of(socket), 1 + threads);
            for _ in 0..4 {
                ping(Connection::open(on_loopback(*port)));
                let head = proxy.heads().pop().unwrap();
                assert!(head.starts_with(&format!("CONNECT {} ", host)), "{}", head);
            }
        }
        assert_eq!(program.stderr(), "");
    }
}

#[test]
fn sockets_that_share_a_name_serve_one_tunnel() {
    let proxy = Peer::echoing();
    let port = free_port();
    let sockets = [format!("127.0.0.1:{}=a", port), format!("::1:{}=a", port)];
    let program = Ptunnel::through(proxy.address()).tunnel("fd:a:a.example:1");
    let program = launched(program.more_lines(1), &[&sockets[0], &sockets[1]]).start();
    assert_eq!(program.listening().len(), 2);
    for place in 0..2 {
        ping(program.connect_to(place));
    }
}

#[test]
fn a_unix_socket_can_be_inherited_and_its_file_stays() {
    let (folder, proxy) = (TempDir::new(), Peer::echoing());
    let path = folder.at("sock");
    let program = Ptunnel::through(proxy.address()).arg("fd:a:a.example:1");
    let mut program = launched(program, &[&format!("{}=a", path)]).spawn();
    let mut client = eventually_some("a socket", || UnixStream::connect(&path).ok());
    client.set_read_timeout(Some(TIMEOUT)).unwrap();
    client.write_all(b"ping").unwrap();
    let mut answer = [0; 4];
    std::io::Read::read_exact(&mut client, &mut answer).unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut program.stdout(), &mut line).unwrap();
    assert!(
        line.starts_with(&format!("listening on {} for ", path)),
        "{}",
        line
    );
    drop(client);
    program.signal(libc::SIGTERM);
    program.finish().expect_code(0);
    assert!(fs::symlink_metadata(&path).is_ok(), "it is somebody else's");
}

/// Checks that the program refuses this with exit code 2.
#[track_caller]
fn assert_refused(program: Ptunnel, sockets: &[&str], words: &[&str]) {
    let finished: Finished = launched(program, sockets).run();
    finished.expect_code(2);
    assert_eq!(finished.text(), "");
    for word in words {
        assert!(finished.stderr.contains(word), "{}", finished.stderr);
    }
}

#[test]
fn a_missing_socket_is_named_with_the_available_ones() {
    let sockets = [format!("127.0.0.1:{}=imap", free_port())];
    let sockets = [&sockets[0][..]];
    let begin = || Ptunnel::through("proxy.example:1");
    let there = ["'fd:db'", "the sockets are fd:3 ('imap')"];
    assert_refused(begin().arg("fd:db:a.example:1"), &sockets, &there);
    let twice = begin().args(&["fd:imap:a.example:1", "fd:3:b.example:1"]);
    assert_refused(twice, &sockets, &["fd:3 ('imap') is given twice"]);
    let others = begin().arg("fd:imap:a.example:1").env("OTHERS", "1");
    assert_refused(others, &sockets, &["none was passed", "LISTEN_PID"]);
    let finished = begin().arg("fd:3:a.example:1").run();
    finished.expect_code(2);
    assert!(finished.stderr.contains("none was passed"));
}

#[test]
fn a_descriptor_that_does_not_listen_is_refused() {
    let deaf = format!("127.0.0.1:{}=deaf", free_port());
    for (socket, why) in &[
        ("file=deaf", "on non-socket"),
        (&deaf, "not a listening stream socket; use ListenStream="),
        // Regression: the reason was "Protocol not available".
        ("datagrams=deaf", "not a listening stream socket"),
    ] {
        let program = Ptunnel::through("proxy.example:1").arg("fd:deaf:a.example:1");
        let finished = launched(program, &[socket]).run();
        finished.expect_code(1);
        let told = &finished.stderr;
        let what = "cannot listen on fd:3 ('deaf')";
        assert!(told.contains(what) && told.contains(why), "{}", told);
    }
}

/// Regression: the program's own status page was treated as an inherited socket, and its requests
/// were served by the tunnel.
#[test]
fn own_sockets_are_not_treated_as_inherited() {
    let own = |program: Ptunnel| program.after("export LISTEN_PID=$$ LISTEN_FDS=20");
    let mut opened_itself = 0;
    for number in 3..23 {
        let dynamic = format!("fd:{}", number);
        let program = Ptunnel::through("proxy.example:1").args(&["--status", "0"]);
        let program = program.args(&["127.0.0.1:0:a.example:1", "-D", &dynamic]);
        let finished = own(program).run();
        finished.expect_code(1);
        assert_eq!(finished.text(), "");
        let told = format!("cannot listen on fd:{} ('')", number);
        assert!(finished.stderr.contains(&told), "{}", finished.stderr);
        opened_itself += finished
            .stderr
            .contains("LISTEN_FDS counts more sockets than") as u32;
    }
    assert!(opened_itself > 0);
    let program = Ptunnel::through("proxy.example:1").to("a.example:1");
    let program = own(program).start();
    program.says(&[
        "warning: LISTEN_FDS counts fd:",
        "but no such socket was passed",
    ]);
}

#[test]
fn an_unused_socket_causes_a_warning() {
    let sockets = [
        format!("127.0.0.1:{}=a", free_port()),
        format!("127.0.0.1:{}=b", free_port()),
    ];
    let program = Ptunnel::through("proxy.example:1").tunnel("fd:a:a.example:1");
    let program = launched(program, &[&sockets[0], &sockets[1]]).start();
    program.says(&["warning", "fd:4 ('b')"]);
}

#[test]
fn an_exposed_dynamic_listener_needs_a_user_or_allow_from() {
    let socket = || format!("0.0.0.0:{}=socks", free_port());
    let begin = || Ptunnel::through("proxy.example:1").args(&["-D", "fd:socks"]);
    assert_refused(begin(), &[&socket()], &["an open proxy", "--allow-from"]);
    let balanced = begin().args(&["--accept-proxy-protocol", "192.0.2.1"]);
    let loopback = format!("127.0.0.1:{}=socks", free_port());
    assert_refused(balanced, &[&loopback], &["an open proxy behind a balancer"]);
    let program = begin().args(&["--allow-from", "127.0.0.2"]).more_lines(1);
    let program = launched(program, &[&socket()]).start();
    let mut other = Connection::open(on_loopback(program.address().port()));
    other.expect_nothing();
    program.says(&["turned away"]);
    let program = begin().args(&["--dynamic-user", "joe:x"]).more_lines(1);
    let program = launched(program, &[&socket()]).start();
    let mut nobody = Connection::open(on_loopback(program.address().port()));
    nobody.send([5, 1, 0]);
    nobody.expect([5, 0xff]);
    let program = Ptunnel::new().args(&["-D", "fd:socks", "--no-proxy", "*"]);
    let program = program.args(&["--allow-from", "127.0.0.1"]).more_lines(1);
    let program = launched(program, &[&socket()]).start();
    let at = on_loopback(program.address().port());
    let mut client = Connection::open(at);
    client.send(request(at));
    assert!(client.read_head().starts_with(b"HTTP/1.1 403 "));
}

#[test]
fn systemd_starts_it_with_its_first_client() {
    let (nginx, squid, folder) = (Nginx::start(), Squid::start(None), TempDir::new());
    let (port, socks, path) = (free_port(), free_port(), folder.at("sock"));
    let words = [
        "systemd-socket-activate",
        "--fdname=web:web2:socks",
        "-l",
        &on_loopback(port).to_string(),
        "-l",
        &path,
        "-l",
        &on_loopback(socks).to_string(),
    ]
    .iter()
    .map(|word| word.to_string())
    .collect::<Vec<String>>();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let program = Ptunnel::through(squid.address())
        .arg(format!("fd:web:{}", nginx.address()))
        .arg(format!("fd:web2:{}", nginx.address()))
        .args(&["-D", "fd:socks"])
        .started_by(&words);
    let program = program.spawn();
    program.says(&["Listening on"]);
    let url = |at: &str| format!("http://{}/small", at);
    let get = |args: &[&str], at: &str| {
        let url = url(at);
        let connecting = ["--retry", "20", "--retry-connrefused", "--noproxy", ""];
        curl(&[args, &connecting[..], &[&url]].concat())
    };
    let first = get(&[], &on_loopback(port).to_string());
    assert_eq!(first, SMALL.as_bytes());
    let second = get(&["--unix-socket", &path], "localhost");
    assert_eq!(second, SMALL.as_bytes());
    let socks = on_loopback(socks).to_string();
    let third = get(&["--socks5", &socks], &nginx.address().to_string());
    assert_eq!(third, SMALL.as_bytes());
}

/// inetd and systemd's `Accept=yes`: the connection is standard input and output.
struct Inetd {
    child: Child,
    address: SocketAddr,
}

impl Inetd {
    fn start(program: &Ptunnel) -> Inetd {
        let address = on_loopback(free_port());
        let mut inetd = clean_command("systemd-socket-activate");
        inetd.args(&["--inetd", "--accept", "-l", &address.to_string()]);
        inetd.args(program.words().split(' '));
        inetd.stdin(Stdio::null()).stdout(Stdio::null());
        inetd.stderr(Stdio::null());
        let child = inetd.spawn().expect("systemd-socket-activate");
        Inetd { child, address }
    }

    fn connect(&self) -> Connection {
        let limit = || std::net::TcpStream::connect(self.address).ok();
        Connection::new(eventually_some("it listens", limit), 0)
    }
}

impl Drop for Inetd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn inetd_hands_over_a_connection_as_stdin_and_stdout() {
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address()).args(&["-W", "a.example:1"]);
    let inetd = Inetd::start(&program);
    let mut client = inetd.connect();
    client.send("early");
    let mut server = gate.grant();
    server.expect("early");
    server.send("answer");
    client.expect("answer");
    client.finish_sending();
    server.expect_end();
    server.send("that is all");
    drop(server);
    assert_eq!(client.rest(), b"that is all");
}

/// Regression: stdin was the same socket, and kept it open.
#[test]
fn the_servers_end_reaches_inetds_client_while_it_goes_on() {
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address()).args(&["-W", "a.example:1"]);
    let inetd = Inetd::start(&program);
    let mut client = inetd.connect();
    client.send("x");
    let mut server = gate.grant();
    server.expect("x");
    server.send("that is all");
    server.finish_sending();
    assert_eq!(client.rest(), b"that is all");
    client.send("not quite");
    client.finish_sending();
    assert_eq!(server.rest(), b"not quite");
}

/// Regression: it looked like an end, and the destination took an incomplete stream for complete.
#[test]
fn a_reset_by_inetds_client_resets_the_server() {
    let gate = Gate::open();
    let program = Ptunnel::through(gate.address()).args(&["-W", "a.example:1"]);
    let program = program.args(&["--half-close-delay", "0"]);
    let inetd = Inetd::start(&program);
    let mut client = inetd.connect();
    client.send("half of it");
    let mut server = gate.grant();
    server.expect("half of it");
    client.reset();
    server.expect_reset();
}
