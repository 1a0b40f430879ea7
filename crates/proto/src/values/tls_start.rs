//! How TLS with a destination starts, which the scheme of the destination says.

/// How TLS with a destination starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsStart {
    /// With the first byte: `tls://`.
    AtOnce,
    /// After the STARTTLS command of IMAP (RFC 9051 §6.2.1): `starttls-imap://`.
    Imap,
    /// After the STARTTLS command of SMTP (RFC 3207): `starttls-smtp://`.
    Smtp,
    /// After PostgreSQL's SSLRequest message: `starttls-postgres://`.
    Postgres,
}

impl TlsStart {
    const ALL: [TlsStart; 4] = [
        TlsStart::AtOnce,
        TlsStart::Imap,
        TlsStart::Smtp,
        TlsStart::Postgres,
    ];

    /// Returns the scheme of the destination, with its slashes.
    pub fn scheme(self) -> &'static str {
        match self {
            TlsStart::AtOnce => "tls://",
            TlsStart::Imap => "starttls-imap://",
            TlsStart::Smtp => "starttls-smtp://",
            TlsStart::Postgres => "starttls-postgres://",
        }
    }

    /// Returns the start for a scheme without its slashes, in upper or lower case.
    pub(super) fn of_scheme(scheme: &str) -> Option<TlsStart> {
        let is_it = |start: &&TlsStart| {
            let own = start.scheme().trim_end_matches("://");
            own.eq_ignore_ascii_case(scheme)
        };
        TlsStart::ALL.iter().find(is_it).copied()
    }
}
