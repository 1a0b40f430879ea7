//! Compares the public API of each drop-in with that of the real crate.
//!
//! Prints each item that a drop-in misses, and exits with 1 if there is one that `accepted.txt`
//! doesn't list. Arguments are the names of the crates to look at; without any, all are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

use public_api::Builder;

/// The workspaces with the drop-ins, and with the real crates.
const DROP_INS: &str = "../..";
const REAL: &str = "../../real/0.1.18";
const REAL_0_1_12: &str = "../../real/0.1.12";

/// Each drop-in with the versions that it is compared with, its own first, and where they are locked.
const CRATES: [(&str, &[(&str, &str)]); 8] = [
    ("tokio-core", &[("0.1.18", REAL), ("0.1.12", REAL_0_1_12)]),
    ("tokio-executor", &[("0.1.10", REAL)]),
    ("tokio-reactor", &[("0.1.12", REAL)]),
    ("tokio-tcp", &[("0.1.4", REAL)]),
    ("tokio-threadpool", &[("0.1.18", REAL)]),
    ("tokio-timer", &[("0.2.13", REAL)]),
    ("tokio-udp", &[("0.1.6", REAL)]),
    ("tokio-uds", &[("0.2.7", REAL)]),
];

/// Private modules of what is re-exported: they differ by version, or between real crate and drop-in.
const PRIVATE_MODULES: [&str; 8] = [
    "mio::event",
    "mio::event_imp",
    "mio::ready",
    "tokio_io::async_read",
    "tokio_io::async_write",
    "tokio_reactor::handle",
    "tokio_udp::dgram",
    "tokio_udp::recv_dgram",
];

type Error = Box<dyn std::error::Error>;

fn main() -> Result<ExitCode, Error> {
    let wanted: Vec<_> = env::args().skip(1).collect();
    Ok(if compare(&wanted)? {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Compares the crates with these names, or all, and prints what differs. Returns whether all is as
/// accepted.txt says.
fn compare(wanted: &[String]) -> Result<bool, Error> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let accepted = accepted(&fs::read_to_string(here.join("accepted.txt"))?)?;
    let mut unused = accepted.clone();
    let mut failed = false;
    for (name, versions) in CRATES {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| wanted == name) {
            // Its entries may be used.
            let path = format!("{}::", name.replace('-', "_"));
            unused.retain(|item| !item.contains(&path));
            continue;
        }
        let drop_in = items(&here.join(DROP_INS), name, versions[0].0)?;
        for (version, folder) in versions {
            let real = items(&here.join(folder), name, version)?;
            let missing: Vec<_> = real.difference(&drop_in).collect();
            let unexplained: Vec<_> = missing
                .iter()
                .filter(|item| !accepted.contains(**item))
                .collect();
            unused.retain(|item| !missing.contains(&item));
            println!(
                "{name} {version}: {} items, {} of them differ as accepted.txt says, {} are missing",
                real.len(),
                missing.len() - unexplained.len(),
                unexplained.len()
            );
            for item in unexplained {
                println!("  missing: {item}");
                failed = true;
            }
            for item in trait_items(&real, &drop_in) {
                println!("  a trait that programs implement has one item more: {item}");
                failed = true;
            }
        }
    }
    for item in unused {
        println!("accepted.txt lists what is not missing: {item}");
        failed = true;
    }
    Ok(!failed)
}

/// Returns the public items of a package that the workspace in `folder` has or depends on.
fn items(folder: &Path, name: &str, version: &str) -> Result<BTreeSet<String>, Error> {
    let folder = folder.canonicalize()?;
    // One for each workspace, since packages of one name are in several.
    let target = env::var_os("CARGO_TARGET_DIR")
        .map_or_else(
            || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"),
            PathBuf::from,
        )
        .join("api")
        .join(folder.file_name().expect("it isn't the root"));
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["rustdoc", "--quiet", "--locked", "--lib"])
        .args(["--package", &format!("{name}@{version}"), "--manifest-path"])
        .arg(folder.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .args(["--", "-Z", "unstable-options", "--output-format", "json"])
        // Such as tokio-core's module `io`.
        .args(["--document-hidden-items", "--cap-lints", "allow"])
        // Stable rustdoc writes JSON when it takes itself for a nightly one.
        .env("RUSTC_BOOTSTRAP", "1")
        .status()?;
    if !status.success() {
        return Err(format!("cargo rustdoc of {} failed: {status}", folder.display()).into());
    }
    let json = format!("doc/{}.json", name.replace('-', "_"));
    let api = Builder::from_rustdoc_json(target.join(json))
        .omit_blanket_impls(true)
        .build()?;
    Ok(normal_forms(api.items().map(|item| item.to_string())))
}

/// Reads entries of a line each, before which a line with `#` gives the reason.
fn accepted(text: &str) -> Result<BTreeSet<String>, Error> {
    let mut entries = BTreeSet::new();
    let mut reason = false;
    for line in text.lines() {
        match line.trim() {
            "" => reason = false,
            line if line.starts_with('#') => reason = true,
            line if reason => drop(entries.insert(line.to_owned())),
            line => return Err(format!("accepted.txt gives no reason for: {line}").into()),
        }
    }
    Ok(entries)
}

/// Returns the functions and types that the drop-in adds to the real crate's traits.
fn trait_items(real: &BTreeSet<String>, drop_in: &BTreeSet<String>) -> Vec<String> {
    let traits = real
        .iter()
        .filter_map(|item| item.strip_prefix("pub trait "));
    let paths = traits.map(|rest| split(rest, ": ")[0].split(['<', ' ']).next().unwrap());
    let prefixes: Vec<_> = paths
        .flat_map(|path| [format!("pub fn {path}::"), format!("pub type {path}::")])
        .collect();
    let extra = drop_in.difference(real);
    extra
        .filter(|item| prefixes.iter().any(|prefix| item.starts_with(prefix)))
        .cloned()
        .collect()
}

/// Returns the items in a form in which equal ones look the same.
fn normal_forms(items: impl Iterator<Item = String>) -> BTreeSet<String> {
    let items: Vec<_> = items.map(|item| without_lifetimes(&item)).collect();
    let types: BTreeMap<_, _> = items
        .iter()
        .filter_map(|item| item.strip_prefix("pub type ")?.split_once(" = "))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    items
        .iter()
        .filter(|item| counts(item))
        .map(|item| normal(item, &types))
        .collect()
}

/// Whether programs can depend on the item.
fn counts(item: &str) -> bool {
    // A drop runs anyway, only the derive calls what it defines for itself, and code
    // can't ask for the absence of a trait, or for one that is the compiler's own.
    !(item.starts_with("impl !")
        || item.contains("core::marker::Freeze for ")
        || item.contains(" core::ops::drop::Drop for ")
        || item.ends_with("::drop(&mut self)")
        || item.ends_with("::assert_fields_are_eq(&self)")
        || item.contains("::StructuralPartialEq for "))
}

/// Removes the names of lifetimes, but `'static`.
fn without_lifetimes(item: &str) -> String {
    let mut text = String::new();
    let mut rest = item;
    while let Some(at) = rest.find('\'') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let end = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        if &rest[..end] == "static" {
            text.push_str("'static");
            rest = &rest[end..];
        } else {
            rest = rest[end..].trim_start_matches([' ', ',']);
        }
    }
    text.push_str(rest);
    text.replace("<>", "")
}

