//! What a file is turned into, and what is said of a wrong one.

use super::*;

fn typed(text: &str) -> Vec<String> {
    let words = words_of_text(text);
    let words = words.unwrap_or_else(|(line, why)| panic!("{}:{}: {}", text, line, why));
    words.into_iter().map(|(_, word)| word).collect()
}

fn complaint(text: &str) -> (usize, String) {
    match values(text) {
        Ok(values) => panic!("{}: {:?}", text, values),
        Err(complaint) => complaint,
    }
}

/// A flag that was added later and works on the command line alone would be found here.
#[test]
fn every_flag_can_stand_in_a_file() {
    for flag in flags::all() {
        let long = flag.name;
        let (value, word) = match (flag.value, flag.is_repeated) {
            (Some(_), true) => ("[\"x\"]", format!("--{}=x", long)),
            (Some(_), false) => ("\"x\"", format!("--{}=x", long)),
            (None, _) => ("true", format!("--{}", long)),
        };
        let line = format!("{} = {}", long, value);
        if !flag.is_in_file {
            assert!(complaint(&line).1.contains("command line"), "{}", line);
        } else {
            assert_eq!(typed(&line), [word]);
        }
    }
}

#[test]
fn values_are_written_as_they_would_be_typed() {
    let text = "\
# a comment
threads = 4
connect-timeout = 2.5
multithreaded = false
verbose = 2
no-proxy = ''
proxy = \"a:1\"
tunnels = [
    \"1:a:1\",
    '-x',
]
";
    let expected = "--threads=4 --connect-timeout=2.5 --verbose --verbose --no-proxy= --proxy=a:1 \
                    --forward=1:a:1 --forward=-x";
    assert_eq!(typed(text).join(" "), expected);
    let words = words_of_text(text).unwrap();
    let lines: Vec<usize> = words.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [2, 3, 5, 5, 6, 7, 9, 10]);
}

#[test]
fn wrong_types_are_reported_with_their_line_and_a_right_value() {
    for (text, line, offending, right) in &[
        (
            "\nthreads = true",
            2,
            "'threads' takes a string or a number, not true or false",
            "threads = 4",
        ),
        (
            "threads = [1]",
            1,
            "'threads' takes a string or a number, not a list",
            "threads = 4",
        ),
        (
            "demo = 1",
            1,
            "'demo' takes true or false, not a number",
            "demo = true",
        ),
        (
            "demo = \"yes\"",
            1,
            "'demo' takes true or false, not a string",
            "demo = true",
        ),
        (
            "verbose = 1000",
            1,
            "a whole number from 0 to 255, not 1000",
            "verbose = 1",
        ),
        (
            "verbose = -1",
            1,
            "a whole number from 0 to 255, not -1",
            "verbose = 1",
        ),
        (
            "verbose = 2.5",
            1,
            "a whole number from 0 to 255, not 2.5",
            "verbose = 1",
        ),
        (
            "header = [1, [2]]",
            1,
            "not a list inside the list",
            "header = [\"User-Agent: ptunnel\"]",
        ),
        (
            "tunnels = true",
            1,
            "'tunnels' takes a string or a list of strings, not true or false",
            "tunnels = [\"8993:imap.example.org:993\"]",
        ),
        (
            "threads = 1979-05-27",
            1,
            "not a date or time",
            "threads = 4",
        ),
        (
            "\n\n[proxy]\nuser = 'x'",
            3,
            "a table",
            "proxy = [\"proxy.example:3128\"]",
        ),
    ] {
        let (found_line, message) = complaint(text);
        assert_eq!(found_line, *line, "{}: {}", text, message);
        assert!(
            message.contains(offending) && message.ends_with(right),
            "{}: {}",
            text,
            message
        );
    }
}

#[test]
fn unknown_names_are_reported_with_a_similar_one() {
    for (text, line, message) in &[
        (
            "demo = true\ntreads = 1",
            2,
            "no option 'treads': did you mean 'threads'?",
        ),
        (
            "connect_timeout = 1",
            1,
            "no option 'connect_timeout': did you mean 'connect-timeout'?",
        ),
        (
            "tunnel = []",
            1,
            "no option 'tunnel': did you mean 'tunnels'?",
        ),
        (
            "\"a\\u001bb\" = 1",
            1,
            "no option 'a\\x1bb': keys are the long names of options",
        ),
        ("[server]", 1, "no option 'server': keys are"),
        ("insecur = true", 1, "no option 'insecur': keys are"),
        ("\"proxy=x\" = 1", 1, "no option 'proxy=x': keys are"),
    ] {
        let (found_line, complaint) = complaint(text);
        assert_eq!(found_line, *line, "{}", complaint);
        assert!(complaint.starts_with(message), "{}", complaint);
    }
}

/// It overflowed the stack, which ended the program.
#[test]
fn endless_nesting_is_reported_with_its_line() {
    let (message, why) = complaint(&format!("threads = 1\nforward = {}", "[".repeat(100_000)));
    assert_eq!(message, 2);
    assert!(why.contains("brackets"), "{}", why);
}

#[test]
fn invalid_toml_is_reported_with_its_line() {
    for (text, line) in &[
        ("a b", 1),
        ("demo = true\nthreads = ", 2),
        ("threads = 1\n\nthreads = 2", 3),
        ("proxy = \"a", 1),
    ] {
        let (message, why) = complaint(text);
        assert_eq!(message, *line, "{}: {}", text, why);
        assert!(!why.contains('\n') && !why.contains("at line"), "{}", why);
    }
}
