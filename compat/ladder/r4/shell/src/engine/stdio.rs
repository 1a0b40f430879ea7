//! `-W`: standard input and output are the only client, for ssh's ProxyCommand and pipes.

use std::os::unix::net::UnixStream;

use tokio::sync::oneshot;

use super::{shutdown, Engine, Origin, ProxySelector, Settings, Tunnel};
use crate::config::{Config, Destination};
use crate::engine::io::{Handle, Socket};
use crate::error::Error;
use crate::os::stdio;
use crate::os::sys;

/// Carries stdin to `destination` and its reply to stdout, until both have ended or SIGTERM
/// arrives. SIGINT is ignored: the terminal sends it to the other programs of the session too.
///
/// # Errors
///
/// The error of opening the tunnel, or the one that cut it. If stdin or stdout fails, the upstream
/// is reset, and what it has sent is still written.
pub(super) fn run(config: &Config, destination: &Destination) -> Result<(), Error> {
    let failed = |e| Error::other("cannot start", e);
    let tunnel = Tunnel::new(
        destination.clone(),
        &ProxySelector::new(config.route.clone()),
    );
    let carried: Result<_, Error> = Handle::run(|handle| async move {
        let engine = Engine::new(&handle, Settings::of(config));
        shutdown::ignore_interrupt().map_err(failed)?;
        let (client, far) = UnixStream::pair().map_err(failed)?;
        let client = Socket::from_unix(client).map_err(failed)?;
        let (sender, failed_first) = oneshot::channel();
        let on_failure = || {
            let _ = sender.send(());
        };
        let pump = stdio::pump(far, sys::close_stdout, on_failure).map_err(failed)?;

        // If stdin or stdout fails first, the tunnel is dropped, which resets it.
        let carried = tokio::select! {
            carried = engine.carry(client, Origin::Stdio, &tunnel) => Some(carried?),
            Ok(()) = failed_first => None,
        };
        // This thread has nothing else to do, so it can block.
        pump.finish()
            .map_err(|failure| Error::cut(destination, failure))?;
        Ok(carried)
    })?;
    match carried? {
        Some(carried) => carried.end.map(drop),
        None => Ok(()), // only after a failure, which `finish` returns
    }
    .map_err(|cut| Error::cut(destination, cut))
}
