//! The schemes of proxy authentication.

use std::fmt;
use std::str::FromStr;

use super::{wrong, ParseError};

/// An authentication scheme that ptunnel supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// RFC 7617: sends the password itself.
    Basic,
    /// RFC 7616: sends a digest of the password and a nonce.
    Digest,
    /// MS-NLMP, version 2: sends a digest, in three messages on one connection.
    Ntlm,
    /// RFC 4559: sends a token of GSSAPI, with a Kerberos ticket as a rule. It needs no password.
    Negotiate,
}

impl Scheme {
    /// Returns the scheme with this name; case doesn't matter (RFC 9110 §11.1).
    pub(crate) fn named(name: &str) -> Option<Scheme> {
        let all = [
            Scheme::Basic,
            Scheme::Digest,
            Scheme::Ntlm,
            Scheme::Negotiate,
        ];
        let mut all = all.iter().copied();
        all.find(|scheme| scheme.name().eq_ignore_ascii_case(name))
    }

    fn name(self) -> &'static str {
        match self {
            Scheme::Basic => "Basic",
            Scheme::Digest => "Digest",
            Scheme::Ntlm => "NTLM",
            Scheme::Negotiate => "Negotiate",
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The schemes that may be used: all that take a password, unless the user named some. Negotiate must
/// be named, since it asks a KDC for a ticket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schemes {
    named: Vec<Scheme>,
}

impl Schemes {
    /// The names of the schemes.
    pub const NAMES: &'static [&'static str] = &["basic", "digest", "ntlm", "negotiate"];

    /// Returns whether `scheme` may be used.
    pub fn allow(&self, scheme: Scheme) -> bool {
        let is_default = self.named.is_empty() && scheme != Scheme::Negotiate;
        is_default || self.named.contains(&scheme)
    }

    /// Whether the first request carries a token of Negotiate, before the proxy has offered it: no
    /// other scheme is named.
    pub fn send_negotiate_ahead(&self) -> bool {
        let mut named = self.named.iter();
        !self.named.is_empty() && named.all(|scheme| *scheme == Scheme::Negotiate)
    }

    /// Returns whether the first request carries Basic, before the proxy has offered its schemes.
    ///
    /// That saves a request. With another scheme among the named ones, the password isn't sent
    /// until the proxy offers nothing better.
    pub fn send_basic_ahead(&self) -> bool {
        self.named.iter().all(|scheme| *scheme == Scheme::Basic)
    }
}

impl FromStr for Schemes {
    type Err = ParseError;

    /// Parses `digest` or `digest,ntlm`.
    fn from_str(text: &str) -> Result<Schemes, ParseError> {
        let read = |name: &str| {
            Scheme::named(name.trim()).ok_or_else(|| {
                let why = match name.trim().to_ascii_lowercase().as_str() {
                    "kerberos" | "spnego" | "gssapi" => "write negotiate",
                    _ => {
                        "it must be basic, digest, ntlm or negotiate; separate several with commas"
                    }
                };
                wrong("authentication scheme", name, why, "digest,ntlm")
            })
        };
        let named = text.split(',').map(read).collect::<Result<_, _>>()?;
        Ok(Schemes { named })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_allowed_unless_some_are_named() {
        let all = Schemes::default();
        let some: Schemes = "Digest, ntlm".parse().unwrap();
        assert!(all.allow(Scheme::Basic) && all.allow(Scheme::Ntlm));
        assert!(some.allow(Scheme::Digest) && some.allow(Scheme::Ntlm));
        assert!(!some.allow(Scheme::Basic));
        for wrong in &["", "digest,", "bearer", "digest ntlm"] {
            let complaint = wrong.parse::<Schemes>().unwrap_err().to_string();
            assert!(complaint.contains("with commas; e.g. digest,ntlm"));
        }
        let complaint = "ntlm,Kerberos".parse::<Schemes>().unwrap_err();
        assert!(complaint.to_string().contains("write negotiate"));
        assert!(!all.allow(Scheme::Negotiate), "it must be named");
        let named = |text: &str| text.parse::<Schemes>().unwrap();
        assert!(named("Negotiate,digest").allow(Scheme::Negotiate));
        assert!(named("negotiate").send_negotiate_ahead());
        assert!(!named("negotiate,digest").send_negotiate_ahead());
    }

    #[test]
    fn basic_is_sent_ahead_only_without_a_better_scheme() {
        let goes_ahead = |text: &str| text.parse::<Schemes>().unwrap().send_basic_ahead();
        assert!(Schemes::default().send_basic_ahead());
        assert!(goes_ahead("basic"));
        assert!(!goes_ahead("basic,digest"));
        assert!(!goes_ahead("ntlm"));
    }
}
