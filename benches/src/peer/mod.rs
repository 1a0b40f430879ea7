//! What the peers in `src/bin/` share: the command lines of relays and of servers, a little HTTP, and the pipes that splice(2) needs.
//!
//! Everything that a peer is measured for stays in its own file.

pub mod addresses;
pub mod counting;
pub mod hello;
pub mod http;
pub mod listener;
pub mod pipes;
pub mod serving;
pub mod tls;
pub mod work;

pub use addresses::Addresses;
