//! System calls that fail, as on a machine that lacks something: no silent loss, no hang, no leaked
//! descriptor.

use std::fs;
use std::io::{self, BufRead, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

use libc::{
    EADDRNOTAVAIL, ECONNABORTED, ECONNREFUSED, ECONNRESET, EHOSTUNREACH, EINTR, EINVAL, EMFILE,
    ENETUNREACH, ENFILE, ENOBUFS, ENOMEM, ENOSPC, EPERM, EPIPE, EPROTO,
};

use crate::scale::scale;
use support::ends::Gate;
use support::faults::Call::{
    Accept, Connect, Dup, EpollAdd, EpollWait, Option as SetOption, Pipe, PipeSize, Read, Socket,
    Splice, Write,
};
use support::faults::{Call, Fault, Faults};
use support::process::{is_listening, listeners};
use support::temp::free_port;
use support::traffic::{self, Dice, End, Outcome, Plan};
use support::{
    eventually, sys, Connection, Pattern, Peer, Process, Ptunnel, Running, TempDir, TIMEOUT,
};

/// A tunnel through the embedded proxy of another process. Calls of both processes can fail.
struct Stage {
    faults: Faults,
    origin: Gate,
    proxy: Running,
    program: Running,
    descriptors: Vec<usize>,
}

impl Stage {
    fn start(args: &[&str]) -> Stage {
        let faults = Faults::none();
        let origin = Gate::open();
        let proxy = faults.of(Ptunnel::new().serving().args(args)).start();
        let program = Ptunnel::through(proxy.proxy()).to(origin.address());
        let program = faults.of(program.args(args)).start();
        let mut stage = Stage {
            faults,
            origin,
            proxy,
            program,
            descriptors: Vec::new(),
        };
        // One-time resources exist after this, except for pipes.
        stage.open_tunnel();
        stage.processes().iter().for_each(|one| one.settle());
        stage.descriptors = stage.open();
        stage
    }

    fn processes(&self) -> [Process; 2] {
        [self.proxy.process(), self.program.process()]
    }

    /// Returns the number of descriptors of each process without pipes, which are kept for the next
    /// tunnel.
    fn open(&self) -> Vec<usize> {
        let open = |one: &Process| one.descriptors().saturating_sub(one.pipe_ends());
        self.processes().iter().map(open).collect()
    }

    fn join(&self) -> (Connection, Connection) {
        (self.program.connect(), self.origin.accept())
    }

    /// Opens another tunnel and sends a word in each direction, so that the opening is complete.
    fn open_tunnel(&self) -> (Connection, Connection) {
        let (mut client, mut server) = self.join();
        client.send("ping");
        server.expect("ping");
        server.send("pong");
        client.expect("pong");
        (client, server)
    }

    /// Runs concurrent tunnels with random traffic, all of which must arrive.
    fn exchange(&self, seed: u64) {
        let mut dice = Dice::new(seed);
        let runs: Vec<_> = (0..3)
            .map(|number| {
                let (sides, mut dice) = (self.join(), dice.fork());
                let plans = (plan(number, &mut dice), plan(number + 1, &mut dice));
                thread::spawn(move || traffic::exchange(number, sides, plans, &mut dice))
            })
            .collect();
        runs.into_iter().for_each(traffic::joined);
    }

    /// Runs the same while a call fails on open tunnels. This can cut them, but then both sides
    /// must notice it.
    fn expect_complete_or_noticed(&self, fault: Fault, seed: u64) {
        let mut dice = Dice::new(seed);
        let tunnels: Vec<_> = (0..3).map(|_| self.open_tunnel()).collect();
        self.faults.set(&[fault]);
        let runs: Vec<_> = (0..)
            .zip(tunnels)
            .map(|(number, sides)| {
                let mut dice = dice.fork();
                let plans = (plan(number, &mut dice), plan(number + 1, &mut dice));
                thread::spawn(move || {
                    let streams = (Pattern::new(number * 2), Pattern::new(number * 2 + 1));
                    let (client, server) = traffic::play(streams, sides, plans, &mut dice);
                    expect_all_or_noticed(plans.0.bytes, &server);
                    expect_all_or_noticed(plans.1.bytes, &client);
                })
            })
            .collect();
        runs.into_iter().for_each(traffic::joined);
    }

    /// Checks that it continues normally, and that nothing was left over.
    #[track_caller]
    fn expect_recovered(&self) {
        self.faults.clear();
        self.exchange(1);
        eventually("as few descriptors as before", || {
            let open = self.open();
            let mut pairs = open.iter().zip(&self.descriptors);
            pairs.all(|(now, before)| now <= before)
        });
    }
}

/// The first tunnel fills pipes.
fn plan(number: u64, dice: &mut Dice) -> Plan {
    let bytes = match number {
        0 => 6 << 20,
        _ => dice.below(300_000),
    };
    Plan {
        bytes,
        end: End::Orderly,
    }
}

/// Checks that this side has received all its bytes, or has noticed that some are missing.
fn expect_all_or_noticed(bytes: u64, outcome: &Outcome) {
    if outcome.seen != bytes {
        traffic::expect_told(outcome);
    }
}

/// Runs `check` with each fault in turn, which must occur.
fn with_each(stage: &Stage, faults: &[Fault], check: impl Fn(u64)) {
    for (number, fault) in faults.iter().enumerate() {
        println!("{:?}", fault);
        stage.faults.set(&[*fault]);
        check(number as u64 + 2);
        let hits = stage.faults.hits(1)[0];
        assert!(hits > 0, "{:?}: no such call", fault);
        stage.expect_recovered();
    }
}

#[test]
fn recoverable_failures_have_no_effect() {
    let stage = Stage::start(&[]);
    let mut faults = vec![
        Fault::new(Read, EINTR).every(2).on_all(),
        Fault::new(Write, EINTR).every(2).on_all(),
        Fault::new(Splice, EINTR).every(2),
        Fault::new(Splice, EINVAL).every(5),
        Fault::new(Splice, ENOMEM).every(5),
        Fault::new(EpollWait, EINTR).every(2),
    ];
    for error in &[EINTR, ECONNABORTED, EPROTO, EPERM] {
        faults.push(Fault::new(Accept, *error).every(2));
    }
    for error in &[EMFILE, ENFILE, ENOBUFS, ENOMEM] {
        faults.push(Fault::new(Accept, *error).at_most(2));
    }
    with_each(&stage, &faults, |seed| stage.exchange(seed));
}

#[test]
fn standard_input_and_output_survive_interrupted_calls() {
    let faults = Faults::none();
    let proxy = Peer::echoing();
    let input = Pattern::new(1).take(1 << 20);
    for call in &[Read, Write] {
        faults.set(&[Fault::new(*call, EINTR).every(2).on_all()]);
        let program = Ptunnel::through(proxy.address()).args(&["-W", "a.example:1"]);
        let finished = faults.of(program).run_with(&input);
        finished.expect_code(0);
        assert!(finished.stdout == input, "{} bytes", finished.stdout.len());
        assert!(faults.hits(1)[0] > 0);
    }
}

/// Each time with programs that have no pipe yet.
#[test]
fn without_a_pipe_it_copies() {
    let mut faults = vec![Fault::new(PipeSize, EPERM), Fault::new(PipeSize, ENOMEM)];
    for error in &[EMFILE, ENFILE, ENOMEM] {
        faults.push(Fault::new(Pipe, *error));
        faults.push(Fault::new(Pipe, *error).every(2));
    }
    for fault in faults {
        let stage = Stage::start(&[]);
        with_each(&stage, &[fault], |seed| stage.exchange(seed));
    }
}

#[test]
fn a_tunnel_that_cannot_continue_is_cut_on_both_sides() {
    // If a write fails, the side is still read until it ends. These sides stay connected, and don't
    // end.
    let stage = Stage::start(&["--linger-timeout", "3"]);
    let mut seed = 1;
    for call in &[Read, Write] {
        for error in &[ENOMEM, ENOBUFS, ECONNRESET, EPIPE] {
            let fault = Fault::new(*call, *error).every(7);
            println!("{:?}", fault);
            seed += 1;
            stage.expect_complete_or_noticed(fault, seed);
            let hits = stage.faults.hits(1)[0];
            assert!(hits > 0, "{:?}: no such call", fault);
            stage.expect_recovered();
        }
    }
}

/// Failures while a tunnel is opened: the client learns at once that there is no tunnel.
#[test]
fn a_tunnel_that_cannot_be_opened_is_refused() {
    let stage = Stage::start(&[]);
    let mut faults = Vec::new();
    for error in &[
        EADDRNOTAVAIL,
        ECONNREFUSED,
        EHOSTUNREACH,
        EINTR,
        ENETUNREACH,
        ENOBUFS,
        ENOMEM,
    ] {
        faults.push(Fault::new(Connect, *error));
        // The tunnel's own call succeeds, and the proxy's fails.
        faults.push(Fault::new(Connect, *error).after(1));
    }
    for error in &[EMFILE, ENFILE, ENOBUFS, ENOMEM] {
        faults.push(Fault::new(Socket, *error));
        faults.push(Fault::new(Socket, *error).after(1));
    }
    for error in &[ENOMEM, ENOSPC] {
        // The call for each client succeeds, and the call for its other side fails.
        faults.push(Fault::new(EpollAdd, *error).after(1).every(2));
    }
    with_each(&stage, &faults, |_| {
        let mut client = stage.program.connect();
        client.send("hello");
        assert_eq!(client.rest_or_reset(), b"");
        // A connection that was begun and abandoned.
        let given_up = stage.origin.try_accept();
        given_up
            .into_iter()
            .for_each(|mut server| server.expect_nothing());
    });
}

/// A client that can't be registered with epoll is rejected, and the next one is served.
#[test]
fn a_client_that_cannot_be_registered_is_closed_and_the_listener_continues() {
    let stage = Stage::start(&[]);
    let faults: Vec<Fault> = [ENOMEM, ENOSPC]
        .iter()
        .map(|error| Fault::new(EpollAdd, *error).at_most(2))
        .collect();
    with_each(&stage, &faults, |_| {
        for _ in 0..2 {
            let mut client = stage.program.connect();
            client.send("hello");
            assert_eq!(client.rest_or_reset(), b"");
        }
    });
}

/// If anything fails while a reload opens its listeners, on any thread, the old listeners stay.
#[test]
fn a_reload_that_fails_anywhere_changes_nothing() {
    let calls: &[(Call, i32, u32)] = &[
        (EpollAdd, ENOSPC, 0),
        (EpollAdd, ENOMEM, 1),
        (Socket, EMFILE, 0),
        (Socket, ENOBUFS, 1),
        (Call::Listen, libc::EADDRINUSE, 0),
        (SetOption, ENOMEM, 0),
    ];
    for threads in &[1, 2] {
        let faults = Faults::none();
        let origin = TcpListener::bind("127.0.0.1:0").expect("a port");
        let destination = origin.local_addr().expect("an address");
        let (old, new) = (free_port(), free_port());
        let folder = TempDir::new();
        let path = folder.at("new");
        let text = |tunnels: &[String]| {
            let tunnels = tunnels.join("', '");
            format!(
                "no-proxy = '*'\nthreads = {}\ntunnels = ['{}']\n",
                threads, tunnels
            )
        };
        let before = format!("{}:{}", old, destination);
        let kinds = [
            format!("{}:{}", new, destination),
            format!("{}:{}", path, destination),
        ];
        let file = folder.file_with_mode("ptunnel.toml", 0o600, text(&[before]));
        let program = faults.of(Ptunnel::new().args(&["--config", &file]));
        let program = program.more_lines(1).start();
        let process = program.process();
        let sockets = listeners(program.address());
        process.settle();
        let descriptors = process.descriptors();
        for (call, error, skip) in calls {
            for kind in &kinds {
                let is_path = kind.starts_with('/');
                // One thread registers one socket; a Unix socket has one socket and no options.
                if *skip >= *threads
                    || is_path && (*skip > 0 && *call == Socket || *call == SetOption)
                {
                    continue;
                }
                println!(
                    "{:?} {} after {} for {}, {} threads",
                    call, error, skip, kind, threads
                );
                let fault = Fault::new(*call, *error).after(*skip).on_all().at_most(1);
                fs::write(&file, text(std::slice::from_ref(kind))).expect("the file");
                let told = program.stderr().matches("reload failed").count();
                faults.set(&[fault]);
                program.signal(sys::SIGHUP);
                eventually("it says why not", || {
                    program.stderr().matches("reload failed").count() > told
                });
                assert_eq!(faults.hits(1), [1]);
                faults.clear();
                let stderr = program.stderr();
                let mut lines = stderr.lines().rev();
                let line = lines.find(|line| line.contains("reload failed"));
                let line = line.expect("waited for");
                let name = if is_path {
                    path.clone()
                } else {
                    new.to_string()
                };
                let why = std::io::Error::from_raw_os_error(*error).to_string();
                assert!(line.contains(&name) && line.contains(&why), "{}", line);
                assert!(!is_listening(([127, 0, 0, 1], new).into()));
                assert!(fs::symlink_metadata(&path).is_err(), "its file");
                assert_eq!(listeners(program.address()), sockets);
                eventually("as few descriptors as before", || {
                    process.descriptors() <= descriptors
                });
                let mut client = program.connect();
                let (mut server, _) = origin
                    .accept()
                    .map(|(s, a)| (Connection::new(s, 0), a))
                    .unwrap();
                client.send("ping");
                server.expect("ping");
            }
        }
        // The failed reload works now.
        fs::write(&file, text(&kinds)).expect("the file");
        program.signal(sys::SIGHUP);
        eventually("the new one is open", || {
            is_listening(([127, 0, 0, 1], new).into())
        });
        eventually("the old one is closed", || !is_listening(program.address()));
    }
}

/// A possible error of each kind of call.
const EACH: &[(Call, i32)] = &[
    (Read, ENOMEM),
    (Write, ENOBUFS),
    (Accept, EMFILE),
    (Connect, ENOBUFS),
    (Pipe, ENFILE),
    (EpollAdd, ENOSPC),
    (EpollWait, EINTR),
    (Dup, EMFILE),
    (Socket, ENOMEM),
    (SetOption, ENOBUFS),
];

/// Sends this text and the client's end, and expects an end of any kind.
#[track_caller]
fn expect_end(mut client: Connection, text: &str) {
    let _ = client.try_send(text); // the connection may have been cut
    client.finish_sending();
    client.rest_or_reset();
}

/// The first call of a kind fails, then the second, and so on: the program serves, or ends with an
/// error.
#[test]
fn a_start_that_fails_anywhere_reports_the_reason() {
    let faults = Faults::none();
    let origin = Peer::start(|mut connection| connection.echo());
    let calls = EACH.iter().chain(&[(Call::Listen, libc::EADDRINUSE)]);
    for ((call, error), number) in calls.flat_map(|one| (0..scale(6, 20)).map(move |n| (one, n))) {
        println!("{:?} {} after {}", call, error, number);
        let fault = Fault::new(*call, *error).after(number).at_most(1);
        // A write to an eventfd never fails for lack of memory, and tokio panics if it does.
        faults.set(&[if *call == Write {
            fault
        } else {
            fault.on_all()
        }]);
        let folder = TempDir::new();
        let program = Ptunnel::new()
            .args(&["--no-proxy", "*", "--threads", "2", "--status", "0"])
            .arg(format!("{}:{}", folder.at("sock"), origin.address()))
            .to(origin.address());
        let mut program = faults.of(program).spawn();
        let mut out = program.stdout();
        let mut lines = String::new();
        while lines.lines().count() < 3 && out.read_line(&mut lines).expect("text") > 0 {}
        let of_tunnel = lines
            .lines()
            .find(|line| line.starts_with("listening on 127"));
        let address = of_tunnel.and_then(|line| line.split(' ').nth(2));
        let serves = address.map_or(false, |address| {
            // The fault may still be pending, and then affects this client.
            drop(answer(address));
            faults.clear();
            matches!(answer(address), Ok(answer) if answer == b"ping")
        });
        if serves {
            assert!(
                !program.stderr().contains("panicked"),
                "{}",
                program.stderr()
            );
        } else {
            let finished = program.finish();
            finished.expect_code(1);
            assert!(finished.stderr.contains("ptunnel: "), "{}", finished.stderr);
            assert!(!finished.stderr.contains("panicked"), "{}", finished.stderr);
        }
    }
}

/// Returns the reply of the echo behind this address.
fn answer(address: &str) -> io::Result<Vec<u8>> {
    let mut client = TcpStream::connect(address)?;
    client.set_read_timeout(Some(TIMEOUT))?;
    client.write_all(b"ping")?;
    client.shutdown(Shutdown::Write)?;
    let mut answer = Vec::new();
    client.read_to_end(&mut answer)?;
    Ok(answer)
}

/// The same for the calls that a client causes, on each listener: one client can be rejected or
/// cut, and the next one is served.
#[test]
fn a_failing_call_affects_one_client_at_most() {
    let faults = Faults::none();
    let origin = Peer::start(|mut connection| connection.echo());
    let target = origin.address().to_string();
    let proxy = faults.of(Ptunnel::new().serving()).start();
    let program = Ptunnel::through(proxy.proxy()).to(&target);
    let program = faults.of(program.args(&["-D", "0"]).more_lines(1)).start();
    let connect = format!("CONNECT {} HTTP/1.1\r\n\r\n", target);
    // The listener, and the bytes that are sent first.
    let ways = [(0, ""), (1, &connect[..])];
    let open = || {
        let open = |one: &Running| one.process().descriptors() - one.process().pipe_ends();
        (open(&proxy), open(&program))
    };
    let served = |way: &(usize, &str)| {
        let mut client = Connection::open(program.address_of(way.0));
        client.send(way.1);
        if !way.1.is_empty() {
            let head = String::from_utf8(client.read_head()).expect("text");
            assert!(head.starts_with("HTTP/1.1 200 "), "{:?}", head);
        }
        client.send("ping");
        client.expect("ping");
    };
    ways.iter().for_each(served);
    let settled = || {
        [&proxy, &program]
            .iter()
            .for_each(|one| one.process().settle())
    };
    settled();
    let before = open();
    for (call, error) in EACH {
        for number in 0..scale(8, 40) {
            for way in &ways {
                println!("{:?} {} after {} for {:?}", call, error, number, way);
                let fault = Fault::new(*call, *error).after(number).at_most(1);
                faults.set(&[fault]);
                let client = Connection::open(program.address_of(way.0));
                expect_end(client, &format!("{}hello", way.1));
                faults.clear();
                served(way);
            }
        }
    }
    eventually("as few descriptors as before", || {
        let (one, other) = open();
        one <= before.0 && other <= before.1
    });
}
