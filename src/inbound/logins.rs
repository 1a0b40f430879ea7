//! The passwords of `--users`: checked on a thread, since a hash takes up to seconds, and remembered
//! for a while, since a browser opens hundreds of connections.
//!
//! ```text
//!   ask ──▶ address throttled, password remembered ──────────▶ verdict
//!    └────▶ queue ──▶ thread: the same again, else crypt(3) ──▶ ticket, which wakes the client's task
//! ```
//!
//! One thread checks one password at a time, so that guesses can't take more than one core, and none
//! is checked before the one ahead of it counts. What is remembered is keyed by the hash in the file:
//! a reload that changes a user's hash makes ptunnel forget that user alone.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant};

use hmac::{Hmac, Mac};
use log::warn;
use sha2::Sha256;

use super::guesses::Guesses;
use crate::config::{Secret, Users};
use crate::os::mutex::lock;
use crate::os::sys::Crypt;
use crate::proto::auth::{is_same, random, LoginFault, Verdict};

/// Maximum number of passwords that wait for the thread.
const QUEUE: usize = 128;

/// Time for which a password that was right is remembered, and one that was wrong: a program that
/// repeats the same wrong one makes one guess a minute.
const RIGHT: Duration = Duration::from_secs(300);
const WRONG: Duration = Duration::from_secs(60);

/// Maximum number of passwords that are remembered.
const MOST: usize = 4096;

type WakeFn = Box<dyn FnOnce() + Send>;

/// A user, the hash of the password in the file and a password, as HMAC-SHA256 with a random key.
type Mark = [u8; 32];

/// The state behind the logins of all listeners, which outlives reloads. Clones share it.
#[derive(Clone)]
pub struct Logins {
    shared: Arc<Shared>,
}

struct Shared {
    /// `None` without randomness: then nothing is remembered.
    key: Option<Mark>,
    memory: Mutex<Memory>,
    /// To the thread, once it runs.
    queue: Mutex<Option<SyncSender<Job>>>,
}

#[derive(Default)]
struct Memory {
    guesses: Guesses,
    known: HashMap<Mark, (bool, Instant)>,
}

/// A password that waits for the thread.
struct Job {
    ticket: Arc<LoginTicket>,
    client: Option<IpAddr>,
    hash: Secret,
    /// Whether the hash is that of the user that the client named; otherwise it is another one, which
    /// takes as long.
    is_user: bool,
    password: Vec<u8>,
    mark: Option<Mark>,
}

impl Default for Logins {
    fn default() -> Logins {
        let mut key = [0; 32];
        Logins {
            shared: Arc::new(Shared {
                key: random(&mut key).map(|()| key),
                memory: Mutex::default(),
                queue: Mutex::default(),
            }),
        }
    }
}

impl Logins {
    /// Returns the verdict on a username and a password, or the ticket of one that the thread checks.
    pub(super) fn ask(
        &self,
        users: &Users,
        client: Option<IpAddr>,
        user: &[u8],
        password: &[u8],
    ) -> Result<Verdict, Arc<LoginTicket>> {
        let (hash, is_user) = match users.find(user) {
            Some(hash) => (hash, true),
            None => (users.any(self.shared.choice(user)), false),
        };
        let mark = self
            .shared
            .mark(&[user, hash.reveal().as_bytes(), password]);
        let known = lock(&self.shared.memory).judge(client, mark, Instant::now());
        if let Some(verdict) = known {
            return Ok(verdict);
        }
        let ticket = Arc::new(LoginTicket::default());
        let job = Job {
            ticket: ticket.clone(),
            client,
            hash: hash.clone(),
            is_user,
            password: password.to_vec(),
            mark,
        };
        match self.enqueue(job) {
            Some(()) => Err(ticket),
            None => Ok(Verdict::Refused(LoginFault::Busy)),
        }
    }

    /// Passes a job to the thread, which the first one starts; `None` if there is no room.
    fn enqueue(&self, job: Job) -> Option<()> {
        let mut queue = lock(&self.shared.queue);
        if queue.is_none() {
            let (sender, jobs) = sync_channel(QUEUE);
            let shared = Arc::downgrade(&self.shared);
            let thread = thread::Builder::new().name("logins".into());
            match thread.spawn(move || work(&shared, &jobs)) {
                Ok(_) => *queue = Some(sender),
                Err(e) => warn!("cannot check passwords: {}", e),
            }
        }
        queue.as_ref()?.try_send(job).ok()
    }
}

/// Checks the passwords, until the state is gone.
fn work(shared: &Weak<Shared>, jobs: &Receiver<Job>) {
    let crypt = Crypt::load().map_err(|e| warn!("cannot check passwords: {}", e));
    for job in jobs {
        let shared = match shared.upgrade() {
            Some(shared) => shared,
            None => return,
        };
        if Arc::strong_count(&job.ticket) == 1 {
            continue; // the client has left
        }
        // A job ahead of it may have been about the same password, or the last guess.
        let known = lock(&shared.memory).judge(job.client, job.mark, Instant::now());
        let verdict = known.unwrap_or_else(|| match crypt {
            Ok(crypt) => shared.decide(&job, crypt),
            Err(()) => Verdict::Refused(LoginFault::Busy),
        });
        job.ticket.answer(verdict);
    }
}

