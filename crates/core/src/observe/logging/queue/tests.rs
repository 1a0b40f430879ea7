use std::io;
use std::panic::resume_unwind;
use std::sync::mpsc::{channel, sync_channel, Receiver, RecvTimeoutError, SyncSender};
use std::time::Instant;

use super::*;

/// Fails a test that doesn't end within 30 seconds.
fn in_time(test: impl FnOnce() + Send + 'static) {
    let (done, is_done) = channel();
    let running = thread::spawn(move || {
        test();
        let _ = done.send(());
    });
    let outcome = is_done.recv_timeout(Duration::from_secs(30));
    assert_ne!(outcome, Err(RecvTimeoutError::Timeout), "it waits for ever");
    if let Err(panic) = running.join() {
        resume_unwind(panic);
    }
}

/// A writer that accepts a line when the test reads it.
struct Gate(SyncSender<String>);

impl Write for Gate {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8(line.to_vec()).unwrap();
        // Fails once the test is over.
        let _ = self.0.send(text);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn start() -> (LogQueue, Receiver<String>) {
    let (gate, lines) = sync_channel(0);
    let lost = |count| format!("{} lost\n", count);
    (LogQueue::new(Gate(gate), lost), lines)
}

/// Reads the next line; panics when none comes in time.
fn next_line(lines: &Receiver<String>) -> String {
    let timeout = Duration::from_secs(20);
    lines.recv_timeout(timeout).expect("a line")
}

fn line(number: usize) -> String {
    format!("{:>99}\n", number)
}

/// Adds one line that the thread takes, then as many as the queue holds, then seven more.
fn overfill(queue: &LogQueue) -> usize {
    queue.push("first\n".into());
    while !lock(&queue.shared.state).lines.is_empty() {
        thread::yield_now();
    }
    let kept = CAPACITY / line(0).len();
    for number in 0..kept + 7 {
        queue.push(line(number));
    }
    kept
}

#[test]
fn lines_keep_their_order_and_lost_lines_are_counted_in_their_place() {
    in_time(|| {
        let (queue, lines) = start();
        let kept = overfill(&queue);
        assert_eq!(next_line(&lines), "first\n");
        assert_eq!(next_line(&lines), line(0));
        // There is room again, but this line comes after the lost ones.
        queue.push("lost, too\n".into());
        for number in 1..kept {
            assert_eq!(next_line(&lines), line(number));
        }
        assert_eq!(next_line(&lines), "8 lost\n");
        // The queue has as much room as before.
        for number in 0..kept {
            queue.push(line(number));
        }
        for number in 0..kept {
            assert_eq!(next_line(&lines), line(number));
        }
    });
}

#[test]
fn a_line_that_is_longer_than_the_queue_is_written() {
    in_time(|| {
        let (queue, lines) = start();
        let long = "x".repeat(2 * CAPACITY) + "\n";
        queue.push(long.clone());
        assert_eq!(next_line(&lines), long);
    });
}

/// A writer that fails the first write with ENOSPC.
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
        let queue = LogQueue::new(disk, |_| String::new());
        queue.push(line(0));
        queue.push(line(1));
        assert_eq!(next_line(&lines), line(1));
    });
}

#[test]
fn a_flush_waits_for_a_slow_reader() {
    in_time(|| {
        let (queue, lines) = start();
        for number in 0..3 {
            queue.push(line(number));
        }
        let reading = thread::spawn(move || {
            let slowly = |_| {
                thread::sleep(FLUSH_TIMEOUT / 2);
                next_line(&lines)
            };
            (0..3).map(slowly).collect::<Vec<String>>()
        });
        queue.flush();
        assert_eq!(lock(&queue.shared.state).waiting(), 0);
        assert_eq!(reading.join().unwrap(), [line(0), line(1), line(2)]);
    });
}

#[test]
fn a_flush_waits_for_the_count_of_lost_lines() {
    in_time(|| {
        let (queue, lines) = start();
        let kept = overfill(&queue);
        let reading = thread::spawn(move || {
            for _ in 0..=kept {
                next_line(&lines);
            }
            thread::sleep(FLUSH_TIMEOUT / 2);
            next_line(&lines)
        });
        queue.flush();
        assert!(
            !lock(&queue.shared.state).is_writing,
            "it is not written yet"
        );
        assert_eq!(reading.join().unwrap(), "7 lost\n");
    });
}

#[test]
fn a_flush_gives_up_without_a_reader() {
    in_time(|| {
        let (queue, _lines) = start();
        queue.push(line(0));
        let start = Instant::now();
        queue.flush();
        assert!(start.elapsed() >= FLUSH_TIMEOUT);
        assert_eq!(lock(&queue.shared.state).waiting(), 1);
    });
}

/// Lines are written one by one, each while the flush waits.
#[test]
fn a_flush_returns_once_the_last_line_is_written() {
    in_time(|| {
        let (queue, lines) = start();
        let reading = thread::spawn(move || {
            for _ in 0..5 {
                thread::sleep(Duration::from_millis(20));
                next_line(&lines);
            }
        });
        for number in 0..5 {
            queue.push(line(number));
            queue.wait(Duration::from_secs(3600));
        }
        assert_eq!(lock(&queue.shared.state).written, 5);
        reading.join().unwrap();
    });
}

#[test]
fn a_flush_of_an_empty_queue_returns_at_once() {
    in_time(|| {
        let (queue, _lines) = start();
        let start = Instant::now();
        queue.flush();
        assert!(start.elapsed() < FLUSH_TIMEOUT);
    });
}

/// No thread could be started when the lines were added.
#[test]
fn a_flush_starts_the_missing_thread() {
    in_time(|| {
        let (queue, lines) = start();
        lock(&queue.shared.state).add(line(0));
        let reading = thread::spawn(move || next_line(&lines));
        queue.wait(Duration::from_secs(3600));
        assert_eq!(lock(&queue.shared.state).written, 1);
        assert_eq!(reading.join().unwrap(), line(0));
    });
}

/// A second signal ends the program while its other threads continue to log.
#[test]
fn a_flush_ignores_lines_that_come_later() {
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
