//! Each thing that can go wrong on the way, and the table of GUIDE.md that tells of it.
//!
//! A row is a test: what the client sees, what is said, the exit code with `-W`; and afterwards
//! the program holds what it held before. `the_guide_has_these_rows` keeps the document true.

use std::fs::{self, OpenOptions};
use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use crate::namespace::Namespace;
use crate::scale::scale;
use crate::support::{closed_address, eventually, sys, Blackhole, Connection, Peer};
use crate::support::{Process, Ptunnel, Running, TempDir};

/// One row of the table.
#[derive(Clone, Copy)]
struct Row {
    fault: &'static str,
    client: Client,
    /// Part of the line in the log and, with `-W`, of the last words.
    says: &'static str,
    code: Option<i32>,
    upstream: Upstream,
}

/// What the client does or sees.
#[derive(Clone, Copy)]
enum Client {
    IsClosed,
    IsReset,
    Ends,
    ResetsEarly,
    ResetsLate,
}

/// What stands behind the program.
#[derive(Clone, Copy)]
enum Upstream {
    /// A proxy that has read the request.
    Proxy(fn(Connection)),
    Closed,
    Blackhole,
    /// A proxy called `proxy.example:3128`, where the hosts file is this.
    Named(&'static str),
    /// The same, where the look-up never ends.
    Unnamed,
    /// No proxy, and nobody at the destination.
    Direct,
}

const GRANT: &str = "HTTP/1.1 200 OK\r\n\r\n";

const CHALLENGE: &str = "HTTP/1.1 407 Proxy Authentication Required\r\n\
    Proxy-Authenticate: Basic\r\n\r\n";

const ROWS: &[Row] = &[
    Row {
        fault: "the proxy's name has no address",
        client: Client::IsClosed,
        says: "cannot resolve proxy proxy.example:3128: failed to lookup address information",
        code: Some(1),
        upstream: Upstream::Named("127.0.0.1 localhost\n"),
    },
    Row {
        fault: "looking it up never ends",
        client: Client::IsClosed,
        says: "no connection to proxy proxy.example:3128 within 10s",
        code: Some(1),
        upstream: Upstream::Unnamed,
    },
    Row {
        fault: "its address does not route",
        client: Client::IsClosed,
        says: "cannot connect to proxy proxy.example:3128: Network is unreachable (os error 101)",
        code: Some(1),
        upstream: Upstream::Named("224.0.0.9 proxy.example\n"),
    },
    Row {
        fault: "it refuses the connection",
        client: Client::IsClosed,
        says: "cannot connect to proxy proxy.example:3128: Connection refused (os error 111)",
        code: Some(1),
        upstream: Upstream::Closed,
    },
    Row {
        fault: "it neither takes nor refuses it",
        client: Client::IsClosed,
        says: "no connection to proxy proxy.example:3128 within 10s",
        code: Some(1),
        upstream: Upstream::Blackhole,
    },
    Row {
        fault: "it takes it, and says nothing",
        client: Client::IsClosed,
        says: "no reply from proxy proxy.example:3128 within 30s",
        code: Some(1),
        upstream: Upstream::Proxy(|mut proxy| proxy.drain()),
    },
    Row {
        fault: "it stops within its reply",
        client: Client::IsClosed,
        says: "no reply from proxy proxy.example:3128 within 30s",
        code: Some(1),
        upstream: Upstream::Proxy(|mut proxy| {
            proxy.send("HTTP/1.1 200 OK\r\nVia: ");
            proxy.drain();
        }),
    },
    Row {
        fault: "it resets the connection",
        client: Client::IsClosed,
        says: "lost the connection to proxy proxy.example:3128 before it replied: \
               Connection reset by peer (os error 104)",
        code: Some(1),
        upstream: Upstream::Proxy(|proxy| proxy.reset()),
    },
    Row {
        fault: "it ends the connection",
        client: Client::IsClosed,
        says: "proxy proxy.example:3128 closed the connection before it replied",
        code: Some(1),
        upstream: Upstream::Proxy(drop),
    },
    Row {
        fault: "it answers with rubbish",
        client: Client::IsClosed,
        says: "proxy proxy.example:3128 sent no valid reply: not HTTP/1",
        code: Some(1),
        upstream: Upstream::Proxy(|mut proxy| {
            let _ = proxy.try_send("\u{16}\u{3}\u{1}\0rubbish\r\n\r\n");
            proxy.drain();
        }),
    },
    Row {
        fault: "its answer is too long",
        client: Client::IsClosed,
        says: "proxy proxy.example:3128 sent no valid reply: its head has more than 16384 bytes",
        code: Some(1),
        upstream: Upstream::Proxy(|mut proxy| {
            let field = format!("Via: {}\r\n", "y".repeat(1000));
            let _ = proxy.try_send(format!("HTTP/1.1 200 OK\r\n{}", field.repeat(20)));
            proxy.drain();
        }),
    },
    Row {
        fault: "it says no",
        client: Client::IsClosed,
        says: "proxy proxy.example:3128 refused example.org:22: 503 Service Unavailable",
        code: Some(3),
        upstream: Upstream::Proxy(|mut proxy| {
            let _ = proxy.try_send("HTTP/1.1 503 Service Unavailable\r\n\r\n");
        }),
    },
    Row {
        fault: "it wants other credentials",
        client: Client::IsClosed,
        says: "proxy proxy.example:3128 refused example.org:22: 407 Proxy Authentication Required; it offers Basic: \
               check --user and the password",
        code: Some(4),
        upstream: Upstream::Proxy(|mut proxy| {
            let _ = proxy.try_send(CHALLENGE);
        }),
    },
    Row {
        fault: "there is no proxy, and the destination refuses",
        client: Client::IsClosed,
        says: "cannot connect to example.org:22: Connection refused (os error 111)",
        code: Some(1),
        upstream: Upstream::Direct,
    },
    Row {
        fault: "the open tunnel is reset by its other side",
        client: Client::IsReset,
        says: "cut: upstream: Connection reset by peer (os error 104)",
        code: Some(1),
        upstream: Upstream::Proxy(|mut proxy| {
            proxy.send(GRANT);
            // A byte, or the end.
            let _ = std::io::Read::read(&mut proxy, &mut [0]);
            proxy.reset();
        }),
    },
    Row {
        fault: "it is ended by it",
        client: Client::Ends,
        says: "closed by both sides",
        code: Some(0),
        upstream: Upstream::Proxy(|mut proxy| {
            let _ = proxy.try_send(GRANT);
            proxy.finish_sending();
            proxy.drain();
        }),
    },
    Row {
        fault: "nothing moves in it for `--idle-timeout`",
        client: Client::IsReset,
        says: "cut: nothing moved for 60s",
        code: Some(1),
        upstream: Upstream::Proxy(|mut proxy| {
            let _ = proxy.try_send(GRANT);
            proxy.drain();
            // Until the program cuts it: the end of stdin isn't the end of the connection.
            eventually("the connection is cut", || proxy.stream().peer_addr().is_err());
        }),
    },
    Row {
        fault: "the client resets before it is open",
        client: Client::ResetsEarly,
        says: "cut: client: Connection reset by peer (os error 104)",
        code: None,
        upstream: Upstream::Proxy(|mut proxy| proxy.drain()),
    },
    Row {
        fault: "the client resets afterwards",
        client: Client::ResetsLate,
        says: "cut: client: Connection reset by peer (os error 104)",
        code: None,
        upstream: Upstream::Proxy(|mut proxy| {
            proxy.send(GRANT);
            proxy.echo();
        }),
    },
];

impl Client {
    fn sees(self) -> &'static str {
        match self {
            Client::IsClosed | Client::Ends => "the end",
            Client::IsReset => "a reset",
            Client::ResetsEarly | Client::ResetsLate => "",
        }
    }
}

