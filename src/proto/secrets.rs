//! What ptunnel has sent in confidence, and its removal from texts of the receiver.
//!
//! A proxy, or a gateway in front of it, can repeat a request in its refusal, in any form: as it was,
//! decoded, in JSON, in a page, in the address of a redirect. So secrets are found by their value, also
//! where such encodings surround it. Each excerpt of a text that is logged, shown or passed on goes
//! through [`Secrets::hide`] before it is cut.

use base64::engine::general_purpose::STANDARD_NO_PAD;
use base64::Engine;

use super::auth::{decode_basic, parameter};
use crate::config::{Credentials, Header, Secret};
use crate::text::debug::debug_by_name;

/// Shorter secrets are parts of ordinary words: a text without them would show them.
const SHORT: usize = 4;

/// Shorter parts of a value that has parts, such as that of `Cookie`, aren't taken for secrets.
const SHORT_PART: usize = 6;

/// A token is recognized by so many bytes: a gateway may shorten it.
const OF_TOKEN: usize = 8;

/// Maximum length of a text, in bytes: excerpts are shorter, also after secrets are hidden.
const LIMIT: usize = 4 * 1024;

/// Maximum number of encodings around each other that are undone.
const MAX_ENCODINGS: usize = 2;

/// Stands for characters beyond ASCII, which change with the encoding, also in number.
const BEYOND_ASCII: u8 = 0x80;

/// What ptunnel has sent to a peer and no one else may see.
#[derive(Clone, Default)]
pub struct Secrets {
    values: Vec<Value>,
}

/// A secret.
#[derive(Clone, PartialEq, Eq)]
struct Value {
    /// As [`folded`], not empty.
    bytes: Vec<u8>,
    is_short: bool,
    /// The number of its first bytes by which it is recognized.
    least: usize,
}

debug_by_name!(Secrets);

/// A byte of a text, perhaps decoded, and its place in the text.
#[derive(Clone, Copy)]
struct Symbol {
    byte: u8,
    start: usize,
    end: usize,
}

impl Secrets {
    /// Adds the password, or the username if the password is empty: then it is a token.
    pub fn add_credentials(&mut self, credentials: &Credentials) {
        let password = credentials.password().reveal();
        self.add_password(credentials.user().as_bytes(), password.as_bytes());
    }

    /// Adds a value of `Proxy-Authorization` or its like. The username of Digest isn't secret by itself.
    pub fn add_authorization(&mut self, value: &Secret) {
        let text = value.reveal();
        let token = text.find(' ').map_or(text, |space| &text[space + 1..]);
        // A gateway may leave the padding of base64 out.
        let token = token.trim_end_matches('=').as_bytes();
        match parameter(token, "response") {
            Some(response) => {
                self.add(token);
                self.add_token(response.as_bytes());
                let cnonce = parameter(token, "cnonce").unwrap_or_default();
                self.add_token(cnonce.as_bytes());
            }
            None => self.add_token(token),
        }
        self.add_basic(value);
    }

    /// Adds the value of a field, which may be a secret or contain some.
    pub fn add_header(&mut self, header: &Header) {
        self.add_parts(header.value());
        self.add_basic(&Secret::new(header.value()));
    }

    /// Adds a text, and its parts.
    pub(in crate::proto) fn add_parts(&mut self, text: &str) {
        let is_between = |c: char| " \t;,&?=\"".contains(c);
        let parts = text.split(is_between).filter(|it| it.len() >= SHORT_PART);
        for part in parts.chain(Some(text).filter(|it| it.len() >= SHORT)) {
            self.add(part.as_bytes());
        }
    }

    fn add_basic(&mut self, value: &Secret) {
        if let Some((user, password)) = decode_basic(value) {
            self.add_password(&user, &password);
        }
    }

    fn add_password(&mut self, user: &[u8], password: &[u8]) {
        let secret = if password.is_empty() { user } else { password };
        self.add(secret);
        if secret.len() < SHORT {
            return;
        }
        self.add(STANDARD_NO_PAD.encode(secret).as_bytes());
        // As a part of a longer text in base64, it begins at one of three places in a group of bytes.
        for before in 0..3 {
            let encoded = STANDARD_NO_PAD.encode([&[0; 2][..before], secret].concat());
            let first = (before * 8 + 5) / 6;
            let is_whole = (before + secret.len()) % 3 == 0;
            let end = encoded.len() - if is_whole { 0 } else { 1 };
            self.add(&encoded.as_bytes()[first..end]);
        }
    }

    fn add(&mut self, text: &[u8]) {
        self.add_known_by(usize::MAX, text);
    }

