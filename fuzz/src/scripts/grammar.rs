//! The grammar. Every script ends by itself: callbacks are written where they are used, and intervals count.

use std::fmt::Write as _;

use crate::source::Source;

/// What a script writes if something is out of order.
pub(super) const ALARM: &str = "OUT OF ORDER";
/// What it writes when the loop has nothing more to do, and at its end, before its exit code.
pub(super) const EMPTY: &str = "NOTHING IS LEFT";
pub(super) const END: &str = "ENDS WITH";

/// Statements of a script, and how deep they are inside of each other.
const STATEMENTS: usize = 30;
const DEPTH: usize = 4;

/// What is queued is noted, and whatever runs looks at the notes: whether it is its turn, and whether something is left
/// that should have run before. Where a tick comes in is known only for those of callbacks that are noted themselves.
/// After an exception that a handler takes, what is queued waits until one more callback has run, as in Node.
const PRELUDE: &str = r#"
let phase = "macro", isDoomed = false, isOver = false, isTorn = false, seq = 0;
const ticks = [], micros = [], immediates = [], timers = new Set();
const log = (...values) => console.log(...values);
const alarm = (...values) => log("OUT OF ORDER", ...values);
const within = (kind, name, f, isPlain) => {
  if (isDoomed || isOver) alarm(name, "runs after the end");
  if (kind === "macro") {
    if (!isTorn && ticks.length + micros.length > 0) alarm(name, "finds", ticks, micros);
    isTorn = false;
  }
  log(name, performance.now());
  phase = kind;
  try {
    return f();
  } catch (e) {
    if (isPlain && process.listenerCount("uncaughtException") === 0) isDoomed = true;
    if (kind !== "micro") isTorn = true;
    throw e;
  } finally {
    phase = "none";
  }
};
const shift = (queue, it) => {
  if (queue[0] !== it) alarm(it, "before", queue);
  remove(queue, it);
};
const remove = (queue, it) => {
  const at = queue.indexOf(it);
  if (at >= 0) queue.splice(at, 1);
};
const tick = (name, f) => {
  const it = { name, seq: seq++, isUrgent: phase === "macro" || phase === "tick", isInner: phase === "micro" };
  ticks.push(it);
  process.nextTick(() => {
    shift(ticks, it);
    if (it.isInner && micros.some((other) => other.seq < it.seq)) alarm(name, "before", micros);
    return within("tick", name, f, true);
  });
};
const soon = (name, f, how = queueMicrotask) => {
  const it = { name, seq: seq++ };
  micros.push(it);
  how(() => {
    shift(micros, it);
    if (ticks.some((other) => other.isUrgent)) alarm(name, "before", ticks);
    return within("micro", name, f, how === queueMicrotask);
  });
};
const settled = (f) => void Promise.resolve().then(f);
const immediate = (name, f) => {
  const it = { name };
  immediates.push(it);
  it.handle = setImmediate(() => {
    shift(immediates, it);
    return within("macro", name, f, true);
  });
  return it;
};
const drop = (it) => {
  remove(immediates, it);
  clearImmediate(it.handle);
};
const arm = (it) => {
  it.at = performance.now() + it.delay;
  it.seq = seq++;
  timers.add(it);
};
const fire = (it) => {
  if (!timers.delete(it)) alarm(it.name, "is not set");
  const now = performance.now();
  if (Math.abs(now - it.at) > 1e-3) alarm(it.name, "is due at", it.at, "and runs at", now);
  for (const other of timers) {
    const ahead = it.at - other.at;
    if (ahead > 1e-3 || (ahead > -1e-3 && other.seq < it.seq)) alarm(it.name, "before", other.name);
  }
};
const timer = (name, delay, f) => {
  const it = { name, delay: delay >= 1 && delay < 2 ** 31 ? delay : 1, hasRef: true };
  it.handle = setTimeout(() => { fire(it); return within("macro", name, f, true); }, delay);
  arm(it);
  return it;
};
const interval = (name, delay, times, f) => {
  const it = { name, delay: delay >= 1 && delay < 2 ** 31 ? delay : 1, hasRef: true };
  it.handle = setInterval(() => {
    fire(it);
    if (--times <= 0) clearInterval(it.handle);
    try {
      return within("macro", name, f, true);
    } finally {
      if (times > 0) arm(it);
    }
  }, delay);
  arm(it);
};
const clear = (it, how = clearTimeout) => { timers.delete(it); how(it.handle); };
const unref = (it) => { it.hasRef = false; it.handle.unref(); };
const ref = (it) => { it.hasRef = true; it.handle.ref(); };
const refresh = (it) => { arm(it); it.handle.refresh(); };
process.on("beforeExit", () => {
  if (ticks.length + micros.length + immediates.length > 0) alarm("left", ticks, micros, immediates);
  for (const it of timers) if (it.hasRef) alarm("left", it.name);
  log("NOTHING IS LEFT");
});
process.on("exit", (code) => {
  isOver = true;
  log("ENDS WITH", code);
});
"#;

