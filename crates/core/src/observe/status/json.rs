//! `/status.json`: all numbers as one JSON object, with their history of ten minutes. The page
//! shows it.

use std::fmt::{self, Display};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::history::{History, Interval, STEP};
use super::registry::{ListenerEntry, Registry, Snapshot};
use crate::error::Cause;
use crate::observe::limits::{self, Reading};
use crate::observe::session::{Traffic, ENDS};
use crate::observe::stats::{Histogram, LastFailure, LiveTunnel};
use crate::upstream::{FetchReport, ProxyHealth};
use ptunnel_proto::text::json::{array, Object, Quoted};
use ptunnel_proto::text::seconds::Decimal;

/// Maximum number of tunnels in the list.
const MAX_TUNNELS: usize = 100;

/// Returns the object.
pub(super) fn page(registry: &Registry, history: &History) -> String {
    let steps = history.steps();
    let snapshot = registry.snapshot();
    let totals = snapshot.totals();
    let (tunnels, more_tunnels) = snapshot.oldest(MAX_TUNNELS);
    let limits = limits::readings(totals.clients, registry.max_clients);
    let mut recent = Histogram::default();
    for step in &steps {
        recent.add(&step.opening);
    }
    let mut object = Object::default();
    object.member("version", Quoted(env!("CARGO_PKG_VERSION")));
    object.member("host", Maybe(registry.host.as_deref().map(Quoted)));
    object.member("state", Quoted(state(&snapshot, &steps, &limits)));
    object.member("time", seconds(SystemTime::now()));
    object.member("uptime", Decimal(registry.uptime()));
    object.member("clients", totals.clients);
    object.member("opened", totals.opened());
    object.member("left", totals.left);
    object.member("failed", totals.failed());
    object.member("turned_away", registry.turned_away.count());
    object.member("carried", carried(totals.carried));
    object.member("open_seconds", quantiles(&recent));
    object.member("ends", counts(ENDS.iter().copied().zip(&totals.ends)));
    let causes = Cause::LABELS.iter().map(|(_, label)| *label);
    object.member("errors", counts(causes.zip(&totals.failures)));
    object.member("listeners", array(snapshot.listeners.iter().map(listener)));
    object.member("tunnels", array(tunnels.iter().map(tunnel)));
    object.member("more_tunnels", more_tunnels);
    object.member("limits", array(limits.iter().map(limit)));
    object.member("proxies", array(snapshot.proxies().iter().map(proxy)));
    object.member("pac", Maybe(snapshot.pac().map(pac)));
    object.member("history", timeline(&steps));
    let mut text = object.end();
    text.push('\n');
    text
}

fn carried(traffic: Traffic) -> String {
    let mut object = Object::default();
    object.member("upload", traffic.upload);
    object.member("download", traffic.download);
    object.end()
}

fn quantiles(times: &Histogram) -> String {
    let mut object = Object::default();
    object.member("count", times.count());
    object.member("p50", Maybe(quantile(times, 0.5)));
    object.member("p95", Maybe(quantile(times, 0.95)));
    object.end()
}

fn quantile(times: &Histogram, part: f64) -> Option<Decimal> {
    let seconds = times.quantile(part)?;
    Some(Decimal(Duration::from_secs_f64(seconds)))
}

/// Returns the overall state:
///
/// - `failing` if the last client got no tunnel on every open listener that had clients;
/// - `degraded` if that applies to some of these listeners, a proxy is down, clients failed within
///   the last minute, or a limit is near;
/// - `unused` before the first client;
/// - `serving` otherwise.
fn state(snapshot: &Snapshot, steps: &[Interval], limits: &[Reading]) -> &'static str {
    let used = snapshot
        .open()
        .filter(|entry| entry.stats.last_outcome().is_some());
    let used: Vec<&ListenerEntry> = used.collect();
    let failing = used.iter().filter(|entry| entry.is_failing()).count();
    let is_proxy_down = snapshot.proxies().iter().any(|(_, health)| health.is_down);
    let minute = (60 / STEP.as_secs()) as usize;
    let failed_recent = steps.iter().rev().take(minute).any(|step| step.failed > 0);
    let is_near_limit = limits.iter().any(Reading::is_near);
    if failing > 0 && failing == used.len() {
        "failing"
    } else if failing > 0 || is_proxy_down || failed_recent || is_near_limit {
        "degraded"
    } else if used.is_empty() {
        "unused"
    } else {
        "serving"
    }
}

fn counts<'a>(counts: impl Iterator<Item = (&'static str, &'a u64)>) -> String {
    let mut object = Object::default();
    for (name, count) in counts {
        object.member(name, count);
    }
    object.end()
}

