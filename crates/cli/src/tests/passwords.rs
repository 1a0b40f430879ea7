//! Unit tests: users and passwords.

use super::*;

#[test]
fn a_password_without_a_user_and_addresses_without_a_port_cause_a_warning() {
    let file = std::env::temp_dir().join(format!("ptunnel-password-{}", std::process::id()));
    std::fs::write(&file, "x").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&file, mode).unwrap();
    let from_file = format!("--password-file {}", file.display());
    let last = |line: &str| {
        let (_, warnings) = warned(line);
        warnings.last().cloned().unwrap_or_default()
    };
    for password in &["-P x", &from_file] {
        let useless = |rest: &str| last(&format!("{} {}", rest, password)).contains("no effect");
        assert!(useless("-p p:1 1:a:1") && useless("1:a:1 --no-proxy *"));
        assert!(useless("-p p:1 --via joe:x@q:2 1:a:1"));
        assert!(!useless("-p p:1 -U joe 1:a:1") && !useless("-p joe@p:1 1:a:1"));
        let message = last(&format!("-p p:1 1:a:1 {}", password));
        assert!(
            message.ends_with("no proxy has a username; add -U USER"),
            "{}",
            message
        );
    }
    std::fs::remove_file(&file).unwrap();
    let useless = |line: &str| {
        let message = last(&format!("-p p:1 --allow-from ::1 {}", line));
        message == "--allow-from has no effect: clients of Unix sockets have no address"
    };
    assert!(useless("-W a:1") && useless("/s:a:1 -D /t"));
    for line in &["/s:a:1 1:a:1", "-D 1", "fd:s:a:1", "/s:a:1 --serve-proxy 1"] {
        assert!(!useless(line), "{}", line);
    }
}

/// No prompt asks for a password, and one that is given is reported.
#[test]
fn socks4_gets_only_the_user() {
    let user = |words: &str| {
        let route = config(words).route;
        let credentials = route.proxies[0].credentials.clone().unwrap();
        (
            credentials.user().to_string(),
            credentials.password().reveal().to_string(),
        )
    };
    let joe = ("joe".to_string(), String::new());
    assert_eq!(user("-p socks4://joe@q 1:a:1"), joe);
    assert_eq!(user("-p socks4a://q -U joe 1:a:1"), joe);
    assert!(complaint("-p socks4://joe:x@q 1:a:1").contains("SOCKS4 has no password"));
    for (words, message) in &[
        ("-p socks4://joe@q -P x 1:a:1", "--password has no effect: "),
        ("-p socks4://q -P x 1:a:1", "--password has no effect: "),
        (
            "-p socks4://q -U joe:x 1:a:1",
            "the password in --user has no effect: ",
        ),
    ] {
        let (_, warnings) = warned(words);
        let message = format!("{}SOCKS4 has no password", message);
        let is_warned = warnings.iter().any(|line| line.starts_with(&message));
        assert!(is_warned, "{:?}", warnings);
    }
    // It is sent to another proxy.
    let (_, warnings) = warned("-p socks4://q -p p:1 -U joe:x 1:a:1");
    assert!(warnings.iter().all(|line| !line.contains("SOCKS4")));
}

/// A password for the company's proxy is nothing for the next one.
#[test]
fn the_user_is_not_sent_to_proxies_behind_the_first() {
    let credentials = |line: &str| {
        let env = [("PTUNNEL_PASSWORD", "secret")];
        let typed: Prompt<'_> = &|_| Ok(Secret::new("typed"));
        let via = match with_env(&env, line, typed).unwrap() {
            Command::Run(config, _) => config.route.via,
            Command::Print(text) => panic!("{}", text),
        };
        let credentials = via[0].credentials.clone();
        credentials.map(|c| format!("{} {}", c.user(), c.password().reveal()))
    };
    assert_eq!(credentials("-p p:1 -U joe --via q:2 1:a:1"), None);
    assert_eq!(credentials("-p p:1 -U joe:x --via q:2 1:a:1"), None);
    let own = credentials("-p p:1 -U joe --via ann:own@q:2 1:a:1");
    assert_eq!(own.unwrap(), "ann own");
    let asked = credentials("-p p:1 -U joe --via ann@q:2 1:a:1");
    assert_eq!(asked.unwrap(), "ann typed");
    let no_terminal = complaint("-p p:1 --via ann@q:2 1:a:1");
    assert!(no_terminal.contains("--proxy-netrc"), "{}", no_terminal);
}

