//! More of everything than the machine has: tunnels, descriptors, ports, time.
//!
//! The suite tests pipes and their memory: `relay::without_memory_for_pipes_it_copies` and
//! `relay::without_descriptors_for_pipes_it_copies`.

use std::thread;
use std::time::{Duration, Instant};

use crate::crowd::{self, Crowd};
use crate::scale::scale;
use support::ends::{Ends, Gate};
use support::namespace::Namespace;
use support::{eventually, parts, steadily, sys};
use support::{Connection, Peer, Process, Ptunnel, Running, TempDir};

#[test]
fn ten_thousand_idle_tunnels_cost_nothing_and_still_work() {
    expect_no_cost(&[]);
}

/// Regression: each tunnel was checked four times a second, which took a four-hundredth of a
/// processor.
#[test]
fn ten_thousand_tunnels_with_an_idle_timeout_cost_nothing_and_still_work() {
    expect_no_cost(&["--idle-timeout", "3600"]);
}

/// Two descriptors per tunnel; both forms open as many tunnels as the machine allows.
fn expect_no_cost(args: &[&str]) {
    let count = ((sys::raise_descriptor_limit() - 200) / 2).min(10_000);
    let crowd = Crowd::start(args);
    let process = crowd.program.process();
    drop(crowd.join(10));
    process.settle();
    let descriptors = process.descriptors();
    let (resident, run_time) = (process.resident(), process.run_time());

    let start = Instant::now();
    let mut clients = crowd.join(count);
    let took = start.elapsed();
    settle_or_tick(process);
    let cpu = process.run_time() - run_time;
    let each = (process.resident() - resident) / count as u64;
    assert_eq!(process.descriptors(), descriptors + 2 * count);

    let time = scale(Duration::from_secs(5), Duration::from_secs(20));
    let before = process.run_time();
    steadily("idle, a thousandth of a processor at most", time, || {
        process.run_time() - before <= time / 1000
    });
    println!(
        "{} tunnels {:?}: opened in {:?} with {:?} of processor time, {} descriptors, {} KiB \
         resident, {} bytes a tunnel; {:?} of processor time in {:?} of rest",
        count,
        args,
        took,
        cpu,
        process.descriptors(),
        process.resident() / 1024,
        each,
        process.run_time() - before,
        time
    );
    assert!(each < 4096, "{} bytes for a tunnel", each);

    crowd::echo(&mut clients);
    drop(clients);
    eventually("as few descriptors as before", || {
        process.descriptors() <= descriptors
    });
    assert_eq!(told(&crowd.program), "");
}

/// Returns what the program has logged, without the warnings that a limit is near: the tests go
/// beyond it.
fn told(program: &Running) -> String {
    let stderr = program.stderr();
    let lines = stderr.lines().filter(|line| !line.contains("near a limit"));
    lines.map(|line| format!("{}\n", line)).collect()
}

#[test]
fn short_lived_tunnels_leave_nothing_behind() {
    let crowd = Crowd::start(&[]);
    let process = crowd.program.process();
    let round = |count: usize| {
        for number in 0..count {
            let mut client = crowd.program.connect();
            client.send("x");
            client.expect("x");
            match number % 10 {
                // Each of these leaves a port in TIME_WAIT.
                0 => drop(client),
                1 => {
                    client.finish_sending();
                    client.expect_end();
                }
                _ => client.reset(),
            }
        }
        process.settle();
    };
    round(1_000);
    let (descriptors, threads) = (process.descriptors(), process.threads());
    let (resident, run_time) = (process.resident(), process.run_time());
    let count = scale(10_000, 100_000);
    let start = Instant::now();
    round(count);
    println!(
        "{} tunnels one after the other: {:?}, {:?} of processor time, {} KiB resident before and {} after",
        count,
        start.elapsed(),
        process.run_time() - run_time,
        resident / 1024,
        process.resident() / 1024
    );
    eventually("as few descriptors as before", || {
        process.descriptors() <= descriptors
    });
    assert_eq!(process.threads(), threads);
    let grown = process.resident().saturating_sub(resident);
    // Thirteen bytes per tunnel in the short form, one in the long form.
    assert!(grown < 128 * 1024, "{} bytes more", grown);
    assert_eq!(crowd.program.stderr(), "");
}

