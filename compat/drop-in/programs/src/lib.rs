//! What the tests of programs share.

use std::env;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

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

/// A program that listens on a port of 127.0.0.1, and is killed on drop.
pub struct Daemon {
    address: SocketAddr,
    child: Child,
}

impl Daemon {
    /// Starts `program`, which lies in `PATH` or an `sbin`, with the arguments that `args` gives for a
    /// free port, and returns once a TCP connection is accepted there. Takes another port when the
    /// program ends instead: something else has taken the first.
    ///
    /// # Panics
    ///
    /// If the program isn't there, or doesn't listen after three attempts of ten seconds.
    pub fn start(program: &str, args: impl Fn(u16) -> Vec<String>) -> Daemon {
        let path = env::var("PATH").unwrap_or_default() + ":/usr/local/sbin:/usr/sbin:/sbin";
        let mut tried = Vec::new();
        for _ in 0..3 {
            let free = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = free.local_addr().unwrap();
            drop(free);
            // setpriv has it killed with the test's thread, too: nothing is dropped after a timeout.
            let mut command = Command::new("setpriv");
            command.args(["--pdeathsig", "KILL", program]);
            command.env("PATH", &path).args(args(address.port()));
            command.stdin(Stdio::null()).stdout(Stdio::null());
            // microsocks logs each connection there.
            let child = command.stderr(Stdio::null()).spawn();
            let child = child.unwrap_or_else(|error| panic!("setpriv: {error}"));
            let mut daemon = Daemon { address, child };
            if daemon.listens() {
                return daemon;
            }
            tried.push(command);
        }
        panic!("this doesn't listen; run tests/setup, then it by hand to see why: {tried:#?}");
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    fn listens(&mut self) -> bool {
        let end = Instant::now() + Duration::from_secs(10);
        while Instant::now() < end && self.child.try_wait().unwrap().is_none() {
            if TcpStream::connect(self.address).is_ok() {
                return true;
            }
            thread::sleep(Duration::from_millis(5));
        }
        false
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts dnsmasq, over UDP and TCP, with `records` (its options) and no other name.
pub fn dnsmasq(records: Vec<String>) -> Daemon {
    Daemon::start("dnsmasq", |port| {
        // The empty ones: its own user, and no file for its id.
        let options = [
            "--keep-in-foreground",
            "--conf-file=/dev/null",
            "--user=",
            "--pid-file=",
            "--no-resolv",
            "--no-hosts",
            "--local=/test/",
            "--listen-address=127.0.0.1",
            "--bind-interfaces",
        ];
        let options = options.into_iter().map(str::to_owned);
        options
            .chain([format!("--port={port}")])
            .chain(records.iter().cloned())
            .collect()
    })
}
