//! `futures` becomes `futures01 = { package = "futures" }`, in a package's manifest and in its code.

mod code;
mod manifest;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use cargo_metadata::Package;

use super::{apply, place, tokens};
use crate::project::Project;
use crate::{files, harden};

const OLD: &str = "futures";
const NEW: &str = "futures01";

/// The new text of each file of a package whose dependency gets its new name; none where it has no such
/// dependency. The inner error says why it keeps the name.
pub fn package(
    project: &Project,
    package: &Package,
    compiled: &BTreeSet<PathBuf>,
) -> Result<Result<BTreeMap<PathBuf, String>, String>> {
    let path = package.manifest_path.as_std_path();
    let text = fs::read_to_string(path)?;
    let mut files = BTreeMap::new();
    match manifest::edits(&text, &harden::futures(project)?.version) {
        Ok(edits) if edits.is_empty() => return Ok(Ok(files)),
        Ok(edits) => files.insert(path.to_owned(), apply(&text, edits)),
        Err(why) => return Ok(Err(why)),
    };
    for file in place::sources_of(package)? {
        let line = |at: usize, text: &str| {
            let line = text[..at].matches('\n').count() + 1;
            format!("{}:{line}", project.shown(&file))
        };
        let Some((text, tokens)) = fs::read_to_string(&file).ok().and_then(|text| {
            let tokens = tokens::tokens(&text)?;
            Some((text, tokens))
        }) else {
            let text = files::read(&file)?;
            if text.contains("futures") || text.contains("try_nb") {
                return Ok(Err(format!("{} can't be read", project.shown(&file))));
            }
            continue;
        };
        let edits = match code::edits(&tokens) {
            Ok(edits) if edits.is_empty() => continue,
            Ok(edits) => edits,
            Err((range, why)) => return Ok(Err(format!("{}: {why}", line(range.start, &text)))),
        };
        let at = line(edits[0].0.start, &text);
        if !place::may_edit(project, &file) {
            return Ok(Err(format!("{at}: a link leads to this file")));
        }
        if !compiled.contains(&file.canonicalize()?) {
            return Ok(Err(format!("{at}: this file is not compiled here")));
        }
        files.insert(file, apply(&text, edits));
    }
    // Files elsewhere, as by `#[path]` or `include!`, may belong to other packages, too.
    let folder = path.with_file_name("").canonicalize()?;
    let others = compiled
        .iter()
        .filter(|file| !place::is_in_a_package(project, file) && !file.starts_with(&folder));
    for file in others {
        let names = tokens::tokens(&files::read(file)?)
            .is_none_or(|tokens| code::edits(&tokens).map_or(true, |edits| !edits.is_empty()));
        if names {
            return Ok(Err(format!("{} is in no package", project.shown(file))));
        }
    }
    Ok(Ok(files))
}
