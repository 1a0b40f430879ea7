//! The listeners that there are, and what becomes of them when the configuration changes.
//!
//! A listener that is wanted again, at the same place, keeps its sockets: not for a moment is its
//! port closed. Only what it is for may change, which takes effect with its next client.
//!
//! All that can fail comes first: a new listener is bound, and watched by every thread, before any
//! of them accepts a client or an old one is touched. So a configuration is followed as a whole or
//! not at all.

use std::fmt;
use std::io::{self, Write};
use std::mem;
use std::sync::Arc;

use crate::config::Config;
use crate::error::Error;
use crate::listener::acl::{IpAcl, TurnedAway};
use crate::listener::bind::{
    bind, services, Bound, BoundListener, BoundSpot, Listen, Place, SocketsClosed,
};
use crate::listener::kind::ListenerKind;
use crate::listener::settings::{Limits, ListenerHandle, ListenerSettings};
use crate::observe::status::{self, Registry, SnapshotBuilder};
use crate::os::resolver;
use crate::upstream::ProxySelector;

/// The listeners of each thread.
pub type BoundListeners<L> = Vec<Vec<BoundListener<L>>>;

/// The listeners of this process.
#[derive(Debug)]
pub struct ListenerSet {
    threads: usize,
    /// Whose connections they don't take.
    turned_away: TurnedAway,
    /// Where they are shown, if anywhere.
    board: Option<Arc<Registry>>,
    entries: Vec<OpenListener>,
}

/// One listener, on all threads.
#[derive(Debug)]
struct OpenListener {
    place: Place,
    /// Where that is.
    spot: BoundSpot,
    /// What was said of it.
    line: String,
    handle: ListenerHandle,
    closed: SocketsClosed,
}

impl OpenListener {
    /// Whether it listens there already. What is written in the same way isn't looked up again: a
    /// name that leads elsewhere now, or nowhere, closes no port.
    fn is_at(&self, place: &Place) -> bool {
        self.place == *place || self.spot.is_meant_by(place)
    }
}

/// The listeners of a configuration, ready to take over from those that there are.
struct Plan {
    entries: Vec<Planned>,
    scene: Option<SnapshotBuilder>,
    resolves_names: bool,
}

enum Planned {
    /// The entry with this index stays.
    Kept {
        index: usize,
        place: Place,
        terms: Box<ListenerSettings>,
    },
    /// Its duty hasn't begun.
    New(OpenListener),
}

/// What following a configuration took; displays as one line.
#[derive(Debug, Default)]
pub struct ReloadSummary {
    /// What is to be said of each listener that is new or changed.
    pub lines: Vec<String>,
    opened: Vec<String>,
    changed: Vec<String>,
    closed: Vec<String>,
    kept: usize,
}

impl ListenerSet {
    /// Binds every service of the configuration once per thread, tells of each on stdout, and
    /// returns each thread's listeners, too. How they do is shown from here on, if that is wanted.
    ///
    /// # Errors
    ///
    /// What may not be, or the first bind that fails, before anything was told.
    pub fn open<L: Listen>(config: &Config) -> Result<(ListenerSet, BoundListeners<L>), Error> {
        let turned_away = TurnedAway::default();
        let status = config.status.as_ref().map(status::bind).transpose()?;
        let board = status
            .as_ref()
            .map(|_| Arc::new(Registry::new(turned_away.clone())));
        let mut set = ListenerSet {
            threads: config.threads,
            turned_away,
            board,
            entries: Vec::new(),
        };
        let (plan, threads) = set.prepare(config, None)?;
        let mut change = set.commit(plan);
        if let (Some(listening), Some(board)) = (status, set.board.as_ref()) {
            change.lines.push(status::start(listening, board)?);
        }
        tell(&change.lines).map_err(|e| Error::other("cannot write to stdout", e))?;
        Ok((set, threads))
    }

