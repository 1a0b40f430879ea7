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

use super::failed_logins::{self, FailedLogins};
use super::login_queue::{Job, LoginQueue, LoginTicket, Mark};
use crate::os::sys::Crypt;
use ptunnel_proto::auth::{is_same, random, LoginCheck, LoginFault, Verdict};
use ptunnel_proto::sync::lock;
use ptunnel_proto::values::{ClientNetwork, Credentials, Users};

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
    failed: FailedLogins,
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
        let rank = memory.failed.of(client, now);
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
        if self.failed.of(client, now) >= failed_logins::MOST {
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
        let line = self.failed.note(client, now);
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

ptunnel_proto::debug_by_name!(Logins);

#[cfg(test)]
mod tests;
