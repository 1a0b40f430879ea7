//! `-W`: standard input and output are the only client, for ssh's ProxyCommand and pipes.

use std::os::unix::net::UnixStream;

use tokio::sync::oneshot;

use crate::io::{Handle, Rewind, Socket, Upstream};
use crate::{logged_as, shutdown, Engine, Opened, Origin, ProxySelector, Settings, Tunnel};
use ptunnel_core::config::{Config, Destination};
use ptunnel_core::error::Error;
use ptunnel_core::observe::access_log::{ClientSession, EARLY_DATA, TLS_ON_PATH};
use ptunnel_core::os::{fdpass, stdio, sys};

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
    if config.fdpass {
        return Handle::run(|handle| async move {
            hand_over(&Engine::new(&handle, Settings::of(config)), &tunnel).await
        })?;
    }
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

/// `--fdpass`: hands the connection to the program that reads stdout. Relays only what its socket
/// alone doesn't carry.
///
/// # Errors
///
/// The error of opening the tunnel or of handing it over, or the one that cut it.
async fn hand_over(engine: &Engine, tunnel: &Tunnel) -> Result<(), Error> {
    let failed = |e| Error::other("cannot hand the connection over", e);
    let destination = tunnel.destination();
    let session = ClientSession::from(Origin::Stdio);
    let opening = logged_as(session.context(), engine.open(tunnel));
    let Opened { stream, path } = opening.await?;
    let (stream, early) = stream.into_parts();
    let why = match &stream {
        Upstream::Bare(socket) if early.is_empty() => {
            fdpass::pass(socket).map_err(failed)?;
            session.handed_over(destination, &path);
            return Ok(());
        }
        Upstream::Bare(_) => EARLY_DATA,
        Upstream::Layered(_) => TLS_ON_PATH,
    };
    session.keeps(destination, &path, why);
    let near = fdpass::pass_pair();
    let client = near.and_then(Socket::from_unix).map_err(failed)?;
    let stream = Rewind::new(stream, early);
    let opened = Opened { stream, path };
    let carried = engine.carry_opened(client, opened, session, destination.clone());
    let end = carried.await.end;
    end.map(drop).map_err(|cut| Error::cut(destination, cut))
}
