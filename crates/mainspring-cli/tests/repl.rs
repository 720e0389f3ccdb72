//! What a person types, through a terminal.

mod common;

use std::io::Read;
use std::path::Path;

use common::Scratch;
use common::terminal::Terminal;

impl Terminal {
    fn open(state: &Path, options: &[&str]) -> Self {
        let mut terminal = Self::start((200, 40), plain, |command| {
            let command = command.args(options).env("XDG_STATE_HOME", state);
            command.env("TERM", "xterm").env("NO_COLOR", "1")
        });
        terminal.expect("Type \".help\" for more information.\n> ");
        terminal
    }

    /// Types a line, and gives what comes of it.
    fn enter(&mut self, line: &str) -> String {
        self.press(line);
        self.expect(line);
        self.press("\r");
        self.expect("\n");
        self.expect("\n> ")
    }

    /// Waits for the end of the process, and gives its code.
    fn end(mut self) -> i32 {
        let mut rest = Vec::new();
        // It ends with an error, because the other side of a terminal is gone.
        let _ = self.master.read_to_end(&mut rest);
        self.child.wait().unwrap().code().unwrap()
    }
}

/// Without sequences that move the cursor or choose colours.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\x1b' => {
                chars.next();
                chars.by_ref().find(char::is_ascii_alphabetic);
            }
            '\r' => {}
            c => plain.push(c),
        }
    }
    plain
}

// spec: BX-5
#[test]
fn values_are_shown_and_kept() {
    let scratch = Scratch::new("repl-values");
    let mut terminal = Terminal::open(scratch.path(), &[]);
    assert_eq!(terminal.enter("1 + 1"), "2");
    assert_eq!(terminal.enter("_ * 21"), "42");
    assert_eq!(terminal.enter("const a = [1, 'x']; let b = 2"), "undefined");
    assert_eq!(terminal.enter("a"), "[ 1, 'x' ]");
    assert_eq!(terminal.enter("{ a: b, c: { d: b } }"), "{ a: 2, c: { d: 2 } }");
    assert_eq!(terminal.enter("class P { x = 1 }; new P()"), "P { x: 1 }");
    assert_eq!(terminal.enter("typeof require + path.sep + typeof fetch"), "'function/undefined'");
    assert_eq!(terminal.enter("Promise.resolve(1).then(console.log); 0"), "0\n1");
    assert_eq!(terminal.enter("var π = 3; `${π}`"), "'3'");
    terminal.press("\r");
    terminal.expect("\n> ");
    terminal.press("\x04");
    assert_eq!(terminal.end(), 0);
}

// spec: BX-5
#[test]
fn errors_are_shown_and_nothing_ends() {
    let scratch = Scratch::new("repl-errors");
    let mut terminal = Terminal::open(scratch.path(), &[]);
    let thrown = terminal.enter("throw new TypeError('boom')");
    assert!(thrown.starts_with("Uncaught TypeError: boom\n    at "), "{thrown}");
    assert!(!thrown.contains("mainspring:internal"), "{thrown}");
    assert_eq!(terminal.enter("_error.message"), "'boom'");
    assert_eq!(terminal.enter("throw 'text'"), "Uncaught 'text'");
    assert!(terminal.enter("a b").starts_with("a b\n  ^\n\nUncaught SyntaxError: "));
    assert!(terminal.enter("fetch()").contains("fetch is not part of this runtime"));
    assert!(
        terminal
            .enter("await Promise.reject(new Error('later'))")
            .starts_with("Uncaught Error: later")
    );
    assert!(
        terminal.enter("Promise.reject(new Error('lost')); 0").contains("0\nUncaught Error: lost")
    );
    assert!(terminal.enter("setTimeout(() => { throw new Error('timer') }, 0); await new Promise((r) => setTimeout(r, 5))")
        .contains("Uncaught Error: timer"));
    assert!(terminal.enter(".nonsense").contains("no command .nonsense"));
    assert_eq!(terminal.enter("1"), "1");
    assert!(terminal.enter(".help").contains(".load"));
    terminal.press(".exit\r");
    assert_eq!(terminal.end(), 0);
}

