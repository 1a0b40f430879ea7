//! The summary that `--check-config` prints.

use std::fmt;

use ptunnel_core::config::{Config, ProxySpec, ServeSpec};
use ptunnel_core::inbound::DynamicConfig;
use ptunnel_core::listener::addr::ListenAddr;
use ptunnel_core::listener::kind::over_tls;
use ptunnel_proto::text::escape::Escaped;
use ptunnel_proto::values::{Cidr, ListenSpec, Pattern, Users};

/// Displays as one line for each listener, and for stdin and stdout.
pub(super) struct Summary<'a>(pub(super) &'a Config);

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = self.0;
        for tunnel in &config.tunnels {
            self.write_listener(&tunnel.listen, f)?;
            write!(f, " for {}", tunnel.destination)?;
            self.write_route(config.route.is_direct(&tunnel.destination.address), f)?;
        }
        for spec in &config.dynamic {
            self.write_listener(spec, f)?;
            let user = config.dynamic_user.as_ref();
            let is_login_required = user.is_some() || config.users.is_some();
            let protocols = DynamicConfig::protocols_for(is_login_required);
            write!(f, " for {}{}", protocols, over_tls(&config.listen_tls))?;
            match (user, &config.users) {
                (Some(user), _) => write!(f, " by {}", user.user())?,
                (None, Some(users)) => write!(f, " by {}", Count(users))?,
                (None, None) => {}
            }
            self.write_route(config.route.no_proxy.covers_everything(), f)?;
        }
        for spec in &config.redirect {
            self.write_listener(&ListenSpec::Port(spec.clone()), f)?;
            f.write_str(" for redirected connections")?;
            self.write_route(config.route.no_proxy.covers_everything(), f)?;
        }
        if let Some(destination) = &config.stdio {
            write!(f, "would connect stdin and stdout to {}", destination)?;
            self.write_route(config.route.is_direct(&destination.address), f)?;
        }
        if let Some(serve) = &config.serve {
            write_proxy(serve, config, f)?;
        }
        if !config.allow_from.is_empty() {
            let blocks = Blocks(&config.allow_from);
            writeln!(f, "would accept clients from {} only", blocks)?;
        }
        if !config.balancers.is_empty() {
            let blocks = Blocks(&config.balancers);
            writeln!(f, "would read PROXY headers from {}", blocks)?;
        }
        let send = &config.route.send_proxy_protocol;
        if let Some(version) = send.to_destination {
            write!(f, "would send PROXY {} headers to ", version)?;
            match send.destinations.len() {
                0 => writeln!(f, "all destinations")?,
                1 => writeln!(f, "1 destination")?,
                count => writeln!(f, "{} destinations", count)?,
            }
        }
        if let Some(version) = send.to_proxy {
            writeln!(f, "would send PROXY {} headers to the proxy", version)?;
        }
        if let Some(status) = &config.status {
            let (bind, port) = (&status.bind, status.port);
            writeln!(
                f,
                "would serve the status page on http://{}:{}/",
                bind, port
            )?;
        }
        if config.demo {
            writeln!(f, "would run the demo")?;
        }
        Ok(())
    }
}

/// Displays as a list.
struct Blocks<'a>(&'a [Cidr]);

impl fmt::Display for Blocks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, block) in self.0.iter().enumerate() {
            let before = if index == 0 { "" } else { ", " };
            write!(f, "{}{}", before, block)?;
        }
        Ok(())
    }
}

impl Summary<'_> {
    fn write_listener(&self, spec: &ListenSpec, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addr = ListenAddr::new(spec, &self.0.listen);
        write!(f, "would listen on {}", addr)
    }

    fn write_route(&self, is_direct: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let route = &self.0.route;
        if is_direct || route.proxies.is_empty() && route.pac.is_none() {
            return writeln!(f, " directly");
        }
        if let Some(pac) = &route.pac {
            write!(f, " by PAC file {}", pac.name)?;
        }
        for (index, proxy) in route.proxies.iter().enumerate() {
            let before = if index == 0 { " through" } else { ", then" };
            write_hop(before, proxy, f)?;
        }
        if route.proxies.len() > 1 && !route.via.is_empty() {
            f.write_str(", each")?;
        }
        for proxy in &route.via {
            write_hop(" via", proxy, f)?;
        }
        let last = if route.direct_fallback {
            ", else directly"
        } else {
            ""
        };
        writeln!(f, "{}", last)
    }
}

fn write_hop(before: &str, proxy: &ProxySpec, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "{} {}", before, proxy)?;
    let credentials = match &proxy.credentials {
        Some(credentials) => credentials,
        None => return Ok(()),
    };
    write!(f, " as {}", credentials.user())?;
    match credentials.command() {
        Some(command) => {
            let program = Escaped(command.program().as_bytes());
            write!(f, " with the password of '{}' (not run)", program)
        }
        None => Ok(()),
    }
}

/// Displays as the number of users.
struct Count<'a>(&'a Users);

impl fmt::Display for Count<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.iter().count() {
            1 => f.write_str("1 user"),
            count => write!(f, "{} users", count),
        }
    }
}

fn write_proxy(serve: &ServeSpec, config: &Config, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let tls = over_tls(&config.listen_tls);
    write!(
        f,
        "would serve a proxy on {}:{}{}",
        serve.bind, serve.port, tls
    )?;
    if let Some(credentials) = &serve.credentials {
        write!(f, " for {}", credentials.user())?;
    }
    if let Some(users) = &config.users {
        write!(f, " for {}", Count(users))?;
    }
    let is_list = !serve.allow.iter().any(Pattern::covers_everything);
    match serve.allow.len() {
        0 if serve.bind.is_loopback() => writeln!(f, " to all destinations"),
        0 => writeln!(f, " to all destinations on other machines"),
        _ if !is_list => writeln!(f, " to all destinations"),
        1 => writeln!(f, " to 1 destination"),
        count => writeln!(f, " to {} destinations", count),
    }
}
