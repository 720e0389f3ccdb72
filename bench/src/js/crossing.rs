//! What a call costs that leaves the engine, and one that enters it.

use std::time::Instant;

use mainspring::EventLoop;
use mainspring_quickjs::{Options, Runtime};
use rquickjs::Function;
use rquickjs::function::Func;

use crate::child::this_program;
use crate::table::{Aim, Table, progress};

/// In a process of its own, so that no other figure disturbs it.
pub fn table(repetitions: usize, quick: bool) -> Table {
    let mut table = Table::new("crossing".into(), vec!["mainspring"], "mainspring");
    table.aims.push(Aim { peer: "mainspring", metric: "JavaScript to Rust, ns", most: 120.0 });
    table.aims.push(Aim { peer: "mainspring", metric: "Rust to JavaScript, ns", most: 80.0 });
    let calls = if quick { 100_000 } else { 10_000_000 };
    for repetition in 1..=repetitions {
        progress(&format!("{repetition} of {repetitions}: crossing"));
        let output = crate::child::output(
            this_program().args(["measure-crossing", &calls.to_string()]),
            "crossing",
        );
        table.add_lines("mainspring", &output.0);
    }
    table
}

/// Measures both ways.
pub fn crossing(calls: usize) {
    let event_loop = EventLoop::builder().microtask_budget(None).build().expect("a loop");
    let script = Runtime::new(event_loop.cx(), Options::new()).expect("an engine");
    let (out, empty, into) = script
        .with(|ctx| {
            ctx.globals().set("leave", Func::from(|n: i32| n + 1))?;
            let out: Function =
                ctx.eval("(function (n) { for (let i = 0; i < n; i++) leave(i); })")?;
            let empty: Function = ctx.eval("(function (n) { for (let i = 0; i < n; i++) ; })")?;
            let into: Function = ctx.eval("(function (n) { return n + 1; })")?;
            let time = |f: &dyn Fn() -> rquickjs::Result<()>| {
                let begin = Instant::now();
                f()?;
                Ok::<_, rquickjs::Error>(begin.elapsed().as_secs_f64() * 1e9 / calls as f64)
            };
            let left = time(&|| out.call((calls,)))?;
            let empty = time(&|| empty.call((calls,)))?;
            let entered = time(&|| {
                for n in 0..calls {
                    let next: i32 = into.call((n as i32 & 0xFFFF,))?;
                    assert_ne!(next, 0);
                }
                Ok(())
            })?;
            Ok((left, empty, entered))
        })
        .expect("nothing throws");
    println!("JavaScript to Rust, ns\t{}", out - empty);
    println!("Rust to JavaScript, ns\t{into}");
}
