//! The program under test: `PTUNNEL_BIN` if set, otherwise that of this repository.

use std::env;
use std::ffi::OsString;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, Once};
use std::thread::{self, JoinHandle};

use super::peer::Connection;
use super::process::Process;
use super::repository::root;
use super::sys;
use super::wait::{eventually, eventually_some, TIMEOUT};

/// Returns the path of the binary under test. Without `PTUNNEL_BIN` it is built first, as released.
pub fn binary() -> PathBuf {
    static BUILD: Once = Once::new();
    if let Some(path) = env::var_os("PTUNNEL_BIN") {
        return PathBuf::from(path);
    }
    // A test is in target/PROFILE/deps.
    let test = env::current_exe().expect("the path of this test");
    let target = test.ancestors().nth(3).expect("a target folder");
    BUILD.call_once(|| {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(&["build", "--release", "--locked", "--package", "ptunnel"]);
        cargo.arg("--target-dir").arg(target);
        let built = cargo.current_dir(root()).status().expect("cargo starts");
        assert!(built.success(), "the program can't be built");
    });
    target.join("release/ptunnel")
}

/// Returns a command that inherits only the search path from the caller's environment.
pub fn clean_command(program: impl Into<OsString>) -> Command {
    let mut command = Command::new(program.into());
    command.env_clear();
    for name in &["PATH", "LLVM_PROFILE_FILE"] {
        if let Some(value) = env::var_os(name) {
            command.env(name, value);
        }
    }
    command.env("LC_ALL", "C").env("HOME", "/nonexistent");
    sys::die_with_parent(&mut command);
    command
}

/// More pipes than `pipe-user-pages-soft` allows by default: 16,384 pages, and a pipe has 16.
pub const PIPES: usize = 1_100;

/// User and group id of `nobody`.
pub const NOBODY: u32 = 65_534;

/// Opens the program before its folder becomes inaccessible.
const BECOME_NOBODY: &str = "
import os, resource, sys
program = os.open(sys.argv[1], os.O_RDONLY)
if os.geteuid() == 0:
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
";

const USE_UP_PIPE_MEMORY: &str = "
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
for _ in range(PIPES):
    reader, writer = os.pipe()
    os.set_inheritable(reader, True)
    os.close(writer)
";

const BECOME_THE_PROGRAM: &str = "
os.execve(program, sys.argv[1:], os.environ)
";

/// Installs a filter of system calls that allows all except splice(2) with this length, or with any
/// other one.
const REFUSE_SPLICE: &str = "
import ctypes, os, struct, sys
LOAD, SAME, RETURN, ALLOW, FAIL = 0x20, 0x15, 0x06, 0x7fff0000, 0x00050000
equal, other = (FAIL | ERRNO, ALLOW) if FILLING else (ALLOW, FAIL | ERRNO)
program = b''.join(struct.pack('HBBI', *step) for step in [
    (LOAD, 0, 0, 0), (SAME, 1, 0, SPLICE), (RETURN, 0, 0, ALLOW),
    (LOAD, 0, 0, 48), (SAME, 0, 1, LENGTH), (RETURN, 0, 0, equal), (RETURN, 0, 0, other)])
