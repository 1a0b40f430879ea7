//! The order of attempts: which path is next, and which error is reported in the end.

use log::Level::Warn;

use super::{Tunnel, UpstreamPath};
use crate::error::Error;
use crate::observe::logging::context::LogContext;
use crate::observe::logging::field::{self, Heading};

/// The paths that are still to be tried, and the error to report if none works.
pub struct Failover {
    left: std::vec::IntoIter<UpstreamPath>,
    last: Option<Error>,
    is_observer: bool,
}

impl Failover {
    /// Takes the paths in their order, at least one. An observer's attempts change no proxy's health,
    /// and log nothing.
    pub(super) fn new(paths: Vec<UpstreamPath>, is_observer: bool) -> Failover {
        Failover {
            left: paths.into_iter(),
            last: None,
            is_observer,
        }
    }

    /// Returns the path to try next.
    #[allow(clippy::should_implement_trait)] // it isn't for a `for`: errors come back in between
    pub fn next(&mut self) -> Option<UpstreamPath> {
        let skipped = self
            .left
            .as_slice()
            .iter()
            .take_while(|path| !self.allows(path));
        let place = skipped.count();
        self.left.nth(place)
    }

    /// Returns whether a path can be tried: after a proxy was reached and failed, a direct one can't.
    fn allows(&self, path: &UpstreamPath) -> bool {
        let was_reached = self
            .last
            .as_ref()
            .map_or(false, |last| !last.is_unreachable());
        path.proxy().is_some() || !was_reached
    }

    /// Notes that a path failed, logs a warning that names the next one, if any, and keeps the error.
    ///
    /// # Errors
    ///
    /// The error itself if it is final: a refusal, after which no other path is tried.
    pub fn failed(
        self,
        tunnel: &Tunnel,
        path: &UpstreamPath,
        error: Error,
    ) -> Result<Failover, Error> {
        let error = error.on(path.path_to(tunnel.destination()));
        if self.is_observer {
            return match path.is_final(&error) {
                true => Err(error),
                false => Ok(self.keeping(error)),
            };
        }
        if path.is_final(&error) {
            path.worked();
            return Err(error);
        }
        if error.is_answer() {
            // The proxy is up: the destination may be unreachable.
            path.worked();
        } else if let Some(chain) = path.proxy() {
            chain.failed(&error);
        }
        let context = LogContext::current();
        let heading = Heading(context.as_ref(), error.path());
        let (text, fields) = (format!("{}{}", heading, error), error.fields());
        let failover = self.keeping(error);
        let mut left = failover.left.as_slice().iter();
        let next = match left.find(|path| failover.allows(path)) {
            Some(next) if next.proxy().is_some() => "trying the next proxy".into(),
            Some(_) => format!("connecting to {} directly", tunnel.destination().address),
            None => return Ok(failover),
        };
        field::log(Warn, format_args!("{}; {}", text, next), || fields);
        Ok(failover)
    }

    /// Notes that a path worked, and logs it if its proxy takes over from another one.
    pub fn worked(&self, path: &UpstreamPath) {
        if !self.is_observer {
            path.worked();
        }
    }

    /// Keeps the error to report: one of a proxy that was reached replaces one of a proxy that wasn't,
    /// and rules out a direct connection.
    fn keeping(mut self, error: Error) -> Failover {
        let keep = match &self.last {
            Some(last) => last.is_unreachable() || !error.is_unreachable(),
            None => true,
        };
        if keep {
            self.last = Some(error);
        }
        self
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