/// The terminal answers each prompt with this password.
const TYPED: Prompt<'static> = &|_| Ok(Secret::new("typed"));

/// A PAC file names proxies without a login: those get that of `--user`.
#[cfg(feature = "pac")]
#[test]
fn the_proxies_of_a_pac_file_get_one_login() {
    // It isn't fetched yet.
    let line = "1:a:1 --pac http://127.0.0.1:1/wpad.dat -U joe";
    let login =
        |env: &[(&str, &str)], more: &str| match with_env(env, &format!("{}{}", line, more), TYPED)
        {
            Ok(Command::Run(config, _)) => {
                let login = config
                    .route
                    .pac
                    .unwrap()
                    .proxy_defaults
                    .credentials
                    .unwrap();
                format!("{} {}", login.user(), login.password().reveal())
            }
            Ok(Command::Print(text)) => panic!("{}", text),
            Err(e) => e.to_string(),
        };
    let env = [("PTUNNEL_PASSWORD", "shared")];
    assert_eq!(login(&env, ""), "joe shared");
    assert_eq!(login(&env, ":own"), "joe own");
    assert_eq!(login(&[], " -P shared"), "joe shared");
    assert_eq!(login(&[], ""), "joe typed");
    let refused = login(&[], ":own -P shared");
    assert!(
        refused.starts_with("two passwords for 'joe'"),
        "{}",
        refused
    );
}

/// Returns the login of each proxy, or the start of the error.
fn logins(env: &[(&str, &str)], line: &str) -> String {
    match with_env(env, line, TYPED) {
        Ok(Command::Run(config, _)) => {
            let login = |proxy: &ProxySpec| match &proxy.credentials {
                Some(login) if login.command().is_some() => format!("{} shared", login.user()),
                Some(login) => format!("{} {}", login.user(), login.password().reveal()),
                None => "none".into(),
            };
            let logins: Vec<String> = config.route.proxies.iter().map(login).collect();
            logins.join(", ")
        }
        Ok(Command::Print(text)) => panic!("{}: {}", line, text),
        Err(e) => e
            .to_string()
            .splitn(3, ' ')
            .take(2)
            .collect::<Vec<_>>()
            .join(" "),
    }
}

