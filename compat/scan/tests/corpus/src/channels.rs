use futures::sync::{mpsc, oneshot, BiLock};
use futures::unsync;

fn made() {
    mpsc::channel::<u8>(1); //~ 33
    mpsc::unbounded::<u8>(); //~ 33
    unsync::mpsc::channel::<u8>(1); //~ 34
    unsync::oneshot::channel::<u8>(); //~ 34
    let (mut tx, _rx) = oneshot::channel::<u8>(); //~ 35
    tx.poll_cancel(); //~ 35!
    tx.is_canceled(); //~ 35
    BiLock::new(1); //~ 36
}
