//! QuickJS, with the functions that PAC files need: a JavaScript function that takes and returns
//! texts, and a function of the program that it can call.
//!
//! The engine's memory is limited. Its time isn't: the process that it runs in is killed.

use std::ffi::CString;
use std::os::raw::{c_char, c_int, c_void};
use std::panic::{self, AssertUnwindSafe};
use std::process;
use std::ptr::{self, NonNull};
use std::slice;

use hirofa_quickjs_sys as js;
use hirofa_quickjs_sys::{JSContext, JSRuntime, JSValue, JSValueUnion};

// The crate's declarations were generated where a value is two words; elsewhere it is one.
#[cfg(not(target_pointer_width = "64"))]
compile_error!("the feature `pac` needs a 64-bit target; build with --no-default-features");

/// The file name in the stack of an error in the code that `evaluate` runs.
const FILE: &[u8] = b"input\0";

/// Answers a call from JavaScript. It has no access to the engine.
type HostFunction = Box<dyn FnMut(&[String]) -> String>;

/// A JavaScript context with its own runtime, for one thread.
pub(crate) struct QuickJs {
    runtime: NonNull<JSRuntime>,
    context: NonNull<JSContext>,
    /// From `Box::into_raw`; the context's opaque pointer is the same.
    host: *mut HostFunction,
    /// The function that the prelude returned.
    entry: JSValue,
}

impl QuickJs {
    /// Runs `prelude`, an expression with a function as its value, and calls that with two
    /// functions: `host(...)`, which passes texts to `host` and returns its text, and
    /// `evaluate(source)`, which runs a text as a script. It returns the function that
    /// [`QuickJs::call`] calls.
    ///
    /// Returns `None` if memory is short or the prelude throws. `memory` is in bytes.
    pub(crate) fn new(
        prelude: &str,
        memory: usize,
        host: impl FnMut(&[String]) -> String + 'static,
    ) -> Option<QuickJs> {
        // SAFETY: takes nothing; what it returns is checked, and freed on drop.
        let runtime = NonNull::new(unsafe { js::JS_NewRuntime() })?;
        // SAFETY: the runtime is alive.
        let context = unsafe {
            js::JS_SetMemoryLimit(runtime.as_ptr(), memory);
            NonNull::new(js::JS_NewContext(runtime.as_ptr()))
        };
        let context = match context {
            Some(context) => context,
            None => {
                // SAFETY: nothing refers to the runtime.
                unsafe { js::JS_FreeRuntime(runtime.as_ptr()) };
                return None;
            }
        };
        let host: HostFunction = Box::new(host);
        let mut engine = QuickJs {
            runtime,
            context,
            host: Box::into_raw(Box::new(host)),
            entry: undefined(),
        };
        engine.prepare(prelude).map(|()| engine)
    }

    fn prepare(&mut self, prelude: &str) -> Option<()> {
        let context = self.context.as_ptr();
        // SAFETY: the context is alive. The opaque pointer outlives it. The names are terminated,
        // and both functions have the signature that `JS_CFUNC_generic` calls. Each value that a
        // function returns is owned here and freed once, or moved to `entry`, which drop frees.
        unsafe {
            js::JS_SetContextOpaque(context, self.host as *mut c_void);
            let setup = evaluate_text(context, prelude, b"prelude.js\0");
            let mut given = [
                function(context, call_host, b"host\0"),
                function(context, evaluate, b"evaluate\0"),
            ];
            self.entry = js::JS_Call(context, setup, undefined(), 2, given.as_mut_ptr());
            for value in given.iter().chain(&[setup]) {
                js::JS_FreeValue(context, *value);
            }
        }
        Some(()).filter(|()| self.entry.tag == i64::from(js::JS_TAG_OBJECT))
    }

    /// Calls the prelude's function; `None` if it threw, as when memory is short.
    pub(crate) fn call(&mut self, arguments: &[&str]) -> Option<String> {
        let context = self.context.as_ptr();
        // SAFETY: the context is alive and `entry` a value of it. `arguments` are values made here,
        // freed once after the call, as is the answer.
        unsafe {
            js::JS_UpdateStackTop(self.runtime.as_ptr());
            let mut given: Vec<JSValue> = arguments
                .iter()
                .map(|argument| new_text(context, argument))
                .collect();
            let count = given.len() as c_int;
            let answer = js::JS_Call(context, self.entry, undefined(), count, given.as_mut_ptr());
            let text = if answer.tag == i64::from(js::JS_TAG_EXCEPTION) {
                None
            } else {
                text(context, answer)
            };
            for value in given.iter().chain(&[answer]) {
                js::JS_FreeValue(context, *value);
            }
            if text.is_none() {
                js::JS_FreeValue(context, js::JS_GetException(context));
            }
            text
        }
    }
}

