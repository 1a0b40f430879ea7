//! Listeners: their addresses, kinds, settings and access rules, and the set that a reload changes.
//!
//! Holds what every engine shares, none of which polls. Must not hold: accepting connections or
//! serving clients, which are the engine's. Used by `engine/`, `cli/`, `observe/status` and `demo`.

pub mod acl;
pub(crate) mod addr;
pub mod bind;
mod configured;
pub mod kind;
#[cfg(any(feature = "cli", feature = "legacy"))]
pub mod reload;
pub mod set;
pub mod settings;
pub mod socket_activation;
pub mod unix_socket;
pub(crate) mod validate;
