//! An engine inside a program: who holds what, which globals there are, and one order for Rust and scripts.

mod common;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use common::{Script, event_loop};
use mainspring::{EventLoop, LocalPromise, PanicPolicy, VirtualClock};
use mainspring_quickjs::{Error, Global, Limits, Options, Output, Runtime, install};
use rquickjs::function::Func;

// spec: JS-3, MT-1, MT-6
#[test]
fn callbacks_run_in_the_order_of_node() {
    let script = Script::new();
    let code = script.run(
        "setTimeout(() => console.log('timer'), 1);
         setImmediate(() => console.log('immediate'));
         process.nextTick(() => { console.log('tick'); Promise.resolve().then(() => console.log('last job')); });
         queueMicrotask(() => { console.log('job'); process.nextTick(() => console.log('late tick')); });
         console.log('script');",
    );
    assert_eq!(code, 0);
    let said = script.said();
    assert!(said.starts_with("script tick job last job late tick"), "{said}");
}

// spec: JS-3, MT-1
#[test]
fn there_is_a_checkpoint_after_each_callback_of_any_kind() {
    let script = Script::new();
    script.run(
        "for (const name of ['a', 'b']) setImmediate(() => {
           console.log(name);
           Promise.resolve().then(() => console.log(name + ' job'));
           process.nextTick(() => console.log(name + ' tick'));
         });",
    );
    assert_eq!(script.said(), "a a tick a job b b tick b job");
}

// spec: JS-3, MT-1, PR-1
#[test]
fn jobs_of_the_engine_and_microtasks_of_rust_have_one_order() {
    let script = Script::new();
    let cx = script.event_loop.cx().clone();
    let out = script.out.clone();
    let rust = move |what: String| {
        let out = out.clone();
        cx.queue_microtask(move |_| out.write(format!("{what}\n").as_bytes()).unwrap());
    };
    script.runtime.with(|ctx| ctx.globals().set("rust", Func::from(rust))).unwrap();
    script.more(
        "rust('r1');
         queueMicrotask(() => { console.log('j1'); rust('r3'); queueMicrotask(() => console.log('j3')); rust('r4'); });
         rust('r2');
         queueMicrotask(() => console.log('j2'));",
    );
    assert_eq!(script.said(), "r1 j1 r2 j2 r3 j3 r4");
}

// spec: PR-2, PR-4, JS-3
#[test]
fn promises_of_the_loop_take_their_turn_among_those_of_the_engine() {
    let script = Script::new();
    script.more(
        "const { resolved, deferred } = mainspring.promise;
         resolved('a').then(console.log);
         Promise.resolve('b').then(console.log);
         const { promise, resolve } = deferred();
         promise.then((value) => { console.log(value); return 'e'; }).then(console.log);
         resolve({ then(done) { done('d'); } });
         Promise.resolve('c').then(console.log);",
    );
    assert_eq!(script.said(), "a b c d e");
}

// spec: JS-3
#[test]
fn an_engine_of_the_embedder_is_given_the_globals_that_were_chosen() {
    let engine = rquickjs::Runtime::new().unwrap();
    let context = rquickjs::Context::full(&engine).unwrap();
    let event_loop = event_loop();
    let output = Output::buffer();
    let options = Options::new().only([Global::Timers, Global::Console]).stdout(output.clone());
    let script = install(&context, event_loop.cx(), options).unwrap();
    context
        .with(|ctx| {
            ctx.eval::<(), _>(
                "console.log(['setTimeout', 'queueMicrotask', 'process', 'require', 'URL', 'AbortController',
                   'Buffer', 'crypto', 'structuredClone', 'TextEncoder', 'mainspring', 'Event']
                   .map((name) => typeof globalThis[name]).join());
                 Promise.resolve().then(() => console.log('job'));
                 setTimeout(() => console.log('timer'), 1);",
            )
        })
        .unwrap();
    event_loop.run_until_idle().unwrap();
    let absent = ",undefined".repeat(10);
    assert_eq!(output.text(), format!("function,function{absent}\njob\ntimer\n"));
    drop(script);
}

