//! Standard input and output as a stream that any engine can carry.
//!
//! Descriptors 0 and 1 may be files, pipes or a terminal that others use too: they can't be
//! registered with epoll, or must not be made non-blocking. So two threads copy between them
//! and one end of a socket pair, and the engine sees the other end as a client like any other.

use std::fs;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::thread;

/// What one read of stdin or of the tunnel asks for.
const CHUNK: usize = 64 * 1024;

/// Starts both copies; the one to stdout is worth waiting for, the one from stdin may be
/// blocked for ever.
///
/// `close_stdout` makes the reader of our stdout see its end. Where stdin and stdout are one socket
/// (inetd's clients), it is told `true`: that end has to be sent, since stdin keeps the socket open.
///
/// # Errors
///
/// When there is no thread or descriptor for it.
pub fn pump(
    tunnel: UnixStream,
    close_stdout: impl FnOnce(bool) + Send + 'static,
) -> io::Result<thread::JoinHandle<()>> {
    let to_tunnel = tunnel.try_clone()?;
    thread::Builder::new().name("stdin".into()).spawn(move || {
        // Whatever ends it, the destination learns that no more will come.
        let _ = copy(io::stdin().lock(), &to_tunnel);
        let _ = to_tunnel.shutdown(Shutdown::Write);
    })?;
    thread::Builder::new().name("stdout".into()).spawn(move || {
        match copy(&tunnel, io::stdout().lock()) {
            // Its reader shall see the end, even while our stdin stays open.
            Ok(()) => close_stdout(is_one_socket()),
            // Nobody reads: the engine learns it from its next write.
            Err(_) => drop(tunnel.shutdown(Shutdown::Both)),
        }
    })
}

/// Whether stdin and stdout are the same socket.
fn is_one_socket() -> bool {
    let socket = |path| {
        let metadata = fs::metadata(path).ok()?;
        let identity = (metadata.dev(), metadata.ino());
        Some(identity).filter(|_| metadata.file_type().is_socket())
    };
    let input = socket("/proc/self/fd/0");
    input.is_some() && input == socket("/proc/self/fd/1")
}

/// Each piece is written as soon as it is read: who waits for it may not send before.
fn copy(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(ref e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        to.write_all(&buffer[..count])?;
        to.flush()?;
    }
}
