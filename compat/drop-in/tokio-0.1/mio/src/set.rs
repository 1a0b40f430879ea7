//! What the types of sets have in common.

use std::fmt;

/// Implements `|`, `^`, `&`, `-` and `!` of a set of bits, with `$other` on the right side.
macro_rules! operators {
    ($set:ident, [$($generics:tt)*] $other:ty) => {
        crate::set::operators!($set, [$($generics)*] $other, BitOr::bitor, |);
        crate::set::operators!($set, [$($generics)*] $other, BitXor::bitxor, ^);
        crate::set::operators!($set, [$($generics)*] $other, BitAnd::bitand, &);
        crate::set::operators!($set, [$($generics)*] $other, Sub::sub, & !);

        impl std::ops::Not for $set {
            type Output = $set;

            fn not(self) -> $set {
                $set(!self.0)
            }
        }
    };
    (
        $set:ident, [$($generics:tt)*] $other:ty, $trait:ident::$function:ident, $($operator:tt)+
    ) => {
        impl<$($generics)*> std::ops::$trait<$other> for $set {
            type Output = $set;

            fn $function(self, other: $other) -> $set {
                $set(self.0 $($operator)+ <$other as Into<$set>>::into(other).0)
            }
        }
    };
}

pub(crate) use operators;

/// Writes the names of the bits that `bits` has.
pub(crate) fn names(
    bits: usize,
    known: &[(usize, &str)],
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let names: Vec<_> = known
        .iter()
        .filter(|(bit, _)| bits & bit != 0)
        .map(|(_, name)| *name)
        .collect();
    match names[..] {
        [] => f.write_str("(empty)"),
        _ => f.write_str(&names.join(" | ")),
    }
}
