//! Listeners (TCP, Unix and systemd's sockets): their addresses, kinds, settings and ACL, and the set
//! that SIGHUP changes.
//!
//! It must not hold code that polls, accepts a connection or serves a client: that is in the
//! program's `listen` and `accept`. It registers its listeners with `observe::status`; `ptunnel-cli`,
//! the program and the rungs of `compat/ladder` use it.

pub mod acl;
pub mod addr;
pub mod balancer;
pub mod bind;
mod configured;
pub mod kind;
pub mod reload;
pub mod set;
pub mod settings;
pub mod socket_activation;
pub mod unix_socket;
pub mod validate;
