//! A PAC file in a process of its own, seen from outside: starts it, asks it, does for it what it
//! must not do itself, and kills it.

use std::env;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use log::debug;

use super::interpreter::Thrown;
use super::ipc::{self, MessageKind};
use super::{host_functions, sandboxed_process, shown, LONGEST};
use crate::os::semaphore::SlotPermit;
use crate::os::sys;

/// One such process. Dropping it kills it.
pub(super) struct Process {
    child: Child,
    stream: UnixStream,
    /// Time spent on answers.
    busy: Duration,
}

/// Why there is no answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It took too long.
    Late,
    /// Too many questions are under way.
    Busy,
    /// The file threw something.
    Thrown(Thrown),
    /// Its process did not start, or ended.
    Failed(String),
}

impl Process {
    /// One that has run nothing yet.
    pub(super) fn start() -> Result<Process, Fault> {
        let start = || -> io::Result<Process> {
            let (stream, theirs) = UnixStream::pair()?;
            let child = command()?
                .arg0(sandboxed_process::NAME)
                .env_clear()
                .envs(env::var_os("TZ").map(|zone| ("TZ", zone)))
                .stdin(sys::as_stdio(theirs))
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()?;
            Ok(Process {
                child,
                stream,
                busy: Duration::from_secs(0),
            })
        };
        let told = |e| format!("cannot start the process that runs it: {}", e);
        start().map_err(|e| Fault::Failed(told(e)))
    }

    #[cfg(test)]
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    #[cfg(test)]
    pub(super) fn end(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Whether it can be asked for another answer: it is alive, and has time left.
    pub(super) fn is_fit(&mut self) -> bool {
        let most = Duration::from_secs(sandboxed_process::TIME) - LONGEST * 2;
        self.busy < most && matches!(self.child.try_wait(), Ok(None))
    }

    /// Has it do something, and waits until then for the outcome. The permit is taken for as long as
    /// a name is looked up for it. After a failure to answer it must not be asked again.
    pub(super) fn ask(
        &mut self,
        name: &str,
        (kind, text): (MessageKind, &str),
        until: Instant,
        permit: &Arc<SlotPermit>,
    ) -> Result<String, Fault> {
        let begin = Instant::now();
        let outcome = self.converse(name, (kind, text), until, permit);
        self.busy += begin.elapsed();
        outcome.unwrap_or_else(|e| Err(self.failed(&e)))
    }

    /// The inner result is the file's.
    fn converse(
        &self,
        name: &str,
        (kind, text): (MessageKind, &str),
        until: Instant,
        permit: &Arc<SlotPermit>,
    ) -> io::Result<Result<String, Fault>> {
        let timed = || Timed {
            stream: &self.stream,
            until,
        };
        match ipc::write(timed(), kind, text) {
            // What it said before it ended is still to be read.
            Err(ref e) if e.kind() == ErrorKind::BrokenPipe => {}
            sent => sent?,
        }
        loop {
            let reply = match ipc::read(timed(), sandboxed_process::LONGEST_TEXT)? {
                (MessageKind::Answer, text) => return Ok(Ok(text)),
                (MessageKind::Thrown, text) => return Ok(Err(Fault::Thrown(Thrown::parse(&text)))),
                (MessageKind::Log, text) => {
                    debug!("{}: alert: {}", name, shown(&text));
                    continue;
                }
                (MessageKind::Own, _) => host_functions::own(),
                (MessageKind::Addresses, host) => addresses(host, until, permit.clone())?,
                _ => return Err(ErrorKind::InvalidData.into()),
            };
            ipc::write(timed(), MessageKind::Reply, &reply)?;
        }
    }

    /// Ends it, and tells what was wrong with it.
    fn failed(&mut self, error: &io::Error) -> Fault {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => return Fault::Late,
            ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {}
            _ => return Fault::Failed(format!("the process that runs it failed: {}", error)),
        }
        // One that has begun to end isn't changed by it.
        let _ = self.child.kill();
        match self.child.wait() {
            Ok(status) => Fault::Failed(format!("the process that ran it ended: {}", status)),
            Err(e) => Fault::Failed(format!("the process that ran it is lost: {}", e)),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command() -> io::Result<Command> {
    if cfg!(test) {
        // The unit tests' program has another `main`, and valgrind another /proc/self/exe.
        let mut command = Command::new(env::current_exe()?);
        command.args(&[
            "--exact",
            "--ignored",
            "upstream::pac::sandboxed_process::tests::entry",
        ]);
        return Ok(command);
    }
    if !sandboxed_process::is_enabled() {
        let what = "this program doesn't begin with ptunnel::upstream::pac::enable()";
        return Err(io::Error::new(ErrorKind::Other, what));
    }
    // On Linux that is what runs now, even where its file was replaced or deleted.
    if cfg!(target_os = "linux") {
        return Ok(Command::new("/proc/self/exe"));
    }
    env::current_exe().map(Command::new)
}

/// The addresses of a host, looked up on a thread of its own: that can't be cut short.
fn addresses(host: String, until: Instant, permit: Arc<SlotPermit>) -> io::Result<String> {
    let (answer, answers) = mpsc::channel();
    let look_up = move || {
        let found = host_functions::addresses(&host);
        drop(permit);
        // Nobody may wait any more.
        let _ = answer.send(found);
    };
    let thread = thread::Builder::new().name("pac".into()).spawn(look_up);
    // It isn't late yet for want of a thread.
    thread.map_err(|e| io::Error::new(ErrorKind::Other, e))?;
    let limit = until.saturating_duration_since(Instant::now());
    answers
        .recv_timeout(limit)
        .map_err(|_| ErrorKind::TimedOut.into())
}

/// A socket that fails when the time is over.
struct Timed<'a> {
    stream: &'a UnixStream,
    until: Instant,
}

impl Timed<'_> {
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left == Duration::from_secs(0) {
            return Err(ErrorKind::TimedOut.into());
        }
        Ok(Some(left))
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(buffer)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