    /// Makes the listeners those of `config`: binds what is new, changes what is done for whom, and
    /// ends what isn't wanted any more. Returns what that took, when all of it has been done; how
    /// many threads there are stays.
    ///
    /// `register` gives each thread its new listeners, and returns when every thread watches them.
    ///
    /// # Errors
    ///
    /// What may not be, the first bind that fails, or the error of `register`; everything is as it
    /// was then.
    pub fn follow<L: Listen, R>(
        &mut self,
        config: &Config,
        register: R,
    ) -> Result<ReloadSummary, Error>
    where
        R: FnOnce(BoundListeners<L>) -> Result<(), Error>,
    {
        let (plan, threads) = self.prepare(config, Some(Limits::of(config)))?;
        if let Err(e) = register(threads) {
            plan.abandon();
            return Err(e);
        }
        Ok(self.commit(plan))
    }

    /// Does all that can fail, and changes nothing that there is.
    fn prepare<L: Listen>(
        &self,
        config: &Config,
        limits: Option<Limits>,
    ) -> Result<(Plan, BoundListeners<L>), Error> {
        // One for all: what a client learns of a dead proxy, all know.
        let gateway = ProxySelector::new(config.route.clone());
        let wanted = services(config, &gateway)?;
        let assigned = self.assign(&wanted);
        let new = wanted.iter().zip(&assigned);
        let new = new.filter(|(_, entry)| entry.is_none());
        let bound = new
            .map(|((service, place), _)| {
                let keepalive = config.timeouts.tcp_keepalive;
                bind(service, place, self.threads, keepalive)
            })
            .collect::<Result<Vec<Bound<L>>, Error>>()?;
        let resolves_names = wanted.iter().any(|(service, _)| service.resolves_names());
        let access = IpAcl::new(config.allow_from.clone(), &self.turned_away);
        let mut scene = self
            .board
            .as_ref()
            .map(|board| board.begin(config, &gateway));
        let mut threads: BoundListeners<L> = (0..self.threads).map(|_| Vec::new()).collect();
        let mut bound = bound.into_iter();
        let planned = wanted
            .into_iter()
            .zip(assigned)
            .map(|((service, place), index)| {
                let mut terms = |name: &str| ListenerSettings {
                    name: Some(name.into()),
                    acl: access.clone(),
                    stats: scene.as_mut().map(|scene| scene.add(name, &service)),
                    kind: service.clone(),
                    limits: limits.clone(),
                };
                if let Some(index) = index {
                    let terms = Box::new(terms(&self.entries[index].spot.to_string()));
                    return Planned::Kept {
                        index,
                        place,
                        terms,
                    };
                }
                let bound = bound.next().expect("bound above");
                let name = bound.spot.to_string();
                let handle = ListenerHandle::pending(terms(&name));
                for (listeners, listening) in threads.iter_mut().zip(bound.listening) {
                    listeners.push(BoundListener {
                        handle: handle.clone(),
                        open: bound.open.clone(),
                        listening,
                    });
                }
                Planned::New(OpenListener {
                    place,
                    line: service.line(&name),
                    spot: bound.spot,
                    handle,
                    closed: bound.closed,
                })
            });
        let entries = planned.collect();
        let plan = Plan {
            entries,
            scene,
            resolves_names,
        };
        Ok((plan, threads))
    }

    /// Takes over what was prepared. Returns when what isn't wanted any more is closed.
    fn commit(&mut self, plan: Plan) -> ReloadSummary {
        if plan.resolves_names {
            resolver::expect();
        }
        let mut change = ReloadSummary::default();
        let former = mem::take(&mut self.entries);
        let mut former: Vec<Option<OpenListener>> = former.into_iter().map(Some).collect();
        for planned in plan.entries {
            self.entries.push(match planned {
                Planned::Kept {
                    index,
                    place,
                    terms,
                } => {
                    let entry = former[index].take().expect("assigned once");
                    change.keep(OpenListener { place, ..entry }, *terms)
                }
                Planned::New(entry) => change.open(entry),
            });
        }
        let former: Vec<OpenListener> = former.into_iter().flatten().collect();
        former.iter().for_each(|entry| entry.handle.close());
        if let (Some(board), Some(scene)) = (self.board.as_ref(), plan.scene) {
            board.publish(scene);
        }
        for entry in former {
            entry.closed.wait();
            change.closed.push(entry.spot.to_string());
        }
        change
    }

