//! The text of a config file and the command line that it is equal to, compared with a second
//! reading through `toml`'s own tables.

use ptunnel_cli::words_of_text;
use toml::value::{Table, Value};

/// The password of the seeds.
const CANARY: &str = "hunter2";

pub fn check(text: &str) {
    let lines = text.lines().count().max(1);
    match words_of_text(text) {
        Ok(words) => {
            let mut last = 1;
            for (line, word) in &words {
                assert!((last..=lines).contains(line), "{word:?} in line {line}");
                last = *line;
            }
            let words = words.into_iter().map(|(_, word)| word).collect();
            let table: Table = toml::from_str(text).expect("what was read before");
            // With two names for one thing, the table's order isn't the file's.
            if !(table.contains_key("tunnels") && table.contains_key("forward")) {
                assert_eq!(by_name(words), by_name(read_anew(&table)));
            }
        }
        Err((line, complaint)) => {
            assert!((1..=lines + 1).contains(&line), "line {line} of {lines}");
            crate::shown(&complaint);
            assert!(
                !is_value_alone(text) || !complaint.contains(CANARY),
                "{complaint:?} tells the password"
            );
        }
    }
}

/// The words of one name keep their order.
fn by_name(mut words: Vec<String>) -> Vec<String> {
    let name = |word: &String| word.split('=').next().map(str::to_string);
    words.sort_by_key(name);
    words
}

fn read_anew(table: &Table) -> Vec<String> {
    let named = table.iter().map(|(name, value)| match &name[..] {
        "tunnels" => ("forward", value),
        name => (name, value),
    });
    named.flat_map(|(name, value)| words(name, value)).collect()
}

fn words(name: &str, value: &Value) -> Vec<String> {
    let with = |value: String| vec![format!("--{name}={value}")];
    let alone = |count: i64| vec![format!("--{name}"); count as usize];
    match value {
        Value::String(text) => with(text.clone()),
        Value::Integer(count) if name == "verbose" => alone(*count),
        // Without a fraction it counts as well as an integer.
        Value::Float(count) if name == "verbose" => alone(*count as i64),
        Value::Integer(number) => with(number.to_string()),
        Value::Float(number) => with(number.to_string()),
        Value::Boolean(is_so) => alone((*is_so).into()),
        Value::Array(items) => items.iter().flat_map(|item| words(name, item)).collect(),
        Value::Datetime(_) | Value::Table(_) => panic!("{value} was taken for '{name}'"),
    }
}

/// An error can show a name, and anything that looks like one. So each line with the password is
/// one that can only be its value.
fn is_value_alone(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| line.contains(CANARY));
    let is_value = |line: &str| {
        let value = line.strip_prefix("password = ");
        value.is_some_and(|value| !value.contains(['=', '{', '}', '[', ']']))
    };
    lines.next().is_some_and(is_value) && lines.all(is_value)
}
