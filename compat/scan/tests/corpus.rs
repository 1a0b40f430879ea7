//! Scans tests/corpus, whose lines say behind `//~` which rows the scan has to report there, and
//! by a `!` which of them hang.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{scan, snapshot, terminal};

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus");

/// A use: file, line, row and whether it hangs, and how often.
type Uses = BTreeMap<(String, u64, u64, bool), usize>;

fn expected() -> Uses {
    let mut uses = Uses::new();
    for entry in fs::read_dir(Path::new(CORPUS).join("src")).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("src/{}", path.file_name().unwrap().to_str().unwrap());
        for (number, line) in (1..).zip(fs::read_to_string(&path).unwrap().lines()) {
            let rows = line.split_once("//~").map_or("", |(_, rows)| rows);
            for row in rows.split_whitespace() {
                let (row, hangs) = row
                    .strip_suffix('!')
                    .map_or((row, false), |row| (row, true));
                let key = (name.clone(), number, row.parse().unwrap(), hangs);
                *uses.entry(key).or_default() += 1;
            }
        }
    }
    uses
}

/// The uses of `a` that `b` lacks.
fn without<'a>(a: &'a Uses, b: &'a Uses) -> Vec<&'a (String, u64, u64, bool)> {
    let missing = |(key, count): (&'a _, &usize)| {
        let other = b.get(key).copied().unwrap_or_default();
        std::iter::repeat_n(key, count.saturating_sub(other))
    };
    a.iter().flat_map(missing).collect()
}

#[test]
fn the_scan_finds_what_the_corpus_says_and_touches_nothing() {
    let before = snapshot(Path::new(CORPUS));
    let sarif = Path::new(env!("CARGO_TARGET_TMPDIR")).join("corpus.sarif");
    let page = Path::new(env!("CARGO_TARGET_TMPDIR")).join("corpus.html");
    let (log, html) = (sarif.to_str().unwrap(), page.to_str().unwrap());
    let report = scan(
        Path::new(CORPUS),
        &["--tests", "--sarif", log, "--html", html],
    );
    assert_eq!(snapshot(Path::new(CORPUS)), before);

    check_sarif(&fs::read_to_string(sarif).unwrap(), &report);
    check_lock(&report["lock"]);
    check_plan(&report);
    let page = fs::read_to_string(page).unwrap();
    let written = terminal(Path::new(CORPUS), &["--tests"]);
    for form in [&page, &written] {
        check_form(form, &report);
    }

    let mut found = Uses::new();
    for finding in report["findings"].as_array().unwrap() {
        assert_eq!(finding["sure"], true);
        let file = finding["file"].as_str().unwrap().to_owned();
        let key = (
            file,
            finding["line"].as_u64().unwrap(),
            finding["row"].as_u64().unwrap(),
            finding["severity"] == "hangs",
        );
        *found.entry(key).or_default() += 1;
    }
    let expected = expected();
    let (missed, wrong) = (without(&expected, &found), without(&found, &expected));
    let (all, reported): (usize, usize) = (expected.values().sum(), found.values().sum());
    println!(
        "{all} uses of {} rows: precision {:.3}, recall {:.3}",
        expected
            .keys()
            .map(|(_, _, row, _)| row)
            .collect::<BTreeSet<_>>()
            .len(),
        1.0 - wrong.len() as f64 / reported as f64,
        1.0 - missed.len() as f64 / all as f64,
    );
    assert!(
        missed.is_empty() && wrong.is_empty(),
        "missed: {missed:#?}\nwrong: {wrong:#?}"
    );
}

/// Each finding is a result of a rule that the log declares.
fn check_sarif(log: &str, report: &Value) {
    let log: Value = serde_json::from_str(log).unwrap();
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), report["findings"].as_array().unwrap().len());
    for (result, finding) in results.iter().zip(report["findings"].as_array().unwrap()) {
        assert!(
            rules.iter().any(|rule| rule["id"] == result["ruleId"]),
            "{result}"
        );
        let place = &result["locations"][0]["physicalLocation"];
        // The rest is the way from the root of the repository.
        let uri = place["artifactLocation"]["uri"].as_str().unwrap();
        let file = finding["file"].as_str().unwrap();
        assert_eq!(uri, format!("compat/scan/tests/corpus/{file}"));
        assert_eq!(place["region"]["startLine"], finding["line"]);
        assert_eq!(result["level"] == "error", finding["severity"] == "hangs");
    }
}

