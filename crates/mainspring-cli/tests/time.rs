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

// spec: JS-3
#[test]
fn late_timers_run_by_their_deadlines_or_in_the_order_of_node() {
    let code = "
        const log = [];
        const busy = (ms) => { for (const end = performance.now() + ms; performance.now() < end;); };
        setTimeout(() => log.push('10 ms, set at 0'), 10);
        busy(1.5);
        setTimeout(() => log.push('11 ms, set at 1.5'), 11);
        busy(4);
        setTimeout(() => log.push('10 ms, set at 5.5'), 10);
        busy(30);
        setTimeout(() => console.log(log.join('; ')), 50);
    ";
    let by_deadline = "10 ms, set at 0; 11 ms, set at 1.5; 10 ms, set at 5.5\n";
    assert_eq!(run(["eval", code]).stdout, by_deadline);
    let by_delay = "10 ms, set at 0; 10 ms, set at 5.5; 11 ms, set at 1.5\n";
    assert_eq!(run(["--strict-node", "eval", code]).stdout, by_delay);
}

// spec: JS-3
#[test]
fn timers_in_the_order_of_node_do_what_timers_do() {
    let code = "
        const tick = (what) => process.nextTick(() => console.log('tick of ' + what));
        process.on('uncaughtException', (error) => console.log('uncaught', error));
        setTimeout(() => { console.log('a'); tick('a'); }, 1);
        setTimeout(() => { tick('b'); throw 'b'; }, 1);
        setTimeout(() => { console.log('c'); tick('c'); }, 1);
        clearTimeout(setTimeout(() => console.log('never'), 2));
        const refreshed = setTimeout(() => console.log('refreshed', performance.now()), 20);
        setTimeout(() => refreshed.refresh(), 10);
        setTimeout(() => console.log('never'), 3600_000).unref();
        let beats = 0;
        const beat = setInterval(() => { if (++beats === 3) { clearInterval(beat); console.log('beats'); } }, 3);
        console.log(mainspring.whyAlive());
    ";
    let expected =
        "[ '6 timers' ]\na\ntick of a\nuncaught b\nc\ntick of b\ntick of c\nbeats\nrefreshed 30\n";
    for options in [&["--strict-node", "--virtual-time"][..], &["--virtual-time"]] {
        let ran = run(options.iter().copied().chain(["eval", code]));
        assert_eq!(
            (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
            (0, expected, ""),
            "{options:?}"
        );
    }
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