const STRINGS: [&str; 20] = [
    r#""""#,
    r#""abc""#,
    r#""\u00e4\ud83d\ude00""#,
    r#""\ud800""#,
    r#""\0""#,
    r#""http://user:pw@example.com:80/a/../b?c=d&e#f""#,
    r#""//x""#,
    r#""http://[::1]:8080/%zz""#,
    r#""file:///C:/..""#,
    r#""data:text/plain,x""#,
    r#""utf-8""#,
    r#""utf-16le""#,
    r#""windows-1252""#,
    r#""hex""#,
    r#""base64""#,
    r#""AAAA====""#,
    r#""%s %d %o %%""#,
    r#""__proto__""#,
    r#""constructor""#,
    r#""abort""#,
];

const NUMBERS: [&str; 14] = [
    "0", "-0", "1", "-1", "0.5", "4", "NaN", "Infinity", "2 ** 31", "2 ** 53", "1e21", "1n", "100",
    "86400000",
];

const DELAYS: [&str; 12] =
    ["0", "1", "1", "2", "5", "10", "1000", "3600000", "-1", "NaN", "undefined", "2 ** 31"];

/// A script.
pub(super) struct Script {
    pub(super) text: String,
    /// Whether it has a callback that has to be stopped.
    pub(super) is_endless: bool,
    /// Whether it takes all memory, so that any line of it may fail, those that check something as well.
    pub(super) is_greedy: bool,
}

impl Script {
    pub(super) fn new(source: &Source) -> Self {
        let mut writer = Writer {
            source,
            text: PRELUDE.to_owned(),
            left: STATEMENTS,
            names: 0,
            is_endless: false,
            is_greedy: false,
        };
        if source.below(2) == 0 {
            writer.text += "process.on('uncaughtException', (e) => log('uncaught', String(e)));\n";
        }
        if source.below(2) == 0 {
            writer.text +=
                "process.on('unhandledRejection', (e) => log('unhandled', String(e)));\n";
            writer.text += "process.on('rejectionHandled', () => log('handled'));\n";
        }
        writer.text += "try {\n";
        while !source.is_over() && writer.left > 0 {
            writer.statement(0);
        }
        writer.text += "} finally { phase = 'none'; }\n";
        source.tell(|| writer.text.clone());
        Self { text: writer.text, is_endless: writer.is_endless, is_greedy: writer.is_greedy }
    }
}

struct Writer<'a> {
    source: &'a Source,
    text: String,
    left: usize,
    names: usize,
    is_endless: bool,
    is_greedy: bool,
}

