//! Row 61: what an error of a decoder does to its stream.

use std::io;

use futures01::Stream as _;
use futures_util::StreamExt as _;

/// Three replies, the second of them malformed.
const REPLIES: &[u8] = b"1\ntwo\n3\n";

/// Decodes a number from each line: one codec, in both generations.
struct Numbers;

impl Numbers {
    /// The next line's length, its end included; `None` for as long as that has not come.
    fn line(buffer: &[u8]) -> Option<usize> {
        Some(buffer.iter().position(|byte| *byte == b'\n')? + 1)
    }

    fn parse(line: &[u8]) -> io::Result<u32> {
        let number = std::str::from_utf8(line.trim_ascii()).ok();
        let number = number.and_then(|number| number.parse().ok());
        number.ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

#[allow(deprecated, reason = "tokio-io 0.1.8 and later point to tokio-codec")]
mod codec_01 {
    use std::io::{self, Cursor};

    use futures01::Stream;
    use tokio_io::codec::{Decoder, FramedRead};

    use super::{Numbers, REPLIES};

    pub fn replies() -> impl Stream<Item = u32, Error = io::Error> {
        FramedRead::new(Cursor::new(REPLIES), Numbers)
    }

    impl Decoder for Numbers {
        type Item = u32;
        type Error = io::Error;

        fn decode(&mut self, buffer: &mut bytes::BytesMut) -> io::Result<Option<u32>> {
            let line = Numbers::line(buffer).map(|end| buffer.split_to(end));
            line.map(|line| Numbers::parse(&line)).transpose()
        }
    }
}

impl tokio_util::codec::Decoder for Numbers {
    type Item = u32;
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut bytes1::BytesMut) -> io::Result<Option<u32>> {
        let line = Numbers::line(buffer).map(|end| buffer.split_to(end));
        line.map(|line| Numbers::parse(&line)).transpose()
    }
}

/// The same, which hands what is wrong with a frame out as an item.
struct Replies(Numbers);

impl tokio_util::codec::Decoder for Replies {
    type Item = io::Result<u32>;
    type Error = io::Error;

    fn decode(&mut self, buffer: &mut bytes1::BytesMut) -> io::Result<Option<Self::Item>> {
        let decoded = tokio_util::codec::Decoder::decode(&mut self.0, buffer);
        Ok(decoded.transpose())
    }
}

#[tokio::test]
async fn row_61_a_malformed_frame_ends_the_stream() {
    // futures 0.1: the stream goes on behind the frame that its codec could not read.
    let read: Vec<Option<u32>> = codec_01::replies().wait().map(Result::ok).collect();
    assert_eq!(read, [Some(1), None, Some(3)]);

    // Naive: the same codec. After an error the stream says, once, that it has ended; whoever asks
    // all the same finds the rest.
    let replies = tokio_util::codec::FramedRead::new(REPLIES, Numbers);
    let mut replies = replies.map(Result::ok);
    let read: Vec<Option<u32>> = replies.by_ref().collect().await;
    assert_eq!(read, [Some(1), None]);
    assert_eq!(replies.next().await, Some(Some(3)));

    // Right: an error is for a stream that is lost; what a frame says is an item.
    let replies = tokio_util::codec::FramedRead::new(REPLIES, Replies(Numbers));
    let read: Vec<Option<u32>> = replies.map(|reply| reply.unwrap().ok()).collect().await;
    assert_eq!(read, [Some(1), None, Some(3)]);
}
