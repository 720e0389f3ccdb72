//! The object `host`, which the JavaScript half calls.

use std::path::Path;
use std::rc::{Rc, Weak};

use boa_engine::job::{Job, PromiseJob};
use boa_engine::object::builtins::JsArray;
use boa_engine::object::{FunctionObjectBuilder, ObjectInitializer};
use boa_engine::{
    Context, JsArgs, JsNativeError, JsObject, JsResult, JsString, JsValue, NativeFunction, Script,
    Source, js_string,
};
use mainspring_js::ops::{self, Args, Op};
use mainspring_js::{Arg, Callback, Layer, Origin, Uncaught, builtin};

use crate::convert::{self, PLAIN};
use crate::engine::Boa;

type WeakLayer = Weak<Layer<Boa>>;

/// Evaluates the JavaScript half.
pub(crate) fn boot(context: &mut Context, layer: &Rc<Layer<Boa>>) -> JsResult<()> {
    let host = host(context, layer)?;
    let module = ObjectInitializer::new(context).build();
    let nothing = JsValue::undefined();
    let loader = compile_builtin(context, "internal/loader")?;
    let arguments = [nothing.clone(), nothing.clone(), module.clone().into(), host.into()];
    call(&loader, &arguments, context)?;
    let require = module.get(js_string!("exports"), context)?;
    call(&require, &[js_string!("internal/bootstrap").into()], context)?;
    // Boa remembers how a place of a script found a property, and is wrong about a getter that replaces itself by
    // a value: the globals that scripts use most are touched before.
    run_script(context, "globalThis.console; globalThis.process;", "mainspring:boa").map(drop)
}

fn call(function: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    match function.as_callable() {
        Some(function) => function.call(&JsValue::undefined(), arguments, context),
        None => Err(JsNativeError::typ().with_message("not a function").into()),
    }
}

/// Evaluates a script in the global scope.
pub(crate) fn run_script(context: &mut Context, source: &str, name: &str) -> JsResult<JsValue> {
    let source = Source::from_bytes(source).with_path(Path::new(name));
    Script::parse(source, None, context)?.evaluate(context)
}

/// A function with these parameters and this body. The first line of the body is the second one of the source.
fn compile(context: &mut Context, body: &str, name: &str, parameters: &str) -> JsResult<JsValue> {
    run_script(context, &format!("(function ({parameters}) {{\n{body}\n}})"), name)
}

fn compile_builtin(context: &mut Context, name: &str) -> JsResult<JsValue> {
    let Some(builtin) = builtin(name) else {
        let message = format!("no module {name} is built in");
        return Err(JsNativeError::error().with_message(message).into());
    };
    compile(
        context,
        builtin.source,
        &format!("mainspring:{name}"),
        "exports, require, module, host",
    )
}

fn host(context: &mut Context, layer: &Rc<Layer<Boa>>) -> JsResult<JsObject> {
    let host = ObjectInitializer::new(context).build();
    let mut define = |name: &str, function: NativeFunction| {
        let function = FunctionObjectBuilder::new(context.realm(), function).name(name).build();
        host.insert_property(
            JsString::from(name),
            boa_engine::property::PropertyDescriptor::builder()
                .value(function)
                .writable(PLAIN.writable())
                .enumerable(PLAIN.enumerable())
                .configurable(PLAIN.configurable()),
        );
    };
    timers(layer, &mut define);
    immediates(layer, &mut define);
    tasks(layer, &mut define);
    engine(&mut define);
    for (name, op) in ops::granted(layer.host()) {
        define(name, operation(op, layer));
    }
    Ok(host)
}

/// A function of the host that knows its layer.
fn native(
    layer: &Rc<Layer<Boa>>,
    run: impl Fn(&Rc<Layer<Boa>>, &[JsValue], &mut Context) -> JsResult<JsValue> + 'static,
) -> NativeFunction {
    let layer: WeakLayer = Rc::downgrade(layer);
    // SAFETY: the closure holds nothing that the engine's collector would have to know of: a weak reference to
    // the layer, and functions of Rust.
    unsafe {
        NativeFunction::from_closure(move |_, arguments, context| match layer.upgrade() {
            Some(layer) => run(&layer, arguments, context),
            None => Err(JsNativeError::error().with_message("the loop has ended").into()),
        })
    }
}

