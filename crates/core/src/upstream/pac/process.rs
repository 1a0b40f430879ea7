//! The parent's side of the process that runs a PAC file: starts it, calls FindProxyForURL in it,
//! serves its requests, and kills it.

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
use crate::os::sys;
use crate::semaphore::SlotPermit;

/// A process that runs a PAC file. Dropping it kills the process.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    stream: UnixStream,
    /// Total time of its calls.
    busy: Duration,
}

/// The reason for a call without an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CallFault {
    /// The limit is over.
    Late,
    /// As many calls as may be are under way.
    Busy(usize),
    /// The file threw an error.
    Thrown(Thrown),
    /// The process did not start, or it ended.
    Failed(String),
}

impl Process {
    /// Starts a process, which has no file yet.
    pub(super) fn start() -> Result<Process, CallFault> {
        let start = || -> io::Result<Process> {
            let (stream, stdin) = UnixStream::pair()?;
            let child = command()?
                .arg0(sandboxed_process::NAME)
                .env_clear()
                .envs(env::var_os("TZ").map(|zone| ("TZ", zone)))
                .stdin(sys::as_stdio(stdin))
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()?;
            Ok(Process {
                child,
                stream,
                busy: Duration::from_secs(0),
            })
        };
        start().map_err(|e| {
            let hint = match e.raw_os_error() {
                // By the filter that `cli::run` installs.
                Some(libc::EPERM) => {
                    "; ptunnel was started without a PAC file, and can't start programs since: restart it"
                }
                _ => "",
            };
            CallFault::Failed(format!("cannot start the PAC process: {}{}", e, hint))
        })
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

    /// Returns whether the process can serve another call: it is alive, and has processor time left.
    pub(super) fn is_fit(&mut self) -> bool {
        let most = Duration::from_secs(sandboxed_process::TIME) - LONGEST * 2;
        self.busy < most && matches!(self.child.try_wait(), Ok(None))
    }

    /// Sends a request to the process, and waits for the outcome until `until`. A name lookup for
    /// it holds the permit, even after that time. After any fault except `Thrown` the process must
    /// not be used again.
    pub(super) fn request(
        &mut self,
        name: &str,
        (kind, text): (MessageKind, &str),
        until: Instant,
        permit: &Arc<SlotPermit>,
    ) -> Result<String, CallFault> {
        let begin = Instant::now();
        let outcome = self.exchange(name, (kind, text), until, permit);
        self.busy += begin.elapsed();
        outcome.unwrap_or_else(|e| Err(self.failed(&e)))
    }

    /// Sends a request, and serves those of the process until its answer. The inner result is the
    /// file's.
    fn exchange(
        &self,
        name: &str,
        (kind, text): (MessageKind, &str),
        until: Instant,
        permit: &Arc<SlotPermit>,
    ) -> io::Result<Result<String, CallFault>> {
        let timed = || Timed {
            stream: &self.stream,
            until,
        };
        match ipc::write(timed(), kind, text) {
            // A message that it sent before it ended can still be read.
            Err(ref e) if e.kind() == ErrorKind::BrokenPipe => {}
            sent => sent?,
        }
        loop {
            let reply = match ipc::read(timed(), sandboxed_process::MAX_TEXT)? {
                (MessageKind::Answer, text) => return Ok(Ok(text)),
                (MessageKind::Thrown, text) => {
                    return Ok(Err(CallFault::Thrown(Thrown::parse(&text))))
                }
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

    /// Kills the process, and returns the fault for `error`.
    fn failed(&mut self, error: &io::Error) -> CallFault {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => return CallFault::Late,
            ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {}
            _ => return CallFault::Failed(format!("the PAC process failed: {}", error)),
        }
        // This doesn't change the exit status of a process that has begun to end.
        let _ = self.child.kill();
        match self.child.wait() {
            Ok(status) => CallFault::Failed(format!("the PAC process ended: {}", status)),
            Err(e) => CallFault::Failed(format!(
                "the PAC process ended, and its status is unknown: {}",
                e
            )),
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
        // The unit tests have another `main`, and valgrind another /proc/self/exe.
        let mut command = Command::new(env::current_exe()?);
        command.args(&[
            "--exact",
            "--ignored",
            "upstream::pac::sandboxed_process::tests::entry",
        ]);
        return Ok(command);
    }
    if !sandboxed_process::is_enabled() {
        let what = "the program didn't call ptunnel::upstream::pac::enable() first";
        return Err(io::Error::new(ErrorKind::Other, what));
    }
    // On Linux this is the running program, even if its file was replaced or deleted.
    if cfg!(target_os = "linux") {
        return Ok(Command::new("/proc/self/exe"));
    }
    env::current_exe().map(Command::new)
}

/// Looks a host up on a new thread, because a lookup can't be interrupted.
///
/// # Errors
///
/// `TimedOut` at `until`; `Other` without a thread.
fn addresses(host: String, until: Instant, permit: Arc<SlotPermit>) -> io::Result<String> {
    let (answer, answers) = mpsc::channel();
    let look_up = move || {
        let found = host_functions::addresses(&host);
        drop(permit);
        // The receiver was dropped if the time is over.
        let _ = answer.send(found);
    };
    let thread = thread::Builder::new().name("pac".into()).spawn(look_up);
    // Not `WouldBlock`, which would be reported as a timeout.
    thread.map_err(|e| io::Error::new(ErrorKind::Other, e))?;
    let limit = until.saturating_duration_since(Instant::now());
    answers
        .recv_timeout(limit)
        .map_err(|_| ErrorKind::TimedOut.into())
}

/// A socket that fails reads and writes with `TimedOut` or `WouldBlock` from `until` on.
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
