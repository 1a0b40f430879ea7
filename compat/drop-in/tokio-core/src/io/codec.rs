//! Frames out of bytes, and back.

use std::io;

use super::EasyBuf;

/// A translation between bytes and frames, for [`Framed`](super::Framed).
pub trait Codec {
    /// The frames that are received.
    type In;

    /// The frames that are sent.
    type Out;

    /// Takes one frame off the front of `buf`, or returns `None` when it isn't complete yet.
    ///
    /// # Errors
    ///
    /// When the bytes are no frame; the stream yields the error.
    fn decode(&mut self, buf: &mut EasyBuf) -> io::Result<Option<Self::In>>;

    /// Takes a frame off the front of `buf` when no more bytes will come. `buf` isn't empty.
    ///
    /// By default it is what [`decode`](Codec::decode) makes of it.
    ///
    /// # Errors
    ///
    /// By default when that returns `None`.
    fn decode_eof(&mut self, buf: &mut EasyBuf) -> io::Result<Self::In> {
        self.decode(buf)?
            .ok_or_else(|| io::Error::other("the stream ended within a frame"))
    }

    /// Appends the bytes of `msg` to `buf`.
    ///
    /// # Errors
    ///
    /// When it can't; the sink's `start_send` returns the error.
    fn encode(&mut self, msg: Self::Out, buf: &mut Vec<u8>) -> io::Result<()>;
}
