//! The queue between code that logs and a stderr that may block.
//!
//! An unread pipe holds a few hundred lines, a stopped terminal fewer. Then a write blocks, and on
//! a reactor's thread it would stall all tunnels. Therefore a dedicated thread writes the lines,
//! from a bounded queue. A line is lost if the queue is full; after the lines before it, a line in
//! its place reports how many were lost.

use std::collections::VecDeque;
use std::io::Write;
use std::mem;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use ptunnel_proto::sync::lock;

/// Maximum size of the queued lines, in bytes: as much as a pipe holds.
const CAPACITY: usize = 64 * 1024;

/// Time that a flush waits for the next line to be written.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// A bounded queue of log lines and the thread that writes them. Clones share both.
///
/// The thread starts with the first line. While a process has a single thread, glibc's recv(2) and
/// send(2) skip the code for thread cancellation, which saves a tenth of the cost of relaying a
/// small message.
#[derive(Clone)]
pub(super) struct LogQueue {
    shared: Arc<QueueShared>,
}

struct QueueShared {
    state: Mutex<QueueState>,
    /// The thread locks it for as long as it runs.
    writer: Mutex<Writer>,
    /// A line was added.
    filled: Condvar,
    /// A line was written.
    written: Condvar,
}

type Writer = Box<dyn FnMut(Next) + Send>;

#[derive(Default)]
struct QueueState {
    has_thread: bool,
    lines: VecDeque<String>,
    /// Total size of `lines`.
    bytes: usize,
    /// Number of lines lost after the last of `lines`.
    lost: u64,
    /// Whether the thread is writing a line.
    is_writing: bool,
    /// Number of lines that were written.
    written: u64,
}

/// The next item that the thread writes.
enum Next {
    Line(String),
    Lost(u64),
}

impl LogQueue {
    /// Returns a queue whose thread writes each line to `out` with one call. In place of `count`
    /// lost lines it writes the line that `lost(count)` returns.
    pub(super) fn new(
        mut out: impl Write + Send + 'static,
        lost: impl Fn(u64) -> String + Send + 'static,
    ) -> LogQueue {
        let write = move |next| {
            let line = match next {
                Next::Line(line) => line,
                Next::Lost(count) => lost(count),
            };
            // A closed stderr must not end any tunnel.
            let _ = out.write_all(line.as_bytes());
        };
        LogQueue {
            shared: Arc::new(QueueShared {
                state: Mutex::default(),
                writer: Mutex::new(Box::new(write)),
                filled: Condvar::new(),
                written: Condvar::new(),
            }),
        }
    }

    /// Starts the thread unless it runs. If that fails, lines wait for the next attempt.
    fn start_thread(&self, state: &mut QueueState) {
        if state.has_thread {
            return;
        }
        let queue = self.clone();
        let write = move || {
            let mut write = lock(&queue.shared.writer);
            loop {
                write(queue.next());
            }
        };
        let thread = thread::Builder::new().name("log".into());
        state.has_thread = thread.spawn(write).is_ok();
    }

    /// Adds a line, which includes its line end. The line is lost if the queue is full. Never waits
    /// for the writer.
    pub(super) fn push(&self, line: String) {
        let mut state = lock(&self.shared.state);
        self.start_thread(&mut state);
        state.add(line);
        drop(state);
        self.shared.filled.notify_one();
    }

    /// Blocks until all lines added before are written, or no line was written for
    /// [`FLUSH_TIMEOUT`].
    pub(super) fn flush(&self) {
        self.wait(FLUSH_TIMEOUT);
    }

    /// Blocks until all lines added before are written, or no line was written for `timeout`.
    fn wait(&self, timeout: Duration) {
        let mut state = lock(&self.shared.state);
        let until = state.written + state.waiting();
        if until > state.written {
            // The last chance for lines that were added while no thread could be started.
            self.start_thread(&mut state);
        }
        while state.written < until {
            let written = state.written;
            let no_progress = |state: &mut QueueState| state.written == written;
            let waited = self
                .shared
                .written
                .wait_timeout_while(state, timeout, no_progress);
            let (next, waited) = waited.unwrap_or_else(PoisonError::into_inner);
            if waited.timed_out() {
                return;
            }
            state = next;
        }
    }

    /// Marks the previous line as written, and blocks until there is another.
    fn next(&self) -> Next {
        let mut state = lock(&self.shared.state);
        if mem::take(&mut state.is_writing) {
            state.written += 1;
            self.shared.written.notify_all();
        }
        loop {
            if let Some(next) = state.take() {
                return next;
            }
            let filled = self.shared.filled.wait(state);
            state = filled.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl QueueState {
    /// Returns the number of lines to be written, including the one that reports the loss.
    fn waiting(&self) -> u64 {
        let last = self.is_writing as u64 + (self.lost > 0) as u64;
        self.lines.len() as u64 + last
    }

    /// Adds a line. If the queue is full the line is lost, and so are all later ones until the loss
    /// is reported.
    fn add(&mut self, line: String) {
        let has_room = self.lines.is_empty() || self.bytes + line.len() <= CAPACITY;
        if self.lost > 0 || !has_room {
            self.lost += 1;
            return;
        }
        self.bytes += line.len();
        self.lines.push_back(line);
    }

    fn take(&mut self) -> Option<Next> {
        let next = match (self.lines.pop_front(), self.lost) {
            (Some(line), _) => {
                self.bytes -= line.len();
                Next::Line(line)
            }
            (None, 0) => return None,
            (None, lost) => {
                self.lost = 0;
                Next::Lost(lost)
            }
        };
        self.is_writing = true;
        Some(next)
    }
}

#[cfg(test)]
mod tests;
