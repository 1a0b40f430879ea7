//! The check of clients' passwords: those of `--users` on a thread, since a hash takes up to seconds,
//! and remembered for a while, since a browser opens hundreds of connections.
//!
//! ```text
//!   ask ──▶ address throttled, password remembered ─▶ verdict
//!    ├────▶ one user ──▶ comparison ────────────────▶ verdict
//!    └────▶ queue ──▶ thread: the same as in the first line, else crypt(3) ──▶ ticket, which wakes the
//!                                                                              client's task
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

use super::guesses::{self, Guesses};
use super::login_queue::{Job, LoginQueue, LoginTicket, Mark};
use crate::config::{ClientNetwork, Credentials, Users};
use crate::os::mutex::lock;
use crate::os::sys::Crypt;
use crate::proto::auth::{is_same, random, LoginCheck, LoginFault, Verdict};

/// Time for which a password that was right is remembered, and one that was wrong: a program that
/// repeats the same wrong one makes one guess a minute.
const RIGHT: Duration = Duration::from_secs(300);
const WRONG: Duration = Duration::from_secs(60);

/// Maximum number of passwords that are remembered.
const MOST: usize = 4096;

/// The users that a listener serves.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Accounts {
    /// `--dynamic-user` or `--serve-user`.
    One(Arc<Credentials>),
    /// `--users`.
    File(Users),
}

/// The state behind the logins of all listeners, which outlives reloads. Clones share it.
#[derive(Clone)]
pub struct Logins {
    shared: Arc<Shared>,
}

struct Shared {
    /// `None` without randomness: then nothing is remembered.
    key: Option<Mark>,
    memory: Mutex<Memory>,
    queue: Mutex<LoginQueue>,
    /// Wakes the thread, once it runs.
    wake: Mutex<Option<SyncSender<()>>>,
}

#[derive(Default)]
struct Memory {
    guesses: Guesses,
    known: HashMap<Mark, (bool, Instant)>,
}

impl Default for Logins {
    fn default() -> Logins {
        let mut key = [0; 32];
        Logins {
            shared: Arc::new(Shared {
                key: random(&mut key).map(|()| key),
                memory: Mutex::default(),
                queue: Mutex::default(),
                wake: Mutex::default(),
            }),
        }
    }
}

impl Logins {
    /// Returns the verdict on a username and a password, or the ticket of one that the thread checks.
    pub(super) fn ask(
        &self,
        accounts: &Accounts,
        client: Option<IpAddr>,
        user: &[u8],
        password: &[u8],
    ) -> Result<Verdict, Arc<LoginTicket>> {
        let shared = &self.shared;
        let (client, now) = (ClientNetwork::from(client), Instant::now());
        let (stored, is_user) = match accounts {
            Accounts::One(one) => (one.password(), user == one.user().as_bytes()),
            Accounts::File(users) => match users.find(user) {
                Some(hash) => (hash, true),
                None => (users.any(shared.choice(user)), false),
            },
        };
        let known = stored.reveal().as_bytes();
        let mark = shared.mark(&[user, &[is_user as u8], known, password]);
        let mut memory = lock(&shared.memory);
        if let Some(verdict) = memory.judge(client, mark, now) {
            return Ok(verdict);
        }
        if let Accounts::One(one) = accounts {
            let is_right = one.check(user, password) == Verdict::Accepted;
            let (verdict, line) = memory.settle(client, mark, is_right, now);
            drop(memory);
            log(line);
            return Ok(verdict);
        }
        let rank = memory.guesses.of(client, now);
        drop(memory);
        let ticket = Arc::new(LoginTicket::default());
        let job = Job {
            tickets: vec![ticket.clone()],
            client,
            hash: stored.clone(),
            is_user,
            password: password.to_vec(),
            mark,
            rank,
        };
        match self.enqueue(job) {
            Some(()) => Err(ticket),
            None => Ok(Verdict::Refused(LoginFault::Busy)),
        }
    }

    /// Returns what wakes the thread, which the first job starts.
    fn thread(&self) -> Option<SyncSender<()>> {
        let mut wake = lock(&self.shared.wake);
        if wake.is_none() {
            let (sender, wakes) = sync_channel(1);
            let shared = Arc::downgrade(&self.shared);
            let thread = thread::Builder::new().name("logins".into());
            match thread.spawn(move || work(&shared, &wakes)) {
                Ok(_) => *wake = Some(sender),
                Err(e) => warn!("cannot check passwords: {}", e),
            }
        }
        wake.clone()
    }

    /// Passes a job to the thread; `None` if there is no room.
    fn enqueue(&self, job: Job) -> Option<()> {
        let wake = self.thread()?;
        let without_place = lock(&self.shared.queue).add(job)?;
        for ticket in without_place {
            ticket.answer(Verdict::Refused(LoginFault::Busy));
        }
        // If it is full, the thread has yet to look into the queue.
        let _ = wake.try_send(());
        Some(())
    }
}

/// Checks the passwords, until the state is gone.
fn work(shared: &Weak<Shared>, wakes: &Receiver<()>) {
    let crypt = Crypt::load().map_err(|e| warn!("cannot check passwords: {}", e));
    for () in wakes {
        while let Some(shared) = shared.upgrade() {
            let job = match lock(&shared.queue).take() {
                Some(job) => job,
                None => break,
            };
            // A job ahead of it may have been about the same password, or the last guess.
            let known = lock(&shared.memory).judge(job.client, job.mark, Instant::now());
            let verdict = known.unwrap_or_else(|| match crypt {
                Ok(crypt) => shared.decide(&job, crypt),
                Err(()) => Verdict::Refused(LoginFault::Busy),
            });
            job.tickets.iter().for_each(|it| it.answer(verdict));
        }
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
        let computed = crypt.hash(&job.password, hash).unwrap_or_default();
        let is_right = is_same(computed.as_bytes(), hash.as_bytes()) && job.is_user;
        let settled = lock(&self.memory).settle(job.client, job.mark, is_right, Instant::now());
        log(settled.1);
        settled.0
    }
}