impl Row {
    /// As GUIDE.md has it.
    fn line(&self) -> String {
        let code = self.code.map_or(String::new(), |code| code.to_string());
        let cells = [
            self.fault,
            self.client.sees(),
            &format!("`{}`", self.says),
            &code,
        ];
        format!("| {} |", cells.join(" | "))
    }

    /// Whether it comes at once: neither a limit nor a resolver is waited for.
    fn is_quick(&self) -> bool {
        let is_named = matches!(self.upstream, Upstream::Named(_) | Upstream::Unnamed);
        !is_named && !self.is_about_time()
    }

    /// Whether it is about time: others get enough of it.
    fn is_about_time(&self) -> bool {
        self.says.contains(" within ") || self.says.contains(" moved ")
    }
}

/// A row with its peers in place.
struct Stage {
    row: Row,
    folder: TempDir,
    peer: Option<Peer>,
    _hole: Option<Blackhole>,
    proxy: Option<String>,
    destination: String,
}

impl Stage {
    fn set(row: Row) -> Stage {
        let mut stage = Stage {
            row,
            folder: TempDir::new(),
            peer: None,
            _hole: None,
            proxy: Some("proxy.example:3128".to_string()),
            destination: "example.org:22".to_string(),
        };
        match row.upstream {
            Upstream::Proxy(script) => {
                let peer = Peer::proxy(script);
                stage.proxy = Some(peer.address().to_string());
                stage.peer = Some(peer);
            }
            Upstream::Closed => stage.proxy = Some(closed_address().to_string()),
            Upstream::Blackhole => {
                let hole = Blackhole::start();
                stage.proxy = Some(hole.address().to_string());
                stage._hole = Some(hole);
            }
            Upstream::Named(hosts) => drop(stage.folder.file("hosts", hosts)),
            Upstream::Unnamed => {
                let made = std::process::Command::new("mkfifo")
                    .arg(stage.folder.at("hosts"))
                    .status();
                assert!(made.expect("mkfifo").success());
            }
            Upstream::Direct => {
                stage.proxy = None;
                stage.destination = closed_address().to_string();
            }
        }
        stage
    }

