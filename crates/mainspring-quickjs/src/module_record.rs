//! The engine's records of modules.
//!
//! The engine keeps a record from when it was made until the end of its context, with one exception: it frees a
//! module that it cannot link to what the module imports, though others may refer to it by then. So the loader
//! (see [`modules`](crate::modules)) never lets that fail: it gives the engine an empty module instead.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::NonNull;

use rquickjs::{Ctx, Exception, Object, Promise, Result, Value, qjs};

/// A module of the engine, alive as long as its context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record(NonNull<qjs::JSModuleDef>);

/// What the engine asks for modules. Errors are exceptions that were thrown.
pub(crate) trait Loader: Sized {
    /// The loader of a context.
    fn of(ctx: &Ctx<'_>) -> Result<Self>;

    /// The name of the module that a specifier means in a module or script.
    fn resolve<'js>(
        &self,
        ctx: &Ctx<'js>,
        base: &str,
        specifier: &str,
        attributes: Option<Object<'js>>,
    ) -> Result<String>;

    /// The module of a name.
    fn load(&self, ctx: &Ctx<'_>, name: &str) -> Result<Record>;

    /// Sets the exports of a module that was made by [`Record::native`], when its turn has come.
    fn evaluate(&self, ctx: &Ctx<'_>, record: Record, name: &str) -> Result<()>;
}

/// Has the engine ask a loader from now on.
pub(crate) fn set_loader<L: Loader>(ctx: &Ctx<'_>) {
    // SAFETY: the context is alive. The functions fit, and need no data of their own.
    unsafe {
        let runtime = qjs::JS_GetRuntime(ctx.as_raw().as_ptr());
        let nothing = std::ptr::null_mut();
        qjs::JS_SetModuleLoaderFunc2(runtime, None, Some(load::<L>), None, nothing);
        qjs::JS_SetModuleNormalizeFunc2(runtime, Some(resolve::<L>));
    }
}

/// Whether a source can be parsed as a module.
pub(crate) fn parses(source: &str) -> bool {
    let Ok(text) = CString::new(source) else { return false };
    // SAFETY: the source ends with a zero, and is only read. It is parsed in a context of its own.
    unsafe { qjs::JS_DetectModule(text.as_ptr(), source.len() as qjs::size_t) }
}

impl Record {
    /// Compiles a module, for which everything that it imports is loaded too.
    pub(crate) fn compile(ctx: &Ctx<'_>, source: &str, name: &str) -> Result<Self> {
        let flags = qjs::JS_EVAL_TYPE_MODULE | qjs::JS_EVAL_FLAG_COMPILE_ONLY;
        let value = crate::compile::raw(ctx, source, name, 1, flags as c_int)?;
        // SAFETY: what was compiled as a module is one. The engine has a reference to it beside this one, which
        // it wants to be kept.
        let record = unsafe { qjs::JS_VALUE_GET_PTR(value) };
        NonNull::new(record.cast()).map(Self).ok_or(rquickjs::Error::Unknown)
    }

    /// A module whose exports [`Loader::evaluate`] sets. Names that the engine cannot have are left out.
    pub(crate) fn native<L: Loader>(ctx: &Ctx<'_>, name: &str, exports: &[String]) -> Result<Self> {
        let raw = ctx.as_raw().as_ptr();
        let name = CString::new(name)?;
        // SAFETY: the context is alive; the names end with a zero and are copied.
        unsafe {
            let record = qjs::JS_NewCModule(raw, name.as_ptr(), Some(evaluate::<L>));
            let record = NonNull::new(record).ok_or(rquickjs::Error::Exception)?;
            for export in exports {
                if let Ok(export) = CString::new(export.as_str())
                    && qjs::JS_AddModuleExport(raw, record.as_ptr(), export.as_ptr()) < 0
                {
                    return Err(rquickjs::Error::Exception);
                }
            }
            Ok(Self(record))
        }
    }

    /// Sets an export of a native module.
    pub(crate) fn export<'js>(self, ctx: &Ctx<'js>, name: &str, value: &Value<'js>) -> Result<()> {
        let Ok(name) = CString::new(name) else { return Ok(()) };
        let raw = ctx.as_raw().as_ptr();
        // SAFETY: context, module and value are alive; the engine is given a reference to the value.
        let set = unsafe {
            let value = qjs::JS_DupValue(raw, value.as_raw());
            qjs::JS_SetModuleExport(raw, self.0.as_ptr(), name.as_ptr(), value)
        };
        if set < 0 { Err(rquickjs::Error::Exception) } else { Ok(()) }
    }

    /// Links and evaluates the module and what it imports, as far as that has not been done yet.
    pub(crate) fn evaluate<'js>(self, ctx: &Ctx<'js>) -> Result<Promise<'js>> {
        let raw = ctx.as_raw().as_ptr();
        // SAFETY: context and module are alive; the call uses up a reference.
        let value = unsafe {
            let module = qjs::JS_MKPTR(qjs::JS_TAG_MODULE, self.0.as_ptr().cast());
            qjs::JS_EvalFunction(raw, qjs::JS_DupValue(raw, module))
        };
        Promise::from_value(owned(ctx, value)?)
    }

    /// The object with the exports, as `import * as` has it.
    pub(crate) fn namespace<'js>(self, ctx: &Ctx<'js>) -> Result<Object<'js>> {
        // SAFETY: context and module are alive.
        let value = unsafe { qjs::JS_GetModuleNamespace(ctx.as_raw().as_ptr(), self.0.as_ptr()) };
        owned(ctx, value)?.get()
    }

    /// `import.meta`
    pub(crate) fn meta<'js>(self, ctx: &Ctx<'js>) -> Result<Object<'js>> {
        // SAFETY: context and module are alive.
        let value = unsafe { qjs::JS_GetImportMeta(ctx.as_raw().as_ptr(), self.0.as_ptr()) };
        owned(ctx, value)?.get()
    }
}

