//! The numbers in Prometheus's text format, under names by its conventions.

use std::fmt::{self, Write};
use std::fs;
use std::time::UNIX_EPOCH;

use super::registry::{Listener, Registry};
use crate::error::Cause;
use crate::observe::session::ENDS;
use crate::observe::stats::Totals;
use crate::text::seconds::Decimal;
use crate::upstream::ProxyHealth;

/// Everything there is.
pub(super) fn page(board: &Registry) -> String {
    let scene = board.scene();
    let listeners: Vec<(String, Totals)> = scene
        .listeners
        .iter()
        .map(|listener| (labels(listener), listener.tally.totals()))
        .collect();
    let (standings, are_listed) = (scene.standings(), scene.are_listed());
    let mut page = Page(String::with_capacity(8 * 1024));

    page.head("ptunnel_build_info", "gauge", "Which ptunnel this is.");
    let version = format!("version=\"{}\"", Label(env!("CARGO_PKG_VERSION")));
    page.sample("ptunnel_build_info", &version, 1);

    let mut of_listeners = |name, kind, help, value: &dyn Fn(&Totals) -> u64| {
        page.head(name, kind, help);
        for (labels, totals) in &listeners {
            page.sample(name, labels, value(totals));
        }
    };
    of_listeners(
        "ptunnel_clients",
        "gauge",
        "Clients that are connected now, with a tunnel or waiting for one.",
        &|totals| totals.clients,
    );
    of_listeners(
        "ptunnel_clients_left_total",
        "counter",
        "Clients that left before their tunnel was open.",
        &|totals| totals.left,
    );

    page.head(
        "ptunnel_carried_bytes_total",
        "counter",
        "Bytes carried to their end, from clients (upload) and to them (download).",
    );
    for (labels, totals) in &listeners {
        let traffic = totals.carried;
        for (direction, bytes) in &[("upload", traffic.upload), ("download", traffic.download)] {
            let labels = format!("{},direction=\"{}\"", labels, direction);
            page.sample("ptunnel_carried_bytes_total", &labels, bytes);
        }
    }

    page.head(
        "ptunnel_tunnel_open_seconds",
        "histogram",
        "From a client's arrival to its open tunnel.",
    );
    for (labels, totals) in &listeners {
        let bucket = "ptunnel_tunnel_open_seconds_bucket";
        for (bound, count) in totals.opening.cumulated() {
            page.sample(bucket, &format!("{},le=\"{}\"", labels, bound), count);
        }
        let count = totals.opening.count();
        page.sample(bucket, &format!("{},le=\"+Inf\"", labels), count);
        let sum = Decimal(totals.opening.sum);
        page.sample("ptunnel_tunnel_open_seconds_sum", labels, sum);
        page.sample("ptunnel_tunnel_open_seconds_count", labels, count);
    }

    page.head(
        "ptunnel_tunnels_ended_total",
        "counter",
        "Tunnels that ended: closed by both sides, or cut by a broken side, or by silence.",
    );
    for (labels, totals) in &listeners {
        for (end, count) in ENDS.iter().zip(&totals.ends) {
            let labels = format!("{},end=\"{}\"", labels, end);
            page.sample("ptunnel_tunnels_ended_total", &labels, count);
        }
    }

    page.head(
        "ptunnel_tunnels_failed_total",
        "counter",
        "Clients that got no tunnel, by what went wrong.",
    );
    for (labels, totals) in &listeners {
        for (cause, count) in Cause::ALL.iter().zip(&totals.failures) {
            let labels = format!("{},cause=\"{}\"", labels, cause.label());
            page.sample("ptunnel_tunnels_failed_total", &labels, count);
        }
    }

    let name = "ptunnel_clients_turned_away_total";
    page.head(
        name,
        "counter",
        "Connections from addresses that aren't in --allow-from.",
    );
    page.line(format_args!("{} {}", name, board.turned_away.count()));

    let mut of_proxies = |name, kind, help, value: &dyn Fn(&ProxyHealth) -> u64| {
        page.head(name, kind, help);
        for (place, (way, standing)) in standings.iter().enumerate() {
            let mut labels = format!("proxy=\"{}\"", Label(way));
            if are_listed {
                // One may be in the list twice.
                labels = format!("place=\"{}\",{}", place + 1, labels);
            }
            page.sample(name, &labels, value(standing));
        }
    };
    of_proxies(
        "ptunnel_proxy_in_use",
        "gauge",
        "Whether it is this proxy of the list that new tunnels go through.",
        &|standing| standing.is_in_use as u64,
    );
    of_proxies(
        "ptunnel_proxy_down",
        "gauge",
        "Whether the proxy failed and hasn't answered since.",
        &|standing| standing.is_down as u64,
    );
    of_proxies(
        "ptunnel_proxy_avoided",
        "gauge",
        "Whether the proxy failed in the last 30 seconds and isn't asked first.",
        &|standing| standing.is_avoided as u64,
    );
    of_proxies(
        "ptunnel_proxy_answers_total",
        "counter",
        "Requests that the proxy answered, be it with a refusal.",
        &|standing| standing.answers,
    );
    of_proxies(
        "ptunnel_proxy_failures_total",
        "counter",
        "Attempts to use the proxy that failed.",
        &|standing| standing.failures,
    );
    page.process(board);
    page.0
}

fn labels(listener: &Listener) -> String {
    format!(
        "listen=\"{}\",destination=\"{}\"",
        Label(&listener.name),
        Label(&listener.destination())
    )
}

struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP {} {}", name, help));
        self.line(format_args!("# TYPE {} {}", name, kind));
    }

    fn sample(&mut self, name: &str, labels: &str, value: impl fmt::Display) {
        self.line(format_args!("{}{{{}}} {}", name, labels, value));
    }

    fn line(&mut self, line: fmt::Arguments<'_>) {
        // Writing to a String does not fail.
        let _ = writeln!(self.0, "{}", line);
    }

    /// What Prometheus's own libraries tell of a process, as far as a look into /proc does.
    fn process(&mut self, board: &Registry) {
        let started = board.started.duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = "process_start_time_seconds";
        self.head(name, "gauge", "Start of the process, in Unix time.");
        self.line(format_args!("{} {}", name, Decimal(started)));
        if let Some(bytes) = resident() {
            let name = "process_resident_memory_bytes";
            self.head(name, "gauge", "Memory in use.");
            self.line(format_args!("{} {}", name, bytes));
        }
        if let Ok(open) = fs::read_dir("/proc/self/fd") {
            let name = "process_open_fds";
            self.head(name, "gauge", "Open descriptors.");
            // Without the one that is being read.
            let count = open.count().saturating_sub(1);
            self.line(format_args!("{} {}", name, count));
        }
    }
}

fn resident() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// The value of a label, between its quotes.
struct Label<'a>(&'a str);

impl fmt::Display for Label<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '\\' => f.write_str("\\\\")?,
                '"' => f.write_str("\\\"")?,
                '\n' => f.write_str("\\n")?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Label;

    #[test]
    fn a_label_cannot_end_before_its_quote() {
        assert_eq!(Label("a\"b\\c\nd").to_string(), "a\\\"b\\\\c\\nd");
    }
}
