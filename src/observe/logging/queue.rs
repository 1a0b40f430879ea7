//! Lines on their way to somebody who may not take them: a thread waits for him, and nobody else.
//!
//! A pipe that nobody reads has room for some hundred lines, a terminal that is held for less; then
//! a write waits, and whoever writes from a reactor makes all its tunnels wait. So a line is put
//! into a queue with an end. What finds no room there is lost and counted, and once all before it is
//! written, a line in its place says how many there were.

use std::collections::VecDeque;
use std::io::Write;
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// As many bytes of lines wait at most: as many again as a pipe holds.
const ROOM: usize = 64 * 1024;

/// How long the end of the program waits for the next line to be taken.
const PATIENCE: Duration = Duration::from_secs(1);

/// Lines that a thread of their own writes. Cheap to clone.
///
/// The thread begins with the first line: as long as a process has one thread alone, glibc's recv(2)
/// and send(2) do without what makes them points of cancellation, a tenth of what carrying a small
/// message takes us.
#[derive(Clone)]
pub(super) struct Queue {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    /// The thread's, as soon as there is one.
    writer: Mutex<Writer>,
    /// There is something to write.
    filled: Condvar,
    /// A line was written.
    written: Condvar,
}

type Writer = Box<dyn FnMut(Next) + Send>;

#[derive(Default)]
struct State {
    has_thread: bool,
    lines: VecDeque<String>,
    /// Those of `lines`.
    bytes: usize,
    /// Since the last of `lines`.
    lost: u64,
    /// The thread has one in its hands.
    is_writing: bool,
    /// How many it has written.
    written: u64,
}

/// What is to be written next.
enum Next {
    Line(String),
    Lost(u64),
}

impl Queue {
    /// A queue whose thread writes each line to `out` in one piece, and in place of lines that are
    /// lost what `told` makes of their number.
    pub(super) fn new(
        mut out: impl Write + Send + 'static,
        told: impl Fn(u64) -> String + Send + 'static,
    ) -> Queue {
        let write = move |next| {
            let line = match next {
                Next::Line(line) => line,
                Next::Lost(count) => told(count),
            };
            // That there is nobody to read it is no reason to end any tunnel.
            let _ = out.write_all(line.as_bytes());
        };
        Queue {
            shared: Arc::new(Shared {
                state: Mutex::default(),
                writer: Mutex::new(Box::new(write)),
                filled: Condvar::new(),
                written: Condvar::new(),
            }),
        }
    }

