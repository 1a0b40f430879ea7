//! A proxy that is killed and restarted, and a clock that goes backwards.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::scale::scale;
use support::temp::free_port;
use support::{eventually, parts, sys};
use support::{Connection, Pattern, Peer, Ptunnel, Running, TempDir};

/// Number of transfers that must succeed, however many fail.
const TRANSFERS: usize = 1000;
const AT_ONCE: usize = 16;

/// The results of all transfers so far.
#[derive(Default)]
struct Score {
    begun: AtomicUsize,
    whole: AtomicUsize,
    torn: AtomicUsize,
}

impl Score {
    fn whole(&self) -> usize {
        self.whole.load(Ordering::SeqCst)
    }

    /// Sends `size` bytes to an echo, and checks each byte that returns: if the proxy was killed
    /// there can be too few, but never a wrong one.
    fn transfer(&self, tunnel: SocketAddr, pattern: &Pattern, size: usize) {
        self.begun.fetch_add(1, Ordering::SeqCst);
        let mut client = Connection::open(tunnel);
        let mut sender = client.handle();
        let bytes = pattern.take(size);
        let sending = thread::spawn(move || {
            if sender.try_send(&bytes).is_ok() {
                sender.finish_sending();
            }
        });
        let mut buffer = vec![0; 65_536];
        let mut count = 0;
        let end = loop {
            match std::io::Read::read(&mut client, &mut buffer) {
                Ok(0) => break true,
                Ok(more) => {
                    pattern.check(count as u64, &buffer[..more]);
                    count += more;
                }
                Err(_) => break false,
            }
        };
        assert!(count <= size, "{} bytes of {}", count, size);
        let outcome = if end && count == size {
            &self.whole
        } else {
            &self.torn
        };
        outcome.fetch_add(1, Ordering::SeqCst);
        let _ = client.stream().shutdown(std::net::Shutdown::Both);
        sending.join().unwrap();
    }
}

/// Runs transfers until `wanted` have succeeded; `meanwhile` is called repeatedly.
fn transfer_all(
    program: &Running,
    wanted: usize,
    size: usize,
    mut meanwhile: impl FnMut(&Score),
) -> Arc<Score> {
    let score = Arc::new(Score::default());
    let tunnel = program.address();
    let start = Instant::now();
    let workers: Vec<_> = (0..AT_ONCE)
        .map(|number| {
            let score = score.clone();
            thread::spawn(move || {
                let pattern = Pattern::new(number as u64 + 1);
                while score.whole() < wanted {
                    assert!(
                        start.elapsed() < Duration::from_secs(600),
                        "it takes too long"
                    );
                    score.transfer(tunnel, &pattern, size);
                }
            })
        })
        .collect();
    while score.whole() < wanted && start.elapsed() < Duration::from_secs(600) {
        meanwhile(&score);
    }
    for worker in workers {
        worker.join().expect("each byte is right");
    }
    score
}

/// Returns the number of descriptors without the ends of idle pipes that are kept for the next bulk
/// transfer.
fn sockets(program: &Running) -> usize {
    let process = program.process();
    process.descriptors() - process.pipe_ends()
}

