//! Detects that a side that isn't read has been reset.
//!
//! While one side stalls, nothing is read from the other, and once a side has ended, nothing will
//! be: its reset would go unnoticed until the next write. The root's reactor wakes a tunnel for it.
//! tokio wakes for an error alone only through `ready(Interest::ERROR)`, a future that borrows the
//! socket, so that one struct can't hold both; a timer polls the socket instead. There is a timer for
//! as long as a side stalls: a tunnel that flows or is idle has none.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{ready, Context, Poll};
use std::time::Duration;

use tokio::time::{sleep, Instant, Sleep};

use crate::io::Transport;

/// Longest time for which a reset goes unnoticed.
const PERIOD: Duration = Duration::from_millis(500);

/// The check of one direction's reader.
#[derive(Default)]
pub struct Checkup {
    timer: Option<Pin<Box<Sleep>>>,
}

impl Checkup {
    /// Resolves when `stream` has met an error, which is returned once.
    pub fn poll(&mut self, cx: &mut Context<'_>, stream: &impl Transport) -> Poll<io::Error> {
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(PERIOD)));
        loop {
            ready!(timer.as_mut().poll(cx));
            if let Some(error) = stream.error() {
                return Poll::Ready(error);
            }
            timer.as_mut().reset(Instant::now() + PERIOD);
        }
    }

    /// Ends the check, since the side no longer stalls: wakes no task until it is polled again.
    pub fn stop(&mut self) {
        self.timer = None;
    }

    /// Returns whether the check will wake a task.
    pub fn has_timer(&self) -> bool {
        self.timer.is_some()
    }
}

impl fmt::Debug for Checkup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checkup")
            .field("has_timer", &self.has_timer())
            .finish()
    }
}
