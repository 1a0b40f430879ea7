//! Advice after a step that failed, where the error itself has none.

use std::fmt;

use super::TestStep;
use crate::config::{Host, HostPort, Protocol, ProxySpec};
use crate::error::{Cause, CredentialsOption, Error};
use crate::proto::{Refusal, SocksRefusal};

/// Displays as the rest of `try: …`.
pub(super) enum Advice {
    Text(&'static str),
    /// The command that shows the certificates of an address, through a proxy if there is one.
    Certificates(HostPort, Option<HostPort>),
}

impl Advice {
    /// Returns the advice for an error, or `None` when the error's text includes advice.
    /// `is_secure` means TLS with the proxy, which can reject the client certificate after the
    /// handshake, as nginx does. `before` are the proxies in front of the peer that failed.
    pub(super) fn after(
        step: TestStep,
        is_secure: bool,
        error: &Error,
        before: &[&ProxySpec],
    ) -> Option<Advice> {
        if error.is_advised() {
            return None;
        }
        let text = match (step, error.cause()) {
            (_, Cause::Exhaustion) => return None,
            (TestStep::FirstByte, _) => {
                "is the port right, and is anything there? Some proxies grant a tunnel before they \
                 have connected, and end it when they can't"
            }
            (_, Cause::Name) => {
                "is it spelt right? `getent ahosts NAME` asks the same resolver; an address needs \
                 none"
            }
            (TestStep::Name, _) => {
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
            (_, Cause::Tls) => return Advice::without_tls(error, before),
            (TestStep::Socks5, Cause::HandshakeTimeout) | (TestStep::Socks4, Cause::HandshakeTimeout) => {
                "it takes the connection and says nothing: is it a SOCKS proxy of this version, in \
                 the clear? --handshake-timeout gives it more time"
            }
            (_, Cause::HandshakeTimeout) if error.is_of_destinations_tls() => {
                "it takes the connection and says nothing: does TLS begin there at once? where \
                 STARTTLS is said first, tls:// is no use. --handshake-timeout gives it more time"
            }
            (_, Cause::HandshakeTimeout) => {
                "it takes the connection and says nothing: is it an HTTP proxy, and is https:// \
                 right for it, or wrong? --handshake-timeout gives it more time"
            }
            (_, Cause::Lost) if is_secure => {
                "it may want a certificate of ours, or another one (--proxy-cert), or not serve \
                 this machine: its log says why"
            }
            (TestStep::Connect, Cause::Lost) => {
                "it may want TLS (https://), or not serve this machine: its log says why"
            }
            (_, Cause::Lost) => "it may not serve this machine: its log says why",
            (TestStep::Socks5, Cause::Malformed) | (TestStep::Socks4, Cause::Malformed) => {
                "whatever is there, it is no SOCKS proxy as it was spoken to: is the port right?"
            }
            (_, Cause::Malformed) => {
                "whatever is there, it is no HTTP proxy as it was spoken to: is the port right, \
                 and https:// or http://?"
            }
            (_, Cause::Credentials) => return Advice::on_credentials(error),
            (_, Cause::Refused) => return Advice::on_refusal(is_secure, error),
            (_, Cause::Undecided) => {
                "a browser would connect directly here, ptunnel doesn't go round the proxy unasked: the \
                 file's author can fix it"
            }
            (_, Cause::Rejection) | (_, Cause::RelayError) | (_, Cause::Other) => return None,
        };
        Some(Advice::Text(text))
    }

    /// Returns the command of openssl's client. It supports at most one proxy: HTTP, without TLS
    /// and without authentication.
    fn without_tls(error: &Error, before: &[&ProxySpec]) -> Option<Advice> {
        let is_plain = |proxy: &ProxySpec| {
            proxy.protocol == Protocol::Http && proxy.tls.is_none() && proxy.credentials.is_none()
        };
        let through = match before {
            [] => None,
            [proxy] if is_plain(proxy) => Some(proxy.address.clone()),
            _ => return None,
        };
        let address = error.failed_tls_peer()?.clone();
        Some(Advice::Certificates(address, through))
    }

    /// Returns advice only if the user's credentials can be the cause.
    fn on_credentials(error: &Error) -> Option<Advice> {
        error.refusal()?.hint()?;
        Some(Advice::Text(match error.credentials_option()? {
            CredentialsOption::Via => {
                "--via http://USER@HOST:PORT and --proxy-netrc FILE say who we are to it, -U \
                 doesn't; more attempts with a wrong password may lock the account"
            }
            CredentialsOption::Netrc => {
                "--proxy-netrc FILE says who we are to it, -U doesn't; more attempts with a wrong \
                 password may lock the account"
            }
            CredentialsOption::User => {
                "-U USER and --password-file FILE say who we are, -U 'DOMAIN\\user' in a Windows \
                 domain; more attempts with a wrong password may lock the account"
            }
        }))
    }

    fn on_refusal(is_secure: bool, error: &Error) -> Option<Advice> {
        let refusal = error.refusal()?;
        if refusal.hint().is_some() {
            return Advice::on_credentials(error);
        }
        let text = match refusal.status() {
            _ if matches!(refusal, Refusal::Socks(SocksRefusal::Reply4 { .. })) => {
                "SOCKS4 doesn't tell why: do the proxy's rules forbid it, or can't the proxy get \
                 there?"
            }
            403 => {
                "the proxy's rules forbid it: ask who runs it to allow CONNECT to this host and \
                 port"
            }
            502..=504 => {
                "it is the proxy that can't get there: is the destination's name known, and its \
                 port open, where the proxy stands?"
            }
            300..=399 | 511 => {
                "it may be this network's login page: open it in a browser on this machine; or a \
                 web server: is the port the proxy's?"
            }
            400 if is_secure => {
                "it may want a certificate of ours, or another one (--proxy-cert), or be a web \
                 server: its log says why"
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
        let (address, through) = match self {
            Advice::Text(text) => return f.write_str(text),
            Advice::Certificates(address, through) => (address, through),
        };
        f.write_str("`openssl s_client")?;
        if let Some(proxy) = through {
            write!(f, " -proxy {}", proxy)?;
        }
        write!(f, " -connect {}", address)?;
        if let Host::Name(name) = &address.host {
            write!(f, " -servername {}", name)?;
        }
        f.write_str("` shows the certificates that it presents")
    }
}
