//! The paths of `--test` and `/healthz/probe` on this engine: opened as for a client, on a separate
//! runtime.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use futures::future;
use tokio::time::timeout;
use tokio_core_compat::task::AsStd;

use super::io::{poll_io, Handle};
use super::{Engine, Opened, ProxyChain, Settings, Tunnel};
use crate::config::Timeouts;
use crate::error::Error;
use crate::observe::diagnose::{observe, Greeting, PathEvent};

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
        let Opened { mut stream, path } = AsStd::new(engine.open(tunnel)).await?;
        let wait = match wait {
            Some(wait) => wait,
            None => return Ok((path, None)),
        };
        observe(|| PathEvent::Opened);
        let is_early = !stream.front().is_empty();
        let mut bytes = vec![0; CHUNK];
        let read = AsStd::new(future::poll_fn(|| poll_io(stream.read(&mut bytes))));
        let greeting = match timeout(wait, read).await {
            Ok(read) => Some(Greeting {
                bytes: read.map(|count| bytes[..count].to_vec()),
                is_early,
            }),
            Err(_elapsed) => None,
        };
        Ok((path, greeting))
    })?
}
