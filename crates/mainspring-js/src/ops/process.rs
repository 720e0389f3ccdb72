//! The process, as only the module `process` needs it.

use std::io;

use mainspring::{Signals, Watch};
use rustix::fs::Mode;
use rustix::process::{self, Pid, Signal};

use super::errno::{self, system_error};
use super::{Args, Op};
use crate::{Host, OpError, Value};

pub(super) const OPS: &[(&str, Op)] = &[
    ("abort", |_, _| std::process::abort()),
    ("cpuUsage", cpu_usage),
    ("kill", kill),
    ("rss", |_, _| Ok(resident().into())),
    ("signals", signals),
    ("umask", umask),
    ("userIds", user_ids),
    ("watchSignal", watch_signal),
    ("windowSize", window_size),
];

/// `cpuUsage()`: how long the process has used a processor, itself and by calls of the system, in microseconds.
fn cpu_usage(_: &Host, _: Args<'_>) -> Result<Value, OpError> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the place is one for this structure, which is valid with zeros, too, if the call fails.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let micros =
        |time: libc::timeval| Value::Number(time.tv_sec as f64 * 1e6 + time.tv_usec as f64);
    Ok(Value::Array(vec![micros(usage.ru_utime), micros(usage.ru_stime)]))
}

/// `kill(pid, signal)`, where 0 as the signal only asks whether it could be sent.
fn kill(_: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    let (pid, signal) = (args.number(0)? as i32, args.number(1)? as i32);
    send(pid, signal).map(|()| Value::Undefined).map_err(|error| {
        let number = error.raw_os_error().unwrap_or(libc::EINVAL);
        let (name, _) = errno::describe(number);
        OpError::new("Error", format!("kill {name}"))
            .with("errno", f64::from(-number))
            .with("code", name)
            .with("syscall", "kill")
    })
}

fn send(pid: i32, signal: i32) -> io::Result<()> {
    let signal = match signal {
        0 => None,
        number => Some(Signal::from_named_raw(number).ok_or(rustix::io::Errno::INVAL)?),
    };
    // A negative number is that of a group, and 0 is the own one.
    match (Pid::from_raw(pid.saturating_abs()), signal) {
        (Some(process), Some(signal)) if pid > 0 => process::kill_process(process, signal),
        (Some(process), None) if pid > 0 => process::test_kill_process(process),
        (Some(group), Some(signal)) => process::kill_process_group(group, signal),
        (Some(group), None) => process::test_kill_process_group(group),
        (None, Some(signal)) => process::kill_current_process_group(signal),
        (None, None) => process::test_kill_current_process_group(),
    }?;
    Ok(())
}

macro_rules! numbers {
    ($($name:ident)*) => { [$((stringify!($name), f64::from(libc::$name).into())),*] };
}

/// `signals()`: their numbers by their names.
fn signals(_: &Host, _: Args<'_>) -> Result<Value, OpError> {
    let numbers: [(_, Value); 30] = numbers! {
        SIGHUP SIGINT SIGQUIT SIGILL SIGTRAP SIGABRT SIGIOT SIGBUS SIGFPE SIGKILL SIGUSR1 SIGSEGV SIGUSR2
        SIGPIPE SIGALRM SIGTERM SIGCHLD SIGCONT SIGSTOP SIGTSTP SIGTTIN SIGTTOU SIGURG SIGXCPU SIGXFSZ
        SIGVTALRM SIGPROF SIGWINCH SIGIO SIGSYS
    };
    Ok(Value::object(numbers))
}

/// How much memory the process has, in bytes. 0 if that is not known.
fn resident() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0.0);
    pages * rustix::param::page_size() as f64
}

/// `umask(mask)`: sets it, if it is given. The one before.
fn umask(_: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    let new = match args.take(0) {
        Value::Number(mask) => Some(Mode::from_bits_truncate(mask as u32)),
        _ => None,
    };
    // It can only be read by setting it.
    let old = process::umask(new.unwrap_or(Mode::empty()));
    if new.is_none() {
        process::umask(old);
    }
    Ok(f64::from(old.bits()).into())
}

/// `userIds()`: the real and effective ids of the user, then of the group.
fn user_ids(_: &Host, _: Args<'_>) -> Result<Value, OpError> {
    let ids = [
        process::getuid().as_raw(),
        process::geteuid().as_raw(),
        process::getgid().as_raw(),
        process::getegid().as_raw(),
    ];
    Ok(Value::Array(ids.map(|id| f64::from(id).into()).into()))
}

/// `watchSignal(number, callback)`: has it called when the signal comes. That keeps nothing alive.
fn watch_signal(host: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    let number = args.number(0)? as i32;
    let callback = args.callback(1)?;
    let refused = |error| system_error(&error, "uv_signal_start", &[]);
    let signals =
        Signals::new([number]).map_err(|_| refused(io::Error::from_raw_os_error(libc::EINVAL)))?;
    let watch = Watch::new().read(move |cx, signals: &Signals| {
        for _ in signals.pending() {
            callback.call(cx, Vec::new());
        }
    });
    host.cx()
        .watch(signals, watch.unreferenced())
        .map_err(|error| refused(mainspring::Error::from(error).into()))?;
    Ok(Value::Undefined)
}

/// `windowSize(fd)`: the columns and rows of a terminal. Undefined if it is none.
fn window_size(_: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    let size = if args.number(0)? == 2.0 {
        rustix::termios::tcgetwinsize(io::stderr())
    } else {
        rustix::termios::tcgetwinsize(io::stdout())
    };
    Ok(size.map_or(Value::Undefined, |size| {
        Value::Array(vec![f64::from(size.ws_col).into(), f64::from(size.ws_row).into()])
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, try_run};

    #[test]
    fn a_signal_reaches_only_a_process_that_is_there() {
        let own = f64::from(std::process::id());
        assert_eq!(run(kill, [own, 0.0]), Value::Undefined);
        let error = try_run(kill, [f64::from(i32::MAX), 0.0]).unwrap_err();
        assert_eq!(error.message, "kill ESRCH");
        assert_eq!(try_run(kill, [own, 1000.0]).unwrap_err().message, "kill EINVAL");
    }

    #[test]
    fn the_mask_is_read_without_changing_it() {
        let nothing: [Value; 0] = [];
        let before = run(umask, nothing.clone());
        assert_eq!(run(umask, [before.clone()]), before);
        assert_eq!(run(umask, nothing), before);
    }

    #[test]
    fn a_process_uses_its_processor() {
        let nothing: [Value; 0] = [];
        let Value::Array(times) = run(cpu_usage, nothing) else { panic!("no list") };
        let total: f64 =
            times.iter().map(|time| if let Value::Number(us) = time { *us } else { 0.0 }).sum();
        assert!(total > 0.0);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_has_memory() {
        assert!(resident() > 65536.0);
    }
}
