//! Values on their way between the engine and operations.

use mainspring_js::{Arg, OpError, Value};
use rquickjs::{Array, BigInt, Ctx, Function, IntoJs, Object, Result, TypedArray, qjs};

/// A string of the script. Lone surrogates become U+FFFD, each one of them.
pub(crate) fn string(value: &rquickjs::String<'_>) -> Result<String> {
    match value.to_string() {
        Ok(text) => Ok(text),
        Err(rquickjs::Error::Utf8(_)) => Ok(lossy(value)),
        Err(error) => Err(error),
    }
}

fn lossy(value: &rquickjs::String<'_>) -> String {
    let ctx = value.ctx().as_raw().as_ptr();
    let mut len = 0;
    // SAFETY: the context and the value are alive; the string is freed below, after it was copied.
    let bytes = unsafe {
        let text = qjs::JS_ToCStringLen(ctx, &raw mut len, value.as_raw());
        if text.is_null() {
            return String::new();
        }
        let bytes = std::slice::from_raw_parts(text.cast::<u8>(), len).to_vec();
        qjs::JS_FreeCString(ctx, text);
        bytes
    };
    let mut text = String::with_capacity(bytes.len());
    let mut rest = &bytes[..];
    loop {
        match std::str::from_utf8(rest) {
            Ok(valid) => {
                text.push_str(valid);
                return text;
            }
            Err(error) => {
                let (valid, bad) = rest.split_at(error.valid_up_to());
                text.push_str(&String::from_utf8_lossy(valid));
                text.push('\u{FFFD}');
                // A surrogate takes three bytes here.
                rest = &bad[bad.len().min(3)..];
            }
        }
    }
}

/// A plain value of the script. What cannot be one is `undefined`.
pub(crate) fn from_js(value: &rquickjs::Value<'_>) -> Result<Value> {
    if let Some(number) = value.as_number() {
        return Ok(Value::Number(number));
    }
    if let Some(text) = value.as_string() {
        return string(text).map(Value::String);
    }
    if let Some(value) = value.as_bool() {
        return Ok(Value::Bool(value));
    }
    if value.is_null() {
        return Ok(Value::Null);
    }
    if let Some(number) = value.as_big_int() {
        return Ok(number.clone().to_i64().map_or(Value::Undefined, Value::BigInt));
    }
    if let Some(array) = value.as_array() {
        let items = array.iter::<rquickjs::Value>().map(|item| from_js(&item?));
        return items.collect::<Result<_>>().map(Value::Array);
    }
    let Some(object) = value.as_object().filter(|_| !value.is_function()) else {
        return Ok(Value::Undefined);
    };
    if let Some(bytes) = bytes(object) {
        return Ok(Value::Bytes(bytes));
    }
    let mut properties = Vec::new();
    for property in object.props::<String, rquickjs::Value>() {
        let (key, value) = property?;
        properties.push((key, from_js(&value)?));
    }
    Ok(Value::Object(properties))
}

/// The contents of a buffer or a view of one.
fn bytes(object: &Object<'_>) -> Option<Vec<u8>> {
    let ctx = object.ctx().as_raw().as_ptr();
    let value = object.as_value().as_raw();
    // SAFETY: the value is alive, and only looked at.
    let (is_view, is_buffer) =
        unsafe { (qjs::JS_GetTypedArrayType(value) >= 0, qjs::JS_IsArrayBuffer(value)) };
    if !is_view {
        // SAFETY: context and value are alive.
        return is_buffer.then(|| unsafe { range(ctx, value, 0, usize::MAX) });
    }
    // The engine does not keep the length of a view up to date that follows a buffer which is resized. This may
    // run code of the script, so it comes first.
    let length = object.get::<_, f64>("byteLength").unwrap_or_else(|_| {
        drop(object.ctx().catch());
        0.0
    });
    let nothing = std::ptr::null_mut();
    let mut offset = 0;
    // SAFETY: context and value are alive; the buffer is ours, and freed when its contents were copied.
    unsafe {
        let buffer = qjs::JS_GetTypedArrayBuffer(ctx, value, &raw mut offset, nothing, nothing);
        if qjs::JS_IsException(buffer) {
            qjs::JS_FreeValue(ctx, qjs::JS_GetException(ctx));
            return Some(Vec::new());
        }
        let bytes = range(ctx, buffer, offset as usize, length as usize);
        qjs::JS_FreeValue(ctx, buffer);
        Some(bytes)
    }
}

