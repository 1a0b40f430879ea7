//! `plaintext-tokio-tls -t THREADS -p PORT -c CERTIFICATE -k KEY`: the plaintext server on tokio 1, over TLS.

use std::io;
use std::pin::Pin;

use openssl::ssl::{Ssl, SslContext};
use ptunnel_benches::peer::hello::serve;
use ptunnel_benches::peer::serving::Serving;
use ptunnel_benches::peer::tls::acceptor;
use tokio::net::TcpStream;
use tokio_openssl::SslStream;

fn main() -> io::Result<()> {
    let serving = Serving::from_args();
    let context = acceptor(&serving)?.into_context();
    serving.on_each_thread(move |listen| serve(listen, |stream| accept(context.clone(), stream)))
}

async fn accept(context: SslContext, stream: TcpStream) -> io::Result<SslStream<TcpStream>> {
    let mut stream = SslStream::new(Ssl::new(&context)?, stream)?;
    Pin::new(&mut stream)
        .accept()
        .await
        .map_err(io::Error::other)?;
    Ok(stream)
}
