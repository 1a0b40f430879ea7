//! Figures in the project's documents, generated from the newest results that have them.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::PathBuf;

use super::page::range;
use super::results::{Figure, Results};
use super::standing::Standing;
use super::targets::score;
use super::{headline, markers, number};
use crate::peers::find::project;
use crate::rigs::{outcomes_of, Outcome};

/// A comparison that a document shows: what is compared, rig, figures in the order of preference, and rivals.
struct Shown {
    title: &'static str,
    rig: &'static str,
    figures: &'static [&'static str],
    rivals: &'static [&'static str],
    /// Directly or through which proxy.
    way: &'static str,
}

const fn shown(
    title: &'static str,
    rig: &'static str,
    figures: &'static [&'static str],
    rivals: &'static [&'static str],
    way: &'static str,
) -> Shown {
    Shown {
        title,
        rig,
        figures,
        rivals,
        way,
    }
}

/// On the page of results: wins and losses.
const ALL: &[Shown] = &[
    shown(
        "CPU of a small request",
        "relay",
        &["cpu-60", "cpu"],
        &["r0", "tokio", "haproxy", "r5", "epoll"],
        "direct",
    ),
    shown(
        "CPU of a request, 50 clients",
        "tunnel",
        &["cpu-kept-c50"],
        &["r5", "socat"],
        "squid",
    ),
    shown(
        "CPU of a request, 5 clients",
        "tunnel",
        &["cpu-kept-c5"],
        &["r5"],
        "squid",
    ),
    shown(
        "New tunnels a second",
        "relay",
        &["tunnels"],
        &["tokio"],
        "direct",
    ),
    shown(
        "CPU of a bulk download",
        "relay",
        &["bulk-download-cpu"],
        &["tokio", "tokio-256k", "haproxy-splice"],
        "direct",
    ),
    shown(
        "Ping beside four bulk downloads, p50",
        "relay",
        &["ping-p50"],
        &["tokio", "r5"],
        "direct",
    ),
    shown(
        "Ping beside four bulk downloads, p99",
        "relay",
        &["ping-p99"],
        &["tokio", "r5"],
        "direct",
    ),
    shown(
        "Memory of an idle tunnel",
        "growth",
        &["memory-10000"],
        &["tokio", "r5"],
        "direct",
    ),
];

/// Those of them that the README has: title and rival.
const README: &[(&str, &str)] = &[
    ("CPU of a small request", "tokio"),
    ("CPU of a small request", "haproxy"),
    ("New tunnels a second", "tokio"),
    ("Ping beside four bulk downloads, p99", "tokio"),
    ("Memory of an idle tunnel", "tokio"),
];

/// The documents, with the name and the body of each generated part.
fn parts(runs: &Runs) -> Vec<(&'static str, &'static str, String)> {
    vec![
        (
            "README.md",
            "figures",
            comparisons(runs, |title, rival| README.contains(&(title, rival))),
        ),
        ("benches/METHODOLOGY.md", "pairs", pairs(runs)),
        (
            "benches/results/README.md",
            "figures",
            comparisons(runs, |_, _| true),
        ),
        ("benches/results/README.md", "scores", scores(runs)),
    ]
}

/// Writes the generated parts of each document or, with `check`, only compares them.
///
/// # Errors
/// Names a document that differs, or a marker that is missing.
pub fn update(check: bool) -> io::Result<()> {
    let project = project()?;
    for (document, name, body) in parts(&Runs::read()?) {
        let path = project.join(document);
        let named = |e: io::Error| io::Error::other(format!("{document}: {e}"));
        let text = fs::read_to_string(&path).map_err(named)?;
        let new = markers::fill(&text, name, &format!("\n{body}\n")).map_err(named)?;
        if check && new != text {
            return Err(io::Error::other(format!(
                "{document}: the part {name:?} differs from the results; write it with \
                 `cargo run --manifest-path benches/Cargo.toml -- documents`"
            )));
        }
        if new != text {
            fs::write(&path, new)?;
        }
    }
    Ok(())
}

/// Every stored run, the newest first, with its folder.
struct Runs(Vec<(String, Outcome)>);

impl Runs {
    /// From folders that are named by a day. One with a soak alone has no page.
    fn read() -> io::Result<Runs> {
        let root = project()?.join("benches/results");
        let entries = fs::read_dir(root)?.filter_map(|entry| Some(entry.ok()?.path()));
        let is_day = |name: &str| name.len() == 10 && name.starts_with("20");
        let name = |path: &PathBuf| Some(path.file_name()?.to_str()?.to_string());
        let mut folders: Vec<(String, PathBuf)> = entries
            .filter_map(|path| Some((name(&path)?, path)))
            .filter(|(name, folder)| is_day(name) && folder.join("report.html").exists())
            .collect();
        folders.sort();
        let mut runs = Vec::new();
        for (name, folder) in folders.into_iter().rev() {
            runs.extend(
                outcomes_of(&folder)?
                    .into_iter()
                    .map(|run| (name.clone(), run)),
            );
        }
        Ok(Runs(runs))
    }

