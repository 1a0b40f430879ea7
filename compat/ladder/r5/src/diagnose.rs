//! The paths of `--test` and `/healthz/probe` on this engine: opened as for a client, on a separate
//! runtime.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::connect::read_piece;
use crate::io::Handle;
use crate::{Engine, Opened, ProxyChain, Settings, Tunnel};
use ptunnel_core::config::Timeouts;
use ptunnel_core::error::Error;
use ptunnel_core::observe::diagnose::{observe, Greeting, PathEvent};

/// Maximum number of bytes of a greeting that are read.
const CHUNK: usize = 256;

/// Opens a path to the tunnel's destination, waits for its first bytes for at most `wait`, if any,
/// and closes the path. Blocks; this thread's observer receives the events.
///
/// # Errors
///
/// The errors of [`Engine::open`], or of creating a runtime.
pub fn open_path(
    tunnel: &Tunnel,
    timeouts: &Timeouts,
    wait: Option<Duration>,
) -> Result<(ProxyChain, Option<Greeting>), Error> {
    let settings = Settings {
        timeouts: Arc::new(timeouts.clone()),
        ..Settings::default()
    };
    Handle::run(|handle| async move {
        let engine = Engine::new(&handle, settings);
        let Opened { mut stream, path } = engine.open(tunnel).await?;
        let wait = match wait {
            Some(wait) => wait,
            None => return Ok((path, None)),
        };
        observe(|| PathEvent::Opened);
        let is_early = !stream.front().is_empty();
        let greeting = match timeout(wait, read_piece(&mut stream, CHUNK)).await {
            Ok(bytes) => Some(Greeting { bytes, is_early }),
            Err(_elapsed) => None,
        };
        Ok((path, greeting))
    })?
}
