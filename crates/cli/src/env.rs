//! The environment variables: those of proxies, read as curl reads them, passwords, and socket
//! activation.
//!
//! Lower case precedes upper case, and an empty variable counts as unset. The proxy is in
//! `https_proxy`, as its proxies support CONNECT, then in `all_proxy`; never in `http_proxy`, whose
//! proxies may not support it.

use std::borrow::Cow;
use std::env;
use std::ffi::OsString;
use std::fmt;
use std::iter;
use std::os::unix::io::RawFd;
use std::process;

use ptunnel_core::error::Error;
use ptunnel_proto::values::{InheritedFd, NoProxy, ParseError, ProxyUrl, Secret};

/// The variables with the proxy; the first one that is set counts.
pub(super) const PROXY: &[&str] = &["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];

/// The variables with the destinations that are reached without a proxy.
pub(super) const NO_PROXY: &[&str] = &["no_proxy", "NO_PROXY"];

/// One more than the number of sockets that ptunnel accepts.
const MAX_INHERITED: RawFd = 10_000;

/// The environment of the process, or of a test.
pub struct Environment<'a> {
    read: &'a dyn Fn(&str) -> Option<OsString>,
}

impl Environment<'static> {
    /// Returns the environment of this process.
    pub fn of_process() -> Environment<'static> {
        Environment {
            read: &|name| env::var_os(name),
        }
    }
}

impl<'a> Environment<'a> {
    /// Returns an environment in which a variable has the value that `read` returns for its name.
    pub fn new(read: &'a dyn Fn(&str) -> Option<OsString>) -> Environment<'a> {
        Environment { read }
    }

    /// Returns the proxy for tunnels.
    ///
    /// # Errors
    ///
    /// A usage error that names the variable, if the first one set has no valid proxy.
    pub fn proxy(&self) -> Result<Option<ProxyUrl>, Error> {
        self.first(PROXY, |text| with_version(text).parse())
    }

    /// Returns the destinations that are reached without a proxy, and a warning about
    /// [skipped entries](NoProxy::lenient).
    ///
    /// # Errors
    ///
    /// A usage error that names the variable, if it isn't UTF-8.
    pub fn no_proxy(&self) -> Result<(NoProxy, Option<String>), Error> {
        let (list, warning) = self
            .first(NO_PROXY, |text| Ok(NoProxy::lenient(text)))?
            .unwrap_or_default();
        let warning = warning.map(|why| format!("environment variable no_proxy: {}", why));
        Ok((list, warning))
    }

    /// Returns the password in a variable of ptunnel.
    ///
    /// # Errors
    ///
    /// A usage error that names the variable, if it isn't UTF-8.
    pub fn password(&self, variable: &str) -> Result<Option<Secret>, Error> {
        self.first(&[variable], |text| Ok(Secret::new(text)))
    }

    /// Returns the sockets from socket activation (sd_listen_fds(3)). Variables that are for another
    /// process are ignored.
    ///
    /// # Errors
    ///
    /// A usage error that names the variable, if one isn't UTF-8 or LISTEN_FDS isn't a number below
    /// 10,000.
    pub fn inherited(&self) -> Result<Vec<InheritedFd>, Error> {
        let text = |name| self.first(&[name], |text| Ok(text.to_string()));
        if text("LISTEN_PID")? != Some(process::id().to_string()) {
            return Ok(Vec::new());
        }
        let count = self.first(&["LISTEN_FDS"], |text| match text.parse() {
            Ok(count) if (0..MAX_INHERITED).contains(&count) => Ok(count),
            _ => Err(ParseError::new("not a number of sockets")),
        })?;
        let count = count.unwrap_or(0);
        let names = text("LISTEN_FDNAMES")?.unwrap_or_default();
        let names = names.split(':').chain(iter::repeat(""));
        let sockets = (InheritedFd::FIRST..InheritedFd::FIRST + count).zip(names);
        let sockets = sockets.map(|(descriptor, name)| InheritedFd {
            descriptor,
            name: name.to_string(),
        });
        Ok(sockets.collect())
    }

    /// Whether `http_proxy` is set, which ptunnel doesn't use: worth a hint.
    pub fn has_http_proxy(&self) -> bool {
        (self.read)("http_proxy").map_or(false, |value| !value.is_empty())
    }

    /// Returns the parsed value of the first variable that isn't empty.
    fn first<T>(
        &self,
        names: &[&str],
        parse: impl Fn(&str) -> Result<T, ParseError>,
    ) -> Result<Option<T>, Error> {
        let set = names.iter().find_map(|name| {
            let value = (self.read)(name).filter(|value| !value.is_empty());
            value.map(|value| (*name, value))
        });
        let (name, value) = match set {
            Some(found) => found,
            None => return Ok(None),
        };
        // Not printed, as it may be a secret.
        let text = value
            .to_str()
            .ok_or("not UTF-8")
            .map_err(|why| within(name, why))?;
        parse(text).map(Some).map_err(|e| within(name, e))
    }
}

/// Replaces `socks://` by `socks5h://`, which is what GNOME means; to curl it is version 4. On the
/// command line it is an error.
fn with_version(text: &str) -> Cow<'_, str> {
    const GNOME: &str = "socks://";
    match text.get(..GNOME.len()) {
        Some(start) if start.eq_ignore_ascii_case(GNOME) => {
            format!("socks5h://{}", &text[GNOME.len()..]).into()
        }
        _ => text.into(),
    }
}