memory = ctypes.create_string_buffer(program)
filter = struct.pack('HxxxxxxP', len(program) // 8, ctypes.addressof(memory))
libc = ctypes.CDLL(None, use_errno=True)
for words in (38, 1, 0, 0, 0), (22, 2, ctypes.create_string_buffer(filter), 0, 0):
    if libc.prctl(*words):
        sys.exit(os.strerror(ctypes.get_errno()))
os.execv(sys.argv[1], sys.argv[1:])
";

/// Maximum number of bytes that the program moves from a socket into an empty pipe; it usually
/// moves fewer out of one.
const FILL: usize = 256 * 1024;

/// Which half of splicing is refused.
#[derive(Clone, Copy, Debug)]
pub enum Refused {
    FillingPipes,
    DrainingPipes,
}

/// A command line of the program, with an environment without proxies.
pub struct Ptunnel {
    before: Vec<OsString>,
    args: Vec<OsString>,
    env: Vec<(String, OsString)>,
    lines: usize,
}

impl Ptunnel {
    pub fn new() -> Ptunnel {
        Ptunnel {
            before: Vec::new(),
            args: Vec::new(),
            env: Vec::new(),
            lines: 0,
        }
    }

    /// Returns a command line with `-p PROXY`.
    pub fn through(proxy: impl Display) -> Ptunnel {
        Ptunnel::new().proxy(proxy)
    }

    pub fn proxy(self, proxy: impl Display) -> Ptunnel {
        self.arg("-p").arg(proxy.to_string())
    }

    /// Adds a tunnel on a free port of 127.0.0.1.
    pub fn to(self, destination: impl Display) -> Ptunnel {
        self.tunnel(&format!("0:{}", destination))
    }

    /// Adds a tunnel, in the form of the command line.
    pub fn tunnel(mut self, tunnel: &str) -> Ptunnel {
        self.lines += 1;
        self.arg(tunnel)
    }

    /// Adds `--serve-proxy` on a free port of 127.0.0.1.
    pub fn serving(self) -> Ptunnel {
        self.serving_on("127.0.0.1:0")
    }

    pub fn serving_on(mut self, address: &str) -> Ptunnel {
        self.lines += 1;
        self.arg("--serve-proxy").arg(address)
    }

    /// Adds `--status` on a free port of 127.0.0.1.
    pub fn watched(mut self) -> Ptunnel {
        self.lines += 1;
        self.args(&["--status", "0"])
    }

    pub fn arg(mut self, arg: impl Into<OsString>) -> Ptunnel {
        self.args.push(arg.into());
        self
    }

    pub fn args(self, args: &[&str]) -> Ptunnel {
        args.iter().fold(self, |all, arg| all.arg(*arg))
    }

    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Ptunnel {
        self.env.push((name.to_string(), value.into()));
        self
    }

    /// Makes `start` wait for `count` more lines: for tunnels that are given through `arg`.
    pub fn more_lines(mut self, count: usize) -> Ptunnel {
        self.lines += count;
        self
    }

    /// Runs a shell script that ends in `exec "$@"` in front of the program.
    pub fn after(mut self, script: &str) -> Ptunnel {
        self.before = vec![
            "sh".into(),
            "-ec".into(),
            format!("{}; exec \"$@\"", script).into(),
            "sh".into(),
        ];
        self
    }

    /// Runs the script like `after`, in a mount namespace that ends with the program.
    pub fn after_mounting(self, script: &str) -> Ptunnel {
        let mut changed = self.after(script);
        let mut before: Vec<OsString> = vec!["unshare".into(), "--mount".into()];
        if !sys::is_root() {
            before.push("--map-root-user".into());
        }
        before.append(&mut changed.before);
        changed.before = before;
        changed
    }

    /// Runs the program as a user whose limit of pipe memory is used up, by `PIPES` pipes that the
    /// program inherits. Root has no such limit, so the program runs as `nobody`.
    pub fn with_pipe_memory_used_up(self) -> Ptunnel {
        self.by_nobody_after(&USE_UP_PIPE_MEMORY.replace("PIPES", &PIPES.to_string()))
    }

    /// Runs the program as `nobody`; requires root.
    pub fn by_nobody(self) -> Ptunnel {
        self.by_nobody_after("")
    }

    fn by_nobody_after(mut self, script: &str) -> Ptunnel {
        let become_nobody = BECOME_NOBODY.replace("NOBODY", &NOBODY.to_string());
        let script = [&become_nobody[..], script, BECOME_THE_PROGRAM].concat();
        self.before = vec!["python3".into(), "-c".into(), script.into()];
        self
    }

    /// Runs the program with a splice(2) that fails with this error.
    pub fn refusing_splice(mut self, refused: Refused, errno: i32) -> Ptunnel {
        let filling = matches!(refused, Refused::FillingPipes);
        let script = REFUSE_SPLICE
            .replace("FILLING", &(filling as i32).to_string())
            .replace("ERRNO", &errno.to_string())
            .replace("LENGTH", &FILL.to_string())
            .replace("SPLICE", &libc::SYS_splice.to_string());
        self.before = vec!["python3".into(), "-c".into(), script.into()];
        self
    }

    /// Starts the program through another one, which gets the command line after its own arguments.
    pub fn started_by(mut self, words: &[&str]) -> Ptunnel {
        self.before = words.iter().map(OsString::from).collect();
        self
    }

    /// Runs the program in a separate session, without a terminal.
    pub fn in_a_session_of_its_own(mut self) -> Ptunnel {
        self.before = vec!["setsid".into(), "--wait".into()];
        self
    }

    /// Returns the command, for a test that connects its streams itself.
    pub fn command(&self) -> Command {
        let mut words = self.before.clone();
        words.push(binary().into());
        words.extend(self.args.iter().cloned());
        let mut command = clean_command(words.remove(0));
        command.args(words);
        for (name, value) in &self.env {
            command.env(name, value);
        }
        command
    }

    /// Returns the command line as text, for ssh's ProxyCommand.
    pub fn words(&self) -> String {
        let mut all = vec![binary().to_str().expect("UTF-8").to_string()];
        all.extend(self.args.iter().map(|a| a.to_str().unwrap().to_string()));
        all.join(" ")
    }

    /// Starts the program and waits for the line of each tunnel and of the embedded proxy.
    pub fn start(self) -> Running {
        let lines = self.lines;
        let mut running = self.spawn();
        running.read_lines(lines);
        running
    }

    /// Starts the program with pipes for its three streams, without waiting.
    pub fn spawn(self) -> Running {
        let mut command = self.command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Running::spawn(command)
    }

    /// Runs the program to its end, with an empty input.
    pub fn run(self) -> Finished {
        self.run_with(b"")
    }

    /// Runs the program to its end, with `input` as its whole input.
    pub fn run_with(self, input: &[u8]) -> Finished {
        let mut running = self.spawn();
        let mut stdin = running.stdin();
        let input = input.to_vec();
        // A program that ends early doesn't read its input, which is no error of this thread.
        let feeding = thread::spawn(move || drop(stdin.write_all(&input)));
        let finished = running.finish();
        feeding.join().expect("the input was fed");
        finished
    }
}

/// One line of output about an address that the program listens on.
#[derive(Clone, Debug)]
pub struct Listening {
    pub line: String,
    /// `None` for a Unix socket.
    address: Option<SocketAddr>,
}

impl Listening {
    /// Parses `listening on ADDRESS for …`, `serving proxy on ADDRESS` or `status on
    /// http://ADDRESS/`.
    fn parse(line: &str) -> Listening {
        let mut words = line.split(' ');
        let address = match words.next() {
            Some("listening") => words.nth(1),
            Some("serving") => words.nth(2),
            Some("status") => words.nth(1),
            _ => None,
        };
        let address = address.map(|word| word.trim_start_matches("http://").trim_end_matches('/'));
        let is_path = line.starts_with("listening on /");
        let address = address.and_then(|word| word.parse().ok());
        assert!(
            address.is_some() || is_path,
            "not a line about an address: {:?}",
            line
        );
        Listening {
            line: line.to_string(),
            address,
        }
    }

    #[track_caller]
    pub fn address(&self) -> SocketAddr {
        self.address.expect("no path")
    }

    pub fn is_proxy(&self) -> bool {
        self.line.starts_with("serving proxy on ")
    }

    pub fn is_status(&self) -> bool {
        self.line.starts_with("status on ")
    }
}

/// The result of a program that has ended.
#[derive(Debug)]
pub struct Finished {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Finished {
    /// Returns the exit code; panics if a signal ended the program.
    #[track_caller]
    pub fn code(&self) -> i32 {
        match self.status.code() {
            Some(code) => code,
            None => panic!("{}\n{}", self.status, self.stderr),
        }
    }

    /// Panics unless the program ended with this exit code.
    #[track_caller]
    pub fn expect_code(&self, code: i32) -> &Finished {
        assert_eq!(self.code(), code, "stderr: {}", self.stderr);
        self
    }

    /// Returns standard output, which must be text.
    pub fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).expect("text on stdout")
    }
}

