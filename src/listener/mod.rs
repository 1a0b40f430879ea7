//! Listeners: their addresses, settings and access rules, and which of them a reload opens or closes.
//!
//! Holds what the engines share; accepting connections is the engine's part.

pub mod acl;
pub mod bind;
pub(crate) mod exposure;
pub mod kind;
#[cfg(any(feature = "cli", feature = "legacy"))]
pub mod reload;
pub mod set;
pub mod settings;
pub mod socket_activation;
pub mod unix_socket;
