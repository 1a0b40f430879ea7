//! TOML, as far as options need it: names and their values, each with its line.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use toml::Spanned;

use crate::text::escape::Escaped;

/// `key = value`, and where it begins.
pub(super) struct Item {
    pub(super) line: usize,
    pub(super) key: String,
    pub(super) value: Value,
}

/// A value, numbers as they would be typed.
pub(super) enum Value {
    Text(String),
    Number(String),
    Bool(bool),
    /// Each with its line.
    List(Vec<(usize, Value)>),
    Table,
    Date,
}

impl Value {
    /// What it is called in an error.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Value::Text(_) => "a string",
            Value::Number(_) => "a number",
            Value::Bool(_) => "true or false",
            Value::List(_) => "a list",
            Value::Table => "a table",
            Value::Date => "a date or time",
        }
    }
}

/// The items of a text in their order; the error has its line.
pub(super) fn items(text: &str) -> Result<Vec<Item>, (usize, String)> {
    let document: Document = toml::from_str(text).map_err(|e| {
        let line = e.line_col().map_or(1, |(line, _)| line + 1);
        let why = e.to_string();
        // The place is told once, by the caller.
        let why = why.rfind(" at line ").map_or(&why[..], |end| &why[..end]);
        (line, Escaped(why.as_bytes()).to_string())
    })?;
    let line_of = |start: usize| text[..start].matches('\n').count() + 1;
    let items = document.0.into_iter().map(|(key, value)| Item {
        line: line_of(key.start()),
        key: key.into_inner(),
        value: placed(value, &line_of),
    });
    Ok(items.collect())
}

fn placed(raw: Raw, line_of: &dyn Fn(usize) -> usize) -> Value {
    match raw {
        Raw::Text(text) => Value::Text(text),
        Raw::Number(number) => Value::Number(number),
        Raw::Bool(truth) => Value::Bool(truth),
        Raw::List(items) => Value::List(
            items
                .into_iter()
                .map(|item| {
                    let line = line_of(item.start());
                    (line, placed(item.into_inner(), line_of))
                })
                .collect(),
        ),
        Raw::Table => Value::Table,
        Raw::Date => Value::Date,
    }
}

/// The whole text: `toml`'s own table would lose the lines.
struct Document(Vec<(Spanned<String>, Raw)>);

/// A value whose places are still counted in bytes.
enum Raw {
    Text(String),
    Number(String),
    Bool(bool),
    List(Vec<Spanned<Raw>>),
    Table,
    Date,
}

/// The key under which `toml` 0.5 shows the text of a date to a visitor that takes any value.
const DATE: &str = "$__toml_private_datetime";

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Document, D::Error> {
        struct Items;

        impl<'de> Visitor<'de> for Items {
            type Value = Document;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("options")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Document, M::Error> {
                let mut items = Vec::new();
                while let Some(item) = map.next_entry()? {
                    items.push(item);
                }
                Ok(Document(items))
            }
        }

        deserializer.deserialize_map(Items)
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Raw, D::Error> {
        struct AnyValue;

        impl<'de> Visitor<'de> for AnyValue {
            type Value = Raw;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
                Ok(Raw::Text(text.to_string()))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Raw, E> {
                Ok(Raw::Number(number.to_string()))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Raw, E> {
                Ok(Raw::Number(number.to_string()))
            }

            fn visit_bool<E>(self, truth: bool) -> Result<Raw, E> {
                Ok(Raw::Bool(truth))
            }

            fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<Raw, S::Error> {
                let mut items = Vec::new();
                while let Some(item) = list.next_element()? {
                    items.push(item);
                }
                Ok(Raw::List(items))
            }

            fn visit_map<M: MapAccess<'de>>(self, mut table: M) -> Result<Raw, M::Error> {
                let mut kind = Raw::Table;
                while let Some((key, IgnoredAny)) = table.next_entry::<String, _>()? {
                    if key == DATE {
                        kind = Raw::Date;
                    }
                }
                Ok(kind)
            }
        }

        deserializer.deserialize_any(AnyValue)
    }
}
