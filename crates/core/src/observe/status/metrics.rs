//! `/metrics`: the numbers in Prometheus's text format, with names that follow its conventions.

use std::fmt::{self, Write};
use std::fs;
use std::time::UNIX_EPOCH;

use super::registry::{ListenerEntry, Registry};
use crate::error::Cause;
use crate::observe::limits::{self, Reading};
use crate::observe::session::ENDS;
use crate::observe::stats::Totals;
use crate::os::resources::{self, Usage};
use crate::upstream::{FetchReport, ProxyHealth};
use ptunnel_proto::text::seconds::Decimal;

/// Returns all metrics.
pub(super) fn page(registry: &Registry) -> String {
    let snapshot = registry.snapshot();
    let listeners: Vec<(String, Totals)> = snapshot
        .listeners
        .iter()
        .map(|listener| (labels(listener), listener.stats.totals()))
        .collect();
    let (proxies, are_listed) = (snapshot.proxies(), snapshot.are_listed());
    let mut text = MetricsText(String::with_capacity(8 * 1024));

    text.head("ptunnel_build_info", "gauge", "The version of ptunnel.");
    let version = format!("version=\"{}\"", escaped(env!("CARGO_PKG_VERSION")));
    text.sample("ptunnel_build_info", &version, 1);

    let mut of_listeners = |name, kind, help, value: &dyn Fn(&Totals) -> u64| {
        text.head(name, kind, help);
        for (labels, totals) in &listeners {
            text.sample(name, labels, value(totals));
        }
    };
    of_listeners(
        "ptunnel_clients",
        "gauge",
        "Connected clients, including those whose tunnel isn't open yet.",
        &|totals| totals.clients,
    );
    of_listeners(
        "ptunnel_clients_left_total",
        "counter",
        "Clients that disconnected before their tunnel was open.",
        &|totals| totals.left,
    );

    text.head(
        "ptunnel_carried_bytes_total",
        "counter",
        "Bytes delivered, from clients (upload) and to clients (download).",
    );
    for (labels, totals) in &listeners {
        let traffic = totals.carried;
        for (direction, bytes) in &[("upload", traffic.upload), ("download", traffic.download)] {
            let labels = format!("{},direction=\"{}\"", labels, direction);
            text.sample("ptunnel_carried_bytes_total", &labels, bytes);
        }
    }

    text.head(
        "ptunnel_tunnel_open_seconds",
        "histogram",
        "Time from a client's connection to its open tunnel.",
    );
    for (labels, totals) in &listeners {
        let bucket = "ptunnel_tunnel_open_seconds_bucket";
        for (bound, count) in totals.opening.cumulative() {
            text.sample(bucket, &format!("{},le=\"{}\"", labels, bound), count);
        }
        let count = totals.opening.count();
        text.sample(bucket, &format!("{},le=\"+Inf\"", labels), count);
        let sum = Decimal(totals.opening.sum);
        text.sample("ptunnel_tunnel_open_seconds_sum", labels, sum);
        text.sample("ptunnel_tunnel_open_seconds_count", labels, count);
    }

    text.head(
        "ptunnel_tunnels_ended_total",
        "counter",
        "Tunnels that ended: closed by both sides, broken by one side, or idle for too long.",
    );
    for (labels, totals) in &listeners {
        for (end, count) in ENDS.iter().zip(&totals.ends) {
            let labels = format!("{},end=\"{}\"", labels, end);
            text.sample("ptunnel_tunnels_ended_total", &labels, count);
        }
    }

    text.head(
        "ptunnel_tunnels_failed_total",
        "counter",
        "Clients that got no tunnel, by cause.",
    );
    for (labels, totals) in &listeners {
        for ((_, label), count) in Cause::LABELS.iter().zip(&totals.failures) {
            let labels = format!("{},cause=\"{}\"", labels, label);
            text.sample("ptunnel_tunnels_failed_total", &labels, count);
        }
    }

    let name = "ptunnel_clients_turned_away_total";
    text.head(
        name,
        "counter",
        "Connections that were closed because the client isn't in --allow-from.",
    );
    text.line(format_args!("{} {}", name, registry.turned_away.count()));

    let mut of_proxies = |name, kind, help, value: &dyn Fn(&ProxyHealth) -> u64| {
        text.head(name, kind, help);
        for (place, (proxy, health)) in proxies.iter().enumerate() {
            let mut labels = format!("proxy=\"{}\"", escaped(proxy));
            if are_listed {
                // A list can contain one proxy twice.
                labels = format!("place=\"{}\",{}", place + 1, labels);
            }
            text.sample(name, &labels, value(health));
        }
    };
    of_proxies(
        "ptunnel_proxy_in_use",
        "gauge",
        "1 if new tunnels go through this proxy.",
        &|health| health.is_in_use as u64,
    );
    of_proxies(
        "ptunnel_proxy_down",
        "gauge",
        "1 if the proxy failed and hasn't replied to a client or a probe since.",
        &|health| health.is_down as u64,
    );
    of_proxies(
        "ptunnel_proxy_avoided",
        "gauge",
        "1 if the proxy is down and no client tries it first.",
        &|health| health.is_avoided as u64,
    );
    of_proxies(
        "ptunnel_proxy_answers_total",
        "counter",
        "Requests of clients that the proxy replied to, including refusals.",
        &|health| health.answers,
    );
    of_proxies(
        "ptunnel_proxy_failures_total",
        "counter",
        "Failed attempts to use the proxy.",
        &|health| health.failures,
    );
    text.limits(&limits::readings(
        snapshot.totals().clients,
        registry.max_clients,
    ));
    let fetches = snapshot.pac().and_then(|(_, report)| report);
    text.pac(&fetches.unwrap_or_default());
    text.process(registry);
    text.0
}

