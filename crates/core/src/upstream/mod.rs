//! Which proxy comes next: chooses the paths to a destination and remembers which proxies failed.
//! `kerberos` makes the security contexts that a proxy may require.
//!
//! Must not hold anything that polls or names futures. What connects runs on separate threads: the
//! fetch of a PAC file by URL, and the probes of proxies that are down. `inbound`, `listener`,
//! `observe`, `ptunnel-cli`, the program and the rungs of `compat/ladder` use it; it uses `config`,
//! `error`, `os`, `semaphore`, `ptunnel-proto` and the log's fields.
//!
//! A [`Tunnel`] is a destination and its [`ProxySelector`]. [`Tunnel::failover`] returns the order
//! of attempts, a [`Failover`], which yields one [`ProxyChain`] after the other; a PAC file is
//! evaluated for it first. The program opens the [`Hop`]s of a chain, each a proxy and the target
//! that is requested from it, and passes each [`Lookup`] to its resolver.

mod address_order;
mod blocking;
mod chain;
mod failover;
mod health;
mod hop;
mod kerberos;
mod lookup;
pub mod pac;
mod pac_pools;
mod pool;
mod pooled_proxy;
mod probe;
mod selector;
#[cfg(feature = "tls")]
pub mod tls;
mod tunnel;

pub use self::chain::ProxyChain;
pub use self::failover::Failover;
pub(crate) use self::health::ProxyHealth;
pub use self::health::Watch;
pub use self::hop::Hop;
pub use self::lookup::{ChosenBy, Lookup, PerChooser};
pub(crate) use self::pac::FetchReport;
pub(crate) use self::probe::{Prober, Serving};
pub use self::selector::ProxySelector;
pub use self::tunnel::{Builder, Tunnel};
