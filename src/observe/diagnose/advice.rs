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
                "check the port, and that a server listens there; some proxies grant a tunnel \
                 before they connect, and end it if they can't"
            }
            (_, Cause::Name) => {
                "check the spelling; `getent ahosts NAME` asks the same resolver; an address needs \
                 no resolver"
            }
            (TestStep::Name, _) => {
                "check the network and /etc/resolv.conf, as no name server replies; an address \
                 needs no resolver"
            }
            (_, Cause::Connection) => {
                "if refused, check the port: no program listens there; if unreachable, check the \
                 VPN and the routes of this machine"
            }
            (_, Cause::ConnectTimeout) => {
                "check the address, and whether a firewall drops the packets; -4 and -6 select one \
                 address family"
            }
            (_, Cause::Tls) => return Advice::without_tls(error, before),
            (TestStep::Socks5, Cause::HandshakeTimeout)
            | (TestStep::Socks4, Cause::HandshakeTimeout) => {
                "check that a SOCKS proxy of this version, without TLS, listens on this port: it \
                 accepts connections and sends nothing; --handshake-timeout gives it more time"
            }
            (_, Cause::HandshakeTimeout) if error.is_of_destinations_tls() => {
                "check that TLS starts at once on this port, which sends nothing: tls:// doesn't \
                 support STARTTLS; --handshake-timeout gives it more time"
            }
            (_, Cause::HandshakeTimeout) => {
                "check that an HTTP proxy listens on this port: it accepts connections and sends \
                 nothing; check that https:// or http:// is right; --handshake-timeout gives it \
                 more time"
            }
            (_, Cause::Lost) if is_secure => {
                "see the proxy's log: it may require a client certificate, or another one \
                 (--proxy-cert), or not serve this machine"
            }
            (TestStep::Connect, Cause::Lost) => {
                "see the proxy's log: it may require TLS (https://), or not serve this machine"
            }
            (_, Cause::Lost) => "see the proxy's log: it may not serve this machine",
            (TestStep::Socks5, Cause::Malformed) | (TestStep::Socks4, Cause::Malformed) => {
                "check the port: no SOCKS proxy of this version replies there"
            }
            (_, Cause::Malformed) => {
                "check the port, and that https:// or http:// is right: no HTTP proxy replies there"
            }
            (_, Cause::Credentials) => return Advice::on_credentials(error),
            (_, Cause::Refused) => return Advice::on_refusal(is_secure, error),
            (_, Cause::Undecided) => {
                "ask the author of the PAC file to fix it; a browser would connect directly, but \
                 ptunnel doesn't bypass the proxy unless configured to"
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
                "set the username with --via http://USER@HOST:PORT or --proxy-netrc FILE, not with \
                 -U; more attempts with a wrong password may lock the account"
            }
            CredentialsOption::Netrc => {
                "set the username with --proxy-netrc FILE, not with -U; more attempts with a wrong \
                 password may lock the account"
            }
            CredentialsOption::User => {
                "set the username with -U USER, in a Windows domain -U 'DOMAIN\\user', and the \
                 password with --password-file FILE; more attempts with a wrong password may lock \
                 the account"
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
                "see the proxy's log: its rules may forbid the destination, or it can't reach it; \
                 SOCKS4 reports no reason"
            }
            // The text says what to do.
            407 => return None,
            403 => "ask the proxy's operator to allow CONNECT to this host and port",
            502..=504 => {
                "check the destination's name and port from the proxy's network; the proxy can't \
                 reach it"
            }
            300..=399 | 511 => {
                "open the address in a browser on this machine, if it is the network's login page; \
                 or check the port, if it is a web server"
            }
            400 if is_secure => {
                "see the proxy's log: it may require a client certificate, or another one \
                 (--proxy-cert), or be a web server"
            }
            400 | 404 | 405 | 501 => {
                "check the port: it may be that of a web server, or of a proxy that doesn't \
                 support CONNECT"
            }
            _ => "ask the proxy's operator what this status means",
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
        f.write_str("` to see the certificates that it presents")
    }
}
