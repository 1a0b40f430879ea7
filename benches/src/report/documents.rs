//! Figures in the project's documents, generated from the newest results that have them, and the page of the newest run.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::again::any_of;
use super::judge::score;
use super::markers;
use super::number::{number, range};
use super::page::{self, PAGE, PLOT};
use super::standing::{noise, Standing};
use crate::measure::headline;
use crate::model::{Figure, Outcome, Results};
use crate::peers::find::project;

/// A comparison that the page of results shows, won or lost: through squid in the rig of that name, else directly.
struct Shown {
    title: &'static str,
    rig: &'static str,
    /// In the order of preference.
    figures: &'static [&'static str],
    rivals: &'static [&'static str],
    /// Those of the rivals that README has, too.
    readme: &'static [&'static str],
}

const ALL: &[Shown] = &[
    Shown {
        title: "CPU of a small request",
        rig: "relay",
        figures: &["cpu-60", "cpu"],
        rivals: &["r0", "tokio", "haproxy", "r5", "epoll"],
        readme: &["tokio", "haproxy"],
    },
    Shown {
        title: "CPU of a request, 50 clients",
        rig: "tunnel",
        figures: &["cpu-kept-c50"],
        rivals: &["r5", "socat"],
        readme: &[],
    },
    Shown {
        title: "CPU of a request, 5 clients",
        rig: "tunnel",
        figures: &["cpu-kept-c5"],
        rivals: &["r5"],
        readme: &[],
    },
    Shown {
        title: "New tunnels a second",
        rig: "relay",
        figures: &["tunnels"],
        rivals: &["tokio"],
        readme: &["tokio"],
    },
    Shown {
        title: "CPU of a bulk download",
        rig: "relay",
        figures: &["bulk-download-cpu"],
        rivals: &["tokio", "tokio-256k", "haproxy-splice"],
        readme: &[],
    },
    Shown {
        title: "Ping beside four bulk downloads, p50",
        rig: "relay",
        figures: &["ping-p50"],
        rivals: &["tokio", "r5"],
        readme: &[],
    },
    Shown {
        title: "Ping beside four bulk downloads, p99",
        rig: "relay",
        figures: &["ping-p99"],
        rivals: &["tokio", "r5"],
        readme: &["tokio"],
    },
    Shown {
        title: "Memory of an idle tunnel",
        rig: "growth",
        figures: &["memory-10000"],
        rivals: &["tokio", "r5"],
        readme: &["tokio"],
    },
];

/// Writes the generated parts of each document and the newest run's page, and removes those of older runs; with `check`
/// only compares.
///
/// # Errors
/// Names a file that differs, or a marker that is missing.
pub fn update(check: bool) -> io::Result<()> {
    let project = project()?;
    let root = project.join("benches/results");
    let runs = Runs::read(&root)?;
    for (document, name, body) in parts(&runs) {
        let path = project.join(document);
        let named = |e: io::Error| io::Error::other(format!("{document}: {e}"));
        let text = fs::read_to_string(&path).map_err(named)?;
        let new = markers::fill(&text, name, &format!("\n{body}\n")).map_err(named)?;
        put(&path, Some(&new), check)?;
    }
    for (nth, (day, outcomes)) in runs.0.iter().enumerate() {
        let is_newest = nth == 0;
        let page = is_newest.then(|| page::render(outcomes));
        put(&root.join(day).join(PAGE), page.as_deref(), check)?;
        let plot = page::plot(outcomes).filter(|_| is_newest);
        put(&root.join(day).join(PLOT), plot.as_deref(), check)?;
    }
    Ok(())
}

/// Gives the file this text, or removes it where there is none to have.
fn put(path: &Path, text: Option<&str>, check: bool) -> io::Result<()> {
    if fs::read_to_string(path).ok().as_deref() == text {
        return Ok(());
    }
    match text {
        _ if check => Err(io::Error::other(format!(
            "{} differs from the results; write it with `cargo run --manifest-path benches/Cargo.toml -- documents`",
            path.display()
        ))),
        Some(text) => fs::write(path, text),
        None => fs::remove_file(path),
    }
}

/// The documents, with the name and the body of each generated part.
fn parts(runs: &Runs) -> Vec<(&'static str, &'static str, String)> {
    let results = "benches/results/README.md";
    let figures = |all| comparisons(runs, all);
    vec![
        ("README.md", "figures", figures(|shown| shown.readme)),
        ("benches/METHODOLOGY.md", "pairs", pairs(runs)),
        (results, "plot", plot(runs)),
        (results, "figures", figures(|shown| shown.rivals)),
        (results, "scores", scores(runs)),
    ]
}

/// Every stored run, the newest day first.
struct Runs(Vec<(String, Vec<Outcome>)>);

