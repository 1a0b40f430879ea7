//! Whether a project needs `--harden`: MIGRATION.md, section 7.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, Result};
use cargo_metadata::Package;
use proc_macro2::Span;
use serde::Serialize;
use syn::visit::{self, Visit};
use toml_edit::{DocumentMut, Item};

use crate::harden::{self, Handles};
use crate::project::Project;
use crate::toolchain::Toolchain;
use crate::{files, parse, shape};

/// What futures 0.1's task handles do in the builds of a project.
#[derive(Debug, Default, Serialize)]
pub struct Soundness {
    /// Whether `--harden` is needed and why, with the compiler and the profiles that optimise.
    pub verdict: String,
    /// Where the project, and then its dependencies, implement `Notify` or make handles of an `Arc`.
    pub signs: Vec<String>,
}

impl Soundness {
    pub fn of(project: &Project, toolchain: &Toolchain) -> Result<Self> {
        let package = harden::futures(project)?;
        let folder = package.manifest_path.parent().context("no folder")?;
        let futures = format!("futures {}", package.version);
        let verdict = match Handles::of(folder.as_std_path()) {
            Ok(Handles::Sound) => Some(format!("{futures} is hardened")),
            Ok(Handles::Other) => Some(format!("{futures} makes no task handle of an Arc")),
            Ok(Handles::Unsound) => None,
            Err(error) => Some(format!("unknown: {error:#}")),
        };
        if let Some(verdict) = verdict {
            return Ok(Self {
                verdict,
                signs: Vec::new(),
            });
        }
        let root = project.metadata.workspace_root.as_std_path();
        let profiles = optimised(&files::read(&root.join("Cargo.toml"))?);
        let signs_of = |packages: &mut dyn Iterator<Item = &Package>| {
            let signs = packages.map(|package| signs(package, project));
            Ok::<_, anyhow::Error>(signs.collect::<Result<Vec<_>>>()?.concat())
        };
        let own = signs_of(&mut project.local_packages())?;
        let others = signs_of(&mut users(project, package))?;

        let (major, minor) = toolchain.version(root)?;
        let found = if profiles.is_empty() {
            "not needed: no profile of Cargo.toml optimises"
        } else if !own.is_empty() {
            "needed: the project's own Notify may lose what it writes"
        } else if !others.is_empty() {
            "needed: the Notify of a dependency may lose what it writes"
        } else {
            "advised: futures' own wait(), Shared and CpuPool hold an Arc"
        };
        let verdict = format!(
            "--harden is {found}; {futures} makes task handles of an Arc in an unsound way, and rustc {major}.{minor} may miscompile them where it optimises{}",
            profiles.iter().map(|profile| format!("; {profile}")).collect::<String>()
        );
        Ok(Self {
            verdict,
            signs: [own, others].concat(),
        })
    }

    /// The soundness as a part of the report for a terminal.
    pub fn text(&self) -> String {
        let mut text = format!("soundness\n  {}\n", self.verdict);
        for sign in &self.signs {
            let _ = writeln!(text, "  {sign}");
        }
        text
    }
}

/// The packages of a registry that depend on futures directly.
fn users<'a>(project: &'a Project, futures: &'a Package) -> impl Iterator<Item = &'a Package> {
    let nodes = project.metadata.resolve.iter().flat_map(|r| &r.nodes);
    nodes
        .filter(|node| node.deps.iter().any(|dep| dep.pkg == futures.id))
        .map(|node| &project.metadata[&node.id])
        .filter(|package| package.source.is_some())
}

/// A line for each profile of a manifest that optimises.
fn optimised(manifest: &str) -> Vec<String> {
    let manifest: DocumentMut = manifest.parse().unwrap_or_default();
    let profiles = manifest.get("profile").and_then(Item::as_table_like);
    let named = profiles
        .into_iter()
        .flat_map(|p| p.iter().map(|(name, _)| name));
    let names: BTreeSet<&str> = named.chain(["release"]).collect();
    let mut lines = Vec::new();
    for name in names {
        let Some(level) = setting(&manifest, name, "opt-level", 0) else {
            continue;
        };
        if level == "0" {
            continue;
        }
        let other = |key: &str| {
            setting(&manifest, name, key, 0).map_or(String::new(), |v| format!(", {key} {v}"))
        };
        let units = other("codegen-units");
        lines.push(format!(
            "profile {name}: opt-level {level}{units}{}",
            other("lto")
        ));
    }
    lines
}

