//! What ptunnel and a process that runs a PAC file for it say to each other: a byte that says what
//! it is, the length of a text in four bytes, and the text in UTF-8.

use std::io::{self, ErrorKind, Read, Write};

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageKind {
    /// The file's text, which is to be run as far as it runs before it is asked.
    Load,
    /// A URL, a space and a host, for FindProxyForURL.
    Ask,
    /// What was requested: the answer to `Addresses` and `Own`.
    Reply,
    /// What FindProxyForURL returned; nothing after `Load`.
    Answer,
    /// A line, a space and the text of an error.
    Thrown,
    /// A request for the addresses of a host name.
    Addresses,
    /// A request for this machine's addresses.
    Own,
    /// A text for the log.
    Log,
}

impl MessageKind {
    const ALL: [MessageKind; 8] = [
        MessageKind::Load,
        MessageKind::Ask,
        MessageKind::Reply,
        MessageKind::Answer,
        MessageKind::Thrown,
        MessageKind::Addresses,
        MessageKind::Own,
        MessageKind::Log,
    ];
}

/// Writes one frame.
pub(super) fn write(mut to: impl Write, kind: MessageKind, text: &str) -> io::Result<()> {
    let mut frame = vec![kind as u8];
    frame.extend_from_slice(&(text.len() as u32).to_be_bytes());
    frame.extend_from_slice(text.as_bytes());
    to.write_all(&frame)
}

/// Reads one frame, the text of which has so many bytes at most.
pub(super) fn read(mut from: impl Read, most: usize) -> io::Result<(MessageKind, String)> {
    let mut head = [0; 5];
    from.read_exact(&mut head)?;
    let [kind, a, b, c, d] = head;
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    let is_it = |known: &&MessageKind| **known as u8 == kind;
    match MessageKind::ALL.iter().find(is_it) {
        Some(kind) if length <= most => {
            let mut text = vec![0; length];
            from.read_exact(&mut text)?;
            Ok((*kind, String::from_utf8_lossy(&text).into_owned()))
        }
        _ => Err(ErrorKind::InvalidData.into()),
    }
}

/// The beginning of a text, of so many bytes at most.
pub(super) fn cut(text: &str, most: usize) -> &str {
    let fits = |end: &usize| *end <= most && text.is_char_boundary(*end);
    let end = (0..=most.min(text.len())).rev().find(fits).unwrap_or(0);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_reads_as_it_was_written_and_no_part_of_it_does() {
        for kind in &MessageKind::ALL {
            let mut bytes = Vec::new();
            write(&mut bytes, *kind, "grün").unwrap();
            assert_eq!(read(&bytes[..], 5).unwrap(), (*kind, "grün".into()));
            for end in 0..bytes.len() {
                assert!(read(&bytes[..end], 5).is_err(), "{}", end);
            }
        }
    }

    /// The other side may be under the control of whoever wrote the file.
    #[test]
    fn what_is_no_frame_is_refused_before_its_text_is_read() {
        let mut long = Vec::new();
        write(&mut long, MessageKind::Log, "12345").unwrap();
        for bytes in &[&long[..5], &[200, 0, 0, 0, 1, 65], &[0, 255, 255, 255, 255]] {
            let e = read(*bytes, 4).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::InvalidData);
        }
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(
            (cut("grün", 3), cut("grün", 4), cut("", 3)),
            ("gr", "grü", "")
        );
    }
}