fn number(arguments: &[JsValue], index: usize) -> f64 {
    arguments.get_or_undefined(index).as_number().unwrap_or(f64::NAN)
}

fn id(arguments: &[JsValue]) -> u64 {
    number(arguments, 0) as u64
}

fn flag(arguments: &[JsValue], index: usize) -> bool {
    arguments.get_or_undefined(index).to_boolean()
}

fn text(arguments: &[JsValue], index: usize, context: &mut Context) -> JsResult<String> {
    Ok(arguments.get_or_undefined(index).to_string(context)?.to_std_string_lossy())
}

fn timers(layer: &Rc<Layer<Boa>>, define: &mut impl FnMut(&str, NativeFunction)) {
    define(
        "startTimer",
        native(layer, |layer, arguments, _| {
            let target = arguments.get_or_undefined(0).clone();
            match layer.start_timer(target, number(arguments, 1), flag(arguments, 2)) {
                Ok(id) => Ok((id as f64).into()),
                Err(error) => Err(JsNativeError::error().with_message(error.to_string()).into()),
            }
        }),
    );
    define(
        "clearTimer",
        native(layer, |layer, arguments, _| Ok(layer.clear_timer(id(arguments)).into())),
    );
    define(
        "resetTimer",
        native(layer, |layer, arguments, _| {
            Ok(layer.reset_timer(id(arguments), number(arguments, 1)).into())
        }),
    );
    define(
        "refTimer",
        native(layer, |layer, arguments, _| {
            layer.ref_timer(id(arguments), flag(arguments, 1));
            Ok(JsValue::undefined())
        }),
    );
}

fn immediates(layer: &Rc<Layer<Boa>>, define: &mut impl FnMut(&str, NativeFunction)) {
    define(
        "startImmediate",
        native(layer, |layer, arguments, _| {
            let target = arguments.get_or_undefined(0).clone();
            Ok((layer.start_immediate(target, flag(arguments, 1)) as f64).into())
        }),
    );
    define(
        "clearImmediate",
        native(layer, |layer, arguments, _| Ok(layer.clear_immediate(id(arguments)).into())),
    );
    define(
        "refImmediate",
        native(layer, |layer, arguments, _| {
            layer.ref_immediate(id(arguments), flag(arguments, 1));
            Ok(JsValue::undefined())
        }),
    );
}

fn tasks(layer: &Rc<Layer<Boa>>, define: &mut impl FnMut(&str, NativeFunction)) {
    define(
        "scheduleTicks",
        native(layer, |layer, _, _| {
            layer.schedule_ticks();
            Ok(JsValue::undefined())
        }),
    );
    define(
        "enqueueTask",
        native(layer, |layer, arguments, _| {
            match layer.start_task(arguments.get_or_undefined(0).clone()) {
                Ok(()) => Ok(JsValue::undefined()),
                Err(error) => Err(JsNativeError::error().with_message(error.to_string()).into()),
            }
        }),
    );
    define(
        "enqueueMicrotask",
        native(layer, |_, arguments, context| {
            let function = arguments.get_or_undefined(0).clone();
            let job = PromiseJob::new(move |context| call(&function, &[], context));
            context.enqueue_job(Job::PromiseJob(job));
            Ok(JsValue::undefined())
        }),
    );
    define(
        "setEntries",
        native(layer, |layer, arguments, context| {
            let Some(object) = arguments.get_or_undefined(0).as_object() else {
                return Ok(JsValue::undefined());
            };
            for name in [
                "timer",
                "immediate",
                "ticks",
                "task",
                "beforeExit",
                "exit",
                "uncaught",
                "rejections",
            ] {
                let function = object.get(JsString::from(name), context)?;
                if function.is_callable() {
                    layer.engine().entries.borrow_mut().insert(name, function);
                }
            }
            Ok(JsValue::undefined())
        }),
    );
    define(
        "reportUncaught",
        native(layer, |layer, arguments, context| {
            if !layer.host().options().reports_uncaught() {
                return Ok(false.into());
            }
            let origin = Origin::from_name(&text(arguments, 1, context)?);
            let origin = origin.unwrap_or(Origin::Exception);
            layer.report_uncaught(Uncaught { text: text(arguments, 0, context)?, origin });
            Ok(true.into())
        }),
    );
    define(
        "exit",
        native(layer, |layer, arguments, _| {
            layer.exit(number(arguments, 0) as i32);
            layer.engine().is_stopped.set(true);
            // A limit is what scripts cannot catch.
            Err(boa_engine::error::RuntimeLimitError::LoopIteration.into())
        }),
    );
}

