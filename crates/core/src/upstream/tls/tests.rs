use std::path::Path;

use super::fault::meaning;
use super::*;
use ptunnel_proto::values::TlsOptions;

fn at(host: Host) -> HostPort {
    HostPort { host, port: 443 }
}

/// RUSTSEC-2023-0044: with an empty name the old crate reads past the end of the name.
#[test]
fn an_empty_name_never_reaches_openssl() {
    let spec = TlsSpec::load(&TlsOptions::of(TlsPeer::Proxy)).unwrap();
    for name in &["", "."] {
        let empty = TlsSetup::new(&spec, &at(Host::Name(name.to_string())));
        let kind = empty.err().map(|e| e.kind());
        assert_eq!(kind, Some(io::ErrorKind::InvalidInput), "{:?}", name);
    }
    assert!(TlsSetup::new(&spec, &at(Host::Name("proxy.example.".into()))).is_ok());
}

/// Functions of openssl 0.10.50 (locked for rustc 1.48) that advisories name, and functions that
/// call them. The first is reached only through `into_ssl`, never with an empty name.
/// docs/security.md lists the advisories.
#[test]
fn no_function_that_an_advisory_names_is_called() {
    const NAMED: &[&str] = &[
        "set_host(",         // RUSTSEC-2023-0044
        ".objects(",         // RUSTSEC-2023-0072
        "MemBio",            // RUSTSEC-2024-0357, and all that is made with it:
        "to_pem",            //
        "to_text(",          //
        "not_after().to_s",  // Display of a time
        "not_before().to_s", //
        "select_next_proto", // RUSTSEC-2025-0004
        "set_alpn_select",   //
        "Md::fetch",         // RUSTSEC-2025-0022
        "Cipher::fetch",     //
    ];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join("src"), root.join("crates")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("crates/core/src/upstream/tls/tests.rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                let found = NAMED.iter().find(|name| text.contains(**name));
                assert_eq!(found, None, "{}", path.display());
                files += 1;
            }
        }
    }
    assert!(files > 200, "{} files", files);
}

#[test]
fn names_are_sent_in_the_handshake_and_addresses_are_not() {
    let spec = TlsSpec::load(&TlsOptions::of(TlsPeer::Proxy)).unwrap();
    for (host, expected) in &[
        (Host::Name("proxy.example.".into()), Some("proxy.example")),
        (Host::Ip([127, 0, 0, 1].into()), None),
        (Host::Ip("::1".parse().unwrap()), None),
    ] {
        let session = TlsSetup::new(&spec, &at(host.clone())).unwrap();
        let name = session.ssl.servername(ssl::NameType::HOST_NAME);
        assert_eq!(name, *expected);
    }
}

#[test]
fn reasons_are_reported_with_a_fix() {
    for (reason, expected) in &[
        ("wrong version number", "use http://"),
        ("tlsv13 alert certificate required", "set --proxy-cert"),
        ("ssl/tls alert handshake failure", "--proxy-cert"),
        ("tlsv1 alert protocol version", "1.2"),
        ("tlsv1 alert no application protocol", "only HTTP/2"),
        ("tlsv1 alert unknown ca", "client certificate: unknown ca"),
        ("bad signature", "TLS error: bad signature"),
    ] {
        let text = meaning(reason, TlsPeer::Proxy, "use http://").text;
        assert!(text.contains(expected), "{}: {}", reason, text);
    }
}

#[test]
fn messages_about_a_destination_name_its_own_options() {
    for reason in &[
        "wrong version number",
        "tlsv13 alert certificate required",
        "ssl/tls alert handshake failure",
    ] {
        let text = meaning(reason, TlsPeer::Destination, "remove tls://").text;
        let names_an_option = text.contains("tls://") || text.contains("--cert");
        assert!(names_an_option && !text.contains("proxy"), "{}", text);
    }
}
