//! wrk, another load generator, and its report about a server.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use crate::tools::program::output;

/// What wrk sends.
#[derive(Clone, Copy, Debug)]
pub enum Ask<'a> {
    /// Messages of that many bytes, 50 to 138, each of which is a reply by HTTP: so wrk takes it for one when it is
    /// echoed. The script that makes them goes into that folder.
    Echo(usize, &'a Path),
    /// GETs of that URL's path over that scheme.
    Get(&'a str, &'a str),
}

/// What it counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Said {
    pub count: u64,
    /// Replies per second.
    pub rate: f64,
}

/// Runs it for a second, with one thread: each of `connections` sends when its last request is answered.
///
/// # Errors
/// When it can't be started, fails, or counts a fault.
pub fn wrk(to: SocketAddr, connections: usize, ask: Ask) -> io::Result<Said> {
    let mut command = Command::new("wrk");
    command.args(["-t1", "-d1s", &format!("-c{connections}")]);
    match ask {
        Ask::Echo(size, folder) => {
            let path = folder.join(format!("echo-{size}.lua"));
            fs::write(&path, script(size))?;
            command.arg("-s").arg(path).arg(format!("http://{to}/"));
        }
        Ask::Get(scheme, path) => {
            command.arg(format!("{scheme}://{to}{path}"));
        }
    }
    parse(&output(&mut command, "wrk")?)
}

/// wrk tries its request on a parser, then takes the one that it sends.
fn script(size: usize) -> String {
    let head = |body: usize| format!("HTTP/1.1 200 OK\\r\\nContent-Length: {body}\\r\\n\\r\\n");
    // An escape is two characters here and one byte in Lua, and a length of two digits is as long as any other.
    let body = size - head(10).replace("\\r\\n", "..").len();
    format!(
        "local asked = false\n\
         function wrk.init()\n\
         \x20 function wrk.request()\n\
         \x20   local message = asked and \"{}\" .. string.rep(\"x\", {body})\n\
         \x20   asked = true\n\
         \x20   return message or \"GET / HTTP/1.1\\r\\n\\r\\n\"\n\
         \x20 end\n\
         end\n",
        head(body)
    )
}

fn parse(said: &str) -> io::Result<Said> {
    let after = |name: &str| said.lines().find_map(|line| line.trim().strip_prefix(name));
    for fault in ["Socket errors:", "Non-2xx or 3xx responses:"] {
        if let Some(counts) = after(fault) {
            return Err(io::Error::other(format!("wrk: {fault}{counts}")));
        }
    }
    let count = said
        .lines()
        .find_map(|line| line.split_once(" requests in "));
    let count = count.and_then(|(count, _)| count.trim().parse().ok());
    let rate = after("Requests/sec:").and_then(|rate| rate.trim().parse().ok());
    match count.zip(rate) {
        Some((count, rate)) if count > 0 => Ok(Said { count, rate }),
        _ => Err(io::Error::other("wrk does not say what it counted")),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    const SAID: &str = "\
Running 1s test @ http://127.0.0.1:8080/
  1 threads and 50 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   635.91us    0.89ms  12.92ms   93.69%
    Req/Sec    56.20k     8.07k   62.00k    86.67%
  57135 requests in 1.10s, 6.76MB read
Requests/sec:  51940.90
Transfer/sec:      6.33MB
";

    #[test]
    fn reads_what_it_counted() {
        let said = Said {
            count: 57_135,
            rate: 51_940.9,
        };
        assert_eq!(parse(SAID).unwrap(), said);
    }

    #[test]
    fn faults_are_errors() {
        for fault in [
            "  Socket errors: connect 0, read 3, write 0, timeout 0\n",
            "  Non-2xx or 3xx responses: 2\n",
        ] {
            let e = parse(&format!("{SAID}{fault}")).unwrap_err();
            assert!(e.to_string().ends_with(fault.trim()), "{e}");
        }
        assert!(parse("").is_err());
        assert!(parse(&SAID.replace("57135", "0")).is_err());
    }

    #[test]
    fn wrk_takes_its_own_messages_for_replies_and_finds_those_that_are_none() {
        let folder = std::env::temp_dir().join(format!("ptunnel-wrk-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let serve = |size: usize, from: &'static str, to: &'static str| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            thread::spawn(move || {
                for stream in listener.incoming() {
                    thread::spawn(move || {
                        let (mut stream, mut message) = (stream.unwrap(), vec![0; size]);
                        while stream.read_exact(&mut message).is_ok() {
                            let reply = String::from_utf8_lossy(&message).replace(from, to);
                            let _ = stream.write_all(reply.as_bytes());
                        }
                    });
                }
            });
            wrk(address, 2, Ask::Echo(size, &folder))
        };
        assert!(serve(100, "", "").unwrap().count > 0);
        assert!(serve(128, "200 OK", "500 OK").is_err());
        fs::remove_dir_all(&folder).unwrap();
    }
}
