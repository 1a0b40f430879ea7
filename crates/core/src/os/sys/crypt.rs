//! Hashes of passwords, by the system's libcrypt (crypt(3)), which is loaded when it is needed: it
//! knows the methods of this system's /etc/shadow, and gets the system's security updates.

use std::ffi::{CStr, CString};
use std::fmt;
use std::mem;
use std::os::raw::{c_char, c_int, c_void};

use super::library::Library;

/// The library's names: of libxcrypt with the interface of glibc, and without.
const LIBRARIES: &[&[u8]] = &[b"libcrypt.so.1\0", b"libcrypt.so.2\0"];

/// Enough for `struct crypt_data`: 32 KiB in libxcrypt, 128 KiB and a little in glibc 2.27.
const DATA_SIZE: usize = 256 * 1024;

/// CRYPT_SALT_INVALID and CRYPT_SALT_METHOD_DISABLED.
const UNUSABLE: &[c_int] = &[1, 2];

type CryptR = unsafe extern "C" fn(*const c_char, *const c_char, *mut c_void) -> *const c_char;
type CheckSalt = unsafe extern "C" fn(*const c_char) -> c_int;

/// crypt_r(3) of a library that stays loaded.
#[derive(Clone, Copy)]
pub struct Crypt {
    crypt_r: CryptR,
    /// Only libxcrypt has it.
    check_salt: Option<CheckSalt>,
}

impl Crypt {
    /// # Errors
    ///
    /// That there is no such library, and how to install it, or that a static program can't load it.
    pub fn load() -> Result<Crypt, String> {
        let packages = "libcrypt1 (Debian) or libxcrypt (Fedora)";
        let library = Library::open(LIBRARIES, "libcrypt", packages)?;
        // SAFETY: both symbols have the types of crypt(3) and crypt_checksalt(3).
        unsafe {
            let crypt_r = library.symbol(b"crypt_r\0");
            Ok(Crypt {
                crypt_r: crypt_r.map_err(|name| format!("libcrypt has no {}", name))?,
                check_salt: library.symbol(b"crypt_checksalt\0").ok(),
            })
        }
    }

    /// Returns whether the library can check passwords against this hash.
    pub fn supports(self, hash: &str) -> bool {
        let hash = match CString::new(hash) {
            Ok(hash) => hash,
            Err(_) => return false,
        };
        let check = match self.check_salt {
            Some(check) => check,
            None => return true,
        };
        // SAFETY: the text is terminated and outlives the call.
        !UNUSABLE.contains(&unsafe { check(hash.as_ptr()) })
    }

    /// Returns the hash of a password, with the method, cost and salt of `setting`, which may be a
    /// whole hash. Takes as long as these say, often more than 100 ms.
    ///
    /// `None` if either has a NUL, or if the library refuses one of them.
    pub(crate) fn hash(self, password: &[u8], setting: &str) -> Option<String> {
        let (password, setting) = (CString::new(password).ok()?, CString::new(setting).ok()?);
        let mut data = vec![0_u64; DATA_SIZE / mem::size_of::<u64>()];
        // SAFETY: the texts are terminated, and the data is zero, aligned and large enough; all of
        // them outlive the call and the use of its result, which points into the data.
        let hash = unsafe {
            let data = data.as_mut_ptr() as *mut c_void;
            let hash = (self.crypt_r)(password.as_ptr(), setting.as_ptr(), data);
            if hash.is_null() {
                return None;
            }
            CStr::from_ptr(hash).to_str().ok()?.to_string()
        };
        // `*0` or `*1` is a failure.
        Some(hash).filter(|hash| !hash.starts_with('*'))
    }
}

impl fmt::Debug for Crypt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Crypt")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hashes are those of openssl passwd and htpasswd.
    #[test]
    fn hashes_as_other_programs_do() {
        let crypt = Crypt::load().unwrap();
        for (password, hash) in &[
            (
                "Hello world!",
                "$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5",
            ),
            (
                "p",
                "$2y$04$b4UI9YtKRWQfX4HrZCTvlujK0nACDCqM445I4qWW1EwRasRa2jIe.",
            ),
        ] {
            assert!(crypt.supports(hash));
            let own = crypt.hash(password.as_bytes(), hash);
            assert_eq!(own.as_deref(), Some(*hash));
            assert_ne!(crypt.hash(b"hello world!", hash).as_deref(), Some(*hash));
        }
        assert!(!crypt.supports("$zz$salt$hash"));
    }

    #[test]
    fn what_the_library_refuses_has_no_hash() {
        let crypt = Crypt::load().unwrap();
        for setting in &["", "*0", "$", "$zz$salt$", "$6$a\0b$"] {
            assert_eq!(crypt.hash(b"x", setting), None, "{:?}", setting);
        }
        assert_eq!(crypt.hash(b"a\0b", "$5$saltstring$"), None);
        assert_eq!(crypt.hash(&[b'x'; 100_000], "$5$saltstring$"), None);
    }
}
