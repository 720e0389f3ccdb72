//! The command line: what is run, with which arguments, and what is said about mistakes.

mod common;

use common::{Scratch, command, finish, run, run_with_input};

// spec: BX-5
#[test]
fn help_says_what_there_is() {
    for flag in ["--help", "-h", "help"] {
        let help = run([flag]);
        assert_eq!((help.code, help.stderr.as_str()), (0, ""));
        for word in [
            "run",
            "eval",
            "top",
            "--stats",
            "--trace",
            "--inspect",
            "--max-memory",
            "--max-callback-time",
            "--max-stack",
            "--virtual-time",
            "--strict-node",
            "--html-timers",
            "Exit codes",
        ] {
            assert!(help.stdout.contains(word), "{flag}: {word} is missing in\n{}", help.stdout);
        }
        assert!(help.stdout.lines().all(|line| line.len() <= 100), "{}", help.stdout);
    }
    assert!(run(["run", "--help"]).stdout.contains("FILE"));
}

// spec: BX-5
#[test]
fn the_version_names_the_engine() {
    let version = run(["--version"]);
    assert_eq!(version.code, 0);
    assert!(version.stdout.starts_with(concat!(
        "mainspring ",
        env!("CARGO_PKG_VERSION"),
        " (quickjs-ng "
    )));
}

// spec: BX-5
#[test]
fn mistakes_are_explained() {
    for (line, word) in [
        (&["--bogus"][..], "unexpected argument '--bogus'"),
        (&["--sats"], "--stats"),
        (&["run"], "<FILE>"),
        (&["eval"], "<CODE>"),
        (&["--max-memory", "lots", "x.js"], "64M, 1G or 512K"),
        (&["--max-memory", "1K", "x.js"], "at least"),
        (&["--max-callback-time", "soon", "x.js"], "500ms or 2s"),
        (&["--inspect", "nowhere", "x.js"], "127.0.0.1:9230"),
    ] {
        let mistake = run(line);
        assert_eq!((mistake.code, mistake.stdout.as_str()), (2, ""), "{line:?}");
        assert!(mistake.stderr.contains(word), "{line:?}: {}", mistake.stderr);
    }
}

// spec: BX-5
#[test]
fn a_file_is_run_by_its_name_alone_too() {
    let scratch = Scratch::new("file");
    let file =
        scratch.file("app.js", "console.log(process.argv.slice(1).join('|'), typeof require)");
    let path = file.display().to_string();
    let expected = format!("{path}|--stats|-x|run function\n");
    for line in [&["run", &path][..], &[&path]] {
        let ran = run(line.iter().copied().chain(["--stats", "-x", "run"]));
        assert_eq!((ran.code, &ran.stdout, ran.stderr.as_str()), (0, &expected, ""));
    }
    // Relative to the current directory.
    let ran = finish(command(["run", "app.js"]).current_dir(scratch.path()));
    assert_eq!(ran.stdout, format!("{path} function\n"));
}

// spec: BX-5, JS-3
#[test]
fn a_file_that_is_missing_is_an_error_as_in_node() {
    let scratch = Scratch::new("missing");
    let missing = finish(command(["run", "nope.js"]).current_dir(scratch.path()));
    assert_eq!((missing.code, missing.stdout.as_str()), (1, ""));
    let path = scratch.path().join("nope.js");
    for part in [
        &format!("Error: Cannot find module '{}'", path.display()),
        "code: 'MODULE_NOT_FOUND'",
        "There is no such file: check its name.",
    ] {
        assert!(missing.stderr.contains(part), "{part}: {}", missing.stderr);
    }
}

