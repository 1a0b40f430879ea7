//! Validated values: a value that exists can be used as it is.
//!
//! Holds a type for each setting that is written as text, with its parser. A [`HostPort`] has a host
//! that is valid in a request line, a [`Header`] has no control characters, a port is 0 only where
//! the kernel can choose one. A parser returns a [`ParseError`] with the wrong text and an example.
//! It must not hold I/O, or requirements between options, which are in `ptunnel-cli`.

mod auth_schemes;
mod bind;
mod cidr;
mod client_network;
mod credentials;
mod destination_pattern;
mod destination_url;
mod failover;
mod header;
mod host;
mod inherited_socket;
mod log;
mod netrc;
mod pac_url;
mod parse_error;
mod password_command;
mod proxy_protocol;
mod proxy_url;
mod shell_words;
mod splice;
mod tls;
mod tls_start;
mod tunnel_url;
mod users;

pub use self::auth_schemes::{Scheme, Schemes};
pub use self::bind::{Bind, PortSpec};
pub use self::cidr::{Cidr, CidrList};
pub use self::client_network::ClientNetwork;
pub use self::credentials::{Credentials, Login, Secret};
pub use self::destination_pattern::{NoProxy, Pattern};
pub use self::destination_url::DestinationUrl;
pub use self::failover::FailoverOn;
pub use self::header::{is_token, Header};
pub use self::host::{unmap_ipv4, Host, HostPort};
pub use self::inherited_socket::InheritedFd;
pub use self::log::{LogFormat, LogTarget};
pub use self::netrc::Netrc;
pub use self::pac_url::PacUrl;
use self::parse_error::wrong;
pub use self::parse_error::{file_fault, ParseError};
pub use self::password_command::PasswordCommand;
pub use self::proxy_protocol::{ProxyProtocol, SendProxyProtocol};
pub use self::proxy_url::{DnsMode, Protocol, ProxyUrl};
pub use self::shell_words::ShellWords;
pub use self::splice::Splice;
pub use self::tls::{TlsFile, TlsMessages, TlsOptions, TlsPeer};
pub use self::tls_start::TlsStart;
pub use self::tunnel_url::{ListenSpec, TunnelUrl};
pub use self::users::Users;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn parsers_never_panic(text in "[a-z0-9:@/%.*\\[\\] ,#?\u{e9}-]{0,24}") {
            let _ = text.parse::<TunnelUrl>();
            let _ = text.parse::<DestinationUrl>();
            let _ = text.parse::<ProxyUrl>();
            let _ = text.parse::<NoProxy>();
            let _ = text.parse::<CidrList>();
            let _ = text.parse::<PortSpec>();
            let _ = text.parse::<ListenSpec>();
            let _ = text.parse::<Header>();
            let _ = text.parse::<Login>();
        }

        #[test]
        fn a_destination_parses_what_it_displays(text in "[a-z0-9.:\\[\\]-]{1,12}:[0-9]{1,6}") {
            if let Ok(destination) = text.parse::<HostPort>() {
                let again = destination.to_string().parse::<HostPort>();
                prop_assert_eq!(again.unwrap(), destination);
            }
        }
    }
}
