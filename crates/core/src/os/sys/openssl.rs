//! A setting of OpenSSL that the openssl crate doesn't cover.

use std::ptr;

use openssl::ssl::SslContextBuilder;
use openssl_sys::{SSL_CTX_ctrl, SSL_MODE_AUTO_RETRY};

/// SSL_CTRL_CLEAR_MODE of ssl.h, which openssl-sys doesn't have.
const CLEAR_MODE: libc::c_int = 78;

/// Clears SSL_MODE_AUTO_RETRY: a read returns after each record that carries no data.
pub(crate) fn clear_auto_retry(context: &mut SslContextBuilder) {
    // SAFETY: the context is valid and borrowed for the call; this command takes a number and no
    // pointer.
    unsafe {
        SSL_CTX_ctrl(
            context.as_ptr(),
            CLEAR_MODE,
            SSL_MODE_AUTO_RETRY,
            ptr::null_mut(),
        )
    };
}

#[cfg(test)]
mod tests {
    use openssl::ssl::{SslContext, SslMethod, SslMode};

    use super::*;

    #[test]
    fn clears_only_this_mode() {
        let mut context = SslContext::builder(SslMethod::tls()).unwrap();
        let before = context.set_mode(SslMode::ENABLE_PARTIAL_WRITE);
        assert!(before.contains(SslMode::AUTO_RETRY));
        clear_auto_retry(&mut context);
        let after = context.set_mode(SslMode::empty());
        assert!(!after.contains(SslMode::AUTO_RETRY));
        assert!(after.contains(SslMode::ENABLE_PARTIAL_WRITE));
    }
}
