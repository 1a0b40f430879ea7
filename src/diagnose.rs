//! The paths of `--test` and `/healthz/probe` on this engine: opened as for a client, on a separate
//! reactor.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use futures::{future, Async};
use tokio_core::reactor::Core;

use crate::io::poll_io;
use crate::limits::deadline;
use crate::{Engine, Opened, ProxyChain, Settings, Tunnel};
use ptunnel_core::config::Timeouts;
use ptunnel_core::error::{Error, Peer, Phase};
use ptunnel_core::observe::diagnose::{observe, Greeting, PathEvent};

/// Maximum number of bytes of a greeting that are read.
const CHUNK: usize = 256;

/// Opens a path to the tunnel's destination, waits for its first bytes for at most `wait`, if any,
/// and closes the path. Blocks; this thread's observer receives the events.
///
/// # Errors
///
/// The errors of [`Engine::open`], or of creating a reactor.
pub fn open_path(
    tunnel: &Tunnel,
    timeouts: &Timeouts,
    wait: Option<Duration>,
) -> Result<(ProxyChain, Option<Greeting>), Error> {
    let failed = |e| Error::other("cannot start a reactor", e);
    let mut core = Core::new().map_err(failed)?;
    let settings = Settings {
        timeouts: Arc::new(timeouts.clone()),
        ..Settings::default()
    };
    let engine = Engine::new(&core.handle(), settings).map_err(failed)?;
    let Opened { mut stream, path } = engine.handle().run(&mut core, engine.open(tunnel))?;
    let wait = match wait {
        Some(wait) => wait,
        None => return Ok((path, None)),
    };
    observe(|| PathEvent::Opened);
    let is_early = !stream.front().is_empty();
    let greeting = future::poll_fn(move || {
        let mut chunk = vec![0; CHUNK];
        let bytes = match poll_io(stream.read(&mut chunk)) {
            Ok(Async::NotReady) => return Ok(Async::NotReady),
            Ok(Async::Ready(count)) => Ok(chunk[..count].to_vec()),
            Err(e) => Err(e),
        };
        Ok(Async::Ready(Greeting { bytes, is_early }))
    });
    let peer = Peer::Destination(tunnel.destination().address.clone());
    let late = move || Error::timed_out(Phase::Handshaking, peer.clone(), wait);
    let greeting = deadline(greeting, wait, engine.timer(), late);
    // Fails only when the time is over.
    let greeting = engine.handle().run(&mut core, greeting).ok();
    Ok((path, greeting))
}
