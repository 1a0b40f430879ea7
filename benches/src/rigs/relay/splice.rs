//! Calls that copy bulk, and whether a relay moves it with splice(2) as its entry says: strace counts a transfer each
//! way and one twice as long.

use std::io;

use super::side::Side;
use crate::load::sockets::client;
use crate::load::transfer::transfer;
use crate::peers::Found;
use crate::report::results::Part;
use crate::rigs::{lives, Bench, Taken};
use crate::tools::strace::moves_bytes;

/// What is moved down and then up in the shorter life.
const MIB: u64 = 32;

pub fn sample(bench: &Bench, peer: &Found) -> io::Result<Taken> {
    let counted = lives::calls(bench, MIB, 2, &|under, mib| {
        let side = Side::start_under(bench, peer, under, false)?;
        lives::until_closed(side.relay.id, bench, || {
            let stream = client(side.relay.listen, 0)?;
            transfer(&stream, mib << 20, 0, &bench.pattern)?;
            transfer(&stream, 0, mib << 20, &bench.pattern)
        })?;
        side.relay.end()
    })?;
    let (_, parts) = counted.parts.unwrap_or_default();
    let (spliced, copied) = spliced_and_copied(&parts);
    if peer.spec.splice == (spliced > copied) {
        return Ok(Taken::values(vec![("bulk-copies", copied)]));
    }
    bench.mislabelled(peer);
    Err(io::Error::other(format!(
        "its entry has splice = {}, and a MiB of bulk takes {spliced:.1} calls of splice(2) and {copied:.1} that copy",
        peer.spec.splice
    )))
}

/// Calls of splice(2), and others that move bytes.
fn spliced_and_copied(parts: &[Part]) -> (f64, f64) {
    let moving = parts.iter().filter(|part| moves_bytes(&part.name));
    let (spliced, copied): (Vec<&Part>, Vec<&Part>) = moving.partition(|p| p.name == "splice");
    let sum = |parts: Vec<&Part>| parts.iter().fold(0.0, |sum, part| sum + part.value);
    (sum(spliced), sum(copied))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_copies_unless_it_splices_or_moves_nothing() {
        let part = |name: &str, value| Part {
            name: name.to_string(),
            value,
        };
        let parts = [
            part("recvfrom", 3.0),
            part("splice", 8.0),
            part("sendto", 2.0),
            part("epoll_wait", 9.0),
        ];
        assert_eq!(spliced_and_copied(&parts), (8.0, 5.0));
    }
}
