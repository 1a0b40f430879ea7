//! The command line of the servers in `src/bin/` and `legacy/`: `-t THREADS -p PORT`, on loopback; `-c CERTIFICATE -k KEY`
//! beside it for those that speak TLS.
//!
//! Also compiled into `legacy/`, so it keeps to edition 2018 and to std.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::thread;

/// How many threads serve, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serving {
    pub threads: usize,
    pub listen: SocketAddr,
    /// PEM files of the certificate and its key.
    pub certificate: Option<[String; 2]>,
}

impl Serving {
    /// Reads the command line; says how it is used and exits with 2 otherwise.
    pub fn from_args() -> Serving {
        let mut args = std::env::args();
        let program = args.next().unwrap_or_default();
        let rest: Vec<String> = args.collect();
        Serving::parse(&rest).unwrap_or_else(|| {
            eprintln!(
                "usage: {} -t THREADS -p PORT [-c CERTIFICATE -k KEY], as in {0} -t 1 -p 7000",
                program
            );
            std::process::exit(2)
        })
    }

    fn parse(args: &[String]) -> Option<Serving> {
        let (mut threads, mut port) = (1, None);
        let (mut certificate, mut key) = (None, None);
        let mut args = args.iter();
        while let Some(name) = args.next() {
            let value = args.next()?;
            match name.as_str() {
                "-t" => threads = value.parse().ok().filter(|&n| n > 0)?,
                "-p" => port = Some(value.parse().ok()?),
                "-c" => certificate = Some(value.clone()),
                "-k" => key = Some(value.clone()),
                _ => return None,
            }
        }
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, port?));
        let certificate = match (certificate, key) {
            (Some(certificate), Some(key)) => Some([certificate, key]),
            (None, None) => None,
            _ => return None,
        };
        Some(Serving {
            threads,
            listen,
            certificate,
        })
    }

    /// Runs `serve` on each thread; each is to listen with `SO_REUSEPORT`. An error of any ends the process.
    pub fn on_each_thread<F>(&self, serve: F) -> io::Result<()>
    where
        F: Fn(SocketAddr) -> io::Result<()> + Clone + Send + 'static,
    {
        let listen = self.listen;
        for _ in 1..self.threads {
            let serve = serve.clone();
            thread::Builder::new().spawn(move || {
                if let Err(e) = serve(listen) {
                    eprintln!("{}", e);
                    std::process::exit(1);
                }
            })?;
        }
        serve(listen)
    }
}

#[cfg(test)]
mod tests {
    use super::Serving;

    #[test]
    fn takes_threads_and_a_port_and_nothing_else() {
        let parse = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(String::from).collect();
            Serving::parse(&words).map(|s| (s.threads, s.listen.to_string()))
        };
        let at = |threads, listen: &str| Some((threads, listen.to_string()));
        assert_eq!(parse("-t 2 -p 7000"), at(2, "127.0.0.1:7000"));
        assert_eq!(parse("-p 7000"), at(1, "127.0.0.1:7000"));
        for wrong in &["", "-t 2", "-t 0 -p 7000", "-p", "-p 70000", "-p 7000 -x 1"] {
            assert_eq!(parse(wrong), None, "{}", wrong);
        }
        assert_eq!(parse("-p 7000 -c a.pem"), None);
        let words = ["-p", "7000", "-c", "a.pem", "-k", "a.key"].map(String::from);
        let certificate = Serving::parse(&words).and_then(|s| s.certificate);
        assert_eq!(certificate, Some(["a.pem", "a.key"].map(String::from)));
    }
}
