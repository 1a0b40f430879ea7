//! Which way a tunnel goes: values and rules; nothing here connects.
//!
//! A [`Tunnel`] is a destination and the [`Gateway`] to it; the gateway remembers which proxies
//! failed lately, [`Attempts`] asks one after the other, a [`Leg`] says what each is asked for,
//! and [`in_order`] sorts the addresses of each.

mod addresses;
mod attempts;
mod gateway;
mod leg;
mod memory;
mod tunnel;

use std::fmt;

pub use self::addresses::in_order;
pub use self::attempts::Attempts;
pub use self::gateway::{Candidate, Gateway};
pub use self::leg::Leg;
pub(crate) use self::memory::Standing;
pub use self::tunnel::{Builder, Tunnel};

/// Which way a tunnel goes; displays as `through 10.0.0.1:3128`, with those behind it, or
/// `directly`.
#[derive(Clone, Debug)]
pub struct Via(Option<Candidate>);

impl Via {
    /// To the destination itself.
    pub const DIRECTLY: Via = Via(None);

    /// Through this proxy, which granted it.
    pub fn through(candidate: Candidate) -> Via {
        Via(Some(candidate))
    }
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(candidate) => write!(f, "through {}", candidate),
            None => f.write_str("directly"),
        }
    }
}
