//! Faults of proxies, destinations and clients, and the tables of messages in docs/guide.md.
//!
//! A row is a test: what the client sees, what ptunnel logs, the exit code with `-W`; and afterwards
//! the program holds what it held before. `the_guide_has_these_rows` compares the document.

mod rows;
mod stage;

use std::fs;
use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use self::rows::{Row, DYNAMIC_ROWS, PROXY_ROWS, ROWS};
use self::stage::Stage;
use crate::scale::scale;
use support::namespace::Namespace;
use support::repository::text_of;
use support::{eventually, sys, Connection, Peer};
use support::{Process, Ptunnel, Running, TempDir};

/// Returns the resources that the program holds, besides memory; the drain at its end reports its
/// tasks.
fn holds(process: Process) -> (usize, usize) {
    (process.descriptors(), process.threads())
}

fn listening(row: Row) {
    let stage = Stage::set(row);
    let program = stage.start();
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
        !finished.stderr.contains("still open"),
        "{}",
        finished.stderr
    );
}

/// A tunnel takes about a kilobyte: one in eight that isn't freed would be noticed.
fn repeatedly(row: Row) {
    let stage = Stage::set(row);
    let program = stage.start();
    let process = program.process();
    let round = |count: usize| {
        (0..count).for_each(|_| stage.play(&program));
        process.settle();
        process.resident()
    };
    let before = round(300);
    let count = scale(1_000, 3_000);
    let grown = round(count).saturating_sub(before);
    println!("{} {} bytes more after {}", row.line(), grown, count);
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
    assert_eq!(finished.text(), row.client.receives());
    assert!(
        finished.stderr.contains(&stage.says()),
        "{:?} is not in {}",
        stage.says(),
        finished.stderr
    );
}

fn all_rows() -> impl Iterator<Item = &'static Row> {
    ROWS.iter().chain(PROXY_ROWS).chain(DYNAMIC_ROWS)
}

/// Checks rows at the same time: most of them wait.
fn check_each(rows: impl Iterator<Item = &'static Row>, check: fn(Row)) {
    let checks: Vec<_> = rows
        .map(|row| {
            let name = format!("{:?}: {}", row.way, row.line());
            (name, thread::spawn(move || check(*row)))
        })
        .collect();
    let failed: Vec<String> = checks
        .into_iter()
        .filter_map(|(line, check)| check.join().err().map(|_| line))
        .collect();
    assert!(failed.is_empty(), "{:#?}", failed);
}

#[test]
fn each_fault_is_logged_and_leaves_nothing_behind() {
    check_each(all_rows(), listening);
}

/// Few repetitions can't show a memory leak.
#[test]
fn repeated_faults_take_no_memory() {
    check_each(all_rows().filter(|row| row.is_quick()), repeatedly);
}

#[test]
fn each_fault_has_its_exit_code() {
    check_each(all_rows(), stdio);
}

#[test]
fn the_guide_has_these_rows() {
    let guide = text_of("docs/guide.md");
    let tunnels = table(
        &guide,
        "| message | cause | the client sees | exit code | what to do |",
    );
    let tunnels = tunnels.into_iter().map(|line| {
        let end = line.trim_end_matches(" |").rfind(" | ");
        let (row, advice) = line.split_at(end.expect("a last cell"));
        assert!(!advice.trim_matches(&[' ', '|'][..]).is_empty(), "{}", line);
        format!("{} |", row)
    });
    expect_rows(tunnels.collect(), lines(ROWS));

    let clients = table(
        &guide,
        "| message | cause | a client of `--serve-proxy` gets |",
    );
    expect_rows(clients, lines(PROXY_ROWS));

    let dynamic = table(&guide, "| message | cause | a SOCKS5 client of `-D` gets |");
    let is_shared = |line: &String| lines(PROXY_ROWS).contains(line);
    let own = lines(DYNAMIC_ROWS).into_iter();
    expect_rows(dynamic, own.filter(|line| !is_shared(line)).collect());
}

/// The rows of the table with this head.
fn table(text: &str, head: &str) -> Vec<String> {
    let mut lines = text.lines().skip_while(|line| *line != head);
    assert_eq!(lines.next(), Some(head));
    let rows = lines.skip(1).take_while(|line| line.starts_with('|'));
    rows.map(str::to_string).collect()
}

fn lines(rows: &[Row]) -> Vec<String> {
    rows.iter().map(Row::line).collect()
}

/// In any order, and each once.
fn expect_rows(mut found: Vec<String>, mut expected: Vec<String>) {
    found.sort();
    expected.sort();
    expected.dedup();
    assert_eq!(found, expected);
}

/// Checks that a tunnel works, through a program with these standard streams.
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
        let port = support::temp::free_port();
        let program = Ptunnel::through(proxy.address())
            .arg(format!("{}:example.org:22", port))
            .arg("-vv")
            .after(streams)
            .spawn();
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
        eventually("it listens", || support::process::is_listening(address));
        serves(program, &proxy, address);
    }
}

/// The program's caller waits for that line, and would wait for ever.
#[test]
fn a_full_stdout_ends_the_program() {
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

/// Regression: twelve such lookups held every thread of the resolver, and a tunnel's client waited
/// behind them.
#[test]
fn lookups_for_dynamic_clients_that_hang_do_not_delay_tunnels() {
    Namespace::new().run(expect_served_beside_hanging_lookups);
}

fn expect_served_beside_hanging_lookups() {
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
    let proxy_clients: Vec<Connection> = (0..12)
        .map(|number| {
            let mut client = Connection::open(program.proxy());
            client.send(format!("CONNECT {}.example:1 HTTP/1.1\r\n\r\n", number));
            client
        })
        .collect();
    // Both address families of each running lookup.
    for _ in 0..16 {
        dns.recv_from(&mut [0; 512]).expect("a question");
    }
    let mut client = program.connect();
    client.send("?");
    client.expect("?");
    drop(proxy_clients);
}

/// A signal takes effect some time after it was sent.
fn is_stopped(process: Process) -> bool {
    let tasks = fs::read_dir(format!("/proc/{}/task", process.0)).expect("the process lives");
    let mut states = tasks.map(|task| fs::read_to_string(task.unwrap().path().join("stat")));
    states.all(|stat| stat.map_or(true, |stat| stat.contains(") T ")))
}

#[test]
fn a_stopped_program_continues_after_sigcont() {
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
        support::steadily("silent", Duration::from_millis(300), || {
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
