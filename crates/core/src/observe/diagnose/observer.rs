//! The events of a path that an engine opens, and the observer that receives them.
//!
//! An observer belongs to a thread, like the context of a log line, so that the engines' state
//! machines don't carry one. Without an observer in the process, [`observe`] costs a load and a
//! branch.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::Error;
#[cfg(feature = "tls")]
use crate::error::Peer;
use crate::upstream::{Hop, ProxyChain, Tunnel};
use ptunnel_proto::values::HostPort;
use ptunnel_proto::Negotiation;

/// The start or the end of a phase of opening a path.
pub enum PathEvent<'a> {
    /// The PAC file is evaluated.
    PacStarted,
    /// The tunnel's PAC file returned this text.
    PacAnswered(&'a Tunnel, &'a str),
    /// The next path is tried.
    PathStarted(&'a ProxyChain),
    /// The path failed.
    PathFailed(&'a Error),
    /// A name lookup starts; for an address its result is the address itself.
    LookupStarted,
    /// The lookup for a proxy that accepts only addresses is done: the hop requests an address.
    Located(&'a Hop),
    /// The lookup of this address is done, and connections to the results begin.
    Resolved(&'a HostPort, &'a [SocketAddr]),
    /// A connection is established: the peer's address and the local one, unless it was already
    /// reset.
    Connected(Option<(SocketAddr, SocketAddr)>),
    /// A connection reached the proxy of this hop.
    HopStarted(&'a Hop),
    /// A TLS handshake begins.
    #[cfg(feature = "tls")]
    TlsStarted,
    /// The TLS handshake with this peer is done; with a warning if its certificate wasn't verified.
    #[cfg(feature = "tls")]
    TlsDone(&'a openssl::ssl::SslRef, &'a Peer, Option<&'a str>),
    /// The first request of a connection is sent to the proxy of the last
    /// [`PathEvent::HopStarted`].
    NegotiationStarted(&'a Negotiation),
    /// The proxy replied, and the next request is sent on the same connection.
    RequestRepeated(&'a Negotiation),
    /// The next request needs another connection.
    RedialStarted(&'a Negotiation),
    /// The proxy granted the tunnel.
    Granted,
    /// The path is open; the test waits for the destination's first bytes.
    Opened,
}

/// Receives the events while its thread opens a path.
pub trait Observer {
    /// Takes the next event.
    fn observe(&mut self, event: PathEvent<'_>);
}

/// Ignores the events, for a path that is opened without log lines.
impl Observer for () {
    fn observe(&mut self, _: PathEvent<'_>) {}
}

/// Number of threads with an observer.
static OBSERVED_THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static OBSERVER: RefCell<Option<Rc<RefCell<dyn Observer>>>> = RefCell::new(None);
}

/// Runs `work`, and passes its events on this thread to the observer.
pub(crate) fn observed_by<T>(observer: Rc<RefCell<dyn Observer>>, work: impl FnOnce() -> T) -> T {
    OBSERVED_THREADS.fetch_add(1, Ordering::Relaxed);
    OBSERVER.with(|current| *current.borrow_mut() = Some(observer));
    let _observed = Observed;
    work()
}

/// Removes the thread's observer, also after a panic.
struct Observed;

impl Drop for Observed {
    fn drop(&mut self) {
        OBSERVER.with(|current| *current.borrow_mut() = None);
        OBSERVED_THREADS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Passes an event to this thread's observer; returns whether there is one.
#[inline]
pub fn observe<'a>(event: impl FnOnce() -> PathEvent<'a>) -> bool {
    match observer() {
        Some(observer) => {
            observer.borrow_mut().observe(event());
            true
        }
        None => false,
    }
}

#[inline]
fn observer() -> Option<Rc<RefCell<dyn Observer>>> {
    match OBSERVED_THREADS.load(Ordering::Relaxed) {
        0 => None,
        _ => current(),
    }
}

/// Not inlined into the engines, which rarely call it.
#[cold]
fn current() -> Option<Rc<RefCell<dyn Observer>>> {
    OBSERVER.with(|current| current.borrow().clone())
}

#[cfg(test)]
mod tests {
    use std::panic::{catch_unwind, AssertUnwindSafe};

    use super::*;

    struct Count(usize);

    impl Observer for Count {
        fn observe(&mut self, _: PathEvent<'_>) {
            self.0 += 1;
        }
    }

    #[test]
    fn events_reach_the_observer_of_their_thread_until_its_work_ends() {
        let count = Rc::new(RefCell::new(Count(0)));
        let work = || {
            assert!(observe(|| PathEvent::LookupStarted));
            let other = std::thread::spawn(|| observe(|| PathEvent::Granted));
            assert!(!other.join().unwrap());
            panic!("on purpose");
        };
        let ended = catch_unwind(AssertUnwindSafe(|| observed_by(count.clone(), work)));
        assert!(ended.is_err());
        assert!(!observe(|| PathEvent::Opened));
        assert_eq!(count.borrow().0, 1);
    }
}