/// The table of docs/guide.md: what the proxy's URL has, what `--user` has, and the login without
/// another password, with one in an option, and with one in PTUNNEL_PASSWORD.
/// Regression: the password of one proxy replaced that of another one's URL.
#[test]
fn each_combination_of_sources_has_one_outcome() {
    let file = std::env::temp_dir().join(format!("ptunnel-shared-{}", std::process::id()));
    std::fs::write(&file, "shared").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&file, mode).unwrap();
    let options = [
        "-P shared".to_string(),
        format!("--password-file {}", file.display()),
        "--password-command cat".to_string(),
    ];
    for (place, url, user, alone, with_option, with_variable) in &[
        ("-p", "", "", "none", "none", "none"),
        ("-p", "", "joe", "joe typed", "joe shared", "joe shared"),
        ("-p", "", "joe:own", "joe own", "two passwords", "joe own"),
        ("-p", "joe@", "", "joe typed", "joe shared", "joe shared"),
        ("-p", "joe@", "joe", "joe typed", "joe shared", "joe shared"),
        (
            "-p",
            "joe@",
            "joe:own",
            "joe own",
            "two passwords",
            "joe own",
        ),
        (
            "-p",
            "ann@",
            "joe",
            "two usernames",
            "two usernames",
            "two usernames",
        ),
        (
            "-p",
            "ann@",
            "joe:own",
            "two usernames",
            "two passwords",
            "two usernames",
        ),
        ("-p", "joe:url@", "", "joe url", "joe url", "joe url"),
        ("-p", "joe:url@", "joe", "joe url", "joe url", "joe url"),
        (
            "-p",
            "joe:url@",
            "joe:own",
            "joe url",
            "two passwords",
            "joe url",
        ),
        ("-p", "ann:url@", "joe", "ann url", "ann url", "ann url"),
        (
            "-p",
            "ann:url@",
            "joe:own",
            "ann url",
            "two passwords",
            "ann url",
        ),
        // An empty password is one only where there is no other.
        ("-p", "joe:@", "", "joe ", "joe shared", "joe shared"),
        ("-p", "", "joe:", "joe ", "joe shared", "joe shared"),
        (
            "-p",
            "joe:@",
            "joe:own",
            "joe own",
            "two passwords",
            "joe own",
        ),
        (
            "https_proxy",
            "joe@",
            "",
            "joe typed",
            "joe shared",
            "joe shared",
        ),
        (
            "https_proxy",
            "joe:url@",
            "",
            "joe url",
            "joe url",
            "joe url",
        ),
        (
            "https_proxy",
            "joe:url@",
            "joe",
            "joe url",
            "joe url",
            "joe url",
        ),
        (
            "https_proxy",
            "ann@",
            "joe",
            "joe typed",
            "joe shared",
            "joe shared",
        ),
        (
            "https_proxy",
            "ann:url@",
            "joe",
            "ann url",
            "ann url",
            "ann url",
        ),
        (
            "https_proxy",
            "ann:url@",
            "joe:own",
            "ann url",
            "two passwords",
            "ann url",
        ),
    ] {
        let url = format!("http://{}p", url);
        let mut line = "1:a:1".to_string();
        let mut env = Vec::new();
        match *place {
            "-p" => line += &format!(" -p {}", url),
            _ => env.push((*place, &url[..])),
        }
        if !user.is_empty() {
            line += &format!(" -U {}", user);
        }
        assert_eq!(logins(&env, &line), *alone, "{:?} {}", env, line);
        for option in &options {
            let line = format!("{} {}", line, option);
            assert_eq!(logins(&env, &line), *with_option, "{:?} {}", env, line);
            let both = [&env[..], &[("PTUNNEL_PASSWORD", "variable")]].concat();
            assert_eq!(logins(&both, &line), *with_option, "{:?} {}", both, line);
        }
        env.push(("PTUNNEL_PASSWORD", "shared"));
        assert_eq!(logins(&env, &line), *with_variable, "{:?} {}", env, line);
    }
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn a_password_of_one_proxy_is_not_sent_to_another() {
    for shared in &["-P shared", "--password-command cat"] {
        let logins = |line: &str| logins(&[], &format!("1:a:1 {} {}", line, shared));
        for (line, expected) in &[
            ("-p p -p http://me:other@q -U corp", "corp shared, me other"),
            ("-p http://me:other@q -p p -U corp", "me other, corp shared"),
            ("-p p -p http://me@q", "none, me shared"),
            ("-p http://me@p -p http://me@q", "me shared, me shared"),
            ("-p http://me@p -p http://ann:x@q", "me shared, ann x"),
            (
                "-p http://me@p -p socks4://ann@q -p socks4://r",
                "me shared, ann , none",
            ),
            ("-p socks4://ann@q -p p -U corp", "ann , corp shared"),
            ("-p p -U corp --via http://me:other@q", "corp shared"),
            ("-p http://me@p --via http://ann@q", "me shared"),
            ("-p http://me@p -p http://ann@q", "one password"),
            ("-p p -p http://ann@q -U corp", "two usernames"),
        ] {
            let line = line.replace("-p p", "-p http://p");
            assert_eq!(logins(&line), *expected, "{} {}", line, shared);
        }
    }
    let env = [("PTUNNEL_PASSWORD", "shared")];
    let line = "1:a:1 -p http://me@p -p http://ann@q";
    assert_eq!(logins(&env, line), "one password");
}

