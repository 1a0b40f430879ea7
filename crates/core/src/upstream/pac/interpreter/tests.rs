use super::*;

/// 2026-02-28, a Saturday, 23:59:30 UTC.
const NIGHT: f64 = 1_772_323_170_000.0;
/// 2026-03-02, a Monday, 12:05:07 UTC.
const NOON: f64 = 1_772_453_107_000.0;

fn load_at(source: &str, time: f64) -> Result<Interpreter, Thrown> {
    Interpreter::at(source, move || time, outside)
}

/// Answers a request as the parent would.
fn outside(request: MessageKind, text: &str) -> String {
    match request {
        MessageKind::Addresses => host_functions::addresses(text),
        MessageKind::Own => host_functions::own(),
        _ => String::new(),
    }
}

/// Returns a file's answer for `https://www.example.org:993/`.
fn said(source: &str) -> Result<String, Thrown> {
    let mut interpreter = load_at(source, NOON)?;
    interpreter.ask("https://www.example.org:993/", "www.example.org")
}

/// Returns the value of an expression as text.
#[track_caller]
fn value_at(expression: &str, time: f64) -> String {
    let source = format!(
        "function FindProxyForURL(url, host) {{ return '' + ({}) }}",
        expression
    );
    let answer = load_at(&source, time).and_then(|mut it| it.ask("https://h/", "h"));
    answer.unwrap_or_else(|thrown| panic!("{}: {:?}", expression, thrown))
}

#[track_caller]
fn assert_values(pairs: &[(&str, &str)]) {
    for (expression, value) in pairs {
        assert_eq!(value_at(expression, NOON), *value, "{}", expression);
    }
}

/// Returns the line and the text of the error.
#[track_caller]
fn thrown(source: &str) -> (usize, String) {
    match said(source) {
        Err(Thrown { line, text }) => (line, text),
        other => panic!("{}: {:?}", source, other),
    }
}

#[test]
fn a_file_gets_the_url_and_the_host() {
    let answer = said("function FindProxyForURL(url, host) { return url + ' ' + host; }");
    assert_eq!(
        answer.unwrap(),
        "https://www.example.org:993/ www.example.org"
    );
}

#[test]
fn names_are_compared_as_in_browsers() {
    assert_values(&[
        ("isPlainHostName('www')", "true"),
        ("isPlainHostName('www.example.org')", "false"),
        ("isPlainHostName('::1')", "false"),
        ("dnsDomainIs('www.example.org', '.example.org')", "true"),
        ("dnsDomainIs('www', '.example.org')", "false"),
        ("dnsDomainIs('www.example.net', '.example.org')", "false"),
        (
            "localHostOrDomainIs('www.example.org', 'www.example.org')",
            "true",
        ),
        ("localHostOrDomainIs('www', 'www.example.org')", "true"),
        (
            "localHostOrDomainIs('home.example.org', 'www.example.org')",
            "false",
        ),
        ("dnsDomainLevels('www')", "0"),
        ("dnsDomainLevels('www.example.org')", "2"),
    ]);
}

#[test]
fn shell_expressions_match_the_whole_text() {
    assert_values(&[
        ("shExpMatch('http://a.example/x/y', '*/x/*')", "true"),
        ("shExpMatch('http://a.example/y', '*/x/*')", "false"),
        ("shExpMatch('abc', 'a?c')", "true"),
        ("shExpMatch('ac', 'a?c')", "false"),
        (
            "shExpMatch('a.c', 'a.c') && !shExpMatch('abc', 'a.c')",
            "true",
        ),
        ("shExpMatch('', '') && shExpMatch('', '**')", "true"),
        (
            "shExpMatch('a*b', 'a*b') && shExpMatch('(a|b)', '(a|b)')",
            "true",
        ),
        (
            "shExpMatch('aXbXc', 'a*b*') && !shExpMatch('aXbXc', 'a*b')",
            "true",
        ),
    ]);
}

/// A regular expression would not have ended.
#[test]
fn many_stars_take_no_time() {
    let many = "shExpMatch(new Array(2000).join('a'), new Array(30).join('*a') + 'b')";
    assert_eq!(value_at(many, NOON), "false");
}

