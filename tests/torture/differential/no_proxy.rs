//! Destinations that a list covers, compared with curl's `--noproxy`.

use super::{combinations, curl, Comparison, Ours, Row, Theirs};
use crate::scale::scale;
use support::{Peer, Ptunnel};

const ENTRIES: &[&str] = &[
    "*",
    "example.com",
    ".example.com",
    "*.example.com",
    "EXAMPLE.com",
    "example.com.",
    "www.example.com",
    "ample.com",
    "com",
    "localhost",
    "10.1.2.3",
    "10.1.2.30",
    "10.0.0.0/8",
    "10.1.2.3/8",
    "10.1.2.3/32",
    "11.0.0.0/8",
    "192.168.16.0/20",
    "0.0.0.0/0",
    "1.2.3",
    "2.3",
    "::1",
    "::1/128",
    "[::1]",
    "::/0",
    "2001:db8::/32",
    "2001:DB8:0::7",
    "::ffff:10.1.2.3",
    "::ffff:10.0.0.0/104",
    "example.com:22",
    "example.com:23",
    "10.1.2.3:22",
    "[::1]:22",
    "*:22",
    "a.example b.example",
    " b.example ",
];

const DESTINATIONS: &[&str] = &[
    "example.com:22",
    "www.example.com:22",
    "WWW.Example.COM:22",
    "example.com.:22",
    "anexample.com:22",
    "example.com.evil.net:22",
    "b.example:22",
    "localhost:22",
    "10.1.2.3:22",
    "10.1.2.30:22",
    "10.200.0.1:22",
    "192.168.31.255:22",
    "192.168.32.0:22",
    "[::1]:22",
    "[2001:db8::7]:22",
    "[2001:db9::1]:22",
    "[::ffff:10.1.2.3]:22",
];

/// The entries of a list, and a destination.
type Case = (Vec<&'static str>, &'static str);

type Trait = (&'static str, fn(&Case) -> bool);

fn has(case: &Case, is_it: fn(&str) -> bool) -> bool {
    case.0.iter().any(|entry| is_it(entry))
}

const TRAITS: &[Trait] = &[
    ("an entry with a port", |case| {
        has(case, |entry| entry.ends_with(":22"))
    }),
    ("a star among others", |case| {
        case.0.len() > 1 && has(case, |entry| entry == "*")
    }),
    ("a star in front", |case| {
        has(case, |entry| entry.starts_with("*."))
    }),
    ("a block of no bits", |case| {
        has(case, |entry| entry.ends_with("/0"))
    }),
    ("an entry in brackets", |case| {
        has(case, |entry| entry.starts_with('['))
    }),
    ("a part of a mapped address", |case| {
        case.1.starts_with("[::ffff:") && has(case, |entry| entry == "1.2.3" || entry == "2.3")
    }),
    ("a block, and an IPv6 destination", |case| {
        case.1.starts_with('[') && has(case, |entry| entry.contains('/'))
    }),
    ("another spelling of an IPv6 address", |case| {
        case.1.starts_with('[') && has(case, |entry| entry == "2001:DB8:0::7")
    }),
    ("a mapped destination", |case| {
        case.1.starts_with("[::ffff:")
    }),
    ("a mapped entry", |case| {
        has(case, |entry| entry.starts_with("::ffff:"))
    }),
];

const ROWS: &[Row] = &[
    Row {
        judge: "curl",
        stricter: Theirs,
        traits: &["an entry with a port"],
        why: "it knows no entries with a port",
    },
    Row {
        judge: "curl",
        stricter: Theirs,
        traits: &["a star among others"],
        why: "to it the star stands for everything only when it is the whole list",
    },
    Row {
        judge: "curl",
        stricter: Theirs,
        traits: &["a star in front"],
        why: "to it *.example.com is a name, not example.com's subdomains",
    },
    Row {
        judge: "curl",
        stricter: Theirs,
        traits: &["a block of no bits"],
        why: "a block of no bits is one address to it, and all of them to us (RFC 4632 §3.1)",
    },
    Row {
        judge: "curl",
        stricter: Theirs,
        traits: &["an entry in brackets"],
        why: "its IPv6 entries have no brackets",
    },
    Row {
        judge: "curl",
        stricter: Ours,
        traits: &["a part of a mapped address"],
        why: "curl 7.88 compares IPv6 as names: there, what ends in .2.3 lies in the domain 2.3",
    },
    Row {
        judge: "curl",
        stricter: Theirs,
        traits: &[
            "a block, and an IPv6 destination",
            "another spelling of an IPv6 address",
        ],
        why: "curl 7.88 compares IPv6 as names: no blocks, and one spelling of an address",
    },
    Row {
        judge: "curl",
        stricter: Theirs,
        traits: &["a mapped destination", "a mapped entry"],
        why: "IPv4 in IPv6's form (RFC 4291 §2.5.5.2) is another address to it",
    },
];

#[test]
fn no_proxy_lists_match_as_in_curl_or_for_a_reason() {
    let origin = Peer::replying("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
    let proxy = Peer::replying("HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n");
    // Names aren't resolved, and every direct connection reaches the origin of this test.
    let redirected = format!("::{}", origin.address());
    let proxied = proxy.address().to_string();
    let urls: Vec<String> = DESTINATIONS
        .iter()
        .map(|to| format!("http://{}/", to))
        .collect();

    let lists = combinations(
        ENTRIES.len(),
        scale(ENTRIES.len() + 10, 2_000 / DESTINATIONS.len()),
    );
    let mut comparison = Comparison::new(ROWS);
    for &(a, b) in &lists {
        let entries = if a == b {
            vec![ENTRIES[a]]
        } else {
            vec![ENTRIES[a], ENTRIES[b]]
        };
        let list = entries.join(",");
        let args = [
            "--noproxy",
            &list,
            "--proxy",
            &proxied,
            "--connect-to",
            &redirected,
        ];
        let theirs = curl(&args, &urls);
        for ((to, ours), theirs) in DESTINATIONS.iter().zip(direct(&list)).zip(theirs) {
            let theirs = match theirs {
                (_, 204) => true,
                (403, _) => false,
                other => panic!("{:?} to {}: {:?}", list, to, other),
            };
            let stricter = if ours { Theirs } else { Ours };
            let shown = format!("{} in {:?}: directly {}, curl {}", to, list, ours, theirs);
            if ours != theirs {
                let case = (entries.clone(), *to);
                let traits = TRAITS.iter().filter(|(_, is_so)| is_so(&case));
                let traits: Vec<_> = traits.map(|(name, _)| *name).collect();
                comparison.differs("curl", stricter, &traits, shown);
            }
        }
    }
    comparison.finish(lists.len() * DESTINATIONS.len());
}

/// Returns which destinations the program would reach without its proxy, as it prints them.
fn direct(list: &str) -> Vec<bool> {
    let program = Ptunnel::through("proxy.example:3128").args(&["--no-proxy", list]);
    let program = DESTINATIONS
        .iter()
        .fold(program, |all, to| all.to(to))
        .start();
    let lines = program.listening().iter();
    lines
        .map(|listening| listening.line.ends_with(" directly"))
        .collect()
}