    /// Which entry each of those wanted takes over, if any. First come those that stay as they are;
    /// then those at the same place, unless that is any port: who uses it, found it out by what it
    /// is for.
    fn assign(&self, wanted: &[(ListenerKind, Place)]) -> Vec<Option<usize>> {
        let mut assigned = vec![None; wanted.len()];
        let mut is_free = vec![true; self.entries.len()];
        for may_change in &[false, true] {
            for (one, assigned) in wanted.iter().zip(&mut assigned) {
                let (service, place) = one;
                if assigned.is_some() {
                    continue;
                }
                let fits = |entry: &OpenListener| {
                    let may_change = *may_change && !place.is_picked();
                    let is_as_it_was = || entry.line == service.line(&entry.spot.to_string());
                    (may_change || is_as_it_was()) && entry.is_at(place)
                };
                *assigned = (0..self.entries.len())
                    .find(|index| is_free[*index] && fits(&self.entries[*index]));
                if let Some(index) = *assigned {
                    is_free[index] = false;
                }
            }
        }
        assigned
    }
}

impl Plan {
    /// Has the threads close what they have of it, and waits for that.
    fn abandon(self) {
        for planned in self.entries {
            if let Planned::New(entry) = planned {
                entry.handle.close();
                entry.closed.wait();
            }
        }
    }
}

impl ReloadSummary {
    fn keep(&mut self, entry: OpenListener, settings: ListenerSettings) -> OpenListener {
        let name = entry.spot.to_string();
        let line = settings.kind.line(&name);
        // Who we are to a proxy, for one, isn't said in the line.
        if settings.kind == entry.handle.settings().kind {
            self.kept += 1;
        } else {
            self.changed.push(name);
            self.lines.push(line.clone());
        }
        entry.handle.change(settings);
        OpenListener { line, ..entry }
    }

    fn open(&mut self, entry: OpenListener) -> OpenListener {
        self.opened.push(entry.spot.to_string());
        self.lines.push(entry.line.clone());
        entry.handle.start();
        entry
    }
}

impl fmt::Display for ReloadSummary {
    /// `opened 127.0.0.1:1, 127.0.0.1:2; closed 127.0.0.1:3; kept 4`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, addresses) in &[
            ("opened", &self.opened),
            ("changed", &self.changed),
            ("closed", &self.closed),
        ] {
            for (place, address) in addresses.iter().enumerate() {
                let before = if place == 0 { *what } else { "," };
                write!(f, "{} {}", before, address)?;
            }
            if !addresses.is_empty() {
                f.write_str("; ")?;
            }
        }
        write!(f, "kept {}", self.kept)
    }
}

/// A line each on stdout, at once: whoever started us waits for it.
pub(crate) fn tell(lines: &[String]) -> io::Result<()> {
    let mut out = io::stdout();
    for line in lines {
        writeln!(out, "{}", line)?;
        out.flush()?;
    }
    Ok(())
}

#[cfg(all(test, feature = "cli"))]
mod tests {
    use std::cell::Cell;
    use std::net::SocketAddr;
    use std::path::Path;
    use std::sync::mpsc::{self, TryRecvError};
    use std::thread;

    use super::*;
    use crate::cli::env::Environment;
    use crate::cli::{parse, Command};
    use crate::config::Keepalive;
    use crate::inbound::{HandshakeStep, Inbound};
    use crate::listener::socket_activation::InheritedSocket;
    use crate::observe::access_log::{LogContext, Origin};

    /// Listens on nothing. Port 9 is somebody else's; port 0 is another one each time.
    #[derive(Debug)]
    struct Paper(SocketAddr);

    impl Listen for Paper {
        fn bind(address: &SocketAddr, _: bool, _: Option<Keepalive>) -> io::Result<Paper> {
            thread_local!(static NEXT: Cell<u16> = Cell::new(50_000));
            let mut address = *address;
            match address.port() {
                0 => NEXT.with(|next| address.set_port(next.replace(next.get() + 1))),
                9 => return Err(io::ErrorKind::AddrInUse.into()),
                _ => {}
            }
            Ok(Paper(address))
        }

