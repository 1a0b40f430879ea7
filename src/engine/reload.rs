//! What a reload brings to a running thread: listeners that come later, the end of others, and
//! other limits.

use std::rc::Rc;

use futures::sync::oneshot;
use futures::{Future, Stream};
use log::error;

use super::{Engine, Permits, Post, Settings, Shared};
use crate::duty::{Duty, Limits};

impl Engine {
    /// Starts to serve the clients of each post that comes, as [`accept`](Engine::accept) does;
    /// `stopped` makes what stops it.
    pub fn accept_each<F>(
        &self,
        posts: impl Stream<Item = Post, Error = ()> + 'static,
        permits: &Permits,
        stopped: impl Fn() -> F + 'static,
    ) where
        F: Future<Item = (), Error = ()> + 'static,
    {
        let (engine, permits) = (self.clone(), permits.clone());
        let accept_each = posts.for_each(move |post| {
            // The other listeners are there all the same.
            if let Err(e) = engine.accept(post, &permits, stopped()) {
                error!("{}", e);
            }
            Ok(())
        });
        self.handle().spawn_vital(accept_each);
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
            shared: Rc::new(Shared {
                handle: self.handle().clone(),
                clock: self.clock().clone(),
                settings,
            }),
        }
    }
}

/// Resolves when the duty is over.
pub(super) fn over(duty: &Duty) -> impl Future<Item = (), Error = ()> {
    let (tell, told) = oneshot::channel::<()>();
    duty.when_over(move || drop(tell));
    told.then(|_| Ok(()))
}