fn log(line: Option<String>) {
    if let Some(line) = line {
        warn!("{}", line);
    }
}

impl Memory {
    /// Returns the verdict that needs no check.
    fn judge(
        &mut self,
        client: ClientNetwork,
        mark: Option<Mark>,
        now: Instant,
    ) -> Option<Verdict> {
        if self.guesses.of(client, now) >= guesses::MOST {
            return Some(Verdict::Refused(LoginFault::Throttled));
        }
        let (is_right, then) = self.known.get(&mark?)?;
        match (is_right, is_fresh(*is_right, *then, now)) {
            (_, false) => None,
            (true, true) => Some(Verdict::Accepted),
            (false, true) => Some(Verdict::Refused(LoginFault::Wrong)),
        }
    }

    /// Remembers the result of a check, and counts a wrong guess; returns a line for the log if it is
    /// the last one.
    fn settle(
        &mut self,
        client: ClientNetwork,
        mark: Option<Mark>,
        is_right: bool,
        now: Instant,
    ) -> (Verdict, Option<String>) {
        self.remember(mark, is_right, now);
        if is_right {
            return (Verdict::Accepted, None);
        }
        let line = self.guesses.note(client, now);
        (Verdict::Refused(LoginFault::Wrong), line)
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
    use crate::config::Secret;

    /// Returns a file in which these users have these passwords, hashed with the fewest rounds.
    fn users(all: &[(&str, &str)]) -> Accounts {
        let crypt = Crypt::load().unwrap();
        let line = |(user, password): &(&str, &str)| {
            let hash = crypt.hash(password.as_bytes(), "$5$rounds=1000$saltsalt$");
            format!("{}:{}\n", user, hash.unwrap())
        };
        Accounts::File(Users::read(&all.iter().map(line).collect::<String>()).unwrap())
    }

    fn client(number: u8) -> Option<IpAddr> {
        Some([192, 0, 2, number].into())
    }

    /// Returns the verdict, and whether the thread was asked.
    fn login(
        logins: &Logins,
        users: &Accounts,
        client: Option<IpAddr>,
        (user, password): (&str, &str),
    ) -> (Verdict, bool) {
        let ticket = match logins.ask(users, client, user.as_bytes(), password.as_bytes()) {
            Ok(verdict) => return (verdict, false),
            Err(ticket) => ticket,
        };
        let (sender, woken) = channel();
        let wake =
            move || -> Box<dyn FnOnce() + Send> { Box::new(move || sender.send(()).unwrap()) };
        if ticket.is_pending(wake) {
            woken.recv_timeout(Duration::from_secs(20)).expect("woken");
        }
        (ticket.verdict(), true)
    }

    fn logins_of(
        logins: &Logins,
        accounts: &Accounts,
        number: u8,
        login_of: (&str, &str),
    ) -> Verdict {
        login(logins, accounts, client(number), login_of).0
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

    /// Regression: they had no limit.
    #[test]
    fn guesses_about_one_user_count_with_those_about_a_file() {
        let joe = Credentials::new("joe", Secret::new("y")).unwrap();
        let one = Accounts::One(Arc::new(joe));
        let (logins, file) = (Logins::default(), users(&[("ann", "x")]));
        let each = |number, accounts, login| logins_of(&logins, accounts, number, login);
        for guess in &["0", "1", "2", "3", "4"] {
            assert_eq!(each(1, &one, ("joe", "0")), WRONG, "one guess in all");
            assert_eq!(each(1, &one, ("joe", guess)), WRONG);
            assert_eq!(each(1, &file, ("ann", guess)), WRONG);
        }
        for number in &[1, 2] {
            let (one_verdict, file_verdict) = match number {
                1 => (THROTTLED, THROTTLED),
                _ => (Verdict::Accepted, Verdict::Accepted),
            };
            assert_eq!(each(*number, &one, ("joe", "y")), one_verdict);
            assert_eq!(each(*number, &file, ("ann", "x")), file_verdict);
        }
    }

    /// As after a reload.
    #[test]
    fn what_is_remembered_about_one_user_ends_with_its_password() {
        let account = |user, password| {
            let credentials = Credentials::new(user, Secret::new(password)).unwrap();
            Accounts::One(Arc::new(credentials))
        };
        let logins = Logins::default();
        let verdict = |user, password| {
            let account = account(user, password);
            logins_of(&logins, &account, 1, ("ann", "x"))
        };
        assert_eq!(verdict("ann", "x"), Verdict::Accepted);
        assert_eq!(verdict("ann", "y"), WRONG);
        assert_eq!(verdict("joe", "x"), WRONG);
        assert_eq!(verdict("ann", "x"), Verdict::Accepted);
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
            memory.judge(None.into(), mark(0), start + super::WRONG),
            Some(Verdict::Accepted)
        );
        assert_eq!(memory.judge(None.into(), mark(1), start), Some(WRONG));
        assert_eq!(
            memory.judge(None.into(), mark(1), start + super::WRONG),
            None
        );
        assert_eq!(memory.judge(None.into(), mark(0), start + RIGHT), None);
        (0..2 * MOST).for_each(|number| memory.remember(mark(number), false, start));
        assert!(memory.known.len() <= MOST / 2);
        (0..2 * MOST).for_each(|number| memory.remember(mark(number), true, start));
        assert_eq!(memory.known.len(), MOST);
    }
}
