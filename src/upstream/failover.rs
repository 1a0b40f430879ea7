//! One way after the other, until one leads to the destination: what is left, and what is worth
//! telling.

use log::Level::Warn;

use super::{Tunnel, UpstreamPath};
use crate::error::Error;
use crate::observe::logging::context::LogContext;
use crate::observe::logging::field::{self, Heading};

/// The ways not tried yet, and how those that were tried failed.
pub struct Failover {
    left: std::vec::IntoIter<UpstreamPath>,
    last: Option<Error>,
}

impl Failover {
    /// All of these, of which there is one at least.
    pub(super) fn new(ways: Vec<UpstreamPath>) -> Failover {
        Failover {
            left: ways.into_iter(),
            last: None,
        }
    }

    /// What to try next.
    #[allow(clippy::should_implement_trait)] // it isn't for a `for`: errors come back in between
    pub fn next(&mut self) -> Option<UpstreamPath> {
        let skipped = self
            .left
            .as_slice()
            .iter()
            .take_while(|way| !self.allows(way));
        let place = skipped.count();
        self.left.nth(place)
    }

    /// A proxy that was reached and failed isn't gone round.
    fn allows(&self, way: &UpstreamPath) -> bool {
        let was_reached = self
            .last
            .as_ref()
            .map_or(false, |last| !last.is_unreachable());
        way.proxy().is_some() || !was_reached
    }

    /// Remembers how this way failed, warns of what is tried instead, if there is anything, and
    /// [keeps](Failover::keeping) the error.
    ///
    /// # Errors
    ///
    /// A final one: the way led to its end, and no other is tried.
    pub fn failed(
        self,
        tunnel: &Tunnel,
        way: &UpstreamPath,
        error: Error,
    ) -> Result<Failover, Error> {
        let error = error.on(way.path_to(tunnel.destination()));
        if way.is_final(&error) {
            way.worked();
            return Err(error);
        }
        if error.is_answer() {
            // Of the proxy nothing bad is known: it may be the destination that is out of reach.
            way.worked();
        } else if let Some(proxy) = way.proxy() {
            proxy.blame(&error);
        }
        let context = LogContext::current();
        let heading = Heading(context.as_ref(), error.path());
        let (text, fields) = (format!("{}{}", heading, error), error.fields());
        let attempts = self.keeping(error);
        let mut left = attempts.left.as_slice().iter();
        let next = match left.find(|way| attempts.allows(way)) {
            Some(next) if next.proxy().is_some() => "trying the next proxy".into(),
            Some(_) => format!("connecting to {} directly", tunnel.destination().address),
            None => return Ok(attempts),
        };
        field::log(Warn, format_args!("{}; {}", text, next), || fields);
        Ok(attempts)
    }

    /// Keeps the error that tells most: a proxy that was reached says more than one that wasn't,
    /// and rules out a direct connection.
    pub fn keeping(mut self, error: Error) -> Failover {
        let keep = match &self.last {
            Some(last) => last.is_unreachable() || !error.is_unreachable(),
            None => true,
        };
        if keep {
            self.last = Some(error);
        }
        self
    }

    /// Why there is no tunnel, once nothing is left to be tried.
    pub fn give_up(self) -> Error {
        self.last.expect("there was a way to try")
    }
}
