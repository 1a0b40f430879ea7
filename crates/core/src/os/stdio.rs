//! Standard input and output as a stream for any engine.
//!
//! Descriptors 0 and 1 can be files, pipes or a terminal that other processes share: they can't be
//! registered with epoll, or must not be made non-blocking. So two threads copy between them and
//! one end of a socket pair, and the engine serves the other end like any client. The [`Pump`]
//! reports that a copy failed, which a socket pair can't.

use std::fs;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::io::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::thread;

use crate::os::sys;
use ptunnel_proto::sync::lock;

/// Size of the buffer of each copy, in bytes.
const CHUNK: usize = 64 * 1024;

/// Starts both copies.
///
/// `close_stdout` makes the reader of stdout see its end. Its argument is whether stdin and stdout
/// are one socket (a client of inetd): then the end must be sent, since stdin keeps the socket
/// open.
///
/// `on_failure` is called when stdin can't be read or stdout can't be written to any more. The
/// engine must not treat that as an end of the stream: it must drop the tunnel, which resets the
/// upstream.
///
/// # Errors
///
/// The errors of dup(2) and of starting a thread.
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
            // The relay passes the end on to the destination.
            Ok(()) => drop(to_tunnel.shutdown(Shutdown::Write)),
            Err(CopyFailure::Read(e)) => on_stdin.report("cannot read stdin", e),
            // The engine has closed the tunnel, and reports why.
            Err(CopyFailure::Write(_)) => {}
        }
    })?;
    let on_stdout = failures.clone();
    let output = thread::Builder::new().name("stdout".into());
    let output = output.spawn(move || match copy(&mut tunnel, &mut io::stdout().lock()) {
        // Its reader must see the end, even while stdin stays open.
        Ok(()) => close_stdout(is_stdin_socket(1)),
        Err(CopyFailure::Write(e)) => on_stdout.report("cannot write to stdout", e),
        // A failure of the socket pair means no more than its end.
        Err(CopyFailure::Read(_)) => {}
    })?;
    Ok(Pump { output, failures })
}

/// The two threads that copy.
pub struct Pump {
    output: thread::JoinHandle<()>,
    failures: Failures,
}

impl Pump {
    /// Waits until everything from the tunnel is written to stdout. The tunnel must have been closed.
    /// Doesn't wait for the copy from stdin, which can be blocked for ever.
    ///
    /// # Errors
    ///
    /// The first failure of stdin or stdout, of any kind.
    ///
    /// # Panics
    ///
    /// When the copy has panicked.
    pub fn finish(self) -> io::Result<()> {
        self.output
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        lock(&self.failures.0).first.take().map_or(Ok(()), Err)
    }
}

/// The first failure of both copies. Keeps `on_failure` for as long as the pump lives.
#[derive(Clone)]
struct Failures(Arc<Mutex<FirstFailure>>);

struct FirstFailure {
    first: Option<io::Error>,
    on_failure: Option<Box<dyn FnOnce() + Send>>,
}

impl Failures {
    fn report(&self, what: &'static str, error: io::Error) {
        let error = io::Error::new(error.kind(), format!("{}: {}", what, error));
        let mut shared = lock(&self.0);
        shared.first.get_or_insert(error);
        if let Some(on_failure) = shared.on_failure.take() {
            on_failure();
        }
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
enum CopyFailure {
    Read(io::Error),
    Write(io::Error),
}

/// Copies until the end of `from`. Writes each piece as soon as it is read, since its reader may wait
/// for it before it sends. Either side can be non-blocking: another process that shares the terminal,
/// the pipe or the socket can have made it so.
fn copy<R, W>(from: &mut R, to: &mut W) -> Result<(), CopyFailure>
where
    R: Read + AsRawFd,
    W: Write + AsRawFd,
{
    let mut buffer = vec![0; CHUNK];
    loop {
        let count = loop {
            match from.read(&mut buffer) {
                Err(e) => wait(e, || sys::wait_readable(from)).map_err(CopyFailure::Read)?,
                Ok(0) => return Ok(()),
                Ok(count) => break count,
            }
        };
        let mut written = 0;
        // Not `write_all`, which doesn't return how much it has written before an error.
        while written < count {
            match to.write(&buffer[written..count]) {
                Err(e) => wait(e, || sys::wait_writable(to)).map_err(CopyFailure::Write)?,
                Ok(0) => return Err(CopyFailure::Write(io::ErrorKind::WriteZero.into())),
                Ok(more) => written += more,
            }
        }
        while let Err(e) = to.flush() {
            wait(e, || sys::wait_writable(to)).map_err(CopyFailure::Write)?;
        }
    }
}

/// Waits until a call that failed with `error` can be repeated; `ready` blocks until then.
///
/// # Errors
///
/// The error itself, unless it is `Interrupted` or `WouldBlock`; that of `ready`.
fn wait(error: io::Error, ready: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::Interrupted => Ok(()),
        io::ErrorKind::WouldBlock => ready(),
        _ => Err(error),
    }
}
