//! Tunnels, destinations and addresses to listen on, as on the command line.

use ptunnel_proto::values::{
    Bind, DestinationUrl, HostPort, ListenSpec, PortSpec, TlsStart, TunnelUrl,
};

const STARTS: [(&str, TlsStart); 4] = [
    ("tls", TlsStart::AtOnce),
    ("starttls-imap", TlsStart::Imap),
    ("starttls-smtp", TlsStart::Smtp),
    ("starttls-postgres", TlsStart::Postgres),
];

pub fn check(text: &str) {
    match text.parse::<TunnelUrl>() {
        Ok(tunnel) => {
            crate::destination(&tunnel.destination.address);
            let listener = match &tunnel.listen {
                ListenSpec::Port(listen) => {
                    format!("{}{}", written(listen.bind.as_ref()), listen.port)
                }
                ListenSpec::Path(path) => path.to_str().unwrap().into(),
                ListenSpec::Inherited(name) => format!("fd:{name}"),
            };
            for tls in [None]
                .into_iter()
                .chain(STARTS.map(|(_, start)| Some(start)))
            {
                let destination = DestinationUrl {
                    tls,
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
                Some((listener, start, destination)) => {
                    assert_eq!(tunnel.destination.tls, Some(start));
                    let address = destination.parse::<HostPort>().ok();
                    assert_eq!(address, Some(tunnel.destination.address.clone()));
                    let plain = format!("{listener}{destination}").parse::<TunnelUrl>();
                    let plain = plain.expect("the same in the clear");
                    assert_eq!(plain.listen, tunnel.listen);
                    assert_eq!(plain.destination.address, tunnel.destination.address);
                }
                None => assert!(tunnel.destination.tls.is_none() && !text.contains("://")),
            }
        }
        Err(e) => crate::shown(&e.to_string()),
    }
    match text.parse::<DestinationUrl>() {
        Ok(url) => {
            crate::destination(&url.address);
            let (tls, address) = match split(text) {
                Some((before, start, address)) => {
                    assert_eq!(before, "");
                    (Some(start), address)
                }
                None => (None, text),
            };
            assert_eq!(url.tls, tls);
            assert_eq!(address.parse().ok(), Some(url.address.clone()));
            assert_eq!(url.to_string().parse().ok(), Some(url));
        }
        Err(e) => crate::shown(&e.to_string()),
    }
    match text.parse::<HostPort>() {
        Ok(destination) => crate::destination(&destination),
        Err(e) => crate::shown(&e.to_string()),
    }
    match text.parse::<PortSpec>() {
        Ok(listen) => {
            let again = format!("{}{}", written(listen.bind.as_ref()), listen.port);
            assert_eq!(again.parse().ok(), Some(listen), "{again}");
        }
        Err(e) => crate::shown(&e.to_string()),
    }
}

/// What is before `tls://` or a scheme for STARTTLS, its meaning, and what is behind it, in a text
/// that has it once, alone or behind a colon: read from the end, and so in another way than the
/// parser's.
fn split(text: &str) -> Option<(&str, TlsStart, &str)> {
    let (before, behind) = text.rsplit_once("://")?;
    let at = before.rfind(':').map_or(0, |colon| colon + 1);
    let (before, scheme) = before.split_at(at);
    let mut starts = STARTS.iter();
    let (_, start) = starts.find(|(name, _)| scheme.eq_ignore_ascii_case(name))?;
    Some((before, *start, behind)).filter(|_| !before.contains("://"))
}

fn written(bind: Option<&Bind>) -> String {
    match bind {
        None => String::new(),
        Some(Bind::Any) => "*:".into(),
        Some(Bind::Host(host)) => format!("{host}:"),
    }
}