/// A part of what is in a buffer now. Nothing, if it was detached.
///
/// # Safety
///
/// Context and buffer are alive.
unsafe fn range(
    ctx: *mut qjs::JSContext,
    buffer: qjs::JSValue,
    offset: usize,
    length: usize,
) -> Vec<u8> {
    let mut size = 0;
    // SAFETY: the caller's promise. What is found is copied before anything else is done.
    unsafe {
        let data = qjs::JS_GetArrayBuffer(ctx, &raw mut size, buffer);
        if data.is_null() {
            qjs::JS_FreeValue(ctx, qjs::JS_GetException(ctx));
            return Vec::new();
        }
        let all = std::slice::from_raw_parts(data, size as usize);
        let rest = all.get(offset..).unwrap_or_default();
        rest[..length.min(rest.len())].to_vec()
    }
}

/// An argument of an operation: `callback` makes something of functions.
pub(crate) fn arg<'js>(
    value: &rquickjs::Value<'js>,
    callback: impl FnOnce(Function<'js>) -> mainspring_js::Callback,
) -> Result<Arg> {
    match value.as_function() {
        Some(function) => Ok(Arg::Function(callback(function.clone()))),
        None => from_js(value).map(Arg::Value),
    }
}

/// A value for the script.
pub(crate) fn to_js<'js>(ctx: &Ctx<'js>, value: Value) -> Result<rquickjs::Value<'js>> {
    match value {
        Value::Undefined => Ok(rquickjs::Value::new_undefined(ctx.clone())),
        Value::Null => Ok(rquickjs::Value::new_null(ctx.clone())),
        Value::Bool(value) => value.into_js(ctx),
        Value::Number(number) => number.into_js(ctx),
        Value::BigInt(number) => BigInt::from_i64(ctx.clone(), number)?.into_js(ctx),
        Value::String(text) => text.into_js(ctx),
        Value::Bytes(bytes) => TypedArray::<u8>::new(ctx.clone(), bytes)?.into_js(ctx),
        Value::Array(items) => {
            let array = Array::new(ctx.clone())?;
            for (index, item) in items.into_iter().enumerate() {
                array.set(index, to_js(ctx, item)?)?;
            }
            array.into_js(ctx)
        }
        Value::Object(properties) => {
            let object = Object::new(ctx.clone())?;
            for (key, value) in properties {
                object.set(key, to_js(ctx, value)?)?;
            }
            object.into_js(ctx)
        }
        Value::Error(error) => to_error(ctx, error),
    }
}

/// An error object, made by the JavaScript half, which knows how errors with codes look.
pub(crate) fn to_error<'js>(ctx: &Ctx<'js>, error: OpError) -> Result<rquickjs::Value<'js>> {
    let (class, dom) = match error.class.split_once(':') {
        Some((class, name)) => (class, Some(name)),
        None => (error.class, None),
    };
    let constructor: rquickjs::function::Constructor = ctx.globals().get(class)?;
    let object: Object = match dom {
        Some(name) => constructor.construct((error.message, name))?,
        None => constructor.construct((error.message,))?,
    };
    if let Some(code) = error.code {
        if code.starts_with("ERR_") {
            show_code(&object, &code)?;
        }
        object.set("code", code)?;
    }
    for (key, value) in error.properties {
        object.set(key, to_js(ctx, value)?)?;
    }
    object.into_js(ctx)
}

/// Has the stack begin with the code behind the name, as Node's does.
fn show_code(object: &Object<'_>, code: &str) -> Result<()> {
    let name: String = object.get("name")?;
    let stack: String = object.get("stack")?;
    if let Some(rest) = stack.strip_prefix(&name) {
        let stack = format!("{name} [{code}]{rest}");
        object.prop("stack", rquickjs::object::Property::from(stack).writable().configurable())?;
    }
    Ok(())
}