/// Tells the engine that somebody looks after a promise.
pub(crate) fn mark_handled(ctx: &Ctx<'_>, promise: &Promise<'_>) {
    // SAFETY: context and promise are alive.
    unsafe { qjs::JS_PromiseMarkAsHandled(ctx.as_raw().as_ptr(), promise.as_value().as_raw()) }
}

/// A value that the engine has handed over.
fn owned<'js>(ctx: &Ctx<'js>, value: qjs::JSValue) -> Result<Value<'js>> {
    // SAFETY: the caller had it from a function of the engine that gives a reference away.
    unsafe {
        if qjs::JS_IsException(value) {
            return Err(rquickjs::Error::Exception);
        }
        Ok(Value::from_raw(ctx.clone(), value))
    }
}

/// Makes an exception of an error that is none yet.
fn throw(ctx: &Ctx<'_>, error: &rquickjs::Error) {
    if !error.is_exception() {
        Exception::throw_message(ctx, &error.to_string());
    }
}

unsafe extern "C" fn resolve<L: Loader>(
    ctx: *mut qjs::JSContext,
    base: *const c_char,
    specifier: *const c_char,
    attributes: qjs::JSValue,
    _: *mut c_void,
) -> *mut c_char {
    // SAFETY: the engine calls this with a context that is alive and entered, strings that end with a zero, and a
    // value that it keeps; the name is given to it in memory of its own.
    unsafe {
        let Some(raw) = NonNull::new(ctx) else { return std::ptr::null_mut() };
        let ctx = Ctx::from_raw(raw);
        let base = CStr::from_ptr(base).to_string_lossy();
        let specifier = CStr::from_ptr(specifier).to_string_lossy();
        let attributes = qjs::JS_DupValue(raw.as_ptr(), attributes);
        let attributes = Value::from_raw(ctx.clone(), attributes).into_object();
        let name =
            L::of(&ctx).and_then(|loader| loader.resolve(&ctx, &base, &specifier, attributes));
        match name {
            Ok(name) => {
                qjs::js_strndup(raw.as_ptr(), name.as_ptr().cast(), name.len() as qjs::size_t)
            }
            Err(error) => {
                throw(&ctx, &error);
                std::ptr::null_mut()
            }
        }
    }
}

unsafe extern "C" fn load<L: Loader>(
    ctx: *mut qjs::JSContext,
    name: *const c_char,
    _: *mut c_void,
    _: qjs::JSValue,
) -> *mut qjs::JSModuleDef {
    // SAFETY: the engine calls this with a context that is alive and entered, and a string that ends with a zero.
    unsafe {
        let Some(raw) = NonNull::new(ctx) else { return std::ptr::null_mut() };
        let ctx = Ctx::from_raw(raw);
        let name = CStr::from_ptr(name).to_string_lossy();
        match L::of(&ctx).and_then(|loader| loader.load(&ctx, &name)) {
            Ok(record) => record.0.as_ptr(),
            Err(error) => {
                throw(&ctx, &error);
                std::ptr::null_mut()
            }
        }
    }
}

unsafe extern "C" fn evaluate<L: Loader>(
    ctx: *mut qjs::JSContext,
    record: *mut qjs::JSModuleDef,
) -> c_int {
    // SAFETY: the engine calls this with a context that is alive and entered, and a module of it. The atom is
    // handed over.
    unsafe {
        let (Some(raw), Some(record)) = (NonNull::new(ctx), NonNull::new(record)) else {
            return -1;
        };
        let ctx = Ctx::from_raw(raw);
        let atom = qjs::JS_GetModuleName(raw.as_ptr(), record.as_ptr());
        let text = qjs::JS_AtomToString(raw.as_ptr(), atom);
        qjs::JS_FreeAtom(raw.as_ptr(), atom);
        let done = owned(&ctx, text).and_then(|name| {
            let name: String = name.get()?;
            L::of(&ctx)?.evaluate(&ctx, Record(record), &name)
        });
        match done {
            Ok(()) => 0,
            Err(error) => {
                throw(&ctx, &error);
                -1
            }
        }
    }
}
