//! What ptunnel has sent in confidence, and its removal from texts of the receiver.
//!
//! A proxy, or a gateway in front of it, can repeat a request in its refusal, in any form: as it was,
//! decoded, in JSON, in a page, in the address of a redirect. So secrets are found by their value, also
//! where such encodings surround it. Each excerpt of a text that is logged, shown or passed on goes
//! through [`Secrets::hide`] before it is cut.

use std::collections::BTreeMap;

use base64::engine::general_purpose::STANDARD_NO_PAD;
use base64::Engine;

use super::auth::{decode_basic, parameter};
use crate::debug_by_name;
use crate::values::{Credentials, Header, Secret};

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

/// Stands for any character: that of an escape that the end of the text cuts.
const CUT: u8 = 0x81;

/// Maximum length of an escape, in characters.
const LONGEST_ESCAPE: usize = 10;

/// What ptunnel has sent to a peer and no one else may see.
#[derive(Clone, Default)]
pub struct Secrets {
    values: Vec<Value>,
}

/// A secret.
#[derive(Clone, PartialEq, Eq)]
struct Value {
    /// As [`folded`], with one for adjacent [`BEYOND_ASCII`], not empty.
    bytes: Vec<u8>,
    is_short: bool,
    /// The number of its first bytes by which it is recognized.
    least: usize,
}

debug_by_name!(Secrets);

/// What a text can mean: for each of its places, the characters that can start there, as [`folded`],
/// and where each ends. The first is the byte itself, the others are those of escapes.
///
/// Whether a `%` starts an escape depends on where the encoded part starts, which isn't known. So each
/// way to read the text counts.
struct Readings(Vec<Vec<(u8, usize)>>);

/// The places where parts of a text end, and for each the first place where such a part starts.
type Parts = BTreeMap<usize, usize>;

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
    pub(crate) fn add_parts(&mut self, text: &str) {
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
        let mut bytes: Vec<u8> = text.iter().map(|byte| folded(*byte)).collect();
        bytes.dedup_by(|next, byte| (*next, *byte) == (BEYOND_ASCII, BEYOND_ASCII));
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
        let readings = Readings::new(text, is_cut);
        let (mut ends, mut length) = (vec![0; text.len()], text.len());
        for value in &self.values {
            let mut parts = readings.starts(value.is_short);
            for (index, byte) in value.bytes.iter().enumerate() {
                parts = readings.longer(parts, |it| [*byte, CUT].contains(&it));
                if is_cut && index + 1 < value.bytes.len() {
                    length = length.min(*parts.get(&text.len()).unwrap_or(&length));
                }
                if index + 1 < value.least {
                    continue;
                }
                if !value.is_short {
                    for (end, start) in &parts {
                        ends[*start] = ends[*start].max(*end);
                    }
                } else if readings.is_end_of_word(parts.clone()) {
                    return b"***".to_vec();
                }
            }
        }
        shown(text, &ends, length)
    }
}

/// Returns the first bytes of a text, with `***` from each place that has an end to its end.
fn shown(text: &[u8], ends: &[usize], length: usize) -> Vec<u8> {
    let (mut shown, mut from) = (Vec::new(), 0);
    for (start, end) in ends.iter().enumerate().take(length) {
        if *end > 0 && start >= from {
            shown.extend_from_slice(&text[from..start]);
            shown.extend_from_slice(b"***");
        }
        from = from.max(*end);
    }
    shown.extend_from_slice(text.get(from..length).unwrap_or_default());
    if length < text.len() {
        shown.extend_from_slice("…".as_bytes());
    }
    shown
}

impl Readings {
    fn new(text: &[u8], is_cut: bool) -> Readings {
        let bytes = text.iter().enumerate();
        let literal = |(place, byte): (usize, &u8)| vec![(folded(*byte), place + 1)];
        let mut readings = Readings(bytes.map(literal).collect());
        for _ in 0..MAX_ENCODINGS {
            // What follows a place has the characters of one encoding less.
            for place in 0..text.len() {
                for index in 0..readings.0[place].len() {
                    readings.add_escapes(place, index, is_cut);
                }
            }
        }
        readings
    }

