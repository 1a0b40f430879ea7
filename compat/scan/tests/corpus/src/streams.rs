use futures::stream::{self, Stream};
use futures::sink::Sink;
use futures::{Async, AsyncSink, Future, Poll, StartSend};

type Items = stream::IterOk<std::vec::IntoIter<u8>, ()>;

fn items() -> Items {
    stream::iter_ok(vec![1, 2, 3])
}

fn consumers() {
    items().for_each(|_| Ok(())); //~ 21
    items().then(|x| x).or_else(|()| Ok::<u8, ()>(1)); //~ 2 22 5 22
    items().fold(0, |a, b| Ok::<_, ()>(a + b)); //~ 23
    items().map(|x| vec![x]).concat2(); //~ 3 23
    items().collect().wait(); //~ 23 20!
    items().map(|x| Ok::<u8, ()>(x)).buffered(2); //~ 3 24
    items().map(|x| Ok::<u8, ()>(x)).buffer_unordered(2); //~ 3 24
    items().chunks(2); //~ 25
    items().take_while(|x| Ok(*x < 2)).zip(items()); //~ 28 28
    items().select(items()); //~ 28
    for _ in items().wait() {} //~ 20!
}

fn sinks<S: Sink<SinkItem = u8, SinkError = ()> + Stream<Item = u8, Error = ()>>(s: S) {
    let (sink, stream) = s.split(); //~ 27
    let sink = sink.send(1).wait().unwrap(); //~ 29 20!
    let (sink, _) = sink.send_all(items()).wait().unwrap(); //~ 30 20!
    stream.forward(sink).wait(); //~ 26 20!
}

struct Full(Option<u8>);

impl Sink for Full { //~ 32
    type SinkItem = u8;
    type SinkError = ();

    fn start_send(&mut self, item: u8) -> StartSend<u8, ()> {
        if self.0.is_some() {
            return Ok(AsyncSink::NotReady(item)); //~ 31
        }
        self.0 = Some(item);
        Ok(AsyncSink::Ready) //~ 31
    }

    fn poll_complete(&mut self) -> Poll<(), ()> {
        Ok(Async::Ready(())) //~ 39
    }
}

fn flushed<S: Sink<SinkItem = u8, SinkError = ()>>(mut s: S) {
    s.start_send(1); //~ 31
    s.poll_complete(); //~ 32
    s.close(); //~ 32
}
