//! Challenges in `Proxy-Authenticate` (RFC 9110 §11.6.1, §11.7.1).

use crate::values::Scheme;

/// A scheme that the proxy accepts, with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    /// The scheme as the proxy writes it: letters, digits and hyphens.
    pub scheme: String,
    /// The token68 that follows the scheme in place of parameters, such as an NTLM message.
    pub token: Option<String>,
    parameters: Vec<(String, String)>,
}

impl Challenge {
    /// Parses all values of `Proxy-Authenticate`; returns the challenges in their order.
    ///
    /// Several may share a value, separated by commas as their parameters are: a scheme is an item's
    /// first token that isn't the name of a parameter.
    pub(crate) fn read_all<'a>(values: impl Iterator<Item = &'a [u8]>) -> Vec<Challenge> {
        let mut challenges: Vec<Challenge> = Vec::new();
        for value in values {
            let text = text(value);
            // Parameters of an invalid scheme don't belong to the challenge before it.
            let mut is_known = false;
            for item in items(&text).into_iter().filter(|item| !item.is_empty()) {
                let end = item.find(char::is_whitespace).unwrap_or(item.len());
                let (word, rest) = item.split_at(end);
                let rest = rest.trim_start();
                if word.contains('=') || rest.starts_with('=') {
                    if let (true, Some(challenge)) = (is_known, challenges.last_mut()) {
                        challenge.parameters.extend(assignment(item));
                    }
                    continue;
                }
                is_known = word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
                if is_known {
                    let is_token = is_token68(rest);
                    challenges.push(Challenge {
                        scheme: word.to_string(),
                        token: Some(rest.to_string()).filter(|_| is_token),
                        parameters: assignment(rest).filter(|_| !is_token).into_iter().collect(),
                    });
                }
            }
        }
        challenges
    }

    /// Returns the scheme if ptunnel supports it.
    pub(crate) fn known(&self) -> Option<Scheme> {
        Scheme::named(&self.scheme)
    }

    /// Returns whether ptunnel supports the scheme, and it takes a username and a password.
    pub(crate) fn has_password(&self) -> bool {
        self.known()
            .map_or(false, |scheme| scheme != Scheme::Negotiate)
    }

    pub(super) fn is(&self, scheme: Scheme) -> bool {
        self.known() == Some(scheme)
    }

    /// Returns the value of a parameter, unquoted.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        let mut found = self
            .parameters
            .iter()
            .filter(|(known, _)| known.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.as_str())
    }
}

/// Returns the value of a parameter in a list of parameters without a scheme.
pub(crate) fn parameter(list: &[u8], name: &str) -> Option<String> {
    let text = text(list);
    let mut all = items(&text).into_iter().filter_map(assignment);
    let found = all.find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value)
}

/// Replaces control characters, such as the line ends of a folded value, by spaces: a part of the
/// value returns to the proxy in a field.
fn text(value: &[u8]) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    String::from_utf8_lossy(value).chars().map(plain).collect()
}

/// Splits at the commas outside quoted strings.
fn items(value: &str) -> Vec<&str> {
    let (mut quoted, mut escaped) = (false, false);
    value
        .split(|c| {
            let literal = escaped;
            escaped = quoted && !literal && c == '\\';
            if c == '"' && !literal {
                quoted = !quoted;
            }
            c == ',' && !quoted
        })
        .map(str::trim)
        .collect()
}

/// Parses `name=value` or `name="value"`.
fn assignment(item: &str) -> Option<(String, String)> {
    let equals = item.find('=')?;
    let (name, value) = (item[..equals].trim(), item[equals + 1..].trim());
    let value = match value.strip_prefix('"') {
        Some(quoted) => unquoted(quoted),
        None => value.to_string(),
    };
    Some((name.to_string(), value))
}

/// Returns the text up to the closing quote, without the backslashes of escapes (RFC 9110 §5.6.4).
fn unquoted(text: &str) -> String {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => plain.extend(chars.next()),
            c => plain.push(c),
        }
    }
    plain
}

/// Returns whether the text is a token68 (RFC 9110 §11.2), with each `=` at the end.
fn is_token68(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    let is_digit = |b: u8| b.is_ascii_alphanumeric() || b"-._~+/".contains(&b);
    !digits.is_empty() && digits.bytes().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[&str]) -> Vec<Challenge> {
        Challenge::read_all(values.iter().map(|value| value.as_bytes()))
    }

    fn schemes(values: &[&str]) -> Vec<String> {
        let challenges = read(values).into_iter();
        challenges.map(|challenge| challenge.scheme).collect()
    }

    #[test]
    fn one_value_can_hold_several_challenges() {
        assert_eq!(
            schemes(&["Basic realm=\"a, Digest b\", Digest nonce=\"\\\",x\", qop=auth"]),
            ["Basic", "Digest"]
        );
        assert_eq!(
            schemes(&["Negotiate", "NTLM", "basic realm=x, BASIC"]),
            ["Negotiate", "NTLM", "basic", "BASIC"]
        );
        assert_eq!(schemes(&["Digest realm = x , Basic"]), ["Digest", "Basic"]);
        assert_eq!(
            schemes(&["", ",,", "\x1b[m", "= , ="]),
            Vec::<String>::new()
        );
    }

    #[test]
    fn parameters_belong_to_the_challenge_before_them() {
        let values = [
            "Digest realm=\"a, \\\"b\\\" \\\\ c\" , NONCE = \"x=\",qop=\"auth,auth-int\"",
            "Basic realm=z, [?] realm=y, stale=true",
        ];
        let challenges = read(&values);
        let digest = &challenges[0];
        assert!(digest.is(Scheme::Digest) && !digest.is(Scheme::Basic));
        assert_eq!(digest.parameter("realm"), Some("a, \"b\" \\ c"));
        assert_eq!(digest.parameter("nonce"), Some("x="));
        assert_eq!(digest.parameter("qop"), Some("auth,auth-int"));
        assert_eq!(digest.parameter("opaque"), None);
        assert_eq!(challenges[1].parameter("realm"), Some("z"));
        assert_eq!(challenges[1].parameter("stale"), None);
        assert_eq!(challenges.len(), 2);
    }

    #[test]
    fn a_token_is_no_parameter() {
        let challenges = read(&["NTLM TlRMTVNTUAAC==, Negotiate YII=, Digest nonce=a"]);
        assert_eq!(challenges[0].token.as_deref(), Some("TlRMTVNTUAAC=="));
        assert_eq!(challenges[1].token.as_deref(), Some("YII="));
        assert_eq!(challenges[2].token, None);
        assert_eq!(challenges[2].parameter("nonce"), Some("a"));
    }

    /// Otherwise the line end of a folded value would end the field of the answer.
    #[test]
    fn line_ends_become_spaces() {
        let challenge = &read(&["Digest realm=\"a\r\n b\x00c\""])[0];
        assert_eq!(challenge.parameter("realm"), Some("a   b c"));
    }

    #[test]
    fn a_list_of_parameters_is_read_without_a_scheme() {
        let list = b"qop=auth, nextnonce=\"a,b\", nc=00000001";
        assert_eq!(parameter(list, "NextNonce").as_deref(), Some("a,b"));
        assert_eq!(parameter(list, "rspauth"), None);
    }
}