    /// Adds the characters of the escapes that start with this character.
    ///
    /// What follows it is decoded where it can be, because the other characters of an escape start none.
    /// The exception, `\\`, is found before anything is decoded.
    fn add_escapes(&mut self, place: usize, index: usize, is_cut: bool) {
        let next = |(_, end): &(u8, usize)| self.0.get(*end)?.last().copied();
        let path = std::iter::successors(Some(self.0[place][index]), next).take(LONGEST_ESCAPE);
        let (bytes, ends): (Vec<u8>, Vec<usize>) = path.unzip();
        let escapes = ESCAPES.iter().filter_map(|escape| escape(&bytes));
        let mut found: Vec<_> = escapes
            .map(|(byte, length)| (folded(byte), ends[length - 1]))
            .collect();
        let end = self.0.len();
        if is_cut && ends.last() == Some(&end) && is_cut_escape(&bytes) {
            found.push((CUT, end));
        }
        found.retain(|it| !self.0[place].contains(it));
        self.0[place].extend(found);
    }

    /// Returns empty parts: at each place, or only where a word can start.
    fn starts(&self, of_words: bool) -> Parts {
        let all: Parts = (0..self.0.len()).map(|place| (place, place)).collect();
        if !of_words {
            return all;
        }
        let ends = self.longer(all, is_between_words);
        let starts = Some(0).into_iter().chain(ends.keys().copied());
        starts.map(|place| (place, place)).collect()
    }

    fn is_end_of_word(&self, parts: Parts) -> bool {
        parts.contains_key(&self.0.len()) || !self.longer(parts, is_between_words).is_empty()
    }

    /// Returns the parts that are longer by a wanted character, or by several beyond ASCII.
    fn longer(&self, mut parts: Parts, is_wanted: impl Fn(u8) -> bool) -> Parts {
        let (mut longer, mut from) = (Parts::new(), 0);
        while let Some((&place, &start)) = parts.range(from..self.0.len()).next() {
            from = place + 1;
            let wanted = self.0[place].iter().filter(|(byte, _)| is_wanted(*byte));
            for (byte, end) in wanted {
                add(&mut longer, *end, start);
                if *byte == BEYOND_ASCII {
                    add(&mut parts, *end, start);
                }
            }
        }
        longer
    }
}

fn add(parts: &mut Parts, end: usize, start: usize) {
    let first = parts.entry(end).or_insert(start);
    *first = start.min(*first);
}

fn is_between_words(byte: u8) -> bool {
    !byte.is_ascii_alphanumeric() && byte != BEYOND_ASCII
}

/// Returns a character without differences that encodings make: in lower case; the same for all
/// beyond ASCII, for a space and the `+` of forms, and for a digit of both alphabets of base64
/// (RFC 4648 §4, §5).
fn folded(byte: u8) -> u8 {
    match byte {
        b'\t' | b'\n' | b'\r' | b'+' | b'-' => b' ',
        b'_' => b'/',
        byte if byte.is_ascii() => byte.to_ascii_lowercase(),
        _ => BEYOND_ASCII,
    }
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
    let length = text
        .iter()
        .take(LONGEST_ESCAPE)
        .position(|byte| *byte == b';')?;
    let byte = match &text[1..length] {
        b"amp" => b'&',
        b"lt" => b'<',
        b"gt" => b'>',
        b"quot" => b'"',
        b"apos" => b'\'',
        b"nbsp" => b' ',
        [b'#', b'x', digits @ ..] => number(digits, 16)?,
        [b'#', digits @ ..] => number(digits, 10)?,
        [_, name @ ..] if !name.is_empty() && is_alphanumeric(name) => BEYOND_ASCII,
        _ => return None,
    };
    Some((byte, length + 1))
}

/// Returns whether a text that is cut can be the beginning of an escape.
fn is_cut_escape(text: &[u8]) -> bool {
    let known = text.split(|byte| *byte == CUT).next();
    match known.unwrap_or_default() {
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
