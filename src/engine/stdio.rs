//! Standard input and output as the client of one tunnel: for ssh's ProxyCommand and pipes.

use std::os::unix::net::UnixStream;

use tokio_core::reactor::Core;

use super::{shutdown, Engine, Gateway, Origin, Settings, Tunnel};
use crate::config::{Config, Destination};
use crate::error::Error;
use crate::net::Socket;
use crate::stdio;
use crate::sys;

/// Carries stdin to `destination` and its answer to stdout, until both have ended or SIGTERM
/// comes. SIGINT is left to whoever shares the terminal.
///
/// # Errors
///
/// When the tunnel can't be opened or is cut.
pub(super) fn run(config: &Config, destination: &Destination) -> Result<(), Error> {
    let failed = |e| Error::other("cannot start", e);
    let tunnel = Tunnel::new(destination.clone(), &Gateway::new(config.route.clone()));
    let mut core = Core::new().map_err(failed)?;
    let engine = Engine::new(&core.handle(), Settings::of(config)).map_err(failed)?;
    shutdown::ignore_interrupt().map_err(failed)?;
    let (client, ours) = UnixStream::pair().map_err(failed)?;
    let client = Socket::from_unix(client, engine.handle()).map_err(failed)?;
    let output = stdio::pump(ours, sys::close_stdout).map_err(failed)?;

    let carried = engine
        .handle()
        .run(&mut core, engine.carry(client, Origin::Stdio, &tunnel))?;
    output
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    carried
        .end
        .map(drop)
        .map_err(|cut| Error::cut(destination, cut))
}
