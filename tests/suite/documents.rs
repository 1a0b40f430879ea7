//! The documents and the tree: each path that a document names exists, each link leads to a heading,
//! and CONTRIBUTING names each module of the program that is a folder. MIGRATION's headings, tests and
//! diffs: `compat/guide/tests/guide.rs`.

use std::fs;
use std::path::Path;

use support::repository::root;

const DOCUMENTS: &[&str] = &[
    "CONTRIBUTING.md",
    "MIGRATION.md",
    "README.md",
    "SECURITY.md",
    "compat/README.md",
    "compat/adapters/README.md",
    "compat/ladder/README.md",
    "docs/architecture.md",
    "docs/comparison.md",
    "docs/guide.md",
    "docs/operating.md",
    "docs/reference.md",
    "docs/security.md",
];

#[test]
fn each_path_that_a_document_names_exists() {
    let root = root();
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    collect(root, "", &mut files, &mut folders);
    let mut missing = Vec::new();
    for document in DOCUMENTS {
        let text = fs::read_to_string(root.join(document)).unwrap();
        let folder = Path::new(document).parent().unwrap();
        let bases = [root.join(folder), root.to_path_buf()];
        for (number, line) in text.lines().enumerate() {
            for name in words(line).flat_map(alternatives) {
                let name = name.trim_start_matches("../");
                let first = name.split('/').next().unwrap();
                let exists = if name.contains('/') && folders.iter().any(|path| path == first) {
                    bases.iter().any(|base| base.join(name).exists())
                } else if name.ends_with(".rs") {
                    // Named without its folder: `half.rs`, `relay/half.rs`.
                    let end = format!("/{}", name);
                    files.iter().any(|path| path.ends_with(&end))
                } else {
                    true
                };
                if !exists {
                    missing.push(format!("{}:{}: {}", document, number + 1, name));
                }
            }
        }
    }
    assert!(missing.is_empty(), "{:#?}", missing);
}

#[test]
fn contributing_names_each_folder_of_the_source() {
    let root = root();
    let text = fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    let named: Vec<String> = text
        .lines()
        .flat_map(words)
        .flat_map(alternatives)
        .collect();
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    collect(root, "src/", &mut files, &mut folders);
    collect(root, "crates/", &mut files, &mut folders);
    // Other folders hold the tests of one file.
    folders.retain(|folder| root.join(folder).join("mod.rs").exists());
    folders.retain(|folder| !named.contains(folder));
    let unnamed = folders;
    assert!(unnamed.is_empty(), "{:?}", unnamed);
}

/// Links are resolved as on GitHub. An anchor of a source file is a line, which isn't checked.
#[test]
fn each_link_leads_to_a_file_and_a_heading() {
    let root = root();
    let (mut files, mut broken) = (Vec::new(), Vec::new());
    collect(root, "", &mut files, &mut Vec::new());
    for document in files.iter().filter(|file| file.ends_with(".md")) {
        let path = root.join(document);
        let text = fs::read_to_string(&path).unwrap();
        for link in links(&text) {
            let (file, anchor) = link.split_at(link.find('#').unwrap_or(link.len()));
            let target = match file {
                "" => path.clone(),
                _ => path.parent().unwrap().join(file),
            };
            let has_heading = || {
                let anchors = fs::read_to_string(&target).map(|text| anchors(&text));
                anchors.unwrap().contains(&anchor[1..].to_string())
            };
            let is_page = target
                .extension()
                .map_or(false, |extension| extension == "md");
            if !target.exists() || is_page && !anchor.is_empty() && !has_heading() {
                broken.push(format!("{}: {}", document, link));
            }
        }
    }
    assert!(broken.is_empty(), "{:#?}", broken);
}

/// The targets of links within the repository.
fn links(text: &str) -> Vec<&str> {
    let is_local = |link: &&str| !link.contains("://") && !link.starts_with("mailto:");
    prose(text)
        .flat_map(|line| line.split("](").skip(1))
        .map(|rest| rest.split(')').next().unwrap())
        .filter(is_local)
        .collect()
}

/// The names of a page's headings: a second heading with the same name has a number.
fn anchors(text: &str) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    for heading in prose(text).filter(|line| line.starts_with('#')) {
        let heading = heading.trim_start_matches('#').trim();
        let is_kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
        let name: String = heading.chars().filter(is_kept).collect();
        let name = name.to_lowercase().replace(' ', "-");
        let numbered = (1..).map(|number| format!("{}-{}", name, number));
        let mut names = Some(name.clone()).into_iter().chain(numbered);
        let free = names.find(|name| !anchors.contains(name));
        anchors.extend(free);
    }
    anchors
}

/// The lines outside of blocks of code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// Pushes the paths below `prefix`, relative to `root`, without what a build makes.
fn collect(root: &Path, prefix: &str, files: &mut Vec<String>, folders: &mut Vec<String>) {
    for entry in fs::read_dir(root.join(prefix)).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{}{}", prefix, entry.file_name().to_str().unwrap());
        if !entry.file_type().unwrap().is_dir() {
            files.push(path);
        } else if !path.ends_with("target") && path != ".git" {
            collect(root, &format!("{}/", path), files, folders);
            folders.push(path);
        }
    }
}

/// The parts of a line that can be paths: without quotes, brackets, punctuation, anchor and line.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let is_between = |c: char| c.is_whitespace() || "`()[]\"'|".contains(c);
    line.split(is_between)
        .map(|word| word.split(&['#', ':'][..]).next().unwrap())
        .map(|word| word.trim_end_matches(&['.', ',', ';', '/'][..]))
        .filter(|word| !word.contains(&['*', '<', '$', '…'][..]) && !word.contains("target/"))
}

/// `a/{b,c}.rs` as `a/b.rs` and `a/c.rs`.
fn alternatives(word: &str) -> Vec<String> {
    match (word.find('{'), word.find('}')) {
        (Some(open), Some(close)) if open < close => word[open + 1..close]
            .split(',')
            .map(|part| format!("{}{}{}", &word[..open], part, &word[close + 1..]))
            .collect(),
        _ => vec![word.to_string()],
    }
}
