//! The fields of a log line: values beside its text, by name.
//!
//! A logger that writes fields calls [`enable`] when it starts. From then on [`log`](fn@log) stores
//! the fields of a line in a thread-local variable, and the logger calls [`take`] to get them. The
//! text of a line is never parsed, so nothing in it can become a field.

use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use log::{log_enabled, Level, Record};

use crate::error::{Error, TunnelPath, LEFT};
use crate::observe::logging::context::LogContext;
use ptunnel_proto::text::json::{array, Quoted};
use ptunnel_proto::text::seconds::Decimal;

/// A field's value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FieldValue {
    Text(String),
    Number(u64),
    Duration(Duration),
    List(Vec<String>),
    /// The field is known to have no value, e.g. the proxy of a direct tunnel.
    Null,
}

impl fmt::Display for FieldValue {
    /// Formats the value as JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FieldValue::Text(text) => Quoted(text).fmt(f),
            FieldValue::Number(number) => number.fmt(f),
            FieldValue::Duration(time) => Decimal(*time).fmt(f),
            FieldValue::List(texts) => f.write_str(&array(texts.iter().map(|text| Quoted(text)))),
            FieldValue::Null => f.write_str("null"),
        }
    }
}

/// The fields of a line, in their order.
pub(crate) type Fields = Vec<(&'static str, FieldValue)>;

static ARE_ENABLED: AtomicBool = AtomicBool::new(false);

thread_local! {
    static FIELDS: RefCell<Fields> = RefCell::new(Vec::new());
}

/// The target of the lines about denied clients.
pub(crate) const DENIED: &str = "ptunnel::denied";

/// Logs a line with its fields. Calls `fields` only when the logger writes them.
pub(crate) fn log(level: Level, text: fmt::Arguments<'_>, fields: impl FnOnce() -> Fields) {
    if log_enabled!(level) {
        log_record(module_path!(), level, text, fields);
    }
}

/// Logs a line about a denied client. The logger gets it at any level, since it counts those that it
/// leaves out.
pub(crate) fn log_denial(level: Level, text: fmt::Arguments<'_>, fields: impl FnOnce() -> Fields) {
    log_record(DENIED, level, text, fields);
}

fn log_record(
    target: &str,
    level: Level,
    text: fmt::Arguments<'_>,
    fields: impl FnOnce() -> Fields,
) {
    if ARE_ENABLED.load(Ordering::Relaxed) {
        FIELDS.with(|current| current.replace(fields()));
    }
    let mut record = Record::builder();
    record.target(target).level(level);
    log::logger().log(&record.args(format_args!("{}", text)).build());
    FIELDS.with(|current| current.borrow_mut().clear());
}

/// Makes every later line carry its fields.
pub(crate) fn enable() {
    ARE_ENABLED.store(true, Ordering::Relaxed);
}

/// Returns the fields of the line that is being logged, starting with those of its connection.
pub(crate) fn take() -> Fields {
    let mut fields = Fields::new();
    if let Some(context) = LogContext::current() {
        fields.push(("connection", FieldValue::Number(context.connection())));
        fields.push(("client", FieldValue::Text(context.client().to_string())));
        if let Some(user) = context.user() {
            fields.push(("user", FieldValue::Text(user.to_string())));
        }
        if let Some(listener) = context.listener() {
            fields.push(("listen", FieldValue::Text(listener.to_string())));
        }
    }
    fields.append(&mut FIELDS.with(|current| current.replace(Vec::new())));
    fields
}

/// The start of a line about a tunnel: its connection and its path, as far as known.
pub(crate) struct Heading<'a>(
    pub(crate) Option<&'a LogContext>,
    pub(crate) Option<&'a TunnelPath>,
);

impl fmt::Display for Heading<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Heading(Some(context), Some(path)) => write!(f, "{} {}: ", context, path),
            Heading(Some(context), None) => write!(f, "{}: ", context),
            Heading(None, Some(path)) => write!(f, "{}: ", path),
            Heading(None, None) => Ok(()),
        }
    }
}

impl TunnelPath {
    pub(crate) fn fields(&self) -> Fields {
        let mut fields = vec![("destination", FieldValue::Text(self.destination.clone()))];
        if let Some(proxies) = &self.proxies {
            let first = proxies.first().cloned();
            fields.push(("proxy", first.map_or(FieldValue::Null, FieldValue::Text)));
            let behind = proxies.iter().skip(1).cloned();
            fields.push(("via", FieldValue::List(behind.collect())));
        }
        fields
    }
}

impl Error {
    /// Returns the path of the tunnel that failed, as far as known, and the cause.
    pub(crate) fn fields(&self) -> Fields {
        let mut fields = self.path().map_or_else(Fields::new, TunnelPath::fields);
        let cause = if self.is_departure() {
            LEFT
        } else {
            self.cause().label()
        };
        fields.push(("cause", FieldValue::Text(cause.into())));
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_text_and_fields() {
        let path = TunnelPath::to("d:4");
        assert_eq!(path.to_string(), "to d:4");
        assert_eq!(
            path.fields(),
            [("destination", FieldValue::Text("d:4".into()))]
        );
        let direct = path.clone().through(Vec::new());
        assert_eq!(direct.to_string(), "to d:4 directly");
        assert_eq!(direct.fields()[1], ("proxy", FieldValue::Null));
        let chain = path.through(vec!["p:1".into(), "q:2".into()]);
        assert_eq!(chain.to_string(), "to d:4 through p:1 via q:2");
        assert_eq!(chain.fields()[1], ("proxy", FieldValue::Text("p:1".into())));
        let behind = FieldValue::List(vec!["q:2".into()]);
        assert_eq!(chain.fields()[2], ("via", behind));
    }
}
