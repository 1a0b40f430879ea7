//! Advice after a step that failed, where the error itself has none.

use std::fmt;
use std::io;

use super::TestStep;
use crate::config::ProxySpec;
use crate::error::{Cause, CredentialsOption, Error};
use ptunnel_proto::values::{Host, HostPort, Protocol};
use ptunnel_proto::{Hint, Refusal, SocksRefusal};

/// Displays as the rest of `try: …`.
pub(super) enum Advice {
    Text(&'static str),
    /// The command that shows the certificates of an address, through a proxy if there is one.
    Certificates(HostPort, Option<HostPort>),
}

impl Advice {
    /// Returns the advice for an error, or `None` when the error's text includes advice.
    /// `is_secure` means TLS with the proxy, which can reject the client certificate after the
    /// handshake, as nginx does. `has_replied` means that the proxy has replied to an earlier message.
    /// `is_direct` means a path without proxies. `before` are the proxies in front of the peer that
    /// failed.
    pub(super) fn after(
        step: TestStep,
        is_secure: bool,
        has_replied: bool,
        is_direct: bool,
        error: &Error,
        before: &[&ProxySpec],
    ) -> Option<Advice> {
        if error.is_advised() {
            return None;
        }
        let text = match (step, error.cause()) {
            (_, Cause::Exhaustion) => return None,
            (TestStep::FirstByte, _) if is_direct => {
                "check the port, and see the server's log: it may not serve this machine"
            }
            (TestStep::FirstByte, _) => {
                "check the destination's name and port; some proxies grant a tunnel before they \
                 connect, and end it if they can't"
            }
            (_, Cause::Name) => Advice::on_name(error)?,
            (TestStep::Name, _) => {
                "check the network and /etc/resolv.conf, as no name server replies; an address \
                 needs no resolver"
            }
            (_, Cause::Connection) => Advice::on_connection(error)?,
            (_, Cause::ConnectTimeout) => {
                "check the address, and whether a firewall drops the packets; -4 and -6 select one \
                 address family"
            }
            (_, Cause::Tls) => return Advice::without_tls(error, before),
            (_, Cause::HandshakeTimeout) if error.is_of_destinations_tls() => {
                "check that the scheme fits the port, which sends nothing: with tls://, TLS starts at \
                 once, with starttls-imap:// and -smtp:// after the server's greeting; \
                 --handshake-timeout gives it more time"
            }
            #[cfg(feature = "tls")]
            (TestStep::Tls, Cause::HandshakeTimeout) => {
                "check the port, which accepts connections and sends nothing; if the proxy doesn't \
                 speak TLS there, use http://; --handshake-timeout gives it more time"
            }
            (_, Cause::HandshakeTimeout) => Advice::on_silence(step, is_secure, has_replied),
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
            (_, Cause::Malformed) => "check the port: no HTTP proxy replies there",
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

    fn on_name(error: &Error) -> Option<&'static str> {
        Some(match error.io_cause()?.kind() {
            // Of the resolver's errors, none has this kind.
            io::ErrorKind::NotFound => {
                "use another name, or remove -4 or -6: the name has no address of this family"
            }
            _ => {
                "check the spelling, try `getent ahosts NAME`, which asks the same resolver, or use \
                 an address"
            }
        })
    }

    /// Returns advice about a proxy that didn't reply to a request. It names the destination first, for
    /// which proxies wait longer than ptunnel: squid for a minute.
    fn on_silence(step: TestStep, is_secure: bool, has_replied: bool) -> &'static str {
        match step {
            _ if has_replied => {
                "check the destination's name and port: the proxy replies, and waits for the \
                 destination; with --handshake-timeout 90, most proxies report why"
            }
            // Nothing was requested yet.
            TestStep::Socks5 => {
                "check that a SOCKS proxy of this version, without TLS, listens on this port: it \
                 accepts connections and sends nothing; --handshake-timeout gives it more time"
            }
            TestStep::Socks4 => {
                "check the destination's name and port, for which the proxy probably waits; or check \
                 that a SOCKS proxy of this version, without TLS, listens on this port: it accepts \
                 connections and sends nothing"
            }
            _ if is_secure => {
                "check the destination's name and port, for which the proxy probably waits: with \
                 --handshake-timeout 90, most proxies report why; or see the proxy's log: it accepts \
                 TLS and sends nothing"
            }
            _ => {
                "check the destination's name and port, for which the proxy probably waits: with \
                 --handshake-timeout 90, most proxies report why; or check the port of the proxy, \
                 which accepts connections and sends nothing; if it requires TLS, use https://"
            }
        }
    }

    fn on_connection(error: &Error) -> Option<&'static str> {
        let cause = error.io_cause()?;
        Some(match (cause.kind(), cause.raw_os_error()) {
            (io::ErrorKind::ConnectionRefused, _) => {
                "check the port: no program listens there, or a firewall rejects the connection"
            }
            (_, Some(libc::ENETUNREACH)) => {
                "check the network, the VPN and the routes of this machine: none leads to the address"
            }
            (_, Some(libc::EHOSTUNREACH)) => {
                "check the address, and that its host is up and in reach of this machine"
            }
            (io::ErrorKind::ConnectionReset, _) => {
                "see the log of the program on this port: it may not serve this machine"
            }
            (io::ErrorKind::AddrNotAvailable, _) => "use -4, or give this machine an IPv6 address",
            _ => "check the address, and the network and the firewall of this machine",
        })
    }

