//! The object `host`, which the JavaScript half calls.

use std::rc::Rc;

use mainspring_js::ops::{self, Args, Op};
use mainspring_js::{Arg, Callback, Layer, Origin, Uncaught};
use rquickjs::function::{Func, Rest};
use rquickjs::{Ctx, Exception, Function, Object, Persistent, Result, Value, qjs};

use crate::engine::{Entries, QuickJs, WeakLayer, describe};
use crate::{compile, convert, details, modules, promises};

/// Makes the object. Functions hold the layer weakly: the engine belongs to the layer.
pub(crate) fn host<'js>(ctx: &Ctx<'js>, layer: &Rc<Layer<QuickJs>>) -> Result<Object<'js>> {
    let host = Object::new(ctx.clone())?;
    timers(&host, layer)?;
    immediates(&host, layer)?;
    tasks(&host, layer)?;
    engine(ctx, &host, layer)?;
    promises::define(&host, layer)?;
    modules::define(&host)?;
    for (name, op) in ops::granted(layer.host()) {
        host.set(name, operation(ctx, op, layer)?)?;
    }
    Ok(host)
}

/// The layer, if it is still there.
pub(crate) fn alive(ctx: &Ctx<'_>, layer: &WeakLayer) -> Result<Rc<Layer<QuickJs>>> {
    layer.upgrade().ok_or_else(|| Exception::throw_message(ctx, "the loop has ended"))
}

/// An id as scripts have it.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "ids are below 2^53")]
fn id(number: f64) -> u64 {
    number as u64
}

#[expect(clippy::cast_precision_loss, reason = "ids are below 2^53")]
fn number(id: u64) -> f64 {
    id as f64
}

fn timers<'js>(host: &Object<'js>, layer: &Rc<Layer<QuickJs>>) -> Result<()> {
    let weak = Rc::downgrade(layer);
    host.set(
        "startTimer",
        Func::from(move |ctx: Ctx<'js>, target: Value<'js>, ms: f64, is_ref: bool| {
            start_timer(&ctx, &weak, target, ms, is_ref)
        }),
    )?;
    let weak = Rc::downgrade(layer);
    host.set(
        "clearTimer",
        Func::from(move |timer: f64| {
            weak.upgrade().is_some_and(|layer| layer.clear_timer(id(timer)))
        }),
    )?;
    let weak = Rc::downgrade(layer);
    host.set(
        "resetTimer",
        Func::from(move |timer: f64, ms: f64| {
            weak.upgrade().is_some_and(|layer| layer.reset_timer(id(timer), ms))
        }),
    )?;
    let weak = Rc::downgrade(layer);
    host.set(
        "refTimer",
        Func::from(move |timer: f64, is_ref: bool| {
            if let Some(layer) = weak.upgrade() {
                layer.ref_timer(id(timer), is_ref);
            }
        }),
    )
}

fn start_timer<'js>(
    ctx: &Ctx<'js>,
    layer: &WeakLayer,
    target: Value<'js>,
    ms: f64,
    is_ref: bool,
) -> Result<f64> {
    let layer = alive(ctx, layer)?;
    let target = layer.engine().hold(ctx, target);
    let started = layer.start_timer(target, ms, is_ref);
    started.map(number).map_err(|error| Exception::throw_message(ctx, &error.to_string()))
}

fn immediates<'js>(host: &Object<'js>, layer: &Rc<Layer<QuickJs>>) -> Result<()> {
    let weak = Rc::downgrade(layer);
    host.set(
        "startImmediate",
        Func::from(move |ctx: Ctx<'js>, target: Value<'js>, is_ref: bool| {
            start_immediate(&ctx, &weak, target, is_ref)
        }),
    )?;
    let weak = Rc::downgrade(layer);
    host.set(
        "clearImmediate",
        Func::from(move |immediate: f64| {
            weak.upgrade().is_some_and(|layer| layer.clear_immediate(id(immediate)))
        }),
    )?;
    let weak = Rc::downgrade(layer);
    host.set(
        "refImmediate",
        Func::from(move |immediate: f64, is_ref: bool| {
            if let Some(layer) = weak.upgrade() {
                layer.ref_immediate(id(immediate), is_ref);
            }
        }),
    )
}

fn start_immediate<'js>(
    ctx: &Ctx<'js>,
    layer: &WeakLayer,
    target: Value<'js>,
    is_ref: bool,
) -> Result<f64> {
    let layer = alive(ctx, layer)?;
    let target = layer.engine().hold(ctx, target);
    Ok(number(layer.start_immediate(target, is_ref)))
}

