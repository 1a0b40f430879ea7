//! Rows 10, 34, 42, 44, 74 and 75: ports that the compiler refuses.
//!
//! rustdoc compiles these, for `lib.rs` lists them among what is shown: what 0.1 let pass, the port
//! that suggests itself, and the one that compiles. On a nightly toolchain rustdoc also compares
//! the code of the error.

/// The futures must be `Unpin`, which no `async fn`'s is.
///
/// futures 0.1 took them as they came:
///
/// ```
/// use futures01::{future, Future};
///
/// fn dial(port: u16) -> impl Future<Item = u16, Error = ()> {
///     future::ok(port)
/// }
///
/// let (first, ..) = future::select_all([dial(1), dial(2)]).wait().ok().unwrap();
/// assert_eq!(first, 1);
/// ```
///
/// Naive, the same words:
///
/// ```compile_fail,E0277
/// use futures_util::future;
///
/// async fn dial(port: u16) -> u16 {
///     port
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let (first, ..) = future::select_all([dial(1), dial(2)]).await;
/// assert_eq!(first, 1);
/// # }
/// ```
///
/// Right, each in a box:
///
/// ```
/// use futures_util::future;
///
/// async fn dial(port: u16) -> u16 {
///     port
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let (first, ..) = future::select_all([dial(1), dial(2)].map(Box::pin)).await;
/// assert_eq!(first, 1);
/// # }
/// ```
fn row_10_select_all_asks_for_unpin() {}

/// `tokio::spawn` asks for `Send`, which nothing of `unsync` is.
///
/// futures 0.1 kept a Core's tasks on its thread:
///
/// ```
/// use futures01::{unsync::oneshot, Future};
/// use tokio_core::reactor::Core;
///
/// let (tx, rx) = oneshot::channel::<u32>();
/// let task = rx.map(|n| assert_eq!(n, 1)).map_err(drop);
/// let mut core = Core::new().unwrap();
/// core.handle().spawn(task);
/// tx.send(1).unwrap();
/// # core.turn(None);
/// ```
///
/// Naive, on whichever thread is free:
///
/// ```compile_fail,E0277
/// use futures01::{unsync::oneshot, Future};
/// use tokio_core_compat::task::AsStd;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let (tx, rx) = oneshot::channel::<u32>();
/// let task = rx.map(|n| assert_eq!(n, 1)).map_err(drop);
/// let task = tokio::spawn(AsStd::new(task));
/// tx.send(1).unwrap();
/// assert_eq!(task.await.unwrap(), Ok(()));
/// # }
/// ```
///
/// Right, on a thread's own set (or with the `Send` channel of `futures::sync`, and then every
/// `Rc` beside it has to go):
///
/// ```
/// use futures01::{unsync::oneshot, Future};
/// use tokio_core_compat::task::AsStd;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// # tokio::task::LocalSet::new().run_until(async {
/// let (tx, rx) = oneshot::channel::<u32>();
/// let task = rx.map(|n| assert_eq!(n, 1)).map_err(drop);
/// let task = tokio::task::spawn_local(AsStd::new(task));
/// tx.send(1).unwrap();
/// assert_eq!(task.await.unwrap(), Ok(()));
/// # }).await
/// # }
/// ```
fn row_34_spawn_asks_for_send() {}

/// A `BoxFuture` is `Send`; the box that programs wrote by hand was not.
///
/// futures 0.1:
///
/// ```
/// use std::rc::Rc;
/// use futures01::{future, Future};
///
/// fn shared(config: Rc<u32>) -> Box<dyn Future<Item = Rc<u32>, Error = ()>> {
///     Box::new(future::ok(config))
/// }
///
/// assert_eq!(*shared(Rc::new(1)).wait().unwrap(), 1);
/// ```
///
/// Naive, the alias that reads like it:
///
/// ```compile_fail,E0277
/// use std::future;
/// use std::rc::Rc;
/// use futures_util::future::BoxFuture;
///
/// fn shared(config: Rc<u32>) -> BoxFuture<'static, Rc<u32>> {
///     Box::pin(future::ready(config))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// assert_eq!(*shared(Rc::new(1)).await, 1);
/// # }
/// ```
///
/// Right:
///
/// ```
/// use std::future;
/// use std::rc::Rc;
/// use futures_util::future::LocalBoxFuture;
///
/// fn shared(config: Rc<u32>) -> LocalBoxFuture<'static, Rc<u32>> {
///     Box::pin(future::ready(config))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// assert_eq!(*shared(Rc::new(1)).await, 1);
/// # }
/// ```
fn row_42_a_box_future_is_send() {}