// spec: BX-5
#[test]
fn what_is_incomplete_goes_on() {
    let scratch = Scratch::new("repl-lines");
    let mut terminal = Terminal::open(scratch.path(), &[]);
    for (lines, value) in [
        (&["function f() {", "  return 42", "}; f()"][..], "42"),
        (&["[1,", "2", "].length"], "2"),
        (&["{ a: 1,", "b: { c: [", "] } }"], "{ a: 1, b: { c: [] } }"),
        (&["`one", "two`"], "'one\\ntwo'"),
        (&["/* a", "comment */ 5"], "5"),
        (&["await Promise.resolve(", "6)"], "6"),
        (&["if (true)", "  7"], "7"),
        (&["'a\\", "b'"], "'ab'"),
        (&["[1, 2, 3]"], "[ 1, 2, 3 ]"),
    ] {
        let (last, first) = lines.split_last().unwrap();
        for line in first {
            terminal.press(line);
            terminal.expect(line);
            terminal.press("\r");
            terminal.expect(&format!("{line}\n"));
        }
        assert_eq!(terminal.enter(last), value, "{lines:?}");
    }
    // What is wrong is not taken for incomplete.
    assert!(terminal.enter("foo(1 2").contains("SyntaxError"));
    assert!(terminal.enter("'abc").contains("SyntaxError"));
    // Ctrl-C abandons what was begun.
    terminal.press("function g() {\r");
    terminal.expect("function g() {\n");
    terminal.press("\x03");
    terminal.expect("Ctrl-D");
    terminal.expect("\n> ");
    assert_eq!(terminal.enter("typeof g"), "'undefined'");
    terminal.press("\x04");
    assert_eq!(terminal.end(), 0);
}

// spec: BX-5
#[test]
fn top_level_await_declares_globals() {
    let scratch = Scratch::new("repl-await");
    let mut terminal = Terminal::open(scratch.path(), &[]);
    assert_eq!(
        terminal.enter("const x = await new Promise((r) => setTimeout(r, 5, 'waited')); x"),
        "'waited'"
    );
    assert_eq!(terminal.enter("x"), "'waited'");
    assert_eq!(terminal.enter("const { sep } = await import('node:path')"), "undefined");
    assert_eq!(terminal.enter("sep"), "'/'");
    assert_eq!(terminal.enter("for (const n of [1, 2]) await n"), "2");
    terminal.press("\x04");
    assert_eq!(terminal.end(), 0);
}

// spec: BX-5
#[test]
fn the_loop_runs_while_a_line_is_typed() {
    let scratch = Scratch::new("repl-loop");
    let mut terminal = Terminal::open(scratch.path(), &[]);
    terminal.enter("let n = 0; const t = setInterval(() => console.log(`beat ${++n}`), 5); 0");
    // The line that is half typed stands below what the timer says.
    terminal.press("n >");
    terminal.expect("n >");
    terminal.expect("beat");
    terminal.expect("\n> n >");
    terminal.press("= 3; clearInterval(t)\r");
    terminal.expect("undefined\n> ");
    terminal.press("\x04");
    assert_eq!(terminal.end(), 0);
}

// spec: BX-5
#[test]
fn ctrl_c_stops_what_runs() {
    let scratch = Scratch::new("repl-interrupt");
    let mut terminal = Terminal::open(scratch.path(), &[]);
    let interrupted = "interrupted by `SIGINT`\n> ";
    // The terminal makes a signal of the key, once the line editor has let go of it.
    for line in [
        "console.log('runs'); for (;;) {}",
        "console.log('runs'); await new Promise(() => {})",
        "console.log('runs'); await null; for (;;) {}",
        "console.log('runs'); /(a+)+b/.test('a'.repeat(50))",
    ] {
        terminal.press(line);
        terminal.press("\r");
        terminal.expect("\nruns\n");
        terminal.press("\x03");
        terminal.expect(interrupted);
        assert_eq!(terminal.enter("'goes on'"), "'goes on'");
    }
    // A callback that runs while a line is typed.
    terminal.press("setTimeout(() => { console.log('spins'); for (;;) {} }, 0)\r");
    terminal.expect("spins\n");
    terminal.press("\x03");
    terminal.expect("interrupted by `SIGINT`");
    terminal.expect("> ");
    assert_eq!(terminal.enter("'goes on'"), "'goes on'");
    // Twice leaves.
    terminal.press("\x03");
    terminal.expect("press Ctrl-C again");
    terminal.expect("\n> ");
    terminal.press("\x03");
    assert_eq!(terminal.end(), 0);
}