fn engine(define: &mut impl FnMut(&str, NativeFunction)) {
    define(
        "builtin",
        NativeFunction::from_fn_ptr(|_, arguments, context| {
            let name = text(arguments, 0, context)?;
            compile_builtin(context, &name)
        }),
    );
    define(
        "compile",
        NativeFunction::from_fn_ptr(|_, arguments, context| {
            let (body, name) = (text(arguments, 0, context)?, text(arguments, 1, context)?);
            let names = match arguments.get_or_undefined(2).as_object().map(JsArray::from_object) {
                Some(Ok(names)) => names.join(None, context)?.to_std_string_lossy(),
                _ => String::new(),
            };
            compile(context, &body, &name, &names)
        }),
    );
    define(
        "runScript",
        NativeFunction::from_fn_ptr(|_, arguments, context| {
            let (source, name) = (text(arguments, 0, context)?, text(arguments, 1, context)?);
            run_script(context, &source, &name)
        }),
    );
    // Boa tells a host little about an object: it is shown as a plain one.
    define("details", NativeFunction::from_fn_ptr(|_, _, _| Ok(JsValue::undefined())));
    define(
        "gc",
        NativeFunction::from_fn_ptr(|_, _, _| {
            boa_gc::force_collect();
            Ok(JsValue::undefined())
        }),
    );
    define(
        "memoryUsage",
        NativeFunction::from_fn_ptr(|_, _, context| {
            Ok(ObjectInitializer::new(context)
                .property(js_string!("heapUsed"), 0, PLAIN)
                .property(js_string!("heapTotal"), 0, PLAIN)
                .build()
                .into())
        }),
    );
    define(
        "version",
        NativeFunction::from_fn_ptr(|_, _, context| {
            Ok(ObjectInitializer::new(context)
                .property(js_string!("mainspring"), js_string!("0.1.0"), PLAIN)
                .property(js_string!("engine"), js_string!("boa"), PLAIN)
                .property(js_string!("engineVersion"), js_string!("0.22"), PLAIN)
                .build()
                .into())
        }),
    );
}

/// A function for an operation.
fn operation(op: Op, layer: &Rc<Layer<Boa>>) -> NativeFunction {
    native(layer, move |layer, arguments, context| {
        let mut args = Vec::with_capacity(arguments.len());
        for argument in arguments {
            args.push(match argument.is_callable() {
                true => Arg::Function(callback(layer, argument.clone())),
                false => Arg::Value(convert::from_js(argument, context)?),
            });
        }
        match op(layer.host(), Args::new(&mut args)) {
            Ok(value) => convert::to_js(value, context),
            Err(error) => Err(convert::to_error(error, context)?),
        }
    })
}

/// A function of the script, for an operation that calls it later.
fn callback(layer: &Rc<Layer<Boa>>, function: JsValue) -> Callback {
    let layer = Rc::downgrade(layer);
    Callback::new(move |cx, values| {
        let Some(layer) = layer.upgrade() else { return };
        layer.count_callback();
        layer.enter(cx, "callback", |boa| {
            boa.enter(|context| {
                let mut arguments = Vec::with_capacity(values.len());
                for value in values {
                    arguments.push(convert::to_js(value, context)?);
                }
                call(&function, &arguments, context).map(drop)
            })
        });
    })
}
