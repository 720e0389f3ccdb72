//! What scripts and embedders tried that should not have worked.

mod common;

use std::time::Duration;

use common::{Script, event_loop};
use mainspring_quickjs::{Error, Global, Limit, Limits, Options, Runtime};

const TIME: Duration = Duration::from_millis(50);

// spec: JS-4
#[test]
fn a_view_of_a_buffer_that_has_shrunk_shows_what_is_there() {
    let script = Script::new();
    script.more(
        "const buffer = new ArrayBuffer(1 << 20, { maxByteLength: 1 << 20 });
         const view = new Uint8Array(buffer);
         buffer.resize(16);
         console.log(Buffer.from(new TextDecoder().decode(view)).length);
         const fixed = new ArrayBuffer(64, { maxByteLength: 64 });
         const middle = new Uint8Array(fixed, 32, 32);
         fixed.resize(8);
         console.log(new TextDecoder().decode(middle).length);
         const gone = new Uint8Array(8); gone.buffer.transfer();
         console.log(new TextDecoder().decode(gone).length);",
    );
    assert_eq!(script.said(), "16 0 0");
}

// spec: SD-6
#[test]
fn an_engine_that_is_dropped_with_everything_pending_leaves_nothing() {
    for pending in [
        "",
        "setTimeout(() => 0, 1e6); setInterval(() => 0, 1e6).unref();",
        "setImmediate(() => 0); process.nextTick(() => 0); queueMicrotask(() => 0);",
        "process.getBuiltinModule?.('fs'); Promise.reject(1);",
        "mainspring.promise.deferred().promise.then(() => 0);",
        "globalThis.self = globalThis; const all = [new URL('a:b'), new AbortController(), new Event('x')];",
    ] {
        for loop_first in [false, true] {
            let event_loop = event_loop();
            let script = Runtime::new(event_loop.cx(), Options::new()).unwrap();
            script.eval(pending, "x.js").unwrap();
            if loop_first {
                drop(event_loop);
                drop(script);
            } else {
                drop(script);
                drop(event_loop);
            }
        }
    }
}

// spec: JS-4
#[test]
fn a_script_finds_no_function_of_the_host_on_the_stack() {
    let script = Script::with(
        |options| options.only([Global::Timers, Global::Console, Global::Events, Global::Abort]),
        Limits::default(),
    );
    script.more(
        "const found = [];
         Error.prepareStackTrace = (_, sites) => {
           for (const site of sites) found.push(typeof site.getFunction);
           return '';
         };
         const define = Object.defineProperty;
         let isInside = false;
         Object.defineProperty = (...args) => {
           if (!isInside) { isInside = true; new Error().stack; isInside = false; }
           return define(...args);
         };
         EventTarget; AbortController;
         Object.defineProperty = define;
         console.log(found.length > 0, found.every((kind) => kind === 'undefined'));",
    );
    assert_eq!(script.said(), "true true");
}

// spec: JS-4
#[test]
fn a_stop_is_not_swallowed_by_a_promise() {
    for swallowing in [
        "new Promise(() => { for (;;); }); console.log('no');",
        "(async () => { for (;;) { try { for (;;); } catch {} } })(); for (;;);",
    ] {
        let script = Script::with(|options| options.callback_time(TIME), Limits::default());
        let stopped = script.runtime.eval(swallowing, "x.js");
        assert_eq!(stopped, Err(Error::Limit(Limit::CallbackTime(TIME))), "{swallowing}");
        script.more("setTimeout(() => console.log('alive'), 1)");
        assert_eq!(script.said(), "alive", "{swallowing}");
    }
}

// spec: JS-3, JS-4
#[test]
fn an_exit_is_not_swallowed_by_a_promise() {
    let script = Script::new();
    let ended =
        script.runtime.eval("new Promise(() => process.exit(3)); console.log('no')", "x.js");
    assert_eq!(ended, Err(Error::Exited(3)));
    assert_eq!(script.said(), "");
}

// spec: JS-4
#[test]
fn time_between_two_calls_is_nobodys() {
    let script = Script::with(|options| options.callback_time(TIME), Limits::default());
    script.runtime.eval("Promise.resolve().then(() => console.log('ran'))", "x.js").unwrap();
    let end = std::time::Instant::now() + TIME * 2;
    while std::time::Instant::now() < end {}
    script.event_loop.run_until_idle().unwrap();
    assert_eq!(script.said(), "ran");
    assert!(script.limits.borrow().is_empty());
}
