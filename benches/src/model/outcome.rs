//! A run with the verdicts on its targets.

use std::fmt;

use serde::Serialize;

use super::results::Results;
use super::stats::Spread;
use super::target::Bound;

#[derive(Debug)]
pub struct Outcome {
    pub results: Results,
    pub lines: Vec<Line>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The whole interval breaks the bound.
    Missed,
    /// The interval reaches across the bound, or is of fewer than six rounds: another run may say either.
    Undecided,
    /// The whole interval keeps the bound.
    Met,
    /// Nothing is promised: it is there to be seen.
    Shown,
    /// One side has no sample: missing, failed or interrupted.
    Unmeasured,
    /// The command line left one side out.
    Skipped,
}

/// One target and one rival.
#[derive(Clone, Debug)]
pub struct Line {
    pub verdict: Verdict,
    pub figure: &'static str,
    pub source: &'static str,
    /// The value itself where it is held against a limit.
    pub ratio: Option<Spread>,
    /// Absent where being measured is the target.
    pub bound: Option<Bound>,
    /// The peer whose figure comes first, where it isn't the subject.
    pub ours: Option<String>,
    /// Absent for a limit.
    pub theirs: Option<String>,
}

impl Line {
    /// As in "r3 <= 1.05 of r5".
    pub fn target(&self) -> String {
        let bound = self.bound.map(|bound| bound.to_string());
        let theirs = self.theirs.as_ref().map(|peer| format!("of {peer}"));
        let words = [self.ours.clone(), bound, theirs];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{self:?}").to_lowercase())
    }
}

impl fmt::Display for Line {
    /// `verdict  FIGURE  RATIO  TARGET  interval`, in columns.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (ratio, interval) = match self.ratio {
            None => ("-".to_string(), String::new()),
            Some(Spread {
                median,
                low,
                high,
                count,
            }) => {
                let interval = match count {
                    1 => "one sample".to_string(),
                    _ => format!("{low:.3}..{high:.3} of {count}"),
                };
                (format!("{median:.3}"), interval)
            }
        };
        let (verdict, figure, target) = (self.verdict, self.figure, self.target());
        let text = format!("{verdict:<11} {figure:<24} {ratio:>8}  {target:<26} {interval}");
        f.write_str(text.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stand_in_columns() {
        let mut line = Line {
            verdict: Verdict::Met,
            figure: "cpu",
            source: "",
            ratio: Spread::of(&[0.97, 0.98123, 0.99]),
            bound: Some(Bound::AtMost(1.0)),
            ours: None,
            theirs: Some("tokio".to_string()),
        };
        let text = line.to_string();
        let words: Vec<&str> = text.split_whitespace().collect();
        assert_eq!(
            words.join(" "),
            "met cpu 0.981 <= 1.00 of tokio 0.976..0.986 of 3"
        );
        line.ratio = None;
        line.verdict = Verdict::Unmeasured;
        assert!(line.to_string().starts_with("unmeasured  cpu"));
    }
}
