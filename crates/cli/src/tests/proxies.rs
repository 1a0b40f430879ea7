//! Unit tests: the options about proxies.

use super::*;

#[test]
fn proxies_keep_their_order_and_headers_theirs() {
    let route = config("-p p:1 --proxy http://q 1:a:1 -H A:_b -H C:_d").route;
    let proxies: Vec<String> = route.proxies.iter().map(|p| p.to_string()).collect();
    assert_eq!(proxies, ["p:1", "q:80"]);
    let names: Vec<&str> = route.headers.iter().map(|h| h.name()).collect();
    assert_eq!(names, ["A", "C"]);
    assert!(complaint("-p p 1:a:1").contains("'p'"));
    assert!(complaint("-p p:1 1:a:1 -H bad").contains("'bad'"));
}

#[cfg(feature = "tls")]
#[test]
fn only_https_proxies_use_tls() {
    let route = config("-p p:1 -p https://q 1:a:1").route;
    let proxies: Vec<String> = route.proxies.iter().map(|p| p.to_string()).collect();
    assert_eq!(proxies, ["p:1", "https://q:443"]);
    let insecure = config("-p https://q --proxy-insecure 1:a:1").route;
    let tls = insecure.proxies[0].tls.as_ref().unwrap();
    assert!(tls.is_insecure() && !tls.has_key());
    let env = [("https_proxy", "https://e")];
    match with_env(&env, "1:a:1", NO_TERMINAL).unwrap() {
        Command::Run(config, _) => assert!(config.route.proxies[0].tls.is_some()),
        Command::Print(text) => panic!("{}", text),
    }
    for name in &["cacert", "cert"] {
        let complaint = complaint(&format!("-p https://q --proxy-{} /no/file 1:a:1", name));
        let message = format!("--proxy-{} '/no/file': No such file", name);
        assert!(complaint.contains(&message), "{}", complaint);
    }
    assert!(complaint("-p https://q --proxy-key k 1:a:1").contains("--proxy-cert"));
}

#[test]
fn tls_options_without_an_https_proxy_cause_a_warning() {
    for option in &["--proxy-insecure", "--proxy-cacert /no/file"] {
        let (_, warnings) = warned(&format!("-p q:1 {} 1:a:1", option));
        let name = option.split(' ').next().unwrap();
        assert!(
            warnings.len() == 1 && warnings[0].contains(name),
            "{:?}",
            warnings
        );
    }
}

#[test]
fn socks_and_http_proxies_can_be_mixed() {
    let route = config("-p socks5h://q -p p:1 -p socks5://r:9 -p socks4a://s 1:a:1").route;
    let proxies: Vec<String> = route.proxies.iter().map(|p| p.to_string()).collect();
    assert_eq!(
        proxies,
        [
            "socks5h://q:1080",
            "p:1",
            "socks5://r:9",
            "socks4a://s:1080"
        ]
    );
}

#[test]
fn proxies_behind_the_proxy_keep_their_order() {
    let route = config("-p p:1 --via q:2 --via socks5h://r -p s:3 1:a:1").route;
    let shown = |specs: &[ProxySpec]| specs.iter().map(|p| p.to_string()).collect::<Vec<_>>();
    assert_eq!(shown(&route.proxies), ["p:1", "s:3"]);
    assert_eq!(shown(&route.via), ["q:2", "socks5h://r:1080"]);
    let begun = with_env(&[("all_proxy", "e:1")], "--via q:2 1:a:1", NO_TERMINAL);
    match begun.unwrap() {
        Command::Run(config, _) => assert_eq!(shown(&config.route.proxies), ["e:1"]),
        Command::Print(text) => panic!("{}", text),
    }
    // It isn't left out in silence.
    for fallback in &["", "--direct-fallback"] {
        let complaint = complaint(&format!("--via q:2 1:a:1 {}", fallback));
        assert!(
            complaint.contains("--via adds only further proxies"),
            "{}",
            complaint
        );
    }
}

#[test]
fn options_for_http_proxies_without_one_cause_a_warning() {
    for option in &["-H A:_b", "--proxy-auth digest"] {
        let (_, warnings) = warned(&format!("-p socks5h://q {} 1:a:1", option));
        assert!(
            warnings.len() == 1 && warnings[0].contains("no HTTP proxy is given"),
            "{:?}",
            warnings
        );
        config(&format!("-p socks5h://q -p p:1 {} 1:a:1", option));
    }
}

#[test]
fn a_proxy_comes_from_the_environment_unless_given() {
    let env = [("https_proxy", "e:1"), ("no_proxy", "b")];
    let route = |line: &str| match with_env(&env, line, NO_TERMINAL) {
        Ok(Command::Run(config, _)) => config.route,
        other => panic!("{}: {:?}", line, other),
    };
    assert_eq!(route("1:a:1").proxies[0].to_string(), "e:1");
    assert_eq!(route("-p p:1 1:a:1").proxies[0].to_string(), "p:1");
    let to_b = "b:1".parse().unwrap();
    assert!(route("-p p:1 1:b:1").is_direct(&to_b));
    assert!(!route("-p p:1 1:b:1 --no-proxy ''").is_direct(&to_b));
}

#[test]
fn no_proxy_at_all_is_an_error_unless_direct() {
    assert!(complaint("1:a:1").contains("no proxy"));
    assert!(complaint("1:a:1 2:b:2 --no-proxy a").contains("no proxy"));
    config("1:a:1 2:b:2 --no-proxy a,b");
    config("1:a:1 --no-proxy *");
    config("--serve-proxy 0");
    config("--demo");
    let (_, warnings) = warned("1:a:1 --direct-fallback");
    assert!(warnings[0].contains("directly"));
    let hinted = with_env(&[("http_proxy", "p:1")], "1:a:1", NO_TERMINAL).unwrap_err();
    assert!(hinted.to_string().contains("http_proxy is not used"));
}

#[test]
fn all_schemes_are_allowed_unless_some_are_named() {
    use ptunnel_proto::values::Scheme;

    let schemes = |flags: &str| config(&format!("-p p:1 1:a:1 {}", flags)).route.schemes;
    assert!(schemes("").send_basic_ahead());
    let some = schemes("--proxy-auth digest,NTLM");
    assert!(some.allow(Scheme::Digest) && some.allow(Scheme::Ntlm));
    assert!(!some.allow(Scheme::Basic));
    let complaint = complaint("-p p:1 1:a:1 --proxy-auth kerberos");
    assert!(complaint.contains("--proxy-auth") && complaint.contains("'kerberos'"));
}

#[test]
fn refusals_are_final_unless_named() {
    let failover = |flags: &str| {
        let line = format!("-p p:1 -p q:1 1:a:1 {}", flags);
        config(&line).route.failover_on
    };
    assert!(!failover("").includes(503));
    let some = failover("--failover-on 503,504");
    assert!(some.includes(503) && some.includes(504) && !some.includes(502));
    let complaint = complaint("-p p:1 -p q:1 1:a:1 --failover-on 403");
    assert!(complaint.contains("--failover-on") && complaint.contains("'403'"));
    let (_, warnings) = warned("-p p:1 1:a:1 --failover-on 503");
    assert!(
        warnings.len() == 1 && warnings[0].contains("no other proxy"),
        "{:?}",
        warnings
    );
}
