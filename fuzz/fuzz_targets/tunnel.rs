//! Tunnels, destinations and addresses to listen on, as on the command line.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ptunnel::config::{Bind, DestinationUrl, ListenSpec, HostPort, PortSpec, TunnelUrl};

fuzz_target!(|text: &str| {
    match text.parse::<TunnelUrl>() {
        Ok(tunnel) => {
            ptunnel_fuzz::destination(&tunnel.destination.address);
            let listener = match &tunnel.listen {
                ListenSpec::Port(listen) => {
                    format!("{}{}", written(listen.bind.as_ref()), listen.port)
                }
                ListenSpec::Path(path) => path.to_str().unwrap().into(),
                ListenSpec::Inherited(name) => format!("fd:{name}"),
            };
            for is_secure in [false, true] {
                let destination = DestinationUrl {
                    is_secure,
                    ..tunnel.destination.clone()
                };
                let again = format!("{listener}:{destination}");
                let expected = TunnelUrl {
                    destination,
                    ..tunnel.clone()
                };
                assert_eq!(again.parse().ok(), Some(expected), "{again}");
            }
            match split(text) {
                Some((listener, destination)) => {
                    assert!(tunnel.destination.is_secure);
                    let address = destination.parse::<HostPort>().ok();
                    assert_eq!(address, Some(tunnel.destination.address.clone()));
                    let plain = format!("{listener}{destination}").parse::<TunnelUrl>();
                    let plain = plain.expect("the same in the clear");
                    assert_eq!(plain.listen, tunnel.listen);
                    assert_eq!(plain.destination.address, tunnel.destination.address);
                }
                None => assert!(!tunnel.destination.is_secure && !text.contains("://")),
            }
        }
        Err(e) => ptunnel_fuzz::shown(&e.to_string()),
    }
    match text.parse::<DestinationUrl>() {
        Ok(url) => {
            ptunnel_fuzz::destination(&url.address);
            let (is_secure, address) = match split(text) {
                Some((before, address)) => {
                    assert_eq!(before, "");
                    (true, address)
                }
                None => (false, text),
            };
            assert_eq!(url.is_secure, is_secure);
            assert_eq!(address.parse().ok(), Some(url.address.clone()));
            assert_eq!(url.to_string().parse().ok(), Some(url));
        }
        Err(e) => ptunnel_fuzz::shown(&e.to_string()),
    }
    match text.parse::<HostPort>() {
        Ok(destination) => ptunnel_fuzz::destination(&destination),
        Err(e) => ptunnel_fuzz::shown(&e.to_string()),
    }
    match text.parse::<PortSpec>() {
        Ok(listen) => {
            let again = format!("{}{}", written(listen.bind.as_ref()), listen.port);
            assert_eq!(again.parse().ok(), Some(listen), "{again}");
        }
        Err(e) => ptunnel_fuzz::shown(&e.to_string()),
    }
});

/// What is before `tls://` and behind it, in a text that has it once, alone or behind a colon: read
/// from the end, and so in another way than the parser's.
fn split(text: &str) -> Option<(&str, &str)> {
    let (before, behind) = text.rsplit_once("://")?;
    let at = before.len().checked_sub("tls".len())?;
    let (before, scheme) = (before.get(..at)?, before.get(at..)?);
    let is_whole = before.is_empty() || before.ends_with(':');
    let is_one = scheme.eq_ignore_ascii_case("tls") && !before.contains("://");
    Some((before, behind)).filter(|_| is_whole && is_one)
}

fn written(bind: Option<&Bind>) -> String {
    match bind {
        None => String::new(),
        Some(Bind::Any) => "*:".into(),
        Some(Bind::Host(host)) => format!("{host}:"),
    }
}
