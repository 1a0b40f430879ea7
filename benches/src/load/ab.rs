//! ApacheBench, the load of the old articles: what it says about a server.

use std::io;
use std::net::SocketAddr;
use std::process::Command;

use crate::tools::program::output;

/// One run of it.
#[derive(Clone, Copy, Debug)]
pub struct Ab {
    pub to: SocketAddr,
    /// The proxy that is asked for the page itself, where there is no tunnel.
    pub proxy: Option<SocketAddr>,
    pub path: &'static str,
    pub clients: usize,
    pub requests: u64,
    pub keep_alive: bool,
}

impl Ab {
    /// Milliseconds per request: its "mean", the time of the run over the requests of one client.
    pub fn run(&self) -> io::Result<f64> {
        let mut command = Command::new("ab");
        command.args(["-q", "-s", "20", "-c", &self.clients.to_string()]);
        command.args(["-n", &self.requests.to_string()]);
        if self.keep_alive {
            command.arg("-k");
        }
        if let Some(proxy) = self.proxy {
            command.args(["-X", &proxy.to_string()]);
        }
        command.arg(format!("http://{}{}", self.to, self.path));
        parse(&output(&mut command, "apache2-utils")?, self.requests)
    }
}

/// A run counts only when every request was answered, and with the page.
fn parse(said: &str, requests: u64) -> io::Result<f64> {
    let field = |name: &str| -> Option<&str> {
        let line = said.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()
    };
    let complete = field("Complete requests:").and_then(|n| n.parse().ok());
    if complete != Some(requests) {
        return Err(io::Error::other("ab did not complete its requests"));
    }
    for fault in ["Failed requests:", "Non-2xx responses:", "Write errors:"] {
        if let Some(count) = field(fault).filter(|count| *count != "0") {
            return Err(io::Error::other(format!("ab: {fault} {count}")));
        }
    }
    // The first of two lines of that name; the second is over all clients.
    let mean = field("Time per request:").and_then(|ms| ms.parse().ok());
    mean.ok_or_else(|| io::Error::other("ab does not say its time per request"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "\
Concurrency Level:      5
Time taken for tests:   2.002 seconds
Complete requests:      10
Failed requests:        0
Keep-Alive requests:    0
Requests per second:    4.99 [#/sec] (mean)
Time per request:       1001.101 [ms] (mean)
Time per request:       200.220 [ms] (mean, across all concurrent requests)
";

    #[test]
    fn reads_the_mean_of_one_client() {
        assert_eq!(parse(SAID, 10).unwrap(), 1001.101);
    }

    #[test]
    fn requests_that_failed_or_lack_are_an_error() {
        assert!(parse(SAID, 11).is_err());
        let failed = SAID.replace("Failed requests:        0", "Failed requests:        2");
        assert!(parse(&failed, 10)
            .unwrap_err()
            .to_string()
            .contains("Failed"));
        let refused = format!("{SAID}Non-2xx responses:      10\n");
        assert!(parse(&refused, 10).is_err());
        assert!(parse("", 10).is_err());
    }
}
