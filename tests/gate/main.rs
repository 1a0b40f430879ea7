//! Counts instructions and allocations of the program under callgrind, and compares them with the
//! file `counts` beside this one: `make gate`. A change that moves them on purpose also changes
//! that file: `make gate-update`.
//!
//! Counts, unlike times, are the same on a busy machine. The cost of a unit of work is the
//! difference between a run with twice as many units and one with half of them, so the program's
//! start and end don't count. Everything is in lockstep, one event at a time, and the next when the
//! program waits again, since coinciding events would change the counts. So would its timers: see
//! `open_for_long` and still.c.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{exit, Command};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

#[path = "../../benches/src/tools/callgrind.rs"]
#[allow(dead_code, unused_imports, clippy::incompatible_msrv)]
// the rigs look at functions, too, and run its tests
mod callgrind;
mod readers;

use support::parts::preloadable;
use support::process::unread;
use support::{Ptunnel, Running, TempDir, TIMEOUT};

const COUNTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/gate/counts");
const UPDATE: &str = "make gate-update";

/// Allocations of a unit that can have another cause: tables that grow, the log.
const STRAY: f64 = 0.25;

/// A pause between two messages with which traffic doesn't count as dense.
const CALM: Duration = Duration::from_millis(1);

/// Number of runs while the counts differ: only a permanent difference repeats.
const TRIES: usize = 3;

/// Work that the program repeats.
struct Work {
    name: &'static str,
    /// Tolerance for its instructions, compared with the file.
    percent: f64,
    units: u64,
    arguments: &'static [&'static str],
    /// Whether the clock is stopped: each tick of the program's clock allocates, and the number of
    /// ticks depends on how busy the machine is.
    still: bool,
    run: fn(&Program, u64),
}

const WORK: [Work; 4] = [
    Work {
        name: "small request",
        percent: 2.0,
        units: 1_000,
        arguments: &[],
        still: false,
        run: small_requests,
    },
    Work {
        name: "new tunnel",
        percent: 3.0,
        units: 300,
        arguments: &[],
        still: true,
        run: new_tunnels,
    },
    Work {
        name: "spliced MiB",
        percent: 3.0,
        units: 32,
        arguments: &["--splice", "always"],
        still: false,
        run: spliced,
    },
    Work {
        name: "piece of a head",
        percent: 3.0,
        units: 500,
        arguments: &["-D", "0"],
        still: false,
        run: head_in_pieces,
    },
];

/// The program under callgrind, with a client and a proxy in this process.
struct Program {
    running: Running,
    proxy: TcpListener,
}

impl Program {
    fn start(folder: &TempDir, out: &str, work: &Work) -> Program {
        let proxy = TcpListener::bind("127.0.0.1:0").expect("a port");
        let out = format!("--callgrind-out-file={}", out);
        let program = Ptunnel::through(proxy.local_addr().expect("its address"))
            .to("destination.example:7")
            .args(work.arguments)
            .more_lines(work.arguments.contains(&"-D") as usize)
            .started_by(&["valgrind", "--quiet", "--tool=callgrind", &out, "--"]);
        let program = if work.still {
            let library = preloadable(folder, include_str!("still.c"));
            program.env("LD_PRELOAD", library)
        } else {
            program
        };
        let running = program.start();
        Program { running, proxy }
    }

    /// Opens a new tunnel; returns the client's end and, behind the proxy, the destination's.
    fn open(&self) -> (TcpStream, TcpStream) {
        self.open_at(self.running.address(), b"")
    }

    /// As [`open`](Program::open), for a client that sends this first.
    fn open_at(&self, address: SocketAddr, request: &[u8]) -> (TcpStream, TcpStream) {
        let mut client = connect(address);
        client.write_all(request).expect("the program takes it");
        let (mut upstream, _) = self.proxy.accept().expect("the program's connection");
        patient(&upstream);
        read_head(&mut upstream);
        self.settle();
        self.feed(&mut upstream, b"HTTP/1.1 200 OK\r\n\r\n");
        (client, upstream)
    }

    /// Sends a message that the program reads, and maybe keeps.
    fn feed(&self, upstream: &mut TcpStream, message: &[u8]) {
        let (theirs, ours) = (upstream.peer_addr(), upstream.local_addr());
        let (theirs, ours) = (theirs.expect("an address"), ours.expect("an address"));
        upstream.write_all(message).expect("the program takes it");
        wait_until(|| unread(theirs, ours) == Some(0));
        self.settle();
    }

    /// Sends `message` from one end of a tunnel and receives it at the other.
    fn pass(&self, from: &mut TcpStream, to: &mut TcpStream, message: &[u8]) {
        from.write_all(message).expect("the tunnel takes it");
        let mut have = vec![0; message.len()];
        to.read_exact(&mut have).expect("the tunnel gives it");
        assert!(have == message, "the tunnel changed it");
        self.settle();
    }