#[test]
fn addresses_of_ipv4_are_looked_up_and_masked() {
    assert_values(&[
        ("isInNet('10.1.2.3', '10.0.0.0', '255.0.0.0')", "true"),
        ("isInNet('11.1.2.3', '10.0.0.0', '255.0.0.0')", "false"),
        ("isInNet('10.1.2.300', '10.0.0.0', '255.0.0.0')", "false"),
        ("isInNet('10.1.2.3', '10.0.0', '255.0.0.0')", "false"),
        ("isInNet('2001:db8::1', '0.0.0.0', '0.0.0.0')", "false"),
        ("isInNet('localhost', '127.0.0.0', '255.0.0.0')", "true"),
        ("dnsResolve('10.1.2.3')", "10.1.2.3"),
        ("dnsResolve('localhost')", "127.0.0.1"),
        ("dnsResolve('nowhere.invalid')", "null"),
        ("isResolvable('localhost')", "true"),
        ("isResolvable('nowhere.invalid')", "false"),
        ("convert_addr('104.16.41.2')", "1745889538"),
        ("convert_addr('255.255.255.255')", "-1"),
        ("/^\\d+\\.\\d+\\.\\d+\\.\\d+$/.test(myIpAddress())", "true"),
    ]);
}

#[test]
fn microsofts_functions_support_both_families() {
    assert_values(&[
        ("isInNetEx('2001:db8::1', '2001:db8::/32')", "true"),
        ("isInNetEx('10.1.2.3', '10.0.0.0/8')", "true"),
        ("isInNetEx('10.1.2.3', '2001:db8::/32')", "false"),
        ("dnsResolveEx('2001:db8::1')", "2001:db8::1"),
        ("dnsResolveEx('nowhere.invalid') === ''", "true"),
        ("isResolvableEx('localhost')", "true"),
        ("typeof myIpAddressEx()", "string"),
        (
            "sortIpAddressList('10.2.0.1;::1;10.1.0.1')",
            "::1;10.1.0.1;10.2.0.1",
        ),
        ("sortIpAddressList('x')", "false"),
        ("getClientVersion()", "1.0"),
    ]);
}

#[test]
fn weekday_ranges_wrap_around() {
    for (range, at_noon, at_night) in &[
        ("'MON'", true, false),
        ("'mon'", true, false),
        ("'MON', 'FRI'", true, false),
        ("'SAT', 'WED'", true, true),
        ("'TUE', 'SUN'", false, true),
        ("'SAT'", false, true),
        ("'XXX'", false, false),
        ("", false, false),
    ] {
        let gmt = if range.is_empty() { "" } else { ", " };
        let call = format!("weekdayRange({}{}'GMT')", range, gmt);
        assert_eq!(value_at(&call, NOON), at_noon.to_string(), "{}", call);
        assert_eq!(value_at(&call, NIGHT), at_night.to_string(), "{}", call);
    }
}

#[test]
fn date_ranges_compare_the_given_parts() {
    for (range, at_noon, at_night) in &[
        ("2", true, false),
        ("28", false, true),
        ("1, 15", true, false),
        ("25, 5", true, true),
        ("'FEB'", false, true),
        ("'FEB', 'MAR'", true, true),
        ("'NOV', 'FEB'", false, true),
        ("2026", true, true),
        ("2024, 2025", false, false),
        ("1, 'MAR', 31, 'MAY'", true, false),
        ("24, 'DEC', 1, 'MAR'", false, true),
        ("'JAN', 2026, 'FEB', 2026", false, true),
        ("28, 'FEB', 2026, 2, 'MAR', 2026", true, true),
        ("3, 'MAR', 2026, 27, 'FEB', 2026", false, false),
        ("1, 'MAR', 2", false, false),
        ("'MAR', 5", false, false),
        ("'XXX'", false, false),
        ("0", false, false),
    ] {
        let call = format!("dateRange({}, 'GMT')", range);
        assert_eq!(value_at(&call, NOON), at_noon.to_string(), "{}", call);
        assert_eq!(value_at(&call, NIGHT), at_night.to_string(), "{}", call);
    }
}

#[test]
fn time_ranges_compare_to_the_finest_given_unit() {
    for (range, at_noon, at_night) in &[
        ("12", true, false),
        ("9, 12", true, false),
        ("13, 22", false, false),
        ("22, 6", false, true),
        ("12, 0, 12, 5", true, false),
        ("12, 6, 13, 0", false, false),
        ("12, 5, 0, 12, 5, 7", true, false),
        ("12, 5, 8, 12, 5, 9", false, false),
        ("23, 59, 30, 0, 0, 0", false, true),
        ("1, 2, 3", false, false),
    ] {
        let call = format!("timeRange({}, 'GMT')", range);
        assert_eq!(value_at(&call, NOON), at_noon.to_string(), "{}", call);
        assert_eq!(value_at(&call, NIGHT), at_night.to_string(), "{}", call);
    }
}

