//! Standard input and output as the client of one tunnel: for ssh's ProxyCommand and pipes.

use std::os::unix::net::UnixStream;

use ptunnel::config::{Config, Destination};
use ptunnel::engine::Settings;
use ptunnel::net::Socket;
use ptunnel::report::Origin;
use ptunnel::route::{Gateway, Tunnel};
use ptunnel::stdio::pump;
use ptunnel::Error;
use ptunnel_r5::shutdown::ignore_interrupt;
use ptunnel_r5::system::close_stdout;

use crate::hosted::{core, on_core};

/// Carries stdin to `destination` and its answer to stdout, until both have ended or SIGTERM
/// comes. SIGINT is left to whoever shares the terminal.
///
/// # Errors
///
/// When the tunnel can't be opened or is cut.
pub(crate) async fn run(config: &Config, destination: &Destination) -> Result<(), Error> {
    let failed = |e| Error::other("cannot start", e);
    ignore_interrupt().map_err(failed)?;
    let (client, ours) = UnixStream::pair().map_err(failed)?;
    let output = pump(ours, close_stdout).map_err(failed)?;

    let tunnel = Tunnel::new(destination.clone(), &Gateway::new(config.route.clone()));
    let carried = on_core(core("reactor-1")?, Settings::of(config), move |engine| {
        let client = Socket::from_unix(client, engine.handle()).map_err(failed)?;
        Ok(engine.carry(client, Origin::Stdio, &tunnel))
    })
    .await?;
    // Nobody else is on this thread who could mind that it blocks.
    output
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    carried
        .end
        .map(drop)
        .map_err(|cut| Error::cut(destination, cut))
}
