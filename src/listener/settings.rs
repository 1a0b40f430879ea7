//! What a listener does, and for whom of the clients who come now; whoever reloads changes it
//! meanwhile.

use std::fmt;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::config::{Config, Splice, Timeouts};
use crate::listener::acl::IpAcl;
use crate::listener::bind::Service;
use crate::observe::stats::Stats;

/// The duty of a listener: one for all of its threads. Cheap to clone.
#[derive(Clone)]
pub struct ListenerHandle {
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    terms: Arc<ListenerSettings>,
    /// Called when it begins; `None` from then on.
    beginning: Option<Vec<Callback>>,
    /// Called when it ends; `None` from then on.
    watching: Option<Vec<Callback>>,
}

type Callback = Box<dyn FnOnce() + Send>;

/// What is done for a client, from its arrival to its end. One value, so that who may come never
/// goes with what is done for others.
#[derive(Clone, Debug)]
pub struct ListenerSettings {
    /// What the log calls the listener.
    pub listener: Option<Arc<str>>,
    /// For whom.
    pub access: IpAcl,
    /// What that is.
    pub service: Service,
    /// How; `None` as the engine was told when it was made.
    pub limits: Option<Limits>,
    /// Where it is counted, if anybody looks.
    pub stats: Option<Stats>,
}

/// What an engine keeps to while it serves.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How long each phase may take.
    pub timeouts: Timeouts,
    /// Whether bulk goes by splice(2).
    pub splice: Splice,
}

impl From<Service> for ListenerSettings {
    fn from(service: Service) -> ListenerSettings {
        ListenerSettings {
            listener: None,
            access: IpAcl::default(),
            service,
            limits: None,
            stats: None,
        }
    }
}

impl Limits {
    /// Those of a configuration.
    pub fn of(config: &Config) -> Limits {
        Limits {
            timeouts: config.timeouts.clone(),
            splice: config.splice,
        }
    }
}

impl ListenerHandle {
    /// One that begins now.
    pub fn new(terms: impl Into<ListenerSettings>) -> ListenerHandle {
        let duty = ListenerHandle::pending(terms);
        duty.begin();
        duty
    }

    /// One that waits for [`begin`](ListenerHandle::begin): until then no client is accepted.
    pub fn pending(terms: impl Into<ListenerSettings>) -> ListenerHandle {
        ListenerHandle {
            shared: Arc::new(Mutex::new(Shared {
                terms: Arc::new(terms.into()),
                beginning: Some(Vec::new()),
                watching: Some(Vec::new()),
            })),
        }
    }

    /// For the client who comes now, and for as long as it stays.
    pub fn terms(&self) -> Arc<ListenerSettings> {
        self.lock().terms.clone()
    }

    /// Others, for those who come from now on.
    pub fn change(&self, terms: ListenerSettings) {
        self.lock().terms = Arc::new(terms);
    }

    /// Calls `tell` when it has begun, from whichever thread: then clients are to be accepted.
    pub fn when_begun(&self, tell: impl FnOnce() + Send + 'static) {
        if let Some(beginning) = &mut self.lock().beginning {
            return beginning.push(Box::new(tell));
        }
        tell()
    }

    /// Begins it.
    pub fn begin(&self) {
        let beginning = mem::take(&mut self.lock().beginning);
        beginning.into_iter().flatten().for_each(|tell| tell());
    }

    /// Calls `tell` when it is over, from whichever thread: then the listening sockets are to be
    /// closed.
    pub fn when_over(&self, tell: impl FnOnce() + Send + 'static) {
        if let Some(watching) = &mut self.lock().watching {
            return watching.push(Box::new(tell));
        }
        tell()
    }

    /// Ends it. Clients who are there stay.
    pub fn end(&self) {
        let watching = mem::take(&mut self.lock().watching);
        watching.into_iter().flatten().for_each(|tell| tell());
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ListenerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.terms().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::upstream::Tunnel;

    #[test]
    fn everyone_is_told_of_its_end_once_and_latecomers_at_once() {
        let tunnel = Tunnel::to("a.example:1".parse().unwrap()).build();
        let duty = ListenerHandle::new(Service::Tunnel(tunnel));
        let (tell, told) = mpsc::channel();
        for name in &["early", "also early"] {
            let tell = tell.clone();
            duty.clone().when_over(move || tell.send(*name).unwrap());
        }
        assert!(told.try_recv().is_err());
        duty.end();
        duty.end();
        duty.when_over(move || tell.send("late").unwrap());
        let all: Vec<&str> = told.iter().collect();
        assert_eq!(all, ["early", "also early", "late"]);
    }

    #[test]
    fn one_that_is_pending_begins_once() {
        let tunnel = Tunnel::to("a.example:1".parse().unwrap()).build();
        let duty = ListenerHandle::pending(Service::Tunnel(tunnel));
        let (tell, told) = mpsc::channel();
        let tell_later = tell.clone();
        duty.when_begun(move || tell_later.send("begun").unwrap());
        assert!(told.try_recv().is_err());
        duty.begin();
        duty.begin();
        duty.when_begun(move || tell.send("late").unwrap());
        let all: Vec<&str> = told.iter().collect();
        assert_eq!(all, ["begun", "late"]);
    }
}