// spec: MX-5, JS-3
#[test]
fn what_the_embedder_keeps_the_loop_alive_by_is_listed_too() {
    for is_observed in [false, true] {
        let event_loop =
            EventLoop::builder().microtask_budget(None).metrics(is_observed).build().unwrap();
        let options = Options::new().stdout(Output::buffer());
        let script = Runtime::new(event_loop.cx(), options).unwrap();
        script.eval("setTimeout(() => {}, 1e6); setImmediate(() => {})", "app.js").unwrap();
        let own = ["1 timer", "1 immediate"];
        assert_eq!(script.host().why_alive(), own);

        let timer = event_loop.cx().set_timeout(Duration::from_secs(60), |_| ()).unwrap();
        event_loop.cx().submit(|_| ()).unwrap();
        let guard = event_loop.handle().keep_alive();
        let why = script.host().why_alive();
        assert_eq!((&why[..2], why.len()), (&own.map(String::from)[..], 5), "{why:?}");
        assert!(why[2].starts_with("a timer due in ") && why[2].contains("embed"), "{why:?}");
        assert!(why[3].starts_with("a guard"), "{why:?}");
        assert_eq!(why[4], "one entry in the queue `external`");
        drop(guard);
        event_loop.cx().clear_timeout(timer);
    }
}

// spec: JS-3
#[test]
fn several_engines_on_several_loops_know_nothing_of_each_other() {
    let threads = [1, 2, 3].map(|n| {
        std::thread::spawn(move || {
            let script = Script::new();
            script.more(&format!("globalThis.n = {n}; setTimeout(() => console.log(n), {n})"));
            script.said()
        })
    });
    let said = threads.map(|thread| thread.join().unwrap());
    assert_eq!(said, ["1", "2", "3"]);
}

// spec: JS-3
#[test]
fn several_engines_live_on_one_loop() {
    let event_loop = event_loop();
    let output = Output::buffer();
    let scripts = ["a", "b"].map(|name| {
        let options = Options::new().stdout(output.clone());
        let script = Runtime::new(event_loop.cx(), options).unwrap();
        script.eval(&format!("globalThis.name = '{name}'"), "name.js").unwrap();
        script
    });
    for script in &scripts {
        script.eval("setImmediate(() => { console.log(name); Promise.resolve().then(() => console.log(name + '!')); })", "x.js").unwrap();
    }
    event_loop.run_until_idle().unwrap();
    assert_eq!(output.text(), "a\na!\nb\nb!\n");
}

// spec: JS-3
#[test]
fn a_script_that_exits_ends_alone() {
    let event_loop = event_loop();
    let output = Output::buffer();
    let codes = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&codes);
    let options =
        Options::new().stdout(output.clone()).on_exit(move |_, code| seen.borrow_mut().push(code));
    let ending = Runtime::new(event_loop.cx(), options).unwrap();
    let staying = Runtime::new(event_loop.cx(), Options::new().stdout(output.clone())).unwrap();
    ending
        .eval(
            "setInterval(() => console.log('never'), 1e6);
             setImmediate(() => {
               try { process.exit(3); } catch { console.log('caught'); } finally { console.log('finally'); }
             });
             process.on('exit', (code) => console.log('exit', code));",
            "ending.js",
        )
        .unwrap();
    staying.eval("setImmediate(() => setImmediate(() => console.log('stays')))", "x.js").unwrap();
    event_loop.run_until_idle().unwrap();
    assert_eq!(output.text(), "exit 3\nstays\n");
    assert_eq!(*codes.borrow(), [3]);
    assert_eq!(ending.host().exit_code(), Some(3));
    assert_eq!(ending.run(&event_loop).unwrap(), 3);
    assert!(matches!(ending.eval("process.exit(4)", "x.js"), Err(Error::Exited(3))));
}

/// Has a listener of this process end, behind the back of the script that has it. The address is a port's, or a path.
fn end_listener(address: String) {
    use std::mem::ManuallyDrop;
    use std::net::TcpListener;
    use std::os::fd::FromRawFd;
    use std::os::unix::net::UnixListener;

    for fd in 3..1024 {
        // SAFETY: they are asked for their addresses only, and not closed; a number that is no socket's gives an error.
        let (tcp, unix) = unsafe { (TcpListener::from_raw_fd(fd), UnixListener::from_raw_fd(fd)) };
        let (tcp, unix) = (ManuallyDrop::new(tcp), ManuallyDrop::new(unix));
        if tcp.local_addr().is_ok_and(|its| its.to_string() == address)
            || unix.local_addr().is_ok_and(|its| its.as_pathname() == Some(address.as_ref()))
        {
            // SAFETY: no memory is involved.
            unsafe { libc::shutdown(fd, libc::SHUT_RDWR) };
        }
    }
}