    /// The newest whole run that compares ptunnel with this rival, or the newest narrowed one where no whole one does.
    fn comparing(&self, shown: &Shown, rival: &str) -> Option<(&Results, Figure)> {
        let all = || self.0.iter().map(|(_, o)| &o.results);
        let whole = all().filter(|r| r.left_out.is_empty());
        let narrowed = all().filter(|r| !r.left_out.is_empty());
        whole
            .chain(narrowed)
            .filter(|r| r.rig == shown.rig && !r.quick)
            .find_map(|results| {
                let has = |name: &&str| results.ratio(name, "ptunnel", rival).is_some();
                let name = shown.figures.iter().find(|name| has(name))?;
                let figure = results.figures.iter().find(|f| f.name == *name)?;
                Some((results, *figure))
            })
    }
}

/// The table of those comparisons of which `has` says so, by title and rival.
fn comparisons(runs: &Runs, has: impl Fn(&str, &str) -> bool) -> String {
    let mut text = String::from(
        "| | ptunnel | rival | its value | median ptunnel ÷ it (95 % interval) | verdict | through | commit |\n|--|--:|--|--:|--|--|--|--|\n",
    );
    for shown in ALL {
        for rival in shown.rivals.iter().filter(|rival| has(shown.title, rival)) {
            let Some((results, figure)) = runs.comparing(shown, rival) else {
                continue;
            };
            let value = |name| results.spread(figure.name, name).map_or(0.0, |s| s.median);
            let Some(ratio) = results.ratio(figure.name, "ptunnel", rival) else {
                continue;
            };
            let word = match Standing::of(ratio, results.noise(figure.name), figure.less_is_better)
            {
                Standing::Better => "better",
                Standing::Worse => "**worse**",
                Standing::Level => "level",
                Standing::Noise => "within the noise",
            };
            let interval = match ratio.count {
                1 => "one sample".to_string(),
                _ => range(ratio.low, ratio.high),
            };
            let _ = writeln!(
                text,
                "| {} | {} {} | {} | {} | {} ({interval}) | {word} | {} | {} |",
                shown.title,
                number(value("ptunnel")),
                figure.unit,
                results.peer(rival).map_or(String::new(), |p| p.label()),
                number(value(rival)),
                number(ratio.median),
                shown.way,
                results.short_commit()
            );
        }
    }
    text
}

/// How many pairs the headline's comparisons have, and need.
fn pairs(runs: &Runs) -> String {
    let mut text = String::from("| ptunnel beside | figure | pairs in the newest run with it | pairs that resolve 3 % | commit |\n|--|--|--:|--:|--|\n");
    for name in headline::RIVALS {
        let found = runs.0.iter().find_map(|(_, outcome)| {
            let mut pairs = headline::pairs(&outcome.results).into_iter();
            let (_, taken, needed) = pairs.find(|(rival, ..)| rival == name)?;
            let figure = headline::figure(&outcome.results)?.name;
            Some((figure, taken, needed, outcome.results.short_commit()))
        });
        if let Some((figure, taken, needed, commit)) = found {
            let _ = writeln!(
                text,
                "| {name} | `{figure}` | {taken} | {needed} | {commit} |"
            );
        }
    }
    text
}

/// What each stored run met, the newest first.
fn scores(runs: &Runs) -> String {
    let mut text = String::from("| day | rig | commit | |\n|--|--|--|--|\n");
    for (folder, Outcome { results, lines }) in &runs.0 {
        let _ = writeln!(
            text,
            "| {folder} | [{}]({folder}/report.html) | {} | {} |",
            results.rig,
            results.short_commit(),
            score(lines)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rigs::RIGS;

    #[test]
    fn the_documents_say_what_the_results_say() {
        update(true).unwrap();
    }

    #[test]
    fn each_comparison_is_of_a_figure_and_a_peer_that_there_are() {
        let known = |title, rival| {
            let mut same = ALL.iter().filter(|shown| shown.title == title);
            same.any(|shown| shown.rivals.contains(&rival))
        };
        assert!(README.iter().all(|(title, rival)| known(*title, *rival)));
        for shown in ALL {
            let rig = RIGS.iter().find(|rig| rig.name == shown.rig).unwrap();
            assert!(
                shown
                    .figures
                    .iter()
                    .any(|name| rig.figures.iter().any(|f| f.name == *name)),
                "{}",
                shown.title
            );
            let peers = crate::peers::spec::shipped(shown.rig).unwrap();
            assert!(
                shown
                    .rivals
                    .iter()
                    .all(|name| peers.iter().any(|p| p.name == *name)),
                "{}",
                shown.title
            );
        }
    }
}
