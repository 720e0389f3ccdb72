//! What a call costs that leaves the engine, and one that enters it, in nanoseconds:
//!
//! cargo run --release -p mainspring-quickjs --example crossing

use std::time::Instant;

use mainspring::EventLoop;
use mainspring_quickjs::{Options, Runtime};
use rquickjs::Function;
use rquickjs::function::Func;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let calls = std::env::args().nth(1).map_or(Ok(10_000_000), |calls| calls.parse::<u32>())?;
    let event_loop = EventLoop::builder().microtask_budget(None).build()?;
    let script = Runtime::new(event_loop.cx(), Options::new())?;
    let (out, empty, into) = script.with(|ctx| {
        ctx.globals().set("leave", Func::from(|n: i32| n + 1))?;
        let out: Function = ctx.eval("(function (n) { for (let i = 0; i < n; i++) leave(i); })")?;
        let empty: Function = ctx.eval("(function (n) { for (let i = 0; i < n; i++) ; })")?;
        let into: Function = ctx.eval("(function (n) { return n + 1; })")?;
        let time = |f: &dyn Fn() -> rquickjs::Result<()>| {
            let begin = Instant::now();
            f()?;
            Ok::<_, rquickjs::Error>(begin.elapsed().as_secs_f64() * 1e9 / f64::from(calls))
        };
        let left = time(&|| out.call((calls,)))?;
        let empty = time(&|| empty.call((calls,)))?;
        let entered = time(&|| {
            for n in 0..calls {
                let next: u32 = into.call((n & 0xFFFF,))?;
                assert_ne!(next, 0);
            }
            Ok(())
        })?;
        Ok((left, empty, entered))
    })?;
    println!("JavaScript to Rust, ns\t{}", out - empty);
    println!("Rust to JavaScript, ns\t{into}");
    Ok(())
}
