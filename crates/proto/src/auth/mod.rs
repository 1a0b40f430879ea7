//! Authentication with a proxy, in the schemes that it may require, and of clients, with Basic.
//!
//! Holds the schemes ([`basic`](fn@basic), `digest`, `ntlm`, `negotiate`), the requirements of a
//! proxy ([`Challenge`]), the credentials for one proxy ([`AuthCache`]), when a password can be sent
//! (`lockout`, in the terms of `outcome`), and the destinations that show whether a refusal is about
//! it (`destinations`). Must not hold anything that reads, writes or waits, nor files of credentials, which `config` and `cli`
//! read. `negotiation` and `socks` use it through `Authenticator` and `Clearance`, one for each
//! tunnel; `upstream` and `inbound` use the public items.

mod authenticator;
mod basic;
mod cache;
mod challenge;
mod destinations;
mod digest;
mod lockout;
mod login;
mod negotiate;
mod ntlm;
mod outcome;

use subtle::ConstantTimeEq;

pub use self::basic::{basic, decode_basic, is_basic};
pub use self::cache::AuthCache;
pub use self::challenge::Challenge;
pub use self::login::{LoginCheck, LoginFault, Verdict};
pub use self::negotiate::{ContextSource, NewContext, SecurityContext};

pub(super) use self::authenticator::{Answer, Authenticator};
pub(super) use self::cache::Clearance;
pub(super) use self::challenge::parameter;
pub(super) use self::outcome::{Blame, Outcome, Refused};

/// Returns whether a guess is right. Takes the same time for every wrong guess of the same length.
///
/// It stays a function in the compiled program: tests/torture/secrets.rs counts its instructions.
#[inline(never)]
pub fn is_same(guess: &[u8], right: &[u8]) -> bool {
    guess.ct_eq(right).into()
}

/// Fills `bytes` from the operating system's source of randomness; `None` if it has none.
pub fn random(bytes: &mut [u8]) -> Option<()> {
    getrandom::getrandom(bytes).ok()
}
