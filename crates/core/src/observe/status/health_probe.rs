//! `/healthz/probe`: opens a tunnel through the proxy, as for a client, and closes it again.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::config::Timeouts;
use crate::observe::diagnose::{observed_by, PathOpener};
use crate::semaphore::SlotPermit;
use crate::upstream::Tunnel;
use ptunnel_proto::sync::lock;
use ptunnel_proto::text::seconds::Took;

/// Upper limit of the timeout of each phase.
const MAX_TIMEOUT: Duration = Duration::from_secs(4);

/// Time for which further requests get the last result, so that they don't flood the proxy.
const RESULT_AGE: Duration = Duration::from_secs(5);

/// Maximum number of requests that run or wait for a probe, so that some threads stay free for
/// other requests.
const MAX_WAITING: usize = 4;

/// Runs one probe at a time, and remembers its result.
pub(super) struct Prober {
    open: PathOpener,
    waiting: Arc<AtomicUsize>,
    last: Mutex<Option<(Instant, ProbeResult)>>,
}

/// The text of the response; `Err` when no tunnel can be opened.
type ProbeResult = Result<String, String>;

impl Prober {
    pub(super) fn new(open: PathOpener) -> Prober {
        Prober {
            open,
            waiting: Arc::default(),
            last: Mutex::default(),
        }
    }

    /// Returns whether the tunnel can be opened, now or when last tried, at most [`RESULT_AGE`]
    /// ago.
    pub(super) fn probe(&self, tunnel: &Tunnel, timeouts: &Timeouts) -> ProbeResult {
        let _permit = SlotPermit::take(&self.waiting, MAX_WAITING)
            .ok_or("too many requests wait for the probe that is running")?;
        let mut last = lock(&self.last);
        if let Some((when, result)) = &*last {
            if when.elapsed() < RESULT_AGE {
                return result.clone();
            }
        }
        let result = open_tunnel(self.open, tunnel, timeouts);
        *last = Some((Instant::now(), result.clone()));
        result
    }
}

/// Opens the tunnel. Writes no log line and doesn't change the health of a proxy.
fn open_tunnel(open: PathOpener, tunnel: &Tunnel, timeouts: &Timeouts) -> ProbeResult {
    let timeouts = Timeouts {
        connect: timeouts.connect.min(MAX_TIMEOUT),
        handshake: timeouts.handshake.min(MAX_TIMEOUT),
        ..timeouts.clone()
    };
    let start = Instant::now();
    let observer = Rc::new(RefCell::new(()));
    let tunnel = tunnel.clone().for_observer();
    match observed_by(observer, || open(&tunnel, &timeouts, None)) {
        Ok((path, _)) => {
            let took = Took(start.elapsed());
            Ok(format!("ok: {} {} in {}", tunnel.destination(), path, took))
        }
        Err(e) => Err(e.to_string()),
    }
}