impl Shared {
    fn mark(&self, parts: &[&[u8]]) -> Option<Mark> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key?).ok()?;
        for part in parts {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        Some(mac.finalize().into_bytes().into())
    }

    /// Returns a number that only ptunnel can tell from a name: an unknown user takes as long as one of
    /// the others, always the same one.
    fn choice(&self, user: &[u8]) -> usize {
        let mark = self.mark(&[user]).unwrap_or_default();
        usize::from(u16::from_be_bytes([mark[0], mark[1]]))
    }

    /// Computes the hash of a password and remembers the result.
    fn decide(&self, job: &Job, crypt: Crypt) -> Verdict {
        let hash = job.hash.reveal();
        let own = crypt.hash(&job.password, hash).unwrap_or_default();
        let is_right = is_same(own.as_bytes(), hash.as_bytes()) && job.is_user;
        let now = Instant::now();
        let mut memory = lock(&self.memory);
        memory.remember(job.mark, is_right, now);
        if is_right {
            return Verdict::Accepted;
        }
        let throttled = memory.guesses.note(job.client, now);
        drop(memory);
        if let Some(text) = throttled {
            warn!("{}", text);
        }
        Verdict::Refused(LoginFault::Wrong)
    }
}

impl Memory {
    /// Returns the verdict that needs no check.
    fn judge(
        &mut self,
        client: Option<IpAddr>,
        mark: Option<Mark>,
        now: Instant,
    ) -> Option<Verdict> {
        if self.guesses.are_over(client, now) {
            return Some(Verdict::Refused(LoginFault::Throttled));
        }
        let (is_right, then) = self.known.get(&mark?)?;
        match (is_right, is_fresh(*is_right, *then, now)) {
            (_, false) => None,
            (true, true) => Some(Verdict::Accepted),
            (false, true) => Some(Verdict::Refused(LoginFault::Wrong)),
        }
    }

    fn remember(&mut self, mark: Option<Mark>, is_right: bool, now: Instant) {
        // Wrong ones leave room for right ones.
        let most = if is_right { MOST } else { MOST / 2 };
        if self.known.len() >= most {
            self.known
                .retain(|_, (is_right, then)| is_fresh(*is_right, *then, now));
        }
        if let Some(mark) = mark.filter(|_| self.known.len() < most) {
            self.known.insert(mark, (is_right, now));
        }
    }
}

fn is_fresh(is_right: bool, then: Instant, now: Instant) -> bool {
    let time = if is_right { RIGHT } else { WRONG };
    now.saturating_duration_since(then) < time
}

/// The place of a client in the queue.
#[derive(Default)]
pub(super) struct LoginTicket {
    state: Mutex<(Option<Verdict>, Option<WakeFn>)>,
}

impl LoginTicket {
    /// Returns the verdict, as far as there is one.
    pub(super) fn verdict(&self) -> Verdict {
        lock(&self.state).0.unwrap_or(Verdict::Pending)
    }

    /// Returns whether there is no verdict; then the function that `wake` makes is called when there
    /// is one. Of several functions, only the last one is.
    pub(super) fn is_pending(&self, wake: impl FnOnce() -> WakeFn) -> bool {
        let mut state = lock(&self.state);
        if state.0.is_none() {
            state.1 = Some(wake());
        }
        state.0.is_none()
    }

    fn answer(&self, verdict: Verdict) {
        let wake = {
            let mut state = lock(&self.state);
            state.0 = Some(verdict);
            state.1.take()
        };
        if let Some(wake) = wake {
            wake();
        }
    }
}

impl PartialEq for Logins {
    /// Holds nothing that is configured.
    fn eq(&self, _: &Logins) -> bool {
        true
    }
}