/// Each client must have both its descriptors before the next one is accepted: otherwise many see
/// the same last descriptor, and all except one of them are accepted and then rejected.
#[test]
fn all_clients_of_a_burst_at_the_descriptor_limit_are_served() {
    expect_burst_served(|proxy| proxy.address().to_string());
}

/// Regression: they took the descriptors for the lookups of the others, and most were rejected.
#[test]
fn all_clients_of_a_burst_are_served_if_the_proxy_has_a_name() {
    expect_burst_served(|proxy| format!("localhost:{}", proxy.port()));
}

fn expect_burst_served(name: impl Fn(&Peer) -> String) {
    // With an odd number left, there is one to accept with and none to connect.
    for limit in 64..68 {
        let proxy = Peer::echoing();
        let program = Ptunnel::through(name(&proxy))
            .to("a.example:1")
            .arg("--direct-fallback")
            .after(&format!("ulimit -n {}", limit))
            .start();
        program.signal(libc::SIGSTOP);
        let mut clients: Vec<_> = (0..100).map(|_| program.connect()).collect();
        for client in &mut clients {
            client.send("patience");
        }
        program.signal(libc::SIGCONT);
        program.says(&["cannot accept", "Too many open files"]);
        for mut client in clients {
            client.expect("patience");
        }
        // Regression: each client that ended let another one in, which lacked a descriptor again,
        // with up to sixteen warnings.
        let told = told(&program);
        assert_eq!(told.lines().count(), 1, "{}", told);
    }
}

/// Like a firewall that rejects every client.
const NOBODY: &str = "
#include <errno.h>
#include <sys/socket.h>

int accept4(int socket, struct sockaddr *address, socklen_t *length, int flags) {
    errno = EPERM;
    return -1;
}
";

/// Regression: it was treated as a client that has left, repeatedly, without a pause or a log line.
#[test]
fn a_listener_that_cannot_accept_pauses_and_logs_it() {
    let folder = TempDir::new();
    let program = Ptunnel::through("192.0.2.1:1")
        .to("a.example:1")
        .env("LD_PRELOAD", parts::preloadable(&folder, NOBODY))
        .start();
    let _client = program.connect();
    program.says(&["cannot accept", "Operation not permitted"]);
    let before = program.process().run_time();
    thread::sleep(Duration::from_secs(3));
    let used = program.process().run_time() - before;
    assert!(used < Duration::from_millis(300), "{:?}", used);
    assert_eq!(told(&program).lines().count(), 1, "{}", program.stderr());
}

/// Regression: a client of the proxy names its destination after it has connected. Other clients
/// had taken the last descriptors by then, and its destination was reported as unreachable.
#[test]
fn all_proxy_clients_of_a_burst_at_the_descriptor_limit_are_served() {
    expect_requests_served(|| Ptunnel::new().serving());
}

/// The same with clients that name their destination to `-D`.
#[test]
fn all_dynamic_clients_of_a_burst_at_the_descriptor_limit_are_served() {
    let dynamic = || Ptunnel::new().args(&["--no-proxy", "*", "-D", "0"]);
    expect_requests_served(|| dynamic().more_lines(1));
}

fn expect_requests_served(begin: impl Fn() -> Ptunnel) {
    let origin = Peer::start(|mut connection| connection.echo());
    for limit in &[64, 65] {
        let program = begin().after(&format!("ulimit -n {}", limit)).start();
        let at = program.listening()[0].address();
        let mut clients: Vec<Connection> = (0..100).map(|_| Connection::open(at)).collect();
        program.says(&["cannot accept", "Too many open files"]);
        let target = format!("localhost:{}", origin.port());
        for client in &mut clients {
            client.send(format!("CONNECT {} HTTP/1.1\r\n\r\npatience", target));
        }
        for mut client in clients {
            let head = String::from_utf8(client.read_head()).expect("text");
            assert!(head.starts_with("HTTP/1.1 200 "), "{:?}", head);
            client.expect("patience");
        }
        // Regression: each client that ended let another one in, which lacked a descriptor again,
        // with up to sixteen warnings.
        let told = told(&program);
        let told = told
            .lines()
            .filter(|line| !line.contains("no proxy is given"));
        let told: Vec<&str> = told.collect();
        assert_eq!(told.len(), 1, "{:?}", told);
    }
}

