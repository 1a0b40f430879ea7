//! Programs and libraries on tokio-core, and what the drop-ins take out of a lock file.

mod hyper;
#[cfg(not(feature = "real"))]
mod lock;
mod proto;
mod socks;
mod trust_dns;
