//! Proxies as on the command line and in the environment, with user and password.

use ptunnel_core::config::ProxySpec;
use ptunnel_proto::values::{Credentials, DnsMode, Login, Protocol, ProxyUrl};
use ptunnel_proto::{auth, Request};

/// The password of the seeds.
const CANARY: &str = "hunter2";

pub fn check(text: &str) {
    match text.parse::<ProxyUrl>() {
        Ok(url) => {
            crate::destination(&url.address);
            let login = url.login.as_ref().map_or(String::new(), written);
            let scheme = match url.protocol {
                Protocol::Http if url.is_secure => "https",
                Protocol::Http => "http",
                Protocol::Socks5(DnsMode::Local) => "socks5",
                Protocol::Socks5(DnsMode::Remote) => "socks5h",
                Protocol::Socks4(DnsMode::Local) => "socks4",
                Protocol::Socks4(DnsMode::Remote) => "socks4a",
            };
            let again = format!("{scheme}://{login}{}", url.address);
            assert!(again.parse().ok() == Some(url), "{again:?} reads otherwise");
        }
        Err(e) => complained(text, &e.to_string()),
    }
    match text.parse::<ProxySpec>() {
        Ok(proxy) => {
            if let Some(credentials) = &proxy.credentials {
                sent(&proxy, credentials);
            }
        }
        Err(e) => complained(text, &e.to_string()),
    }
}

/// With everything in it encoded.
fn written(login: &Login) -> String {
    let encode = |text: &str| {
        text.bytes()
            .map(|b| format!("%{b:02X}"))
            .collect::<String>()
    };
    match &login.password {
        Some(password) => format!("{}:{}@", encode(&login.user), encode(password.reveal())),
        None => format!("{}@", encode(&login.user)),
    }
}

/// The credential arrives as it left, in one field, and is taken for the right one.
fn sent(proxy: &ProxySpec, credentials: &Credentials) {
    let request = Request::connect(&proxy.address).authorization(auth::basic(credentials));
    let given = crate::asked(&request).authorization.expect("a credential");
    assert!(given
        .reveal()
        .bytes()
        .all(|b| b == b' ' || b.is_ascii_graphic()));
    assert!(auth::is_basic(&given, credentials));
}

/// The text behind the first colon of the user info can be a secret; the user's name is none.
fn complained(text: &str, complaint: &str) {
    crate::shown(complaint);
    let (front, host) = match text.rfind('@') {
        Some(at) => text.split_at(at),
        None => return,
    };
    let start = front.find("://").map_or(0, |end| end + 3);
    let (user, password) = front[start..].split_once(':').unwrap_or(("", ""));
    let others = [&front[..start], user, host];
    let is_secret = password.contains(CANARY) && !others.iter().any(|text| text.contains(CANARY));
    assert!(
        !is_secret || !complaint.contains(CANARY),
        "{complaint:?} tells the password"
    );
}
