//! Unit tests: the options about listeners and their clients.

use super::*;

#[test]
fn a_dynamic_listener_can_require_a_user() {
    let ports = |line: &str| -> Vec<u16> {
        let listeners = config(line).dynamic;
        let port = |listen: &ListenSpec| match listen {
            ListenSpec::Port(spec) => spec.port,
            other => panic!("{:?}", other),
        };
        listeners.iter().map(port).collect()
    };
    assert!(ports("-p p:1 1:a:1").is_empty());
    assert_eq!(ports("-p p:1 -D 1080 --dynamic [::1]:1081"), [1080, 1081]);
    assert_eq!(ports("-p p:1 -D *:1 --allow-from 10.0.0.0/8"), [1]);
    assert!(complaint("-p p:1 -D *:1").contains("-D *:1 would be an open proxy"));
    assert!(complaint("-p p:1 -D 1 -l 0.0.0.0").contains("-D 0.0.0.0:1 would be"));
    assert!(complaint("-p p:1 -D x").contains("'x'"));
    let elsewhere = config("-p p:1 -D /run/s -D fd:s -l 0.0.0.0").dynamic;
    assert_eq!(
        elsewhere,
        ["/run/s".parse().unwrap(), ListenSpec::Inherited("s".into())]
    );
    assert!(complaint("-p p:1 -D 1 -W a:1").contains("-W carries stdin and stdout"));
}

#[test]
fn a_redirect_listener_is_a_port_of_known_clients() {
    let specs = config("-p p:1 --redirect 8443 --redirect [::1]:8443").redirect;
    assert_eq!(
        specs,
        ["8443".parse().unwrap(), "[::1]:8443".parse().unwrap()]
    );
    config("-p p:1 --redirect *:1 --allow-from 10.0.0.0/8");
    for (line, message) in &[
        (
            "-p p:1 --redirect *:1",
            "--redirect *:1 would be an open proxy; bind it to 127.0.0.1, or add --allow-from CIDR",
        ),
        ("-p p:1 --redirect fd:s", "fd: is only for tunnels and -D"),
        ("-p p:1 --redirect /run/s", "'/run/s'"),
        ("-p p:1 --redirect 1 -W a:1", "-W carries stdin and stdout"),
        ("--redirect 1", "no proxy"),
        (
            "-p p:1 -D 1 --redirect 1",
            "127.0.0.1:1 is given twice: for -D and for --redirect",
        ),
    ] {
        assert!(complaint(line).contains(message), "{}", complaint(line));
    }
}

/// Which proxy is wanted isn't known before a client has named its destination.
#[test]
fn a_dynamic_listener_needs_a_proxy_unless_all_is_direct() {
    assert!(complaint("-D 1 --no-proxy a 2:a:1").contains("no proxy"));
    config("-D 1 --no-proxy *");
    let (_, warnings) = warned("-D 1 --direct-fallback");
    assert!(warnings[0].contains("directly"), "{:?}", warnings);
}

#[test]
fn allow_from_takes_lists_and_repeats() {
    assert!(config("-p p:1 1:a:1").allow_from.is_empty());
    let blocks =
        config("-p p:1 1:a:1 --allow-from 10.0.0.0/8,::1 --allow-from 192.0.2.7").allow_from;
    let blocks: Vec<String> = blocks.iter().map(|block| block.to_string()).collect();
    assert_eq!(blocks, ["10.0.0.0/8", "::1/128", "192.0.2.7/32"]);
    assert!(complaint("-p p:1 1:a:1 --allow-from a.example").contains("'a.example'"));
}

/// The bind failed, and the error blamed another program.
#[test]
fn an_address_can_be_listened_on_once() {
    for (line, message) in &[
        (
            "1:a:1 -L 1:b:2",
            "127.0.0.1:1 is given twice: for a:1 and for b:2",
        ),
        (
            "1:a:1 -D localhost:1",
            "127.0.0.1:1 for a:1 conflicts with localhost:1 for -D",
        ),
        (
            "-D 1 --serve-proxy 1",
            "127.0.0.1:1 is given twice: for -D and for --serve-proxy",
        ),
        (
            "*:1:a:1 [::1]:1:b:2",
            "*:1 for a:1 conflicts with [::1]:1 for b:2",
        ),
        (
            "-D 1 --status 1",
            "127.0.0.1:1 is given twice: for -D and for --status",
        ),
        (
            "--listen * 1:a:1 --status 1",
            "*:1 for a:1 conflicts with 127.0.0.1:1 for --status",
        ),
        ("/s:a:1 -D /s", "/s is given twice: for a:1 and for -D"),
        (
            "fd:x:a:1 fd:x:b:2",
            "fd:x is given twice: for a:1 and for b:2",
        ),
    ] {
        for check in &["", "--check-config"] {
            let complaint = complaint(&format!("-p p:1 {} {}", line, check));
            assert!(complaint.starts_with(message), "{}", complaint);
        }
    }
    config("-p p:1 0:a:1 0:b:2 1:a:1 127.0.0.2:1:b:2 [::1]:1:c:3 --status 0 /s:a:1 /t:b:2 fd:1:a:1 fd:2:b:2");
}

#[test]
fn a_tunnel_for_other_hosts_causes_a_warning_without_allow_from() {
    let message = |line: &str| warned(line).1;
    let one = "every host that can reach this machine can use *:1; bind to 127.0.0.1, or restrict \
               the clients with --allow-from CIDR";
    assert_eq!(message("-p p:1 *:1:a:1 2:a:1"), [one]);
    let several = message("-p p:1 1:a:1 [::1]:2:a:1 3:a:1 -l 0.0.0.0");
    assert!(
        several[0].contains("0.0.0.0:1, 0.0.0.0:3;"),
        "{}",
        several[0]
    );
    for line in &[
        "*:1:a:1 --allow-from 10.0.0.0/8",
        "1:a:1 /run/s:a:1",
        "*:1:a:1 --test",
    ] {
        assert!(message(&format!("-p p:1 {}", line)).is_empty(), "{}", line);
    }
}

#[test]
fn the_status_page_is_on_loopback_by_default() {
    let status = |line: &str| warned(&format!("-p p:1 1:a:1 {}", line)).0.status.unwrap();
    let local = status("-l 10.0.0.1 --status 9090");
    assert!(local.bind.is_loopback() && local.port == 9090);
    assert_eq!(status("--status *:2").bind, Bind::Any);
    for (line, warnings) in &[
        ("9090", 0),
        ("localhost:0", 0),
        ("[::1]:0", 0),
        ("0.0.0.0:0", 1),
    ] {
        let (_, said) = warned(&format!("-p p:1 1:a:1 --status {}", line));
        assert_eq!(said.len(), *warnings, "{:?}", said);
    }
    assert!(complaint("-p p:1 1:a:1 --status a:b").contains("--status: "));
    assert!(complaint("-p p:1 -W a:1 --status 1").contains("--status"));
}