/// Regression: getaddrinfo(3) reported the proxy's name as unknown, and the proxy was bypassed.
/// With `-W` there are no other clients to wait for: each limit in turn is too low for another
/// descriptor.
#[test]
fn a_lack_of_descriptors_does_not_bypass_a_proxy_with_a_name() {
    let proxy = Peer::echoing();
    let origin = Peer::start(|mut connection| connection.echo());
    for limit in 4..30 {
        Ptunnel::through(format!("localhost:{}", proxy.port()))
            .arg("--direct-fallback")
            .args(&["--no-proxy", ""])
            .args(&["-W", &origin.address().to_string()])
            .after(&format!("ulimit -n {}", limit))
            .run();
        assert_eq!(origin.accepted(), 0, "with {} descriptors", limit);
    }
    assert!(proxy.accepted() > 0);
}

#[test]
fn without_ports_a_client_is_rejected_and_the_next_one_served() {
    const PORTS: usize = 10;
    let namespace = Namespace::new();
    let gate = namespace.run(Gate::open);
    let program = namespace.run(|| {
        let program = Ptunnel::through(gate.address())
            .to("a.example:1")
            .to("b.example:2");
        program.start()
    });
    // After the listeners have their ports, and outside their range.
    namespace.set("ipv4/ip_local_port_range", "20000 20009");
    let mut all: Vec<Ends> = (0..PORTS)
        .map(|_| namespace.run(|| gate.join(&program)))
        .collect();
    // To another port of the program, for which the clients' side has ports left.
    let late = || namespace.run(|| program.connect_to(1));
    late().expect_nothing();
    let line = program.says(&["Cannot assign requested address"]);
    assert!(line.contains(&gate.address().to_string()), "{}", line);
    for ends in &mut all {
        ends.check();
    }
    let Ends { client, mut server } = all.remove(0);
    client.reset();
    server.rest_or_reset();
    drop(server);
    let mut client = late();
    let mut server = gate.grant();
    client.send("served");
    server.expect("served");
}

/// A destination that could be reached without the proxies, which must not happen; and the proxies.
struct Choice {
    namespace: Namespace,
    origin: Gate,
    proxies: Vec<Gate>,
}

impl Choice {
    fn new(addresses: &[&str]) -> Choice {
        let namespace = Namespace::new();
        let on = |address: &&str| namespace.run(|| Gate::on(address));
        Choice {
            origin: namespace.run(Gate::open),
            proxies: addresses.iter().map(on).collect(),
            namespace,
        }
    }

    /// Starts the program with so few ports that tunnels through the first proxy use them up;
    /// returns these tunnels. The number is even, because Linux leaves out one of an odd number.
    fn start_without_ports(&self) -> (Running, Vec<Ends>) {
        let program = self.start();
        self.namespace
            .set("ipv4/ip_local_port_range", "20000 20003");
        let join = || self.namespace.run(|| self.proxies[0].join(&program));
        let all = (0..4).map(|_| join()).collect();
        (program, all)
    }

    fn start(&self) -> Running {
        let addresses = self.proxies.iter().map(Gate::address);
        let program = addresses.fold(Ptunnel::new(), Ptunnel::proxy);
        let to_origin = program.arg("--direct-fallback").args(&["--no-proxy", ""]);
        // The second one is for clients on a side with ports left.
        let tunnels = to_origin
            .to(self.origin.address())
            .to(self.origin.address());
        self.namespace.run(|| tunnels.start())
    }
}

/// Regression: the proxies counted as unreachable. One was bypassed, and the next one in the list
/// was avoided for half a minute.
#[test]
fn a_lack_of_ports_does_not_bypass_a_proxy() {
    for proxy in &["127.0.0.1:0", "[::1]:0"] {
        let choice = Choice::new(&[proxy]);
        let (program, mut all) = choice.start_without_ports();
        let mut late = choice.namespace.run(|| program.connect_to(1));
        late.expect_nothing();
        program.says(&[
            "Cannot assign requested address",
            "this machine has no local port left",
        ]);
        assert!(choice.origin.try_accept().is_none());
        all.iter_mut().for_each(Ends::check);
    }
}

