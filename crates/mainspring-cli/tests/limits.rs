//! Scripts that go too far end by themselves, and say why.

mod common;

use common::run;

const TOO_LONG: &str = "mainspring: a callback of the script ran for longer than 100ms";
const TOO_MUCH: &str =
    "mainspring: the script is out of memory: it may use 16.0 MiB (--max-memory)";

// spec: JS-4
#[test]
fn a_callback_that_takes_too_long_ends_the_script() {
    for code in [
        // Loops.
        "for (;;) {}",
        "setTimeout(() => { for (;;) {} }, 1)",
        "setImmediate(() => { for (;;) {} })",
        "await null; for (;;) {}",
        "try { for (;;) {} } catch { console.log('caught') } finally { console.log('finally') }",
        "process.on('exit', () => { for (;;) {} })",
        "process.on('uncaughtException', () => { for (;;) {} }); throw 1",
        "const f = () => { try { f() } finally { f() } }; f()",
        // Floods.
        "const f = () => Promise.resolve().then(f); f()",
        "const f = () => queueMicrotask(f); f()",
        "const f = () => process.nextTick(f); f()",
        "(async () => { for (;;) await null })()",
        "process.on('unhandledRejection', () => Promise.reject(1)); Promise.reject(1)",
        // Regular expressions.
        "/(a+)+b/.test('a'.repeat(40))",
        "/^(([a-z])+.)+[A-Z]([a-z])+$/.test('a'.repeat(40))",
        "'a'.repeat(40).replace(/(a|a)*b/, '')",
    ] {
        let ran = run(["--max-callback-time", "100", "eval", code]);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{code}: {}", ran.stderr);
        assert!(ran.stderr.starts_with(TOO_LONG), "{code}: {}", ran.stderr);
    }
}

// spec: JS-4
#[test]
fn a_function_of_the_engine_that_takes_too_long_ends_the_process() {
    let ran = run(["--max-callback-time", "100", "eval", "Array(2 ** 32 - 1).join('')"]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.starts_with(TOO_LONG), "{}", ran.stderr);
    assert!(ran.stderr.contains("within a function of the engine"), "{}", ran.stderr);
}

// spec: JS-4
#[test]
fn callbacks_within_their_time_go_on() {
    // Each one is short, all of them together are not.
    let code = "let n = 0; const t = setInterval(() => { const end = performance.now() + 5; \
                while (performance.now() < end); if (++n === 40) { clearInterval(t); console.log('done') } }, 1)";
    let ran = run(["--max-callback-time", "150", "eval", code]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "done\n", ""));
}

// spec: JS-4
#[test]
fn a_script_that_needs_too_much_memory_ends() {
    for code in [
        "const all = []; for (;;) all.push(new Array(1000).fill(1))",
        "const all = []; for (;;) all.push('x'.repeat(1000) + all.length)",
        "const all = new Map(); for (let i = 0; ; i++) all.set(i, { i })",
        "let f = () => {}; for (;;) { const g = f; f = () => g }",
        "'x'.repeat(2 ** 29)",
        "'x'.padStart(2 ** 29, 'abc')",
        "new Uint8Array(2 ** 30)",
        "new ArrayBuffer(2 ** 30)",
        "new Array(2 ** 32 - 1).fill(0)",
        "Array.from({ length: 2 ** 31 }, () => ({}))",
        "[...'x'.repeat(1e7)]",
        "JSON.stringify(Array(1e7))",
        "const all = []; const f = () => { all.push('x'.repeat(999) + all.length); queueMicrotask(f) }; f()",
        "const all = []; setInterval(() => all.push(new Uint8Array(2 ** 20)), 0)",
    ] {
        let ran = run(["--max-memory", "16M", "eval", code]);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{code}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().next(), Some(TOO_MUCH), "{code}");
    }
}

// spec: JS-4
#[test]
fn a_script_may_deal_with_the_end_of_its_memory() {
    let code = "let all = []; try { for (;;) all.push(new Array(1000).fill(1)) } catch { all = undefined } \
                console.log('goes on')";
    let ran = run(["--max-memory", "16M", "eval", code]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "goes on\n", ""));
}

// spec: JS-4
#[test]
fn recursion_that_is_too_deep_is_a_range_error() {
    for code in [
        "const f = () => f(); f()",
        "const f = () => [1].map(f); f()",
        "class A { get x() { return this.x } } new A().x",
        "new Proxy({}, { get: (_, k, self) => self[k] }).x",
        "const o = { toString: () => `${o}` }; `${o}`",
        "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; JSON.stringify(a)",
        "const a = []; a[0] = a; a.flat(Infinity)",
        "JSON.parse('['.repeat(1e6))",
        "eval('('.repeat(1e6))",
    ] {
        for stack in ["256K", "4M"] {
            let ran = run(["--max-stack", stack, "eval", code]);
            assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{code}: {}", ran.stderr);
            let expected = "RangeError: Maximum call stack size exceeded";
            assert!(ran.stderr.contains(expected), "{code}: {}", ran.stderr);
        }
    }
    let caught =
        run(["eval", "const f = () => f(); try { f() } catch (e) { console.log(e.name) }"]);
    assert_eq!((caught.code, caught.stdout.as_str()), (0, "RangeError\n"));
}

// spec: JS-4
#[test]
fn the_stack_can_be_larger_or_smaller() {
    let depth = |options: &[&str]| -> u32 {
        let code = "let n = 0; const f = () => { n++; f() }; try { f() } catch {} console.log(n)";
        let ran = run(options.iter().copied().chain(["eval", code]));
        ran.stdout.trim().parse().unwrap()
    };
    let (small, large) = (depth(&["--max-stack", "256K"]), depth(&["--max-stack", "4M"]));
    assert!(small > 50 && large > 8 * small, "{small} {large}");
    assert!(depth(&[]) > large);
    let ran = run(["--max-stack", "1000G", "eval", "1"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("ulimit -s"), "{}", ran.stderr);
}