fn tasks<'js>(host: &Object<'js>, layer: &Rc<Layer<QuickJs>>) -> Result<()> {
    let weak = Rc::downgrade(layer);
    host.set(
        "scheduleTicks",
        Func::from(move || {
            if let Some(layer) = weak.upgrade() {
                layer.schedule_ticks();
            }
        }),
    )?;
    let weak = Rc::downgrade(layer);
    host.set(
        "enqueueTask",
        Func::from(move |ctx: Ctx<'js>, task: Value<'js>| enqueue_task(&ctx, &weak, task)),
    )?;
    host.set("enqueueMicrotask", Func::from(|f: Function<'_>| f.defer(())))?;
    let weak = Rc::downgrade(layer);
    host.set(
        "setEntries",
        Func::from(move |ctx: Ctx<'js>, object: Object<'js>| set_entries(&ctx, &weak, &object)),
    )?;
    let weak = Rc::downgrade(layer);
    host.set(
        "reportUncaught",
        Func::from(move |ctx: Ctx<'js>, error: Value<'js>, origin: String| {
            report_uncaught(&ctx, &weak, &error, &origin)
        }),
    )?;
    let weak = Rc::downgrade(layer);
    host.set("exit", Func::from(move |ctx: Ctx<'js>, code: f64| exit(&ctx, &weak, code)))
}

fn enqueue_task<'js>(ctx: &Ctx<'js>, layer: &WeakLayer, task: Value<'js>) -> Result<()> {
    let layer = alive(ctx, layer)?;
    let task = layer.engine().hold(ctx, task);
    let queued = layer.start_task(task);
    queued.map_err(|error| Exception::throw_message(ctx, &error.to_string()))
}

fn set_entries<'js>(ctx: &Ctx<'js>, layer: &WeakLayer, object: &Object<'js>) -> Result<()> {
    let layer = alive(ctx, layer)?;
    let entries = Entries::read(ctx, object)?;
    drop(layer.engine().entries.replace(entries));
    Ok(())
}

/// False if nobody wants to know.
fn report_uncaught<'js>(
    ctx: &Ctx<'js>,
    layer: &WeakLayer,
    error: &Value<'js>,
    origin: &str,
) -> Result<bool> {
    let layer = alive(ctx, layer)?;
    if !layer.host().options().reports_uncaught() {
        return Ok(false);
    }
    let origin = Origin::from_name(origin).unwrap_or(Origin::Exception);
    layer.report_uncaught(Uncaught { text: describe(ctx, error), origin });
    Ok(true)
}

/// Ends the script, and leaves it in a way that it cannot catch.
fn exit(ctx: &Ctx<'_>, layer: &WeakLayer, code: f64) -> Result<()> {
    let layer = alive(ctx, layer)?;
    #[expect(clippy::cast_possible_truncation, reason = "an exit code")]
    layer.exit(code as i32);
    let error = throw_uncatchable(ctx);
    layer.engine().stop();
    Err(error)
}

fn throw_uncatchable(ctx: &Ctx<'_>) -> rquickjs::Error {
    let raw = ctx.as_raw().as_ptr();
    // SAFETY: the context is alive, and entered. The error is handed over to it.
    unsafe {
        let error = qjs::JS_NewError(raw);
        qjs::JS_SetUncatchableError(raw, error);
        qjs::JS_Throw(raw, error);
    }
    rquickjs::Error::Exception
}

fn engine<'js>(ctx: &Ctx<'js>, host: &Object<'js>, layer: &Rc<Layer<QuickJs>>) -> Result<()> {
    host.set("builtin", Func::from(|ctx: Ctx<'js>, name: String| builtin(&ctx, &name)))?;
    host.set(
        "compile",
        Func::from(|ctx: Ctx<'js>, source: String, filename: String, names: Vec<String>| {
            compile::function(&ctx, &source, &filename, &names)
        }),
    )?;
    host.set(
        "runScript",
        Func::from(|ctx: Ctx<'js>, source: String, filename: String| {
            compile::script(&ctx, &source, &filename)
        }),
    )?;
    host.set(
        "runLine",
        Func::from(|ctx: Ctx<'js>, source: String, filename: String, has_await: bool| {
            compile::line(&ctx, &source, &filename, has_await)
        }),
    )?;
    host.set(
        "checkScript",
        Func::from(|ctx: Ctx<'js>, source: String, filename: String, has_await: bool| {
            compile::check(&ctx, &source, &filename, has_await)
        }),
    )?;
    host.set("details", details::function(ctx)?)?;
    host.set("gc", Func::from(|ctx: Ctx<'js>| ctx.run_gc()))?;
    let weak = Rc::downgrade(layer);
    host.set("memoryUsage", Func::from(move |ctx: Ctx<'js>| memory_usage(&ctx, &weak)))?;
    host.set("version", Func::from(version))
}

/// A module that is built in, as a function.
pub(crate) fn builtin<'js>(ctx: &Ctx<'js>, name: &str) -> Result<Function<'js>> {
    let names = ["exports", "require", "module", "host"];
    let filename = format!("mainspring:{name}");
    // For those who work on them: no build is needed to try a change.
    #[cfg(debug_assertions)]
    if let Some(root) = std::env::var_os("MAINSPRING_BUILTINS") {
        let path = std::path::Path::new(&root).join(format!("{name}.js"));
        if let Ok(source) = std::fs::read_to_string(path) {
            return compile::function(ctx, &source, &filename, &names);
        }
    }
    let builtin = mainspring_js::builtin(name)
        .ok_or_else(|| Exception::throw_message(ctx, &format!("no module {name} is built in")))?;
    compile::function(ctx, builtin.source, &filename, &names)
}

fn memory_usage<'js>(ctx: &Ctx<'js>, layer: &WeakLayer) -> Result<Object<'js>> {
    let usage = Object::new(ctx.clone())?;
    let mut raw = std::mem::MaybeUninit::<qjs::JSMemoryUsage>::zeroed();
    // SAFETY: the runtime is alive; the structure is filled by the call.
    let raw = unsafe {
        let runtime = qjs::JS_GetRuntime(ctx.as_raw().as_ptr());
        qjs::JS_ComputeMemoryUsage(runtime, raw.as_mut_ptr());
        raw.assume_init()
    };
    let allocated = alive(ctx, layer)?.engine().allocated();
    usage.set("heapTotal", allocated.unwrap_or(raw.malloc_size as usize))?;
    usage.set("heapUsed", raw.memory_used_size)?;
    Ok(usage)
}

