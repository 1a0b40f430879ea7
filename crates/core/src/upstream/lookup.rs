//! The addresses that ptunnel connects to, and who chose them.
//!
//! A lookup can hang, and a client can choose names whose lookups do. These must not delay lookups
//! of names in the configuration, so they use other threads. Only this module's parent can tell whose
//! choice a name is; an engine passes a [`Lookup`] on.

use std::io;
use std::net::SocketAddr;

use super::address_order::in_order;
use crate::config::Family;
use crate::os::own_sockets::OwnSockets;
use crate::os::resolver::look_up;
use ptunnel_proto::values::{Host, HostPort};

/// Whether a client or the configuration chose a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChosenBy {
    pub(super) is_client: bool,
}

impl ChosenBy {
    pub(super) const CLIENT: ChosenBy = ChosenBy { is_client: true };
    pub(super) const CONFIGURATION: ChosenBy = ChosenBy { is_client: false };
}

/// What exists once for the names in the configuration, and once for those that clients choose.
#[derive(Clone, Debug, Default)]
pub struct PerChooser<T> {
    configuration: T,
    client: T,
}

impl<T> PerChooser<T> {
    /// Makes both.
    pub fn new(make: impl Fn() -> T) -> PerChooser<T> {
        PerChooser {
            configuration: make(),
            client: make(),
        }
    }

    /// Returns the one for these names.
    pub fn of(&self, chosen_by: ChosenBy) -> &T {
        match chosen_by.is_client {
            true => &self.client,
            false => &self.configuration,
        }
    }
}

/// An address or a name to connect to, and whose choice it is.
#[derive(Clone, Debug)]
pub struct Lookup<'a> {
    pub(super) address: &'a HostPort,
    pub(super) family: Family,
    pub(super) chosen_by: ChosenBy,
}

impl<'a> Lookup<'a> {
    /// Returns the lookup of an address in the configuration.
    pub(super) fn configured(address: &'a HostPort, family: Family) -> Lookup<'a> {
        Lookup {
            address,
            family,
            chosen_by: ChosenBy::CONFIGURATION,
        }
    }

    /// Returns whose threads look it up.
    pub fn chosen_by(&self) -> ChosenBy {
        self.chosen_by
    }

    /// Returns the sockets of this process, to which it leads to no connection.
    pub fn own(&self) -> &OwnSockets {
        &self.family.own
    }

    /// Returns whether the [`work`](Lookup::work) can block.
    pub fn is_of_name(&self) -> bool {
        matches!(self.address.host, Host::Name(_))
    }

    /// Returns the work that finds the addresses, at least one, in the order of attempts. Nothing is
    /// cached. Its errors are those of getaddrinfo(3) and of the choice among the addresses.
    pub fn work(&self) -> impl FnOnce() -> io::Result<Vec<SocketAddr>> + Send + 'static {
        let (HostPort { host, port }, family) = (self.address.clone(), self.family.clone());
        move || {
            let found = match host {
                Host::Ip(ip) => vec![SocketAddr::new(ip, port)],
                Host::Name(name) => look_up(&name, port)?,
            };
            in_order(found, family)
        }
    }
}
