//! Who we are to a proxy, in the schemes that it may ask for; and, for Basic, the other way round.
//!
//! [`Challenge`] is what a proxy asks, [`basic`](fn@basic), `digest` and `ntlm` are answers to it, and
//! [`AuthCache`] chooses among them: it holds the credentials for one proxy and what was learnt of
//! its wishes, for all tunnels through it. A `Authenticator` is one tunnel's part of that.

mod authenticator;
mod basic;
mod cache;
mod challenge;
mod digest;
mod lockout;
mod ntlm;

use subtle::ConstantTimeEq;

pub use self::basic::{basic, is_basic};
pub use self::cache::AuthCache;
pub use self::challenge::Challenge;

pub(super) use self::authenticator::{Answer, Authenticator};
pub(super) use self::cache::Clearance;
pub(super) use self::challenge::parameter;

/// Whether a guess is right. Takes the same time for every wrong one of the same length.
///
/// A function in the compiled program, too: tests/torture/secrets.rs counts its instructions.
#[inline(never)]
pub(super) fn is_same(guess: &[u8], right: &[u8]) -> bool {
    guess.ct_eq(right).into()
}

/// Fills `bytes` from the operating system's randomness, if it has any to give.
fn random(bytes: &mut [u8]) -> Option<()> {
    getrandom::getrandom(bytes).ok()
}
