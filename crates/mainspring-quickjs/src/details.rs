//! What kind of object a value is, for `util.inspect`.

use std::collections::HashMap;
use std::rc::Rc;

use rquickjs::{Array, Ctx, Function, Result, Value, qjs};

/// One object of each class that there is, with its name. Classes have numbers, which only the engine knows.
const SAMPLES: &str = r#"(() => {
  const iterators = { MapIterator: new Map().values(), SetIterator: new Set().values() };
  const samples = [
    ["Map", new Map()], ["Set", new Set()], ["WeakMap", new WeakMap()], ["WeakSet", new WeakSet()],
    ["WeakRef", new WeakRef({})], ["Date", new Date(0)], ["RegExp", /x/], ["Error", new Error("")],
    ["ArrayBuffer", new ArrayBuffer(0)], ["SharedArrayBuffer", new SharedArrayBuffer(0)],
    ["DataView", new DataView(new ArrayBuffer(0))],
    ["Boxed", Object(0), "Number"], ["Boxed", Object(""), "String"], ["Boxed", Object(true), "Boolean"],
    ["Boxed", Object(Symbol()), "Symbol"], ["Boxed", Object(0n), "BigInt"],
    ["Arguments", (function () { return arguments; })()],
    ["Arguments", (function () { "use strict"; return arguments; })()],
    ["Generator", (function* () {})()], ["AsyncGenerator", (async function* () {})()],
    ["MapIterator", iterators.MapIterator], ["SetIterator", iterators.SetIterator],
    ["Promise", new Promise(() => {})], ["Proxy", new Proxy({}, {})],
  ];
  for (const name of ["Int8", "Uint8", "Uint8Clamped", "Int16", "Uint16", "Int32", "Uint32", "BigInt64",
    "BigUint64", "Float16", "Float32", "Float64"]) {
    const Class = globalThis[`${name}Array`];
    if (Class) samples.push(["TypedArray", new Class(), `${name}Array`]);
  }
  return samples;
})()"#;

/// Names of classes by their numbers.
type Classes = HashMap<u32, (String, Option<String>)>;

fn class(value: &Value<'_>) -> u32 {
    // SAFETY: it only looks at the value.
    unsafe { qjs::JS_GetClassID(value.as_raw()) }
}

fn classes(ctx: &Ctx<'_>) -> Result<Classes> {
    let samples: Vec<(String, Value, Option<String>)> =
        crate::compile::script(ctx, SAMPLES, "mainspring:details")?
            .get::<Vec<Array>>()?
            .into_iter()
            .map(|sample| Ok((sample.get(0)?, sample.get(1)?, sample.get(2)?)))
            .collect::<Result<_>>()?;
    let mut classes = Classes::new();
    for (name, sample, kind) in samples {
        classes.insert(class(&sample), (name, kind));
    }
    Ok(classes)
}

/// The function `details`. Classes are looked up when it is first called.
pub(crate) fn function<'js>(ctx: &Ctx<'js>) -> Result<Function<'js>> {
    let known: Rc<std::cell::OnceCell<Classes>> = Rc::default();
    Function::new(ctx.clone(), move |ctx: Ctx<'js>, value: Value<'js>| {
        if known.get().is_none() {
            let _ = known.set(classes(&ctx)?);
        }
        match known.get() {
            Some(classes) => details(&ctx, classes, &value),
            None => Ok(None),
        }
    })
}

fn details<'js>(
    ctx: &Ctx<'js>,
    classes: &Classes,
    value: &Value<'js>,
) -> Result<Option<Array<'js>>> {
    if !value.is_object() {
        return Ok(None);
    }
    let Some((name, kind)) = classes.get(&class(value)) else {
        return module(ctx, value);
    };
    let array = Array::new(ctx.clone())?;
    array.set(0, name.as_str())?;
    match name.as_str() {
        "Promise" => promise(ctx, &array, value)?,
        "Proxy" => proxy(ctx, &array, value)?,
        _ => {
            if let Some(kind) = kind {
                array.set(1, kind.as_str())?;
            }
        }
    }
    Ok(Some(array))
}

fn promise<'js>(ctx: &Ctx<'js>, array: &Array<'js>, value: &Value<'js>) -> Result<()> {
    let Some(promise) = value.as_promise() else { return Ok(()) };
    let state = match promise.state() {
        rquickjs::promise::PromiseState::Pending => "pending",
        rquickjs::promise::PromiseState::Resolved => "fulfilled",
        rquickjs::promise::PromiseState::Rejected => "rejected",
    };
    array.set(1, state)?;
    if state != "pending" {
        let raw = ctx.as_raw().as_ptr();
        // SAFETY: the context and the promise are alive; the result is ours.
        let result =
            unsafe { Value::from_raw(ctx.clone(), qjs::JS_PromiseResult(raw, value.as_raw())) };
        array.set(2, result)?;
    }
    Ok(())
}

fn proxy<'js>(ctx: &Ctx<'js>, array: &Array<'js>, value: &Value<'js>) -> Result<()> {
    let raw = ctx.as_raw().as_ptr();
    // SAFETY: the context and the proxy are alive; what is given is ours. A proxy that was revoked throws, which
    // is dropped.
    let (target, handler) = unsafe {
        let target = qjs::JS_GetProxyTarget(raw, value.as_raw());
        let handler = qjs::JS_GetProxyHandler(raw, value.as_raw());
        if qjs::JS_IsException(target) || qjs::JS_IsException(handler) {
            qjs::JS_FreeValue(raw, qjs::JS_GetException(raw));
            return Ok(());
        }
        (Value::from_raw(ctx.clone(), target), Value::from_raw(ctx.clone(), handler))
    };
    array.set(1, target)?;
    array.set(2, handler)
}

/// The namespace of a module has no prototype and says what it is.
fn module<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> Result<Option<Array<'js>>> {
    let Some(object) = value.as_object() else { return Ok(None) };
    if value.is_function() || object.get_prototype().is_some() {
        return Ok(None);
    }
    let tag: Option<String> = object.get(rquickjs::atom::PredefinedAtom::SymbolToStringTag)?;
    if tag.as_deref() != Some("Module") {
        return Ok(None);
    }
    let array = Array::new(ctx.clone())?;
    array.set(0, "Module")?;
    Ok(Some(array))
}
