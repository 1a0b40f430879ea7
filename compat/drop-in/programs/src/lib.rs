//! What the tests of programs share.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Runs `f` on a thread of its own and returns what it returns.
///
/// # Panics
///
/// If `f` panics, or hasn't returned after a minute.
pub fn within_a_minute<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, finished) = mpsc::channel();
    let thread = thread::spawn(move || {
        let _ = done.send(f());
    });
    match finished.recv_timeout(Duration::from_secs(60)) {
        Ok(value) => value,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("not done after a minute"),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            std::panic::resume_unwind(thread.join().unwrap_err())
        }
    }
}
