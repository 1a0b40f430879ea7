use std::io;
use std::time::Duration;

use super::*;

fn proxy() -> Peer {
    Peer::Proxy("10.0.0.1:3128".parse().unwrap())
}

fn os(code: i32) -> io::Error {
    io::Error::from_raw_os_error(code)
}

/// Regression: `--direct-fallback` skipped a healthy proxy when this machine was out of ports.
#[test]
fn exhaustion_of_this_machine_does_not_make_a_proxy_unreachable() {
    for code in &[
        libc::EMFILE,
        libc::ENFILE,
        libc::ENOSPC,
        libc::EADDRNOTAVAIL,
        libc::ENOBUFS,
        libc::ENOMEM,
    ] {
        for error in &[
            Error::connect(proxy(), os(*code)),
            Error::resolve(proxy(), os(*code)),
        ] {
            assert!(
                error.is_exhaustion() && !error.is_unreachable(),
                "{}",
                error
            );
            let text = error.to_string();
            let cause = os(*code).to_string();
            assert!(
                text.contains(&format!("10.0.0.1:3128: {}; this ", cause)),
                "{}",
                text
            );
        }
    }
}

#[test]
fn a_refused_connection_or_an_unknown_name_makes_a_proxy_unreachable() {
    let refused = Error::connect(proxy(), os(libc::ECONNREFUSED));
    assert!(refused.is_unreachable() && !refused.is_exhaustion());
    assert_eq!(
        refused.to_string(),
        format!(
            "cannot connect to proxy 10.0.0.1:3128: {}",
            os(libc::ECONNREFUSED)
        )
    );
    let unknown = Error::resolve(proxy(), io::ErrorKind::NotFound.into());
    assert!(unknown.is_unreachable() && !unknown.is_exhaustion());
}

/// Otherwise the proxy would count as down.
#[test]
fn a_target_without_an_address_does_not_make_a_proxy_unreachable() {
    let target = || Peer::Destination("nowhere.invalid:22".parse().unwrap());
    let limit = Duration::from_secs(10);
    let unknown = Error::locate(target(), io::ErrorKind::NotFound.into());
    let late = Error::timed_out(Phase::Locating, target(), limit);
    for error in &[unknown, late] {
        assert!(error.is_no_proxys_fault() && !error.is_unreachable());
    }
    let dead = Error::connect(proxy(), os(libc::ECONNREFUSED));
    assert!(!dead.is_no_proxys_fault());
    assert!(Error::connect(proxy(), os(libc::EMFILE)).is_no_proxys_fault());
}

/// Regression: the next proxy was tried for the same destination, and the first one counted as
/// down.
#[test]
fn a_tls_failure_of_the_destination_is_final() {
    let destination = || Peer::Destination("mail.example:993".parse().unwrap());
    let limit = Duration::from_secs(30);
    let kind = io::ErrorKind::InvalidData;
    let distrusted = Error::secure(destination(), kind.into());
    let late = Error::timed_out(Phase::Handshaking, destination(), limit);
    for error in &[distrusted, late] {
        assert!(error.is_answer() && !error.is_refusal() && !error.is_unreachable());
        assert_eq!(error.exit_code(), 1);
    }
    let of_proxy = Error::secure(proxy(), kind.into());
    let late = Error::timed_out(Phase::Handshaking, proxy(), limit);
    let unreached = Error::connect(destination(), os(libc::ECONNREFUSED));
    for error in &[of_proxy, late, unreached] {
        assert!(!error.is_answer(), "{}", error);
    }
}

/// Regression: the proxy counted as down, and the next one was asked for the same destination.
#[test]
fn a_proxy_that_waits_for_its_target_is_at_no_fault() {
    let limit = Duration::from_secs(30);
    let target = "example.org:22".parse().unwrap();
    let error = Error::waiting(proxy(), &target, limit);
    assert!(error.is_answer() && error.is_no_proxys_fault() && error.is_of_destination());
    assert!(error.is_timeout() && error.is_advised() && !error.is_unreachable());
    assert_eq!(error.http_status_of(&proxy()), Some(504));
    let via = || Peer::Via("m.example:1".parse().unwrap());
    let late = Error::timed_out(Phase::Handshaking, via(), limit);
    assert!(late.is_of_via() && Error::ended(via()).is_of_via());
    assert!(!error.is_of_via() && !Error::ended(proxy()).is_of_via());
    // A name that ptunnel itself can't resolve.
    assert!(!Error::locate(via(), io::ErrorKind::NotFound.into()).is_of_via());
}

#[test]
fn a_proxy_that_was_reached_is_never_unreachable() {
    let lost = Error::negotiation(proxy(), os(libc::ENOBUFS));
    assert!(!lost.is_unreachable() && !lost.is_exhaustion());
    assert!(!Error::ended(proxy()).is_unreachable());
}

#[test]
fn causes_have_their_labels_in_the_order_of_declaration() {
    for (index, (cause, _)) in Cause::LABELS.iter().enumerate() {
        assert_eq!(*cause as usize, index);
    }
}
