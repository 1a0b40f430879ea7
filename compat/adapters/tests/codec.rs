//! Codecs of one generation in the `Framed` of the other: frames in pieces, the end, what is left.
#![allow(deprecated, reason = "tokio-io 0.1.13 deprecates its codecs")]

use std::io;

use bytes::BytesMut;
use futures01::{Sink as _, Stream as _};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_core_compat::codec::{As01Codec, AsTokioCodec};
use tokio_core_compat::io::ShutdownPolicy;
use tokio_core_compat::prelude::*;
use tokio_io::codec::FramedRead as FramedRead01;
use tokio_io::AsyncRead as _;
use tokio_util::codec::{Framed, FramedRead, FramedWrite, LengthDelimitedCodec, LinesCodec};

use crate::common;

/// Lines, as they were for tokio-io 0.1. "fail" cannot be encoded.
struct Lines;

impl tokio_io::codec::Decoder for Lines {
    type Item = String;
    type Error = io::Error;

    fn decode(&mut self, src: &mut BytesMut) -> Result<Option<String>, io::Error> {
        let Some(end) = src.iter().position(|byte| *byte == b'\n') else {
            return Ok(None);
        };
        let line = src.split_to(end + 1);
        Ok(Some(String::from_utf8_lossy(&line[..end]).into_owned()))
    }
}

impl tokio_io::codec::Encoder for Lines {
    type Item = String;
    type Error = io::Error;

    fn encode(&mut self, line: String, dst: &mut BytesMut) -> Result<(), io::Error> {
        assert!(dst.is_empty(), "a buffer of its own for each item");
        dst.extend_from_slice(line.as_bytes());
        if line == "fail" {
            return Err(io::ErrorKind::InvalidData.into());
        }
        dst.extend_from_slice(b"\n");
        Ok(())
    }
}

#[tokio::test]
async fn an_old_codec_frames_a_new_stream_in_pieces() {
    let (near, mut far) = tokio::io::duplex(64);
    let mut near = Framed::new(near, AsTokioCodec::new(Lines));
    for piece in ["o", "ne\ntwo\nth", "ree", "\n"] {
        far.write_all(piece.as_bytes()).await.unwrap();
        tokio::task::yield_now().await;
    }
    drop(far.flush().await);
    for line in ["one", "two", "three"] {
        assert_eq!(near.next().await.unwrap().unwrap(), line);
    }
    near.send("four".into()).await.unwrap();
    let mut got = [0; 5];
    far.read_exact(&mut got).await.unwrap();
    assert_eq!(&got, b"four\n");
    drop(far);
    assert!(near.next().await.is_none());
}

/// Several frames come in one read, and the end with them.
#[tokio::test]
async fn what_is_decoded_at_the_end_is_not_lost() {
    let mut all = FramedRead::new(&b"one\ntwo\nthr"[..], AsTokioCodec::new(Lines));
    assert_eq!(all.next().await.unwrap().unwrap(), "one");
    assert_eq!(all.next().await.unwrap().unwrap(), "two");
    let error = all.next().await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "bytes remaining on stream");
    assert!(all.next().await.is_none());
}

#[tokio::test]
async fn a_new_codec_frames_an_old_stream() {
    let (near, mut far) = tokio::io::duplex(64);
    let codec = As01Codec::<_, String>::new(LinesCodec::new());
    let near = near.into_io_01(ShutdownPolicy::Fin).framed(codec);
    far.write_all(b"one\ntw").await.unwrap();
    let (one, near) = near.into_future().into_std().await.ok().unwrap();
    assert_eq!(one.unwrap(), "one");
    far.write_all(b"o\nthree").await.unwrap();
    let near = near.send("four".into()).into_std().await.unwrap();
    let mut got = [0; 5];
    far.read_exact(&mut got).await.unwrap();
    assert_eq!(&got, b"four\n");
    far.shutdown().await.unwrap();
    let rest = near.collect().into_std().await.unwrap();
    assert_eq!(rest, ["two", "three"], "the last has no end of line");
}

#[tokio::test]
async fn a_decoder_alone_needs_no_item() {
    let (near, mut far) = tokio::io::duplex(64);
    let codec = As01Codec::decoder(LengthDelimitedCodec::new());
    let near = FramedRead01::new(near.into_io_01(ShutdownPolicy::Fin), codec);
    far.write_all(b"\0\0\0\x03one\0\0\0\x03two").await.unwrap();
    drop(far);
    let all = near.map(|frame| frame.freeze()).collect().into_std().await;
    assert_eq!(all.unwrap(), [&b"one"[..], b"two"]);
}

/// After an upgrade the stream is read by other means.
#[tokio::test]
async fn what_is_not_decoded_comes_back_with_the_codec() {
    let (near, mut far) = tokio::io::duplex(64);
    let mut near = Framed::new(near, AsTokioCodec::new(Lines));
    far.write_all(b"upgrade\n\x16\x03").await.unwrap();
    assert_eq!(near.next().await.unwrap().unwrap(), "upgrade");
    let parts = near.into_parts();
    assert!(parts.read_buf.is_empty(), "as documented");
    let (_, rest) = parts.codec.into_parts();
    assert_eq!(&rest[..], b"\x16\x03");

    let mut codec = As01Codec::<_, String>::new(LinesCodec::new());
    let mut read = BytesMut::from(&b"upgrade\n\x16\x03"[..]);
    let line = tokio_io::codec::Decoder::decode(&mut codec, &mut read);
    assert_eq!(line.unwrap().unwrap(), "upgrade");
    assert_eq!(&codec.into_parts().1[..], b"\x16\x03");
}

#[tokio::test]
async fn what_an_encoder_wrote_before_it_failed_is_sent() {
    let mut lines = FramedWrite::new(Vec::new(), AsTokioCodec::new(Lines));
    lines.feed("one".into()).await.unwrap();
    let error = lines.feed("fail".into()).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    lines.send("two".into()).await.unwrap();
    assert_eq!(lines.get_ref(), b"one\nfailtwo\n");
}

#[test]
fn frames_larger_than_any_buffer_pass() {
    common::watched(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (near, far) = tokio::io::duplex(4096);
            let old = As01Codec::<_, String>::new(LinesCodec::new());
            let old = near.into_io_01(ShutdownPolicy::Fin).framed(old);
            let mut new = Framed::new(far, AsTokioCodec::new(Lines));
            let line = "x".repeat(1 << 17);
            let (sent, got) = tokio::join!(old.send(line.clone()).into_std(), new.next());
            assert!(got.unwrap().unwrap() == line);
            drop(sent.unwrap());
        });
    });
}
