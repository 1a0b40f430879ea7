//! `ptunnel-benches RIG [--quick]`: arguments and exit code; nothing else.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use ptunnel_benches::load::server;
use ptunnel_benches::report::documents;
use ptunnel_benches::rigs::{self, echo, growth, ladder, plaintext, profile, relay, tunnel, RIGS};

/// Measures ptunnel and its world, before and after, each rig in one run on this machine.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Tunnels through a proxy, ptunnel among them: time and CPU per request, new tunnels, bulk, memory, system calls.
    Tunnel(Options),
    /// Plain relays side by side: CPU, instructions, system calls, bulk, memory, new tunnels, latency.
    Relay(Options),
    /// The same with ten to ten thousand tunnels, all or few active: CPU, latency, memory of process and kernel, threads.
    Growth(Options),
    /// Echo servers on futures 0.1, tokio 1, May, threads, raw epoll: CPU, instructions, system calls per message.
    Echo(Options),
    /// HTTP servers that say hello, pipelined and not, futures 0.1 beside ten others: CPU, instructions per request.
    Plaintext(Options),
    /// The same over TLS, by those that have it: CPU per request.
    PlaintextTls(Options),
    /// Instructions and allocations of the rungs, of the servers, and of one work written in three ways.
    Profile(Options),
    /// Every rig, one after the other, and one report for all.
    All(Options),
    /// Judges earlier runs again and writes their page again, from the samples in their results.json.
    Report {
        /// A rig's folder, or one with several of them.
        #[arg(required = true, value_name = "DIR")]
        folders: Vec<PathBuf>,
        /// Where the page goes [default: report.html in the first folder].
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Measures the rungs of the ladder with the relay rig and keeps the samples in results/ladder; with --write, fills
    /// the tables of compat/ladder/README.md from those instead.
    Ladder {
        #[command(flatten)]
        options: Options,
        /// Measures nothing; --out is then the folder of another run.
        #[arg(long)]
        write: bool,
    },
    /// Checks that runs have left all that they should: samples and the page. Judges no figure.
    Check {
        /// A rig's folder, or one with several of them.
        #[arg(required = true, value_name = "DIR")]
        folders: Vec<PathBuf>,
    },
    /// Fills the figures into the project's documents from the newest results.
    Documents {
        /// Only compares, and fails where a document differs.
        #[arg(long)]
        check: bool,
    },
    /// The server behind the relays; the rigs start it themselves.
    #[command(hide = true)]
    Server {
        #[arg(long)]
        first: bool,
    },
}

#[derive(Args)]
struct Options {
    /// Ends within five minutes a rig, beside other work too; its figures are a smoke test.
    #[arg(long)]
    quick: bool,
    /// Where the results go [default: results/RIG-DATE, or results/tmp/RIG with --quick].
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
    /// Fails when a sample goes wrong, instead of reporting it: for CI. A missing peer always fails.
    #[arg(long)]
    strict: bool,
    /// Draws the order of turns from this number, as results.json records it [default: another one each run].
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Builds each peer from nothing, which takes a minute or two each, and records how long that took.
    #[arg(long)]
    clean: bool,
    /// Why the run is taken, for its page.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl From<Options> for rigs::Options {
    fn from(options: Options) -> rigs::Options {
        rigs::Options {
            quick: options.quick,
            out: options.out,
            peers: options.peers,
            peers_file: options.peers_file,
            figures: options.figures,
            strict: options.strict,
            unpaired: false,
            seed: options.seed,
            clean: options.clean,
            reason: options.reason,
        }
    }
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Tunnel(options) => rigs::run(&[&tunnel::RIG], &options.into()),
        Command::Relay(options) => rigs::run(&[&relay::RIG], &options.into()),
        Command::Growth(options) => rigs::run(&[&growth::RIG], &options.into()),
        Command::Echo(options) => rigs::run(&[&echo::RIG], &options.into()),
        Command::Plaintext(options) => rigs::run(&[&plaintext::RIG], &options.into()),
        Command::PlaintextTls(options) => rigs::run(&[&plaintext::OVER_TLS], &options.into()),
        Command::Profile(options) => rigs::run(&[&profile::RIG], &options.into()),
        Command::All(options) => rigs::run(RIGS, &options.into()),
        Command::Report { folders, out } => {
            rigs::again(&folders, out).map(|page| println!("{}", page.display()))
        }
        Command::Ladder {
            options,
            write: true,
        } => ladder::write(options.out),
        Command::Ladder { options, .. } => ladder::measure(options.into()),
        Command::Check { folders } => rigs::check(&folders),
        Command::Documents { check } => documents::update(check),
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
