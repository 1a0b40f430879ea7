//! The program under comparison, from its first line to its exit code.

use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{kill_process, Pid, Signal};

use crate::TIMEOUT;

/// The names of the programs: the product, and each rung.
pub const PROGRAMS: [&str; 7] = ["ptunnel", "r0", "r1", "r2", "r3", "r4", "r5"];

/// Returns the path of a program: `PTUNNEL` or `PTUNNEL_R0` and so on, or a binary beside the test's
/// own.
///
/// # Errors
///
/// What to do when it isn't there.
pub fn binary(program: &str) -> Result<PathBuf, String> {
    let (variable, name) = match program {
        "ptunnel" => ("PTUNNEL".to_owned(), program.to_owned()),
        rung => (
            format!("PTUNNEL_{}", rung.to_uppercase()),
            format!("ptunnel-{rung}"),
        ),
    };
    if let Some(path) = env::var_os(&variable) {
        return Ok(path.into());
    }
    let test = env::current_exe().map_err(|e| e.to_string())?;
    let beside = test
        .parent()
        .and_then(Path::parent)
        .expect("target/PROFILE/deps")
        .join(&name);
    if beside.exists() {
        return Ok(beside);
    }
    Err(format!(
        "no {}: build {name}, or name it with {variable}",
        beside.display()
    ))
}

/// What the program at `path` says that ends by itself.
pub fn run(path: &Path, arguments: &[&str]) -> Vec<String> {
    let mut process = Process::spawn(path, arguments);
    let mut told = process.ended();
    let stdout = process.child.stdout.take().expect("it is piped");
    let text = io::read_to_string(stdout).expect("text");
    told.extend(text.lines().map(|line| format!("stdout: {line}")));
    told
}

/// A child that doesn't outlive its play, however that ends.
struct Process {
    child: Child,
}

impl Process {
    fn spawn(path: &Path, arguments: &[&str]) -> Process {
        let child = Command::new(path)
            .args(arguments)
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Process { child }
    }

    /// Its first line on stdout.
    fn first_line(&mut self) -> String {
        let stdout = self.child.stdout.take().expect("it is piped");
        let (sender, line) = mpsc::channel();
        // A read from a pipe has no timeout; the thread ends with the child.
        thread::spawn(move || sender.send(read_line(stdout)));
        line.recv_timeout(TIMEOUT)
            .expect("it says where it listens")
    }

    /// The exit code of a program that ends, and what it has logged.
    fn ended(&mut self) -> Vec<String> {
        let start = Instant::now();
        // What it says meanwhile is less than a pipe holds.
        let status = loop {
            match self.child.try_wait().expect("it is ours") {
                Some(status) => break status,
                None => assert!(start.elapsed() < TIMEOUT, "the program does not end"),
            }
            thread::sleep(Duration::from_millis(1));
        };
        let stderr = self.child.stderr.take().expect("it is piped");
        let log = io::read_to_string(stderr).expect("text");
        let mut told = vec![format!("exit code {:?}", status.code())];
        told.extend(log.lines().map(|line| format!("log: {}", anonymous(line))));
        told
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Fails when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_line(stdout: ChildStdout) -> String {
    let mut line = String::new();
    let mut stdout = BufReader::new(stdout);
    stdout.read_line(&mut line).expect("its stdout is text");
    line
}

/// Pipes that one tunnel may leave to the next: one a direction, of two descriptors.
const KEPT: isize = 4;

/// How many descriptors of each kind.
#[derive(Clone, Copy, Default, PartialEq)]
struct Held {
    sockets: isize,
    pipes: isize,
}

/// A running program with one tunnel.
pub struct Program {
    process: Process,
    address: SocketAddr,
    held: Held,
}

impl Program {
    pub(crate) fn start(path: &Path, proxy: SocketAddr, arguments: &[&str]) -> Program {
        let proxy = proxy.to_string();
        let tunnel = ["-v", "-p", &proxy, "127.0.0.1:0:example.org:22"];
        let mut process = Process::spawn(path, &[&tunnel, arguments].concat());
        let line = process.first_line();
        let address = line
            .split(' ')
            .nth(2)
            .and_then(|address| address.parse().ok());
        let address = address.unwrap_or_else(|| panic!("its first line is {line:?}"));
        let mut program = Program {
            process,
            address,
            held: Held::default(),
        };
        program.held = program.settled(None);
        program
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it holds more than it did when it began. Whether a pipe was worth to be kept depends on
    /// how the bytes came, so only more than those of one tunnel count.
    pub(crate) fn held(&self) -> String {
        let now = self.settled(Some(self.held));
        let sockets = now.sockets - self.held.sockets;
        match now.pipes - self.held.pipes {
            ..=KEPT => format!("{sockets} sockets more than before, and no pipe too many"),
            pipes => format!("{sockets} sockets and {pipes} ends of pipes more than before"),
        }
    }

    /// Their number, once it is `expected` or doesn't change any more.
    fn settled(&self, expected: Option<Held>) -> Held {
        let (mut count, mut since) = (self.count(), Instant::now());
        while since.elapsed() < Duration::from_millis(500) && Some(count) != expected {
            std::thread::sleep(Duration::from_millis(10));
            let now = self.count();
            if now != count {
                (count, since) = (now, Instant::now());
            }
        }
        count
    }

    fn count(&self) -> Held {
        let folder = format!("/proc/{}/fd", self.process.child.id());
        let descriptors = fs::read_dir(folder).expect("it runs").flatten();
        let mut held = Held::default();
        for what in descriptors.filter_map(|descriptor| fs::read_link(descriptor.path()).ok()) {
            let what = what.to_string_lossy();
            held.sockets += isize::from(what.starts_with("socket:"));
            held.pipes += isize::from(what.starts_with("pipe:"));
        }
        held
    }

    /// SIGTERM; its exit code and what it has logged.
    pub(crate) fn stop(mut self) -> Vec<String> {
        let pid = Pid::from_child(&self.process.child);
        kill_process(pid, Signal::TERM).expect("it runs");
        self.process.ended()
    }
}

/// A line of the log without what differs from run to run: ports and times.
fn anonymous(line: &str) -> String {
    let words = line.split(' ').map(|word| {
        let bare = word.trim_end_matches([',', ':', ';']);
        let is_time = ["ms", "s"].iter().any(|unit| {
            let number = bare.strip_suffix(unit);
            number.is_some_and(|number| number.parse::<f64>().is_ok())
        });
        match bare {
            _ if bare.starts_with("127.0.0.1:") => word.replace(bare, "ADDRESS"),
            _ if is_time => word.replace(bare, "TIME"),
            _ => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}
