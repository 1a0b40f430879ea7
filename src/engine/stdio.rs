//! Standard input and output as the client of one tunnel: for ssh's ProxyCommand and pipes.
//!
//! Descriptors 0 and 1 may be files, pipes or a terminal that others use too: they can't be
//! registered with epoll, or must not be made non-blocking. So two threads copy between them
//! and one end of a socket pair, and the engine sees the other end as a client like any other.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::thread;

use tokio_core::reactor::Core;

use super::{shutdown, Engine, Gateway, Origin, Settings, Tunnel};
use crate::config::{Config, HostPort};
use crate::error::Error;
use crate::net::Socket;
use crate::sys;

/// What one read of stdin or of the tunnel asks for.
const CHUNK: usize = 64 * 1024;

/// Carries stdin to `destination` and its answer to stdout, until both have ended or SIGTERM
/// comes. SIGINT is left to whoever shares the terminal.
///
/// # Errors
///
/// When the tunnel can't be opened or is cut.
pub(super) fn run(config: &Config, destination: &HostPort) -> Result<(), Error> {
    let failed = |e| Error::other("cannot start", e);
    let tunnel = Tunnel::new(destination.clone(), &Gateway::new(config.route.clone()));
    let mut core = Core::new().map_err(failed)?;
    let engine = Engine::new(&core.handle(), Settings::of(config)).map_err(failed)?;
    shutdown::ignore_interrupt().map_err(failed)?;
    let (client, ours) = UnixStream::pair().map_err(failed)?;
    let client = Socket::from_unix(client, engine.handle()).map_err(failed)?;
    let output = start(ours).map_err(failed)?;

    let carried = engine
        .handle()
        .run(&mut core, engine.carry(client, Origin::Stdio, &tunnel))?;
    output
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    carried
        .end
        .map(drop)
        .map_err(|cut| Error::cut(destination.clone(), cut))
}

/// Starts both copies; the one to stdout is worth waiting for, the one from stdin may be
/// blocked for ever.
fn start(tunnel: UnixStream) -> io::Result<thread::JoinHandle<()>> {
    let to_tunnel = tunnel.try_clone()?;
    thread::Builder::new().name("stdin".into()).spawn(move || {
        // Whatever ends it, the destination learns that no more will come.
        let _ = copy(io::stdin().lock(), &to_tunnel);
        let _ = to_tunnel.shutdown(Shutdown::Write);
    })?;
    thread::Builder::new().name("stdout".into()).spawn(move || {
        match copy(&tunnel, io::stdout().lock()) {
            // Its reader shall see the end, even while our stdin stays open.
            Ok(()) => sys::close_stdout(),
            // Nobody reads: the engine learns it from its next write.
            Err(_) => drop(tunnel.shutdown(Shutdown::Both)),
        }
    })
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
