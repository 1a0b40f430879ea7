//! One proxy after the other, until one answers: what is left, and what is worth telling.

use log::warn;

use super::{Candidate, Gateway};
use crate::error::Error;

/// The proxies not asked yet, and how those that were asked failed.
pub struct Attempts {
    left: std::vec::IntoIter<Candidate>,
    last: Option<Error>,
}

impl Attempts {
    /// All proxies of `gateway`, in the order in which they shall be asked now.
    pub fn new(gateway: &Gateway) -> Attempts {
        Attempts::of(gateway.order())
    }

    /// The same for somebody who tells nobody of their answers.
    pub(crate) fn of_onlooker(gateway: &Gateway) -> Attempts {
        Attempts::of(gateway.order_for_onlooker())
    }

    fn of(order: Vec<Candidate>) -> Attempts {
        Attempts {
            left: order.into_iter(),
            last: None,
        }
    }

    /// Whom to ask next.
    #[allow(clippy::should_implement_trait)] // it isn't for a `for`: errors come back in between
    pub fn next(&mut self) -> Option<Candidate> {
        self.left.next()
    }

    /// Warns that another one is tried, if there is one, and [keeps](Attempts::keeping) the error.
    pub fn failed(self, error: Error) -> Attempts {
        if self.left.len() > 0 {
            warn!("{}; trying the next proxy", error);
        }
        self.keeping(error)
    }

    /// Keeps the error that tells most: a proxy that was reached says more than one that wasn't,
    /// and rules out a direct connection.
    pub fn keeping(mut self, error: Error) -> Attempts {
        let keep = match &self.last {
            Some(last) => last.is_unreachable() || !error.is_unreachable(),
            None => true,
        };
        if keep {
            self.last = Some(error);
        }
        self
    }

    /// Why there is no tunnel, once nobody is left to be asked.
    pub fn give_up(self) -> Error {
        self.last.expect("a route without proxies is direct")
    }
}