/// The program's output. No read lasts longer than [`TIMEOUT`].
pub struct Output(ChildStdout);

impl Read for Output {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        sys::wait_readable(&self.0, TIMEOUT)?;
        self.0.read(buffer)
    }
}

/// A running program. Killed on drop.
pub struct Running {
    child: Child,
    listening: Vec<Listening>,
    stdout: Option<BufReader<Output>>,
    stderr: Arc<Mutex<Vec<u8>>>,
    collecting: Option<JoinHandle<()>>,
}

impl Running {
    /// Starts a command with stdin and stdout connected already.
    pub fn spawn(mut command: Command) -> Running {
        command.stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .unwrap_or_else(|e| panic!("{:?}: {}", command, e));
        let mut errors = child.stderr.take().expect("a pipe");
        let stderr = Arc::new(Mutex::new(Vec::new()));
        let collected = stderr.clone();
        let collecting = thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n) = errors.read(&mut buffer) {
                if n == 0 {
                    return;
                }
                collected.lock().unwrap().extend_from_slice(&buffer[..n]);
            }
        });
        let stdout = child.stdout.take();
        Running {
            child,
            listening: Vec::new(),
            stdout: stdout.map(|out| BufReader::new(Output(out))),
            stderr,
            collecting: Some(collecting),
        }
    }

    /// Reads `count` lines about addresses; panics if the program ends before.
    #[track_caller]
    pub fn read_lines(&mut self, count: usize) {
        let stdout = self.stdout.as_mut().expect("a pipe");
        for _ in 0..count {
            let mut line = String::new();
            stdout.read_line(&mut line).expect("text on stdout");
            if line.is_empty() {
                let status = self.child.wait().expect("the child's status");
                let collecting = self.collecting.take().map(JoinHandle::join);
                assert!(matches!(collecting, None | Some(Ok(()))));
                panic!("ended too soon, {}: {}", status, self.stderr());
            }
            self.listening.push(Listening::parse(line.trim_end()));
        }
    }

    /// Returns the lines about addresses that were read.
    pub fn listening(&self) -> &[Listening] {
        &self.listening
    }

    fn tunnels(&self) -> Vec<&Listening> {
        let lines = self.listening.iter();
        let tunnels = lines.filter(|line| !line.is_proxy() && !line.is_status());
        tunnels.collect()
    }

    /// Returns the address of the first tunnel.
    pub fn address(&self) -> SocketAddr {
        self.address_of(0)
    }

    /// Returns the address of a tunnel, counted from 0.
    pub fn address_of(&self, tunnel: usize) -> SocketAddr {
        self.tunnels()[tunnel].address()
    }

    /// Returns the address of the embedded proxy.
    pub fn proxy(&self) -> SocketAddr {
        let proxy = self.listening.iter().find(|line| line.is_proxy());
        proxy.expect("a line of the embedded proxy").address()
    }

    /// Returns the address of the status page.
    pub fn status(&self) -> SocketAddr {
        let status = self.listening.iter().find(|line| line.is_status());
        status.expect("a line of the status page").address()
    }

    /// Connects a client to the first tunnel.
    pub fn connect(&self) -> Connection {
        Connection::open(self.address())
    }

    /// Connects a client to a tunnel, counted from 0.
    pub fn connect_to(&self, tunnel: usize) -> Connection {
        Connection::open(self.address_of(tunnel))
    }

    pub fn process(&self) -> Process {
        Process(self.child.id())
    }

    /// Makes a program that was started by [`by_nobody`](Ptunnel::by_nobody) unable to start a thread.
    pub fn forbid_threads(&self) {
        let mut command = clean_command("prlimit");
        command.args(&["--nproc=0", "--pid", &self.child.id().to_string()]);
        if sys::is_root() {
            command.uid(NOBODY).gid(NOBODY); // only the same user can change the limit of a process
        }
        assert!(command.status().expect("prlimit").success());
    }

    /// Returns the text on stderr so far.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.stderr.lock().unwrap()).into_owned()
    }

    /// Waits until stderr has a line with all of `words`, and returns that line.
    #[track_caller]
    pub fn says(&self, words: &[&str]) -> String {
        eventually_some(&format!("a line on stderr with {:?}", words), || {
            let text = self.stderr();
            let line = text
                .lines()
                .find(|line| words.iter().all(|w| line.contains(w)));
            line.map(str::to_string)
        })
    }

    /// Takes the program's stdin, once.
    pub fn stdin(&mut self) -> ChildStdin {
        self.child.stdin.take().expect("a pipe to the program")
    }

    /// Returns a reference to the program's stdin.
    pub fn stdin_ref(&mut self) -> &mut ChildStdin {
        self.child.stdin.as_mut().expect("a pipe to the program")
    }

    /// Takes the program's stdout after the lines that were read, once.
    pub fn stdout(&mut self) -> BufReader<Output> {
        self.stdout.take().expect("a pipe from the program")
    }

    pub fn signal(&self, signal: i32) {
        sys::signal(self.child.id(), signal);
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("the child's status").is_some()
    }

    /// Waits for the program's end and returns its result; stdout is the part that wasn't read yet.
    #[track_caller]
    pub fn finish(mut self) -> Finished {
        drop(self.child.stdin.take());
        let reading = self.stdout.take().map(|mut out| {
            thread::spawn(move || {
                let mut all = Vec::new();
                out.read_to_end(&mut all).expect("the program's output");
                all
            })
        });
        eventually("the program ends", || self.has_ended());
        let stdout = reading.map(|reading| reading.join().unwrap());
        if let Some(collecting) = self.collecting.take() {
            collecting.join().unwrap();
        }
        Finished {
            status: self.child.wait().expect("the child's status"),
            stdout: stdout.unwrap_or_default(),
            stderr: self.stderr(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            eprintln!("the program said:\n{}", self.stderr());
        }
    }
}

/// Starts the program with a terminal for its stdin and its prompts; stdout stays a pipe.
pub fn start_on_terminal(program: Ptunnel) -> (Running, File) {
    let (person, side) = sys::open_terminal().expect("a pseudo-terminal");
    let mut command = program.command();
    sys::on_terminal(&mut command, &side);
    command.stdin(side.try_clone().expect("a descriptor"));
    command.stdout(Stdio::piped());
    (Running::spawn(command), person)
}
