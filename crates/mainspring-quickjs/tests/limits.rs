//! Scripts that nobody vouches for: what they may use up is limited, and the loop goes on.

mod common;

use std::time::Duration;

use common::Script;
use mainspring_quickjs::{Error, Limit, Limits};

const TIME: Duration = Duration::from_millis(50);

fn hasty() -> Script {
    Script::with(|options| options.callback_time(TIME), Limits::default())
}

fn small() -> Script {
    Script::with(|options| options, Limits { memory: Some(16 << 20), stack: None })
}

/// The script still works.
fn assert_usable(script: &Script) {
    script.more("setTimeout(() => console.log('alive'), 1)");
    assert!(script.said().ends_with("alive"), "{}", script.said());
}

fn assert_late(script: &Script) {
    assert!(!script.limits.borrow().is_empty());
    assert!(script.limits.borrow().iter().all(|limit| *limit == Limit::CallbackTime(TIME)));
}

// spec: JS-4
#[test]
fn a_callback_that_never_ends_is_stopped_and_cannot_catch_that() {
    let script = hasty();
    script.more(
        "setImmediate(() => { for (;;) { try { for (;;); } catch { } finally { console.log('no'); } } });
         setImmediate(() => console.log('next'));",
    );
    assert_eq!(script.said(), "next");
    assert_late(&script);
    assert_usable(&script);
}

// spec: JS-4
#[test]
fn a_script_that_never_ends_is_an_error_of_the_call() {
    let script = hasty();
    let result = script.runtime.eval("for (;;);", "x.js");
    assert_eq!(result, Err(Error::Limit(Limit::CallbackTime(TIME))));
    assert_usable(&script);
}

// spec: JS-4
#[test]
fn a_flood_of_microtasks_is_a_callback_that_never_ends() {
    for flood in [
        "queueMicrotask(function again() { queueMicrotask(again); });",
        "(function again() { Promise.resolve().then(again); })();",
        "process.nextTick(function again() { process.nextTick(again); });",
        "(async () => { for (;;) await 0; })();",
    ] {
        let script = hasty();
        script.runtime.eval(flood, "flood.js").unwrap();
        let event_loop = &script.event_loop;
        // Each turn is stopped, and the loop goes on: the immediate has its turn.
        let out = script.out.clone();
        event_loop.cx().set_immediate(move |cx| {
            out.write(b"turn\n").unwrap();
            cx.close();
        });
        event_loop.run().unwrap();
        assert_eq!(script.said(), "turn", "{flood}");
        assert_late(&script);
    }
}

// spec: JS-4
#[test]
fn a_regular_expression_that_blows_up_is_stopped() {
    let script = hasty();
    script.more("setImmediate(() => /^(a+)+$/.test('a'.repeat(40) + 'b')); setImmediate(() => console.log('next'));");
    assert_eq!(script.said(), "next");
    assert_late(&script);
    assert_usable(&script);
}

// spec: JS-4
#[test]
fn too_much_memory_is_a_limit_whatever_it_is_used_for() {
    for greedy in [
        "const all = []; for (;;) all.push(new Array(1000).fill(0));",
        "const all = []; for (;;) all.push('x'.repeat(100000));",
        "const all = {}; for (let n = 0; ; n++) all['key' + n] = n;",
        "const all = []; for (;;) all.push(new ArrayBuffer(1 << 20));",
        "const all = new Map(); for (let n = 0; ; n++) all.set(n, n);",
    ] {
        let script = small();
        script.more(&format!(
            "setImmediate(() => {{ {greedy} }}); setImmediate(() => console.log('next'));"
        ));
        assert_eq!(script.said(), "next", "{greedy}");
        assert_eq!(*script.limits.borrow(), [Limit::Memory], "{greedy}");
        assert_usable(&script);
    }
}

// spec: JS-4
#[test]
fn a_huge_string_or_array_is_refused_at_once() {
    let script = small();
    for huge in ["'x'.repeat(1 << 29)", "new Uint8Array(1 << 30)", "new Array(1e7).fill(1)"] {
        let result = script.runtime.eval(huge, "x.js");
        assert!(matches!(result, Err(Error::Limit(Limit::Memory) | Error::Exception(_))), "{huge}");
    }
    assert_usable(&script);
}

// spec: JS-4
#[test]
fn deep_recursion_is_an_exception_that_can_be_caught() {
    let script = Script::new();
    script.more(
        "function deep(n) { return 1 + deep(n + 1); }
         try { deep(0); } catch (error) { console.log(error instanceof RangeError, error.name); }
         const nested = '['.repeat(100000) + ']'.repeat(100000);
         try { JSON.parse(nested); console.log('parsed'); } catch (error) { console.log('refused'); }",
    );
    assert!(script.said().starts_with("true RangeError"), "{}", script.said());
    assert_usable(&script);
}

// spec: JS-4
#[test]
fn the_time_of_one_callback_is_not_counted_for_the_next() {
    // More together than one may take, and each so much less that a busy machine makes none late.
    let time = Duration::from_secs(2);
    let script = Script::with(|options| options.callback_time(time), Limits::default());
    script.more(
        "const until = (ms) => { const end = performance.now() + ms; while (performance.now() < end); };
         for (let n = 0; n < 6; n++) setImmediate(() => { until(400); console.log(n); });",
    );
    assert_eq!(script.said(), "0 1 2 3 4 5");
    assert!(script.limits.borrow().is_empty());
}

// spec: JS-4
#[test]
fn without_a_hook_a_limit_ends_the_script_with_a_message() {
    let event_loop = common::event_loop();
    let err = mainspring_quickjs::Output::buffer();
    let options = mainspring_quickjs::Options::new().callback_time(TIME).stderr(err.clone());
    let script = mainspring_quickjs::Runtime::new(event_loop.cx(), options).unwrap();
    script.eval("setImmediate(() => { for (;;); }); setTimeout(() => 0, 1e6)", "x.js").unwrap();
    assert_eq!(script.run(&event_loop).unwrap(), 1);
    assert!(err.text().contains("longer than 50ms"), "{}", err.text());
}

// spec: JS-4
#[test]
fn a_limit_that_the_engine_cannot_live_with_is_refused() {
    let event_loop = common::event_loop();
    let limits = Limits { memory: Some(1), stack: None };
    let options = mainspring_quickjs::Options::new();
    let refused = mainspring_quickjs::Runtime::with_limits(event_loop.cx(), options, limits);
    assert!(matches!(refused, Err(Error::TooLittleMemory)));
}
