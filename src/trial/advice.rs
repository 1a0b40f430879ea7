//! What to try when a step fails: what its error doesn't say by itself.

use std::fmt;

use super::Step;
use crate::config::{Host, HostPort};
use crate::error::{Cause, Error};

/// Displays as the rest of `try: …`.
pub(super) enum Advice {
    Text(&'static str),
    /// A look at the certificates of who listens there.
    Certificates(HostPort),
}

/// What stands in errors that say by themselves what to do.
const REMEDIES: &[&str] = &["try http", "write http", "--proxy-", "clock right?"];

impl Advice {
    /// `None` when the error itself says what to do.
    pub(super) fn after(step: Step, error: &Error) -> Option<Advice> {
        let said = error.to_string();
        if REMEDIES.iter().any(|remedy| said.contains(remedy)) {
            return None;
        }
        let text = match (step, error.cause()) {
            (_, Cause::Shortage) => return None,
            (Step::FirstByte, _) => {
                "is the port right, and is anything there? Some proxies grant a tunnel before they \
                 have connected, and end it when they can't"
            }
            (_, Cause::Name) => {
                "is it spelt right? `getent ahosts NAME` asks the same resolver; an address needs \
                 none"
            }
            (Step::Name, _) => {
                "no name server answers: is the network up, and /etc/resolv.conf right? an address \
                 needs none"
            }
            (_, Cause::Connection) => {
                "is the port right? refused is: nothing listens there; unreachable is: this \
                 machine has no way there, is a VPN or a route missing?"
            }
            (_, Cause::ConnectTimeout) => {
                "nobody answers: is the address right, or does a firewall drop it? -4 and -6 keep \
                 to one family"
            }
            (_, Cause::Tls) => return error.without_tls().cloned().map(Advice::Certificates),
            (Step::Socks5, Cause::HandshakeTimeout) => {
                "it takes the connection and says nothing: is it a SOCKS5 proxy, in the clear? \
                 --handshake-timeout gives it more time"
            }
            (_, Cause::HandshakeTimeout) => {
                "it takes the connection and says nothing: is it an HTTP proxy, and is https:// \
                 right for it, or wrong? --handshake-timeout gives it more time"
            }
            (Step::Connect, Cause::Lost) => {
                "it may want TLS (https://), or not serve this machine: its log says why"
            }
            (_, Cause::Lost) => "it may not serve this machine: its log says why",
            (Step::Socks5, Cause::Malformed) => {
                "whatever is there, it is no SOCKS5 proxy as it was spoken to: is the port right?"
            }
            (_, Cause::Malformed) => {
                "whatever is there, it is no HTTP proxy as it was spoken to: is the port right, \
                 and https:// or http://?"
            }
            (_, Cause::Credentials) => {
                "-U USER and --password-file FILE say who we are, -U 'DOMAIN\\user' in a Windows \
                 domain; more attempts with a wrong password may lock the account"
            }
            (_, Cause::Refused) => return Advice::on_refusal(error),
            (_, Cause::Undecided) => {
                "a browser with the same file gets the same answer: who wrote the file can mend it"
            }
            (_, Cause::Denied) | (_, Cause::Cut) | (_, Cause::Other) => return None,
        };
        Some(Advice::Text(text))
    }

    fn on_refusal(error: &Error) -> Option<Advice> {
        let text = match error.refusal()?.status() {
            403 => {
                "the proxy's rules forbid it: ask who runs it to allow CONNECT to this host and \
                 port"
            }
            502..=504 => {
                "it is the proxy that can't get there: is the destination's name known, and its \
                 port open, where the proxy stands?"
            }
            400 | 404 | 405 | 501 => {
                "it may be a web server, or a proxy that doesn't serve CONNECT: is the port the \
                 proxy's?"
            }
            _ => "ask who runs the proxy what it means by that",
        };
        Some(Advice::Text(text))
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = match self {
            Advice::Text(text) => return f.write_str(text),
            Advice::Certificates(address) => address,
        };
        write!(f, "`openssl s_client -connect {}", address)?;
        if let Host::Name(name) = &address.host {
            write!(f, " -servername {}", name)?;
        }
        f.write_str("` shows the certificates that it presents")
    }
}
