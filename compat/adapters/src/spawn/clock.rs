//! tokio's paused clock, held where it is.

use std::future::pending;
use std::sync::mpsc;

use tokio::{runtime, time};

/// Keeps the paused clock of the current runtime from advancing by itself, which it does whenever
/// all tasks wait: tokio leaves it alone while a blocking task runs.
pub(super) struct Hold(mpsc::Sender<()>);

impl Hold {
    /// `None` when there is no clock to hold: outside of a runtime, or when time passes by itself.
    pub(super) fn new() -> Option<Hold> {
        let runtime = runtime::Handle::try_current().ok()?;
        if !is_paused() {
            return None;
        }
        let (end, ended) = mpsc::channel();
        // Dropped with the runtime, which otherwise waits for the blocking task before it ends.
        let runtime_s_end = Hold(end.clone());
        let task = runtime.spawn(async move {
            let _hold = runtime_s_end;
            pending::<()>().await;
        });
        runtime.spawn_blocking(move || {
            let _ = ended.recv();
            task.abort();
        });
        Some(Hold(end))
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

/// Whether the runtime's clock shows another time than the machine's. tokio doesn't tell.
fn is_paused() -> bool {
    let before = std::time::Instant::now();
    let now = time::Instant::now().into_std();
    now < before || now > std::time::Instant::now()
}
