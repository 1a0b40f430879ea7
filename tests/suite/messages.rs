//! The catalogue of messages: each message of the source is in a table of docs/guide.md, and each
//! message in such a table is one of the source.
//!
//! Both are compared by their fragments: a message without its values, split at colons, semicolons
//! and brackets. A fragment of one word alone doesn't count. `tests/torture/faults` causes the errors
//! of the tables about tunnels, and compares those.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::mem;
use std::path::Path;

use support::repository::root;

/// Files and folders whose texts aren't messages: help and other output, `--test`, the status page.
const WITHOUT_MESSAGES: &[&str] = &[
    "crates/cli/src/check_config.rs",
    "crates/cli/src/flags",
    "crates/cli/src/generate",
    "src/demo.rs",
    "crates/core/src/observe/diagnose",
    "crates/core/src/observe/status",
];

/// Texts of other files that need no entry.
const EXEMPT: &[&str] = &[
    // For programs that use the library.
    "Connect polled after it was done",
    "polled after it ended",
    "the program didn't call ptunnel::upstream::pac::enable",
    "the proxy closed the connection before it replied",
    "TLS isn't set up for",
    "TLS isn't set up for it",
    // Parts of other lines: names of listeners, certificates and methods, prompts, a record's end.
    "SOCKS and HTTP",
    "SOCKS5 and HTTP",
    "SOCKS5 username and password",
    "Password for",
    "a socket without a name",
    "at the proxies of",
    "by PAC file",
    "over TLS",
    "down in",
    "where its clients connect to",
    "what its clients request",
    "what its clients request, directly",
    "which has no name",
    "within a day",
    // Reasons of "no Kerberos ticket for the proxy" and of panics, which only a defect causes.
    "GSSAPI error",
    "Kerberos isn't set up for this proxy",
    "no message",
    "no program",
    "panicked at",
    "the GSSAPI library has no",
    "the GSSAPI library made no token",
    "the GSSAPI library waits for a token and returns none",
    "the mechanism doesn't authenticate the proxy",
    "the proxy accepted before it proved its identity",
    // HTTP.
    "Basic realm=\"ptunnel\", charset=\"UTF-8",
    "HTTP/1.1 Host",
    "Not Found",
    "OPTIONS * HTTP/1.1 Host",
    "close Content-Type",
    // A table can't show it.
    "a name can contain only letters, digits and !#$%&'*+-.^_`|~",
];

/// Fragments in the tables that aren't in the source as a whole.
const COMPOSED: &[&str] = &[
    // Texts of the system, of OpenSSL, GSSAPI and the standard library.
    "Address already in use",
    "Cannot assign requested address",
    "Connection reset by peer",
    "Is a directory",
    "Network is unreachable",
    "No Kerberos credentials available",
    "No space left on device",
    "No such file or directory",
    "Permission denied",
    "Protocol not available",
    "Server not found in Kerberos database",
    "failed to lookup address information",
    "os error",
    "stream did not contain valid UTF-8",
    "unknown ca",
    // With values that look like words.
    "offers Bearer",
    "only CONNECT is served, not GET",
    "serve-user ann has no password",
];

/// The calls whose texts aren't messages, and attributes.
const IGNORED_CALLS: &[&str] = &[
    "#",
    "assert!",
    "assert_eq!",
    "behind",
    "compile_error!",
    "concat!",
    "contains",
    "debug!",
    "expect",
    "find",
    "panic!",
    "rfind",
    "starts_with",
    "trace!",
    "unreachable!",
];

#[test]
fn each_message_of_the_source_is_in_a_table() {
    let (source, tables) = (fragments_of_source(WITHOUT_MESSAGES), fragments_of_tables());
    let is_listed = |fragment: &str| tables.iter().any(|entry| has_words(entry, fragment));
    let missing: Vec<_> = source
        .iter()
        .filter(|(fragment, _)| fragment.contains(' '))
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
    let (source, tables) = (fragments_of_source(&[]), fragments_of_tables());
    let entries = tables.iter().filter(|entry| entry.contains(' '));
    let others: BTreeSet<&str> = entries
        .filter(|entry| !source.keys().any(|text| has_words(text, entry)))
        .filter(|entry| !is_joined(entry, &source))
        .map(|entry| &entry[..])
        .collect();
    let composed: BTreeSet<&str> = COMPOSED.iter().copied().collect();
    assert_eq!(others, composed);
}

/// Regression: a fragment of the source was enough, with any words around it.
#[test]
fn invented_words_around_a_fragment_are_found() {
    let source: BTreeMap<String, String> = ["cannot connect to", "proxy", "refused"]
        .iter()
        .map(|text| (text.to_string(), String::new()))
        .collect();
    assert!(is_joined("cannot connect to proxy", &source));
    assert!(is_joined("proxy 127.0.0.1:1 refused", &source));
    assert!(!is_joined("cannot connect to any proxy", &source));
    assert!(has_words("it cannot connect, at all", "cannot connect"));
    assert!(!has_words("cannot connected", "cannot connect"));
}

/// Whether a text has these words, one after the other.
fn has_words(text: &str, words: &str) -> bool {
    let is_inside = |c: Option<char>| c.map_or(false, char::is_alphanumeric);
    text.match_indices(words).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + words.len()..]);
        !is_inside(before.chars().last()) && !is_inside(after.chars().next())
    })
}

/// Whether an entry consists of whole fragments of the source, e.g. an error and the name of its
/// peer, and of values.
fn is_joined(entry: &str, source: &BTreeMap<String, String>) -> bool {
    let entry = entry.trim_start();
    let ends = entry.match_indices(' ').map(|(at, _)| at);
    let is_value = |text: &str| {
        let is_bare = |c: char| c.is_alphabetic() || "'-".contains(c);
        !text.contains(' ') && (text.starts_with(&['-', '\''][..]) || !text.chars().all(is_bare))
    };
    entry.is_empty()
        || ends.chain(Some(entry.len())).any(|end| {
            let first = entry[..end].trim_end_matches(&[',', '.'][..]);
            let is_known = source.contains_key(first) || is_value(first);
            is_known && is_joined(&entry[end..], source)
        })
}

/// Returns the fragments of the string literals in the source, without these files and folders, each
/// with a file.
fn fragments_of_source(without: &[&str]) -> BTreeMap<String, String> {
    let root = root();
    let mut files = Vec::new();
    for folder in &["src", "crates"] {
        collect(root, folder, &mut files);
    }
    files.retain(|file| !without.iter().any(|path| file.starts_with(path)));
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

/// Pushes the Rust files in a folder, relative to `root`, without those of tests.
fn collect(root: &Path, folder: &str, files: &mut Vec<String>) {
    for entry in fs::read_dir(root.join(folder)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = format!("{}/{}", folder, name);
        if entry.file_type().unwrap().is_dir() {
            if name != "tests" {
                collect(root, &path, files);
            }
        } else if name != "tests.rs" && name.ends_with(".rs") {
            files.push(path);
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

/// Returns the string literals outside of patterns and [`IGNORED_CALLS`].
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
                let mut rest = code[end + 1..].iter().skip_while(|c| c.is_whitespace());
                let after = (rest.next(), rest.next());
                let is_pattern = matches!(after, (Some('|'), _) | (Some('='), Some('>')));
                if mem::take(&mut word) != "b" && !is_ignored && !is_pattern {
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
    let root = root();
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
        .filter(|fragment| !fragment.is_empty())
        .collect()
}
