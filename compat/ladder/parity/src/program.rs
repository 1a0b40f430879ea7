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

/// A running program with one tunnel.
pub struct Program {
    child: Child,
    entrance: SocketAddr,
    sockets: usize,
}

impl Program {
    pub(crate) fn start(path: &Path, proxy: SocketAddr, arguments: &[&str]) -> Program {
        let mut child = Command::new(path)
            .args(["-v", "-p", &proxy.to_string(), "127.0.0.1:0:example.org:22"])
            .args(arguments)
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
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
            sockets: 0,
        };
        program.sockets = program.settled_sockets(None);
        program
    }

    pub(crate) fn entrance(&self) -> SocketAddr {
        self.entrance
    }

    /// Sockets that it holds more than it did when it began.
    pub(crate) fn sockets(&self) -> isize {
        self.settled_sockets(Some(self.sockets)) as isize - self.sockets as isize
    }

    /// Their number, once it is `expected` or doesn't change any more.
    fn settled_sockets(&self, expected: Option<usize>) -> usize {
        let (mut count, mut since) = (self.count_sockets(), Instant::now());
        while since.elapsed() < Duration::from_millis(500) && Some(count) != expected {
            std::thread::sleep(Duration::from_millis(10));
            let now = self.count_sockets();
            if now != count {
                (count, since) = (now, Instant::now());
            }
        }
        count
    }

    fn count_sockets(&self) -> usize {
        let folder = format!("/proc/{}/fd", self.child.id());
        let descriptors = fs::read_dir(folder).expect("it runs").flatten();
        descriptors
            .filter_map(|descriptor| fs::read_link(descriptor.path()).ok())
            .filter(|what| what.to_string_lossy().starts_with("socket:"))
            .count()
    }

    /// SIGTERM; its exit code and what it has logged.
    pub(crate) fn stop(mut self) -> Vec<String> {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).expect("it runs");
        let status = self.child.wait().expect("it is ours");
        let mut log = String::new();
        self.child
            .stderr
            .take()
            .expect("it is piped")
            .read_to_string(&mut log)
            .expect("text");
        let mut told = vec![format!("exit code {:?}", status.code())];
        told.extend(log.lines().map(|line| format!("log: {}", anonymous(line))));
        told
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