        fn bind_path(_: &Path) -> io::Result<Paper> {
            unreachable!("there is no Unix socket")
        }

        fn listen(&self) -> io::Result<()> {
            unreachable!("there is no Unix socket")
        }

        fn adopt(_: InheritedSocket, _: Option<Keepalive>) -> io::Result<Paper> {
            unreachable!("nothing is passed")
        }

        fn try_clone(&self) -> io::Result<Paper> {
            unreachable!("there is no Unix socket")
        }

        fn local_addr(&self) -> io::Result<SocketAddr> {
            Ok(self.0)
        }
    }

    fn config(tunnels: &[&str]) -> Config {
        let words = ["ptunnel", "--no-proxy", "*", "--threads", "2"];
        let words = words.iter().chain(tunnels).copied();
        let ask = |_: &str| unreachable!("there is no password");
        match parse(words, &Environment::new(&|_| None), &ask) {
            Ok(Command::Run(config, _)) => *config,
            other => panic!("{:?}", other),
        }
    }

    fn open(tunnels: &[&str]) -> (ListenerSet, Vec<ListenerHandle>) {
        let mut set = ListenerSet {
            threads: 2,
            turned_away: TurnedAway::default(),
            board: None,
            entries: Vec::new(),
        };
        // All but what `ListenerSet::open` says.
        let (plan, threads) = set.prepare::<Paper>(&config(tunnels), None).unwrap();
        set.commit(plan);
        assert_eq!(threads.len(), 2);
        let handles = threads.into_iter().map(|listeners| {
            let handles = listeners.into_iter().map(|listener| listener.handle);
            handles.collect::<Vec<ListenerHandle>>()
        });
        (set, handles.last().unwrap())
    }

    fn follow(set: &mut ListenerSet, tunnels: &[&str]) -> String {
        let mut threads = Vec::new();
        let register = |listeners| {
            threads = listeners;
            Ok(())
        };
        let change = set.follow::<Paper, _>(&config(tunnels), register).unwrap();
        for listeners in threads {
            let opened: Vec<String> = listeners
                .iter()
                .map(|listener| listener.listening.0.to_string())
                .collect();
            assert_eq!(opened, change.opened, "each thread has its own");
            assert!(listeners
                .iter()
                .all(|listener| listener.handle.settings().limits.is_some()));
            assert!(listeners.iter().all(|listener| has_begun(&listener.handle)));
        }
        assert_eq!(
            change.lines.len(),
            change.opened.len() + change.changed.len()
        );
        change.to_string()
    }

    fn destination(handle: &ListenerHandle) -> String {
        match &handle.settings().kind {
            ListenerKind::Tunnel(tunnel) => tunnel.destination().to_string(),
            other => unreachable!("{:?}", other),
        }
    }

    fn is_over(handle: &ListenerHandle) -> bool {
        let (tell, told) = std::sync::mpsc::channel();
        handle.on_close(move || {
            let _ = tell.send(());
        });
        told.try_recv().is_ok()
    }

    fn has_begun(handle: &ListenerHandle) -> bool {
        let (tell, told) = std::sync::mpsc::channel();
        handle.on_start(move || {
            let _ = tell.send(());
        });
        told.try_recv().is_ok()
    }

    #[test]
    fn what_is_wanted_again_keeps_its_sockets() {
        let (mut set, handles) = open(&["1:a:1", "2:b:2", "3:c:3", "0:d:4"]);
        let told = follow(&mut set, &["5:e:5", "0:d:4", "2:f:6", "1:a:1"]);
        assert_eq!(
            told,
            "opened 127.0.0.1:5; changed 127.0.0.1:2; closed 127.0.0.1:3; kept 2"
        );
        let destinations: Vec<String> = handles.iter().map(destination).collect();
        assert_eq!(destinations, ["a:1", "f:6", "c:3", "d:4"]);
        let over: Vec<bool> = handles.iter().map(is_over).collect();
        assert_eq!(over, [false, false, true, false]);
        assert!(
            handles[0].settings().limits.is_some(),
            "for those who come now"
        );
    }

