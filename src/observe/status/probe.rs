//! A real CONNECT, to see whether a client would get its tunnel.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::config::Timeouts;
use crate::observe::diagnose::{Observer, Probe};
use crate::os::semaphore::Turn;
use crate::text::seconds::Took;
use crate::upstream::Tunnel;

/// No phase of a probe takes longer.
const LONGEST: Duration = Duration::from_secs(4);

/// How long its outcome stands for the next who asks: nobody makes us knock at a proxy all day.
const STANDS: Duration = Duration::from_secs(5);

/// So many ask for it at once: the others' seats are for who asks something else.
const MOST: usize = 4;

/// Makes one probe at a time, and few.
#[derive(Default)]
pub(super) struct Prober {
    asking: Arc<AtomicUsize>,
    last: Mutex<Option<(Instant, Outcome)>>,
}

/// What to tell, and whether it is good.
type Outcome = Result<String, String>;

/// Probes are not told of step by step.
struct Nobody;

impl Observer for Nobody {}

impl Prober {
    /// Whether the tunnel can be opened, now or a few seconds ago.
    pub(super) fn probe(&self, tunnel: &Tunnel, timeouts: &Timeouts) -> Outcome {
        let _turn = Turn::take(&self.asking, MOST)
            .ok_or("a probe is under way, and others wait for it already")?;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((when, outcome)) = &*last {
            if when.elapsed() < STANDS {
                return outcome.clone();
            }
        }
        let outcome = knock(tunnel, timeouts);
        *last = Some((Instant::now(), outcome.clone()));
        outcome
    }
}

fn knock(tunnel: &Tunnel, timeouts: &Timeouts) -> Outcome {
    let timeouts = Timeouts {
        connect: timeouts.connect.min(LONGEST),
        handshake: timeouts.handshake.min(LONGEST),
        ..timeouts.clone()
    };
    let start = Instant::now();
    match Probe::new(&timeouts, &mut Nobody).open(tunnel) {
        Ok(opened) => {
            let took = Took(start.elapsed());
            let (destination, via) = (tunnel.destination(), opened.via);
            Ok(format!("ok: {} {} in {}", destination, via, took))
        }
        Err(e) => Err(e.to_string()),
    }
}
