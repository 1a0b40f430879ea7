//! The message of a panic.

use std::any::Any;

/// Returns the text of a panic's payload; `no message` if it has none.
pub fn message(panic: &(dyn Any + Send)) -> &str {
    if let Some(text) = panic.downcast_ref::<&str>() {
        text
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text
    } else {
        "no message"
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{catch_unwind, resume_unwind};

    use super::*;

    #[test]
    fn every_panic_payload_has_a_message() {
        let plain = catch_unwind(|| panic!("plain")).unwrap_err();
        assert_eq!(message(&*plain), "plain");
        let written = catch_unwind(|| panic!("{}", 1)).unwrap_err();
        assert_eq!(message(&*written), "1");
        let odd = catch_unwind(|| resume_unwind(Box::new(1))).unwrap_err();
        assert_eq!(message(&*odd), "no message");
    }
}