    fn add_token(&mut self, text: &[u8]) {
        self.add_known_by(OF_TOKEN, text);
    }

    fn add_known_by(&mut self, least: usize, text: &[u8]) {
        let bytes = bytes(&folded(&symbols(text)));
        let value = Value {
            least: least.min(bytes.len()),
            bytes,
            is_short: String::from_utf8_lossy(text).chars().count() < SHORT,
        };
        if !value.bytes.is_empty() && !self.values.contains(&value) {
            self.values.push(value);
        }
    }

    /// Returns the text with `***` for each secret; of a long one, the first 4 KiB.
    ///
    /// A text that is cut, so that its end can be the beginning of a secret, ends before that in `…`.
    /// If a secret of less than four characters is a word of the text, all of it is hidden.
    pub fn hide(&self, text: &[u8], is_cut: bool) -> Vec<u8> {
        let is_cut = is_cut || text.len() > LIMIT;
        let text = &text[..text.len().min(LIMIT)];
        if self.values.is_empty() {
            return text.to_vec();
        }
        let (mut places, mut length) = (Vec::new(), text.len());
        for symbols in layers(text) {
            let bytes = bytes(&symbols);
            for value in &self.values {
                for start in occurrences(&bytes, &value.bytes[..value.least]) {
                    let both = bytes[start..].iter().zip(&value.bytes);
                    let last = start + both.take_while(|(a, b)| a == b).count() - 1;
                    if !value.is_short {
                        places.push((symbols[start].start, symbols[last].end));
                    } else if is_word(&bytes, start, last) {
                        return b"***".to_vec();
                    }
                }
            }
            let cut = symbols.get(self.safe_length(&bytes));
            let cut = cut.filter(|_| is_cut).map(|symbol| symbol.start);
            length = length.min(cut.unwrap_or(length));
        }
        places.sort_unstable();
        let (mut shown, mut from) = (Vec::new(), 0);
        for (start, end) in places.into_iter().filter(|(start, _)| *start < length) {
            if start >= from {
                shown.extend_from_slice(&text[from..start]);
                shown.extend_from_slice(b"***");
            }
            from = from.max(end);
        }
        shown.extend_from_slice(text.get(from..length).unwrap_or_default());
        if length < text.len() {
            shown.extend_from_slice("…".as_bytes());
        }
        shown
    }

    /// Returns the length of a cut text without an end that can be the beginning of a secret.
    fn safe_length(&self, bytes: &[u8]) -> usize {
        const LONGEST_ESCAPE: usize = 9;
        let mut tail = bytes.len().saturating_sub(LONGEST_ESCAPE)..bytes.len();
        let end = tail.find(|start| is_cut_escape(&bytes[*start..]));
        let bytes = &bytes[..end.unwrap_or(bytes.len())];
        let begins = |start: &usize| {
            let tail = &bytes[*start..];
            let mut values = self.values.iter().map(|value| &value.bytes);
            values.any(|value| value.len() > tail.len() && value.starts_with(tail))
        };
        let start = (0..bytes.len()).find(begins);
        start.unwrap_or(bytes.len())
    }
}

fn occurrences<'a>(bytes: &'a [u8], value: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let windows = bytes.windows(value.len()).enumerate();
    let found = windows.filter(move |(_, window)| *window == value);
    found.map(|(start, _)| start)
}

/// Returns whether neither of the bytes around this part is of the same word.
fn is_word(bytes: &[u8], first: usize, last: usize) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == BEYOND_ASCII;
    let before = first.checked_sub(1).and_then(|before| bytes.get(before));
    !before.map_or(false, is_letter) && !bytes.get(last + 1).map_or(false, is_letter)
}

fn symbols(text: &[u8]) -> Vec<Symbol> {
    let places = text.iter().enumerate();
    let symbol = |(start, byte): (usize, &u8)| Symbol {
        byte: *byte,
        start,
        end: start + 1,
    };
    places.map(symbol).collect()
}

fn bytes(symbols: &[Symbol]) -> Vec<u8> {
    symbols.iter().map(|symbol| symbol.byte).collect()
}

/// Returns the text, and what it is after undoing the escapes of one encoding or of several around
/// each other.
fn layers(text: &[u8]) -> impl Iterator<Item = Vec<Symbol>> {
    let mut layers = vec![symbols(text)];
    let mut first = 0;
    for _ in 0..MAX_ENCODINGS {
        let end = layers.len();
        for index in first..end {
            for escape in &ESCAPES {
                let decoded = unescaped(&layers[index], *escape);
                if decoded.len() < layers[index].len() {
                    layers.push(decoded);
                }
            }
        }
        first = end;
    }
    layers.into_iter().map(|symbols| folded(&symbols))
}

