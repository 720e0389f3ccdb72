//! The process, the clock and the output.

use std::io::{self, IsTerminal};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mainspring::{Latency, Metrics, Phase, Queue};

use super::{Args, Op};
use crate::options::Global;
use crate::{Host, OpError, Value};

pub(super) const OPS: &[(&str, Op)] = &[
    ("write", write),
    ("isTTY", is_tty),
    ("now", |host, _| Ok(host.cx().performance().now().into())),
    ("timeOrigin", |host, _| Ok(host.cx().performance().time_origin().into())),
    ("hrtime", hrtime),
    ("wallTime", wall_time),
    ("argv", |host, _| Ok(strings(&host.options().args))),
    ("execArgv", |host, _| Ok(strings(&host.options().exec_args))),
    ("execPath", |_, _| {
        Ok(std::env::current_exe().map_or_else(|_| "mainspring".into(), path).into())
    }),
    ("env", env),
    ("cwd", |_, _| std::env::current_dir().map(|cwd| path(cwd).into()).map_err(uv("uv_cwd"))),
    ("chdir", chdir),
    ("pid", |_, _| Ok(std::process::id().into())),
    ("ppid", |_, _| Ok(parent().into())),
    ("platform", |_, _| Ok(platform().into())),
    ("arch", |_, _| Ok(arch().into())),
    ("uptime", |host, _| Ok((host.cx().performance().now() / 1e3).into())),
    ("options", options),
    ("stats", stats),
    ("loopMetrics", |host, _| {
        Ok(host.cx().metrics().as_ref().map_or(Value::Undefined, loop_metrics))
    }),
    ("whyAlive", |host, _| Ok(strings(&host.why_alive()))),
    ("setExitCode", set_exit_code),
];

fn write(host: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    let fd = args.number(0)?;
    let output = if fd == 2.0 { host.stderr() } else { host.stdout() };
    let result = match args.take(1) {
        Value::String(text) => output.write(text.as_bytes()),
        Value::Bytes(bytes) => output.write(&bytes),
        other => return Err(super::unexpected(1, "a string or bytes", &other)),
    };
    result.map(|()| Value::Undefined).map_err(uv("write"))
}

fn is_tty(host: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    Ok(match args.number(0)? {
        0.0 => io::stdin().is_terminal(),
        1.0 => host.stdout().is_terminal(),
        _ => host.stderr().is_terminal(),
    }
    .into())
}

/// `setExitCode(code)`: what the script ends with if nothing is left to do.
fn set_exit_code(host: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    host.0.code.set(args.number(0)? as i32);
    Ok(Value::Undefined)
}

fn hrtime(host: &Host, _: Args<'_>) -> Result<Value, OpError> {
    // Since an arbitrary time in the past, which is before the loop's origin, so that it is never 0.
    let ns = host.cx().performance().now() * 1e6;
    #[expect(clippy::cast_possible_truncation, reason = "292 years")]
    Ok(Value::BigInt(1_000_000_000 + ns as i64))
}

fn wall_time(host: &Host, _: Args<'_>) -> Result<Value, OpError> {
    if host.options().virtual_time {
        let performance = host.cx().performance();
        return Ok((performance.time_origin() + performance.now()).into());
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok((since.as_secs_f64() * 1e3).into())
}

fn env(host: &Host, _: Args<'_>) -> Result<Value, OpError> {
    Ok(match &host.options().env {
        Some(env) => {
            Value::object(env.iter().map(|(key, value)| (key.clone(), value.as_str().into())))
        }
        None => Value::object(std::env::vars_os().map(|(key, value)| {
            (key.to_string_lossy().into_owned(), value.to_string_lossy().into_owned().into())
        })),
    })
}

fn chdir(_: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    let to = args.string(0)?;
    std::env::set_current_dir(&to).map(|()| Value::Undefined).map_err(|error| {
        let from = std::env::current_dir().unwrap_or_default();
        super::errno::system_error(&error, "chdir", &[&from, to.as_ref()])
    })
}

#[cfg(unix)]
fn parent() -> u32 {
    std::os::unix::process::parent_id()
}

#[cfg(not(unix))]
fn parent() -> u32 {
    0
}

/// The system, as Node calls it.
fn platform() -> &'static str {
    match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    }
}

/// The processor, as Node calls it.
fn arch() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "x64",
        "x86" => "ia32",
        "aarch64" => "arm64",
        other => other,
    }
}

