//! How much of the code touches futures 0.1's generation.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Serialize;

use crate::check::Use;
use crate::sources::Sources;

/// Counts of the files that were compiled. A line touches that generation where the compiler reports
/// one of its items there; a function or file does where one of its lines does.
#[derive(Debug, Default, Eq, PartialEq, Serialize)]
pub struct Size {
    pub files: Share,
    pub functions: Share,
    /// Lines with code, neither blank nor comments alone.
    pub lines: Share,
    /// The lines of the functions that touch it.
    pub lines_of_functions: usize,
}

/// A count, and the part of it that touches that generation.
#[derive(Debug, Default, Eq, PartialEq, Serialize)]
pub struct Share {
    pub all: usize,
    pub touch: usize,
}

impl Share {
    /// The part in percent, rounded.
    pub fn percent(&self) -> usize {
        percent(self.touch, self.all)
    }
}

/// A part in percent, rounded.
pub fn percent(part: usize, all: usize) -> usize {
    (part * 100 + all / 2).checked_div(all).unwrap_or_default()
}

impl Size {
    /// The lines of the functions that touch it, as a part of all.
    pub fn function_lines(&self) -> Share {
        Share {
            all: self.lines.all,
            touch: self.lines_of_functions,
        }
    }

    pub fn of(uses: &[Use], sources: &Sources) -> Self {
        let mut touched = BTreeMap::<&Path, BTreeSet<usize>>::new();
        for used in uses {
            touched.entry(&used.file).or_default().insert(used.line);
        }
        let mut size = Self::default();
        for (path, source) in sources.iter() {
            let outline = &source.outline;
            size.files.all += 1;
            size.functions.all += outline.functions.len();
            size.lines.all += outline.lines.len();
            let Some(lines) = touched.get(path) else {
                continue;
            };
            size.files.touch += 1;
            size.lines.touch += lines.len();
            let functions = outline.functions_with(lines.iter().copied());
            size.functions.touch += functions.len();
            size.lines_of_functions += outline.lines_in(&functions);
        }
        size
    }
}
