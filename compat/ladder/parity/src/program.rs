//! The program under comparison, from its first line to its exit code.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{kill_process, Pid, Signal};

/// Where rung `number` is: `PTUNNEL_R0` and so on, or a binary beside the test's own.
///
/// # Errors
///
/// What to do when it isn't there.
pub fn binary(number: u8) -> Result<PathBuf, String> {
    let variable = format!("PTUNNEL_R{number}");
    if let Some(path) = env::var_os(&variable) {
        return Ok(path.into());
    }
    let name = if number == 0 {
        "ptunnel".to_owned()
    } else {
        format!("ptunnel-r{number}")
    };
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
    let mut child = spawn(path, arguments);
    let mut stdout = child.stdout.take().expect("it is piped");
    let mut text = String::new();
    stdout.read_to_string(&mut text).expect("text");
    let mut told = ended(&mut child);
    told.extend(text.lines().map(|line| format!("stdout: {line}")));
    told
}

fn spawn(path: &Path, arguments: &[&str]) -> Child {
    Command::new(path)
        .args(arguments)
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The exit code of a program that ends, and what it has logged.
fn ended(child: &mut Child) -> Vec<String> {
    let mut log = String::new();
    let mut stderr = child.stderr.take().expect("it is piped");
    stderr.read_to_string(&mut log).expect("text");
    let status = child.wait().expect("it is ours");
    let mut told = vec![format!("exit code {:?}", status.code())];
    told.extend(log.lines().map(|line| format!("log: {}", anonymous(line))));
    told
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
    child: Child,
    entrance: SocketAddr,
    held: Held,
}

impl Program {
    pub(crate) fn start(path: &Path, proxy: SocketAddr, arguments: &[&str]) -> Program {
        let proxy = proxy.to_string();
        let tunnel = ["-v", "-p", &proxy, "127.0.0.1:0:example.org:22"];
        let mut child = spawn(path, &[&tunnel, arguments].concat());
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it is piped");
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("its stdout is text");
        let entrance = line
            .split(' ')
            .nth(2)
            .and_then(|address| address.parse().ok());
        let entrance = entrance.unwrap_or_else(|| panic!("its first line is {line:?}"));
        let mut program = Program {
            child,
            entrance,
            held: Held::default(),
        };
        program.held = program.settled(None);
        program
    }

    pub(crate) fn entrance(&self) -> SocketAddr {
        self.entrance
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
        let folder = format!("/proc/{}/fd", self.child.id());
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
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).expect("it runs");
        ended(&mut self.child)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Fails when it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A line of the log without what differs from run to run: ports and times.
fn anonymous(line: &str) -> String {
    let words = line.split(' ').map(|word| {
        let bare = word.trim_end_matches([',', ':', ';']);
        let is_time = bare
            .strip_suffix('s')
            .is_some_and(|n| n.parse::<f64>().is_ok());
        match bare {
            _ if bare.starts_with("127.0.0.1:") => word.replace(bare, "ADDRESS"),
            _ if is_time => word.replace(bare, "TIME"),
            _ => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}
