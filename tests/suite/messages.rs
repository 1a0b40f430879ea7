//! The catalogue of messages: each message of the source is in a table of docs/guide.md, and each
//! message in such a table is one of the source.
//!
//! Both are compared by their fragments: a message without its values, split at colons, semicolons
//! and brackets. Only fragments of three words or more count. `tests/torture/faults` causes the
//! errors of the tables about tunnels, and compares those.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::mem;
use std::path::Path;

/// The files and folders whose texts need an entry. An error about the value of an option has an
/// example instead.
const SOURCES: &[&str] = &[
    "src/cli/argv_scrub.rs",
    "src/cli/configure.rs",
    "src/cli/env.rs",
    "src/cli/password.rs",
    "src/cli/route.rs",
    "src/cli/tls.rs",
    "src/engine",
    "src/error",
    "src/inbound",
    "src/listener",
    "src/observe/access_log.rs",
    "src/observe/logging",
    "src/observe/session.rs",
    "src/observe/turned_away.rs",
    "src/os",
    "src/proto",
    "src/upstream",
];

/// Texts of these files that need no entry.
const EXEMPT: &[&str] = &[
    // For programs that use the library.
    "Connect polled after it was done",
    "polled after it ended",
    "the program didn't call ptunnel::upstream::pac::enable",
    "the proxy closed the connection before it replied",
    // Names of listeners, in other lines and on the status page.
    "SOCKS and HTTP",
    "SOCKS5 and HTTP",
    "a socket without a name",
    "serving proxy on",
    "what its clients request",
    "what its clients request, directly",
    // In --test, a prompt, and an error with an example.
    "SOCKS5 username and password",
    "at the proxies of",
    "it must be from",
    // Values in messages about certificates.
    "the CA's certificate",
    "which has no name",
    "within a day",
    "within the last day",
    // OpenSSL's reasons, which ptunnel reads.
    "https proxy request",
    "no application protocol",
    "packet length too long",
    "record layer failure",
    "version too low",
    "wrong version number",
    // Reasons of "no Kerberos ticket for the proxy" that only a defect of a library or a proxy
    // causes.
    "Kerberos isn't set up for this proxy",
    "the GSSAPI library has no",
    "the GSSAPI library made no token",
    "the GSSAPI library waits for a token and returns none",
    "the mechanism doesn't authenticate the proxy",
    "the proxy accepted before it proved its identity",
    // A field of HTTP.
    "Basic realm=\"ptunnel\", charset=\"UTF-8",
];

/// Fragments in the tables that aren't in the source as a whole.
const COMPOSED: &[&str] = &[
    // Texts of the system and of GSSAPI.
    "Address already in use",
    "Connection reset by peer",
    "Network is unreachable",
    "No Kerberos credentials available",
    "No space left on device",
    "No such file or directory",
    "Server not found in Kerberos database",
    "failed to lookup address information",
    // With values that look like words.
    "cannot resolve proxy",
    "connection to proxy",
    "connections are open and have",
    "environment variable LISTEN_FDS",
    "no socket 'fd:web",
    "offers Digest, Basic",
    "or set https_proxy",
    "squid reports ERR_ACCESS_DENIED",
    "squid reports ERR_CONNECT_FAIL",
    "squid reports ERR_DNS_FAIL",
    "the certificate expired",
];

/// The calls whose texts aren't messages, and attributes.
const IGNORED_CALLS: &[&str] = &[
    "#",
    "assert!",
    "assert_eq!",
    "compile_error!",
    "concat!",
    "debug!",
    "expect",
    "panic!",
    "trace!",
    "unreachable!",
];

#[test]
fn each_message_of_the_source_is_in_a_table() {
    let (source, tables) = (fragments_of_source(SOURCES), fragments_of_tables());
    assert!(source.len() > 150, "{} fragments", source.len());
    let is_listed = |fragment: &str| tables.iter().any(|entry| entry.contains(fragment));
    let missing: Vec<_> = source
        .iter()
        .filter(|(fragment, _)| !EXEMPT.contains(&&fragment[..]) && !is_listed(fragment))
        .collect();
    assert!(missing.is_empty(), "{:#?}", missing);
    let stale: Vec<_> = EXEMPT
        .iter()
        .filter(|fragment| !source.contains_key(**fragment) || is_listed(fragment))
        .collect();
    assert!(stale.is_empty(), "{:#?}", stale);
}

#[test]
fn each_message_in_a_table_is_of_the_source() {
    let (source, tables) = (fragments_of_source(&["src"]), fragments_of_tables());
    let is_of_source = |entry: &str| {
        source
            .keys()
            .any(|text| text.contains(entry) || entry.contains(&text[..]))
    };
    assert!(tables.len() > 150, "{} fragments", tables.len());
    let entries = tables.iter().map(|entry| &entry[..]);
    let others: BTreeSet<&str> = entries.filter(|entry| !is_of_source(entry)).collect();
    let composed: BTreeSet<&str> = COMPOSED.iter().copied().collect();
    assert_eq!(others, composed);
}

/// Returns the fragments of the string literals in these files and folders, each with a file.
fn fragments_of_source(paths: &[&str]) -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for path in paths {
        collect(root, path, &mut files);
    }
    let mut found = BTreeMap::new();
    for file in files {
        let text = fs::read_to_string(root.join(&file)).unwrap();
        for literal in literals(without_tests(&text)) {
            for fragment in fragments(&literal) {
                found.insert(fragment, file.clone());
            }
        }
    }
    found
}