/// A loop, and a server on it that can accept nothing from now on. Each time that it says so is a line.
fn server_that_has_ended(clock: &VirtualClock, at: &str) -> (EventLoop, Runtime, Output) {
    let event_loop = EventLoop::builder().microtask_budget(None).clock(clock).build().unwrap();
    let output = Output::buffer();
    let options = Options::new().stdout(output.clone());
    let script = Runtime::new(event_loop.cx(), options).unwrap();
    script.enter("main", |ctx, require| {
        ctx.globals().set("endListener", Func::from(end_listener))?;
        ctx.globals().set("net", require.call::<_, rquickjs::Object>(("net",))?)
    });
    let source = "var server = net.createServer();
                  server.on('error', ({ message, syscall }) => console.log(message, syscall));
                  const name = (address) => address.port ? `127.0.0.1:${address.port}` : address;
                  const onListening = () => endListener(name(server.address()));";
    script.eval(source, "server.js").unwrap();
    script.eval(&format!("server.listen({at}, onListening)"), "listen.js").unwrap();
    (event_loop, script, output)
}

fn turn_ten_times(event_loop: &EventLoop) {
    for _ in 0..10 {
        event_loop.turn(Duration::ZERO).unwrap();
    }
}

// spec: JS-3
#[test]
fn a_server_that_cannot_accept_says_so_now_and_then() {
    let clock = VirtualClock::new();
    let (event_loop, _script, output) = server_that_has_ended(&clock, "0, '127.0.0.1'");
    for time in 1..=3 {
        turn_ten_times(&event_loop);
        assert_eq!(output.text(), "accept EINVAL accept\n".repeat(time));
        clock.advance(Duration::from_millis(50));
    }
}

// spec: JS-3
#[test]
fn a_server_that_is_ready_and_has_nobody_to_accept_does_not_spin() {
    let clock = VirtualClock::new();
    let path = std::env::temp_dir().join(format!("mainspring-embed-{}", std::process::id()));
    let at = format!("{:?}", path.to_str().unwrap());
    let (event_loop, _script, output) = server_that_has_ended(&clock, &at);
    for _ in 0..3 {
        for _ in 0..4 {
            turn_ten_times(&event_loop);
        }
        let turn = event_loop.turn(Duration::ZERO).unwrap();
        assert_eq!(turn.callbacks, 0, "it pauses");
        clock.advance(Duration::from_millis(50));
        assert_ne!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 0, "it tries again");
    }
    assert_eq!(output.text(), "");
}

// spec: JS-3
#[test]
fn a_server_that_cannot_accept_keeps_alive_what_it_did_before() {
    let clock = VirtualClock::new();
    let (event_loop, script, output) = server_that_has_ended(&clock, "0, '127.0.0.1'");
    turn_ten_times(&event_loop);
    assert_eq!(output.text(), "accept EINVAL accept\n");
    for (call, is_alive) in [("ref", true), ("unref", false), ("ref", true), ("close", false)] {
        script.eval(&format!("server.{call}()"), "call.js").unwrap();
        turn_ten_times(&event_loop);
        assert_eq!(event_loop.cx().is_alive(), is_alive, "after {call}");
    }
    assert_eq!(output.text(), "accept EINVAL accept\n", "all of it was in one pause");

    let (event_loop, script, output) = server_that_has_ended(&clock, "0, '127.0.0.1'");
    turn_ten_times(&event_loop);
    script.eval("server.unref()", "call.js").unwrap();
    for time in 2..=3 {
        clock.advance(Duration::from_millis(50));
        turn_ten_times(&event_loop);
        assert_eq!(output.text(), "accept EINVAL accept\n".repeat(time));
        assert!(!event_loop.cx().is_alive(), "nor in a later pause");
    }
}

// spec: JS-3
#[test]
fn a_script_that_ends_while_its_server_pauses_leaves_nothing() {
    let clock = VirtualClock::new();
    let (event_loop, script, _output) = server_that_has_ended(&clock, "0, '127.0.0.1'");
    turn_ten_times(&event_loop);
    assert!(event_loop.cx().is_alive(), "because of the server");
    drop(script);
    turn_ten_times(&event_loop);
    assert!(!event_loop.cx().is_alive());
}

