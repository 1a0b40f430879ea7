//! Faults that hit all traffic of their time: a proxy that is killed and restarted, and programs
//! that are stopped and continued.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::run::Length;
use crate::site::Site;
use support::temp::free_port;
use support::traffic::Dice;
use support::{Ptunnel, Running};

/// The address of a proxy that is killed and restarted, and the number of these changes.
pub struct Mortal {
    address: String,
    /// Odd while the proxy isn't running.
    changes: AtomicUsize,
}

impl Mortal {
    pub fn new() -> Mortal {
        Mortal {
            address: format!("127.0.0.1:{}", free_port()),
            changes: AtomicUsize::new(1),
        }
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn now(&self) -> Since<'_> {
        Since {
            mortal: self,
            changes: self.changes.load(Ordering::SeqCst),
        }
    }

    fn change(&self) {
        self.changes.fetch_add(1, Ordering::SeqCst);
    }

    fn raise(&self) -> Running {
        let proxy = Ptunnel::new().serving_on(&self.address).start();
        self.change();
        proxy
    }

    pub fn kill(&self, proxy: Running) {
        // Before the first byte is lost.
        self.change();
        drop(proxy);
    }
}

/// A moment in the life of this proxy.
pub struct Since<'a> {
    mortal: &'a Mortal,
    changes: usize,
}

impl Since<'_> {
    /// Returns whether the proxy was down then or at any time since: if not, nothing may be lost.
    pub fn was_away(&self) -> bool {
        self.changes % 2 == 1 || self.mortal.now().changes != self.changes
    }
}

/// Causes faults for a round. Returns the proxy that can be killed: its tunnels can still end
/// normally.
pub fn strike(site: &Site, length: &Length, dice: &mut Dice) -> Running {
    let start = Instant::now();
    let mut proxy = site.mortal.raise();
    loop {
        let pause = length.within(length.pause, dice);
        let left = length.round.checked_sub(start.elapsed());
        let left = left.unwrap_or_default();
        thread::sleep(left.min(pause));
        if left <= pause {
            return proxy;
        }
        match dice.below(3) {
            0 => {
                site.counters.fault("the proxy is killed");
                site.mortal.kill(proxy);
                thread::sleep(length.within(length.pause / 10, dice));
                proxy = site.mortal.raise();
            }
            1 => {
                site.counters.fault("the proxy stands still");
                stop(&site.proxy, length.within(length.pause / 5, dice));
            }
            _ => {
                site.counters.fault("the program stands still");
                stop(&site.tunnels, length.within(length.pause / 5, dice));
            }
        }
    }
}

/// Stops a program for a while, which may cost nothing but time.
fn stop(program: &Running, time: Duration) {
    program.signal(libc::SIGSTOP);
    thread::sleep(time);
    program.signal(libc::SIGCONT);
}
