//! C libraries that are loaded when they are needed: a build doesn't depend on them.

use std::mem;
use std::os::raw::{c_char, c_void};

/// A library that stays loaded.
#[derive(Clone, Copy)]
pub(super) struct Library {
    handle: *mut c_void,
}

impl Library {
    /// Loads the first of these libraries that the system has. The names end in NUL.
    ///
    /// # Errors
    ///
    /// That the system has none of them, and the `packages` to install; or that this program is
    /// static, so it can't load one.
    pub(super) fn open(
        names: &[&'static [u8]],
        title: &str,
        packages: &str,
    ) -> Result<Library, String> {
        let open = |name: &&'static [u8]| {
            assert_eq!(name.last(), Some(&0));
            // SAFETY: the name is terminated. The handle is never closed: functions of it are kept.
            unsafe {
                libc::dlopen(
                    name.as_ptr() as *const c_char,
                    libc::RTLD_NOW | libc::RTLD_LOCAL,
                )
            }
        };
        let mut handles = names.iter().map(open);
        match handles.find(|handle| !handle.is_null()) {
            Some(handle) => Ok(Library { handle }),
            None if cfg!(target_feature = "crt-static") => Err(format!(
                "a static program can't load the system's {}; use the Debian package, or build ptunnel for glibc",
                title
            )),
            None => Err(format!("no {} found; install {}", title, packages)),
        }
    }

    /// Returns the function with this name, which ends in NUL.
    ///
    /// # Errors
    ///
    /// The name, if the library has no such function.
    ///
    /// # Safety
    ///
    /// `F` must be the type of a pointer to that function.
    pub(super) unsafe fn symbol<F: Copy>(self, name: &'static [u8]) -> Result<F, String> {
        assert_eq!(name.last(), Some(&0));
        let found = libc::dlsym(self.handle, name.as_ptr() as *const c_char);
        if found.is_null() {
            return Err(String::from_utf8_lossy(&name[..name.len() - 1]).into_owned());
        }
        assert_eq!(mem::size_of::<F>(), mem::size_of_val(&found));
        Ok(mem::transmute_copy(&found))
    }
}