/// Pushes the Rust files at a path, relative to `root`, without those of tests.
fn collect(root: &Path, path: &str, files: &mut Vec<String>) {
    if path.ends_with(".rs") {
        files.push(path.to_string());
        return;
    }
    for entry in fs::read_dir(root.join(path)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let is_folder = entry.file_type().unwrap().is_dir();
        if name != "tests" && name != "tests.rs" && (is_folder || name.ends_with(".rs")) {
            collect(root, &format!("{}/{}", path, name), files);
        }
    }
}

/// Returns the text in front of the module with the unit tests.
fn without_tests(text: &str) -> &str {
    const MARK: &str = "\n#[cfg(test)]\n";
    let is_module = |(at, _): &(usize, &str)| {
        let mut rest = text[at + MARK.len()..].lines();
        let item = rest.find(|line| !line.starts_with("#["));
        item.map_or(false, |line| {
            line.starts_with("mod ") && line.ends_with('{')
        })
    };
    let end = text.match_indices(MARK).find(is_module);
    end.map_or(text, |(at, _)| &text[..at])
}

/// Returns the string literals outside of [`IGNORED_CALLS`].
fn literals(text: &str) -> Vec<String> {
    let code: Vec<char> = text.chars().collect();
    let (mut found, mut calls, mut word) = (Vec::new(), Vec::<String>::new(), String::new());
    let mut at = 0;
    while at < code.len() {
        match code[at] {
            '/' if code.get(at + 1) == Some(&'/') => {
                at = (at..code.len())
                    .find(|at| code[*at] == '\n')
                    .unwrap_or(code.len());
                word.clear();
            }
            '"' => {
                let (literal, end) = literal(&code, at + 1);
                at = end;
                let is_ignored = calls.iter().any(|call| IGNORED_CALLS.contains(&&call[..]));
                if mem::take(&mut word) != "b" && !is_ignored {
                    found.push(literal);
                }
            }
            '\'' => {
                at = end_of_character(&code, at);
                word.clear();
            }
            '(' | '[' | '{' => calls.push(mem::take(&mut word)),
            ')' | ']' | '}' => {
                calls.pop();
                word.clear();
            }
            c if c.is_alphanumeric() || "_!#".contains(c) => word.push(c),
            _ => word.clear(),
        }
        at += 1;
    }
    found
}

/// Reads a string literal after its first quote; returns its text and the index of its last quote.
fn literal(code: &[char], start: usize) -> (String, usize) {
    let (mut text, mut at) = (String::new(), start);
    while code[at] != '"' {
        if code[at] != '\\' {
            text.push(code[at]);
            at += 1;
            continue;
        }
        match code[at + 1] {
            'n' | 'r' => text.push(' '),
            '\n' => {
                while code[at + 2].is_whitespace() {
                    at += 1;
                }
            }
            c => text.push(c),
        }
        at += 2;
    }
    (text, at)
}

/// Returns the index of the last quote of a character, or `start` if a lifetime is there.
fn end_of_character(code: &[char], start: usize) -> usize {
    match (code.get(start + 1), code.get(start + 2)) {
        (Some('\\'), _) => (start + 3..code.len())
            .find(|at| code[*at] == '\'')
            .unwrap_or(start),
        (_, Some('\'')) => start + 2,
        _ => start,
    }
}

/// Returns the fragments of the messages in the tables: the code spans of a first column that is
/// called "message".
fn fragments_of_tables() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeSet::new();
    for document in &["docs/guide.md", "docs/operating.md"] {
        let text = fs::read_to_string(root.join(document)).unwrap();
        let mut is_table = false;
        for line in text.lines() {
            is_table = line.starts_with("| message |") || is_table && line.starts_with('|');
            let cell = line.split(" | ").next().filter(|_| is_table);
            let spans = cell
                .into_iter()
                .flat_map(|cell| cell.split('`').skip(1).step_by(2));
            found.extend(spans.flat_map(fragments));
        }
    }
    found
}

/// Splits a message at its values, colons, semicolons and brackets.
fn fragments(message: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    for word in message.split_whitespace() {
        let bare = word.trim_start_matches(&['(', '[', '\'', '"'][..]);
        let is_value = word.contains(&['{', '…'][..])
            || word.to_lowercase().contains("example")
            || bare.starts_with(|c: char| c.is_ascii_digit());
        if is_value || word.starts_with('(') {
            all.push(String::new());
        }
        if is_value {
            continue;
        }
        let fragment = all.last_mut().expect("a fragment");
        if !fragment.is_empty() {
            fragment.push(' ');
        }
        fragment.push_str(word);
        let end = word.trim_end_matches(&[',', '.', ';', ':'][..]);
        if word.ends_with(&[';', ':'][..]) || end.ends_with(')') {
            all.push(String::new());
        }
    }
    let punctuation = &[' ', '.', ',', ';', ':', '(', ')', '\'', '"', '-'][..];
    all.iter()
        .map(|fragment| fragment.trim_matches(punctuation).to_string())
        .filter(|fragment| fragment.matches(' ').count() >= 2)
        .collect()
}
