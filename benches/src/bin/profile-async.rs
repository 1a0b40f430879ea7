//! The work of `legacy/src/bin/profile-work` on async/await: `async WORK COUNT`, for messages, connections, combinators
//! and tasks. Its counterpart of a combinator is an async fn that awaits another; its tasks are tokio 1's, on one thread.

use std::future::Future;
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::ops::DerefMut;
use std::pin::{pin, Pin};
use std::task::{Context, Poll, Waker};

use ptunnel_benches::peer::counting::Counting;
use ptunnel_benches::peer::work::{Message, Order, Script, Work, DEPTH};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::task::LocalSet;

#[global_allocator]
static COUNTING: Counting = Counting::new();

fn main() -> io::Result<()> {
    let order = Order::from_args();
    match (order.mode.as_str(), order.work) {
        ("async", Work::Messages | Work::Connections) => {
            for messages in order.connections() {
                let served: Pin<Box<dyn Future<Output = _>>> =
                    Box::pin(serve(Script::new(messages)));
                if !poll_to_the_end(served)?.has_ended() {
                    return Err(io::Error::other("the script has not ended"));
                }
            }
        }
        ("async", Work::Combinators) => {
            for _ in 0..order.count / DEPTH {
                // Opaque: a future that the compiler knows whole, it evaluates itself.
                let chain: Pin<&mut dyn Future<Output = u64>> = pin!(eight(black_box(0)));
                assert_eq!(poll_to_the_end(black_box(chain)), DEPTH);
            }
        }
        ("async", Work::Tasks) => tasks(order.count)?,
        _ => return Err(order.is_unknown()),
    }
    println!("allocations {}", COUNTING.allocations());
    Ok(())
}

/// Answers until the last message, and gives the script back.
async fn serve(script: Script) -> io::Result<Script> {
    let mut script = Scripted(script);
    let mut message = Message::default();
    loop {
        message.await_length();
        script.read_exact(message.as_mut()).await?;
        message.await_body();
        script.read_exact(message.as_mut()).await?;
        message.answer();
        script.write_all(message.as_ref()).await?;
        if message.is_last() {
            return Ok(script.0);
        }
    }
}

/// Needs no wake-up: a task that would block is polled again at once.
fn poll_to_the_end<P>(mut future: Pin<P>) -> <P::Target as Future>::Output
where
    P: DerefMut,
    P::Target: Future,
{
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}

/// A script with the traits of today.
struct Scripted(Script);

fn ready<T>(result: io::Result<T>) -> Poll<io::Result<T>> {
    match result {
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => Poll::Pending,
        other => Poll::Ready(other),
    }
}

impl AsyncRead for Scripted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        ready(self.0.read(into.initialize_unfilled())).map_ok(|count| into.advance(count))
    }
}

impl AsyncWrite for Scripted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready(self.0.write(from))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Not ready at first, then the number; wakes its waker when asked to.
struct Leaf {
    number: u64,
    was_polled: bool,
    wakes: bool,
}

fn leaf(number: u64) -> Leaf {
    Leaf {
        number,
        was_polled: false,
        wakes: false,
    }
}

impl Future for Leaf {
    type Output = u64;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<u64> {
        if self.was_polled {
            return Poll::Ready(self.number);
        }
        self.was_polled = true;
        if self.wakes {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

async fn one(number: u64) -> u64 {
    leaf(number + 1).await
}

/// Each awaits the one before and then waits once itself.
macro_rules! await_one_another {
    ($($below:ident, $name:ident;)*) => {$(
        async fn $name(number: u64) -> u64 {
            leaf($below(number).await + 1).await
        }
    )*};
}

await_one_another! { one, two; two, three; three, four; four, five; five, six; six, seven; seven, eight; }

fn tasks(count: u64) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    LocalSet::new().block_on(&runtime, async {
        for number in 0..count {
            let waits = Leaf {
                wakes: true,
                ..leaf(number)
            };
            let ended = tokio::task::spawn_local(waits).await;
            assert_eq!(ended.ok(), Some(number));
        }
    });
    Ok(())
}
