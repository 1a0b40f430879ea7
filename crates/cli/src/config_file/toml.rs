//! The subset of TOML that options need: names and their values, each with its position.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use toml::Spanned;

use ptunnel_proto::text::escape::Escaped;

/// A value; a number is its text.
pub(super) enum TomlValue {
    Text(String),
    Number(String),
    Bool(bool),
    List(Vec<Spanned<TomlValue>>),
    Table,
    Date,
}

impl TomlValue {
    /// Returns the name of its kind, for errors.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            TomlValue::Text(_) => "a string",
            TomlValue::Number(_) => "a number",
            TomlValue::Bool(_) => "true or false",
            TomlValue::List(_) => "a list",
            TomlValue::Table => "a table",
            TomlValue::Date => "a date or time",
        }
    }
}

/// A key with its value.
pub(super) type Item = (Spanned<String>, TomlValue);

/// Returns the items of a text in their order; an error comes with its line, from 1.
pub(super) fn items(text: &str) -> Result<Vec<Item>, (usize, String)> {
    let document: Document = toml::from_str(text).map_err(|e| {
        let line = e.line_col().map_or(1, |(line, _)| line + 1);
        let why = e.to_string();
        // The caller adds the line.
        let why = why.rfind(" at line ").map_or(&why[..], |end| &why[..end]);
        let why = Escaped(why.as_bytes());
        let why = format!("{}; e.g. proxy = \"proxy.example:3128\"", why);
        (line, why)
    })?;
    Ok(document.0)
}

/// Returns the line of a position in a text, from 1.
pub(super) fn line_of(text: &str, start: usize) -> usize {
    text[..start].matches('\n').count() + 1
}

/// The whole text. `toml`'s own table has no positions.
struct Document(Vec<Item>);

/// The key under which `toml` 0.5 passes the text of a date to a visitor of any value.
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

impl<'de> Deserialize<'de> for TomlValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TomlValue, D::Error> {
        struct AnyValue;

        impl<'de> Visitor<'de> for AnyValue {
            type Value = TomlValue;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_str<E>(self, text: &str) -> Result<TomlValue, E> {
                Ok(TomlValue::Text(text.to_string()))
            }

            fn visit_i64<E>(self, number: i64) -> Result<TomlValue, E> {
                Ok(TomlValue::Number(number.to_string()))
            }

            fn visit_f64<E>(self, number: f64) -> Result<TomlValue, E> {
                Ok(TomlValue::Number(number.to_string()))
            }

            fn visit_bool<E>(self, truth: bool) -> Result<TomlValue, E> {
                Ok(TomlValue::Bool(truth))
            }

            fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<TomlValue, S::Error> {
                let mut items = Vec::new();
                while let Some(item) = list.next_element()? {
                    items.push(item);
                }
                Ok(TomlValue::List(items))
            }

            fn visit_map<M: MapAccess<'de>>(self, mut table: M) -> Result<TomlValue, M::Error> {
                let mut kind = TomlValue::Table;
                while let Some((key, IgnoredAny)) = table.next_entry::<String, _>()? {
                    if key == DATE {
                        kind = TomlValue::Date;
                    }
                }
                Ok(kind)
            }
        }

        deserializer.deserialize_any(AnyValue)
    }
}
