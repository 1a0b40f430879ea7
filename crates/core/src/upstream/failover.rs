//! The order of attempts: which path is next, and which error is reported after the last one.

use std::sync::Arc;
use std::time::Instant;
use std::vec;

use log::Level::Warn;

use super::pool::{ProxyPool, Rank};
use super::{Hop, ProxyChain, Tunnel};
use crate::error::Error;
use crate::observe::logging::context::LogContext;
use crate::observe::logging::field::{self, Heading};

/// The paths that one client has still to try, and the error to report if none works.
pub struct Failover {
    tunnel: Tunnel,
    pool: Arc<ProxyPool>,
    /// The rank and the index in `pool` of each proxy that is left; `None` for the destination itself.
    left: vec::IntoIter<(Rank, Option<usize>)>,
    last: Option<Error>,
    /// Whether a direct connection has failed.
    was_direct: bool,
}

impl Failover {
    /// Takes the paths in the order in which one client tries them now. Attempts of an observer
    /// change no proxy's health, and log nothing.
    pub(super) fn new(tunnel: Tunnel, pool: Arc<ProxyPool>) -> Failover {
        let order = pool.order(!tunnel.is_for_observer(), Instant::now());
        Failover {
            tunnel,
            pool,
            left: order.into_iter(),
            last: None,
            was_direct: false,
        }
    }

    /// Returns the tunnel of these paths.
    pub fn tunnel(&self) -> &Tunnel {
        &self.tunnel
    }

    /// Returns the path to try next.
    #[allow(clippy::should_implement_trait)] // no iterator: errors are reported between two calls
    pub fn next(&mut self) -> Option<ProxyChain> {
        let may_be_direct = self.may_be_direct();
        let is_open = |index: &Option<usize>| index.is_some() || may_be_direct;
        let next = self.left.by_ref().find(|(_, index)| is_open(index))?;
        let mut left = self.left.as_slice().iter();
        let has_alternative = left.any(|(rank, index)| rank.is_fit() && is_open(index));
        Some(match next.1 {
            Some(index) => self.chain(index, has_alternative),
            None => {
                self.warn_of_bypass();
                ProxyChain::DIRECT
            }
        })
    }

    fn chain(&self, index: usize, has_alternative: bool) -> ProxyChain {
        let selector = self.tunnel.selector();
        ProxyChain::new(selector, &self.pool, index, has_alternative)
    }

    /// Returns whether a direct connection can be tried: not after a proxy was reached and failed.
    fn may_be_direct(&self) -> bool {
        let last = self.last.as_ref();
        last.map_or(true, Error::is_unreachable)
    }

    /// Logs why no proxy is tried before a direct connection: none could be reached lately.
    fn warn_of_bypass(&self) {
        if self.last.is_none() {
            for index in 0..self.pool.before_direct().len() {
                let path = self.chain(index, true);
                if let Some(hop) = Hop::new(&path, 0, &self.tunnel) {
                    self.warn(&self.on(&path, hop.unreachable()), &self.directly());
                }
            }
        }
    }

    /// Notes that a path failed, logs a warning with the next path, if any, and keeps the error.
    ///
    /// # Errors
    ///
    /// The error itself if it is final: a refusal, after which no other path is tried.
    pub fn failed(mut self, path: &ProxyChain, error: Error) -> Result<Failover, Error> {
        let error = self.on(path, error);
        if !self.tunnel.is_for_observer() {
            path.note(&error);
        }
        if path.is_final(&error) {
            return Err(error);
        }
        let may_be_direct = self.may_be_direct() && error.is_unreachable();
        let mut left = self.left.as_slice().iter().map(|(_, index)| index);
        match left.find(|index| index.is_some() || may_be_direct) {
            Some(Some(_)) => self.warn(&error, "trying the next proxy"),
            Some(None) => self.warn(&error, &self.directly()),
            None => {}
        }
        self.keep(error);
        self.was_direct |= path.is_direct();
        Ok(self)
    }

    fn on(&self, path: &ProxyChain, error: Error) -> Error {
        error.on(path.path_to(self.tunnel.destination()))
    }

    fn directly(&self) -> String {
        let address = &self.tunnel.destination().address;
        format!("connecting to {} directly", address)
    }

    /// Logs an error and what follows it.
    fn warn(&self, error: &Error, next: &str) {
        if !self.tunnel.is_for_observer() {
            let context = LogContext::current();
            let heading = Heading(context.as_ref(), error.path());
            field::log(Warn, format_args!("{}{}; {}", heading, error, next), || {
                error.fields()
            });
        }
    }

    /// Notes that a path worked, and logs it if its proxy takes over from another one.
    pub fn worked(&self, path: &ProxyChain) {
        path.heard(usize::MAX);
        if !self.tunnel.is_for_observer() {
            path.answered();
        }
    }

    /// Keeps the error to report. One of a proxy that wasn't reached doesn't replace one of a proxy that
    /// was, which also rules out a direct connection, or one of a direct connection.
    fn keep(&mut self, error: Error) {
        let may_replace = self.may_be_direct() && !self.was_direct;
        if may_replace || !error.is_unreachable() {
            self.last = Some(error);
        }
    }

    /// Returns the error to report, once [`next`](Failover::next) returned `None`.
    ///
    /// # Panics
    ///
    /// No path was tried.
    pub fn give_up(self) -> Error {
        self.last.expect("there was a path to try")
    }
}