#[test]
fn a_killed_proxy_loses_only_its_own_tunnels() {
    let origin = Peer::start(|mut connection| connection.echo());
    let port = free_port();
    let start_proxy = || {
        Ptunnel::new()
            .serving_on(&format!("127.0.0.1:{}", port))
            .start()
    };
    let program = Ptunnel::through(format!("127.0.0.1:{}", port))
        .to(origin.address())
        .start();
    let before = sockets(&program);
    let size = scale(256 << 10, 4 << 20);

    let proxy = start_proxy();
    let calm = transfer_all(&program, 100, size, |_| {
        thread::sleep(Duration::from_millis(5))
    });
    assert_eq!(calm.torn.load(Ordering::SeqCst), 0);
    drop(proxy);

    let mut kills = 0;
    let score = transfer_all(&program, TRANSFERS, size, |score| {
        let proxy = start_proxy();
        let aim = score.whole() + TRANSFERS / 20;
        eventually("transfers", || score.whole() >= aim.min(TRANSFERS));
        // With SIGKILL.
        drop(proxy);
        kills += 1;
    });
    let torn = score.torn.load(Ordering::SeqCst);
    assert!(
        kills >= 10 && torn >= kills,
        "{} kills, {} torn",
        kills,
        torn
    );

    // A runtime can open a few with its first clients; one lost with each kill would be 20.
    eventually("about as few descriptors as before", || {
        sockets(&program) <= before + 8
    });
    let _proxy = start_proxy();
    let after = transfer_all(&program, 100, size, |_| {
        thread::sleep(Duration::from_millis(5))
    });
    assert_eq!(after.torn.load(Ordering::SeqCst), 0, "{}", program.stderr());
    program.signal(sys::SIGTERM);
    let finished = program.finish();
    finished.expect_code(0);
    assert!(!finished.stderr.contains("panicked"), "{}", finished.stderr);
    assert!(
        !finished.stderr.contains("still open"),
        "{}",
        finished.stderr
    );
}

/// Time namespaces don't cover this clock, and only the machine's owner can set it. So a preloaded
/// library replaces the C library's functions that read it.
const BACKWARDS: &str = "
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long looks;

int clock_gettime(clockid_t clock, struct timespec *now) {
    long answer = syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
        now->tv_sec -= 3600 * __sync_add_and_fetch(&looks, 1);
    return answer;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *seconds) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (seconds) *seconds = exact.tv_sec;
    return exact.tv_sec;
}
";

/// Returns the times in a log, in the order of its lines.
fn times(log: &str) -> Vec<&str> {
    const NAME: &str = "\"time\":\"";
    log.lines()
        .filter_map(|line| line[line.find(NAME)? + NAME.len()..].split('"').next())
        .collect()
}

/// Checks that the clock ran backwards: otherwise nothing was tested.
#[track_caller]
fn assert_backwards(log: &str) {
    let times = times(log);
    let is_backwards = times.windows(2).all(|pair| pair[1] < pair[0]);
    assert!(times.len() > 1 && is_backwards, "{:?}", times);
}

#[test]
fn a_clock_that_runs_backwards_changes_no_time_limit() {
    let folder = TempDir::new();
    let library = parts::preloadable(&folder, BACKWARDS);

    let proxy = Peer::granting(|mut connection| {
        let kind = connection.receive(1);
        connection.send(&kind);
        match kind[0] {
            b'e' => connection.echo(),
            _ => connection.drain(),
        }
    });
    let silent = Peer::proxy(|mut connection| connection.drain());
    let start = |proxy: &Peer| {
        Ptunnel::through(proxy.address())
            .to("example.org:22")
            .args(&["--idle-timeout", "2", "--handshake-timeout", "2"])
            .args(&["-v", "--log-format", "json"])
            .env("LD_PRELOAD", &library)
            .start()
    };
    let program = start(&proxy);
    let begin = Instant::now();
    let mut moving = program.connect();
    let mut idle = program.connect();
    moving.send("e");
    moving.expect("e");
    idle.send("i");
    idle.expect("i");
    while idle.is_quiet() {
        moving.send("?");
        moving.expect("?");
        thread::sleep(Duration::from_millis(20));
        assert!(begin.elapsed() < Duration::from_secs(20), "it is never cut");
    }
    assert!(
        begin.elapsed() >= Duration::from_secs(2),
        "{:?}",
        begin.elapsed()
    );
    idle.expect_nothing();
    moving.send("!");
    moving.expect("!");
    program.signal(sys::SIGTERM);
    drop(moving);
    let finished = program.finish();
    finished.expect_code(0);
    assert_backwards(&finished.stderr);

    let program = start(&silent);
    let begin = Instant::now();
    program.connect().expect_end();
    let waited = begin.elapsed();
    assert!(
        waited >= Duration::from_secs(2) && waited < Duration::from_secs(20),
        "{:?}",
        waited
    );
    program.says(&["no reply"]);
    assert_backwards(&program.stderr());
}