// spec: BX-5
#[test]
fn names_are_completed() {
    let scratch = Scratch::new("repl-completion");
    let mut terminal = Terminal::open(scratch.path(), &[]);
    terminal.enter("let ran = 0; const mine = { alpha: 1, beta: { gamma: 2 }, get bad() { ran++; return {} } }");
    for (typed, completed) in [
        ("queueMicro\t.name", "'queueMicrotask'"),
        ("process.hrt\t.name", "'hrtime'"),
        ("mine.al\t", "1"),
        ("min\t.beta.ga\t", "2"),
        ("mine?.beta.ga\t", "2"),
        ("'x' + mine.beta.ga\t", "'x2'"),
        ("typ\t mine", "'object'"),
    ] {
        terminal.press(typed);
        terminal.press("\r");
        terminal.expect("\n");
        assert_eq!(terminal.expect("\n> "), completed, "{typed}");
    }
    // All that fit are listed.
    terminal.press("Array.prototype.find\t\t");
    let listed = terminal.expect("findLastIndex");
    assert!(listed.contains("findIndex") && listed.contains("findLast"), "{listed}");
    terminal.press("\x15");
    // What would run something of the person's is left alone.
    terminal.press("mine.bad.x\t\x15ran\r");
    terminal.expect("\n0\n> ");
    terminal.press(".he\t\r");
    terminal.expect(".editor");
    terminal.expect("\n> ");
    terminal.press("\x04");
    assert_eq!(terminal.end(), 0);
}

// spec: BX-5
#[test]
fn lines_are_remembered_for_another_day() {
    let scratch = Scratch::new("repl-history");
    let mut terminal = Terminal::open(scratch.path(), &[]);
    assert_eq!(terminal.enter("'first ' + 1"), "'first 1'");
    assert_eq!(terminal.enter("'second ' + 2"), "'second 2'");
    terminal.press("\x1b[A\x1b[A\r");
    terminal.expect("\n'first 1'\n> ");
    terminal.press("[3,\r4]\r");
    terminal.expect("\n[ 3, 4 ]\n> ");
    // Also if the script ends the process.
    terminal.press("process.exit(5)\r");
    assert_eq!(terminal.end(), 5);

    let history = scratch.path().join("mainspring/history");
    assert!(std::fs::read_to_string(&history).unwrap().contains("second"));
    let mut terminal = Terminal::open(scratch.path(), &[]);
    terminal.press("\x1b[A\x1b[A\r");
    terminal.expect("\n[ 3, 4 ]\n> ");
    terminal.press("\x12second\r");
    terminal.expect("\n'second 2'\n> ");
    terminal.press("\x04");
    assert_eq!(terminal.end(), 0);
}

// spec: BX-5
#[test]
fn files_and_many_lines_can_be_entered() {
    let scratch = Scratch::new("repl-load");
    let file =
        scratch.file("code.js", "const loaded = 1;\nfunction twice(x) {\n  return 2 * x;\n}\n");
    let mut terminal = Terminal::open(scratch.path(), &[]);
    assert_eq!(terminal.enter(&format!(".load {}", file.display())), "undefined");
    assert_eq!(terminal.enter("twice(loaded)"), "2");
    assert!(terminal.enter(".load /no/such.js").contains("cannot be loaded"));
    terminal.press(".editor\r");
    terminal.expect("abandons.\n... ");
    for line in ["const many =", "  [1, 2];", "many.length"] {
        terminal.press(line);
        terminal.expect(line);
        terminal.press("\r");
        terminal.expect("\n... ");
    }
    terminal.press("\x04");
    terminal.expect("\n2\n> ");
    terminal.press("\x04");
    assert_eq!(terminal.end(), 0);
}

// spec: BX-5, JS-4
#[test]
fn limits_hold_and_nothing_ends() {
    let scratch = Scratch::new("repl-limits");
    let mut terminal =
        Terminal::open(scratch.path(), &["--max-callback-time", "100", "--max-memory", "16M"]);
    assert!(terminal.enter("for (;;) {}").contains("ran for longer than 100ms"));
    assert!(terminal.enter("'x'.repeat(2 ** 29)").contains("out of memory"));
    assert_eq!(terminal.enter("'goes on'"), "'goes on'");
    terminal.press("\x04");
    assert_eq!(terminal.end(), 0);
}