fn version(ctx: Ctx<'_>) -> Result<Object<'_>> {
    let version = Object::new(ctx)?;
    version.set("mainspring", env!("CARGO_PKG_VERSION"))?;
    version.set("engine", "quickjs-ng")?;
    version.set("engineVersion", engine_version())?;
    Ok(version)
}

/// The version of QuickJS-ng.
///
/// ```
/// assert!(mainspring_quickjs::engine_version().contains('.'));
/// ```
#[must_use]
pub fn engine_version() -> &'static str {
    // SAFETY: a constant string of the library.
    let version = unsafe { std::ffi::CStr::from_ptr(qjs::JS_GetVersion()) };
    version.to_str().unwrap_or("unknown")
}

/// A function for an operation.
fn operation<'js>(ctx: &Ctx<'js>, op: Op, layer: &Rc<Layer<QuickJs>>) -> Result<Function<'js>> {
    let weak = Rc::downgrade(layer);
    Function::new(ctx.clone(), move |ctx: Ctx<'js>, values: Rest<Value<'js>>| {
        call_operation(&ctx, op, &weak, &values.0)
    })
}

fn call_operation<'js>(
    ctx: &Ctx<'js>,
    op: Op,
    layer: &WeakLayer,
    values: &[Value<'js>],
) -> Result<Value<'js>> {
    let strong = alive(ctx, layer)?;
    let args: Result<Vec<Arg>> = values
        .iter()
        .map(|value| convert::arg(value, |function| callback(ctx, layer, &strong, function)))
        .collect();
    match op(strong.host(), Args::new(&mut args?)) {
        Ok(value) => convert::to_js(ctx, value),
        Err(error) => {
            let error = convert::to_error(ctx, error)?;
            Err(ctx.throw(error))
        }
    }
}

/// A function of the script, for an operation that calls it later.
fn callback<'js>(
    ctx: &Ctx<'js>,
    layer: &WeakLayer,
    strong: &Rc<Layer<QuickJs>>,
    function: Function<'js>,
) -> Callback {
    let layer = layer.clone();
    let function = Persistent::save(ctx, function);
    // It has to outlive the function.
    let context = strong.engine().context().clone();
    let held = (function, context);
    Callback::new(move |cx, arguments| {
        // Both of them are moved here by that; `held.0` would leave the context behind.
        let (function, _context) = &held;
        if let Some(layer) = layer.upgrade() {
            layer.count_callback();
            layer.enter(cx, "callback", |engine| engine.call_function(function, arguments));
        }
    })
}
