//! Work on futures 0.1 that is measured by its instructions and its allocations: `MODE WORK COUNT`.
//!
//! | mode | work |
//! |---|---|
//! | `chain` | messages, connections and combinators, with futures 0.1's combinators |
//! | `future` | messages and connections, with one hand-written future |
//! | `futures` | tasks in a `FuturesUnordered` |
//! | `core` | tasks spawned on tokio-core's `Core` |
//! | `old`, `std`, `old-in-std`, `std-in-old` | waits of one task, across the bridge in the last two |
//! | `ptunnel` | tasks spawned on ptunnel's loop, which is nested in a `Core` |

mod chain;
#[path = "../../../../src/peer/counting.rs"]
mod counting;
mod future;
mod tasks;
mod waits;
#[path = "../../../../src/peer/work.rs"]
mod work;

use std::hint::black_box;
use std::io;
use std::sync::Arc;

use futures::executor::{self, Notify};
use futures::{Async, Future};

use crate::counting::Counting;
use crate::work::{Order, Script, Work, DEPTH};

#[global_allocator]
static COUNTING: Counting = Counting::new();

fn main() -> io::Result<()> {
    let order = Order::from_args();
    let no_notify = Arc::new(NoNotify);
    let served = |serve: fn(Script) -> Served| -> io::Result<()> {
        for messages in order.connections() {
            if !poll_to_the_end(serve(Script::new(messages)), &no_notify)?.has_ended() {
                return Err(io::Error::other("the script has not ended"));
            }
        }
        Ok(())
    };
    match (order.mode.as_str(), order.work) {
        ("chain", Work::Messages) | ("chain", Work::Connections) => {
            served(|script| Box::new(chain::serve(script)))?
        }
        ("future", Work::Messages) | ("future", Work::Connections) => {
            served(|script| Box::new(future::Serve::new(script)))?
        }
        ("chain", Work::Combinators) => {
            for _ in 0..order.count / DEPTH {
                // Opaque: a future that the compiler knows whole, it evaluates itself.
                let mut chain = chain::of_eight(black_box(0));
                let chain: &mut dyn Future<Item = u64, Error = io::Error> = &mut chain;
                assert_eq!(poll_to_the_end(black_box(chain), &no_notify)?, DEPTH);
            }
        }
        ("futures", Work::Tasks) => tasks::in_a_set(order.count),
        ("core", Work::Tasks) => tasks::on_core(order.count)?,
        ("ptunnel", Work::Tasks) => tasks::on_ptunnel(order.count)?,
        (mode, Work::Waits) => waits::run(mode, order.count).ok_or_else(|| order.is_unknown())?,
        _ => return Err(order.is_unknown()),
    }
    println!("allocations {}", COUNTING.allocations());
    Ok(())
}

/// A connection as a task: boxed, as every executor of that time kept it.
type Served = Box<dyn Future<Item = Script, Error = io::Error>>;

/// Notifies no task: one that would block is polled again at once.
struct NoNotify;

impl Notify for NoNotify {
    fn notify(&self, _id: usize) {}
}

fn poll_to_the_end<F: Future>(future: F, no_notify: &Arc<NoNotify>) -> Result<F::Item, F::Error> {
    let mut task = executor::spawn(future);
    loop {
        if let Async::Ready(item) = task.poll_future_notify(no_notify, 0)? {
            return Ok(item);
        }
    }
}
