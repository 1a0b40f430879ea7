//! Standard input and output as a stream that any engine can carry.
//!
//! Descriptors 0 and 1 may be files, pipes or a terminal that others use too: they can't be
//! registered with epoll, or must not be made non-blocking. So two threads copy between them
//! and one end of a socket pair, and the engine sees the other end as a client like any other.
//! What the socket pair can't tell it, that a copy broke off, the [`Pump`] does.

use std::error;
use std::fmt;
use std::fs;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::io::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::os::sys;

/// What one read of stdin or of the tunnel asks for.
const CHUNK: usize = 64 * 1024;

/// Starts both copies.
///
/// `close_stdout` makes the reader of our stdout see its end. Where stdin and stdout are one socket
/// (inetd's clients), it is told `true`: that end has to be sent, since stdin keeps the socket open.
///
/// `on_failure` is called when stdin can't be read or stdout can't be written to any more. The engine
/// must not take that for an end: it is to drop the tunnel, which resets the upstream.
///
/// # Errors
///
/// When there is no thread or descriptor for it.
pub fn pump(
    mut tunnel: UnixStream,
    close_stdout: impl FnOnce(bool) + Send + 'static,
    on_failure: impl FnOnce() + Send + 'static,
) -> io::Result<Pump> {
    let failures = Failures(Arc::new(Mutex::new(FirstFailure {
        first: None,
        on_failure: Some(Box::new(on_failure)),
    })));
    let (mut to_tunnel, on_stdin) = (tunnel.try_clone()?, failures.clone());
    thread::Builder::new().name("stdin".into()).spawn(move || {
        match copy(&mut io::stdin().lock(), &mut to_tunnel) {
            // The destination learns that no more will come.
            Ok(()) => drop(to_tunnel.shutdown(Shutdown::Write)),
            Err(Broken::Read(e)) => on_stdin.report("cannot read stdin", e),
            // The engine has closed the tunnel, and knows why.
            Err(Broken::Write(_)) => {}
        }
    })?;
    let on_stdout = failures.clone();
    let output = thread::Builder::new().name("stdout".into());
    let output = output.spawn(move || match copy(&mut tunnel, &mut io::stdout().lock()) {
        // Its reader must see the end, even while our stdin stays open.
        Ok(()) => close_stdout(is_stdin_socket(1)),
        Err(Broken::Write(e)) => on_stdout.report("cannot write to stdout", e),
        // Our own socket pair: nothing that could happen to it says more than its end.
        Err(Broken::Read(_)) => {}
    })?;
    Ok(Pump { output, failures })
}

/// Both copies under way.
pub struct Pump {
    output: thread::JoinHandle<()>,
    failures: Failures,
}

impl Pump {
    /// Waits until all that came from the tunnel was written to stdout. The tunnel must have been
    /// closed. The copy from stdin isn't waited for, since it may be blocked for ever.
    ///
    /// # Errors
    ///
    /// The first failure of stdin or stdout.
    ///
    /// # Panics
    ///
    /// When the copy has panicked.
    pub fn finish(self) -> Result<(), Failure> {
        self.output
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        self.failures.lock().first.take().map_or(Ok(()), Err)
    }
}

/// Stdin or stdout failed.
#[derive(Debug)]
pub struct Failure {
    what: &'static str,
    error: io::Error,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.error)
    }
}

impl error::Error for Failure {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        Some(&self.error)
    }
}

/// What has failed, for both copies. Keeps `on_failure` for as long as the pump is there.
#[derive(Clone)]
struct Failures(Arc<Mutex<FirstFailure>>);

struct FirstFailure {
    first: Option<Failure>,
    on_failure: Option<Box<dyn FnOnce() + Send>>,
}

impl Failures {
    fn report(&self, what: &'static str, error: io::Error) {
        let mut shared = self.lock();
        shared.first.get_or_insert(Failure { what, error });
        if let Some(on_failure) = shared.on_failure.take() {
            on_failure();
        }
    }

    fn lock(&self) -> MutexGuard<'_, FirstFailure> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns whether stdin and another descriptor of this process are the same socket, as under inetd.
pub(crate) fn is_stdin_socket(descriptor: u32) -> bool {
    let socket = |descriptor| {
        let metadata = fs::metadata(format!("/proc/self/fd/{}", descriptor)).ok()?;
        let identity = (metadata.dev(), metadata.ino());
        Some(identity).filter(|_| metadata.file_type().is_socket())
    };
    let stdin = socket(0);
    stdin.is_some() && stdin == socket(descriptor)
}

/// Which half of a copy failed.
#[derive(Debug)]
enum Broken {
    Read(io::Error),
    Write(io::Error),
}

/// Each piece is written as soon as it is read: who waits for it may not send before. Either side
/// may be non-blocking: whoever shares the terminal, the pipe or the socket can make it so.
fn copy<R, W>(from: &mut R, to: &mut W) -> Result<(), Broken>
where
    R: Read + AsRawFd,
    W: Write + AsRawFd,
{
    let mut buffer = vec![0; CHUNK];
    loop {
        let count = loop {
            match from.read(&mut buffer) {
                Err(e) => wait(e, || sys::wait_readable(from)).map_err(Broken::Read)?,
                Ok(0) => return Ok(()),
                Ok(count) => break count,
            }
        };
        let mut written = 0;
        // Not `write_all`, which doesn't say how much it has written before an error.
        while written < count {
            match to.write(&buffer[written..count]) {
                Err(e) => wait(e, || sys::wait_writable(to)).map_err(Broken::Write)?,
                Ok(0) => return Err(Broken::Write(io::ErrorKind::WriteZero.into())),
                Ok(more) => written += more,
            }
        }
        while let Err(e) = to.flush() {
            wait(e, || sys::wait_writable(to)).map_err(Broken::Write)?;
        }
    }
}

/// Has a call tried again that failed with `error`, after `ready` where that makes a difference.
///
/// # Errors
///
/// The error, where it is the call's last word.
fn wait(error: io::Error, ready: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::Interrupted => Ok(()),
        io::ErrorKind::WouldBlock => ready(),
        _ => Err(error),
    }
}
