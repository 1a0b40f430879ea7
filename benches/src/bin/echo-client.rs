//! `echo-client -t 1 -l 100 -c 100 -d 10 -a ADDR`: how many messages a second an echo server sends back.
//!
//! The options and the lines that it prints are those of the clients which were used when futures 0.1 was compared with
//! others. It compares what it reads with what it wrote; a wrong byte ends it with an error.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};
use std::{fmt, io};

use clap::Parser;
use ptunnel_benches::load::driver::Driver;
use ptunnel_benches::load::echo::Echo;
use ptunnel_benches::load::pace::{Pace, Until};
use ptunnel_benches::stop::Stop;
use ptunnel_benches::tools::machine::raise_descriptors;

/// Sends messages to an echo server, one at a time on each connection, and counts what comes back.
#[derive(Parser)]
struct Arguments {
    /// Threads that send.
    #[arg(short, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1024))]
    threads: u64,
    /// Bytes of a message.
    #[arg(short, value_name = "BYTES", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=65_536))]
    length: u64,
    /// Connections, of all threads together.
    #[arg(short, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    connections: u64,
    /// Seconds.
    #[arg(short, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    duration: u64,
    /// The server, on this machine.
    #[arg(short, value_name = "ADDR", default_value = "127.0.0.1:7000")]
    address: SocketAddr,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    raise_descriptors();
    match measure(&arguments) {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("echo-client: {}: {e}", arguments.address);
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &Arguments) -> io::Result<Report<'_>> {
    let stop = Stop::on_signals()?;
    let echo = Echo::to_server(arguments.length as usize);
    let opened: io::Result<Vec<Driver<Echo>>> = shares(arguments.connections, arguments.threads)
        .map(|share| Driver::new(arguments.address, share, echo.clone())?.connect())
        .collect();
    let time = Until::Elapsed(Duration::from_secs(arguments.duration));
    let begun = Instant::now();
    let count = thread::scope(|s| {
        let running: Vec<_> = opened?
            .into_iter()
            .map(|mut load| {
                let stop = &stop;
                s.spawn(move || load.run(Pace::Closed, time, stop))
            })
            .collect();
        let counts = running.into_iter().map(|thread| {
            let panicked = |_| Err(io::Error::other("a thread panicked"));
            Ok(thread.join().unwrap_or_else(panicked)?.count)
        });
        counts.sum::<io::Result<u64>>()
    })?;
    let seconds = begun.elapsed().as_secs_f64();
    Ok(Report {
        arguments,
        seconds,
        count,
    })
}

/// How many connections each thread has; none has none.
fn shares(connections: u64, threads: u64) -> impl Iterator<Item = usize> {
    let share = move |thread| connections / threads + u64::from(thread < connections % threads);
    (0..threads)
        .map(move |thread| share(thread) as usize)
        .filter(|&n| n > 0)
}

struct Report<'a> {
    arguments: &'a Arguments,
    seconds: f64,
    /// Requests that were sent: each is awaited, so there are as many responses.
    count: u64,
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Arguments {
            address,
            connections,
            length,
            duration,
            ..
        } = self.arguments;
        let count = self.count;
        let speed = count as f64 / self.seconds;
        let kb = speed * *length as f64 / 1024.0;
        let rule = "==================";
        writeln!(f, "{rule}Benchmarking: {address}{rule}")?;
        writeln!(
            f,
            "{connections} clients, running {length} bytes, {duration} sec.\n"
        )?;
        writeln!(
            f,
            "Speed: {speed:.0} request/sec,  {speed:.0} response/sec, {kb:.0} kb/sec"
        )?;
        write!(f, "Requests: {count}\nResponses: {count}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_shared_out_and_none_is_lost() {
        let of = |connections, threads| shares(connections, threads).collect::<Vec<_>>();
        assert_eq!(of(100, 1), [100]);
        assert_eq!(of(7, 3), [3, 2, 2]);
        assert_eq!(of(1, 4), [1]);
    }

    #[test]
    fn prints_the_lines_that_readers_of_the_old_figures_know() {
        let report = Report {
            arguments: &Arguments::parse_from(["echo-client"]),
            seconds: 10.0,
            count: 4_096_000,
        };
        let wanted = "==================Benchmarking: 127.0.0.1:7000==================\n\
                      100 clients, running 100 bytes, 10 sec.\n\
                      \n\
                      Speed: 409600 request/sec,  409600 response/sec, 40000 kb/sec\n\
                      Requests: 4096000\n\
                      Responses: 4096000";
        assert_eq!(report.to_string(), wanted);
    }
}