fn within(name: &str, why: impl fmt::Display) -> Error {
    Error::usage(format!("environment variable {}: {}", name, why))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptunnel_proto::values::{DnsMode, Protocol};

    fn with<T>(pairs: &[(&str, &str)], ask: impl Fn(Environment<'_>) -> T) -> T {
        let read = |name: &str| {
            let pair = pairs.iter().find(|(key, _)| *key == name);
            pair.map(|(_, value)| OsString::from(value))
        };
        ask(Environment::new(&read))
    }

    fn proxy(pairs: &[(&str, &str)]) -> Option<String> {
        with(pairs, |e| {
            e.proxy().unwrap().map(|url| url.address.to_string())
        })
    }

    #[test]
    fn lower_case_precedes_upper_case_and_https_precedes_all() {
        let all = [
            ("ALL_PROXY", "d:4"),
            ("all_proxy", "c:3"),
            ("HTTPS_PROXY", "b:2"),
            ("https_proxy", "a:1"),
        ];
        assert_eq!(proxy(&all).unwrap(), "a:1");
        assert_eq!(proxy(&all[..3]).unwrap(), "b:2");
        assert_eq!(proxy(&all[..2]).unwrap(), "c:3");
        assert_eq!(proxy(&all[..1]).unwrap(), "d:4");
    }

    /// It was a usage error on desktops whose settings had written it.
    #[test]
    fn socks_without_a_version_is_socks5h() {
        let pairs = [("all_proxy", "socks://proxy.example:1080/")];
        let url = with(&pairs, |e| e.proxy().unwrap().unwrap());
        assert_eq!(url.protocol, Protocol::Socks5(DnsMode::Remote));
        assert_eq!(url.address.to_string(), "proxy.example:1080");
    }

    #[test]
    fn an_empty_variable_is_unset_and_http_proxy_is_a_hint() {
        assert_eq!(
            proxy(&[("https_proxy", ""), ("all_proxy", "c:3")]).unwrap(),
            "c:3"
        );
        assert_eq!(proxy(&[("http_proxy", "a:1"), ("HTTP_PROXY", "b:2")]), None);
        assert!(with(&[("http_proxy", "a:1")], |e| e.has_http_proxy()));
        assert!(!with(&[("HTTP_PROXY", "a:1")], |e| e.has_http_proxy()));
    }

    #[test]
    fn sockets_for_another_process_are_ignored() {
        let inherited = |id: &str, count: &str, names: &str| {
            let pairs = [
                ("LISTEN_PID", id),
                ("LISTEN_FDS", count),
                ("LISTEN_FDNAMES", names),
            ];
            let sockets = with(&pairs, |e| e.inherited());
            sockets.map(|all| all.iter().map(|one| one.to_string()).collect::<Vec<_>>())
        };
        let own = process::id().to_string();
        assert_eq!(
            inherited(&own, "2", "a:b").unwrap(),
            ["fd:3 ('a')", "fd:4 ('b')"]
        );
        assert_eq!(
            inherited(&own, "2", "a").unwrap(),
            ["fd:3 ('a')", "fd:4 ('')"]
        );
        assert_eq!(inherited(&own, "1", "").unwrap(), ["fd:3 ('')"]);
        for other in &["1", "", "x"] {
            assert!(inherited(other, "2", "a:b").unwrap().is_empty());
        }
        assert!(inherited(&own, "", "").unwrap().is_empty());
        for count in &["x", "-1", "10000"] {
            let complaint = inherited(&own, count, "").unwrap_err().to_string();
            assert!(complaint.contains("LISTEN_FDS"), "{}", complaint);
        }
    }

    #[test]
    fn errors_name_the_variable_and_not_the_secret() {
        let pairs = [("https_proxy", "ftp://joe:hunter2@h")];
        let complaint = with(&pairs, |e| e.proxy().unwrap_err().to_string());
        assert!(
            complaint.starts_with("environment variable https_proxy: "),
            "{}",
            complaint
        );
        assert!(!complaint.contains("hunter2"), "{}", complaint);
    }

    #[test]
    fn unknown_entries_of_no_proxy_are_skipped_with_a_warning() {
        let no_proxy = |list| with(&[("NO_PROXY", list)], |e| e.no_proxy().unwrap());
        let (list, warning) = no_proxy("127.*, a.example <local>,10.0.0.1/8;b");
        assert!(list.covers(&"x.a.example:1".parse().unwrap()));
        assert!(!list.covers(&"127.0.0.1:1".parse().unwrap()));
        let warning = warning.unwrap();
        assert!(
            warning.starts_with(
                "environment variable no_proxy: skipping '127.*', '<local>', '10.0.0.1/8;b'; "
            ),
            "{}",
            warning
        );
        assert_eq!(no_proxy("a.example,10.0.0.1/8").1, None);
    }
}
