//! Listeners (TCP, Unix and systemd's sockets): their addresses, kinds, settings and ACL, and the set
//! that SIGHUP changes.
//!
//! This folder holds the parts that every engine shares. It must not hold code that polls, accepts
//! a connection or serves a client: that is in `engine`. It registers its listeners with
//! `observe::status`; `engine`, `cli`, `demo` and the rungs of `compat/` use it.

pub mod acl;
pub(crate) mod addr;
pub mod balancer;
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
