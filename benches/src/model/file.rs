//! `results.json`: one sample a line, so that a file is small and a difference between two readable.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;

use super::results::Results;

pub const NAME: &str = "results.json";

impl Results {
    /// Writes `results.json` to the folder of a run.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        fs::write(folder.join(NAME), lines(&serde_json::to_value(self)?))
    }

    /// Reads `results.json` from the folder of a run.
    ///
    /// # Errors
    /// Names the file.
    pub fn read(folder: &Path) -> io::Result<Results> {
        let path = folder.join(NAME);
        let named = |e: io::Error| io::Error::other(format!("{}: {e}", path.display()));
        let text = fs::read_to_string(&path).map_err(named)?;
        // Figures are named by constants of the rigs, so the text must live as long; this process shows them and ends.
        serde_json::from_str(text.leak()).map_err(|e| named(e.into()))
    }
}

/// A field a line, and below it an element of its list, or an entry of its map, a line.
fn lines(value: &Value) -> String {
    let nested = |value: &Value| match value {
        Value::Array(all) if !all.is_empty() => {
            let all: Vec<String> = all.iter().map(Value::to_string).collect();
            format!("[\n{}]", all.join(",\n"))
        }
        Value::Object(all) if !all.is_empty() => format!("{{\n{}}}", fields(all, Value::to_string)),
        other => other.to_string(),
    };
    match value {
        Value::Object(all) => format!("{{\n{}}}\n", fields(all, nested)),
        other => other.to_string(),
    }
}

fn fields(all: &serde_json::Map<String, Value>, show: impl Fn(&Value) -> String) -> String {
    let all = all
        .iter()
        .map(|(key, value)| format!("{}:{}", Value::from(&**key), show(value)));
    all.collect::<Vec<_>>().join(",\n")
}

#[cfg(test)]
mod tests {
    use super::super::example::{example, CPU};
    use super::super::peer::Kind;
    use super::*;

    #[test]
    fn what_is_written_can_be_read_and_a_sample_is_a_line() {
        let mut results = example(&[CPU], &[("us", Kind::Subject, 0.1 + 0.2)]);
        results.note("a \"note\"".to_string());
        let folder = std::env::temp_dir().join(format!("ptunnel-file-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        results.write(&folder).unwrap();
        let text = fs::read_to_string(folder.join(NAME)).unwrap();
        let read = Results::read(&folder).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(lines(&serde_json::to_value(&read).unwrap()), text);
        let samples = text
            .lines()
            .filter(|l| l.starts_with("{") && l.contains("\"values\""));
        assert_eq!(samples.count(), results.samples.len());
    }
}
