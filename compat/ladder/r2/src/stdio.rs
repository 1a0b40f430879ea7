//! `-W`: standard input and output are the only client, for ssh's ProxyCommand and pipes.

use std::os::unix::net::UnixStream;

use futures01::sync::oneshot;
use futures01::Future as _;
use ptunnel::config::{Config, Destination};
use ptunnel::engine::io::Socket;
use ptunnel::engine::Settings;
use ptunnel::observe::access_log::Origin;
use ptunnel::os::stdio::pump;
use ptunnel::upstream::{ProxySelector, Tunnel};
use ptunnel::Error;
use ptunnel_r5::shutdown::ignore_interrupt;
use ptunnel_r5::system::close_stdout;

use crate::hosted::{core, on_core};

/// Carries stdin to `destination` and its answer to stdout, until both have ended or SIGTERM
/// comes. SIGINT is ignored: the terminal sends it to the other programs of the session too.
///
/// # Errors
///
/// The error of opening the tunnel, or the one that cut it. If stdin or stdout fails, the upstream is
/// reset, and what it has sent is still written.
pub(crate) async fn run(config: &Config, destination: &Destination) -> Result<(), Error> {
    let failed = |e| Error::other("cannot start", e);
    ignore_interrupt().map_err(failed)?;
    let (client, tunnel_end) = UnixStream::pair().map_err(failed)?;
    let (failure, has_failed) = oneshot::channel();
    let on_failure = || {
        let _ = failure.send(());
    };
    let pump = pump(tunnel_end, close_stdout, on_failure).map_err(failed)?;

    let tunnel = Tunnel::new(
        destination.clone(),
        &ProxySelector::new(config.route.clone()),
    );
    let carried = on_core(core("reactor-1")?, Settings::of(config), move |engine| {
        let client = Socket::from_unix(client, engine.handle()).map_err(failed)?;
        // If stdin or stdout fails first, the tunnel is dropped, which resets it.
        let carried = engine.carry(client, Origin::Stdio, &tunnel).map(Some);
        let first = carried.select(has_failed.then(|_| Ok(None)));
        Ok(first.map(|(end, _)| end).map_err(|(e, _)| e))
    })
    .await?;
    // This thread has nothing else to do, so that it can block.
    pump.finish()
        .map_err(|failure| Error::cut(destination, failure))?;
    match carried {
        Some(carried) => carried.end.map(drop),
        None => Ok(()), // not without a failure
    }
    .map_err(|cut| Error::cut(destination, cut))
}