    /// Sends an end from one end of a tunnel and receives it at the other.
    fn pass_end(&self, from: &TcpStream, to: &mut TcpStream) {
        from.shutdown(Shutdown::Write).expect("a FIN");
        assert_eq!(to.read(&mut [0]).expect("the tunnel's end"), 0);
        self.settle();
    }

    /// Opens a tunnel and waits until the program is idle: the timer for the opening ticks a few
    /// more times.
    fn open_for_long(&self) -> (TcpStream, TcpStream) {
        let tunnel = self.open();
        self.running.process().settle();
        tunnel
    }

    /// Waits until the program is idle; its reply has arrived already. Then pauses: in dense
    /// traffic (`src/io/reactor/turns.rs`) other instructions run, more or fewer by chance.
    fn settle(&self) {
        wait_until(|| self.running.process().is_waiting());
        thread::sleep(CALM);
    }

    fn end(self) {
        self.running.signal(libc::SIGTERM);
        self.running.finish().expect_code(0);
    }
}

/// Polls with short pauses, which leave the processor to the program.
fn wait_until(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < TIMEOUT, "the program doesn't go on");
        thread::sleep(Duration::from_micros(20));
    }
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the program's listener");
    patient(&stream);
    stream
}

fn patient(stream: &TcpStream) {
    stream.set_nodelay(true).expect("an option");
    stream.set_read_timeout(Some(TIMEOUT)).expect("an option");
}

/// Reads up to a blank line.
fn read_head(stream: &mut TcpStream) -> Vec<u8> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).expect("a head");
        head.push(byte[0]);
    }
    head
}

/// Sends 128 bytes and receives 128 bytes, on one connection.
fn small_requests(program: &Program, units: u64) {
    let message = [7; 128];
    let (mut client, mut server) = program.open_for_long();
    for _ in 0..units {
        program.pass(&mut client, &mut server, &message);
        program.pass(&mut server, &mut client, &message);
    }
}

/// A connection, CONNECT and its reply, 64 bytes in each direction, and the end, from the server.
fn new_tunnels(program: &Program, units: u64) {
    let message = [7; 64];
    for _ in 0..units {
        let (mut client, mut server) = program.open();
        program.pass(&mut client, &mut server, &message);
        program.pass(&mut server, &mut client, &message);
        program.pass_end(&server, &mut client);
        program.pass_end(&client, &mut server);
    }
}

/// Sends a MiB from the server to the client, in pieces that arrive whole: each is one segment.
fn spliced(program: &Program, units: u64) {
    let piece = vec![7; 1 << 15];
    let (mut client, mut server) = program.open_for_long();
    for _ in 0..32 * units {
        program.pass(&mut server, &mut client, &piece);
    }
}

/// The head of a server's reply to a forwarded request, in pieces of 60 bytes, of which the longer run
/// has 59 KiB. `readers` has more and smaller pieces.
fn head_in_pieces(program: &Program, units: u64) {
    let request = b"GET http://destination.example/ HTTP/1.1\r\n\r\n";
    let (mut client, mut server) = program.open_at(program.running.address_of(1), request);
    read_head(&mut server);
    program.running.process().settle();
    program.feed(&mut server, b"HTTP/1.1 200 OK\r\nA: b");
    let piece = format!("\n {}\r", "c".repeat(57));
    for _ in 0..units {
        program.feed(&mut server, piece.as_bytes());
    }
    program.feed(&mut server, b"\n\r\n");
    let head = read_head(&mut client);
    assert!(head.len() > 60 * units as usize, "{} bytes", head.len());
}

/// The cost of a unit of work.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cost {
    instructions: f64,
    allocations: f64,
}

/// Runs with this number of units, and with twice as many; the cheapest run of each counts.
struct Measured {
    work: &'static Work,
    once: Life,
    twice: Life,
}

impl Measured {
    fn new(work: &'static Work) -> Measured {
        let (once, twice) = lives(work);
        Measured { work, once, twice }
    }

    fn again(&mut self) {
        let (once, twice) = lives(self.work);
        self.once = self.once.cheaper(once);
        self.twice = self.twice.cheaper(twice);
    }

    fn cost(&self) -> Cost {
        let a_unit = |once, twice| (twice as f64 - once as f64) / self.work.units as f64;
        Cost {
            instructions: a_unit(self.once.instructions, self.twice.instructions),
            allocations: a_unit(self.once.allocations, self.twice.allocations),
        }
    }
}