/// The previous engine supported only ECMAScript 5.
#[test]
fn modern_javascript_runs() {
    let source = r"
        const proxies = new Map([['www.example.org', { name: 'a', port: 1 }]]);
        let count = 0;
        class Answer {
            #parts = [];
            add = (...parts) => { this.#parts.push(...parts); return this };
            get text() { return this.#parts.join('; ') }
        }
        const FindProxyForURL = (url, host) => {
            const answer = new Answer();
            for (const [known, { name, port = 2 }] of proxies) {
                if (host.includes(known) && ['x', host].includes(known)) {
                    answer.add(`PROXY ${name}:${port}`);
                }
            }
            count += proxies?.get('none')?.port ?? 2 ** 3;
            return answer.add(`DIRECT`, `${host.padEnd(16, '.')}${count}`).text;
        };";
    assert_eq!(
        said(source).unwrap(),
        "PROXY a:1; DIRECT; www.example.org.8"
    );
}

/// An empty answer means DIRECT as well, but it isn't an answer of the file.
#[test]
fn null_means_direct_and_other_values_mean_an_empty_answer() {
    for (value, answer) in &[
        ("null", "DIRECT"),
        ("undefined", ""),
        ("5", ""),
        ("['DIRECT']", ""),
        ("Promise.resolve('DIRECT')", ""),
    ] {
        let source = format!("function FindProxyForURL() {{ return {} }}", value);
        assert_eq!(said(&source).unwrap(), *answer, "{}", value);
    }
}

#[test]
fn errors_are_reported_with_their_line() {
    let (line, text) = thrown("// one\n\nfunction FindProxyForURL(url, host) {\n  return ( ;\n}\n");
    assert!(
        line == 4 && text.starts_with("SyntaxError"),
        "{} {}",
        line,
        text
    );
    let (line, text) =
        thrown("// one\nfunction FindProxyForURL(url, host) {\n  return nobody(host);\n}");
    assert!(
        line == 3 && text.starts_with("ReferenceError"),
        "{} {}",
        line,
        text
    );
    let (line, text) = thrown("\nthrow new Error('on purpose')");
    assert_eq!((line, &text[..]), (2, "Error: on purpose"));
    assert_eq!(thrown("throw new Error('x')"), (1, "Error: x".into()));
    assert_eq!(thrown("throw 'a text'"), (0, "a text".into()));
    let (_, text) = thrown("function findProxyForURL() {}");
    assert_eq!(text, "it defines no function FindProxyForURL(url, host)");
}

/// Reading an error can run getters that the file has defined.
#[test]
fn reading_an_error_survives_code_of_the_file() {
    for source in &[
        "throw { get stack() { throw 1 }, toString: function () { throw 2 } }",
        "throw { toString: null }",
        "throw undefined",
        "throw null",
        "throw Symbol('x')",
        "var e = new Error('x'); Object.defineProperty(e, 'stack', \
         { get: function () { throw 3 } }); throw e",
        "var e = new Error('x'); e.toString = function () { throw 4 }; throw e",
        "RegExp.prototype.exec = function () { throw 5 }; throw new Error('x')",
        "Error.prepareStackTrace = function () { throw 6 }; throw new Error('x')",
        "String = null; Number = null; throw 6",
        "throw new Proxy({}, { get: function () { throw 7 } })",
    ] {
        thrown(source);
    }
    thrown("function FindProxyForURL() { throw { get stack() { throw 1 } } }");
}

/// The context stays usable. The memory that is left when the file stops decides what the engine
/// can throw: an error with a text, an error without one, or null.
#[test]
fn a_file_that_uses_too_much_memory_is_stopped() {
    (0..60).for_each(|step| assert_is_stopped((1 << 20) + step * 400));
}

#[test]
fn a_file_is_stopped_at_the_programs_limit_of_memory() {
    assert_is_stopped(MEMORY);
}

fn assert_is_stopped(limit: usize) {
    let source = "function FindProxyForURL() { \
                  var all = []; for (;;) all.push(new Array(1000).join('x' + all.length)) }";
    let engine = QuickJs::new(PRELUDE, limit, |_| String::new()).unwrap();
    let mut interpreter = Interpreter { engine };
    interpreter.call(&["load", source]).unwrap();
    for _ in 0..2 {
        let Thrown { text, .. } = interpreter.ask("https://h/", "h").unwrap_err();
        assert!(text.contains("memory"), "at {} bytes: {}", limit, text);
    }
}

#[test]
fn a_file_has_no_access_to_the_system() {
    for name in &[
        "std",
        "os",
        "require",
        "process",
        "print",
        "XMLHttpRequest",
        "fetch",
        "setTimeout",
        "native",
        "evaluate",
        "Worker",
        "importScripts",
    ] {
        assert_eq!(value_at(&format!("typeof {}", name), NOON), "undefined");
    }
}

/// As in a browser, which keeps a file's variables too.
#[test]
fn variables_persist_between_calls() {
    let source = "var count = 0; function FindProxyForURL() { count += 1; return '' + count }";
    let mut interpreter = load_at(source, NOON).unwrap();
    for count in 1..4 {
        let answer = interpreter.ask("https://h/", "h").unwrap();
        assert_eq!(answer, count.to_string());
    }
}
