//! The head of a request to the embedded proxy, and its answer.

use ptunnel_core::config::ServeSpec;
use ptunnel_core::inbound::policy::{HttpRejection, Policy};
use ptunnel_proto::values::{Bind, Credentials, Secret};
use ptunnel_proto::{ConnectHead, HEAD_LIMIT};

/// `joe:x`.
const JOE: &str = "am9lOng=";

pub fn check(bytes: &[u8]) {
    let decoded = crate::head(bytes, ConnectHead::decode);
    let inbound = match (decoded, ConnectHead::decode(bytes, HEAD_LIMIT)) {
        (Some((inbound, _)), _) => inbound,
        (None, Err(why)) => {
            let rejection = policy(None, &[])
                .judge(Err(why))
                .expect_err("no request, no tunnel");
            return rejected(&rejection, &[400]);
        }
        (None, Ok(_)) => return,
    };
    for part in [&inbound.method, &inbound.target] {
        assert!(std::str::from_utf8(part.as_bytes()).is_ok());
        assert!(
            !part.contains(|c: char| c.is_ascii_whitespace() || c.is_ascii_control()),
            "{part:?}"
        );
    }

    match policy(None, &[]).judge(Ok(inbound.clone())) {
        Ok(target) => {
            assert_eq!(inbound.method, "CONNECT");
            assert_eq!(inbound.target.parse().ok().as_ref(), Some(&target));
            crate::destination(&target);
        }
        Err(rejection) => rejected(&rejection, &[400, 405]),
    }

    let joe = Credentials::new("joe", Secret::new("x")).expect("right ones");
    match policy(Some(joe), &[]).judge(Ok(inbound.clone())) {
        Ok(_) => assert!(is_joe(&inbound), "{:?}", inbound.target),
        Err(rejection) if is_joe(&inbound) => rejected(&rejection, &[400, 405]),
        Err(rejection) => rejected(&rejection, &[407]),
    }

    match policy(None, &["allowed.example", "10.0.0.0/8"]).judge(Ok(inbound)) {
        Ok(target) => {
            let host = target.host.to_string().to_ascii_lowercase();
            let host = host.trim_end_matches('.');
            let is_allowed = host == "allowed.example"
                || host.ends_with(".allowed.example")
                || host.starts_with("10.")
                || host.starts_with("[::ffff:10.");
            assert!(is_allowed, "{target}");
        }
        Err(rejection) => rejected(&rejection, &[400, 403, 405]),
    }
}

fn policy(credentials: Option<Credentials>, allow: &[&str]) -> Policy {
    Policy::new(ServeSpec {
        bind: Bind::Any,
        port: 0,
        credentials,
        allow: allow
            .iter()
            .map(|text| text.parse().expect("a pattern"))
            .collect(),
    })
}

/// A second reading: the scheme in any case, then the token.
fn is_joe(inbound: &ConnectHead) -> bool {
    let value = match &inbound.authorization {
        Some(value) => value.reveal().trim(),
        None => return false,
    };
    let is_basic = value
        .get(..6)
        .is_some_and(|s| s.eq_ignore_ascii_case("basic "));
    is_basic && value[6..].trim() == JOE
}

fn rejected(rejection: &HttpRejection, statuses: &[u16]) {
    crate::rejected(&rejection.to_string(), &rejection.reply(), statuses);
}
