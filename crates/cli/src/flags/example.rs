//! The examples of the flag table: as commands, and as lines of the config file.

use super::Flag;

/// Splits a command into its words, at spaces outside of single quotes.
pub(crate) fn words(command: &str) -> Vec<&str> {
    let mut is_quoted = false;
    let is_between = |c: char| {
        is_quoted ^= c == '\'';
        c == ' ' && !is_quoted
    };
    command.split(is_between).collect()
}

impl Flag {
    /// Returns the option's value in its example; `None` for a flag.
    pub(crate) fn sample(&self) -> Option<String> {
        self.value?;
        let words = words(self.example);
        let spellings: Vec<String> = self.spellings().collect();
        let is_option = |word: &&str| spellings.iter().any(|spelling| spelling == word);
        let index = words.iter().position(is_option)?;
        words.get(index + 1).map(|value| value.replace('\'', ""))
    }

    /// Returns the example as a line of the config file; `None` if the option can't be there.
    pub(crate) fn toml(&self) -> Option<String> {
        let key = self.other_key.or_else(|| self.keys().next())?;
        Some(self.toml_of(key))
    }

    /// Returns the example as a line of the config file, under one of its keys.
    pub(crate) fn toml_of(&self, key: &str) -> String {
        let value = match (self.sample(), self.is_repeated) {
            (Some(value), true) => format!("[\"{}\"]", value),
            (Some(value), false) if value.parse::<f64>().is_ok() => value,
            (Some(value), false) => format!("\"{}\"", value),
            (None, true) => "1".to_string(),
            (None, false) => "true".to_string(),
        };
        format!("{} = {}", key, value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags;

    #[test]
    fn a_quoted_word_can_have_spaces() {
        let expected = ["ptunnel", "-H", "'X: y'", "1:a:1"];
        assert_eq!(words("ptunnel -H 'X: y' 1:a:1"), expected);
    }

    #[test]
    fn an_example_is_a_line_of_toml() {
        let line = |name: &str| flags::find(name).unwrap().toml().unwrap();
        assert_eq!(line("header"), "header = [\"User-Agent: ptunnel\"]");
        assert_eq!(line("threads"), "threads = 4");
        assert_eq!(line("user"), "user = \"joe\"");
        assert_eq!(line("verbose"), "verbose = 1");
        assert_eq!(line("ipv4"), "ipv4 = true");
        assert_eq!(line("forward"), "tunnels = [\"8993:imap.example.org:993\"]");
        assert_eq!(flags::find("config").unwrap().toml(), None);
    }
}
