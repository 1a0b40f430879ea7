//! The connection that a log line is about.
//!
//! The engine polls all futures of a client in the [`scope`](LogContext::scope) of its connection.
//! Lines logged there have the connection's number, and in JSON its client and its listener,
//! although no function passes these as arguments.

use std::cell::RefCell;
use std::fmt;
use std::mem;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use ptunnel_proto::text::escape::Escaped;
use ptunnel_proto::values::unmap_ipv4;

/// The origin of a client, as in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A client over TCP.
    Address(SocketAddr),
    /// A client over a Unix socket.
    Unix,
    /// The standard input and output of this process.
    Stdio,
}

impl Origin {
    /// Returns the address that the client connects from; `None` if it has none.
    pub(crate) fn ip(self) -> Option<IpAddr> {
        match self {
            Origin::Address(address) => Some(address.ip()),
            Origin::Unix | Origin::Stdio => None,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Address(address) => match unmap_ipv4(address.ip()) {
                // Also for a client of an IPv6 listener.
                IpAddr::V4(ip) => SocketAddr::from((ip, address.port())).fmt(f),
                IpAddr::V6(_) => address.fmt(f),
            },
            Origin::Unix => f.write_str("unix"),
            Origin::Stdio => f.write_str("stdio"),
        }
    }
}

/// Number of the next connection; the first is 1.
static NEXT: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static CURRENT: RefCell<Option<LogContext>> = RefCell::new(None);
}

/// A client's connection, as its log lines name it.
///
/// Displays as `127.0.0.1:51234 on 127.0.0.1:8993`: the client, and the listener if there is one; and
/// with a user, as `ann at 127.0.0.1:51234 on 127.0.0.1:1080`.
#[derive(Clone, Debug)]
pub struct LogContext {
    connection: u64,
    client: Origin,
    listener: Option<Arc<str>>,
    user: Option<Arc<str>>,
}

impl LogContext {
    /// The context of a new connection, with the next number.
    pub fn new(client: Origin, listener: Option<Arc<str>>) -> LogContext {
        LogContext {
            connection: NEXT.fetch_add(1, Ordering::Relaxed),
            client,
            listener,
            user: None,
        }
    }

    /// Returns the context of the same connection once its client has authenticated as `user`.
    pub(crate) fn of(self, user: Option<Arc<str>>) -> LogContext {
        LogContext { user, ..self }
    }

    /// Returns the context of the same connection for its real client, which a balancer names.
    pub(crate) fn for_client(&self, client: Origin) -> LogContext {
        LogContext {
            client,
            ..self.clone()
        }
    }

    /// Runs `work`, whose log lines are about this connection.
    pub fn scope<T>(&self, work: impl FnOnce() -> T) -> T {
        LogScope::of(self).enter(work)
    }

    /// Returns the context of the lines that this thread logs now.
    pub(crate) fn current() -> Option<LogContext> {
        CURRENT.with(|current| current.borrow().clone())
    }

    /// Returns the number of the connection.
    pub fn connection(&self) -> u64 {
        self.connection
    }

    /// Returns the client.
    pub fn client(&self) -> Origin {
        self.client
    }

    /// Returns the listener's name; `None` without a listener, as for standard input.
    pub fn listener(&self) -> Option<&str> {
        self.listener.as_deref()
    }

    /// Returns the name with which the client has authenticated.
    pub fn user(&self) -> Option<&Arc<str>> {
        self.user.as_ref()
    }
}

impl fmt::Display for LogContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(user) = &self.user {
            write!(f, "{} at ", Escaped(user.as_bytes()))?;
        }
        self.client.fmt(f)?;
        match &self.listener {
            Some(listener) => write!(f, " on {}", listener),
            None => Ok(()),
        }
    }
}

/// A context that is entered repeatedly, as at each poll of a future. Entering moves the context to
/// the thread's variable and back; it clones nothing.
#[derive(Debug)]
pub struct LogScope(Option<LogContext>);

impl LogScope {
    /// Returns the scope of a connection.
    pub fn of(context: &LogContext) -> LogScope {
        LogScope(Some(context.clone()))
    }

    /// Runs `work`, whose log lines are about this connection.
    pub fn enter<T>(&mut self, work: impl FnOnce() -> T) -> T {
        swap(&mut self.0);
        let _entered = Entered(&mut self.0);
        work()
    }
}

/// Restores the previous context, after a panic too.
struct Entered<'a>(&'a mut Option<LogContext>);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        swap(self.0);
    }
}

fn swap(context: &mut Option<LogContext>) {
    CURRENT.with(|current| mem::swap(&mut *current.borrow_mut(), context));
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn a_client_has_the_same_name_whatever_the_listeners_family() {
        for (address, shown) in &[
            ("[::ffff:10.0.0.1]:5", "10.0.0.1:5"),
            ("10.0.0.1:5", "10.0.0.1:5"),
            ("[2001:db8::1]:5", "[2001:db8::1]:5"),
        ] {
            let origin = Origin::Address(address.parse().unwrap());
            assert_eq!(origin.to_string(), *shown);
        }
    }

    #[test]
    fn a_scope_restores_the_context_even_in_a_panic() {
        let number = || LogContext::current().map(|context| context.connection);
        let outer = LogContext::new(Origin::Unix, None);
        let inner = LogContext::new(Origin::Stdio, None);
        assert_ne!(outer.connection, inner.connection);
        assert_eq!(number(), None);
        outer.scope(|| {
            assert_eq!(number(), Some(outer.connection));
            inner.scope(|| assert_eq!(number(), Some(inner.connection)));
            let broken = || inner.scope(|| panic!("on purpose"));
            assert!(catch_unwind(std::panic::AssertUnwindSafe(broken)).is_err());
            assert_eq!(number(), Some(outer.connection));
        });
        assert_eq!(number(), None);
    }
}
