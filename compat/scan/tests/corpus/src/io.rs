use std::io::{self, BufReader, Read, Write};

use bytes::{BufMut, BytesMut};
use futures::future::{self, FutureResult};
use futures::{Async, Future, Poll};
use tokio_core::net::TcpStream;
use tokio_core::reactor::{Handle, PollEvented};
use tokio_io::codec::Decoder;
use tokio_io::{try_nb, AsyncRead, AsyncWrite};
use tokio_proto::pipeline::ServerProto;
use tokio_proto::TcpServer;
use tokio_service::Service;

fn relay<A: AsyncRead + AsyncWrite>(a: A, b: A) {
    let ((ar, aw), (br, bw)) = (a.split(), b.split()); //~ 60 60
    let there = tokio_io::io::copy(ar, bw); //~ 55 56
    let back = tokio_io::io::copy(br, aw); //~ 55 56
    there.join(back); //~ 6
}

fn one_way<A: AsyncRead + AsyncWrite>(a: A, b: A) {
    tokio_io::io::copy(a, b); //~ 55
}

fn messages<A: AsyncRead + AsyncWrite>(a: A, b: A, c: A, d: A) {
    tokio_io::io::read_exact(a, [0; 4]); //~ 57
    tokio_io::io::write_all(b, [0; 4]); //~ 57
    tokio_io::io::read_until(BufReader::new(c), 0, vec![]); //~ 58
    tokio_io::io::shutdown(d); //~ 59
}

struct Wrapper(TcpStream);

impl Read for Wrapper {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read(buf)
    }
}

impl Write for Wrapper {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.0.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsyncRead for Wrapper {} //~ 54

impl AsyncWrite for Wrapper { //~ 54
    fn shutdown(&mut self) -> Poll<(), io::Error> {
        self.0.poll_write(); //~ 68!
        AsyncWrite::shutdown(&mut self.0) //~ 59
    }
}

fn by_hand<E: mio::Evented>(source: E, handle: &Handle, mut read: impl Read) -> Poll<usize, io::Error> {
    let evented = PollEvented::new(source, handle)?; //~ 53!
    evented.need_read(); //~ 68!
    let n = try_nb!(read.read(&mut [0])); //~ 41! 68!
    try_nb!(io::sink().flush()); //~ 41
    Ok(n.into())
}

fn without_macro(mut read: impl Read) -> Poll<usize, io::Error> {
    match read.read(&mut [0]) {
        Ok(n) => Ok(Async::Ready(n)), //~ 39
        Err(ref e) if e.kind() == io::ErrorKind::WouldBlock => Ok(Async::NotReady), //~ 39 68!
        Err(e) => Err(e),
    }
}

struct Line;

impl Decoder for Line { //~ 61
    type Item = u8;
    type Error = io::Error;

    fn decode(&mut self, bytes: &mut BytesMut) -> io::Result<Option<u8>> {
        let mut buffer = BytesMut::with_capacity(4); //~ 62
        buffer.put_u8(1); //~ 62
        Ok(bytes.take().first().copied()) //~ 62
    }
}

struct Answers;

impl Service for Answers { //~ 63
    type Request = u8;
    type Response = u8;
    type Error = io::Error;
    type Future = FutureResult<u8, io::Error>;

    fn call(&self, x: u8) -> Self::Future {
        future::ok(x) //~ 19
    }
}

fn served<P>(p: P)
where
    P: ServerProto<TcpStream, Request = u8, Response = u8> + Send + Sync + 'static,
{
    let address = "127.0.0.1:0".parse().unwrap();
    TcpServer::new(p, address).serve(|| Ok(Answers)); //~ 63 63 70!
}
