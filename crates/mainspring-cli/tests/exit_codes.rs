//! How a process ends, and that everything is written by then.

mod common;

use common::{Scratch, command, finish, run};

// spec: JS-3, BX-5
#[test]
fn exit_codes_are_those_of_node() {
    for (code, expected) in [
        ("", 0),
        ("process.exit()", 0),
        ("process.exit(3)", 3),
        ("process.exitCode = 4", 4),
        ("setTimeout(() => process.exit(5), 1); setInterval(() => {}, 1)", 5),
        ("throw new Error('x')", 1),
        ("null.x", 1),
        ("syntax error", 1),
        ("Promise.reject(new Error('x')); setTimeout(() => process.exit(9), 1000)", 1),
        ("setTimeout(() => { throw 1 }, 1)", 1),
        ("process.on('uncaughtException', () => { throw 2 }); throw 1", 7),
        ("process.on('uncaughtException', () => {}); throw 1", 0),
        ("await new Promise(() => {})", 13),
        ("process.on('exit', () => { process.exitCode = 6 })", 6),
        ("process.on('exit', () => process.exit(8)); throw 1", 8),
        ("process.kill(process.pid, 'SIGTERM'); setTimeout(() => {}, 10000)", -15),
    ] {
        let ran = run(["eval", code]);
        assert_eq!(ran.code, expected, "{code}: {}", ran.stderr);
    }
}

// spec: JS-3
#[test]
fn a_module_that_waits_for_ever_ends_with_13() {
    let scratch = Scratch::new("unsettled");
    let file = scratch.file(
        "app.mjs",
        "console.log('before'); await new Promise(() => {}); console.log('after')",
    );
    let ran = run(["run", file.to_str().unwrap()]);
    assert_eq!((ran.code, ran.stdout.as_str()), (13, "before\n"));
}

// spec: JS-3
#[test]
fn an_interrupt_ends_the_process_by_the_signal() {
    let ran = run(["eval", "process.kill(process.pid, 'SIGINT'); setTimeout(() => {}, 10000)"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (-2, "", ""));
}

// spec: JS-3
#[test]
fn everything_is_written_before_the_end() {
    // More than a pipe holds, and a reader that is slower than the writer.
    for end in
        ["", "; process.exit(3)", "; throw 1", "; process.on('exit', () => console.log('last'))"]
    {
        let code = format!("for (let i = 0; i < 50000; i++) console.log('line ' + i){end}");
        let ran = run(["eval", &code]);
        let lines: Vec<_> = ran.stdout.lines().collect();
        assert_eq!(lines.len(), 50_000 + usize::from(end.contains("last")), "{end}");
        assert_eq!(lines[49_999], "line 49999", "{end}");
    }
}

// spec: JS-3
#[test]
fn a_reader_that_is_gone_does_not_end_the_script() {
    let mut command = command(["eval", "console.log('x'); console.log('y'); process.exitCode = 3"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let child = command.stdout(writer).stderr(std::process::Stdio::null()).spawn();
    let status = child.unwrap().wait().unwrap();
    assert_eq!(status.code(), Some(3));
    drop(finish(&mut common::command(["--version"])));
}

// spec: JS-3
#[test]
fn a_reader_of_errors_that_is_gone_changes_no_exit_code() {
    for (code, expected) in [
        ("throw new Error('x')", 1),
        ("Promise.reject(new Error('x'))", 1),
        ("process.on('exit', () => process.exitCode = 6); throw 1", 6),
        ("process.emitWarning('x'); setTimeout(() => process.exit(3), 5)", 3),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let child =
            command(["eval", code]).stdout(std::process::Stdio::null()).stderr(writer).spawn();
        assert_eq!(child.unwrap().wait().unwrap().code(), Some(expected), "{code}");
    }
}
