//! `Debug` for types that hold secrets, or nothing that a reader needs.

/// Implements `Debug` for each type with its name alone: `Handle { .. }`. Type parameters need no
/// bound: `debug_by_name!(Handle, Connect<S>);`.
#[macro_export]
macro_rules! debug_by_name {
    ($($name:ident $(<$parameter:ident>)?),+) => {$(
        impl$(<$parameter>)? ::std::fmt::Debug for $name$(<$parameter>)? {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(concat!(stringify!($name), " { .. }"))
            }
        }
    )+};
}

#[cfg(test)]
mod tests {
    struct Plain(#[allow(dead_code)] &'static str);
    struct Generic<S>(#[allow(dead_code)] S);
    struct NotDebug;

    debug_by_name!(Plain, Generic<S>);

    #[test]
    fn only_the_name_is_shown() {
        assert_eq!(format!("{:?}", Plain("secret")), "Plain { .. }");
        assert_eq!(format!("{:#?}", Generic(NotDebug)), "Generic { .. }");
    }
}
