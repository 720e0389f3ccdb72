//! A loop with a script, from its beginning to its end.

use std::convert::Infallible;
use std::rc::Rc;
use std::time::Instant;

use mainspring::{EventLoop, VirtualClock};
use mainspring_quickjs::rquickjs::{Function, Object};
use mainspring_quickjs::{Limit, Limits, Options, Runtime};

use crate::ending::Ending;
use crate::program::{Program, Source};
use crate::trace::Trace;
use crate::units::Bytes;
use crate::{args, inspect, repl, signals, stack, watchdog};

/// Runs a program, and ends the process. Comes back only if it cannot be run at all.
pub(crate) fn run(program: Program, wanted: &args::Options) -> Result<Infallible, String> {
    let began = Instant::now();
    let trace = wanted.trace.as_deref().map(Trace::create).transpose()?;
    let event_loop = event_loop(wanted, trace.as_ref()).map_err(|error| error.to_string())?;
    let ending = Ending::new(began, wanted.stats, trace.clone());
    let limits = limits(wanted)?;
    let mut options = options(&program, wanted, &ending);
    let screen = matches!(program.source, Source::Repl).then(repl::Screen::new);
    if let Some(screen) = &screen {
        options = repl::directed(options, limits, screen);
    }
    let script = Runtime::with_limits(event_loop.cx(), options, limits);
    let script = Rc::new(script.map_err(|error| error.to_string())?);
    ending.set_script(&script);
    if trace.is_some() {
        let cx = event_loop.cx().clone();
        script.host().set_observer(move |kind, began, ended| cx.trace_slice(kind, began, ended));
    }
    if screen.is_none() && (wanted.stats || wanted.trace.is_some()) {
        signals::report_before(event_loop.cx(), &script, &ending)
            .map_err(|error| format!("signals cannot be watched: {error}"))?;
    }
    // It serves for as long as this function runs, which is to the end.
    let _inspector = match wanted.inspect {
        Some(address) => {
            let (name, handle) = (program.source.name(), event_loop.handle());
            Some(inspect::start(address, wanted.inspect_any, &name, &handle)?)
        }
        None => None,
    };
    if let Some(limit) = wanted.max_callback_time {
        watchdog::start(limit, script.host().deadline(), trace)?;
    }
    if let Some(screen) = screen {
        return repl::run(&event_loop, &script, screen, &ending);
    }
    start(&script, program.source);
    let code = script.run(&event_loop).map_err(|error| error.to_string())?;
    ending.end(code)
}

fn event_loop(
    wanted: &args::Options,
    trace: Option<&Trace>,
) -> Result<EventLoop, mainspring::Error> {
    let mut builder =
        EventLoop::builder().microtask_budget(None).catch_up_timers(wanted.strict_node);
    if wanted.inspect.is_some() {
        builder = builder.stall_threshold(inspect::STALL);
    }
    if let Some(trace) = trace {
        builder = builder.tracer(trace.tracer());
    }
    if wanted.virtual_time {
        builder = builder.clock(&VirtualClock::auto());
    }
    builder.build()
}

fn options(program: &Program, wanted: &args::Options, ending: &Rc<Ending>) -> Options {
    let (at_exit, at_limit) = (Rc::clone(ending), Rc::clone(ending));
    let memory = wanted.max_memory;
    Options::new()
        .args(&program.args)
        .exec_args(&program.own_args)
        .callback_time(wanted.max_callback_time)
        .html_timers(wanted.html_timers)
        .strict_node(wanted.strict_node)
        .virtual_time(wanted.virtual_time)
        .on_limit(move |_, limit| {
            eprintln!("mainspring: {}", explain(limit, memory));
            at_limit.end(1);
        })
        .on_exit(move |_, code| at_exit.end(code))
}

/// A limit, with the option that it comes from.
pub(crate) fn explain(limit: Limit, memory: Option<usize>) -> String {
    match (limit, memory) {
        (Limit::CallbackTime(_), _) => format!("{limit} (--max-callback-time)"),
        (Limit::Memory, Some(memory)) => {
            format!("{limit}: it may use {} (--max-memory)", Bytes(memory as u64))
        }
        _ => limit.to_string(),
    }
}

fn limits(wanted: &args::Options) -> Result<Limits, String> {
    Ok(Limits { memory: wanted.max_memory, stack: Some(stack::limit(wanted.max_stack)?) })
}

/// Begins to run it. What it throws is an uncaught exception.
fn start(script: &Runtime, source: Source) {
    match source {
        Source::File(path) => script.start_file(&path),
        Source::Code { code, name, prints } => script.enter("main", |_, require| {
            let module: Object = require.call(("internal/run_code",))?;
            module.get::<_, Function>("runCode")?.call((code, name, prints))
        }),
        Source::Repl => {}
    }
}
