//! Security contexts of the system's GSSAPI library (RFC 2744), which is loaded when it is needed: a
//! build doesn't depend on Kerberos.

use std::os::raw::{c_int, c_void};
use std::ptr;
use std::slice;

use super::library;

/// The library's names: of MIT's Kerberos, and of Heimdal's.
const LIBRARIES: &[&[u8]] = &[b"libgssapi_krb5.so.2\0", b"libgssapi.so.3\0"];

/// GSS_C_NT_HOSTBASED_SERVICE (RFC 2744 Appendix A): 1.2.840.113554.1.2.1.4.
const HOST_BASED_SERVICE: &[u8] = b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x04";
/// SPNEGO (RFC 4178 §3): 1.3.6.1.5.5.2.
const SPNEGO: &[u8] = b"\x2b\x06\x01\x05\x05\x02";

/// GSS_C_MUTUAL_FLAG: the acceptor proves who it is.
const MUTUAL: u32 = 2;
/// GSS_S_CONTINUE_NEEDED: the acceptor's token is needed.
const CONTINUE_NEEDED: u32 = 1;
/// The calling and routine errors of a major status (RFC 2744 §3.9.1).
const ERRORS: u32 = 0xffff_0000;
/// GSS_C_GSS_CODE and GSS_C_MECH_CODE: which code gss_display_status explains.
const GSS_CODE: c_int = 1;
const MECH_CODE: c_int = 2;
/// Most messages of one code.
const MOST_MESSAGES: usize = 8;

#[repr(C)]
struct Buffer {
    length: usize,
    value: *mut c_void,
}

#[repr(C)]
struct Oid {
    length: u32,
    elements: *const c_void,
}

type Name = *mut c_void;
type Context = *mut c_void;

type ImportName = unsafe extern "C" fn(*mut u32, *mut Buffer, *mut Oid, *mut Name) -> u32;
type InitSecContext = unsafe extern "C" fn(
    *mut u32,
    *mut c_void,
    *mut Context,
    Name,
    *mut Oid,
    u32,
    u32,
    *mut c_void,
    *mut Buffer,
    *mut *mut Oid,
    *mut Buffer,
    *mut u32,
    *mut u32,
) -> u32;
type ReleaseBuffer = unsafe extern "C" fn(*mut u32, *mut Buffer) -> u32;
type ReleaseName = unsafe extern "C" fn(*mut u32, *mut Name) -> u32;
type DeleteSecContext = unsafe extern "C" fn(*mut u32, *mut Context, *mut Buffer) -> u32;
type DisplayStatus =
    unsafe extern "C" fn(*mut u32, u32, c_int, *mut Oid, *mut u32, *mut Buffer) -> u32;

/// The functions of a library that stays loaded.
#[derive(Clone, Copy)]
struct Library {
    import_name: ImportName,
    init_sec_context: InitSecContext,
    release_buffer: ReleaseBuffer,
    release_name: ReleaseName,
    delete_sec_context: DeleteSecContext,
    display_status: DisplayStatus,
}

/// A security context that this process initiates, by SPNEGO, with the default credentials.
pub(crate) struct GssContext {
    library: Library,
    name: Name,
    context: Context,
}

// SAFETY: a context and a name belong to no thread; they are used through `&mut` alone (RFC 2744
// leaves concurrent calls on one context to the caller).
unsafe impl Send for GssContext {}

impl GssContext {
    /// Starts a context with the service `HTTP` of a host; returns its first token, too. Blocks, e.g.
    /// while the KDC is asked for a ticket.
    ///
    /// # Errors
    ///
    /// The library's own text, as when there is no ticket, or that there is no library.
    pub(crate) fn initiate(host: &str) -> Result<(GssContext, Vec<u8>), String> {
        let library = Library::load()?;
        let service = format!("HTTP@{}", host);
        let mut text = Buffer {
            length: service.len(),
            value: service.as_ptr() as *mut c_void,
        };
        let mut kind = oid(HOST_BASED_SERVICE);
        let (mut minor, mut name) = (0, ptr::null_mut());
        // SAFETY: the buffers outlive the call, which copies them; `name` is released on drop.
        let major = unsafe { (library.import_name)(&mut minor, &mut text, &mut kind, &mut name) };
        let mut context = GssContext {
            library,
            name,
            context: ptr::null_mut(),
        };
        library.check(major, minor)?;
        match context.advance(None)? {
            Some(token) => Ok((context, token)),
            None => Err("the GSSAPI library made no token".to_string()),
        }
    }

    /// Takes the acceptor's token. Returns the next one for it, or `None` if the context is
    /// established.
    ///
    /// # Errors
    ///
    /// The library's own text, e.g. when the acceptor isn't the one that it claims to be.
    pub(crate) fn step(&mut self, token: &[u8]) -> Result<Option<Vec<u8>>, String> {
        self.advance(Some(token))
    }

