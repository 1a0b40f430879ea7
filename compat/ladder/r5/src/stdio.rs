//! Standard input and output as the client of one tunnel: for ssh's ProxyCommand and pipes.

use std::os::unix::net::UnixStream as StdStream;
use std::panic::resume_unwind;

use ptunnel::config::{Config, Destination};
use ptunnel::report::Origin;
use ptunnel::route::{Gateway, Tunnel};
use ptunnel::stdio::pump;
use ptunnel::Error;
use tokio::net::UnixStream;

use crate::panics::Vital;
use crate::server::on_this_thread;
use crate::shutdown::ignore_interrupt;
use crate::system::close_stdout;
use crate::{Engine, Links, Settings};

/// Carries stdin to `destination` and its answer to stdout, until both have ended or SIGTERM
/// comes. SIGINT is left to whoever shares the terminal.
///
/// # Errors
///
/// When the tunnel can't be opened or is cut.
pub(crate) fn run<L: Links>(config: &Config, destination: &Destination) -> Result<(), Error> {
    let failed = |e| Error::other("cannot start", e);
    let tunnel = Tunnel::new(destination.clone(), &Gateway::new(config.route.clone()));
    let carried = on_this_thread(async {
        ignore_interrupt().map_err(failed)?;
        let (client, ours) = StdStream::pair().map_err(failed)?;
        client.set_nonblocking(true).map_err(failed)?;
        let client = UnixStream::from_std(client).map_err(failed)?;
        let output = pump(ours, close_stdout).map_err(failed)?;
        let mut vital = Vital::default();
        let engine = Engine::<L>::new(Settings::of(config), &mut vital);
        let carried = tokio::select! {
            carried = L::carry(&engine, client, Origin::Stdio.into(), &tunnel) => carried?,
            panic = vital.panicked() => resume_unwind(panic),
        };
        // Nobody else is on this thread who could mind that it blocks.
        output.join().unwrap_or_else(|panic| resume_unwind(panic));
        Ok(carried)
    })?;
    carried?
        .end
        .map(drop)
        .map_err(|cut| Error::cut(destination, cut))
}
