//! `--status`: how it goes, for Prometheus, for whatever supervises us, and for people.
//!
//! ```text
//!   tallies of the listeners ──▶ Board ──┬──▶ metrics   /metrics
//!   standings of the proxies ──▶   │     ├──▶ json      /status.json ◀── page  /
//!                       History ◀──┘     └──▶ probe     /healthz
//! ```
//!
//! All of it is plain blocking code on a few threads of its own, so that no tunnel waits for who
//! looks, and every engine shows the same. Nothing here holds a secret: a proxy is shown as its
//! address, an error as the log has it.

mod history;
mod http;
mod json;
mod metrics;
mod page;
mod probe;
mod registry;

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use self::history::History;
use self::page::Page;
use self::probe::Prober;
use crate::config::StatusSpec;
use crate::error::Error;
use crate::listener::bind::bind_on;

pub(crate) use self::registry::{Registry, SnapshotBuilder};

/// Listens where it shall be looked at.
///
/// # Errors
///
/// Why that can't be.
pub(crate) fn bind(spec: &StatusSpec) -> Result<TcpListener, Error> {
    let bound = bind_on(&spec.bind, spec.port, TcpListener::bind);
    bound.map_err(|e| e.listening_for("--status"))
}

/// What answers questions.
struct Status {
    board: Arc<Registry>,
    history: History,
    page: Page,
    prober: Prober,
    /// Only this machine can ask.
    is_local: bool,
}

/// Begins to answer who asks there, and returns what is to be said of it.
///
/// # Errors
///
/// When there are no threads for it.
pub(crate) fn start(listening: TcpListener, board: &Arc<Registry>) -> Result<String, Error> {
    let failed = |e| Error::other("cannot start the status page", e);
    let address = listening.local_addr().map_err(failed)?;
    let status = Arc::new(Status {
        board: board.clone(),
        history: History::new(board.scene().totals()),
        page: Page::new(board.host.as_deref()),
        prober: Prober::default(),
        is_local: address.ip().is_loopback(),
    });
    let (looking, answering) = (status.clone(), status);
    spawn("history", move || loop {
        thread::sleep(history::STEP);
        looking.history.note(looking.board.scene().totals());
    })
    .map_err(failed)?;
    spawn("status", move || http::serve(&listening, &answering)).map_err(failed)?;
    Ok(format!("status on http://{}/", address))
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new()
        .name(name.into())
        .spawn(work)
        .map(drop)
}
