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

#[test]
fn password_sources_have_an_order() {
    let env = [("PTUNNEL_PASSWORD", "from-env")];
    let password =
        |env: &[(&str, &str)], line: &str| match with_env(env, line, &|_| Ok(Secret::new("typed")))
        {
            Ok(Command::Run(config, _)) => {
                let credentials = config.route.proxies[0].credentials.clone().unwrap();
                format!("{} {}", credentials.user(), credentials.password().reveal())
            }
            other => panic!("{}: {:?}", line, other),
        };
    assert_eq!(
        password(&env, "1:a:1 -p http://joe:url@p -P opt"),
        "joe opt"
    );
    assert_eq!(password(&env, "1:a:1 -p http://joe:url@p"), "joe from-env");
    assert_eq!(
        password(&[], "1:a:1 -p http://joe:url@p -U ann:x"),
        "joe url"
    );
    assert_eq!(password(&[], "1:a:1 -p p:1 -U ann:x"), "ann x");
    assert_eq!(password(&[], "1:a:1 -p http://joe@p"), "joe typed");
    let env = [("https_proxy", "http://joe:url@p")];
    assert_eq!(password(&env, "1:a:1"), "joe url");
    assert_eq!(password(&env, "1:a:1 -U ann:x"), "ann x");
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
    std::fs::remove_file(&path).unwrap();
}
