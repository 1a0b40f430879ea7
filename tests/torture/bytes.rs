//! Random traffic over the whole path: client, ptunnel, a real proxy, origin.
//!
//! Sizes are random up to the largest, so each direction moves between copying and splicing, in two
//! programs at the same time. `PTUNNEL_SEED` repeats a run.

use std::thread::{self, JoinHandle};

use crate::scale::scale;
use support::ends::Gate;
use support::parts::Squid;
use support::traffic::{self, Dice, End, Plan};
use support::{Connection, Pattern, Ptunnel, Running};

const MIB: u64 = 1 << 20;
/// Number of concurrent tunnels.
const GROUP: u64 = 4;

#[test]
fn every_byte_and_end_arrives_through_the_embedded_proxy() {
    for &(tunnel, proxy) in settings() {
        let seed = traffic::seed();
        let mut dice = Dice::new(seed);
        let origin = Gate::open();
        let serving = Ptunnel::new().serving().args(&["--splice", proxy]).start();
        let program = Ptunnel::through(serving.proxy())
            .to(origin.address())
            .args(&["--splice", tunnel])
            .start();
        for first in (0..scale(16, 80)).step_by(GROUP as usize) {
            let runs: Vec<_> = (first..first + GROUP)
                .map(|number| {
                    let sides = join(&program, &origin);
                    let mut dice = dice.fork();
                    let plans = plans(number, &mut dice);
                    let run = move || traffic::exchange(number, sides, plans, &mut dice);
                    (number, plans, thread::spawn(run))
                })
                .collect();
            for (number, plans, run) in runs {
                if run.join().is_err() {
                    panic!(
                        "tunnel {} of PTUNNEL_SEED={}, --splice {} before {}: {:?}",
                        number, seed, tunnel, proxy, plans
                    );
                }
            }
        }
    }
}

/// Returns `--splice` of the tunnel, and of the proxy behind it.
fn settings() -> &'static [(&'static str, &'static str)] {
    let all = &[
        ("auto", "auto"),
        ("always", "never"),
        ("never", "always"),
        ("always", "always"),
        ("never", "never"),
    ];
    &all[..scale(2, all.len())]
}

/// The first tunnel is full in both directions. Of the others, as many carry about a kilobyte as
/// carry about ten megabytes, and two of ten are reset.
fn plans(number: u64, dice: &mut Dice) -> (Plan, Plan) {
    let largest = scale(32 * MIB, 256 * MIB);
    let (client, server) = match dice.below(10) {
        _ if number == 0 => (End::Orderly, End::Orderly),
        0 => (End::Reset, End::Orderly),
        1 => (End::Orderly, End::Reset),
        _ => (End::Orderly, End::Orderly),
    };
    let mut plan = |end| {
        let bound = largest >> dice.below(25);
        let bytes = match number {
            0 => largest,
            _ => dice.below(bound + 1),
        };
        Plan { bytes, end }
    };
    (plan(client), plan(server))
}

/// Squid passes on neither a half-close nor a reset, so each side knows how many bytes will arrive.
#[test]
fn every_byte_arrives_through_squid() {
    let mut dice = Dice::new(traffic::seed());
    let (squid, origin) = (Squid::start(None), Gate::open());
    let program = Ptunnel::through(squid.address())
        .to(origin.address())
        .start();
    for number in 0..scale(8, 40) {
        let (mut client, mut server) = join(&program, &origin);
        let (up, down) = plans(number, &mut dice);
        let sending = vec![
            send(&client, number, up.bytes),
            send(&server, number + 1, down.bytes),
        ];
        let receiving = thread::spawn(move || {
            Pattern::new(number).read(&mut server, up.bytes);
            server
        });
        Pattern::new(number + 1).read(&mut client, down.bytes);
        let mut server = receiving.join().expect("all bytes, as they were sent");
        for thread in sending {
            thread.join().expect("all is sent");
        }
        client.finish_sending();
        server.expect_end();
    }
}

fn join(program: &Running, origin: &Gate) -> (Connection, Connection) {
    (program.connect(), origin.accept())
}

fn send(to: &Connection, seed: u64, bytes: u64) -> JoinHandle<()> {
    let mut to = to.handle();
    thread::spawn(move || {
        Pattern::new(seed)
            .write(&mut to, bytes)
            .expect("a connection")
    })
}
