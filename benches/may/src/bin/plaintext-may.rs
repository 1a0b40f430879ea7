//! `plaintext-may -t THREADS -p PORT`: a plaintext server on May's minihttp, a worker a thread, a coroutine a connection.
//!
//! minihttp parses with httparse and keeps the date; its `Server: M` is why the other Rust peers call themselves M.

use std::io;

use may_minihttp::{HttpService, HttpServiceFactory, Request, Response};
use ptunnel_benches_may::serving::Serving;

fn main() -> io::Result<()> {
    let serving = Serving::from_args();
    // Pinning is the rig's affair.
    may::config()
        .set_workers(serving.threads)
        .set_worker_pin(false);
    let server = Plaintexts.start(serving.listen)?;
    server
        .join()
        .map_err(|_| io::Error::other("the server's coroutine panicked"))
}

struct Plaintexts;

impl HttpServiceFactory for Plaintexts {
    type Service = Plaintext;

    fn new_service(&self, _id: usize) -> Plaintext {
        Plaintext
    }
}

#[derive(Clone)]
struct Plaintext;

impl HttpService for Plaintext {
    fn call(&mut self, request: Request, response: &mut Response) -> io::Result<()> {
        match (request.method(), request.path()) {
            ("GET", "/plaintext") => {
                response
                    .header("Content-Type: text/plain")
                    .body("Hello, World!");
            }
            _ => {
                response.status_code(404, "Not Found");
            }
        }
        Ok(())
    }
}
