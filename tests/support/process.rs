//! What the kernel reports about a running program, and about the sockets on this machine.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use super::sys;
use super::wait::eventually;

/// A process, by its id.
#[derive(Clone, Copy, Debug)]
pub struct Process(pub u32);

impl Process {
    fn read(self, name: &str) -> String {
        let path = format!("/proc/{}/{}", self.0, name);
        fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {}", path, e))
    }

    /// Returns the child processes that haven't ended.
    pub fn children(self) -> Vec<Process> {
        let all = fs::read_dir("/proc").expect("/proc");
        let ids = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let is_child = |process: &Process| {
            // A process can end meanwhile.
            let stat = fs::read_to_string(format!("/proc/{}/stat", process.0)).unwrap_or_default();
            let rest = stat.rfind(')').map_or("", |end| &stat[end..]);
            let mut words = rest.split(' ').skip(1);
            let is_alive = words.next().map_or(false, |state| state != "Z");
            is_alive && words.next() == Some(&self.0.to_string())
        };
        ids.map(Process).filter(is_child).collect()
    }

    /// Returns the value of a line in its status.
    pub fn status(self, name: &str) -> String {
        let status = self.read("status");
        let mut lines = status.lines().map(|line| line.splitn(2, ':'));
        let mut value =
            lines.find_map(|mut line| line.next().filter(|it| *it == name).and(line.next()));
        value.take().expect("the status").trim().into()
    }

    /// Returns one of its limits, by the name in `/proc`.
    pub fn limit(self, name: &str) -> String {
        let limits = self.read("limits");
        let line = limits.lines().find_map(|line| line.strip_prefix(name));
        let mut words = line.expect("the limit").split_whitespace();
        words.next().expect("a value").into()
    }

    /// Returns the environment that it was started with.
    pub fn environment(self) -> String {
        self.read("environ")
    }

    /// Returns the path of its program.
    pub fn program(self) -> PathBuf {
        fs::read_link(format!("/proc/{}/exe", self.0)).expect("the process lives")
    }

    /// Returns whether its memory contains these bytes.
    pub fn remembers(self, bytes: &[u8]) -> bool {
        let memory = File::open(format!("/proc/{}/mem", self.0)).expect("its memory");
        let maps = self.read("maps");
        maps.lines().any(|line| {
            let mut ends = line.split(|c: char| !c.is_ascii_hexdigit());
            let mut end = || u64::from_str_radix(ends.next().unwrap(), 16).unwrap();
            let (begin, end) = (end(), end());
            if end - begin > 1 << 30 {
                return false;
            }
            let mut part = vec![0; (end - begin) as usize];
            // The kernel's own pages can't be read.
            memory.read_exact_at(&mut part, begin).is_ok()
                && part.windows(bytes.len()).any(|window| window == bytes)
        })
    }

    /// Returns the number of open descriptors.
    pub fn descriptors(self) -> usize {
        let path = format!("/proc/{}/fd", self.0);
        fs::read_dir(&path).expect("the process lives").count()
    }

    /// Returns the number of descriptors that are ends of pipes.
    pub fn pipe_ends(self) -> usize {
        self.descriptors_of("pipe:")
    }

    /// Returns the number of descriptors of this socket.
    pub fn copies_of(self, socket: u64) -> usize {
        self.descriptors_of(&format!("socket:[{}]", socket))
    }

    /// Returns the number of descriptors with a link that begins with this text.
    fn descriptors_of(self, begin: &str) -> usize {
        let path = format!("/proc/{}/fd", self.0);
        let open = fs::read_dir(&path).expect("the process lives");
        let targets = open.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
        let is_one = |target: &PathBuf| target.to_string_lossy().starts_with(begin);
        targets.filter(is_one).count()
    }

    /// Returns the number of descriptors below `limit`: the caller may have left one open with a
    /// much higher number.
    pub fn descriptors_below(self, limit: usize) -> usize {
        let path = format!("/proc/{}/fd", self.0);
        let names = fs::read_dir(&path).expect("the process lives");
        let numbers = names.filter_map(|name| name.ok()?.file_name().to_str()?.parse().ok());
        numbers.filter(|number: &usize| *number < limit).count()
    }

