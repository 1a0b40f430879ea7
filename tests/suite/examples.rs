//! The commands that a document shows.

/// A command, and the lines of output that the document shows below it.
pub struct Example {
    pub command: String,
    pub output: Vec<String>,
}

/// The commands of the blocks marked `console` that need no root.
pub fn examples(text: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    for block in blocks(text, "console") {
        let before = examples.len();
        for line in block.lines() {
            if let Some(command) = line.strip_prefix("$ ") {
                examples.push(Example {
                    command: command.to_string(),
                    output: Vec::new(),
                });
            } else if let Some(last) = examples[before..].last_mut() {
                last.output.push(line.to_string());
            }
        }
    }
    examples
}

/// The blocks of code in this language.
pub fn blocks<'a>(text: &'a str, language: &str) -> impl Iterator<Item = &'a str> {
    let parts: Vec<&str> = text.split(&format!("\n```{}\n", language)[..]).collect();
    let blocks = parts.into_iter().skip(1);
    blocks.map(|rest| rest.split("\n```").next().unwrap())
}
