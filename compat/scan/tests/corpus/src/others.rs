//! Names of the same spelling that are not futures': no line of this file is to be reported.

use std::io::{self, BufRead, Read, Write};
use std::sync::mpsc;

struct Child;

impl Child {
    fn wait(self) -> io::Result<u8> {
        Ok(0)
    }

    fn select(self, _: Self) -> Self {
        self
    }

    fn forward(&self) {}

    fn need_read(&self) {}

    fn spawn(&self, _: impl FnOnce()) {}
}

fn and_then(x: Option<u8>) -> Option<u8> {
    x.and_then(|x| x.checked_add(1)).map(|x| x + 1).or_else(|| Some(0)).filter(|x| *x > 0)
}

fn iterators(x: &[u8]) -> Vec<(u8, u8)> {
    let sum = x.iter().fold(0u8, |a, b| a ^ b);
    x.chunks(2).flatten().map(|x| x ^ sum).take_while(|x| *x < 9).zip(x.iter().copied()).fuse().collect()
}

fn results(x: Result<u8, io::Error>) -> Result<u8, String> {
    x.map_err(|e| e.to_string()).and_then(|x| Ok(x)).or_else(|e| Err(e))
}

fn threads() {
    let (tx, rx) = mpsc::channel();
    std::thread::spawn(move || tx.send(1)).join();
    rx.iter().for_each(|_: u8| ());
    let _ = std::panic::catch_unwind(|| ());
    Child.wait().unwrap();
    Child.select(Child).forward();
    Child.need_read();
    Child.spawn(|| ());
}

fn files(mut r: impl Read, mut w: impl Write, b: impl BufRead) -> io::Result<()> {
    io::copy(&mut r, &mut w)?;
    r.read_exact(&mut [0])?;
    w.write_all(&[0])?;
    b.split(0).for_each(drop);
    Ok(())
}

async fn awaited(f: std::pin::Pin<Box<dyn std::future::Future<Output = u8>>>) -> u8 {
    f.await
}

struct Machine;

impl std::future::Future for Machine {
    type Output = ();

    fn poll(self: std::pin::Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> std::task::Poll<()> {
        cx.waker().wake_by_ref();
        std::task::Poll::Pending
    }
}