// spec: JS-3, FA-1
#[test]
fn the_embedder_is_told_of_what_the_script_does_not_handle() {
    let told = Rc::new(RefCell::new(Vec::new()));
    let seen = Rc::clone(&told);
    let script = Script::with(
        |options| {
            options.on_uncaught(move |_, uncaught| {
                let first = uncaught.text.lines().next().unwrap_or_default().to_string();
                seen.borrow_mut().push(format!("{}: {first}", uncaught.origin.name()));
            })
        },
        Limits::default(),
    );
    script.more(
        "setImmediate(() => { throw new TypeError('thrown'); });
         setImmediate(() => console.log('goes on'));
         queueMicrotask(() => { throw new Error('in a job'); });
         Promise.reject(new RangeError('rejected'));",
    );
    assert_eq!(
        *told.borrow(),
        [
            "uncaughtException: Error: in a job",
            "unhandledRejection: RangeError: rejected",
            "uncaughtException: TypeError: thrown",
        ]
    );
    assert_eq!(script.said(), "goes on");
    assert_eq!(script.err.text(), "");
}

// spec: JS-3
#[test]
fn without_anyone_to_tell_an_exception_is_printed_and_ends_the_script() {
    let script = Script::new();
    let code = script.run(
        "setImmediate(() => { throw new Error('boom'); }); setImmediate(() => console.log('never'));",
    );
    assert_eq!(code, 1);
    assert_eq!(script.out.text(), "");
    assert!(script.err.text().contains("Error: boom\n    at"), "{}", script.err.text());
}

// spec: JS-3
#[test]
fn a_runtime_that_is_dropped_leaves_the_loop_usable() {
    let event_loop = event_loop();
    let output = Output::buffer();
    let script = Runtime::new(event_loop.cx(), Options::new().stdout(output.clone())).unwrap();
    script
        .eval("setTimeout(() => console.log('still'), 1); Promise.resolve().then(() => 0)", "x.js")
        .unwrap();
    drop(script);
    let ran = Rc::new(RefCell::new(false));
    let seen = Rc::clone(&ran);
    event_loop.cx().set_immediate(move |_| _ = seen.replace(true));
    event_loop.run_until_idle().unwrap();
    assert!(*ran.borrow());
}

// spec: SD-6
#[test]
fn the_loop_may_end_before_the_engine_and_the_engine_before_the_loop() {
    for engine_first in [false, true] {
        let event_loop = event_loop();
        let script = Runtime::new(event_loop.cx(), Options::new()).unwrap();
        script
            .eval(
                "setTimeout(() => 0, 1e6); setImmediate(() => 0); process.nextTick(() => 0);
                 queueMicrotask(() => 0); mainspring.promise.deferred().promise.then(() => 0);
                 import('node:fs').then(({ readFile }) => readFile('Cargo.toml', () => 0));",
                "x.js",
            )
            .unwrap();
        event_loop.run_microtasks().unwrap();
        if engine_first {
            drop(script);
            drop(event_loop);
        } else {
            drop(event_loop);
            assert!(script.eval("setTimeout(() => 0, 1)", "x.js").is_err());
            drop(script);
        }
    }
}

#[test]
fn an_engine_is_usable_after_a_panic_in_a_function_of_the_host() {
    let event_loop = EventLoop::builder().panic_policy(PanicPolicy::Isolate).build().unwrap();
    let script = Runtime::new(event_loop.cx(), Options::new()).unwrap();
    script
        .with(|ctx| ctx.globals().set("fail", Func::from(|| -> () { panic!("expected") })))
        .unwrap();
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        script.eval("try { fail() } catch {}", "x.js").is_err()
    }));
    // The engine lets it through, or makes an exception of it; either way it is usable afterwards.
    drop(caught);
    script.eval("globalThis.after = 1", "x.js").unwrap();
}

// spec: PR-4
#[test]
fn a_promise_of_rust_is_awaited_by_a_script() {
    let script = Script::new();
    let (promise, resolver) = LocalPromise::<i32>::with_resolvers(script.event_loop.cx());
    script.more(
        "globalThis.wait = new Promise((resolve) => { globalThis.done = resolve; });
         (async () => console.log(await wait))();",
    );
    let runtime = Rc::new(script.runtime);
    let same = Rc::clone(&runtime);
    promise.then(move |_, value| {
        same.with(|ctx| {
            ctx.globals().get::<_, rquickjs::Function>("done")?.call::<_, ()>((value,))
        })
        .unwrap();
    });
    resolver.resolve(7);
    script.event_loop.run_until_idle().unwrap();
    assert_eq!(script.out.text(), "7\n");
}