/// Splits at `separator` outside of any brackets.
fn split<'a>(text: &'a str, separator: &str) -> Vec<&'a str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0, 0);
    let bytes = text.as_bytes();
    for at in 0..bytes.len() {
        match bytes[at] {
            b'<' | b'(' | b'[' => depth += 1,
            b'>' if at > 0 && bytes[at - 1] == b'-' => {}
            b'>' | b')' | b']' => depth -= 1,
            _ => {}
        }
        if depth == 0 && at >= from && bytes[at..].starts_with(separator.as_bytes()) {
            parts.push(&text[from..at]);
            from = at + separator.len();
        }
    }
    parts.push(&text[from..]);
    parts
}

/// Returns where the list of generic parameters in `head` begins and ends.
fn generics(head: &str) -> Option<(usize, usize)> {
    let end = if head.starts_with("impl<") {
        let mut depth = 0;
        let bytes = head.as_bytes();
        (4..bytes.len()).find(|&at| {
            match bytes[at] {
                b'<' => depth += 1,
                b'>' if bytes[at - 1] != b'-' => depth -= 1,
                _ => {}
            }
            depth == 0
        })?
    } else {
        // Right before the arguments, or at the end.
        let stop = if head.contains("fn ") {
            arguments(head)?
        } else {
            head.len()
        };
        head[..stop].ends_with('>').then(|| stop - 1)?
    };
    let mut depth = 0;
    let from = (0..=end).rev().find(|&at| {
        match head.as_bytes()[at] {
            b'>' if at == 0 || head.as_bytes()[at - 1] != b'-' => depth += 1,
            b'<' => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    Some((from, end))
}

/// Returns where a function's arguments begin.
fn arguments(head: &str) -> Option<usize> {
    let mut depth = 0;
    let bytes = head.as_bytes();
    (0..bytes.len()).find(|&at| {
        match bytes[at] {
            b'<' => depth += 1,
            b'>' if at > 0 && bytes[at - 1] != b'-' => depth -= 1,
            _ => {}
        }
        bytes[at] == b'(' && depth == 0
    })
}

/// Returns `item` with its bounds in a `where` clause, one each and sorted, and `Self` spelt out.
fn normal(item: &str, types: &BTreeMap<String, String>) -> String {
    let (head, clause) = item.split_once(" where ").unwrap_or((item, ""));
    let mut head = head.to_owned();
    let mut bounds = BTreeSet::new();
    let mut add = |bound: &str| match bound.split_once(": ") {
        Some((name, all)) => {
            bounds.extend(split(all, " + ").iter().map(|one| format!("{name}: {one}")));
        }
        None => drop(bounds.insert(bound.to_owned())),
    };
    if !clause.is_empty() {
        split(clause, ", ").into_iter().for_each(&mut add);
    }
    if let Some((from, end)) = generics(&head) {
        let parameters = head[from + 1..end].to_owned();
        let mut names = Vec::new();
        for parameter in split(&parameters, ", ") {
            if parameter.contains(": ") {
                add(parameter);
            }
            names.push(parameter.split(": ").next().unwrap());
        }
        head.replace_range(from + 1..end, &names.join(", "));
    }
    if let Some(path) = own_type(&head) {
        for (name, value) in types {
            if let Some(name) = name.strip_prefix(&format!("{path}::")) {
                head = head.replace(&format!("Self::{name}"), value);
            }
        }
        if !head.contains("Self::") {
            head = head.replace("Self", &path);
        }
    }
    let bounds: Vec<_> = bounds.into_iter().collect();
    let clause = if bounds.is_empty() {
        String::new()
    } else {
        format!(" where {}", bounds.join(", "))
    };
    PRIVATE_MODULES
        .iter()
        .fold(format!("{head}{clause}"), |item, module| {
            let (parent, _) = module.rsplit_once("::").expect("it has a parent");
            item.replace(&format!("{module}::"), &format!("{parent}::"))
        })
}

/// Returns the path of the type or trait whose function this is.
fn own_type(head: &str) -> Option<String> {
    let path = &head[head.find("fn ")? + 3..arguments(head)?];
    let parts = split(path, "::");
    Some(parts[..parts.len() - 1].join("::"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(item: &str) -> String {
        normal_forms([item.to_owned()].into_iter())
            .into_iter()
            .next()
            .unwrap_or_default()
    }

    #[test]
    fn no_item_is_missing() {
        assert!(compare(&[]).unwrap());
    }

    #[test]
    fn lifetimes_have_no_names() {
        assert_eq!(one("impl<'a> Read for &'a S"), one("impl Read for &S"));
        assert_eq!(one("pub fn a::S<'a>::f(&self)"), "pub fn a::S::f(&self)");
        assert_eq!(
            one("impl<'a, E> Read for &'a P<E>"),
            "impl<E> Read for &P<E>"
        );
        assert_ne!(one("pub fn f<F: 'static>(F)"), one("pub fn f<F>(F)"));
    }

    #[test]
    fn bounds_are_equal_wherever_they_are() {
        let sorted = "pub fn a::S::f<F, R>(F) -> R where F: A, F: B<X = (), Y = ()>, R: C";
        assert_eq!(
            one("pub fn a::S::f<F: B<X = (), Y = ()> + A, R: C>(F) -> R"),
            sorted
        );
        assert_eq!(
            one("pub fn a::S::f<F, R>(F) -> R where R: C, F: A + B<X = (), Y = ()>"),
            sorted
        );
        assert_eq!(
            one("impl<E: A> T for S<E>"),
            one("impl<E> T for S<E> where E: A")
        );
        let call = "F: FnOnce(&H) -> R, F: Send";
        assert_eq!(
            one("pub fn a::f<F: FnOnce(&H) -> R + Send>(&F)"),
            format!("pub fn a::f<F>(&F) where {call}")
        );
    }

    #[test]
    fn self_is_spelt_out() {
        assert_eq!(
            one("pub fn a::S::cmp(&self, &Self) -> O"),
            "pub fn a::S::cmp(&self, &a::S) -> O"
        );
        let items = [
            "pub type a::S<T>::Item = (T, u8)",
            "pub fn a::S<T>::poll(&mut self) -> P<Self::Item>",
        ];
        let items = normal_forms(items.map(String::from).into_iter());
        assert!(
            items.contains("pub fn a::S<T>::poll(&mut self) -> P<(T, u8)>"),
            "{items:?}"
        );
    }

    #[test]
    fn an_item_more_in_a_trait_is_found() {
        let set = |items: &[&str]| items.iter().map(|item| item.to_string()).collect();
        let real: BTreeSet<_> = set(&[
            "pub trait a::io::Io: std::io::Read",
            "pub fn a::io::Io::f(&self)",
        ]);
        let more = set(&["pub fn a::io::Io::g(&self)", "pub fn a::io::IoX::g(&self)"]);
        assert_eq!(trait_items(&real, &more), ["pub fn a::io::Io::g(&self)"]);
    }

    #[test]
    fn accepted_differences_have_a_reason() {
        assert!(accepted("# why\na\nb\n").unwrap().contains("b"));
        assert!(accepted("# why\na\n\nb\n").is_err());
    }
}