    fn advance(&mut self, token: Option<&[u8]>) -> Result<Option<Vec<u8>>, String> {
        let mut input = token.map(|token| Buffer {
            length: token.len(),
            value: token.as_ptr() as *mut c_void,
        });
        let input = input
            .as_mut()
            .map_or(ptr::null_mut(), |input| input as *mut Buffer);
        let mut output = self.library.buffer();
        let (mut minor, mut flags, mut mechanism) = (0, 0, oid(SPNEGO));
        let is_reply = !input.is_null();
        // SAFETY: all pointers are to values that outlive the call, or null where RFC 2744 §5.19
        // allows that; no credentials are the default ones, and no time is the default lifetime.
        let major = unsafe {
            (self.library.init_sec_context)(
                &mut minor,
                ptr::null_mut(),
                &mut self.context,
                self.name,
                &mut mechanism,
                MUTUAL,
                0,
                ptr::null_mut(),
                input,
                ptr::null_mut(),
                &mut output.buffer,
                &mut flags,
                ptr::null_mut(),
            )
        };
        self.library.check(major, minor)?;
        let bytes = output.bytes().to_vec();
        if !bytes.is_empty() {
            return Ok(Some(bytes));
        }
        match major & CONTINUE_NEEDED {
            0 if is_reply && flags & MUTUAL == 0 => {
                Err("the mechanism doesn't authenticate the proxy".to_string())
            }
            0 => Ok(None),
            _ => Err("the GSSAPI library waits for a token and returns none".to_string()),
        }
    }
}

impl Drop for GssContext {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: both are null or were made by this library, and are used no more.
        unsafe {
            if !self.context.is_null() {
                (self.library.delete_sec_context)(&mut minor, &mut self.context, ptr::null_mut());
            }
            if !self.name.is_null() {
                (self.library.release_name)(&mut minor, &mut self.name);
            }
        }
    }
}

impl Library {
    fn load() -> Result<Library, String> {
        let packages = "libgssapi-krb5-2 (Debian) or krb5-libs (Fedora)";
        let library = library::Library::open(LIBRARIES, "GSSAPI library", packages)?;
        // SAFETY: each symbol has the type of RFC 2744's function of that name.
        unsafe {
            Ok(Library {
                import_name: function(library, b"gss_import_name\0")?,
                init_sec_context: function(library, b"gss_init_sec_context\0")?,
                release_buffer: function(library, b"gss_release_buffer\0")?,
                release_name: function(library, b"gss_release_name\0")?,
                delete_sec_context: function(library, b"gss_delete_sec_context\0")?,
                display_status: function(library, b"gss_display_status\0")?,
            })
        }
    }

    /// # Errors
    ///
    /// What a status with an error means.
    fn check(&self, major: u32, minor: u32) -> Result<(), String> {
        if major & ERRORS == 0 {
            return Ok(());
        }
        let mut all = self.messages(major & ERRORS, GSS_CODE);
        // The mechanism's message says more; the library's own is often "Unspecified GSS failure".
        let own = self.messages(minor, MECH_CODE);
        if minor != 0 && !own.is_empty() {
            all = own;
        }
        if all.is_empty() {
            all.push(format!("GSSAPI error {:#x}, {}", major, minor));
        }
        Err(all.join(": "))
    }

    fn messages(&self, code: u32, kind: c_int) -> Vec<String> {
        let (mut minor, mut more, mut all) = (0, 0, Vec::new());
        for _ in 0..MOST_MESSAGES {
            let mut text = self.buffer();
            // SAFETY: all pointers are to values that outlive the call; no mechanism is the default.
            let major = unsafe {
                (self.display_status)(
                    &mut minor,
                    code,
                    kind,
                    ptr::null_mut(),
                    &mut more,
                    &mut text.buffer,
                )
            };
            if major & ERRORS != 0 {
                break;
            }
            let text = String::from_utf8_lossy(text.bytes()).trim().to_string();
            if !text.is_empty() {
                all.push(text);
            }
            if more == 0 {
                break;
            }
        }
        all
    }

    fn buffer(&self) -> Owned {
        Owned {
            release: self.release_buffer,
            buffer: Buffer {
                length: 0,
                value: ptr::null_mut(),
            },
        }
    }
}

/// A buffer that the library fills, and frees on drop.
struct Owned {
    release: ReleaseBuffer,
    buffer: Buffer,
}

impl Owned {
    fn bytes(&self) -> &[u8] {
        if self.buffer.value.is_null() {
            return &[];
        }
        // SAFETY: the library filled it with that many bytes.
        unsafe { slice::from_raw_parts(self.buffer.value as *const u8, self.buffer.length) }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: it is empty, or the library allocated it.
        unsafe { (self.release)(&mut 0, &mut self.buffer) };
    }
}

fn oid(elements: &'static [u8]) -> Oid {
    Oid {
        length: elements.len() as u32,
        elements: elements.as_ptr() as *const c_void,
    }
}

/// Returns the function with this name, which ends in NUL.
///
/// # Safety
///
/// `F` must be the type of a pointer to that function.
unsafe fn function<F: Copy>(library: library::Library, name: &'static [u8]) -> Result<F, String> {
    let found = library.symbol(name);
    found.map_err(|name| format!("the GSSAPI library has no {}", name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without a ticket or a KDC, and also without the library: an error with the reason, no crash.
    #[test]
    fn without_a_ticket_it_fails_with_the_reason() {
        let error = match GssContext::initiate("proxy.invalid") {
            Ok(_) => panic!("a ticket for proxy.invalid"),
            Err(error) => error,
        };
        assert!(error.len() > 10 && error.len() < 500, "{}", error);
    }
}
