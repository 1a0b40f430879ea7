//! `-W … --fdpass`: hands the connection to the program that started ptunnel, which reads it from
//! ptunnel's standard output. That is what ssh's ProxyUseFdpass expects.
//!
//! ssh then waits for the end of the process that it started. Where ptunnel must still carry bytes,
//! another process has to, and a program with threads can't fork. So ptunnel forks at the start:
//!
//! ```text
//!   started by ssh ──fork──▶ opens the tunnel ──▶ passes its socket ──────────────▶ exits
//!        │ waits                             └──▶ passes one end of a pair ──▶ relays
//!        └──▶ exits with the other process, or as soon as that relays
//! ```

use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::io::AsRawFd;
use std::os::unix::net::UnixStream;

use super::sys;

/// Forks; returns in the child process. The caller must have one thread only.
///
/// # Errors
///
/// `InvalidInput` if standard output isn't a Unix socket; the errors of fork(2).
pub fn begin() -> io::Result<()> {
    if sys::is_stdout_unix() {
        return sys::continue_in_child();
    }
    let kind = fs::metadata("/proc/self/fd/1").map(|metadata| metadata.file_type());
    let is = match kind {
        Ok(kind) if kind.is_fifo() => "a pipe",
        Ok(kind) if kind.is_file() => "a file",
        Ok(kind) if kind.is_char_device() => "a device",
        Ok(kind) if kind.is_socket() => "another socket",
        _ => "closed",
    };
    let why = format!(
        "standard output is {}, not the Unix socket over which ssh receives the connection; add \
         ProxyUseFdpass yes to ~/.ssh/config, or remove --fdpass",
        is
    );
    Err(io::Error::new(io::ErrorKind::InvalidInput, why))
}

/// Hands over the socket of a tunnel. The caller keeps a descriptor of the same socket, which it
/// must not use any more.
///
/// # Errors
///
/// The errors of sendmsg(2): `BrokenPipe` if the program has ended.
pub fn pass(socket: &impl AsRawFd) -> io::Result<()> {
    sys::pass_over_stdout(socket)
}

/// Hands over one end of a socket pair, and returns the other one, to be relayed.
///
/// # Errors
///
/// The errors of socketpair(2) and sendmsg(2).
pub fn pass_pair() -> io::Result<UnixStream> {
    let (near, far) = UnixStream::pair()?;
    sys::pass_over_stdout(&far)?;
    sys::outlive_parent()?;
    Ok(near)
}