#[test]
fn a_lack_of_ports_does_not_count_against_a_proxy() {
    let choice = Choice::new(&["127.0.0.1:0", "127.0.0.2:0"]);
    let (program, mut all) = choice.start_without_ports();
    let connect = || choice.namespace.run(|| program.connect_to(1));
    let _second = (connect(), choice.proxies[1].grant());
    program.says(&[
        "this machine has no local port left",
        "trying the next proxy",
    ]);
    // Closed by the client, so that the port doesn't stay in TIME_WAIT.
    let Ends { client, mut server } = all.remove(0);
    client.reset();
    server.rest_or_reset();
    drop(server);
    let _first = (connect(), choice.proxies[0].grant());
    assert!(choice.origin.try_accept().is_none());
}

/// The error of connect(2) is the same.
#[test]
fn a_machine_without_ipv6_is_not_out_of_ports() {
    let choice = Choice::new(&["[::1]:0"]);
    choice.namespace.set("ipv6/conf/all/disable_ipv6", "1");
    let program = choice.start();
    let client = choice.namespace.run(|| program.connect());
    let server = choice.origin.accept();
    Ends { client, server }.check();
    program.says(&["no IPv6 address to connect from; connecting to"]);
}

#[test]
fn a_thousand_slow_clients_are_cheap_and_stay_connected() {
    let (count, seconds, idle) = scale((300, 6, "4"), (1_000, 60, "20"));
    let crowd = Crowd::start(&["--idle-timeout", idle]);
    let process = crowd.program.process();
    let mut clients = crowd.join(count);
    settle_or_tick(process);
    let before = process.run_time();
    let start = Instant::now();
    for second in 1..=seconds {
        for client in &mut clients {
            client.send([second as u8]);
        }
        let next = start + Duration::from_secs(second);
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    let sent: Vec<u8> = (1..=seconds).map(|second| second as u8).collect();
    for client in &mut clients {
        client.expect(&sent);
    }
    let spent = process.run_time() - before;
    println!(
        "{} clients, {} s: {:?} of processor time",
        count, seconds, spent
    );
    // Each byte is carried in both directions.
    let each = spent / (count as u32 * seconds as u32);
    assert!(each < Duration::from_micros(250), "{:?} a byte", each);
}

/// Waits until the process is idle except for ticks of the idle timeout.
fn settle_or_tick(process: Process) {
    eventually("nearly at rest", || {
        let before = process.run_time();
        thread::sleep(Duration::from_millis(300));
        process.run_time() - before < Duration::from_millis(10)
    });
}

#[test]
fn a_slow_head_costs_no_more_than_the_handshake_timeout() {
    let usual: (&[&str], _, _) = (&[], 30, Duration::from_secs(29));
    let short: (&[&str], _, _) = (
        &["--handshake-timeout", "2"],
        2,
        Duration::from_millis(1900),
    );
    let (args, limit, pause) = scale(short, usual);
    let proxy = Peer::proxy(move |mut connection| {
        if connection.number == 0 {
            return connection.send("HTTP/1.1 503 Busy\r\n\r\n");
        }
        for byte in b"HTTP/1.1 200 OK\r\n\r\n" {
            if connection.try_send([*byte]).is_err() {
                return;
            }
            thread::sleep(pause);
        }
    });
    let program = Ptunnel::through(proxy.address())
        .to("a.example:1")
        .args(&["--max-connections", "50"])
        .args(args)
        .start();
    program.connect().expect_nothing();
    program.process().settle();
    let before = program.process().descriptors();
    let start = Instant::now();
    let clients: Vec<_> = (0..50).map(|_| program.connect()).collect();
    for mut client in clients {
        client.expect_nothing();
    }
    let (took, limit) = (start.elapsed(), Duration::from_secs(limit));
    assert!(took >= limit, "{:?}", took);
    // At most an eighth late; the rest is for a busy machine.
    assert!(
        took < limit + limit / 8 + Duration::from_secs(2),
        "{:?}",
        took
    );
    program.says(&["no reply", &format!("within {:?}", limit)]);
    eventually("as few descriptors as before", || {
        program.process().descriptors() <= before
    });
}