/// Returns a text without differences that encodings make: in lower case; one symbol for adjacent
/// characters beyond ASCII, for a space and the `+` of forms, and for the same digit of both alphabets
/// of base64 (RFC 4648 §4, §5).
fn folded(symbols: &[Symbol]) -> Vec<Symbol> {
    let mut folded: Vec<Symbol> = Vec::with_capacity(symbols.len());
    for symbol in symbols {
        let byte = match symbol.byte {
            b'\t' | b'\n' | b'\r' | b'+' | b'-' => b' ',
            b'_' => b'/',
            byte if byte.is_ascii() => byte.to_ascii_lowercase(),
            _ => BEYOND_ASCII,
        };
        match folded.last_mut() {
            Some(last) if (last.byte, byte) == (BEYOND_ASCII, BEYOND_ASCII) => {
                last.end = symbol.end
            }
            _ => folded.push(Symbol { byte, ..*symbol }),
        }
    }
    folded
}

/// Undoes the escapes of one encoding.
fn unescaped(symbols: &[Symbol], escape: Escape) -> Vec<Symbol> {
    let bytes = bytes(symbols);
    let (mut decoded, mut at) = (Vec::with_capacity(symbols.len()), 0);
    while let Some(&Symbol { byte, start, .. }) = symbols.get(at) {
        let (byte, length) = escape(&bytes[at..]).unwrap_or((byte, 1));
        at += length;
        let end = symbols[at - 1].end;
        decoded.push(Symbol { byte, start, end });
    }
    decoded
}

/// Returns the character of an escape at the start of a text that isn't empty, and the length of the
/// escape.
type Escape = fn(&[u8]) -> Option<(u8, usize)>;

const ESCAPES: [Escape; 3] = [in_url, in_json, in_html];

/// `%2b`
fn in_url(text: &[u8]) -> Option<(u8, usize)> {
    match text[0] {
        b'%' => Some((number(text.get(1..3)?, 16)?, 3)),
        _ => None,
    }
}

/// `\u002b`, `\x2b`, `\/`
fn in_json(text: &[u8]) -> Option<(u8, usize)> {
    if text[0] != b'\\' {
        return None;
    }
    match text.get(1)? {
        b'u' => Some((number(text.get(2..6)?, 16)?, 6)),
        b'x' => Some((number(text.get(2..4)?, 16)?, 4)),
        byte if b"\"'\\/".contains(byte) => Some((*byte, 2)),
        _ => None,
    }
}

/// `&amp;`, `&#43;`, `&#x2b;`
fn in_html(text: &[u8]) -> Option<(u8, usize)> {
    if text[0] != b'&' {
        return None;
    }
    let length = text.iter().take(10).position(|byte| *byte == b';')?;
    let byte = match &text[1..length] {
        b"amp" => b'&',
        b"lt" => b'<',
        b"gt" => b'>',
        b"quot" => b'"',
        b"apos" => b'\'',
        b"nbsp" => b' ',
        [b'#', b'x', digits @ ..] | [b'#', b'X', digits @ ..] => number(digits, 16)?,
        [b'#', digits @ ..] => number(digits, 10)?,
        [_, name @ ..] if !name.is_empty() && is_alphanumeric(name) => BEYOND_ASCII,
        _ => return None,
    };
    Some((byte, length + 1))
}

/// Returns whether a text that is cut can be the beginning of an escape.
fn is_cut_escape(text: &[u8]) -> bool {
    match text {
        [b'%', digits @ ..] => digits.len() < 2 && is_alphanumeric(digits),
        [b'\\', digits @ ..] => digits.len() < 5 && is_alphanumeric(digits),
        [b'&', b'#', name @ ..] | [b'&', name @ ..] => is_alphanumeric(name),
        _ => false,
    }
}

/// Returns the character with this number, as far as a byte can stand for it.
fn number(digits: &[u8], radix: u32) -> Option<u8> {
    let mut number: u32 = 0;
    for digit in digits {
        number = number.checked_mul(radix)? + char::from(*digit).to_digit(radix)?;
    }
    Some(if number < 0x80 {
        number as u8
    } else {
        BEYOND_ASCII
    })
    .filter(|_| !digits.is_empty())
}

fn is_alphanumeric(text: &[u8]) -> bool {
    text.iter().all(u8::is_ascii_alphanumeric)
}

#[cfg(test)]
mod tests;