    /// Returns advice about a failed handshake: about the port if the connection broke, otherwise
    /// the command of openssl's client. It supports at most one proxy: HTTP, without TLS and without
    /// authentication.
    fn without_tls(error: &Error, before: &[&ProxySpec]) -> Option<Advice> {
        if error.io_cause()?.raw_os_error().is_some() {
            return Some(Advice::Text(if error.is_of_destinations_tls() {
                "check that the destination speaks TLS on this port, and see its log: it may not \
                 serve this machine, or this proxy"
            } else {
                "check that the proxy speaks TLS on this port (if not, use http://), and see its \
                 log: it may not serve this machine"
            }));
        }
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
        let text = match (error.refusal()?.hint()?, error.credentials_option()?) {
            // The error's text says what to do.
            (Hint::Own, _) => return None,
            (Hint::Check, _) => {
                "in a Windows domain, the username is 'DOMAIN\\user'; more attempts with a wrong \
                 password may lock the account"
            }
            (Hint::Give, CredentialsOption::Via) => {
                "set the username with --via http://USER@HOST:PORT or --proxy-netrc FILE, not with \
                 -U"
            }
            (Hint::Give, CredentialsOption::Netrc) => {
                "set the username with --proxy-netrc FILE, not with -U"
            }
            (Hint::Give, CredentialsOption::User) => {
                "set the username with -U USER, in a Windows domain -U 'DOMAIN\\user', and the \
                 password with --password-file FILE"
            }
        };
        Some(Advice::Text(text))
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
            407 if refusal.wants_credentials() => return None,
            403 | 407 => "ask the proxy's operator to allow CONNECT to this host and port",
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
            _ => "see the proxy's log, or ask its operator about this status",
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::error::{Peer, Phase};

    fn advice(step: TestStep, is_direct: bool, error: &Error) -> String {
        let advice = Advice::after(step, false, false, is_direct, error, &[]);
        advice.expect("an advice").to_string()
    }

    #[test]
    fn a_failed_connection_has_the_advice_for_its_errno() {
        for (errno, said) in &[
            (libc::ECONNREFUSED, "no program listens there"),
            (libc::ENETUNREACH, "the routes of this machine"),
            (libc::EHOSTUNREACH, "that its host is up"),
            (libc::ECONNRESET, "see the log of the program on this port"),
            (libc::EACCES, "the firewall of this machine"),
        ] {
            let address = Peer::Destination("a.example:1".parse().unwrap());
            let error = Error::connect(address, io::Error::from_raw_os_error(*errno));
            let text = advice(TestStep::Connection, true, &error);
            assert!(text.contains(said), "{}", text);
            let others = ["listens", "routes", "is up", "see the log", "firewall of"];
            let count = others.iter().filter(|other| text.contains(**other)).count();
            assert_eq!(count, 1, "{}", text);
        }
    }

    /// Regression: the command of openssl's client was advised, which meets the same reset.
    #[cfg(feature = "tls")]
    #[test]
    fn a_reset_during_the_handshake_has_no_command_of_openssl() {
        let reset = || io::Error::from_raw_os_error(libc::ECONNRESET);
        let address = || "a.example:1".parse().unwrap();
        let proxy = Error::secure(Peer::Proxy(address()), reset());
        let text = advice(TestStep::Tls, false, &proxy);
        assert!(text.contains("if not, use http://"), "{}", text);
        let destination = Error::secure(Peer::Destination(address()), reset());
        let text = advice(TestStep::Tls, false, &destination);
        assert!(text.contains("the destination speaks TLS"), "{}", text);
    }

    /// Regression: proxies were mentioned on a path without one.
    #[test]
    fn a_direct_path_has_no_advice_about_proxies() {
        let error = Error::cut("a.example:1", "the connection ended");
        let text = |is_direct| advice(TestStep::FirstByte, is_direct, &error);
        assert!(!text(true).contains("prox"), "{}", text(true));
        assert!(text(false).contains("some proxies"), "{}", text(false));
    }

    /// Regression: only the port was named, although the proxy was waiting for the destination.
    #[test]
    fn a_silent_proxy_is_named_after_the_destination_unless_nothing_was_requested() {
        let proxy = Peer::Proxy("p.example:1".parse().unwrap());
        let error = Error::timed_out(Phase::Handshaking, proxy, Duration::from_secs(30));
        let text = |step, is_secure, has_replied| {
            let advice = Advice::after(step, is_secure, has_replied, false, &error, &[]);
            advice.expect("an advice").to_string()
        };
        for (step, is_secure, has_replied, or) in &[
            (TestStep::Connect, false, false, "the port of the proxy"),
            (TestStep::Connect, true, false, "the proxy's log"),
            (
                TestStep::Socks4,
                false,
                false,
                "a SOCKS proxy of this version",
            ),
            (
                TestStep::Authentication,
                false,
                true,
                "most proxies report why",
            ),
            (TestStep::Socks5, false, true, "most proxies report why"),
        ] {
            let text = text(*step, *is_secure, *has_replied);
            assert!(text.starts_with("check the destination's name"), "{}", text);
            assert!(text.contains(or), "{}", text);
        }
        let text = text(TestStep::Socks5, false, false);
        assert!(!text.contains("destination"), "{}", text);
    }
}
