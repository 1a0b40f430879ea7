//! Advice for the user about an error.

use std::error;
use std::fmt;
use std::io;

use super::{Error, Kind, Peer};
use ptunnel_proto::{Hint, Malformed, Refusal, StartTlsFault};

/// A cause with a text that includes advice.
#[derive(Debug)]
pub(crate) struct Advised(pub(crate) String);

impl fmt::Display for Advised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl error::Error for Advised {}

/// The option that holds the credentials for a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CredentialsOption {
    /// `--user`, with its password.
    User,
    /// The URL of `--via`.
    Via,
    /// The file of `--proxy-netrc`.
    Netrc,
}

impl CredentialsOption {
    /// Returns the option for a proxy that refused.
    pub(super) fn of(proxy: &Peer, refusal: &Refusal) -> CredentialsOption {
        match (proxy, refusal) {
            (Peer::Via(_), _) => CredentialsOption::Via,
            // Of the proxies that a PAC file names, only HTTP ones get --user.
            (Peer::Named(_), Refusal::Socks(_)) => CredentialsOption::Netrc,
            _ => CredentialsOption::User,
        }
    }

    /// Returns what the user can do with the option.
    pub(super) fn hinted(self, hint: Hint) -> &'static str {
        match (self, hint) {
            (CredentialsOption::User, Hint::Give) => "set --user and the password",
            (CredentialsOption::User, Hint::Check) => "check --user and the password",
            (CredentialsOption::User, Hint::Own) => {
                "set --user to the name of the user that ptunnel runs as"
            }
            (CredentialsOption::Via, Hint::Give) => "add the username to the --via URL",
            (CredentialsOption::Via, Hint::Check) => {
                "check the username in the --via URL, and the password"
            }
            (CredentialsOption::Via, Hint::Own) => {
                "set the username in the --via URL to the user that ptunnel runs as"
            }
            (CredentialsOption::Netrc, Hint::Give) => {
                "add an entry for the proxy to the --proxy-netrc file, because a PAC file names it"
            }
            (CredentialsOption::Netrc, Hint::Check) => {
                "check the username and the password in the --proxy-netrc file"
            }
            (CredentialsOption::Netrc, Hint::Own) => {
                "set the login in the --proxy-netrc file to the user that ptunnel runs as"
            }
        }
    }
}

impl Error {
    /// Returns the option with the credentials for the proxy that refused.
    pub(crate) fn credentials_option(&self) -> Option<CredentialsOption> {
        match &*self.kind {
            Kind::Refused(proxy, _, refusal) => Some(CredentialsOption::of(proxy, refusal)),
            _ => None,
        }
    }

    /// Returns whether the text includes advice by ptunnel; advice in a peer's text doesn't count.
    pub(crate) fn is_advised(&self) -> bool {
        let io_cause = self.io_cause().and_then(io::Error::get_ref);
        if io_cause.map_or(false, |cause| {
            cause.is::<Advised>() || cause.is::<StartTlsFault>()
        }) {
            return true;
        }
        let cause = error::Error::source(self);
        if let Some(malformed) = cause.and_then(|cause| cause.downcast_ref::<Malformed>()) {
            return malformed.is_advised();
        }
        if let Some(error) = cause.and_then(|cause| cause.downcast_ref::<Error>()) {
            return error.is_advised();
        }
        self.refusal().map_or(false, Refusal::is_advised)
    }

    /// Returns whether the path of a tunnel failed for a reason that a test of the path explains, and the
    /// text has no advice.
    pub(crate) fn is_explained_by_test(&self) -> bool {
        use super::Cause;

        let is_of_path = matches!(
            self.cause(),
            Cause::Name
                | Cause::Connection
                | Cause::ConnectTimeout
                | Cause::Lost
                | Cause::HandshakeTimeout
                | Cause::Malformed
        );
        is_of_path && self.path().is_some() && !self.is_advised()
    }

    /// Returns advice for a TCP port or a Unix socket that ptunnel can't listen on.
    pub(super) fn listening_hint(&self) -> Option<&'static str> {
        let port = match *self.kind {
            Kind::Listen(_, port) => port,
            _ => return None,
        };
        let cause = self.io_cause()?;
        match (cause.kind(), port) {
            (io::ErrorKind::AddrInUse, Some(_)) => {
                Some("find the program with ss -ltnp, or choose another port")
            }
            (io::ErrorKind::AddrNotAvailable, Some(_)) => {
                Some("use an address of this machine, which ip address shows, or *")
            }
            (io::ErrorKind::PermissionDenied, Some(port)) if port < 1024 => Some(
                "ports below 1024 require root or CAP_NET_BIND_SERVICE; choose a higher port, or \
                 take the socket from systemd with fd:NAME",
            ),
            (io::ErrorKind::PermissionDenied, None) => {
                Some("let the user that ptunnel runs as create files in this folder")
            }
            (io::ErrorKind::NotFound, None) if cause.raw_os_error().is_some() => {
                Some("create its folder first")
            }
            _ => None,
        }
    }
}
