//! What a listener does, and for whom of the clients who come now; whoever reloads changes it
//! meanwhile.

use std::fmt;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::config::{Config, Splice, Timeouts};
use crate::listener::acl::IpAcl;
use crate::listener::kind::ListenerKind;
use crate::observe::stats::Stats;

/// The duty of a listener: one for all of its threads. Cheap to clone.
#[derive(Clone)]
pub struct ListenerHandle {
    shared: Arc<Mutex<HandleState>>,
}

struct HandleState {
    settings: Arc<ListenerSettings>,
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
    pub name: Option<Arc<str>>,
    /// For whom.
    pub acl: IpAcl,
    /// What that is.
    pub kind: ListenerKind,
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

impl From<ListenerKind> for ListenerSettings {
    fn from(kind: ListenerKind) -> ListenerSettings {
        ListenerSettings {
            name: None,
            acl: IpAcl::default(),
            kind,
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
    pub fn new(settings: impl Into<ListenerSettings>) -> ListenerHandle {
        let handle = ListenerHandle::pending(settings);
        handle.start();
        handle
    }

    /// One that waits for [`start`](ListenerHandle::start): until then no client is accepted.
    pub fn pending(settings: impl Into<ListenerSettings>) -> ListenerHandle {
        ListenerHandle {
            shared: Arc::new(Mutex::new(HandleState {
                settings: Arc::new(settings.into()),
                beginning: Some(Vec::new()),
                watching: Some(Vec::new()),
            })),
        }
    }

    /// For the client who comes now, and for as long as it stays.
    pub fn settings(&self) -> Arc<ListenerSettings> {
        self.lock().settings.clone()
    }

    /// Others, for those who come from now on.
    pub fn change(&self, settings: ListenerSettings) {
        self.lock().settings = Arc::new(settings);
    }

    /// Calls `tell` when it has begun, from whichever thread: then clients are to be accepted.
    pub fn on_start(&self, tell: impl FnOnce() + Send + 'static) {
        if let Some(beginning) = &mut self.lock().beginning {
            return beginning.push(Box::new(tell));
        }
        tell()
    }

    /// Begins it.
    pub fn start(&self) {
        let beginning = mem::take(&mut self.lock().beginning);
        beginning.into_iter().flatten().for_each(|tell| tell());
    }

    /// Calls `tell` when it is over, from whichever thread: then the listening sockets are to be
    /// closed.
    pub fn on_close(&self, tell: impl FnOnce() + Send + 'static) {
        if let Some(watching) = &mut self.lock().watching {
            return watching.push(Box::new(tell));
        }
        tell()
    }

    /// Ends it. Clients who are there stay.
    pub fn close(&self) {
        let watching = mem::take(&mut self.lock().watching);
        watching.into_iter().flatten().for_each(|tell| tell());
    }

    fn lock(&self) -> MutexGuard<'_, HandleState> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ListenerHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.settings().fmt(f)
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
        let handle = ListenerHandle::new(ListenerKind::Tunnel(tunnel));
        let (tell, told) = mpsc::channel();
        for name in &["early", "also early"] {
            let tell = tell.clone();
            handle.clone().on_close(move || tell.send(*name).unwrap());
        }
        assert!(told.try_recv().is_err());
        handle.close();
        handle.close();
        handle.on_close(move || tell.send("late").unwrap());
        let all: Vec<&str> = told.iter().collect();
        assert_eq!(all, ["early", "also early", "late"]);
    }

    #[test]
    fn one_that_is_pending_begins_once() {
        let tunnel = Tunnel::to("a.example:1".parse().unwrap()).build();
        let handle = ListenerHandle::pending(ListenerKind::Tunnel(tunnel));
        let (tell, told) = mpsc::channel();
        let tell_later = tell.clone();
        handle.on_start(move || tell_later.send("begun").unwrap());
        assert!(told.try_recv().is_err());
        handle.start();
        handle.start();
        handle.on_start(move || tell.send("late").unwrap());
        let all: Vec<&str> = told.iter().collect();
        assert_eq!(all, ["begun", "late"]);
    }
}