    fn program(&self) -> Ptunnel {
        let mut program = Ptunnel::new().arg("-v");
        program = match &self.proxy {
            Some(proxy) => program.proxy(proxy),
            None => program.arg("--direct-fallback"),
        };
        let limit = if self.row.is_about_time() {
            "0.4"
        } else {
            "30"
        };
        for option in &["connect", "handshake", "idle", "linger"] {
            program = program.arg(format!("--{}-timeout", option)).arg(limit);
        }
        match self.row.upstream {
            Upstream::Named(_) | Upstream::Unnamed => {
                // The resolver asks the hosts file alone.
                let order = self.folder.file("nsswitch.conf", "hosts: files\n");
                let hosts = self.folder.at("hosts");
                program.after_mounting(&format!(
                    "mount --bind {} /etc/hosts; mount --bind {} /etc/nsswitch.conf",
                    hosts, order
                ))
            }
            _ => program,
        }
    }

    /// What the row says, with this stage's names and times.
    fn says(&self) -> String {
        let proxy = self.proxy.as_deref().unwrap_or_default();
        let mut text = self.row.says.replace("proxy.example:3128", proxy);
        text = text.replace("example.org:22", &self.destination);
        for usual in &["10s", "30s", "60s"] {
            text = text.replace(usual, "0.4s");
        }
        text
    }

    fn accepted(&self) -> usize {
        self.peer.as_ref().map_or(0, Peer::accepted)
    }

    /// One client meets the fault.
    fn play(&self, program: &Running) {
        let before = self.accepted();
        let mut client = program.connect();
        let address = client.local().to_string();
        match self.row.client {
            Client::IsClosed => client.expect_end(),
            Client::IsReset => {
                client.send("?");
                client.expect_reset();
            }
            Client::Ends => {
                client.expect_end();
                client.finish_sending();
            }
            Client::ResetsEarly => {
                eventually("the proxy is asked", || self.accepted() > before);
                client.reset();
            }
            Client::ResetsLate => {
                client.send("?");
                client.expect("?");
                client.reset();
            }
        }
        program.says(&[&address, &self.says()]);
    }