fn labels(listener: &ListenerEntry) -> String {
    format!(
        "listen=\"{}\",destination=\"{}\"",
        escaped(&listener.name),
        escaped(&listener.info.destination())
    )
}

struct MetricsText(String);

impl MetricsText {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP {} {}", name, help));
        self.line(format_args!("# TYPE {} {}", name, kind));
    }

    fn sample(&mut self, name: &str, labels: &str, value: impl fmt::Display) {
        self.line(format_args!("{}{{{}}} {}", name, labels, value));
    }

    fn line(&mut self, line: fmt::Arguments<'_>) {
        // Writing to a String doesn't fail.
        let _ = writeln!(self.0, "{}", line);
    }

    fn limits(&mut self, readings: &[Reading]) {
        let mut of_limits = |name, help, value: &dyn Fn(&Usage) -> u64| {
            self.head(name, "gauge", help);
            for reading in readings {
                let label = format!("resource=\"{}\"", reading.resource.label());
                self.sample(name, &label, value(&reading.usage));
            }
        };
        of_limits(
            "ptunnel_limit",
            "The limit of each resource that has one; memory in bytes.",
            &|usage| usage.limit,
        );
        of_limits(
            "ptunnel_limit_used",
            "The use of each resource that has a limit; memory in bytes.",
            &|usage| usage.used,
        );
    }

    fn pac(&mut self, fetches: &FetchReport) {
        let last = fetches.last.unwrap_or(UNIX_EPOCH);
        let last = last.duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = "ptunnel_pac_fetches_total";
        self.head(name, "counter", "Fetches of the PAC file by URL.");
        self.line(format_args!("{} {}", name, fetches.fetches));
        let name = "ptunnel_pac_fetch_failures_total";
        self.head(name, "counter", "Fetches of the PAC file that failed.");
        self.line(format_args!("{} {}", name, fetches.failures));
        let name = "ptunnel_pac_fetched_timestamp_seconds";
        let help = "Unix time of the last good fetch of the PAC file, 0 without one.";
        self.head(name, "gauge", help);
        self.line(format_args!("{} {}", name, Decimal(last)));
    }

    /// Adds the metrics of the process under the names of Prometheus's client libraries.
    fn process(&mut self, registry: &Registry) {
        let started = registry
            .started
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let name = "process_start_time_seconds";
        self.head(name, "gauge", "Start time of the process in Unix time.");
        self.line(format_args!("{} {}", name, Decimal(started)));
        if let Some(bytes) = resident() {
            let name = "process_resident_memory_bytes";
            self.head(name, "gauge", "Resident memory in bytes.");
            self.line(format_args!("{} {}", name, bytes));
        }
        if let Some(count) = resources::open_descriptors() {
            let name = "process_open_fds";
            self.head(name, "gauge", "Number of open file descriptors.");
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

/// Escapes the value of a label, which is written between quotes.
fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn a_label_cannot_end_before_its_quote() {
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