    /// Begins, unless it has; where the system has no thread, lines wait until it has one.
    fn begin(&self, state: &mut State) {
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

    /// Adds a line, which ends as lines do; without room it is lost. Never waits for a writer.
    pub(super) fn push(&self, line: String) {
        let mut state = self.shared.lock();
        self.begin(&mut state);
        state.add(line);
        drop(state);
        self.shared.filled.notify_one();
    }

    /// Waits until all that was added before is written, for as long as somebody takes it.
    pub(super) fn flush(&self) {
        self.wait(PATIENCE);
    }

    /// The same, with so much patience for each line.
    fn wait(&self, patience: Duration) {
        let mut state = self.shared.lock();
        let until = state.written + state.waiting();
        if until > state.written {
            // The last chance of those for whom there was no thread.
            self.begin(&mut state);
        }
        while state.written < until {
            let written = state.written;
            let stands = |state: &mut State| state.written == written;
            let waited = self
                .shared
                .written
                .wait_timeout_while(state, patience, stands);
            let (next, waited) = waited.unwrap_or_else(PoisonError::into_inner);
            if waited.timed_out() {
                return;
            }
            state = next;
        }
    }

    /// What comes next, as soon as there is something; what came before is written.
    fn next(&self) -> Next {
        let mut state = self.shared.lock();
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

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// How many are still to be written, with the one that tells of those that are lost.
    fn waiting(&self) -> u64 {
        let last = self.is_writing as u64 + (self.lost > 0) as u64;
        self.lines.len() as u64 + last
    }

    /// Without room the line is lost, and so is each one behind it until that is told.
    fn add(&mut self, line: String) {
        let has_room = self.lines.is_empty() || self.bytes + line.len() <= ROOM;
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
mod tests {
    use std::io;
    use std::panic::resume_unwind;
    use std::sync::mpsc::{channel, sync_channel, Receiver, RecvTimeoutError, SyncSender};
    use std::time::Instant;

    use super::*;

    /// A test that may wait for ever when it fails, and fails then.
    fn in_time(test: impl FnOnce() + Send + 'static) {
        let (tell, told) = channel();
        let running = thread::spawn(move || {
            test();
            let _ = tell.send(());
        });
        let outcome = told.recv_timeout(Duration::from_secs(30));
        assert_ne!(outcome, Err(RecvTimeoutError::Timeout), "it waits for ever");
        if let Err(panic) = running.join() {
            resume_unwind(panic);
        }
    }

    /// Takes a line when the test does.
    struct Gate(SyncSender<String>);

    impl Write for Gate {
        fn write(&mut self, line: &[u8]) -> io::Result<usize> {
            let text = String::from_utf8(line.to_vec()).unwrap();
            // The test is over when it fails.
            let _ = self.0.send(text);
            Ok(line.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn start() -> (Queue, Receiver<String>) {
        let (gate, lines) = sync_channel(0);
        let told = |count| format!("{} lost\n", count);
        (Queue::new(Gate(gate), told), lines)
    }

    /// The next line: one that never comes fails the test instead of holding it up.
    fn taken(lines: &Receiver<String>) -> String {
        let patience = Duration::from_secs(20);
        lines.recv_timeout(patience).expect("a line")
    }

    fn line(number: usize) -> String {
        format!("{:>99}\n", number)
    }

    /// One line in the hands of the thread, as many as there is room for, and seven more.
    fn overfill(queue: &Queue) -> usize {
        queue.push("first\n".into());
        while !queue.shared.lock().lines.is_empty() {
            thread::yield_now();
        }
        let kept = ROOM / line(0).len();
        for number in 0..kept + 7 {
            queue.push(line(number));
        }
        kept
    }

    #[test]
    fn lines_keep_their_order_and_what_is_lost_is_counted_in_its_place() {
        in_time(|| {
            let (queue, lines) = start();
            let kept = overfill(&queue);
            assert_eq!(taken(&lines), "first\n");
            assert_eq!(taken(&lines), line(0));
            // There is room again, but this line comes after those that are lost.
            queue.push("lost, too\n".into());
            for number in 1..kept {
                assert_eq!(taken(&lines), line(number));
            }
            assert_eq!(taken(&lines), "8 lost\n");
            // There is as much room as there was before.
            for number in 0..kept {
                queue.push(line(number));
            }
            for number in 0..kept {
                assert_eq!(taken(&lines), line(number));
            }
        });
    }

    #[test]
    fn a_line_that_is_longer_than_the_queue_is_written() {
        in_time(|| {
            let (queue, lines) = start();
            let long = "x".repeat(2 * ROOM) + "\n";
            queue.push(long.clone());
            assert_eq!(taken(&lines), long);
        });
    }

    /// Is full when a line comes for the first time.
    struct Disk {
        was_full: bool,
        gate: Gate,
    }

    impl Write for Disk {
        fn write(&mut self, line: &[u8]) -> io::Result<usize> {
            if mem::replace(&mut self.was_full, true) {
                self.gate.write(line)
            } else {
                Err(io::Error::from_raw_os_error(libc::ENOSPC))
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_disk_that_was_full_takes_the_next_line() {
        in_time(|| {
            let (sender, lines) = sync_channel(0);
            let disk = Disk {
                was_full: false,
                gate: Gate(sender),
            };
            let queue = Queue::new(disk, |_| String::new());
            queue.push(line(0));
            queue.push(line(1));
            assert_eq!(taken(&lines), line(1));
        });
    }

    #[test]
    fn a_flush_waits_for_a_reader_who_is_slow() {
        in_time(|| {
            let (queue, lines) = start();
            for number in 0..3 {
                queue.push(line(number));
            }
            let reading = thread::spawn(move || {
                let slowly = |_| {
                    thread::sleep(PATIENCE / 2);
                    taken(&lines)
                };
                (0..3).map(slowly).collect::<Vec<String>>()
            });
            queue.flush();
            assert_eq!(queue.shared.lock().waiting(), 0);
            assert_eq!(reading.join().unwrap(), [line(0), line(1), line(2)]);
        });
    }

    #[test]
    fn a_flush_waits_for_the_count_of_what_is_lost() {
        in_time(|| {
            let (queue, lines) = start();
            let kept = overfill(&queue);
            let reading = thread::spawn(move || {
                for _ in 0..=kept {
                    taken(&lines);
                }
                thread::sleep(PATIENCE / 2);
                taken(&lines)
            });
            queue.flush();
            assert!(!queue.shared.lock().is_writing, "it is not written yet");
            assert_eq!(reading.join().unwrap(), "7 lost\n");
        });
    }

    #[test]
    fn a_flush_gives_up_when_nobody_reads() {
        in_time(|| {
            let (queue, _lines) = start();
            queue.push(line(0));
            let start = Instant::now();
            queue.flush();
            assert!(start.elapsed() >= PATIENCE);
            assert_eq!(queue.shared.lock().waiting(), 1);
        });
    }

    /// Lines that come one by one, each to a thread that waits for it.
    #[test]
    fn a_flush_hears_that_the_last_line_is_written() {
        in_time(|| {
            let (queue, lines) = start();
            let reading = thread::spawn(move || {
                for _ in 0..5 {
                    thread::sleep(Duration::from_millis(20));
                    taken(&lines);
                }
            });
            for number in 0..5 {
                queue.push(line(number));
                queue.wait(Duration::from_secs(3600));
            }
            assert_eq!(queue.shared.lock().written, 5);
            reading.join().unwrap();
        });
    }

    #[test]
    fn a_flush_of_nothing_is_done_at_once() {
        in_time(|| {
            let (queue, _lines) = start();
            let start = Instant::now();
            queue.flush();
            assert!(start.elapsed() < PATIENCE);
        });
    }

    /// The system had no thread for them when they came.
    #[test]
    fn a_flush_has_lines_written_that_wait_for_a_thread() {
        in_time(|| {
            let (queue, lines) = start();
            queue.shared.lock().add(line(0));
            let reading = thread::spawn(move || taken(&lines));
            queue.wait(Duration::from_secs(3600));
            assert_eq!(queue.shared.lock().written, 1);
            assert_eq!(reading.join().unwrap(), line(0));
        });
    }

    /// A second signal ends the program while its other threads go on.
    #[test]
    fn a_flush_waits_for_no_line_that_comes_later() {
        in_time(|| {
            let (queue, lines) = start();
            queue.push(line(0));
            let later = queue.clone();
            thread::spawn(move || {
                for text in lines.iter().take(500) {
                    later.push(text);
                    thread::sleep(Duration::from_millis(20));
                }
            });
            let start = Instant::now();
            queue.flush();
            assert!(start.elapsed() < Duration::from_secs(5));
        });
    }
}
