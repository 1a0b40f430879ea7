//! What a listener requires of its clients, and the check of one client.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use super::login_queue::LoginTicket;
use super::password_check::{Accounts, Logins};
use ptunnel_proto::auth::{LoginCheck, Verdict};
use ptunnel_proto::debug_by_name;
use ptunnel_proto::sync::lock;
use ptunnel_proto::values::{Credentials, Users};

/// The clients that a listener serves. Two are equal if they are configured alike.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Login {
    /// All.
    Anyone,
    /// Those that present a name and a password of these.
    Required(Accounts, Logins),
}

impl Login {
    pub(super) fn of(user: Option<&Credentials>) -> Login {
        match user {
            None => Login::Anyone,
            Some(user) => {
                let account = Accounts::One(Arc::new(user.clone()));
                Login::Required(account, Logins::default())
            }
        }
    }

    pub(super) fn of_users(users: &Users, logins: &Logins) -> Login {
        Login::Required(Accounts::File(users.clone()), logins.clone())
    }

    /// Returns the same with the state that all listeners share.
    pub(super) fn sharing(self, logins: &Logins) -> Login {
        match self {
            Login::Anyone => Login::Anyone,
            Login::Required(accounts, _) => Login::Required(accounts, logins.clone()),
        }
    }

    pub(super) fn is_required(&self) -> bool {
        *self != Login::Anyone
    }

    /// Returns the check of a client with this address, unless all are served.
    pub(super) fn check(&self, client: Option<IpAddr>) -> Option<Arc<ClientLogin>> {
        Some(Arc::new(ClientLogin {
            login: self.clone(),
            client,
            state: Mutex::default(),
        }))
        .filter(|_| self.is_required())
    }
}

/// The check of one client, which sends one login.
pub(super) struct ClientLogin {
    login: Login,
    /// `None` for a client of a Unix socket.
    client: Option<IpAddr>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Of a password that a thread checks, until the protocol has got the verdict.
    ticket: Option<Arc<LoginTicket>>,
    user: Option<Arc<str>>,
}

// The ticket is about a password.
debug_by_name!(ClientLogin);

impl ClientLogin {
    /// Returns whether a password is being checked; then the function that `wake` makes is called
    /// when it has been.
    pub(super) fn is_pending(&self, wake: impl FnOnce() -> Box<dyn FnOnce() + Send>) -> bool {
        let state = lock(&self.state);
        let ticket = state.ticket.as_ref();
        ticket.map_or(false, |ticket| ticket.is_pending(wake))
    }

    /// Returns whether a verdict is awaited, or there and not asked for yet.
    pub(super) fn is_awaited(&self) -> bool {
        lock(&self.state).ticket.is_some()
    }

    /// Returns the name of the user that was accepted.
    pub(super) fn user(&self) -> Option<Arc<str>> {
        lock(&self.state).user.clone()
    }
}

impl LoginCheck for ClientLogin {
    fn check(&self, user: &[u8], password: &[u8]) -> Verdict {
        let mut state = lock(&self.state);
        let verdict = match (&self.login, &state.ticket) {
            (Login::Anyone, _) => Verdict::Accepted,
            (Login::Required(..), Some(ticket)) => ticket.verdict(),
            (Login::Required(accounts, logins), None) => {
                match logins.ask(accounts, self.client, user, password) {
                    Ok(verdict) => verdict,
                    Err(ticket) => {
                        let verdict = ticket.verdict();
                        state.ticket = Some(ticket);
                        verdict
                    }
                }
            }
        };
        if verdict != Verdict::Pending {
            state.ticket = None;
        }
        if verdict == Verdict::Accepted {
            state.user = Some(String::from_utf8_lossy(user).into());
        }
        verdict
    }
}
