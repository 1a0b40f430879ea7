//! Encoders and decoders of one generation, used by the other.
//!
//! | you have | and want to | wrap it in |
//! |---|---|---|
//! | a codec for tokio-io 0.1 | frame a tokio 1 stream with tokio-util's `Framed` | [`AsTokioCodec`] |
//! | a codec for tokio-util | frame a 0.1 stream with tokio-io's `framed` | [`As01Codec`] |
//!
//! *Cost*: the two generations have buffers of different types, so each byte is copied once more, in
//! either direction. The wrapper keeps two buffers, which grow to the size of the largest frame.
//! *Cancellation*: as without the wrapper; bytes that were read stay in its buffer. *Ownership*: what
//! the decoder has not used lies in the wrapper, and not in the `Framed`. Take it from `into_parts`
//! before you read the stream by other means (after an upgrade, say): the read buffer of
//! `Framed::into_parts` is empty.
//!
//! For streams of bytes. tokio-util's `UdpFramed` forgets what a codec leaves of a datagram, and
//! [`AsTokioCodec`] keeps it for the next one: use `net::UdpFramed`.
//!
//! An encoder gets an empty buffer for each item. What it writes before it fails is sent, as without
//! the wrapper.
#![allow(
    deprecated,
    reason = "tokio-io 0.1.13 deprecates its codecs for tokio-codec, which re-exports them"
)]

use std::fmt;
use std::marker::PhantomData;

use bytes::BytesMut as BytesMut01;
use bytes1::BytesMut;
use tokio_io::codec::{Decoder as Decoder01, Encoder as Encoder01};
use tokio_util::codec::{Decoder, Encoder};

/// A codec for tokio-io 0.1, as one for tokio-util. See [the module](crate::codec) for cost,
/// cancellation and ownership.
///
/// ```
/// use bytes::BytesMut;
/// use futures_util::{SinkExt as _, StreamExt as _};
/// use tokio_core_compat::codec::AsTokioCodec;
/// use tokio_util::codec::Framed;
///
/// /// As it was: a frame is a byte.
/// struct Bytewise;
///
/// impl tokio_io::codec::Decoder for Bytewise {
///     type Item = u8;
///     type Error = std::io::Error;
///
///     fn decode(&mut self, src: &mut BytesMut) -> Result<Option<u8>, std::io::Error> {
///         Ok((!src.is_empty()).then(|| src.split_to(1)[0]))
///     }
/// }
///
/// impl tokio_io::codec::Encoder for Bytewise {
///     type Item = u8;
///     type Error = std::io::Error;
///
///     fn encode(&mut self, byte: u8, dst: &mut BytesMut) -> Result<(), std::io::Error> {
///         dst.extend([byte]);
///         Ok(())
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// let (near, far) = tokio::io::duplex(64);
/// let mut near = Framed::new(near, AsTokioCodec::new(Bytewise));
/// let mut far = Framed::new(far, AsTokioCodec::new(Bytewise));
/// near.send(7).await?;
/// assert_eq!(far.next().await.unwrap()?, 7);
/// # Ok(())
/// # }
/// ```
pub struct AsTokioCodec<C> {
    codec: C,
    read: BytesMut01,
    written: BytesMut01,
}

impl<C> AsTokioCodec<C> {
    /// Wraps a codec for tokio-io 0.1: an encoder, a decoder, or both.
    pub fn new(codec: C) -> AsTokioCodec<C> {
        AsTokioCodec {
            codec,
            read: BytesMut01::new(),
            written: BytesMut01::new(),
        }
    }

    /// The codec inside.
    pub fn get_ref(&self) -> &C {
        &self.codec
    }

    /// The codec inside.
    pub fn get_mut(&mut self) -> &mut C {
        &mut self.codec
    }

    /// Gives back the codec, and what was read and not decoded.
    pub fn into_parts(self) -> (C, BytesMut01) {
        (self.codec, self.read)
    }
}

impl<C: Decoder01> AsTokioCodec<C> {
    fn take(&mut self, src: &mut BytesMut) {
        self.read.extend_from_slice(src);
        src.clear();
    }
}

impl<C: Decoder01> Decoder for AsTokioCodec<C> {
    type Item = C::Item;
    type Error = C::Error;

