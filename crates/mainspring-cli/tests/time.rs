//! Time that passes otherwise.

mod common;

use common::run;

// spec: BX-3, BX-5
#[test]
fn a_script_of_hours_runs_at_once_in_virtual_time() {
    let code = "
        const { setTimeout: sleep } = require('node:timers/promises');
        const began = Date.now();
        let beats = 0;
        const heart = setInterval(() => beats++, 60_000);
        await sleep(5 * 3600_000);
        clearInterval(heart);
        console.log(beats, Date.now() - began, new Date() - began, Math.round(performance.now() / 3600_000));
        console.log(new Date() instanceof Date, Date.name, typeof Date(), new Date(0).getTime());
        console.log(process.hrtime.bigint() > 5n * 3600n * 10n ** 9n, process.uptime() >= 18000);
    ";
    let ran = run(["--virtual-time", "eval", code]);
    let expected = "299 18000000 18000000 5\ntrue Date string 0\ntrue true\n";
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, expected, ""));
}

// spec: BX-3
#[test]
fn virtual_time_waits_for_what_is_real() {
    let code = "
        setTimeout(() => console.log('an hour later'), 3600_000);
        require('node:fs/promises').readFile('/proc/self/stat').then(() => console.log('read'));
    ";
    assert_eq!(run(["--virtual-time", "eval", code]).stdout, "read\nan hour later\n");
}

// spec: JS-2
#[test]
fn nested_timers_wait_as_in_browsers_if_that_is_wanted() {
    let code = "
        let last = performance.now(), waits = [];
        const next = () => {
          waits.push(Math.round(performance.now() - last));
          last = performance.now();
          if (waits.length < 9) setTimeout(next, 0); else console.log(waits.join(' '));
        };
        setTimeout(next, 0);
    ";
    // Exact, because time is virtual.
    assert_eq!(run(["--virtual-time", "eval", code]).stdout, "1 1 1 1 1 1 1 1 1\n");
    let html = run(["--virtual-time", "--html-timers", "eval", code]);
    assert_eq!(html.stdout, "1 1 1 1 1 1 4 4 4\n");
}
