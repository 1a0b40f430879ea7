//! The files that callgrind writes: instructions by function.
//!
//! Format: "Callgrind Format Specification" of the Valgrind manual. What a function spends itself is on the cost
//! lines below its `fn=`; the line after `calls=` is what its callee spent, and is left out of it.

use std::collections::{BTreeMap, HashMap};

/// Instructions that each function spent itself.
pub type Costs = BTreeMap<String, u64>;

/// What a process did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    pub costs: Costs,
    /// How often each function was called, by any caller.
    pub calls: Costs,
}

impl Counted {
    /// Adds another process, or the same with its functions' [`plain`] names.
    pub fn add(&mut self, other: Counted) {
        for (sums, counts) in [
            (&mut self.costs, other.costs),
            (&mut self.calls, other.calls),
        ] {
            for (name, count) in counts {
                *sums.entry(plain(&name).to_string()).or_default() += count;
            }
        }
    }

    /// Calls of the allocator: the C library's, which is Rust's too, or mimalloc. An allocation that is made larger is another.
    pub fn allocations(&self) -> u64 {
        ALLOCATORS
            .iter()
            .filter_map(|&name| self.calls.get(name))
            .sum()
    }
}

const ALLOCATORS: [&str; 12] = [
    "malloc",
    "calloc",
    "realloc",
    "posix_memalign",
    "aligned_alloc",
    "memalign",
    "mi_malloc",
    "mi_malloc_aligned",
    "mi_zalloc",
    "mi_zalloc_aligned",
    "mi_realloc",
    "mi_realloc_aligned",
];

/// Reads one file.
pub fn parse(text: &str) -> Counted {
    let mut names: HashMap<&str, &str> = HashMap::new();
    let (mut costs, mut calls) = (Costs::new(), Costs::new());
    let (mut current, mut callee) = ("", "");
    let mut of_callee = false;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("fn=") {
            current = resolve(&mut names, rest);
        } else if let Some(rest) = line.strip_prefix("cfn=") {
            callee = resolve(&mut names, rest);
        } else if let Some(rest) = line.strip_prefix("calls=") {
            let count = rest
                .split_whitespace()
                .next()
                .and_then(|word| word.parse::<u64>().ok());
            *calls.entry(callee.to_string()).or_default() += count.unwrap_or(0);
            of_callee = true;
        } else if is_cost(line) && !std::mem::take(&mut of_callee) {
            let cost = line
                .split_whitespace()
                .nth(1)
                .and_then(|word| word.parse::<u64>().ok());
            *costs.entry(current.to_string()).or_default() += cost.unwrap_or(0);
        }
    }
    Counted { costs, calls }
}

/// A cost line begins with its position: a number, or one relative to the line before.
fn is_cost(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '*'))
}

/// `(7) name` defines 7, `(7)` uses it, and a bare name is itself.
fn resolve<'a>(names: &mut HashMap<&'a str, &'a str>, text: &'a str) -> &'a str {
    let Some((id, name)) = text.strip_prefix('(').and_then(|rest| rest.split_once(')')) else {
        return text;
    };
    match name.trim() {
        "" => names.get(id).copied().unwrap_or(text),
        name => {
            names.insert(id, name);
            name
        }
    }
}

/// The name without what a reader doesn't need: recursion marks, hashes of the Rust compiler, versions of symbols.
pub fn plain(name: &str) -> &str {
    let name = name.split('\'').next().unwrap_or(name);
    let name = match name.rsplit_once("::h") {
        Some((path, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => {
            path
        }
        _ => name,
    };
    match name.split_once("@@") {
        Some((symbol, _)) => symbol,
        None => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUT: &str = "\
# callgrind format
version: 1
events: Ir
positions: line

ob=(1) /bin/relay
fl=(1) relay.rs
fn=(1) main
10 5
cfn=(2) pump
calls=3 20
11 300
+1 7

fn=(2)
fi=(2) inlined.rs
30 200
fe=(1)
* 100
fn=bare
-3 1
totals: 313
";

    #[test]
    fn sums_own_cost_and_not_the_callees() {
        let Counted { costs, calls } = parse(OUT);
        assert_eq!(costs["main"], 12);
        assert_eq!(costs["pump"], 300);
        assert_eq!(costs["bare"], 1);
        assert_eq!(costs.values().sum::<u64>(), 313);
        assert_eq!(
            calls.into_iter().collect::<Vec<_>>(),
            [("pump".to_string(), 3)]
        );
    }

    #[test]
    fn processes_are_summed_up_without_hashes() {
        let mut counted = Counted::default();
        counted.add(parse(OUT));
        counted.add(parse(
            "fn=(1) pump::h0123456789abcdef\n1 7\ncfn=(2) malloc@@GLIBC_2.2.5\ncalls=2 1\n1 9\n",
        ));
        assert_eq!(counted.costs["pump"], 307);
        assert_eq!(counted.allocations(), 2);
    }

    #[test]
    fn names_lose_hashes_and_versions() {
        assert_eq!(
            plain("relay::Half::pump::h0123456789abcdef"),
            "relay::Half::pump"
        );
        assert_eq!(plain("recv@@GLIBC_2.2.5"), "recv");
        assert_eq!(plain("a::hello"), "a::hello");
        assert_eq!(plain("walk'2"), "walk");
    }
}
