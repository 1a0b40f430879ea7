//! The deprecated `io::EasyBuf`.

#![allow(deprecated)]

use tokio_core::io::EasyBuf;

fn digits() -> EasyBuf {
    (0..10).collect::<Vec<u8>>().into()
}

#[test]
fn parts_share_the_bytes() {
    let mut buf = digits();
    let rest = buf.split_off(9);
    let first = buf.drain_to(3);
    assert_eq!((first, rest), (vec![0, 1, 2].into(), vec![9].into()));
    assert_eq!(buf, [3, 4, 5, 6, 7, 8]);
}

#[test]
fn a_part_can_be_changed_while_others_are_in_use() {
    let mut buf = digits();
    let first = buf.drain_to(3);
    buf.get_mut().push(10);
    assert_eq!(buf, [3, 4, 5, 6, 7, 8, 9, 10]);
    assert_eq!(first, [0, 1, 2]);
    assert!(buf.get_mut().capacity() >= 8 * 1024);
}

#[test]
fn the_only_part_is_changed_in_place() {
    let mut buf = digits();
    let address = buf.as_slice().as_ptr();
    drop(buf.split_off(9));
    drop(buf.drain_to(3));
    let bytes = Vec::from(buf);
    assert_eq!(bytes, [3, 4, 5, 6, 7, 8]);
    assert_eq!(bytes.as_ptr(), address);
}

#[test]
#[should_panic(expected = "EasyBuf of 10 bytes was divided at 11")]
fn a_division_beyond_the_end_panics() {
    digits().split_off(11);
}

#[test]
fn debug_shows_eight_bytes() {
    assert_eq!(
        format!("{:?}", digits()),
        "EasyBuf{len=10/10 [0, 1, 2, 3, ..., 6, 7, 8, 9]}"
    );
    let mut buf = digits();
    buf.split_off(2);
    assert_eq!(format!("{buf:?}"), "EasyBuf{len=2/10 [0, 1]}");
}