#[test]
fn an_ambiguous_login_is_an_error_that_names_both_places() {
    for (line, message) in &[
        (
            "-p p:1 -p http://ann@q:1 -U joe",
            "two usernames for q:1: 'ann' in --proxy and 'joe' in --user; remove one of them, or \
             write the password after 'ann' in the URL",
        ),
        (
            "-p p:1 -U joe:x --password-command cat",
            "two passwords for 'joe': in --user and in --password-command; remove one of them",
        ),
        (
            "-p http://ann@p:1 -p http://joe@q:1 -P x",
            "one password in --password, but two usernames: 'ann' of p:1 and 'joe' of q:1; write \
             the passwords into the URLs, or into a --proxy-netrc file",
        ),
        (
            "-p p:1 -D 2 --dynamic-user joe:x --dynamic-password-command cat",
            "two passwords for 'joe': in --dynamic-user and in --dynamic-password-command; remove \
             one of them",
        ),
        (
            "--serve-proxy 2 --serve-user joe:x --serve-password-command cat",
            "two passwords for 'joe': in --serve-user and in --serve-password-command; remove one \
             of them",
        ),
    ] {
        assert_eq!(complaint(&format!("1:a:1 {}", line)), *message);
    }
}

#[test]
fn a_password_that_no_proxy_gets_causes_a_warning() {
    let why = "--password has no effect: each username has its own password";
    for (line, is_warned) in &[
        ("-p http://joe:x@p -P y", true),
        ("-p http://joe:x@p -P y -U joe", true),
        ("-p http://joe:x@p -p q:1 -P y", true),
        ("-p http://joe:x@p -p q:1 -P y -U joe", false),
        ("-p http://joe:x@p -p http://ann@q -P y", false),
    ] {
        let (_, warnings) = warned(&format!("1:a:1 {}", line));
        assert_eq!(warnings.iter().any(|it| it == why), *is_warned, "{}", line);
    }
    let (_, warnings) = warned("1:a:1 -p http://joe:x@p -U ann");
    let why = "--user has no effect: the URL of each proxy has a username";
    assert!(warnings.iter().any(|it| it == why), "{:?}", warnings);
}

#[test]
fn the_prompt_names_user_and_proxy() {
    let asked = RefCell::new(String::new());
    let prompt = |whose: &str| {
        *asked.borrow_mut() = whose.to_string();
        Ok(Secret::new("x"))
    };
    with_env(&[], "1:a:1 -p http://joe@p.example", &prompt).unwrap();
    assert_eq!(*asked.borrow(), "Password for joe at p.example:80: ");
    assert!(complaint("1:a:1 -p http://joe@p").contains("no password for user 'joe'"));
}

#[test]
fn a_password_on_the_command_line_causes_a_warning() {
    for line in &[
        "1:a:1 -p p:1 -U joe:pw",
        "1:a:1 -p p:1 -U joe -P pw",
        "1:a:1 -p joe:pw@p:1",
        "1:a:1 -p p:1 --via joe:pw@q:1",
    ] {
        let (config, warnings) = warned(line);
        assert_eq!(warnings.len(), 1, "{}: {:?}", line, warnings);
        assert!(
            !format!("{:?}{:?}", config, warnings).contains("pw"),
            "{}",
            line
        );
    }
}

