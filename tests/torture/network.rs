//! A bad network changes nothing but time.
//!
//! The program is alone in one network; clients, proxy and origin are in another, and everything
//! between them crosses one cable twice. Its faults are made in this process, without `tc netem` or
//! a firewall; what only the kernel's queues do isn't tested here.

use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::cable::{Cable, Weather};
use crate::scale::scale;
use support::ends::Gate;
use support::namespace::Namespace;
use support::traffic::{self, Dice, End, Plan};
use support::{eventually, Ptunnel, Running};

const TUNNELS: u64 = 3;

/// Two networks with a cable between them, and all peers that a tunnel needs.
struct Rig {
    far: Namespace,
    cable: Cable,
    origin: Gate,
    program: Running,
    _proxy: Running,
    dice: Dice,
}

impl Rig {
    fn start(weather: Weather, mtu: u32) -> Rig {
        let mut dice = Dice::new(traffic::seed());
        let (near, far) = (Namespace::new(), Namespace::new());
        let cable = Cable::lay(
            near.interface("10.77.0.1/24", mtu),
            far.interface("10.77.0.2/24", mtu),
            weather,
            &mut dice,
        );
        // Retransmissions take a long time.
        let patient = ["--connect-timeout", "60", "--handshake-timeout", "60"];
        let (origin, proxy) = far.run(|| {
            let proxy = Ptunnel::new()
                .serving_on("10.77.0.2:0")
                .args(&["--serve-allow", "10.77.0.2"])
                .args(&patient);
            (Gate::on("10.77.0.2:0"), proxy.start())
        });
        let program = near.run(|| {
            let program = Ptunnel::through(proxy.proxy()).args(&patient);
            program
                .tunnel(&format!("10.77.0.1:0:{}", origin.address()))
                .args(&["--allow-from", "10.77.0.2"])
                .start()
        });
        Rig {
            far,
            cable,
            origin,
            program,
            _proxy: proxy,
            dice,
        }
    }

    /// Starts a few concurrent tunnels that carry this many bytes in each direction, each checked
    /// in its own thread.
    fn begin(&mut self, bytes: u64) -> Vec<JoinHandle<()>> {
        let end = End::Orderly;
        let plans = (Plan { bytes, end }, Plan { bytes, end });
        let begin = |number| {
            let client = self.far.run(|| self.program.connect());
            let sides = (client, self.origin.accept());
            let mut dice = self.dice.fork();
            thread::spawn(move || traffic::exchange(number, sides, plans, &mut dice))
        };
        (0..TUNNELS).map(begin).collect()
    }

    /// Waits until all have arrived.
    fn end(&self, work: Vec<JoinHandle<()>>) {
        for thread in work {
            thread.join().expect("every byte and every end");
        }
        assert_eq!(self.program.stderr(), "");
    }

    fn carry(&mut self, bytes: u64) {
        let work = self.begin(bytes);
        self.end(work);
    }
}

const USUAL_MTU: u32 = 1500;

#[test]
fn delay_changes_nothing_but_time() {
    let delay = Duration::from_millis(100);
    let mut rig = Rig::start(
        Weather {
            delay,
            ..Weather::fair()
        },
        USUAL_MTU,
    );
    let start = Instant::now();
    rig.carry(scale(1 << 20, 16 << 20));
    assert!(start.elapsed() > delay * 4, "{:?}", start.elapsed());
}

#[test]
fn loss_changes_nothing_but_time() {
    let weather = Weather {
        lost: 3,
        ..Weather::fair()
    };
    let mut rig = Rig::start(weather, USUAL_MTU);
    rig.carry(scale(1 << 20, 16 << 20));
    let [lost, _, _] = rig.cable.faults();
    assert!(lost > 20, "{} lost", lost);
}

#[test]
fn reordering_and_duplicates_change_nothing_but_time() {
    let weather = Weather {
        doubled: 10,
        overtaken: 10,
        delay: Duration::from_millis(5),
        ..Weather::fair()
    };
    let mut rig = Rig::start(weather, USUAL_MTU);
    rig.carry(scale(2 << 20, 32 << 20));
    let [_, doubled, overtaken] = rig.cable.faults();
    assert!(doubled > 50, "{} doubled", doubled);
    assert!(overtaken > 50, "{} overtaken", overtaken);
}

#[test]
fn a_line_of_one_megabit_changes_nothing_but_time() {
    let weather = Weather {
        bits_per_second: Some(1_000_000),
        ..Weather::fair()
    };
    let mut rig = Rig::start(weather, USUAL_MTU);
    let bytes = scale(64 << 10, 1 << 20);
    let start = Instant::now();
    rig.carry(bytes);
    // The clients' bytes cross the cable towards the program, and so do the origin's.
    let least = Duration::from_micros(TUNNELS * 2 * bytes * 8);
    assert!(
        start.elapsed() > least,
        "{:?} of {:?}",
        start.elapsed(),
        least
    );
}

#[test]
fn packets_of_576_bytes_change_nothing_but_time() {
    let mut rig = Rig::start(Weather::fair(), 576);
    rig.carry(scale(4 << 20, 64 << 20));
}

#[test]
fn everything_at_once_changes_nothing_but_time() {
    let weather = Weather {
        delay: Duration::from_millis(20),
        lost: 1,
        doubled: 2,
        overtaken: 2,
        bits_per_second: Some(8_000_000),
    };
    let mut rig = Rig::start(weather, 576);
    rig.carry(scale(256 << 10, 4 << 20));
}

/// The cable sends no notification: for the program the other side is just silent.
#[test]
fn an_interrupted_cable_changes_nothing_but_time() {
    let weather = Weather {
        bits_per_second: Some(8_000_000),
        ..Weather::fair()
    };
    let mut rig = Rig::start(weather, USUAL_MTU);
    let bytes = 512 << 10;
    let work = rig.begin(bytes);
    eventually("a part is carried", || rig.cable.bytes() > bytes);
    rig.cable.cut();
    let before = rig.cable.faults()[0];
    thread::sleep(scale(Duration::from_secs(3), Duration::from_secs(20)));
    assert!(rig.cable.faults()[0] > before, "nothing was on its way");
    rig.cable.mend();
    rig.end(work);
}