    /// Who uses it, was told the port together with the destination.
    #[test]
    fn any_port_is_for_one_destination() {
        let (mut set, handles) = open(&["0:a:1", "0:b:2"]);
        let told = follow(&mut set, &["0:b:2", "0:c:3"]);
        assert!(
            told.ends_with("; kept 1") && !told.contains("changed"),
            "{}",
            told
        );
        assert!(is_over(&handles[0]) && !is_over(&handles[1]));
        assert_eq!(destination(&handles[1]), "b:2");
    }

    /// Who may come was one value for all, and what is done for them another: between the two
    /// changes a stranger was served without a word of who it is.
    #[test]
    fn at_no_moment_is_a_stranger_asked_for_nothing() {
        let by_user = &["-D", "*:1", "--dynamic-user", "joe:x"][..];
        let by_address = &["-D", "*:1", "--allow-from", "10.0.0.0/8"][..];
        let (mut set, handles) = open(by_user);
        let serves_strangers = |handle: &ListenerHandle| {
            let settings = handle.settings();
            let guests = match &settings.kind {
                ListenerKind::Dynamic(guests) => guests,
                other => unreachable!("{:?}", other),
            };
            let stranger = Origin::Address("192.0.2.1:1".parse().unwrap());
            let stranger = LogContext::new(stranger, None);
            let asked = guests.handshake().feed(b"CONNECT a:1 HTTP/1.1\r\n\r\n");
            settings.acl.admits(&stranger) && matches!(asked, HandshakeStep::ConnectRequest(_))
        };
        let (handle, (tell, told)) = (handles[0].clone(), mpsc::channel::<()>());
        let watching = thread::spawn(move || {
            (0..20_000).for_each(|_| assert!(!serves_strangers(&handle)));
            drop(tell);
        });
        let (by_address, by_user) = (config(by_address), config(by_user));
        while told.try_recv() == Err(TryRecvError::Empty) {
            for config in &[&by_address, &by_user] {
                set.follow::<Paper, _>(config, |_| Ok(())).unwrap();
            }
        }
        watching.join().unwrap();
    }

    #[test]
    fn a_bind_that_fails_changes_nothing() {
        let (mut set, handles) = open(&["1:a:1", "2:b:2"]);
        let wrong = config(&["1:c:3", "4:d:4", "9:e:5"]);
        let failed = set.follow::<Paper, _>(&wrong, |_| unreachable!("one can't be bound"));
        let text = failed.unwrap_err().to_string();
        assert!(
            text.starts_with("cannot listen on 127.0.0.1:9 for e:5: "),
            "{}",
            text
        );
        assert_eq!(destination(&handles[0]), "a:1");
        assert!(!handles.iter().any(is_over));
        assert_eq!(follow(&mut set, &["1:a:1", "2:b:2"]), "kept 2");
    }

    /// The other threads, and whoever had reloaded, took it for open.
    #[test]
    fn a_thread_that_cannot_watch_a_new_listener_changes_nothing() {
        let (mut set, handles) = open(&["1:a:1", "2:b:2"]);
        let mut new = Vec::new();
        let failed = set.follow::<Paper, _>(&config(&["1:c:3", "4:d:4"]), |threads| {
            let listeners = threads.into_iter().flatten();
            new = listeners.map(|listener| listener.handle).collect();
            Err(Error::usage("no room"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "no room");
        assert_eq!(new.len(), 2);
        assert!(new.iter().all(is_over) && !new.iter().any(has_begun));
        assert_eq!(destination(&handles[0]), "a:1");
        assert!(!handles.iter().any(is_over));
        assert_eq!(follow(&mut set, &["1:a:1", "2:b:2"]), "kept 2");
    }

    #[test]
    fn a_place_that_is_written_in_another_way_is_the_same() {
        let (mut set, handles) = open(&["1:a:1", "localhost:2:b:2"]);
        let told = follow(&mut set, &["localhost:1:a:1", "127.0.0.1:2:c:3"]);
        assert_eq!(told, "changed 127.0.0.1:2; kept 1");
        assert!(!handles.iter().any(is_over));
    }
}
