//! `ptunnel-benches RIG [--quick]`: arguments and exit code; nothing else.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use ptunnel_benches::load::server;
use ptunnel_benches::measure::Options;
use ptunnel_benches::report::again::again;
use ptunnel_benches::report::check::check;
use ptunnel_benches::report::run::run;
use ptunnel_benches::report::{documents, ladder};
use ptunnel_benches::rigs::{echo, growth, plaintext, profile, relay, tunnel, RIGS};

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

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Tunnel(options) => run(&[&tunnel::RIG], &options),
        Command::Relay(options) => run(&[&relay::RIG], &options),
        Command::Growth(options) => run(&[&growth::RIG], &options),
        Command::Echo(options) => run(&[&echo::RIG], &options),
        Command::Plaintext(options) => run(&[&plaintext::RIG], &options),
        Command::PlaintextTls(options) => run(&[&plaintext::OVER_TLS], &options),
        Command::Profile(options) => run(&[&profile::RIG], &options),
        Command::All(options) => run(RIGS, &options),
        Command::Report { folders, out } => {
            again(&folders, out).map(|page| println!("{}", page.display()))
        }
        Command::Ladder {
            options,
            write: true,
        } => ladder::write(options.out),
        Command::Ladder { options, .. } => ladder::measure(options),
        Command::Check { folders } => check(&folders),
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
