//! `ptunnel-benches RIG [--quick]`: arguments and exit code; nothing else.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use ptunnel_benches::load::server;
use ptunnel_benches::rigs::{self, relay, RIGS};

/// Measures ptunnel and its world, before and after, each rig in one run on this machine.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Plain relays side by side: CPU, instructions, system calls, bulk, memory, new tunnels, latency.
    Relay(Options),
    /// Every rig, one after the other, and one report for all.
    All(Options),
    /// The server behind the relays; the rigs start it themselves.
    #[command(hide = true)]
    Server {
        #[arg(long)]
        first: bool,
    },
}

#[derive(Args)]
struct Options {
    /// Ends within five minutes a rig; its figures are a smoke test.
    #[arg(long)]
    quick: bool,
    /// Where the results go [default: results/RIG-DATE, or results/tmp with --quick].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Only these peers of peers.toml, as in ptunnel,epoll,tokio.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    peers: Vec<String>,
    /// Another list of peers than benches/peers.toml, in the same form.
    #[arg(long, value_name = "FILE")]
    peers_file: Option<PathBuf>,
    /// Only these figures; an unknown name is answered with the list.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    figures: Vec<String>,
}

impl From<Options> for rigs::Options {
    fn from(options: Options) -> rigs::Options {
        rigs::Options {
            quick: options.quick,
            out: options.out,
            peers: options.peers,
            peers_file: options.peers_file,
            figures: options.figures,
        }
    }
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Relay(options) => rigs::run(&[&relay::RIG], &options.into()),
        Command::All(options) => rigs::run(RIGS, &options.into()),
        Command::Server { first } => server::serve(first),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("ptunnel-benches: {e}");
            ExitCode::FAILURE
        }
    }
}