impl Runs {
    /// From folders that are named by a day; one with a soak alone has no results.
    fn read(root: &Path) -> io::Result<Runs> {
        let mut runs = Vec::new();
        for entry in fs::read_dir(root)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.len() == 10 && name.starts_with("20") {
                let outcomes = any_of(&root.join(&name))?;
                runs.push((name, outcomes));
            }
        }
        runs.retain(|(_, outcomes)| !outcomes.is_empty());
        runs.sort_by(|(one, _), (other, _)| other.cmp(one));
        Ok(Runs(runs))
    }

    fn results(&self) -> impl Iterator<Item = &Results> {
        let outcomes = self.0.iter().flat_map(|(_, outcomes)| outcomes);
        outcomes.map(|outcome| &outcome.results)
    }

    /// The newest whole run that compares ptunnel with this rival, or the newest narrowed one where no whole one does.
    fn comparing(&self, shown: &Shown, rival: &str) -> Option<(&Results, Figure)> {
        let whole = self.results().filter(|r| r.left_out.is_empty());
        let narrowed = self.results().filter(|r| !r.left_out.is_empty());
        let of_rig = |r: &&Results| r.rig == shown.rig && !r.quick;
        whole.chain(narrowed).filter(of_rig).find_map(|results| {
            let has = |name: &&&str| results.ratio(name, "ptunnel", rival).is_some();
            let name = shown.figures.iter().find(has)?;
            Some((results, *results.figure(name)?))
        })
    }
}

/// The table of the comparisons with those rivals.
fn comparisons(runs: &Runs, rivals: fn(&Shown) -> &'static [&'static str]) -> String {
    let mut text = String::from(
        "| | ptunnel | rival | its value | median ptunnel ÷ it (95 % interval) | verdict | through | commit |\n|--|--:|--|--:|--|--|--|--|\n",
    );
    for shown in ALL {
        for rival in rivals(shown) {
            text.extend(comparison(runs, shown, rival));
        }
    }
    text
}

fn comparison(runs: &Runs, shown: &Shown, rival: &str) -> Option<String> {
    let (results, figure) = runs.comparing(shown, rival)?;
    let value = |name| {
        results
            .median(figure.name, name)
            .map_or(String::new(), number)
    };
    let ratio = results.ratio(figure.name, "ptunnel", rival)?;
    let noise = noise(results, figure.name);
    let word = match Standing::of(ratio, noise, figure.less_is_better) {
        Standing::Better => "better",
        Standing::Worse => "**worse**",
        Standing::Level => "level",
        Standing::Noise => "within the noise",
    };
    let interval = match ratio.count {
        1 => "one sample".to_string(),
        _ => range(ratio.low, ratio.high),
    };
    let way = match shown.rig {
        "tunnel" => "squid",
        _ => "direct",
    };
    Some(format!(
        "| {} | {} {} | {} | {} | {} ({interval}) | {word} | {way} | {} |\n",
        shown.title,
        value("ptunnel"),
        figure.unit,
        results.peer(rival)?.label(),
        value(rival),
        number(ratio.median),
        results.short_commit()
    ))
}

/// How many pairs the headline's comparisons have, and need.
fn pairs(runs: &Runs) -> String {
    let mut text = String::from("| ptunnel beside | figure | pairs in the newest run with it | pairs that resolve 3 % | commit |\n|--|--|--:|--:|--|\n");
    for name in headline::RIVALS {
        let found = runs.results().find_map(|results| {
            let mut pairs = headline::pairs(results).into_iter();
            let (_, taken, needed) = pairs.find(|(rival, ..)| rival == name)?;
            let figure = headline::figure(results)?.name;
            Some((figure, taken, needed, results.short_commit()))
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

/// The newest run's first plot.
fn plot(runs: &Runs) -> String {
    let newest = runs
        .0
        .first()
        .filter(|(_, outcomes)| page::plot(outcomes).is_some());
    newest.map_or(String::new(), |(day, _)| {
        format!("![CPU of a small request at equal load: the ratio of each peer to ptunnel, with its interval]({day}/{PLOT})\n")
    })
}

/// What each stored run met, the newest first. Only the newest day has a page.
fn scores(runs: &Runs) -> String {
    let mut text = String::from("| day | rig | commit | |\n|--|--|--|--|\n");
    for (nth, (day, outcomes)) in runs.0.iter().enumerate() {
        for Outcome { results, lines } in outcomes {
            let rig = results.rig;
            let path = match nth {
                0 => PathBuf::from(PAGE),
                _ => Path::new(rig).join("results.json"),
            };
            let (path, commit) = (path.display(), results.short_commit());
            let _ = writeln!(
                text,
                "| {day} | [{rig}]({day}/{path}) | {commit} | {} |",
                score(lines)
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rigs;

    #[test]
    fn the_documents_and_the_newest_page_say_what_the_results_say() {
        update(true).unwrap();
    }

    #[test]
    fn each_comparison_is_of_a_figure_and_a_peer_that_there_are() {
        for shown in ALL {
            let rig = rigs::named(shown.rig).unwrap();
            let is_figure = |name: &&str| rig.figures().any(|f| f.name == *name);
            assert!(shown.figures.iter().all(is_figure), "{}", shown.title);
            let peers = rigs::shipped(shown.rig);
            let is_peer = |name: &&str| peers.iter().any(|p| p.name == *name);
            assert!(shown.rivals.iter().all(is_peer), "{}", shown.title);
            let is_shown = |name| shown.rivals.contains(name);
            assert!(shown.readme.iter().all(is_shown), "{}", shown.title);
        }
    }
}
