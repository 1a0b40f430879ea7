//! Settings of a listener that a reload can change.

use std::borrow::Cow;
use std::mem;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use crate::config::{Config, Timeouts};
use crate::listener::acl::IpAcl;
use crate::listener::kind::ListenerKind;
use crate::observe::stats::Stats;
use ptunnel_proto::debug_by_name;
use ptunnel_proto::proxy_protocol::ClientAddresses;
use ptunnel_proto::sync::lock;
use ptunnel_proto::values::{Cidr, Splice};

/// The settings and the life of a listener, shared by its threads. Cheap to clone.
#[derive(Clone)]
pub struct ListenerHandle {
    shared: Arc<Mutex<HandleState>>,
}

struct HandleState {
    settings: Arc<ListenerSettings>,
    /// Called by `start`; `None` from then on.
    on_start: Option<Vec<Callback>>,
    /// Called by `close`; `None` from then on.
    on_close: Option<Vec<Callback>>,
}

type Callback = Box<dyn FnOnce() + Send>;

debug_by_name!(ListenerHandle);

/// The settings that hold for a client from its arrival to its end. They change together: a client
/// that an old ACL admits never gets a new destination.
#[derive(Clone, Debug)]
pub struct ListenerSettings {
    /// The listener's name in the log: its address.
    pub name: Option<Arc<str>>,
    /// The clients that may connect.
    pub acl: IpAcl,
    /// The peers whose connections begin with a PROXY header.
    pub balancers: Vec<Cidr>,
    /// The listener's service for them.
    pub kind: ListenerKind,
    /// The limits; `None` for those that the engine was made with.
    pub limits: Option<Limits>,
    /// The counters, if there is a status server.
    pub stats: Option<Stats>,
}

/// Limits of an engine that a reload can change.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The time that each phase may take.
    pub timeouts: Arc<Timeouts>,
    /// Whether bulk data is moved by splice(2).
    pub splice: Splice,
}

impl From<ListenerKind> for ListenerSettings {
    fn from(kind: ListenerKind) -> ListenerSettings {
        ListenerSettings {
            name: None,
            acl: IpAcl::default(),
            balancers: Vec::new(),
            kind,
            limits: None,
            stats: None,
        }
    }
}

impl ListenerSettings {
    /// Returns the listener's service for one client. If that gets PROXY headers, they have the
    /// addresses that a balancer `named`, or those of the `connection`: the client's and ptunnel's.
    pub fn kind_for(
        &self,
        named: Option<ClientAddresses>,
        connection: impl FnOnce() -> Option<(SocketAddr, SocketAddr)>,
    ) -> Cow<'_, ListenerKind> {
        if !self.kind.sends_addresses() {
            return Cow::Borrowed(&self.kind);
        }
        let of_connection = |(client, here)| ClientAddresses::new(client, here);
        let client = named.or_else(|| connection().map(of_connection));
        Cow::Owned(self.kind.for_client(client))
    }
}

impl Limits {
    /// Returns the limits of `config`.
    pub fn of(config: &Config) -> Limits {
        Limits {
            timeouts: Arc::new(config.timeouts.clone()),
            splice: config.splice,
        }
    }
}

impl ListenerHandle {
    /// Makes the handle of a listener that accepts clients at once.
    pub fn new(settings: impl Into<ListenerSettings>) -> ListenerHandle {
        let handle = ListenerHandle::pending(settings);
        handle.start();
        handle
    }

    /// Makes the handle of a listener that accepts no client before
    /// [`start`](ListenerHandle::start).
    pub fn pending(settings: impl Into<ListenerSettings>) -> ListenerHandle {
        ListenerHandle {
            shared: Arc::new(Mutex::new(HandleState {
                settings: Arc::new(settings.into()),
                on_start: Some(Vec::new()),
                on_close: Some(Vec::new()),
            })),
        }
    }

    /// Returns the settings for a client that connects now. The client keeps them.
    pub fn settings(&self) -> Arc<ListenerSettings> {
        lock(&self.shared).settings.clone()
    }

    /// Replaces the settings for clients that connect from now on.
    pub fn change(&self, settings: ListenerSettings) {
        lock(&self.shared).settings = Arc::new(settings);
    }

    /// Calls `callback` when the listener starts, on the thread that starts it; at once if it has
    /// started. Then the engine accepts clients.
    pub fn on_start(&self, callback: impl FnOnce() + Send + 'static) {
        if let Some(callbacks) = &mut lock(&self.shared).on_start {
            return callbacks.push(Box::new(callback));
        }
        callback()
    }

    /// Starts the listener; further calls do nothing.
    pub fn start(&self) {
        let callbacks = mem::take(&mut lock(&self.shared).on_start);
        callbacks.into_iter().flatten().for_each(|call| call());
    }

    /// Calls `callback` when the listener closes, on the thread that closes it; at once if it is
    /// closed. Then the engine closes the listening sockets.
    pub fn on_close(&self, callback: impl FnOnce() + Send + 'static) {
        if let Some(callbacks) = &mut lock(&self.shared).on_close {
            return callbacks.push(Box::new(callback));
        }
        callback()
    }

    /// Closes the listener; further calls do nothing. Connected clients stay.
    pub fn close(&self) {
        let callbacks = mem::take(&mut lock(&self.shared).on_close);
        callbacks.into_iter().flatten().for_each(|call| call());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::upstream::Tunnel;

    #[test]
    fn each_close_callback_runs_once_and_a_late_one_at_once() {
        let tunnel = Tunnel::to("a.example:1".parse().unwrap()).build();
        let handle = ListenerHandle::new(ListenerKind::Tunnel(tunnel));
        let (sender, called) = mpsc::channel();
        for name in &["early", "also early"] {
            let sender = sender.clone();
            handle.clone().on_close(move || sender.send(*name).unwrap());
        }
        assert!(called.try_recv().is_err());
        handle.close();
        handle.close();
        handle.on_close(move || sender.send("late").unwrap());
        let all: Vec<&str> = called.iter().collect();
        assert_eq!(all, ["early", "also early", "late"]);
    }

    #[test]
    fn a_pending_listener_starts_once() {
        let tunnel = Tunnel::to("a.example:1".parse().unwrap()).build();
        let handle = ListenerHandle::pending(ListenerKind::Tunnel(tunnel));
        let (sender, called) = mpsc::channel();
        let early = sender.clone();
        handle.on_start(move || early.send("early").unwrap());
        assert!(called.try_recv().is_err());
        handle.start();
        handle.start();
        handle.on_start(move || sender.send("late").unwrap());
        let all: Vec<&str> = called.iter().collect();
        assert_eq!(all, ["early", "late"]);
    }
}