    /// Ends the look-ups that never end.
    fn let_lookups_end(&self) {
        if let Upstream::Unnamed = self.row.upstream {
            let _ = OpenOptions::new()
                .read(true)
                .write(true)
                .open(self.folder.at("hosts"));
        }
    }
}

/// What the program holds, besides memory; its tasks show in the drain at its end.
fn holds(process: Process) -> (usize, usize) {
    (process.descriptors(), process.threads())
}

fn listening(row: Row) {
    let stage = Stage::set(row);
    let program = stage.program().to(&stage.destination).start();
    for _ in 0..3 {
        stage.play(&program);
    }
    let (descriptors, threads) = holds(program.process());
    for _ in 0..scale(7, 60) {
        stage.play(&program);
    }
    eventually("it holds what it held", || {
        stage.let_lookups_end();
        let now = holds(program.process());
        now.0 <= descriptors && now.1 <= threads
    });
    program.signal(sys::SIGTERM);
    let finished = program.finish();
    finished.expect_code(0);
    assert!(
        !finished.stderr.contains("clients still there"),
        "{}",
        finished.stderr
    );
}

/// A tunnel takes about a kilobyte: one in eight that stayed would show.
fn again_and_again(row: Row) {
    let stage = Stage::set(row);
    let program = stage.program().to(&stage.destination).start();
    let process = program.process();
    let round = |count: usize| {
        (0..count).for_each(|_| stage.play(&program));
        process.settle();
        process.resident()
    };
    let before = round(300);
    let count = scale(1_000, 3_000);
    let grown = round(count).saturating_sub(before);
    println!("{}: {} bytes more after {}", row.fault, grown, count);
    assert!(grown < count as u64 * 128, "{} bytes more", grown);
}

fn stdio(row: Row) {
    let code = match row.code {
        Some(code) => code,
        None => return,
    };
    let stage = Stage::set(row);
    let finished = stage.program().args(&["-W", &stage.destination]).run();
    finished.expect_code(code);
    assert_eq!(finished.text(), "");
    assert!(
        finished.stderr.contains(&stage.says()),
        "{:?} is not in {}",
        stage.says(),
        finished.stderr
    );
}

/// Checks all rows at once: most of them wait.
fn each_row(check: fn(Row)) {
    each_of(ROWS.iter(), check);
}

fn each_of(rows: impl Iterator<Item = &'static Row>, check: fn(Row)) {
    let checks: Vec<_> = rows
        .map(|row| (row.fault, thread::spawn(move || check(*row))))
        .collect();
    let failed: Vec<&str> = checks
        .into_iter()
        .filter_map(|(fault, check)| check.join().err().map(|_| fault))
        .collect();
    assert!(failed.is_empty(), "{:?}", failed);
}

#[test]
fn each_fault_is_told_and_leaves_nothing_behind() {
    each_row(listening);
}

/// A few of each prove nothing of memory.
#[test]
fn a_fault_that_is_met_again_and_again_takes_no_memory() {
    each_of(ROWS.iter().filter(|row| row.is_quick()), again_and_again);
}

#[test]
fn each_fault_has_its_exit_code() {
    each_row(stdio);
}

#[test]
fn the_guide_has_these_rows() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/GUIDE.md");
    let guide = fs::read_to_string(path).expect("GUIDE.md");
    let section = guide
        .split("\n## When things go wrong\n")
        .nth(1)
        .expect("the section");
    let table = section
        .lines()
        .skip_while(|line| !line.starts_with("|--"))
        .skip(1)
        .take_while(|line| line.starts_with('|'));
    let rows: Vec<String> = ROWS.iter().map(Row::line).collect();
    assert_eq!(table.collect::<Vec<_>>(), rows);
}

/// A tunnel that works, through a program whose standard streams are like this.
#[track_caller]
fn serves(program: Running, proxy: &Peer, address: std::net::SocketAddr) {
    let before = proxy.accepted();
    for _ in 0..3 {
        let mut client = Connection::open(address);
        client.send("?");
        client.expect("?");
    }
    assert_eq!(proxy.accepted(), before + 3);
    program.signal(sys::SIGTERM);
    program.finish().expect_code(0);
}

