//! Generated parts of a page: the text between two comments that name it.

use std::io;

/// The page with `body` between `<!-- begin: rigs NAME -->` and `<!-- end: rigs NAME -->`, each on a separate line.
///
/// # Errors
///
/// When the page has no such lines.
pub fn fill(page: &str, name: &str, body: &str) -> io::Result<String> {
    let (begin, end) = (
        format!("<!-- begin: rigs {name} -->\n"),
        format!("<!-- end: rigs {name} -->"),
    );
    let filled = page.split_once(&begin).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(&end)?;
        Some(format!("{before}{begin}{body}{end}{after}"))
    });
    filled.ok_or_else(|| io::Error::other(format!("the page has no {begin:?} with its end")))
}

#[cfg(test)]
mod tests {
    use super::fill;

    #[test]
    fn only_what_is_between_the_markers_changes() {
        let page = "a\n<!-- begin: rigs x -->\nold\n<!-- end: rigs x -->\nb\n";
        let filled = fill(page, "x", "new\n").unwrap();
        assert_eq!(filled, page.replace("old", "new"));
        assert_eq!(fill(&filled, "x", "new\n").unwrap(), filled);
        assert!(fill(page, "y", "").is_err());
        assert!(fill("<!-- begin: rigs x -->\n", "x", "").is_err());
    }
}