impl Writer<'_> {
    fn name(&mut self) -> usize {
        self.names += 1;
        self.names
    }

    fn string(&self) -> &'static str {
        self.source.pick::<&'static str>(&STRINGS)
    }

    fn delay(&self) -> &'static str {
        self.source.pick::<&'static str>(&DELAYS)
    }

    /// An expression without an effect.
    fn value(&mut self, depth: usize) -> String {
        let kinds = if depth >= 3 { 6 } else { 18 };
        match self.source.below(kinds) {
            0 => (*self.source.pick(&NUMBERS)).to_owned(),
            1 | 2 => self.string().to_owned(),
            3 => (*self.source.pick(&["null", "undefined", "true", "false"])).to_owned(),
            4 => format!("Symbol({})", self.string()),
            5 => "new Date(0)".to_owned(),
            6 => format!("[{}, {}]", self.value(depth + 1), self.value(depth + 1)),
            7 => {
                let (a, b) = (self.value(depth + 1), self.value(depth + 1));
                format!("{{ a: {a}, [{}]: {b} }}", self.string())
            }
            8 => format!("new Map([[{}, {}]])", self.value(depth + 1), self.value(depth + 1)),
            9 => format!("new Set([{}])", self.value(depth + 1)),
            10 => format!("new Error({})", self.string()),
            11 => format!("new Uint8Array([{}, 255, 128, 65])", self.source.below(256)),
            12 => format!("new Float64Array([{}])", self.source.pick(&NUMBERS[..8])),
            13 => "(() => { const o = { n: 1 }; o.o = o; return o; })()".to_owned(),
            14 => format!("/{}/gi", self.source.pick(&["a", "a*", "(?:)", "[^x]"])),
            15 => {
                format!("function f{}() {{}}", self.name()).replacen("function", "(function", 1)
                    + ")"
            }
            16 => "new AbortController().signal".to_owned(),
            _ => format!("new TextEncoder().encode({})", self.string()),
        }
    }

    /// An expression that may throw.
    fn risky(&mut self) -> String {
        match self.source.below(16) {
            0 => format!("structuredClone({})", self.value(0)),
            1 => format!("new URL({}, {})", self.string(), self.string()),
            2 => format!("new URL({}).searchParams.toString()", self.string()),
            3 => {
                let fatal = self.source.below(2) == 0;
                let (label, bytes) = (self.string(), self.value(2));
                format!("new TextDecoder({label}, {{ fatal: {fatal} }}).decode({bytes})")
            }
            4 => format!("atob({})", self.string()),
            5 => format!("btoa({})", self.string()),
            6 => format!(
                "Buffer.from({}, {}).toString({})",
                self.string(),
                self.string(),
                self.string()
            ),
            7 => format!(
                "require('util').inspect({}, {{ depth: {} }})",
                self.value(0),
                self.source.below(4)
            ),
            8 => format!(
                "require('util').format({}, {}, {})",
                self.string(),
                self.value(0),
                self.value(0)
            ),
            9 => format!("JSON.stringify({})", self.value(0)),
            10 => format!("AbortSignal.abort({}).throwIfAborted()", self.value(1)),
            11 => format!("require('path').resolve('/', {}, {})", self.string(), self.string()),
            12 => format!("require('querystring').parse({})", self.string()),
            13 => "(function f() { return f() + 1; })()".to_owned(),
            14 => format!("{}.repeat(2 ** 28)", self.string()),
            _ => format!("performance.measure({}, {})", self.string(), self.value(1)),
        }
    }

    /// A promise.
    fn promise(&mut self, depth: usize) -> String {
        match self.source.below(8) {
            0 => format!("Promise.resolve({})", self.value(1)),
            1 => format!("Promise.reject(new Error({}))", self.string()),
            2 => format!("new Promise((done) => setTimeout(done, {}))", self.delay()),
            3 => format!(
                "require('timers/promises').setTimeout({}, {})",
                self.delay(),
                self.value(2)
            ),
            4 => "new Promise(() => {})".to_owned(),
            5 if depth < DEPTH => {
                let how = *self.source.pick(&["all", "any", "race", "allSettled"]);
                format!("Promise.{how}([{}, {}])", self.promise(depth + 1), self.promise(depth + 1))
            }
            6 => "(async () => { await null; await undefined; })()".to_owned(),
            _ => format!("({{ then(f) {{ f({}); }} }})", self.value(1)),
        }
    }

    /// The body of a callback.
    fn block(&mut self, depth: usize) {
        self.text += "{\n";
        if depth < DEPTH {
            for _ in 0..self.source.below(4) {
                self.statement(depth + 1);
            }
        }
        self.text += "}";
    }

    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        self.text.write_fmt(text).expect("a string takes everything");
    }

    /// `before`, a block, and `after`.
    fn around(&mut self, before: &str, depth: usize, after: &str) {
        self.text += before;
        self.block(depth);
        self.text += after;
        self.text += "\n";
    }

    fn statement(&mut self, depth: usize) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        let n = self.name();
        match self.source.below(27) {
            0 => {
                let value = self.value(0);
                self.write(format_args!("log({n}, {value});\n"));
            }
            1..=3 => {
                let risky = self.risky();
                self.write(format_args!(
                    "try {{ log({n}, {risky}); }} catch (e) {{ log({n}, e?.name, e?.code); }}\n"
                ));
            }
            4 | 5 => {
                let before = format!("timer('timer {n}', {}, () => ", self.delay());
                self.around(&before, depth, ");");
            }
            6 => {
                let before = format!("const t{n} = timer('timer {n}', {}, () => ", self.delay());
                self.around(&before, depth, ");");
                let then = *self.source.pick(&[
                    "clear(t)",
                    "unref(t)",
                    "refresh(t)",
                    "soon('refresh', () => refresh(t))",
                    "immediate('clear', () => clear(t))",
                    "clear(t, (handle) => handle.close())",
                    "log(t.handle.hasRef())",
                    "clear(t, (handle) => clearInterval(String(Number(handle))))",
                    "unref(t); immediate('ref', () => timers.has(t) && ref(t))",
                    "immediate('refresh', () => refresh(t))",
                    "tick('clear', () => clear(t, clearInterval))",
                    "timer('clear', 1, () => clear(t))",
                ]);
                self.write(format_args!("{{ const t = t{n}; {then}; }}\n"));
            }
            7 => {
                let (delay, times) = (self.delay(), 1 + self.source.below(3));
                let before = format!("interval('interval {n}', {delay}, {times}, () => ");
                self.around(&before, depth, ");");
            }
            8 => self.around(&format!("immediate('immediate {n}', () => "), depth, ");"),
            9 => {
                let before = format!("const m{n} = immediate('immediate {n}', () => ");
                self.around(&before, depth, ");");
                let then = *self.source.pick(&[
                    "drop(m)",
                    "soon('drop', () => drop(m))",
                    "immediate('drop', () => drop(m))",
                    "m.handle.hasRef()",
                ]);
                self.write(format_args!("{{ const m = m{n}; {then}; }}\n"));
            }
            10 => self.around(&format!("tick('tick {n}', () => "), depth, ");"),
            11 => self.around(&format!("soon('microtask {n}', () => "), depth, ");"),
            12 => self.around(&format!("soon('reaction {n}', () => "), depth, ", settled);"),
            13 | 14 => {
                let promise = self.promise(0);
                let how = *self.source.pick(&["then", "catch", "finally"]);
                let before =
                    format!("Promise.resolve({promise}).{how}((v) => {{ log('{how} {n}', v); ");
                self.around(&before, depth, "});");
            }
            15 => {
                let promise = self.promise(0);
                let before = format!(
                    "(async () => {{ try {{ log('awaited {n}', await {promise}); }} \
                     catch (e) {{ log('caught {n}', String(e)); }} "
                );
                self.around(&before, depth, "})();");
            }
            16 => {
                let promise = self.promise(0);
                self.write(format_args!("const p{n} = {promise};\n"));
                let after = format!(", {});", self.delay());
                self.around(&format!("setTimeout(() => {{ p{n}.catch?.(() => log('late {n}')); }}, 1); setTimeout(() => "), depth, &after);
            }
            17 => {
                self.write(format_args!("const a{n} = new AbortController();\n"));
                let before = format!(
                    "a{n}.signal.addEventListener('abort', () => {{ log('abort {n}', a{n}.signal.reason); "
                );
                self.around(&before, depth, "});");
                let reason = self.value(2);
                let delay = self.delay();
                let how = match self.source.below(3) {
                    0 => format!("a{n}.abort({reason});\n"),
                    1 => format!("setTimeout(() => a{n}.abort(), {delay});\n"),
                    _ => format!(
                        "require('timers/promises').setTimeout({delay}, 1, {{ signal: a{n}.signal }}).catch((e) => log(e.name)); a{n}.abort();\n"
                    ),
                };
                self.text += &how;
            }
            18 => {
                let before = format!(
                    "AbortSignal.any([AbortSignal.timeout({}), AbortSignal.timeout(20)]).onabort = () => ",
                    self.source.below(50)
                );
                self.around(&before, depth, ";");
            }
            19 => {
                let before = format!(
                    "{{ const e = new EventTarget(); e.addEventListener('x', () => {{ log('event {n}'); "
                );
                self.around(&before, depth, "}, { once: true }); e.dispatchEvent(new Event('x')); e.dispatchEvent(new Event('x')); }");
            }
            20 => {
                let before = format!(
                    "{{ const e = new (require('events'))(); e.on('x', () => {{ log('emitted {n}'); "
                );
                self.around(&before, depth, "}); e.emit('x'); }");
            }
            21 => {
                let (how, value) = (
                    *self.source.pick(&[
                        "log", "error", "table", "dir", "group", "assert", "count", "trace",
                    ]),
                    self.value(0),
                );
                self.write(format_args!("console.{how}({value}); console.groupEnd();\n"));
            }
            22 if depth > 0 => {
                // What comes after it in a block is not reached, as anywhere.
                let value = self.value(1);
                self.write(format_args!("if (true) throw {value};\n"));
            }
            23 => {
                let code = self.source.below(4);
                let how = match self.source.below(4) {
                    0 => format!("process.exit({code}); alarm('it goes on')"),
                    1 => "process.once('beforeExit', () => setImmediate(() => log('once more')))"
                        .to_owned(),
                    2 => "process.on('exit', (code) => log('exit', code))".to_owned(),
                    _ => format!("process.exitCode = {code}"),
                };
                self.write(format_args!("{how};\n"));
            }
            24 => {
                let promise = self.promise(0);
                self.write(format_args!(
                    "queueMicrotask(async () => {{ for await (const v of [{promise}]) log('each {n}', v); }});\n"
                ));
            }
            25 if self.source.one_in(8) => {
                // By the engine's memory, which has a limit.
                self.is_greedy = true;
                self.write(format_args!("setTimeout(() => {{ const a = []; for (;;) a.push(new Array(10000).fill(a)); }}, 1);\n"));
            }
            26 if depth == 0 && self.source.one_in(16) => {
                self.is_endless = true;
                self.write(format_args!("for (;;) {{}}\n"));
            }
            _ => {
                let string = self.string();
                self.write(format_args!(
                    "performance.mark({string}); log({n}, performance.getEntries().length);\n"
                ));
            }
        }
    }
}
