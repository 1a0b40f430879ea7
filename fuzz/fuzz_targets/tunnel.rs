//! Tunnels, destinations and addresses to listen on, as the command line has them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ptunnel::config::{Bind, Entrance, HostPort, ListenSpec, TunnelSpec};

fuzz_target!(|text: &str| {
    match text.parse::<TunnelSpec>() {
        Ok(tunnel) => {
            ptunnel_fuzz::destination(&tunnel.destination);
            let entrance = match &tunnel.entrance {
                Entrance::Port(listen) => {
                    format!("{}{}", written(listen.bind.as_ref()), listen.port)
                }
                Entrance::Path(path) => path.to_str().unwrap().into(),
                Entrance::Passed(name) => format!("fd:{name}"),
            };
            let again = format!("{entrance}:{}", tunnel.destination);
            assert_eq!(again.parse().ok(), Some(tunnel), "{again}");
        }
        Err(e) => ptunnel_fuzz::shown(&e.to_string()),
    }
    match text.parse::<HostPort>() {
        Ok(destination) => ptunnel_fuzz::destination(&destination),
        Err(e) => ptunnel_fuzz::shown(&e.to_string()),
    }
    match text.parse::<ListenSpec>() {
        Ok(listen) => {
            let again = format!("{}{}", written(listen.bind.as_ref()), listen.port);
            assert_eq!(again.parse().ok(), Some(listen), "{again}");
        }
        Err(e) => ptunnel_fuzz::shown(&e.to_string()),
    }
});

fn written(bind: Option<&Bind>) -> String {
    match bind {
        None => String::new(),
        Some(Bind::Any) => "*:".into(),
        Some(Bind::Host(host)) => format!("{host}:"),
    }
}