fn listener(listener: &ListenerEntry) -> String {
    let totals = listener.stats.totals();
    let mut object = Object::default();
    object.member("listen", Quoted(&listener.name));
    object.member("kind", Quoted(listener.info.kind));
    object.member("destination", Quoted(&listener.info.destination()));
    object.member("path", Quoted(&listener.info.path));
    object.member("open", listener.is_open);
    object.member("clients", totals.clients);
    object.member("opened", totals.opened());
    object.member("failed", totals.failed());
    object.member("carried", carried(totals.carried));
    object.member("failing", listener.is_failing());
    object.member(
        "last_error",
        Maybe(listener.stats.last_failure().map(failure)),
    );
    object.end()
}

fn limit(reading: &Reading) -> String {
    let mut object = Object::default();
    object.member("resource", Quoted(reading.resource.label()));
    object.member("used", reading.usage.used);
    object.member("limit", reading.usage.limit);
    object.member("near", reading.is_near());
    object.end()
}

fn failure(failure: LastFailure) -> String {
    let mut object = Object::default();
    object.member("time", seconds(failure.when));
    object.member("cause", Quoted(failure.cause.label()));
    object.member("text", Quoted(&failure.text));
    object.end()
}

/// Returns a tunnel as JSON. The member `proxy` is null if the tunnel is direct.
fn tunnel((listener, tunnel): &(&ListenerEntry, Arc<LiveTunnel>)) -> String {
    let proxies: Vec<String> = tunnel.via.proxies().map(ToString::to_string).collect();
    let proxy = Some(proxies.join(" via ")).filter(|_| !proxies.is_empty());
    let mut object = Object::default();
    object.member("client", Quoted(&tunnel.client.to_string()));
    object.member("user", Maybe(tunnel.user.as_deref().map(Quoted)));
    object.member("listen", Quoted(&listener.name));
    object.member("destination", Quoted(&tunnel.destination.to_string()));
    object.member("proxy", Maybe(proxy.as_deref().map(Quoted)));
    object.member("since", seconds(tunnel.since));
    object.member("carried", carried(tunnel.read()));
    object.end()
}

fn proxy((name, health): &(String, ProxyHealth)) -> String {
    let state = match (health.is_down, health.is_in_use) {
        (true, _) => "down",
        (_, true) => "in use",
        _ => "standby",
    };
    let mut object = Object::default();
    object.member("proxy", Quoted(name));
    object.member("state", Quoted(state));
    object.member("answers", health.answers);
    object.member("failures", health.failures);
    object.end()
}

/// Returns the PAC file as JSON. Only of a file by URL, the other members aren't null.
fn pac((source, report): (String, Option<FetchReport>)) -> String {
    let report = report.as_ref();
    let last = report.and_then(|report| report.last).map(seconds);
    let error = report.and_then(|report| report.error.as_ref());
    let error = error.map(|(when, text)| {
        let mut object = Object::default();
        object.member("time", seconds(*when));
        object.member("text", Quoted(text));
        object.end()
    });
    let mut object = Object::default();
    object.member("source", Quoted(&source));
    object.member("fetched", Maybe(last));
    object.member("fetches", Maybe(report.map(|report| report.fetches)));
    object.member("failures", Maybe(report.map(|report| report.failures)));
    object.member("error", Maybe(error));
    object.end()
}

/// Returns one list per number, with the latest value last.
fn timeline(steps: &[Interval]) -> String {
    let per_second = |count: u64, step: &Interval| {
        let lasted = step.lasted.as_secs_f64();
        (count as f64 / lasted.max(0.001)).round()
    };
    let mut object = Object::default();
    object.member("step", STEP.as_secs_f64());
    let mut series = |name, value: &dyn Fn(&Interval) -> Box<dyn Display>| {
        object.member(name, array(steps.iter().map(value)));
    };
    series("clients", &|step| Box::new(step.clients));
    series("upload", &|step| {
        Box::new(per_second(step.carried.upload, step))
    });
    series("download", &|step| {
        Box::new(per_second(step.carried.download, step))
    });
    series("opened", &|step| Box::new(step.opening.count()));
    series("failed", &|step| Box::new(step.failed));
    series("p50", &|step| Box::new(Maybe(quantile(&step.opening, 0.5))));
    series("p95", &|step| {
        Box::new(Maybe(quantile(&step.opening, 0.95)))
    });
    object.end()
}

/// Returns Unix time in seconds, rounded to milliseconds.
fn seconds(time: SystemTime) -> f64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    (since.as_secs_f64() * 1e3).round() / 1e3
}

/// Displays as the value, or as `null` without one.
struct Maybe<T>(Option<T>);

impl<T: Display> Display for Maybe<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(value) => value.fmt(f),
            None => f.write_str("null"),
        }
    }
}
