//! What a reload brings to a running thread: listeners that come later, the end of others, and
//! other limits.

use std::rc::Rc;

use futures::sync::oneshot;
use futures::{Future, Stream};

use super::{Delivery, Engine, EngineParts, IdleTimeouts, Permits, Settings};
use crate::listener::settings::{Limits, ListenerHandle};

impl Engine {
    /// Starts to serve the clients of each post that is delivered, as [`accept`](Engine::accept)
    /// does; `stopped` makes what stops it.
    pub fn accept_each<F>(
        &self,
        deliveries: impl Stream<Item = Delivery, Error = ()> + 'static,
        permits: &Permits,
        stopped: impl Fn() -> F + 'static,
    ) where
        F: Future<Item = (), Error = ()> + 'static,
    {
        let (engine, permits) = (self.clone(), permits.clone());
        let accept_each = deliveries.for_each(move |delivery| {
            delivery.accept(|post| engine.accept(post, &permits, stopped()));
            Ok(())
        });
        self.handle().spawn_critical(accept_each);
    }

    /// The same engine with other limits, for what is opened and carried with it. How often they
    /// are looked at stays.
    pub(super) fn within(&self, limits: &Limits) -> Engine {
        let settings = Settings {
            timeouts: limits.timeouts.clone(),
            splice: limits.splice,
            ..self.settings().clone()
        };
        Engine {
            shared: Rc::new(EngineParts {
                handle: self.handle().clone(),
                timer: self.timer().clone(),
                idle_timeouts: Rc::new(IdleTimeouts::from(&settings.timeouts)),
                settings,
            }),
        }
    }
}

/// Resolves when the duty has begun.
pub(super) fn begun(handle: &ListenerHandle) -> impl Future<Item = (), Error = ()> {
    let (tell, told) = oneshot::channel::<()>();
    handle.on_start(move || drop(tell));
    told.then(|_| Ok(()))
}

/// Resolves when the duty is over.
pub(super) fn over(handle: &ListenerHandle) -> impl Future<Item = (), Error = ()> {
    let (tell, told) = oneshot::channel::<()>();
    handle.on_close(move || drop(tell));
    told.then(|_| Ok(()))
}