// spec: BX-5
#[test]
fn code_is_evaluated() {
    for (line, stdout) in [
        (&["eval", "console.log(1 + 1)"][..], "2\n"),
        (&["-e", "console.log(1 + 1)"], "2\n"),
        (&["eval", "--print", "[1, { a: 2 }]"], "[ 1, { a: 2 } ]\n"),
        (&["-p", "'text'"], "text\n"),
        (&["-p", "await Promise.resolve(7)"], "7\n"),
        (&["-p", "process.argv.slice(1)", "a", "-b"], "[ 'a', '-b' ]\n"),
        (&["eval", "console.log(process.argv.slice(1))", "a", "--stats"], "[ 'a', '--stats' ]\n"),
        (&["-p", "require('node:path').join('a', '..', 'b')"], "b\n"),
        (&["-p", "path.sep + __filename + typeof module"], "/[eval]object\n"),
        (&["-p", "(await import('node:path')).sep"], "/\n"),
        (&["-p", "(await import('node:path')).sep; var await_ = 1; await_"], "1\n"),
        (&["-p", "var await = 3; await"], "3\n"),
        (&["eval", "-1"], ""),
    ] {
        let evaluated = run(line);
        assert_eq!(
            (evaluated.code, evaluated.stdout.as_str(), evaluated.stderr.as_str()),
            (0, stdout, ""),
            "{line:?}"
        );
    }
}

// spec: BX-5
#[test]
fn errors_in_code_show_where_they_are() {
    let thrown = run(["eval", "1;\n  throw new Error('boom')"]);
    assert_eq!(thrown.code, 1);
    let start = "[eval]:2\n  throw new Error('boom')\n  ^\n\nError: boom\n    at ";
    assert!(thrown.stderr.starts_with(start), "{}", thrown.stderr);
    assert!(!thrown.stderr.contains("mainspring:internal"), "{}", thrown.stderr);
    let import = run(["eval", "import x from 'y'"]);
    assert_eq!(import.code, 1);
    assert!(import.stderr.contains("Cannot use import statement outside a module"));
}

// spec: BX-5
#[test]
fn a_script_comes_through_a_pipe() {
    let code = "console.log(process.argv.slice(1), __filename)";
    assert_eq!(run_with_input(&[], code).stdout, "[] [stdin]\n");
    assert_eq!(run_with_input(&["-", "a"], code).stdout, "[ '-', 'a' ] [stdin]\n");
    assert_eq!(run_with_input(&["run", "-", "a"], code).stdout, "[ '-', 'a' ] [stdin]\n");
    assert_eq!(run_with_input(&[], "#!/usr/bin/env mainspring\nconsole.log(1)").stdout, "1\n");
}

// spec: BX-5
#[test]
fn a_script_knows_what_the_command_was_told() {
    let code = "console.log(process.execArgv, mainspring.options.virtualTime)";
    assert_eq!(run(["--virtual-time", "eval", code]).stdout, "[ '--virtual-time' ] true\n");
    let code = "console.log(process.execPath === process.argv[0], mainspring.version)";
    let expected = concat!("true ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(run(["eval", code]).stdout, expected);
}

// spec: JS-3
#[test]
fn what_is_not_there_says_so() {
    // Scripts that look before they use it find nothing.
    for name in ["fetch", "WebAssembly", "ReadableStream"] {
        assert_eq!(
            run(["-p", &format!("typeof {name} + ('{name}' in globalThis)")]).stdout,
            "undefinedfalse\n"
        );
        let used = run(["eval", &format!("new {name}()")]);
        assert_eq!(used.code, 1);
        assert!(used.stderr.contains(&format!("ReferenceError: {name} is not defined")));
        assert!(used.stderr.contains(&format!("{name} is not part of this runtime")));
    }
    for code in ["require('stream')", "require('node:http')", "await import('node:zlib')"] {
        let used = run(["eval", code]);
        assert_eq!(used.code, 1);
        assert!(used.stderr.contains("is not part of this runtime"), "{}", used.stderr);
    }
    let misspelt = run(["eval", "fech()"]);
    assert!(!misspelt.stderr.contains("not part of"), "{}", misspelt.stderr);
}
