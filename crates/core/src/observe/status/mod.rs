//! The HTTP server of `--status`: an HTML page, JSON, Prometheus metrics and a health check.
//!
//! ```text
//!   stats of the listeners ──▶ Registry ──┬──▶ metrics       /metrics
//!   health of the proxies  ──▶    │       ├──▶ json          /status.json ◀── page  /
//!                       History ◀─┘       └──▶ health_probe  /healthz
//! ```
//!
//! The server is blocking code on a few separate threads, so no tunnel waits for its clients, and
//! it is the same in the program and on every rung. It must not contain futures or secrets: it shows a proxy by
//! its address and an error by its text in the log. Only [`listener`](crate::listener) uses it: it
//! calls [`start`] at startup and publishes the next [`Snapshot`](registry::Snapshot) at each
//! reload.

mod health_probe;
mod history;
mod http;
mod json;
mod metrics;
mod page;
mod registry;

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use self::health_probe::Prober;
use self::history::History;
use self::page::StatusPage;
use crate::error::Error;
use crate::observe::diagnose::PathOpener;

pub(crate) use self::registry::{ListenerInfo, Registry};

/// State that the threads of the server share.
struct Status {
    registry: Arc<Registry>,
    history: History,
    page: StatusPage,
    prober: Prober,
    /// Whether the server listens on a loopback address.
    is_local: bool,
}

/// Starts the server's threads, which open probes with `open`. Returns the line that announces the
/// server.
///
/// # Errors
///
/// When a thread can't be started.
pub(crate) fn start(
    listener: TcpListener,
    registry: &Arc<Registry>,
    open: PathOpener,
) -> Result<String, Error> {
    let failed = |e| Error::other("cannot start the status page", e);
    let address = listener.local_addr().map_err(failed)?;
    let status = Arc::new(Status {
        registry: registry.clone(),
        history: History::new(registry.snapshot().totals()),
        page: StatusPage::new(registry.host.as_deref()),
        prober: Prober::new(open),
        is_local: address.ip().is_loopback(),
    });
    let (sampled, served) = (status.clone(), status);
    spawn("history", move || loop {
        thread::sleep(history::STEP);
        sampled.history.record(sampled.registry.snapshot().totals());
    })
    .map_err(failed)?;
    spawn("status", move || http::serve(&listener, &served)).map_err(failed)?;
    Ok(format!("status on http://{}/", address))
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new()
        .name(name.into())
        .spawn(work)
        .map(drop)
}