fn options(host: &Host, _: Args<'_>) -> Result<Value, OpError> {
    let options = host.options();
    let globals =
        Global::ALL.iter().map(|&global| (global.name(), Value::Bool(options.has(global))));
    Ok(Value::object([
        ("globals", Value::object(globals)),
        ("htmlTimers", options.html_timers.into()),
        ("strictNode", options.strict_node.into()),
        ("virtualTime", options.virtual_time.into()),
        ("reportsUncaught", options.reports_uncaught().into()),
        ("callbackTime", options.callback_time.map(|limit| limit.as_secs_f64() * 1e3).into()),
    ]))
}

fn stats(host: &Host, _: Args<'_>) -> Result<Value, OpError> {
    let stats = host.stats();
    Ok(Value::object([
        ("timers", count(stats.timers)),
        ("immediates", count(stats.immediates)),
        ("tickPasses", count(stats.tick_passes)),
        ("jobs", count(stats.jobs)),
        ("callbacks", count(stats.callbacks)),
    ]))
}

/// What the loop knows of itself: times in milliseconds.
fn loop_metrics(metrics: &Metrics) -> Value {
    let phase = |phase: Phase| {
        let metrics = metrics.phase(phase);
        let value = [("time", millis(metrics.time)), ("callbacks", count(metrics.callbacks))];
        (camel_case(&phase.to_string()), Value::object(value))
    };
    let queue = |queue: Queue| {
        let metrics = metrics.queue(queue);
        let value = [
            ("current", count(metrics.current)),
            ("max", count(metrics.max)),
            ("average", metrics.average.into()),
            ("wait", latency(&metrics.wait)),
        ];
        (camel_case(&queue.to_string()), Value::object(value))
    };
    Value::object([
        ("uptime", millis(metrics.uptime)),
        ("ticks", count(metrics.ticks)),
        ("callbacks", count(metrics.callbacks)),
        ("throughput", metrics.throughput.into()),
        ("utilisation", metrics.utilisation().into()),
        ("busy", millis(metrics.busy)),
        ("idle", millis(metrics.idle)),
        ("tick", latency(&metrics.tick)),
        ("run", latency(&metrics.run)),
        ("lateness", latency(&metrics.lateness)),
        ("timers", count(metrics.timers)),
        ("fds", count(metrics.fds)),
        ("futures", count(metrics.futures)),
        ("jobs", count(metrics.jobs)),
        ("wakesIssued", count(metrics.wakes_issued)),
        ("wakesElided", count(metrics.wakes_elided)),
        ("budgetBreaches", count(metrics.budget_breaches)),
        ("overloads", count(metrics.overloads)),
        ("refusals", count(metrics.refusals)),
        ("panics", count(metrics.panics)),
        ("stalls", count(metrics.stalls)),
        ("phases", Value::object(Phase::ALL.iter().copied().map(phase))),
        ("queues", Value::object(Queue::ALL.iter().copied().map(queue))),
    ])
}

fn latency(latency: &Latency) -> Value {
    Value::object([
        ("count", count(latency.count)),
        ("mean", millis(latency.mean)),
        ("max", millis(latency.max)),
        ("p50", millis(latency.p50)),
        ("p90", millis(latency.p90)),
        ("p95", millis(latency.p95)),
        ("p99", millis(latency.p99)),
    ])
}

fn millis(time: Duration) -> Value {
    (time.as_secs_f64() * 1e3).into()
}

#[expect(clippy::cast_precision_loss, reason = "counts")]
fn count(count: u64) -> Value {
    Value::Number(count as f64)
}

/// `next ticks` as `nextTicks`, `i/o` as `io`.
fn camel_case(name: &str) -> String {
    let mut words = name.split(' ');
    let first = words.next().unwrap_or_default().replace('/', "");
    words.fold(first, |name, word| {
        let (initial, rest) = word.split_at(word.len().min(1));
        name + &initial.to_ascii_uppercase() + rest
    })
}

fn strings(list: &[String]) -> Value {
    Value::Array(list.iter().map(|text| text.as_str().into()).collect())
}

fn path(path: std::path::PathBuf) -> String {
    path.to_string_lossy().into_owned()
}

/// An error of the system, with what was tried.
fn uv(syscall: &'static str) -> impl Fn(std::io::Error) -> OpError {
    move |error| super::errno::system_error(&error, syscall, &[])
}
