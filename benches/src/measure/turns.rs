//! The order in which peers take turns: drawn again for each round, from a seed that the results record.

use std::time::{SystemTime, UNIX_EPOCH};

/// Draws one order after the other; the same seed draws the same ones.
#[derive(Debug)]
pub struct Turns(u64);

impl Turns {
    pub fn new(seed: u64) -> Turns {
        Turns(seed)
    }

    /// The order of the next round: every one of `n!` is as likely as any other.
    pub fn round(&mut self, peers: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..peers).collect();
        for last in (1..peers).rev() {
            order.swap(last, self.below(last + 1));
        }
        order
    }

    /// A number below `count`. What the modulus prefers is less than one draw in a billion billions.
    fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    /// splitmix64: unlike a shift register it has no bad seed.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// A random seed.
pub fn seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    // Short enough to be typed, and for readers of JSON that know only floating point.
    since.unwrap_or_default().as_micros() as u64 % 1_000_000_007
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEERS: usize = 6;
    const ROUNDS: usize = 3_000;

    fn rounds(seed: u64) -> Vec<Vec<usize>> {
        let mut turns = Turns::new(seed);
        (0..ROUNDS).map(|_| turns.round(PEERS)).collect()
    }

    #[test]
    fn everyone_has_a_turn_in_each_round() {
        for mut order in rounds(1) {
            order.sort_unstable();
            assert_eq!(order, [0, 1, 2, 3, 4, 5]);
        }
        assert!(Turns::new(1).round(0).is_empty());
        assert_eq!(Turns::new(1).round(1), [0]);
    }

    /// 500 are expected of each, with a standard deviation of 20.
    #[test]
    fn everyone_begins_equally_often_and_follows_each_other_one_equally_often() {
        let is_fair = |count: usize| (400..600).contains(&count);
        let rounds = rounds(42);
        for one in 0..PEERS {
            let first = rounds.iter().filter(|order| order[0] == one).count();
            assert!(is_fair(first), "{one} begins {first} rounds");
            for other in (0..PEERS).filter(|&other| other != one) {
                let follows = |order: &&Vec<usize>| order.windows(2).any(|w| w == [other, one]);
                let count = rounds.iter().filter(follows).count();
                assert!(is_fair(count), "{one} follows {other} in {count} rounds");
            }
        }
    }

    #[test]
    fn a_seed_repeats_its_rounds_and_another_has_others() {
        assert_eq!(rounds(7), rounds(7));
        assert_ne!(rounds(7), rounds(8));
    }
}
