//! What a run was asked for on the command line.

use std::path::PathBuf;

use clap::Args;

#[derive(Args, Clone, Debug, Default)]
pub struct Options {
    /// Ends within five minutes a rig, beside other work too; its figures are a smoke test.
    #[arg(long)]
    pub quick: bool,
    /// Where the results go [default: results/RIG-DATE, or results/tmp/RIG with --quick].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Only these peers of peers.toml, as in ptunnel,epoll,tokio.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub peers: Vec<String>,
    /// Another list of peers than benches/peers.toml, in the same form.
    #[arg(long, value_name = "FILE")]
    pub peers_file: Option<PathBuf>,
    /// Only these figures; an unknown name is answered with the list.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub figures: Vec<String>,
    /// Fails when a sample goes wrong, instead of reporting it: for CI. A missing peer always fails.
    #[arg(long)]
    pub strict: bool,
    /// Draws the order of turns from this number, as results.json records it [default: another one each run].
    #[arg(long, value_name = "NUMBER")]
    pub seed: Option<u64>,
    /// Builds each peer from nothing, which takes a minute or two each, and records how long that took.
    #[arg(long)]
    pub clean: bool,
    /// Why the run is taken, for its page.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// The headline has no more rounds than planned.
    #[arg(skip)]
    pub unpaired: bool,
}

impl Options {
    /// The command line that repeats a run, but for its folder: a path says nothing about the figures.
    pub fn command(&self, rig: &str) -> String {
        let mut text = format!("cargo run --release --manifest-path benches/Cargo.toml -- {rig}");
        for (is_set, flag) in [(self.quick, " --quick"), (self.clean, " --clean")] {
            text.push_str(if is_set { flag } else { "" });
        }
        if self.peers_file.is_some() {
            text.push_str(" --peers-file FILE");
        }
        if let Some(seed) = self.seed {
            text.push_str(&format!(" --seed {seed}"));
        }
        for (flag, names) in [("--peers", &self.peers), ("--figures", &self.figures)] {
            if !names.is_empty() {
                text.push_str(&format!(" {flag} {}", names.join(",")));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_repeats_what_decides_the_figures() {
        let options = Options {
            quick: true,
            out: Some("/tmp/x".into()),
            peers: vec!["ptunnel".to_string(), "tokio".to_string()],
            seed: Some(9),
            ..Options::default()
        };
        let command = options.command("relay");
        let wanted = "-- relay --quick --seed 9 --peers ptunnel,tokio";
        assert!(command.ends_with(wanted), "{command}");
    }
}