    fn decode(&mut self, src: &mut BytesMut) -> Result<Option<C::Item>, C::Error> {
        self.take(src);
        self.codec.decode(&mut self.read)
    }

    fn decode_eof(&mut self, src: &mut BytesMut) -> Result<Option<C::Item>, C::Error> {
        self.take(src);
        self.codec.decode_eof(&mut self.read)
    }
}

impl<C: Encoder01> Encoder<C::Item> for AsTokioCodec<C> {
    type Error = C::Error;

    fn encode(&mut self, item: C::Item, dst: &mut BytesMut) -> Result<(), C::Error> {
        let encoded = self.codec.encode(item, &mut self.written);
        dst.extend_from_slice(&self.written);
        self.written.clear();
        encoded
    }
}

impl<C: fmt::Debug> fmt::Debug for AsTokioCodec<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AsTokioCodec").field(&self.codec).finish()
    }
}

/// A codec for tokio-util, as one for tokio-io 0.1. See [the module](crate::codec) for cost,
/// cancellation and ownership.
///
/// A codec of tokio-util can encode items of several types; this one encodes `Item`s.
///
/// ```
/// use futures01::{Future as _, Sink as _, Stream as _};
/// use tokio_core_compat::codec::As01Codec;
/// use tokio_core_compat::io::ShutdownPolicy;
/// use tokio_core_compat::prelude::*;
/// use tokio_io::AsyncRead as _;
/// use tokio_util::codec::LinesCodec;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (near, far) = tokio::io::duplex(64);
/// let lines = || As01Codec::<_, String>::new(LinesCodec::new());
/// let near = near.into_io_01(ShutdownPolicy::Fin).framed(lines());
/// let far = far.into_io_01(ShutdownPolicy::Fin).framed(lines());
/// near.send("a line".into()).into_std().await?;
/// let all = far.collect().into_std().await?;
/// assert_eq!(all, ["a line"]);
/// # Ok(())
/// # }
/// ```
pub struct As01Codec<C, Item> {
    codec: C,
    read: BytesMut,
    written: BytesMut,
    item: PhantomData<fn(Item)>,
}

impl<C> As01Codec<C, ()> {
    /// Wraps a decoder for tokio-util that encodes nothing.
    pub fn decoder(codec: C) -> As01Codec<C, ()> {
        As01Codec::new(codec)
    }
}

impl<C, Item> As01Codec<C, Item> {
    /// Wraps a codec for tokio-util: an encoder, or both.
    pub fn new(codec: C) -> As01Codec<C, Item> {
        As01Codec {
            codec,
            read: BytesMut::new(),
            written: BytesMut::new(),
            item: PhantomData,
        }
    }

    /// The codec inside.
    pub fn get_ref(&self) -> &C {
        &self.codec
    }

    /// The codec inside.
    pub fn get_mut(&mut self) -> &mut C {
        &mut self.codec
    }

    /// Gives back the codec, and what was read and not decoded.
    pub fn into_parts(self) -> (C, BytesMut) {
        (self.codec, self.read)
    }

    fn take(&mut self, src: &mut BytesMut01) {
        self.read.extend_from_slice(src);
        src.clear();
    }
}

impl<C: Decoder, Item> Decoder01 for As01Codec<C, Item> {
    type Item = C::Item;
    type Error = C::Error;

    fn decode(&mut self, src: &mut BytesMut01) -> Result<Option<C::Item>, C::Error> {
        self.take(src);
        self.codec.decode(&mut self.read)
    }

    fn decode_eof(&mut self, src: &mut BytesMut01) -> Result<Option<C::Item>, C::Error> {
        self.take(src);
        self.codec.decode_eof(&mut self.read)
    }
}

impl<C: Encoder<Item>, Item> Encoder01 for As01Codec<C, Item> {
    type Item = Item;
    type Error = C::Error;

    fn encode(&mut self, item: Item, dst: &mut BytesMut01) -> Result<(), C::Error> {
        let encoded = self.codec.encode(item, &mut self.written);
        dst.extend_from_slice(&self.written);
        self.written.clear();
        encoded
    }
}

impl<C: fmt::Debug, Item> fmt::Debug for As01Codec<C, Item> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("As01Codec").field(&self.codec).finish()
    }
}
