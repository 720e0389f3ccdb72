//! QuickJS without a loop: evaluates a script, and runs the jobs of its promises until there are none. It has no timers; what
//! of Node's it has is what scripts need in order to measure themselves.
//!
//! cargo run --release -p mainspring-quickjs --example bare FILE [ARGUMENT ...]

use std::time::Instant;

use memory::{Counted, MemoryLimit};
use rquickjs::function::Func;
use rquickjs::{CatchResultExt, Context, Ctx, Runtime};

/// The allocator of the engines that are on a loop, so that a comparison is one of loops.
#[path = "../src/memory.rs"]
#[expect(dead_code, reason = "nobody asks what is used")]
mod memory;

const NODE: &str = "
    const settled = Promise.resolve();
    globalThis.queueMicrotask = (job) => { settled.then(job); };
    globalThis.console = { log };
    globalThis.performance = { now };
    globalThis.process = { argv, nextTick: queueMicrotask };
";

fn run(ctx: &Ctx<'_>, file: String, arguments: Vec<String>) -> Result<(), String> {
    let source = std::fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
    let begin = Instant::now();
    let evaluate = || {
        let globals = ctx.globals();
        globals.set("log", Func::from(|line: String| println!("{line}")))?;
        globals.set("now", Func::from(move || begin.elapsed().as_secs_f64() * 1e3))?;
        globals.set("argv", [vec!["bare".to_owned(), file.clone()], arguments].concat())?;
        ctx.eval::<(), _>(NODE)?;
        ctx.eval::<(), _>(format!("(() => {{ {source}\n }})()"))
    };
    evaluate().catch(ctx).map_err(|error| error.to_string())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("bare needs a script: bare FILE [ARGUMENT ...]")?;
    memory::prepare();
    let runtime = Runtime::new_with_alloc(Counted::new(MemoryLimit::new(None)))?;
    let context = Context::full(&runtime)?;
    context.with(|ctx| run(&ctx, file, arguments.collect()))?;
    while runtime.execute_pending_job().map_err(|error| error.to_string())? {}
    Ok(())
}
