//! The order of attempts: which path is next, and which error is reported after the last one.

use std::sync::Arc;
use std::vec;

use log::Level::Warn;

use super::pool::ProxyPool;
use super::{ProxyChain, Tunnel};
use crate::error::Error;
use crate::observe::logging::context::LogContext;
use crate::observe::logging::field::{self, Heading};

/// The paths that one client has still to try, and the error to report if none works.
pub struct Failover {
    tunnel: Tunnel,
    pool: Arc<ProxyPool>,
    /// The rank and the index in `pool` of each proxy that is left; `None` for the destination itself.
    left: vec::IntoIter<(u8, Option<usize>)>,
    last: Option<Error>,
}

impl Failover {
    /// Takes the paths in the order in which one client tries them now. Attempts of an observer
    /// change no proxy's health, and log nothing.
    pub(super) fn new(tunnel: Tunnel, pool: Arc<ProxyPool>) -> Failover {
        let order = pool.order(!tunnel.is_for_observer(), tunnel.selector().now());
        Failover {
            tunnel,
            pool,
            left: order.into_iter(),
            last: None,
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
        let mut left = self.left.by_ref().map(|(_, index)| index);
        let index = left.find(|index| index.is_some() || may_be_direct)?;
        let chain = |index| ProxyChain::new(self.tunnel.selector(), &self.pool, index);
        Some(index.map_or(ProxyChain::DIRECT, chain))
    }

    /// Returns whether a direct connection can be tried: not after a proxy was reached and failed.
    fn may_be_direct(&self) -> bool {
        let last = self.last.as_ref();
        last.map_or(true, Error::is_unreachable)
    }

    /// Notes that a path failed, logs a warning with the next path, if any, and keeps the error.
    ///
    /// # Errors
    ///
    /// The error itself if it is final: a refusal, after which no other path is tried.
    pub fn failed(mut self, path: &ProxyChain, error: Error) -> Result<Failover, Error> {
        let destination = self.tunnel.destination();
        let error = error.on(path.path_to(destination));
        let is_observer = self.tunnel.is_for_observer();
        if error.is_answer() {
            // The proxy is up: the destination may be unreachable.
            self.worked(path);
        } else if !is_observer {
            path.failed(&error);
        }
        if path.is_final(&error) {
            return Err(error);
        }
        let context = LogContext::current();
        let heading = Heading(context.as_ref(), error.path());
        let (text, fields) = (format!("{}{}", heading, error), error.fields());
        self.keep(error);
        let may_be_direct = self.may_be_direct();
        let mut left = self.left.as_slice().iter().map(|(_, index)| index);
        let next = match left.find(|index| index.is_some() || may_be_direct) {
            Some(Some(_)) => "trying the next proxy".into(),
            Some(None) => format!(
                "connecting to {} directly",
                self.tunnel.destination().address
            ),
            None => return Ok(self),
        };
        if !is_observer {
            field::log(Warn, format_args!("{}; {}", text, next), || fields);
        }
        Ok(self)
    }

    /// Notes that a path worked, and logs it if its proxy takes over from another one.
    pub fn worked(&self, path: &ProxyChain) {
        if !self.tunnel.is_for_observer() {
            path.worked();
        }
    }

    /// Keeps the error to report: one of a proxy that was reached replaces one of a proxy that wasn't,
    /// and rules out a direct connection.
    fn keep(&mut self, error: Error) {
        if self.may_be_direct() || !error.is_unreachable() {
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
