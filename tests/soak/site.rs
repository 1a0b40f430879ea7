//! All programs of a run: ptunnel four times, each before another kind of proxy, and once as a
//! proxy.

use crate::counters::Counters;
use crate::faults::Mortal;
use crate::hostile::{self, Habit, HABITS};
use crate::origin::Origin;
use support::parts::Squid;
use support::{closed_address, sys, Peer, Process, Ptunnel, Running};

/// Number of tunnels through the permanent proxy that lead to the origin; one more leads nowhere.
pub const DOORS: usize = 3;

pub struct Site {
    pub counters: Counters,
    pub origin: Origin,
    pub mortal: Mortal,
    /// The embedded proxy, which runs for the whole test.
    pub proxy: Running,
    /// The program with tunnels through that proxy.
    pub tunnels: Running,
    /// The program on two threads, through a proxy that is killed now and then.
    pub threads: Running,
    pub squid: Running,
    pub hostile: Running,
    _squid: Squid,
    _hostile: Peer,
}

/// A measured program, and its name in the record.
pub struct Watched {
    pub name: &'static str,
    pub process: Process,
}

impl Site {
    pub fn open() -> Site {
        let origin = Origin::open();
        let mortal = Mortal::new();
        let proxy = Ptunnel::new().serving().start();
        // glibc keeps free heap memory below any allocation that stays in use: up to 1.5 MiB for
        // rung r5, which has the largest tunnel states. With this setting it returns allocations of
        // their size at once, so that the measurement shows the memory in use.
        let mut tunnels = Ptunnel::through(proxy.proxy()).env("MALLOC_MMAP_THRESHOLD_", "1024");
        for _ in 0..DOORS {
            tunnels = tunnels.to(origin.address());
        }
        let threads = Ptunnel::through(mortal.address()).args(&["--threads", "2"]);
        let squid = Squid::start(None);
        let peer = hostile::start(origin.address());
        let mut hostile = Ptunnel::through(peer.address()).args(&["--handshake-timeout", "5"]);
        for habit in HABITS {
            hostile = hostile.to(habit.destination());
        }
        Site {
            counters: Counters::default(),
            tunnels: tunnels.to(closed_address()).start(),
            threads: threads.to(origin.address()).start(),
            squid: Ptunnel::through(squid.address())
                .to(origin.address())
                .start(),
            hostile: hostile.start(),
            origin,
            mortal,
            proxy,
            _squid: squid,
            _hostile: peer,
        }
    }

    pub fn door_of(habit: Habit) -> usize {
        let place = HABITS.iter().position(|each| *each == habit);
        place.expect("one of them")
    }

    pub fn programs(&self) -> Vec<(&'static str, &Running)> {
        vec![
            ("tunnels", &self.tunnels),
            ("proxy", &self.proxy),
            ("two threads", &self.threads),
            ("before squid", &self.squid),
            ("before a bad proxy", &self.hostile),
        ]
    }

    pub fn watched(&self) -> Vec<Watched> {
        let programs = self.programs().into_iter();
        programs
            .map(|(name, program)| Watched {
                name,
                process: program.process(),
            })
            .collect()
    }

    /// Ends all programs in order: the drain would report a leaked task.
    pub fn close(self) -> Vec<String> {
        let Site {
            tunnels,
            proxy,
            threads,
            squid,
            hostile,
            ..
        } = self;
        let mut failures = Vec::new();
        for program in vec![tunnels, threads, squid, hostile, proxy] {
            program.signal(sys::SIGTERM);
            let finished = program.finish();
            let told = &finished.stderr;
            if finished.status.code() != Some(0) {
                failures.push(format!("a program ended with {}", finished.status));
            }
            for word in &["panicked", "still open"] {
                if let Some(line) = told.lines().find(|line| line.contains(word)) {
                    failures.push(format!("a program says: {}", line));
                }
            }
        }
        failures
    }
}