#[test]
fn an_open_proxy_needs_a_user_or_a_list() {
    assert!(complaint("--serve-proxy *:3128").contains("an open proxy"));
    assert!(complaint("--serve-proxy 3128 -l 0.0.0.0").contains("an open proxy"));
    assert!(complaint("--serve-proxy *:1").contains("--allow-from"));
    config("--serve-proxy *:1 --allow-from 10.0.0.0/8");
    assert!(complaint("--serve-proxy localhost").contains("'localhost'"));
    for user in &["joe", "joe:"] {
        let serve = format!("--serve-proxy 0 --serve-user {}", user);
        assert!(complaint(&serve).contains("no password"), "{}", user);
    }
    assert!(complaint("--serve-user joe:x --demo").contains("--serve-proxy"));
    let serve = config("--serve-proxy :3128 --serve-allow a --serve-allow b:1")
        .serve
        .unwrap();
    assert_eq!(
        (serve.bind, serve.port, serve.allow.len()),
        (Bind::Any, 3128, 2)
    );
    let serve = warned("--serve-proxy :3128 --serve-user joe:x")
        .0
        .serve
        .unwrap();
    assert_eq!(serve.credentials.unwrap().user(), "joe");
}

#[test]
fn dynamic_user_takes_one_user() {
    let at_all = "-D *:1080 --dynamic-user joe:x -p a:1";
    let user = warned(at_all).0.dynamic_user.unwrap();
    assert_eq!((user.user(), user.password().reveal()), ("joe", "x"));
    assert!(complaint("-D *:1080 -p a:1").contains("--dynamic-user"));
    for user in &["joe", "joe:"] {
        let dynamic = format!("-D 1080 --dynamic-user {} -p a:1", user);
        assert!(complaint(&dynamic).contains("PTUNNEL_DYNAMIC_PASSWORD"));
    }
    assert!(complaint("--dynamic-user joe:x --demo").contains("--dynamic"));
    let long = "x".repeat(256);
    for login in &[format!("{}:x", long), format!("joe:{}", long)] {
        let complaint = complaint(&format!("-D 1080 -p a:1 --dynamic-user {}", login));
        assert!(complaint.contains("255") && !complaint.contains("xx"));
    }
}

#[test]
fn a_netrc_file_fills_in_missing_credentials() {
    let path = std::env::temp_dir().join(format!("ptunnel-netrc-{}", std::process::id()));
    let text = "machine p login joe password file\nmachine p login ann password apple\n";
    std::fs::write(&path, text).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&path, mode).unwrap();
    let who = |env: &[(&str, &str)], line: &str| {
        let line = format!("1:a:1 --proxy-netrc {} {}", path.display(), line);
        match with_env(env, &line, &|_| Ok(Secret::new("typed"))) {
            Ok(Command::Run(config, warnings)) => {
                assert!(warnings.iter().all(|warning| !warning.contains("chmod")));
                let credentials = config.route.proxies[0].credentials.clone();
                credentials.map(|c| format!("{} {}", c.user(), c.password().reveal()))
            }
            other => panic!("{}: {:?}", line, other),
        }
    };
    assert_eq!(who(&[], "-p p:1").unwrap(), "joe file");
    assert_eq!(who(&[], "-p p:1 -U ann").unwrap(), "ann apple");
    assert_eq!(who(&[], "-p http://ann@p").unwrap(), "ann apple");
    assert_eq!(who(&[], "-p http://ann:url@p").unwrap(), "ann url");
    assert_eq!(who(&[], "-p p:1 -U bob").unwrap(), "bob typed");
    assert_eq!(who(&[], "-p q:1"), None);
    let env = [("PTUNNEL_PASSWORD", "from-env")];
    assert_eq!(who(&env, "-p p:1 -U ann").unwrap(), "ann from-env");
    // A whole entry is like a login in the URL.
    assert_eq!(who(&env, "-p p:1").unwrap(), "joe file");
    assert_eq!(who(&[], "-p p:1 -P opt").unwrap(), "joe file");
    std::fs::remove_file(&path).unwrap();
}
