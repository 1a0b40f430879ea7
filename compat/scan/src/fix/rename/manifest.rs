//! The new name in a manifest.

use cargo_metadata::semver::{Version, VersionReq};
use toml_edit::{Document, Item, TableLike};

use super::{NEW, OLD};
use crate::fix::Edit;

/// The edits of a manifest that depends on this version of futures; none if it doesn't. An error says
/// why the dependency keeps its name.
pub fn edits(text: &str, version: &Version) -> Result<Vec<Edit>, String> {
    let manifest = Document::parse(text).map_err(|error| error.to_string())?;
    let root = manifest.as_table();
    let mut edits = Vec::new();
    for table in tables(root) {
        if let Some((key, item)) = table.get_key_value(OLD) {
            if table.contains_key(NEW) {
                return Err(format!("Cargo.toml has a {NEW} already"));
            }
            let key = key.span().ok_or("Cargo.toml has no spans")?;
            edits.push((key, NEW.to_owned()));
            edits.push(dependency(item, text, version)?);
        }
    }
    let features = root.get("features").and_then(Item::as_table_like);
    let mut needed = features
        .into_iter()
        .flat_map(|features| features.iter())
        .flat_map(|(_, needs)| needs.as_array())
        .flat_map(|needs| needs.iter().filter_map(|need| need.as_str()));
    let names = |need: &str| need.trim_start_matches("dep:").split(['/', '?']).next() == Some(OLD);
    if !edits.is_empty() && needed.any(names) {
        return Err("a feature in Cargo.toml names it".to_owned());
    }
    Ok(edits)
}

fn tables(root: &dyn TableLike) -> Vec<&dyn TableLike> {
    let kinds = [
        "dependencies",
        "dev-dependencies",
        "dev_dependencies",
        "build-dependencies",
        "build_dependencies",
    ];
    let targets = root.get("target").and_then(Item::as_table_like);
    let targets = targets.into_iter().flat_map(|targets| targets.iter());
    let mut places = vec![root];
    places.extend(targets.filter_map(|(_, target)| target.as_table_like()));
    let tables = places.iter().flat_map(|place| {
        kinds
            .iter()
            .filter_map(|kind| place.get(kind)?.as_table_like())
    });
    tables.collect()
}

/// The edit that says which crate a dependency is, whatever its name.
fn dependency(item: &Item, text: &str, version: &Version) -> Result<Edit, String> {
    let no_span = "Cargo.toml has no spans";
    let matches = |requirement: Option<&str>| {
        requirement
            .and_then(|text| VersionReq::parse(text).ok())
            .is_some_and(|requirement| requirement.matches(version))
    };
    if let Some(requirement) = item.as_str() {
        if !matches(Some(requirement)) {
            return Err("Cargo.toml has another futures of that name".to_owned());
        }
        let span = item.span().ok_or(no_span)?;
        let table = format!(
            "{{ package = \"{OLD}\", version = {} }}",
            &text[span.clone()]
        );
        return Ok((span, table));
    }
    let table = item
        .as_table_like()
        .ok_or("Cargo.toml has neither a version nor a table for it")?;
    for key in ["package", "optional", "workspace"] {
        if table.contains_key(key) {
            return Err(format!("Cargo.toml says `{key}` of it"));
        }
    }
    if !matches(table.get("version").and_then(Item::as_str)) {
        return Err("Cargo.toml has another futures of that name".to_owned());
    }
    let span = item.span().ok_or(no_span)?;
    let (at, addition) = match item.as_table() {
        None => (span.start + 1, format!(" package = \"{OLD}\",")),
        Some(table) if !table.is_dotted() => {
            let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
            (span.end, format!("{end}package = \"{OLD}\""))
        }
        Some(_) => return Err("Cargo.toml has it with dotted keys".to_owned()),
    };
    Ok((at..at, addition))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fix::apply;

    fn renamed(text: &str) -> String {
        edits(text, &Version::new(0, 1, 31))
            .map_or_else(|why| format!("kept: {why}"), |edits| apply(text, edits))
    }

    #[test]
    fn a_manifest_keeps_its_format() {
        for (before, after) in [
            (
                "[dependencies]\nlog  =  \"0.4\" # a\nfutures = \"0.1.2\" # b\n",
                "[dependencies]\nlog  =  \"0.4\" # a\nfutures01 = { package = \"futures\", version = \"0.1.2\" } # b\n",
            ),
            (
                "[dependencies.futures]\nversion = '0.1'\n[features]\na = []\n",
                "[dependencies.futures01]\npackage = \"futures\"\nversion = '0.1'\n[features]\na = []\n",
            ),
            (
                "[dependencies.futures]\r\nversion = '0.1'\r\n",
                "[dependencies.futures01]\r\npackage = \"futures\"\r\nversion = '0.1'\r\n",
            ),
            (
                "[target.'cfg(unix)'.dev-dependencies]\nfutures = { version = \"0.1\", default-features = false }",
                "[target.'cfg(unix)'.dev-dependencies]\nfutures01 = { package = \"futures\", version = \"0.1\", default-features = false }",
            ),
            ("[dependencies]\nlog = \"0.4\"\n", "[dependencies]\nlog = \"0.4\"\n"),
        ] {
            assert_eq!(renamed(before), after);
            assert_eq!(renamed(after), after);
        }
    }

    #[test]
    fn a_manifest_that_needs_the_name_keeps_it() {
        for text in [
            "dependencies.futures = { version = \"0.1\", optional = true }",
            "dependencies.futures = { workspace = true }",
            "dependencies.futures.version = \"0.1\"",
            "dependencies.futures = { package = \"futures-preview\", version = \"0.1\" }",
            "dependencies.futures = \"0.3\"",
            "dependencies.futures = \"0.1.99\"",
            "dependencies.futures = { path = \"futures\" }",
            "[dependencies]\nfutures = \"0.1\"\nfutures01 = \"1\"",
            "[dependencies]\nfutures = \"0.1\"\n[features]\na = [\"futures/use_std\"]",
        ] {
            assert!(
                renamed(text).starts_with("kept: "),
                "{text}: {}",
                renamed(text)
            );
        }
    }
}
