//! Orders files so that callers come before what they call.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::project::Project;
use crate::sources::Sources;

/// A module: the folder of its package's sources, and its path within.
type Module = (PathBuf, Vec<String>);

/// The files as reports name them, callers first, by which file names the modules of which; in a
/// circle, what is nearer to the root of its package comes first.
pub fn first(project: &Project, sources: &Sources) -> Vec<String> {
    Graph::of(project, sources).order()
}

struct Graph<'a> {
    files: BTreeMap<Module, (&'a str, &'a BTreeSet<Vec<String>>)>,
    /// The folders of the local libraries' sources, by the name of the crate.
    crates: BTreeMap<String, PathBuf>,
}

impl<'a> Graph<'a> {
    fn of(project: &Project, sources: &'a Sources) -> Self {
        let mut folders = BTreeSet::new();
        let mut crates = BTreeMap::new();
        for target in project.local_packages().flat_map(|p| &p.targets) {
            let folder = target.src_path.parent().map(|f| f.as_std_path().to_owned());
            let folder = folder.unwrap_or_default();
            if target.is_lib() {
                crates.insert(target.name.replace('-', "_"), folder.clone());
            }
            folders.insert(folder);
        }
        let module = |path: &Path| {
            let folder = path.ancestors().skip(1).find(|f| folders.contains(*f))?;
            let mut module = crate::mark::modules(path.strip_prefix(folder).ok()?);
            if path.ends_with("main.rs") && module.is_empty() {
                module.push("main".to_owned());
            }
            Some((folder.to_owned(), module))
        };
        let files = sources.iter().filter_map(|(path, source)| {
            let of = (source.shown.as_str(), &source.outline.paths);
            Some((module(path)?, of))
        });
        Self {
            files: files.collect(),
            crates,
        }
    }

    fn order(&self) -> Vec<String> {
        // Programs come before the libraries that they name.
        let mut roots: Vec<&Module> = self.files.keys().collect();
        roots.sort_by_key(|module| (!is_main(&module.1), module.1.len()));
        let (mut seen, mut order) = (BTreeSet::new(), Vec::new());
        for root in roots {
            let mut finished = Vec::new();
            self.visit(root, &mut seen, &mut finished);
            order.extend(finished.into_iter().rev());
        }
        order
    }

    /// Adds a module behind all that it names.
    fn visit(&self, module: &Module, seen: &mut BTreeSet<Module>, finished: &mut Vec<String>) {
        if !seen.insert(module.clone()) {
            return;
        }
        let (file, paths) = self.files[module];
        for path in paths {
            if let Some(named) = self.resolve(module, path) {
                self.visit(&named, seen, finished);
            }
        }
        finished.push(file.to_owned());
    }

    /// The module that a path leads to: its longest part that is one.
    fn resolve(&self, (folder, module): &Module, path: &[String]) -> Option<Module> {
        let mut base = if is_main(module) {
            vec![]
        } else {
            module.clone()
        };
        let mut rest = path;
        let mut is_relative = true;
        let mut folder = folder.clone();
        while let Some((first, tail)) = rest.split_first() {
            match first.as_str() {
                "crate" => base.clear(),
                "self" => {}
                "super" => {
                    base.pop();
                }
                name => {
                    if let Some(other) = self.crates.get(name).filter(|_| rest.len() == path.len())
                    {
                        (folder, base) = (other.clone(), vec![]);
                    } else {
                        is_relative = rest.len() == path.len();
                        break;
                    }
                }
            }
            rest = tail;
        }
        let longest = |base: &[String]| {
            (1..=rest.len()).rev().find_map(|length| {
                let module = (folder.clone(), [base, &rest[..length]].concat());
                self.files.contains_key(&module).then_some(module)
            })
        };
        // Edition 2015 begins at the root.
        longest(&base).or_else(|| is_relative.then(|| longest(&[])).flatten())
    }
}

/// Whether a module is the root of a program beside a library's.
fn is_main(module: &[String]) -> bool {
    module == ["main"]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(paths: &[&str]) -> BTreeSet<Vec<String>> {
        let path = |path: &&str| path.split("::").map(str::to_owned).collect();
        paths.iter().map(path).collect()
    }

    #[test]
    fn callers_come_before_what_they_call() {
        let files = [
            (
                "main",
                "main.rs",
                names(&["cli", "the_lib::engine::Engine"]),
            ),
            ("", "lib.rs", names(&["engine", "wire"])),
            // A circle, of which `engine` is nearer to the root.
            (
                "engine",
                "engine.rs",
                names(&["crate::wire::Frame", "self::timer::Timer"]),
            ),
            (
                "engine::timer",
                "timer.rs",
                names(&["super::Engine", "wire::Frame"]),
            ),
            ("wire", "wire.rs", names(&["std::io"])),
            ("cli", "cli.rs", names(&[])),
        ];
        let folder = PathBuf::from("src");
        let module = |path: &str| {
            path.split("::")
                .filter(|p| !p.is_empty())
                .map(str::to_owned)
                .collect()
        };
        let graph = Graph {
            files: files
                .iter()
                .map(|(path, file, names)| ((folder.clone(), module(path)), (*file, names)))
                .collect(),
            crates: [("the_lib".to_owned(), folder.clone())].into(),
        };
        let order = graph.order();
        let at = |file: &str| order.iter().position(|f| f == file).unwrap();
        assert_eq!((order.len(), at("main.rs")), (6, 0));
        for (caller, called) in [
            ("main.rs", "cli.rs"),
            ("engine.rs", "timer.rs"),
            ("timer.rs", "wire.rs"),
        ] {
            assert!(at(caller) < at(called), "{caller}, {called}: {order:?}");
        }
    }
}
