//! The listeners that a reload adds while ptunnel runs.

use futures::{Future, Stream};

use crate::io::BoundSocket;
use crate::{Engine, Permits};
use ptunnel_core::listener::reload::Delivery;

impl Engine {
    /// Serves the listeners of each delivery, as [`accept`](Engine::accept) does, until the future
    /// that `stopped` returns resolves; the delivery reports success or the first error.
    pub fn reload<F>(
        &self,
        deliveries: impl Stream<Item = Delivery<BoundSocket>, Error = ()> + 'static,
        permits: &Permits,
        stopped: impl Fn() -> F + 'static,
    ) where
        F: Future<Item = (), Error = ()> + 'static,
    {
        let (engine, permits) = (self.clone(), permits.clone());
        let accept_each = deliveries.for_each(move |delivery| {
            delivery.accept(|listener| engine.accept(listener, &permits, stopped()));
            Ok(())
        });
        self.handle().spawn_critical(accept_each);
    }
}
