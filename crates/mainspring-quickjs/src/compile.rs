//! Source to functions.

use std::borrow::Borrow;
use std::ffi::CString;

use rquickjs::{Ctx, Exception, Function, Result, Value, qjs};

/// A function with these parameters and this body. The first line of the body is line 1.
pub(crate) fn function<'js>(
    ctx: &Ctx<'js>,
    body: &str,
    filename: &str,
    parameters: &[impl Borrow<str>],
) -> Result<Function<'js>> {
    // The head stands on lines before the first one, so that positions are those of the file. The engine takes
    // line 0 for one that was not said.
    // No parenthesis around it: the engine would read all of it twice, looking for an arrow behind.
    let source = format!("0, function ({}) {{\n\n{body}\n}}", parameters.join(", "));
    evaluate(ctx, &source, filename, -1)?.get()
}

/// Evaluates a script in the global scope, and gives its completion value.
pub(crate) fn script<'js>(ctx: &Ctx<'js>, source: &str, filename: &str) -> Result<Value<'js>> {
    evaluate(ctx, source, filename, 1)
}

/// Evaluates what a person typed, in the global scope, and gives its value: with `await`, a promise of an object
/// with a `value`. Its errors do not show what is below it.
pub(crate) fn line<'js>(
    ctx: &Ctx<'js>,
    source: &str,
    filename: &str,
    has_await: bool,
) -> Result<Value<'js>> {
    let flags = script_flags(has_await) | qjs::JS_EVAL_FLAG_BACKTRACE_BARRIER;
    let value = raw(ctx, source, filename, 1, flags as i32)?;
    // SAFETY: the value is handed over.
    Ok(unsafe { Value::from_raw(ctx.clone(), value) })
}

/// Throws if a script has an error of syntax. Runs nothing.
pub(crate) fn check(ctx: &Ctx<'_>, source: &str, filename: &str, has_await: bool) -> Result<()> {
    let flags = script_flags(has_await) | qjs::JS_EVAL_FLAG_COMPILE_ONLY;
    let code = raw(ctx, source, filename, 1, flags as i32)?;
    // SAFETY: the value is ours, and not used again.
    unsafe { qjs::JS_FreeValue(ctx.as_raw().as_ptr(), code) };
    Ok(())
}

fn script_flags(has_await: bool) -> u32 {
    qjs::JS_EVAL_TYPE_GLOBAL | if has_await { qjs::JS_EVAL_FLAG_ASYNC } else { 0 }
}

fn evaluate<'js>(
    ctx: &Ctx<'js>,
    source: &str,
    filename: &str,
    first_line: i32,
) -> Result<Value<'js>> {
    let value = raw(ctx, source, filename, first_line, qjs::JS_EVAL_TYPE_GLOBAL as i32)?;
    // SAFETY: the value is handed over.
    Ok(unsafe { Value::from_raw(ctx.clone(), value) })
}

/// What the engine makes of a source with these flags of its own. The value is the caller's.
pub(crate) fn raw(
    ctx: &Ctx<'_>,
    source: &str,
    filename: &str,
    first_line: i32,
    flags: i32,
) -> Result<qjs::JSValue> {
    let filename = c_string(ctx, filename)?;
    let len = source.len();
    // The engine wants a zero behind the source, and stops at its length.
    let source = c_string(ctx, source)?;
    let mut options = qjs::JSEvalOptions {
        version: qjs::JS_EVAL_OPTIONS_VERSION as i32,
        eval_flags: flags,
        filename: filename.as_ptr(),
        line_num: first_line,
    };
    let raw = ctx.as_raw().as_ptr();
    // SAFETY: the context is alive and entered; source and name end with a zero and live until the call returns.
    let value =
        unsafe { qjs::JS_Eval2(raw, source.as_ptr(), len as qjs::size_t, &raw mut options) };
    // SAFETY: it looks at the tag of the value.
    if unsafe { qjs::JS_IsException(value) } { Err(rquickjs::Error::Exception) } else { Ok(value) }
}

fn c_string(ctx: &Ctx<'_>, text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| {
        Exception::throw_syntax(ctx, "Invalid or unexpected token: the source contains a zero byte")
    })
}
