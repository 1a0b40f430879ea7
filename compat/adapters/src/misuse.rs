// Only a nightly's rustdoc, or one with RUSTC_BOOTSTRAP=1, compares the codes of errors.

//! Each way to misuse this crate, and what happens: a compile error, a panic or an error that says
//! what to do, or else what is written here.
//!
//! # What does not compile
//!
//! A wrapper of a socket asks what `shutdown` means:
//!
//! ```compile_fail,E0061
//! # use tokio_core_compat::io::AsIo01;
//! let (near, _far) = tokio::io::duplex(64);
//! AsIo01::new(near);
//! ```
//!
//! 0.1 moves its futures, so an `async` block needs [`As01::pin`](crate::task::As01::pin):
//!
//! ```compile_fail,E0277
//! # use tokio_core_compat::task::As01;
//! As01::new(async { Ok::<_, ()>(42) });
//! ```
//!
//! ```compile_fail,E0277
//! # use tokio_core_compat::task::InRuntime;
//! # async fn f(runtime: tokio::runtime::Handle) {
//! InRuntime::new(async { 42 }, runtime).await;
//! # }
//! ```
//!
//! A 0.1 future has an item and an error, so a std one has to resolve to a `Result`:
//!
//! ```compile_fail,E0599
//! # use futures01::Future as _;
//! # use tokio_core_compat::task::As01;
//! As01::pin(async { 42 }).wait();
//! ```
//!
//! How to send FIN is known of tokio-core's `TcpStream` alone; for another stream there is
//! [`AsTokio::with_half_close`](crate::io::AsTokio::with_half_close):
//!
//! ```compile_fail,E0277
//! # use tokio_core_compat::io::{AsTokio, ShutdownPolicy};
//! AsTokio::new(std::io::Cursor::new([0; 8]), ShutdownPolicy::Fin);
//! ```
//!
//! Only sockets are read by reference:
//!
//! ```compile_fail,E0277
//! # use std::io::Read;
//! # use tokio_core_compat::io::{AsIo01, ShutdownPolicy};
//! # let (near, _far) = tokio::io::duplex(64);
//! let shared = AsIo01::new(near, ShutdownPolicy::Fin);
//! Read::read(&mut &shared, &mut [0]);
//! ```
//!
//! What is not `Send` stays on its thread. It is spawned by a [`Local`](crate::spawn::Local), and not
//! by a [`Spawner`](crate::spawn::Spawner):
//!
//! ```compile_fail,E0277
//! # use std::rc::Rc;
//! # fn f(spawner: tokio_core_compat::spawn::Spawner) {
//! let value = Rc::new(42);
//! spawner.spawn(futures01::future::lazy(move || Ok::<_, ()>(*value)));
//! # }
//! ```
//!
//! The `Handle` of a `Local` is for its own thread, its `Remote` for others:
//!
//! ```compile_fail,E0277
//! # fn f(local: tokio_core_compat::spawn::Local) {
//! let handle = local.handle();
//! std::thread::spawn(move || handle.spawn(futures01::future::ok(())));
//! # }
//! ```
//!
//! To a Core goes a closure that is `Send`, and what comes back is `Send` too. What is not lives there
//! as a [`Resident`](crate::core_thread::Resident), and can't be taken away:
//!
//! ```compile_fail,E0277
//! # fn f(core: tokio_core_compat::core_thread::CoreThread) {
//! let value = std::rc::Rc::new(42);
//! core.call(move |_| *value);
//! # }
//! ```
//!
//! ```compile_fail,E0277
//! # fn f(resident: tokio_core_compat::core_thread::Resident<u32>) {
//! resident.call(|value, _| value.clone());
//! # }
//! ```
//!
//! After its shutdown there is no Core to call:
//!
//! ```compile_fail,E0382
//! # async fn f(core: tokio_core_compat::core_thread::CoreThread) {
//! core.shutdown().await;
//! core.call(|_| 42);
//! # }
//! ```
//!
//! # What says what to do
//!
//! | misuse | what happens | shown by |
//! |---|---|---|
//! | what is in a [`task::As01`](crate::task::As01) or [`As01Sink`](crate::task::As01Sink) is polled outside of a 0.1 task | a panic | `polled_outside_a_task_it_says_what_to_do` |
//! | so is an [`io::AsIo01`](crate::io::AsIo01) or a socket of [`net`](crate::net), or a timer of [`time`](crate::time) that has not fired | a panic | `reading_outside_a_task_says_what_to_do`, `a_timer_outside_a_task_says_what_to_do` |
//! | an item is given to an [`AsStdSink`](crate::task::AsStdSink) that has no room | a panic | `start_send_without_poll_ready_says_what_to_do` |
//! | a timer is made with [`time::Current`](crate::time::Current) outside of a runtime | a panic | `made_outside_of_a_runtime_it_says_what_to_do`, `on_a_core_made_outside_of_any_runtime_a_timer_says_what_to_do` |
//! | a timer or socket of tokio's own is made there | tokio's panic: wrap the code in a [`task::InRuntime`](crate::task::InRuntime) | that test |
//! | a timer outlives its runtime | an `io::Error` | `a_timer_that_outlives_its_runtime_wakes_and_fails` |
//! | something is made in a [`task::InRuntime`](crate::task::InRuntime) whose runtime has ended | tokio's panic | `once_the_runtime_is_gone_what_is_made_in_it_says_so` |
//! | a call awaits [`CoreThread::shutdown`](crate::core_thread::CoreThread::shutdown) of its own Core | a panic, which the call resolves to | `a_call_that_awaits_the_shutdown_of_its_own_core_says_what_to_do` |
//! | a [`Call`](crate::spawn::Call) is polled after its end | a panic | `a_call_that_has_ended_says_so` |
//! | a future of a [`net::AsDatagram01`](crate::net::AsDatagram01) is polled after its end | a panic | `a_future_that_has_ended_says_so` |
//! | a call of a `service::As01Service` is polled after its service panicked | a panic | `a_call_whose_service_panicked_says_so` |
//! | a Core is called that has ended | [`Lost::Gone`](crate::spawn::Lost::Gone) | `a_core_that_is_gone_is_reported`, `without_its_core_a_resident_answers_that_it_is_gone` |
//! | something is spawned on a `Local` that was dropped | [`Gone`](crate::spawn::Gone) from `try_spawn`; `spawn` drops it, as tokio-core's does | `once_the_local_is_gone_spawn_is_silent_and_try_spawn_is_not` |
//! | a tokio 1 stream in an [`io::AsIo01`](crate::io::AsIo01) returns `WouldBlock` as an error | an `io::Error` | `would_block_as_an_error_is_an_error` |
//!
//! # What no message reports
//!
//! | misuse | what happens |
//! |---|---|
//! | what is inside of an adapter is polled through its `get_mut` | It does not see the task: a 0.1 future panics with futures' message, or registers the task around the adapter. |
//! | a future of tokio-core is awaited, and its Core is not turned | It waits for ever. A [`CoreThread`](crate::core_thread::CoreThread) turns its Core. |
//! | a socket of tokio-core is used after its Core was dropped | On 0.1.12 what would block waits for ever, on 0.1.13 and later it goes on (`once_the_core_is_gone_a_socket_sleeps_for_ever_on_0_1_12`). |
//! | a socket or timer of tokio 1 is used while its current-thread runtime is not in `block_on` | It waits until that runs again; in a [`task::InRuntime`](crate::task::InRuntime) too. |
//! | `wait()`, or another call that blocks, in a task | Its thread does nothing else meanwhile. When what it waits for runs on that thread, both wait for ever. |
//! | a 0.1 loop over 0.1 streams that are always ready | It keeps its thread until it ends; see [Budget](crate::task#budget). |
//! | [`ShutdownPolicy::Fin`](crate::io::ShutdownPolicy::Fin) under code that calls `shutdown` by habit | The peer reads the end of the stream. |
//! | [`ShutdownPolicy::Ignore`](crate::io::ShutdownPolicy::Ignore) under code that counts on FIN | The peer waits until the socket is dropped. |
//! | `with_vectored_writes` for a stream that writes one slice | Nothing is lost; there is a call for each slice. |
//! | two tasks wait for one direction of a shared socket | The one that asked last is woken, the other is not. |
//! | a call of one's own on a socket would block after `poll_read` said `Ready`, and no `need_read` follows | No task is registered: it waits for ever. |
//! | the closure of [`read_with`](crate::io::AsIo01::read_with) returns `WouldBlock` for another reason than the socket | tokio forgets the data that is there, and the task waits for more. |
//! | a `codec::AsTokioCodec` in tokio-util's `UdpFramed` | What it leaves of a datagram comes before the next one. |
//! | the read buffer is taken from tokio-util's `Framed` around one | It is empty: take it from `AsTokioCodec::into_parts` (`what_is_not_decoded_comes_back_with_the_codec`). |
//! | a `service::As01Service` of a service that limits or queues by state that its clones don't share | Each call is made of a clone, so nothing is limited. |
//! | a [`Local`](crate::spawn::Local) is not run | Its tasks wait for the next `run_until`. |
//! | a [`Call`](crate::spawn::Call) is dropped, or a [`CoreThread`](crate::core_thread::CoreThread) before its calls have ended | The future on the Core is dropped; the other calls resolve to [`Lost::Gone`](crate::spawn::Lost::Gone). |
//! | a call waits for a task elsewhere that awaits the shutdown of the call's Core | Both wait for ever. |
//! | a `timeout` around a call, under a paused clock | It elapses at once, unless the call is [`in_real_time`](crate::spawn::Call::in_real_time) (`on_a_paused_clock_a_timeout_around_a_call_elapses_at_once`). |
//! | `in_real_time` for a call that waits for a timer of the held clock | The timer never fires. |
