//! What a tunnel may do with the credentials, and what it learned about them.

use std::time::Duration;

use super::destinations::Evidence;
use crate::values::HostPort;

/// Whether a tunnel may send the password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Permission {
    /// It may: the proxy hasn't refused the password.
    Granted,
    /// It alone may: the password hasn't been sent yet, or is sent again after a refusal.
    Sole,
    /// It may not for so much longer: the proxy refused the password.
    Withheld(Duration),
}

/// What a tunnel's reply decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// As much as that of any other.
    Any,
    /// It has the [sole permission](Permission::Sole).
    Sole,
    Check(Check),
}

/// The check of a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Check {
    pub(super) doubted: HostPort,
    pub(super) refused: Refused,
    /// The destination that is asked for instead, which the proxy granted before.
    pub(crate) other: HostPort,
}

/// The credentials that a proxy refused, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// A ticket, which is never withheld.
    Ticket,
    Password,
    /// The password, without a challenge: that is hardly about it (RFC 9110 §15.5.8).
    Unchallenged,
}

/// What a tunnel learned from the proxy about its credentials.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Outcome<'a> {
    /// The proxy accepted the password, and granted this destination, if any.
    Accepted(Option<(&'a HostPort, Evidence)>),
    /// The proxy accepted a ticket instead.
    AcceptedTicket(Option<(&'a HostPort, Evidence)>),
    /// The proxy refused the request for this destination, if there was any yet.
    Refused(Option<&'a HostPort>, Refused),
    /// The proxy requires no credentials.
    Unneeded,
    /// The proxy refused the request for another reason, before it looked at credentials.
    Unknown,
    /// The password isn't sent, or there is no ticket.
    Unsent,
    NoReply,
}

/// What the refusal of a request with credentials is about, if not about them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Blame {
    /// The destination: the proxy accepted the credentials for others. For this time, none are sent
    /// for it.
    Destination(Option<Duration>),
    /// This check will show it.
    Unclear(Check),
    /// Another tunnel's check will show it.
    Undecided,
}