/// The costs of the program from its start to its end.
#[derive(Clone, Copy)]
struct Life {
    instructions: u64,
    allocations: u64,
}

impl Life {
    fn cheaper(self, other: Life) -> Life {
        Life {
            instructions: self.instructions.min(other.instructions),
            allocations: self.allocations.min(other.allocations),
        }
    }
}

fn lives(work: &'static Work) -> (Life, Life) {
    let start = |units| {
        thread::spawn(move || {
            let folder = TempDir::new();
            let out = folder.at("out");
            let program = Program::start(&folder, &out, work);
            (work.run)(&program, units);
            program.end();
            let counted = counted(&out);
            Life {
                instructions: counted.costs.values().sum(),
                allocations: counted.allocations(),
            }
        })
    };
    let (once, twice) = (start(work.units), start(2 * work.units));
    let join = |life: JoinHandle<_>| life.join().expect("a life of the program");
    (join(once), join(twice))
}

/// Reads the file that callgrind wrote.
fn counted(out: &str) -> callgrind::Counted {
    let mut counted = callgrind::Counted::default();
    counted.add(callgrind::parse(&fs::read_to_string(out).expect(out)));
    counted
}

/// Returns the compiler's version, which affects the counts.
fn compiler() -> String {
    let rustc = Command::new("rustc").arg("--version").output();
    let version = rustc.expect("rustc").stdout;
    String::from_utf8_lossy(&version).trim().to_string()
}

/// Parses the lines of the file: a name, instructions, allocations.
fn read(text: &str) -> Vec<(String, Cost)> {
    text.lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| {
            let mut fields = line.split('|').map(str::trim);
            let mut field = || fields.next().expect(line);
            let name = field().to_string();
            let mut number = || field().parse().expect(line);
            let (instructions, allocations) = (number(), number());
            let cost = Cost {
                instructions,
                allocations,
            };
            (name, cost)
        })
        .collect()
}

fn written(costs: &[(&Work, Cost)]) -> String {
    let mut text = format!(
        "# Counts per unit of work, by {}: see main.rs. Written by `{}`.\n\
         # {}\n# {:<13} | {:>12} | {:>11}\n",
        "`make gate`",
        UPDATE,
        compiler(),
        "",
        "instructions",
        "allocations"
    );
    for (work, cost) in costs {
        text += &format!(
            "{:<15} | {:>12.0} | {:>11.0}\n",
            work.name,
            cost.instructions,
            cost.allocations.abs()
        );
    }
    text
}

/// Returns the difference between `now` and the file's `then`, if it is too large.
fn complaint(work: &Work, then: Option<Cost>, now: Cost) -> Option<String> {
    let then = match then {
        Some(then) => then,
        None => return Some("isn't in the file".to_string()),
    };
    let change = (now.instructions / then.instructions - 1.0) * 100.0;
    if (now.allocations - then.allocations).abs() > STRAY {
        let text = format!(
            "{:.2} allocations, not {}",
            now.allocations, then.allocations
        );
        return Some(text);
    }
    if change.abs() > work.percent {
        let text = format!(
            "{:+.1} % instructions, more than {} %",
            change, work.percent
        );
        return Some(text);
    }
    None
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().map_or(false, |word| word == readers::WORD) {
        return readers::run(&words[1..]);
    }
    let update = words.iter().any(|word| word == "--update");
    let mut all: Vec<Measured> = WORK.iter().map(Measured::new).collect();
    if update {
        all.iter_mut().for_each(Measured::again);
        let costs: Vec<_> = all.iter().map(|it| (it.work, it.cost())).collect();
        fs::write(COUNTS, written(&costs)).expect(COUNTS);
        print!("{}", written(&costs));
        return;
    }
    let text = fs::read_to_string(COUNTS).expect(COUNTS);
    let counts = read(&text);
    let mut failed = readers::check();
    for measured in &mut all {
        let work = measured.work;
        let then = counts.iter().find(|(name, _)| name == work.name);
        let wrong = |now| complaint(work, then.map(|&(_, then)| then), now);
        for _ in 1..TRIES {
            if wrong(measured.cost()).is_some() {
                measured.again();
            }
        }
        let now = measured.cost();
        let complaint = wrong(now);
        failed |= complaint.is_some();
        println!(
            "{:<15} | {:>9.1} instructions | {:>6.2} allocations | {}",
            work.name,
            now.instructions,
            now.allocations,
            complaint.as_deref().unwrap_or("as expected")
        );
    }
    if failed {
        if !text.contains(&compiler()) {
            println!(
                "The file was written with another compiler than {}.",
                compiler()
            );
        }
        println!("If this is intended, update {}: {}", COUNTS, UPDATE);
        exit(1);
    }
}