/// A machine that replaces its state moves what is in it, so that has to be `Unpin`.
///
/// futures 0.1:
///
/// ```
/// use std::mem;
/// use futures01::{future, Async, Future, Poll};
///
/// enum Upper<F> {
///     Asking(F),
///     Done,
/// }
///
/// impl<F: Future<Item = String>> Future for Upper<F> {
///     type Item = String;
///     type Error = F::Error;
///
///     fn poll(&mut self) -> Poll<String, F::Error> {
///         match mem::replace(self, Upper::Done) {
///             Upper::Asking(mut asking) => match asking.poll()? {
///                 Async::Ready(name) => Ok(Async::Ready(name.to_uppercase())),
///                 Async::NotReady => {
///                     *self = Upper::Asking(asking);
///                     Ok(Async::NotReady)
///                 }
///             },
///             Upper::Done => panic!("polled Upper twice"),
///         }
///     }
/// }
///
/// let upper = Upper::Asking(future::ok::<_, ()>("a".to_owned()));
/// assert_eq!(upper.wait().unwrap(), "A");
/// ```
///
/// Naive, line by line:
///
/// ```compile_fail,E0277
/// use std::future::Future;
/// use std::mem;
/// use std::pin::Pin;
/// use std::task::{Context, Poll};
///
/// enum Upper<F> {
///     Asking(F),
///     Done,
/// }
///
/// impl<F: Future<Output = String>> Future for Upper<F> {
///     type Output = String;
///
///     fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<String> {
///         let this = self.get_mut();
///         match mem::replace(this, Upper::Done) {
///             Upper::Asking(mut asking) => match Pin::new(&mut asking).poll(cx) {
///                 Poll::Ready(name) => Poll::Ready(name.to_uppercase()),
///                 Poll::Pending => {
///                     *this = Upper::Asking(asking);
///                     Poll::Pending
///                 }
///             },
///             Upper::Done => panic!("polled Upper twice"),
///         }
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let upper = Upper::Asking(Box::pin(async { "a".to_owned() }));
/// assert_eq!(upper.await, "A");
/// # }
/// ```
///
/// Right, with the bound said (or without the machine, as an `async fn`):
///
/// ```
/// use std::future::Future;
/// use std::mem;
/// use std::pin::Pin;
/// use std::task::{Context, Poll};
///
/// enum Upper<F> {
///     Asking(F),
///     Done,
/// }
///
/// impl<F: Future<Output = String> + Unpin> Future for Upper<F> {
///     type Output = String;
///
///     fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<String> {
///         let this = self.get_mut();
///         match mem::replace(this, Upper::Done) {
///             Upper::Asking(mut asking) => match Pin::new(&mut asking).poll(cx) {
///                 Poll::Ready(name) => Poll::Ready(name.to_uppercase()),
///                 Poll::Pending => {
///                     *this = Upper::Asking(asking);
///                     Poll::Pending
///                 }
///             },
///             Upper::Done => panic!("polled Upper twice"),
///         }
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let upper = Upper::Asking(Box::pin(async { "a".to_owned() }));
/// assert_eq!(upper.await, "A");
/// # }
/// ```
fn row_44_a_replaced_state_must_be_unpin() {}

/// A trait with an `async fn` makes no `dyn` object.
///
/// futures 0.1, where the trait named the box:
///
/// ```
/// use futures01::{future, Future};
///
/// trait Resolve {
///     fn resolve(&self, name: &str) -> Box<dyn Future<Item = u16, Error = ()>>;
/// }
///
/// struct Fixed;
///
/// impl Resolve for Fixed {
///     fn resolve(&self, _: &str) -> Box<dyn Future<Item = u16, Error = ()>> {
///         Box::new(future::ok(1))
///     }
/// }
///
/// let resolver: Box<dyn Resolve> = Box::new(Fixed);
/// assert_eq!(resolver.resolve("a").wait(), Ok(1));
/// ```
///
/// Naive:
///
/// ```compile_fail,E0038
/// trait Resolve {
///     async fn resolve(&self, name: &str) -> Result<u16, ()>;
/// }
///
/// struct Fixed;
///
/// impl Resolve for Fixed {
///     async fn resolve(&self, _: &str) -> Result<u16, ()> {
///         Ok(1)
///     }
/// }
///
/// let resolver: Box<dyn Resolve> = Box::new(Fixed);
/// ```
///
/// Right: the box stays in the signature, and the body becomes a block. Its lifetime is that of
/// what it borrows.
///
/// ```
/// use futures_util::future::LocalBoxFuture;
///
/// trait Resolve {
///     fn resolve<'a>(&'a self, name: &'a str) -> LocalBoxFuture<'a, Result<u16, ()>>;
/// }
///
/// struct Fixed;
///
/// impl Resolve for Fixed {
///     fn resolve<'a>(&'a self, _: &'a str) -> LocalBoxFuture<'a, Result<u16, ()>> {
///         Box::pin(async { Ok(1) })
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let resolver: Box<dyn Resolve> = Box::new(Fixed);
/// assert_eq!(resolver.resolve("a").await, Ok(1));
/// # }
/// ```
fn row_74_an_async_fn_makes_no_trait_object() {}

/// What a spawned task returns crosses threads, its error too.
///
/// futures 0.1 spawned what had reported its error already, so that any type of error would do:
///
/// ```
/// use std::error::Error;
/// use futures01::{future, Future};
/// use tokio_core::reactor::Core;
///
/// let failed = future::err::<(), Box<dyn Error>>("refused".into());
/// Core::new().unwrap().handle().spawn(failed.map_err(|error| eprintln!("{error}")));
/// ```
///
/// Naive:
///
/// ```compile_fail,E0277
/// use std::error::Error;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let task = tokio::spawn(async { Err::<(), Box<dyn Error>>("refused".into()) });
/// assert!(task.await.unwrap().is_err());
/// # }
/// ```
///
/// Right: the error says that it may cross. This changes the signature of each function that it
/// comes from.
///
/// ```
/// use std::error::Error;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let task = tokio::spawn(async { Err::<(), Box<dyn Error + Send + Sync>>("refused".into()) });
/// assert!(task.await.unwrap().is_err());
/// # }
/// ```
fn row_75_an_error_has_to_be_send() {}
