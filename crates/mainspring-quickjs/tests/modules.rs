//! What scripts may import, as an embedder sees it.

use std::cell::Cell;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use mainspring::EventLoop;
use mainspring_quickjs::{Global, Limits, Options, Output, Runtime};

/// A directory with files, which goes with the value.
struct Files(PathBuf);

impl Files {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let root = std::env::temp_dir().join(format!("mainspring-{name}-{}", std::process::id()));
        drop(std::fs::remove_dir_all(&root));
        std::fs::create_dir_all(&root).expect("a directory");
        for (file, text) in files {
            std::fs::write(root.join(file), text).expect("a file");
        }
        Self(root)
    }

    fn path(&self, file: &str) -> PathBuf {
        self.0.join(file)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn event_loop() -> EventLoop {
    EventLoop::builder().microtask_budget(None).build().expect("a loop")
}

/// What a file prints, and its exit code.
fn run(files: &Files, file: &str, options: Options) -> (String, i32) {
    let event_loop = event_loop();
    let output = Output::buffer();
    let script = Runtime::new(event_loop.cx(), options.stdout(output.clone())).expect("an engine");
    script.start_file(&files.path(file));
    let code = script.run(&event_loop).expect("it runs to its end");
    (output.text(), code)
}

/// What a script of the global scope prints.
fn eval(source: &str, options: Options) -> String {
    let event_loop = event_loop();
    let output = Output::buffer();
    let script = Runtime::new(event_loop.cx(), options.stdout(output.clone())).expect("an engine");
    script.eval(source, "[embedded]").expect("it is evaluated");
    script.run(&event_loop).expect("it runs to its end");
    output.text()
}

const TRY: &str =
    "const attempt = (name) => import(name).then(() => 'ok', (error) => error.code ?? 'no');";

// spec: JS-3
#[test]
fn a_file_may_be_a_module_or_a_script() {
    let files = Files::new(
        "kinds",
        &[
            ("a.mjs", "import { b } from './b.cjs'; console.log(b, await 1)"),
            ("b.cjs", "exports.b = require('./c.json').c"),
            ("c.json", "{\"c\": \"from json\"}"),
        ],
    );
    assert_eq!(run(&files, "a.mjs", Options::new()), ("from json 1\n".into(), 0));
    assert_eq!(run(&files, "b.cjs", Options::new()), (String::new(), 0));
}

// spec: JS-3
#[test]
fn a_module_that_waits_for_ever_ends_with_13() {
    let files =
        Files::new("unsettled", &[("a.mjs", "console.log(1); await new Promise(() => {})")]);
    assert_eq!(run(&files, "a.mjs", Options::new()), ("1\n".into(), 13));
}

// spec: JS-4
#[test]
fn only_what_was_granted_can_be_imported() {
    let files = Files::new("granted", &[("a.mjs", "")]);
    let file = files.path("a.mjs").to_string_lossy().into_owned();
    let source = format!(
        "{TRY} (async () => {{ for (const name of ['fs', 'node:net', 'events', 'internal/errors', '{file}']) \
         console.log(await attempt(name)) }})()"
    );
    let all = eval(&source, Options::new());
    assert_eq!(all, "ok\nok\nok\nERR_MODULE_NOT_FOUND\nok\n");
    let some = eval(&source, Options::new().without([Global::Fs, Global::Net]));
    assert_eq!(
        some,
        "ERR_UNKNOWN_BUILTIN_MODULE\nERR_UNKNOWN_BUILTIN_MODULE\nok\nERR_MODULE_NOT_FOUND\nok\n"
    );
    let none = eval(&source, Options::new().without([Global::Modules]));
    assert_eq!(none, "no\nno\nno\nno\nno\n");
}

// spec: JS-4
#[test]
fn a_file_without_leave_can_be_run_but_not_load_others() {
    let files = Files::new(
        "alone",
        &[
            ("a.cjs", "try { require('./b.cjs') } catch (error) { console.log(error.code) }"),
            ("b.cjs", ""),
        ],
    );
    let options = Options::new().without([Global::Modules]);
    assert_eq!(run(&files, "a.cjs", options), ("ERR_ACCESS_DENIED\n".into(), 0));
}

// A module that fails must not leave the others of its cycle with something that is gone.
#[test]
fn modules_of_a_cycle_survive_one_that_fails() {
    let files = Files::new(
        "broken-cycle",
        &[
            (
                "main.mjs",
                "for (let i = 0; i < 3; i++) for (const name of ['a', 'b', 'c', 'd'])
                   await import(`./${name}.mjs`).catch((error) => console.log(name, error.name, error.code));
                 console.log((await import('./good.mjs')).good)",
            ),
            ("a.mjs", "import './b.mjs'; import './gone.mjs'"),
            ("b.mjs", "import * as a from './a.mjs'; import './good.mjs'; export { a }"),
            ("c.mjs", "import './d.mjs'; import './e.mjs'"),
            ("d.mjs", "import * as c from './c.mjs'; export { c }"),
            ("e.mjs", "this is no code"),
            ("good.mjs", "export const good = 'good'"),
        ],
    );
    let (text, code) = run(&files, "main.mjs", Options::new());
    let count = |name: &str| text.matches(name).count();
    assert_eq!(count("SyntaxError") + count("ERR_MODULE_NOT_FOUND"), 12, "{text}");
    assert!(text.ends_with("\ngood\n"), "{text}");
    assert_eq!(code, 0);
}

#[test]
fn a_long_chain_of_imports_is_loaded_or_refused() {
    let files = Files::new("chain", &[]);
    for index in 0..3000 {
        let next = index + 1;
        let text = format!("import './m{next}.mjs'");
        std::fs::write(files.path(&format!("m{index}.mjs")), text).expect("a file");
    }
    std::fs::write(files.path("m3000.mjs"), "console.log('last')").expect("a file");
    let main = "import('./m0.mjs').catch((error) => console.log(error.name))";
    std::fs::write(files.path("main.cjs"), main).expect("a file");
    let (text, code) = run(&files, "main.cjs", Options::new());
    assert!(text == "last\n" || text == "RangeError\n", "{text}");
    assert_eq!(code, 0);
}

// spec: JS-4
#[test]
fn a_module_that_needs_too_much_memory_is_stopped() {
    let files = Files::new(
        "memory",
        &[("big.mjs", "(() => { const all = []; for (;;) all.push('x'.repeat(999)) })()")],
    );
    let event_loop = event_loop();
    let limits = Limits { memory: Some(16 << 20), ..Limits::default() };
    let options = Options::new().on_limit(|_, _| {}).on_uncaught(|_, _| {});
    let script = Runtime::with_limits(event_loop.cx(), options, limits).expect("an engine");
    script.start_file(&files.path("big.mjs"));
    script.run(&event_loop).expect("it runs to its end");
    assert_eq!(script.with(|ctx| ctx.eval::<i32, _>("1 + 1")).ok(), Some(2));
}

// spec: JS-4
#[test]
fn a_module_that_runs_for_too_long_is_stopped() {
    let files = Files::new("endless", &[("endless.mjs", "for (;;);")]);
    let event_loop = event_loop();
    let limits = Rc::new(Cell::new(0));
    let count = Rc::clone(&limits);
    let options = Options::new()
        .callback_time(Duration::from_millis(20))
        .on_limit(move |_, _| count.set(count.get() + 1))
        .on_uncaught(|_, _| {});
    let script = Runtime::new(event_loop.cx(), options).expect("an engine");
    script.start_file(&files.path("endless.mjs"));
    script.run(&event_loop).expect("it runs to its end");
    assert_eq!(limits.get(), 1);
    assert_eq!(script.with(|ctx| ctx.eval::<i32, _>("1 + 1")).ok(), Some(2));
}