impl Drop for QuickJs {
    fn drop(&mut self) {
        // SAFETY: all three are alive until here, and nothing but them refers to what they own; the
        // host is freed after the context, whose functions call it.
        unsafe {
            js::JS_FreeValue(self.context.as_ptr(), self.entry);
            js::JS_FreeContext(self.context.as_ptr());
            js::JS_FreeRuntime(self.runtime.as_ptr());
            drop(Box::from_raw(self.host));
        }
    }
}

type Native = unsafe extern "C" fn(*mut JSContext, JSValue, c_int, *mut JSValue) -> JSValue;

/// The JavaScript function `host`.
unsafe extern "C" fn call_host(
    context: *mut JSContext,
    _this: JSValue,
    count: c_int,
    given: *mut JSValue,
) -> JSValue {
    let given: &[JSValue] = match count {
        0 => &[],
        count => slice::from_raw_parts(given, count as usize),
    };
    let texts: Option<Vec<String>> = given.iter().map(|value| text(context, *value)).collect();
    let texts = match texts {
        Some(texts) => texts,
        None => return value(js::JS_TAG_EXCEPTION),
    };
    // The only reference: the engine doesn't use it, and the host can't reach the engine.
    let host = &mut *(js::JS_GetContextOpaque(context) as *mut HostFunction);
    match panic::catch_unwind(AssertUnwindSafe(|| host(&texts))) {
        Ok(answer) => new_text(context, &answer),
        // A panic must not cross C's frames.
        Err(_) => process::abort(),
    }
}

/// The JavaScript function `evaluate`.
unsafe extern "C" fn evaluate(
    context: *mut JSContext,
    _this: JSValue,
    count: c_int,
    given: *mut JSValue,
) -> JSValue {
    if count == 0 {
        return undefined();
    }
    match text(context, *given) {
        Some(source) => evaluate_text(context, &source, FILE),
        None => value(js::JS_TAG_EXCEPTION),
    }
}

/// Runs a script; the name is terminated. The caller owns the value.
unsafe fn evaluate_text(context: *mut JSContext, source: &str, name: &[u8]) -> JSValue {
    let length = source.len();
    // A NUL would end the text; callers pass none.
    let source = CString::new(source).unwrap_or_default();
    let global = js::JS_EVAL_TYPE_GLOBAL as c_int;
    let length = length.min(source.as_bytes().len());
    js::JS_Eval(
        context,
        source.as_ptr(),
        length,
        name.as_ptr() as *const c_char,
        global,
    )
}

/// A function of the context; the name is terminated. The caller owns the value.
unsafe fn function(context: *mut JSContext, native: Native, name: &[u8]) -> JSValue {
    let kind = js::JSCFunctionEnum_JS_CFUNC_generic;
    js::JS_NewCFunction2(
        context,
        Some(native),
        name.as_ptr() as *const c_char,
        0,
        kind,
        0,
    )
}

/// A string of the context, or an exception. The caller owns the value.
unsafe fn new_text(context: *mut JSContext, text: &str) -> JSValue {
    js::JS_NewStringLen(context, text.as_ptr() as *const c_char, text.len())
}

/// Returns a value as text; `None` if the conversion throws, as when memory is short.
unsafe fn text(context: *mut JSContext, value: JSValue) -> Option<String> {
    let mut length = 0;
    let bytes = js::JS_ToCStringLen2(context, &mut length, value, 0);
    if bytes.is_null() {
        return None;
    }
    let text = String::from_utf8_lossy(slice::from_raw_parts(bytes as *const u8, length));
    let text = text.into_owned();
    js::JS_FreeCString(context, bytes);
    Some(text)
}

fn undefined() -> JSValue {
    value(js::JS_TAG_UNDEFINED)
}

fn value(tag: c_int) -> JSValue {
    JSValue {
        u: JSValueUnion {
            ptr: ptr::null_mut(),
        },
        tag: i64::from(tag),
    }
}
