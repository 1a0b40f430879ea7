//! `ptunnel-benches relay [--quick]`: arguments and exit code; nothing else.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use ptunnel_benches::load::server;
use ptunnel_benches::rigs::relay::{self, Group};

/// Measures ptunnel beside its peers, in one run on this machine.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    rig: Rig,
}

#[derive(Subcommand)]
enum Rig {
    /// Plain relays side by side: CPU, instructions, system calls, bulk, memory, new tunnels, latency.
    Relay {
        /// Ends within five minutes; its figures are a smoke test.
        #[arg(long)]
        quick: bool,
        /// Where the results go [default: results/relay-DATE, or results/tmp with --quick].
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// Only these peers of peers.toml, as in ptunnel,epoll,tokio.
        #[arg(long, value_delimiter = ',', value_name = "NAMES")]
        peers: Vec<String>,
        /// Another list of peers than benches/peers.toml, in the same form.
        #[arg(long, value_name = "FILE")]
        peers_file: Option<PathBuf>,
        /// Only these figures.
        #[arg(long, value_delimiter = ',', value_name = "NAMES", value_enum)]
        figures: Vec<Group>,
    },
    /// The server behind the relays; the rigs start it themselves.
    #[command(hide = true)]
    Server {
        #[arg(long)]
        first: bool,
    },
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().rig {
        Rig::Relay {
            quick,
            out,
            peers,
            peers_file,
            figures,
        } => relay::run(&relay::Options {
            quick,
            out,
            peers,
            peers_file,
            figures,
        }),
        Rig::Server { first } => server::serve(first),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("ptunnel-benches: {e}");
            ExitCode::FAILURE
        }
    }
}
