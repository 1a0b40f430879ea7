//! `-W`: standard input and output are the only client, for ssh's ProxyCommand and pipes.

use std::os::unix::net::UnixStream as StdStream;
use std::panic::resume_unwind;

use ptunnel::config::{Config, Destination};
use ptunnel::observe::access_log::Origin;
use ptunnel::os::stdio::pump;
use ptunnel::upstream::{ProxySelector, Tunnel};
use ptunnel::Error;
use tokio::net::UnixStream;
use tokio::sync::oneshot;

use crate::critical::Critical;
use crate::io::{Restarting, UnixSocket};
use crate::server::on_this_thread;
use crate::shutdown::ignore_interrupt;
use crate::system::close_stdout;
use crate::{Engine, Links, Settings};

/// Carries stdin to `destination` and its answer to stdout, until both have ended or SIGTERM comes.
/// SIGINT is ignored: the terminal sends it to the other programs of the session too.
///
/// # Errors
///
/// The error of opening the tunnel, or the one that cut it. If stdin or stdout fails, the upstream is
/// reset, and what it has sent is still written.
pub(crate) fn run<L: Links>(config: &Config, destination: &Destination) -> Result<(), Error> {
    let failed = |e| Error::other("cannot start", e);
    let tunnel = Tunnel::new(
        destination.clone(),
        &ProxySelector::new(config.route.clone()),
    );
    let carried: Result<_, Error> = on_this_thread(async {
        ignore_interrupt().map_err(failed)?;
        let (client, tunnel_end) = StdStream::pair().map_err(failed)?;
        client.set_nonblocking(true).map_err(failed)?;
        let client = UnixStream::from_std(client).map_err(failed)?;
        let client = Restarting::new(UnixSocket::from(client));
        let (failure, has_failed) = oneshot::channel();
        let on_failure = || {
            let _ = failure.send(());
        };
        let pump = pump(tunnel_end, close_stdout, on_failure).map_err(failed)?;
        let mut critical = Critical::default();
        let engine = Engine::<L>::new(Settings::of(config), &mut critical);
        let carried = tokio::select! {
            carried = L::carry(&engine, client, Origin::Stdio.into(), &tunnel) => Some(carried?),
            // If stdin or stdout fails first, the tunnel is dropped, which resets it.
            Ok(()) = has_failed => None,
            panic = critical.panicked() => resume_unwind(panic),
        };
        // This thread has nothing else to do, so that it can block.
        pump.finish()
            .map_err(|failure| Error::cut(destination, failure))?;
        Ok(carried)
    })?;
    match carried? {
        Some(carried) => carried.end.map(drop),
        None => Ok(()), // not without a failure
    }
    .map_err(|cut| Error::cut(destination, cut))
}