/// A setting of a profile, or of the one that it inherits from.
fn setting(manifest: &DocumentMut, profile: &str, key: &str, depth: usize) -> Option<String> {
    let table = manifest.get("profile").and_then(|p| p.get(profile));
    let get = |key: &str| table.and_then(|t| t.get(key)).and_then(Item::as_value);
    let text = |value: &toml_edit::Value| {
        let text = value.as_str().map(str::to_owned);
        text.unwrap_or_else(|| value.to_string().trim().to_owned())
    };
    let inherited = match profile {
        "bench" => Some("release".to_owned()),
        "test" => Some("dev".to_owned()),
        _ => get("inherits").map(text),
    };
    get(key).map(text).or_else(|| match inherited {
        // A circle is cargo's to refuse.
        Some(parent) if depth < 8 => setting(manifest, &parent, key, depth + 1),
        _ if key == "opt-level" && profile == "release" => Some("3".to_owned()),
        _ => None,
    })
}

/// A line for each place in a package's code that implements `Notify` or makes a handle of one.
fn signs(package: &Package, project: &Project) -> Result<Vec<String>> {
    let mut signs = Vec::new();
    for file in files::sources(package)? {
        let source = files::read(&file)?;
        if !source.contains("otify") {
            continue;
        }
        if let Ok((_, syntax)) = parse::file(&source) {
            let mut finder = Finder::default();
            finder.visit_file(&syntax);
            let shown = shown(&file, package, project);
            signs.extend(
                finder
                    .0
                    .iter()
                    .map(|(line, what)| format!("{shown}:{line} {what}")),
            );
        }
    }
    Ok(signs)
}

fn shown(file: &Path, package: &Package, project: &Project) -> String {
    let folder = package.manifest_path.parent().map(|f| f.as_std_path());
    match folder.and_then(|folder| file.strip_prefix(folder).ok()) {
        Some(file) if package.source.is_some() => {
            format!("{} {}: {}", package.name, package.version, file.display())
        }
        _ => project.shown(file),
    }
}

#[derive(Default)]
struct Finder(BTreeSet<(usize, String)>);

impl Finder {
    fn add(&mut self, span: Span, what: impl Into<String>) {
        self.0.insert((shape::start(span).0, what.into()));
    }
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if let Some(last) = item
            .trait_
            .as_ref()
            .and_then(|(_, path, _)| path.segments.last())
        {
            if last.ident == "Notify" {
                self.add(last.ident.span(), "implements Notify");
            }
        }
        visit::visit_item_impl(self, item);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let name = call.method.to_string();
        if name.ends_with("_notify") && (name.starts_with("poll_") || name == "start_send_notify") {
            self.add(call.method.span(), format!("calls {name}"));
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<_> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        if let [.., of, name] = &names[..] {
            if of == "NotifyHandle" && name == "from" {
                self.add(path.segments[0].ident.span(), "calls NotifyHandle::from");
            }
        }
        visit::visit_path(self, path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profiles_that_optimise_are_found() {
        assert_eq!(optimised(""), ["profile release: opt-level 3"]);
        let manifest = "[profile.release]\nopt-level = 0\n[profile.dev]\nopt-level = 's'\n\
            [profile.ship]\ninherits = 'release'\nopt-level = 2\ncodegen-units = 1\nlto = true\n\
            [profile.test]\ndebug = 1";
        assert_eq!(
            optimised(manifest),
            [
                "profile dev: opt-level s",
                "profile ship: opt-level 2, codegen-units 1, lto true",
                "profile test: opt-level s",
            ]
        );
    }

    #[test]
    fn handles_of_an_arc_are_found() {
        let (_, file) = parse::file(
            "impl<T> executor::Notify for A<T> {}\n// impl Notify for B\nfn f() {\n    \
             spawn.poll_future_notify(&arc, 1);\n    NotifyHandle::from(arc);\n    task.notify();\n}",
        )
        .unwrap();
        let mut finder = Finder::default();
        finder.visit_file(&file);
        let found: Vec<_> = finder.0.iter().map(|(l, w)| format!("{l} {w}")).collect();
        assert_eq!(
            found,
            [
                "1 implements Notify",
                "4 calls poll_future_notify",
                "5 calls NotifyHandle::from"
            ]
        );
    }
}