/// The corpus as a project to port: its seams are in the files that are named for them.
fn check_plan(report: &Value) {
    let (size, seams) = (&report["size"], &report["seams"]);
    let count = |value: &Value| value.as_u64().unwrap();
    for share in ["files", "functions", "lines"] {
        let (touch, all) = (count(&size[share]["touch"]), count(&size[share]["all"]));
        assert!(0 < touch && touch < all, "{share}: {touch} of {all}");
    }
    let machines = seams["machines"].as_array().unwrap();
    let sources = fs::read_to_string(Path::new(CORPUS).join("src/machines.rs")).unwrap();
    let written = sources.lines().filter(|line| {
        ["Future for", "Stream for", "Sink for"]
            .iter()
            .any(|of| line.starts_with("impl") && line.contains(of))
    });
    let here = machines
        .iter()
        .filter(|m| m["place"]["file"] == "src/machines.rs");
    assert_eq!(here.count(), written.count());
    let files = |kind: &str| -> BTreeSet<&str> {
        let places = seams[kind].as_array().unwrap().iter();
        places
            .map(|place| place["file"].as_str().unwrap())
            .collect()
    };
    assert!(files("cores").contains("src/executors.rs"));
    assert!(files("spawns").contains("src/executors.rs"));
    assert!(files("sockets").contains("src/io.rs"));
    assert!(files("timers").contains("src/executors.rs"));

    let steps = report["order"].as_array().unwrap();
    let numbers: Vec<u64> = steps.iter().map(|step| count(&step["number"])).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5]);
    let patch = steps[1]["tasks"].to_string();
    assert!(
        patch.contains("tokio-core = {") && patch.contains("tokio-io --precise 0.1.13"),
        "{patch}"
    );
    let days = &report["effort"]["days_to_plan"];
    let (low, high) = (days[0].as_f64().unwrap(), days[1].as_f64().unwrap());
    assert!(0.0 < low && low * 3.0 <= high + 1e-9, "{low} to {high}");
}

/// A form of the report has the seams, steps and tests of the JSON.
fn check_form(form: &str, report: &Value) {
    let titles = report["order"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| &step["title"]);
    let tests = report["harness"]
        .as_array()
        .unwrap()
        .iter()
        .map(|test| &test["what"]);
    for text in titles.chain(tests) {
        let text = text.as_str().unwrap().split(['`', '\'']).next().unwrap();
        assert!(form.contains(text), "{text}");
    }
    let in_test = |f: &&Value| f["in_test"] == true;
    assert!(report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .any(|f| in_test(&f)));
    assert!(form.contains(" (in a test)"));
    let machine = report["seams"]["machines"][0]["name"].as_str().unwrap();
    assert!(form.contains(&format!("for {machine}: ")), "{machine}");
}

/// tokio-core 0.1.12 and what is built on it.
fn check_lock(lock: &Value) {
    assert_eq!(
        lock["reactor"],
        "tokio-core's own, on the thread of the Core"
    );
    let advisories = lock["advisories"].as_array().unwrap();
    assert!(
        advisories.contains(&Value::from("tokio-io 0.1.5: RUSTSEC-2026-0058")),
        "{advisories:?}"
    );
    let holders = lock["holders"].as_array().unwrap();
    let holder = |name: &str| {
        let named = |l: &&Value| l["package"].as_str().unwrap().starts_with(name);
        let found = holders.iter().find(named);
        found.unwrap_or_else(|| panic!("{name} is missing"))
    };
    let proto = holder("tokio-proto");
    assert_eq!(proto["reach"], "owns-core");
    assert_eq!(
        proto["through"],
        serde_json::json!(["corpus 0.0.0", "tokio-proto 0.1.1"])
    );
    assert_eq!(proto["successor"]["name"], "tower");
    assert_eq!(holder("tokio-signal")["reach"], "tokio-core");
    assert_eq!(holder("futures-cpupool")["reach"], "futures");
    let packages = lock["packages"].as_array().unwrap();
    let proto = packages
        .iter()
        .find(|old| old["package"] == "tokio-proto 0.1.1")
        .unwrap();
    assert_eq!(proto["used_by"], serde_json::json!(["corpus 0.0.0"]));
}

#[test]
fn the_corpus_has_each_row_of_the_table() {
    let table = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/rows.toml")).unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("row = "));
    let rows: BTreeSet<u64> = rows.map(|row| row.parse().unwrap()).collect();
    let shown: BTreeSet<u64> = expected().into_keys().map(|(_, _, row, _)| row).collect();
    assert_eq!(rows, shown);
}