#[test]
fn without_standard_streams_it_serves() {
    let proxy = Peer::echoing();
    for streams in &[
        "exec 2>&-",
        "exec <&- >&- 2>&-",
        "exec >&-",
        "exec 2>/dev/full",
    ] {
        let port = crate::support::temp::free_port();
        let program = Ptunnel::through(proxy.address())
            .arg(format!("{}:example.org:22", port))
            .arg("-vv")
            .after(streams)
            .spawn();
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
        eventually("it listens", || {
            crate::support::process::is_listening(address)
        });
        serves(program, &proxy, address);
    }
}

/// Whoever started it waits for that line, and would wait for ever.
#[test]
fn a_stdout_that_takes_nothing_ends_it() {
    let proxy = Peer::echoing();
    let finished = Ptunnel::through(proxy.address())
        .arg("0:example.org:22")
        .after("exec >/dev/full")
        .run();
    finished.expect_code(1);
    assert!(
        finished
            .stderr
            .contains("cannot write to stdout: No space left on device"),
        "{}",
        finished.stderr
    );
}

/// Twelve of them held every thread that resolves, and a tunnel's client waited behind them.
#[test]
fn names_that_guests_ask_for_and_that_hang_keep_no_tunnel_waiting() {
    Namespace::new().run(expect_served_beside_guests_that_hang);
}

fn expect_served_beside_guests_that_hang() {
    let dns = UdpSocket::bind("127.0.0.1:53").expect("a silent name server");
    dns.set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a timeout");
    let proxy = Peer::echoing();
    let folder = TempDir::new();
    let mount =
        |file: &str, text: &str| format!("mount --bind {} /etc/{}", folder.file(file, text), file);
    let mounts = [
        mount("hosts", "127.0.0.1 proxy.example\n"),
        mount("nsswitch.conf", "hosts: files dns\n"),
        mount("resolv.conf", "nameserver 127.0.0.1\noptions timeout:30\n"),
    ];
    let program = Ptunnel::through(format!("proxy.example:{}", proxy.port()))
        .args(&["-w", "5"])
        .serving()
        .to("example.org:22")
        .after_mounting(&mounts.join("; "));
    let program = program.start();
    let guests: Vec<Connection> = (0..12)
        .map(|number| {
            let mut guest = Connection::open(program.proxy());
            guest.send(format!("CONNECT {}.example:1 HTTP/1.1\r\n\r\n", number));
            guest
        })
        .collect();
    // Of each look-up under way, for both families.
    for _ in 0..16 {
        dns.recv_from(&mut [0; 512]).expect("a question");
    }
    let mut client = program.connect();
    client.send("?");
    client.expect("?");
    drop(guests);
}

/// A signal takes effect some time after it was sent.
fn is_stopped(process: Process) -> bool {
    let tasks = fs::read_dir(format!("/proc/{}/task", process.0)).expect("the process lives");
    let mut states = tasks.map(|task| fs::read_to_string(task.unwrap().path().join("stat")));
    states.all(|stat| stat.map_or(true, |stat| stat.contains(") T ")))
}

#[test]
fn stopped_and_continued_it_goes_on_where_it_was() {
    let proxy = Peer::echoing();
    let program = Ptunnel::through(proxy.address())
        .to("example.org:22")
        .start();
    let mut open = program.connect();
    open.send("?");
    open.expect("?");
    for _ in 0..scale(3, 20) {
        program.signal(libc::SIGSTOP);
        eventually("each thread has stopped", || is_stopped(program.process()));
        let mut waiting = program.connect();
        waiting.send("first");
        open.send("second");
        crate::support::steadily("silent", Duration::from_millis(300), || {
            open.is_quiet() && waiting.is_quiet()
        });
        program.signal(libc::SIGCONT);
        open.expect("second");
        waiting.expect("first");
    }
    program.signal(sys::SIGTERM);
    drop(open);
    program.finish().expect_code(0);
}
