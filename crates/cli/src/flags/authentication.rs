//! Flags about the credentials for proxies.

use super::{Flag, PasswordPart, PROXY_PASSWORD};
use ptunnel_proto::values::Schemes;

/// Where other users can't see a proxy's password.
pub(super) const PASSWORD_SOURCES: &str = "--password-file or PTUNNEL_PASSWORD";

/// The password in a file is that of the user in the file.
const PASSWORD_REPLACED_BY: &[&str] = &["user"];

pub(super) const AUTHENTICATION: &[Flag] = &[
    Flag::option(
        "user",
        "USER[:PASSWORD]",
        "Username for proxy authentication",
    )
    .short("U")
    .password(PasswordPart::Login, PASSWORD_SOURCES)
    .variables(&[PROXY_PASSWORD])
    .described(
        "A user of a Windows domain is `DOMAIN\\user` or `user@domain.example`. ptunnel sends it to \
         each `--proxy`, and never to `--via` proxies or to the destination. A user with a password \
         in the URL of a proxy overrides this option for that proxy, also in `https_proxy` and \
         `all_proxy`. Another user without a password is an error in the URL of `--proxy`, and is \
         overridden in these variables.\n\n\
         A password in the URL, or PASSWORD in this option, is only for the user beside it. The next \
         sources are `--password`, `--password-file` or `--password-command`, then \
         `PTUNNEL_PASSWORD`, then `--proxy-netrc`. Otherwise ptunnel prompts for the password on the \
         terminal. PASSWORD beside one of these options is an error. SOCKS4 has no password.\n\n\
         After a proxy refuses a password, ptunnel doesn't send it to that proxy again for five \
         minutes, to avoid locking the account. After each further refusal it waits twice as long, \
         up to an hour. If the proxy accepted the password before, the first pause is 30 seconds. \
         A restart ends the pause, and with `--config` a reload (SIGHUP). If the proxy still accepts the \
         password for another destination, its 407 is a refusal of one destination, and there is no \
         pause.",
    )
    .example("ptunnel -p proxy.example:3128 -U joe 8993:imap.example.org:993"),
    Flag::option(
        "password",
        "PASSWORD",
        "Proxy password (visible in ps; prefer --password-file)",
    )
    .short("P")
    .password(PasswordPart::Whole, PASSWORD_SOURCES)
    .variables(&[PROXY_PASSWORD])
    .replaced_by(PASSWORD_REPLACED_BY)
    .described(
        "The password is for `--user`, or for the user in the URL of `--proxy` if there is no \
         password; it can't be for several users. Every user of this \
         machine can read command lines. ptunnel overwrites the password there at the start and \
         logs a warning, but it stays in the history of the shell. Use `--password-file` or \
         `PTUNNEL_PASSWORD` instead.",
    )
    .example("ptunnel -p proxy.example:3128 -U joe -P secret 8993:imap.example.org:993"),
    Flag::option("password-file", "FILE", "File with the proxy password")
        .conflicts(&["password"])
        .variables(&[PROXY_PASSWORD])
        .replaced_by(PASSWORD_REPLACED_BY)
        .described(
            "The file contains one line of at most 64 KiB. ptunnel refuses a file that other users \
             can read; `chmod 600 FILE` protects it. A file of another owner, such as root, can be \
             readable for its group (mode 440 or 640): systemd's `LoadCredential=` and Kubernetes \
             provide such files. With `--config`, SIGHUP reads the file again.",
        )
        .example(
            "ptunnel -p proxy.example:3128 -U joe --password-file /etc/ptunnel/password \
             8993:imap.example.org:993",
        ),
    Flag::option(
        "password-command",
        "CMD",
        "Command that prints the proxy password, e.g. of a keyring",
    )
    .conflicts(&["password", "password-file"])
    .variables(&[PROXY_PASSWORD])
    .replaced_by(PASSWORD_REPLACED_BY)
    .described(
        "The first line that CMD prints is the password. ptunnel splits CMD into words as a shell \
         does, with `'`, `\"` and `\\` as quotes, and runs it without a shell, also from the config \
         file: for a pipe or a variable, write `sh -c 'a | b'`. CMD has no terminal and an empty stdin, \
         inherits no socket and no `PTUNNEL_` variable, can't gain privileges (`sudo` needs \
         `--unconfined`), and must end within 10 seconds; otherwise ptunnel kills it and its \
         children.\n\n\
         ptunnel runs CMD for the first tunnel that needs the password and keeps the password in \
         memory. After a proxy refused it, the next tunnel runs CMD again and sends the password if it \
         has changed. If the proxy refuses that one too, the pause of `--user` applies, and CMD runs \
         again at its end. With `--config`, a reload (SIGHUP) forgets the password. `--check-config` \
         doesn't run CMD, `--test` does.",
    )
    .example(
        "ptunnel -p proxy.example:3128 -U joe --password-command 'pass show proxy' \
         8993:imap.example.org:993",
    ),
    Flag::option(
        "proxy-netrc",
        "FILE",
        "netrc file with the users and passwords of proxies",
    )
    .described(
        "The file has the format of `~/.netrc`. Its entries provide what is not given elsewhere: \
         the password of the given user, or the user and the password. An entry is `machine \
         proxy.example login joe password secret`, with the host of the proxy and without its \
         port. `default` matches every host. The first entry that matches is used.\n\n\
         Words with spaces are in double quotes; `\\` quotes the next character. ptunnel warns if \
         other users can read the file. With `--config`, SIGHUP reads it again.",
    )
    .example(
        "ptunnel -p proxy.example:3128 --proxy-netrc /home/joe/.netrc 8993:imap.example.org:993",
    ),
    Flag::option(
        "proxy-auth",
        "SCHEMES",
        "Allowed authentication schemes: basic, digest, ntlm, negotiate",
    )
    .default_words("basic,digest,ntlm")
    .suggesting(Schemes::NAMES)
    .described(
        "SCHEMES is a scheme or a list. By default ptunnel sends the password in the first \
         request, with Basic. If the proxy asks for another scheme (407), ptunnel uses the \
         strongest one that the proxy offers: Digest, then NTLM, then Basic. NTLM is version 2 \
         only.\n\n\
         With a list without `basic`, ptunnel never sends the password itself, and the first \
         tunnel takes one more request. The option applies to HTTP proxies only.\n\n\
         `negotiate` is Kerberos. It must be named, and needs no `--user`: ptunnel takes a ticket \
         from the user's cache (`kinit`), or from the keytab in `KRB5_CLIENT_KTNAME`, through the \
         system's GSSAPI library. The proxy must be given by its name, not by an address.",
    )
    .example(
        "ptunnel -p proxy.example:3128 -U joe --proxy-auth digest,ntlm 8993:imap.example.org:993",
    ),
];