    /// Returns its threads, each as a process.
    pub fn thread_ids(self) -> Vec<Process> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.0)).expect("the process lives");
        let ids = tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse().ok());
        ids.map(Process).collect()
    }

    /// Returns the number of threads, without those of the log and of the limits, which start later, and
    /// one that probes a proxy until it is up.
    pub fn threads(self) -> usize {
        let path = format!("/proc/{}/task", self.0);
        let tasks = fs::read_dir(&path).expect("the process lives");
        let paths = tasks.map(|task| task.expect("a thread").path().join("comm"));
        // A thread that has ended since is counted: it may have been any.
        let names = paths.map(|path| fs::read_to_string(path).unwrap_or_default());
        let names: Vec<_> = names
            .filter(|name| name != "log\n" && name != "limits\n")
            .collect();
        names.len() - names.iter().any(|name| name == "probe\n") as usize
    }

    /// Returns the processor time used so far, in user mode and in the kernel.
    pub fn cpu(self) -> Duration {
        let stat = self.read("stat");
        // The name in parentheses can contain spaces; utime and stime are fields 14 and 15.
        let rest = &stat[stat.rfind(')').expect("a name") + 2..];
        let fields: Vec<&str> = rest.split(' ').collect();
        let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        Duration::from_millis(ticks * 1000 / sys::clock_ticks())
    }

    /// Returns the same with nanoseconds, for the threads that still exist.
    pub fn run_time(self) -> Duration {
        let path = format!("/proc/{}/task", self.0);
        let threads = fs::read_dir(&path).expect("the process lives");
        let nanoseconds = threads.filter_map(|thread| {
            let schedstat = thread.ok()?.path().join("schedstat");
            let text = fs::read_to_string(schedstat).ok()?;
            text.split(' ').next()?.parse::<u64>().ok()
        });
        Duration::from_nanos(nanoseconds.sum())
    }

    /// Returns whether its first thread is waiting.
    pub fn is_waiting(self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0)).unwrap_or_default();
        stat.rsplit(") ")
            .next()
            .map_or(false, |rest| rest.starts_with('S'))
    }

    /// Waits until the process is idle.
    pub fn settle(self) {
        eventually("at rest", || {
            let before = self.run_time();
            thread::sleep(Duration::from_millis(300));
            self.run_time() == before
        });
    }

    /// Returns the resident memory, in bytes.
    pub fn resident(self) -> u64 {
        let status = self.read("status");
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS:"))
            .expect("VmRSS");
        let kib = line.split_whitespace().nth(1).expect("a number");
        kib.parse::<u64>().unwrap() * 1024
    }

    /// Returns the soft and the hard limit on descriptors.
    pub fn descriptor_limits(self) -> (String, String) {
        let limits = self.read("limits");
        let line = limits
            .lines()
            .find(|line| line.starts_with("Max open files"))
            .expect("a limit");
        let mut words = line["Max open files".len()..].split_whitespace();
        (
            words.next().unwrap().to_string(),
            words.next().unwrap().to_string(),
        )
    }
}

/// Fields of a socket in the kernel's table, after its state.
const QUEUES: usize = 0;
const TIMER: usize = 1;

/// Returns the fields, after the state, of the socket `at` with the other end `from`.
fn entry(at: SocketAddr, from: SocketAddr) -> Option<std::vec::IntoIter<String>> {
    let table = table_for(at);
    let (at, from) = (in_hex(at), in_hex(from));
    table.lines().find_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        if fields.next()? != at || fields.next()? != from {
            return None;
        }
        let rest: Vec<String> = fields.skip(1).map(str::to_string).collect();
        Some(rest.into_iter())
    })
}

/// Returns the number of bytes that have arrived at the socket `at` with the other end `from`, and
/// that its owner hasn't read; `None` if there is no such socket.
pub fn unread(at: SocketAddr, from: SocketAddr) -> Option<u64> {
    let queues = entry(at, from)?.nth(QUEUES)?;
    u64::from_str_radix(&queues[queues.find(':')? + 1..], 16).ok()
}

/// Returns the time until the kernel's next keepalive probe on the socket `at` with the other end
/// `from`, if nothing arrives before; `None` without keepalive, or while the socket waits for an
/// acknowledgement.
pub fn keepalive(at: SocketAddr, from: SocketAddr) -> Option<Duration> {
    /// The socket's timer for keepalive; an established connection uses it for nothing else.
    const KEEPALIVE: &str = "02:";
    let timer = entry(at, from)?.nth(TIMER)?;
    if !timer.starts_with(KEEPALIVE) {
        return None;
    }
    let ticks = u64::from_str_radix(&timer[KEEPALIVE.len()..], 16).ok()?;
    Some(Duration::from_millis(ticks * 1000 / sys::clock_ticks()))
}

fn table_for(address: SocketAddr) -> String {
    let family = if address.is_ipv4() { "tcp" } else { "tcp6" };
    fs::read_to_string(format!("/proc/net/{}", family)).expect("the table of sockets")
}

/// Returns whether a socket listens at exactly this address, without a connection to it.
pub fn is_listening(at: SocketAddr) -> bool {
    !listeners(at).is_empty()
}

/// Returns the kernel's numbers of the sockets that listen at exactly this address: a socket that
/// is opened again has another number.
pub fn listeners(at: SocketAddr) -> Vec<u64> {
    let table = table_for(at);
    let at = in_hex(at);
    let number = |line: &str| {
        let mut fields = line.split_whitespace().skip(1);
        // 0A is TCP_LISTEN.
        if fields.next()? != at || fields.nth(1)? != "0A" {
            return None;
        }
        fields.nth(5)?.parse().ok()
    };
    let mut numbers: Vec<u64> = table.lines().filter_map(number).collect();
    numbers.sort_unstable();
    numbers
}

/// Returns the number of the socket that listens at this file; accepted sockets have its name, too.
pub fn listener_at(path: &str) -> u64 {
    /// Its flags: __SO_ACCEPTCON.
    const LISTENING: &str = "00010000";
    let table = fs::read_to_string("/proc/net/unix").expect("the table of sockets");
    let mut lines = table.lines().map(str::split_whitespace);
    let number = lines.find_map(|fields| match fields.collect::<Vec<&str>>()[..] {
        [_, _, _, LISTENING, _, _, number, name] if name == path => number.parse().ok(),
        _ => None,
    });
    number.unwrap_or_else(|| panic!("no socket has {}", path))
}

/// Returns an address as /proc/net/tcp writes it: words in the host's byte order.
fn in_hex(address: SocketAddr) -> String {
    let words: Vec<[u8; 4]> = match address {
        SocketAddr::V4(v4) => vec![v4.ip().octets()],
        SocketAddr::V6(v6) => {
            let all = v6.ip().octets();
            all.chunks(4).map(|c| [c[0], c[1], c[2], c[3]]).collect()
        }
    };
    let mut text = String::new();
    for word in words {
        text.push_str(&format!("{:08X}", u32::from_ne_bytes(word)));
    }
    format!("{}:{:04X}", text, address.port())
}