crate::text::debug::debug_by_name!(Logins);

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// Returns a file in which these users have these passwords, hashed with the fewest rounds.
    fn users(all: &[(&str, &str)]) -> Users {
        let crypt = Crypt::load().unwrap();
        let line = |(user, password): &(&str, &str)| {
            let hash = crypt.hash(password.as_bytes(), "$5$rounds=1000$saltsalt$");
            format!("{}:{}\n", user, hash.unwrap())
        };
        Users::read(&all.iter().map(line).collect::<String>()).unwrap()
    }

    fn client(number: u8) -> Option<IpAddr> {
        Some([192, 0, 2, number].into())
    }

    /// Returns the verdict, and whether the thread was asked.
    fn login(
        logins: &Logins,
        users: &Users,
        client: Option<IpAddr>,
        (user, password): (&str, &str),
    ) -> (Verdict, bool) {
        let ticket = match logins.ask(users, client, user.as_bytes(), password.as_bytes()) {
            Ok(verdict) => return (verdict, false),
            Err(ticket) => ticket,
        };
        let (sender, woken) = channel();
        let wake = move || -> WakeFn { Box::new(move || sender.send(()).unwrap()) };
        if ticket.is_pending(wake) {
            woken.recv_timeout(Duration::from_secs(20)).expect("woken");
        }
        (ticket.verdict(), true)
    }

    const WRONG: Verdict = Verdict::Refused(LoginFault::Wrong);
    const THROTTLED: Verdict = Verdict::Refused(LoginFault::Throttled);

    #[test]
    fn a_password_is_checked_once() {
        let (logins, users) = (Logins::default(), users(&[("ann", "x"), ("joe", "y")]));
        for asked in &[true, false, false] {
            let each = |one| login(&logins, &users, client(1), one);
            assert_eq!(each(("ann", "x")), (Verdict::Accepted, *asked));
            assert_eq!(each(("joe", "y")), (Verdict::Accepted, *asked));
            assert_eq!(each(("joe", "x")), (WRONG, *asked));
            assert_eq!(each(("jim", "x")), (WRONG, *asked));
            assert_eq!(each(("", "")), (WRONG, *asked));
            assert_eq!(each(("ann\0", "x")), (WRONG, *asked));
        }
    }

    /// As after a reload: the state stays, and only the user with another hash is checked again.
    #[test]
    fn a_changed_hash_is_checked_again() {
        let (logins, before) = (Logins::default(), users(&[("ann", "x"), ("joe", "y")]));
        let after = users(&[("ann", "z"), ("joe", "y")]);
        for one in &[("ann", "x"), ("joe", "y")] {
            let first = login(&logins, &before, client(1), *one);
            assert_eq!(first, (Verdict::Accepted, true));
        }
        let each = |one| login(&logins, &after, client(1), one);
        assert_eq!(each(("ann", "x")), (WRONG, true));
        assert_eq!(each(("ann", "z")), (Verdict::Accepted, true));
        assert_eq!(each(("joe", "y")), (Verdict::Accepted, false));
        let gone = users(&[("joe", "y")]);
        assert_eq!(
            login(&logins, &gone, client(1), ("ann", "z")),
            (WRONG, true)
        );
    }

    #[test]
    fn an_address_with_wrong_guesses_is_refused_and_others_are_not() {
        let (logins, users) = (Logins::default(), users(&[("ann", "x")]));
        let guess = |number: u8| login(&logins, &users, client(1), ("ann", &number.to_string()));
        assert_eq!(
            login(&logins, &users, client(1), ("ann", "x")).0,
            Verdict::Accepted
        );
        (0..10).for_each(|number| assert_eq!(guess(number), (WRONG, true)));
        assert_eq!(guess(0), (THROTTLED, false));
        assert_eq!(guess(10), (THROTTLED, false));
        // Even what is right: a remembered password could be guessed without crypt(3).
        assert_eq!(
            login(&logins, &users, client(1), ("ann", "x")),
            (THROTTLED, false)
        );
        assert_eq!(
            login(&logins, &users, client(2), ("ann", "x")),
            (Verdict::Accepted, false)
        );
    }

    /// The same wrong password of a program that repeats it is one guess.
    #[test]
    fn repeating_a_wrong_password_is_one_guess() {
        let (logins, users) = (Logins::default(), users(&[("ann", "x")]));
        for _ in 0..100 {
            assert_eq!(login(&logins, &users, client(1), ("ann", "old")).0, WRONG);
        }
        assert_eq!(
            login(&logins, &users, client(1), ("ann", "x")).0,
            Verdict::Accepted
        );
    }

    #[test]
    fn a_full_queue_refuses() {
        let (logins, users) = (Logins::default(), users(&[("ann", "x")]));
        let (sender, _jobs) = sync_channel(1);
        *lock(&logins.shared.queue) = Some(sender);
        let first = logins.ask(&users, client(1), b"ann", b"x");
        assert_eq!(
            first.map_err(|ticket| ticket.verdict()),
            Err(Verdict::Pending)
        );
        let second = logins.ask(&users, client(1), b"ann", b"x").ok();
        assert_eq!(second, Some(Verdict::Refused(LoginFault::Busy)));
    }

    #[test]
    fn what_is_remembered_has_an_end_and_a_limit() {
        let (mut memory, start) = (Memory::default(), Instant::now());
        let mark = |number: usize| {
            let mut mark = [0; 32];
            mark[..8].copy_from_slice(&(number as u64).to_be_bytes());
            Some(mark)
        };
        memory.remember(mark(0), true, start);
        memory.remember(mark(1), false, start);
        assert_eq!(
            memory.judge(None, mark(0), start + super::WRONG),
            Some(Verdict::Accepted)
        );
        assert_eq!(memory.judge(None, mark(1), start), Some(WRONG));
        assert_eq!(memory.judge(None, mark(1), start + super::WRONG), None);
        assert_eq!(memory.judge(None, mark(0), start + RIGHT), None);
        (0..2 * MOST).for_each(|number| memory.remember(mark(number), false, start));
        assert!(memory.known.len() <= MOST / 2);
        (0..2 * MOST).for_each(|number| memory.remember(mark(number), true, start));
        assert_eq!(memory.known.len(), MOST);
    }
}
