//! Child processes, as futures.
#![cfg(all(target_os = "linux", not(loom)))]

#[path = "common/awaiting.rs"]
mod awaiting;
mod common;
#[path = "common/fds.rs"]
mod fds;

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread;

use awaiting::{both, give_up, run};
use common::{Variant, turn_until_quiet, wait_until, wait_until_sleeping};
use fds::{build, has_no_trace};
use mainspring::process::{self, Child};
use mainspring::{Cx, EventLoop};

suite! {
    a_child_says_how_it_ended,
    a_child_that_ends_wakes_a_loop_that_sleeps,
    waiting_closes_the_standard_input,
    waiting_can_be_given_up_and_begun_again,
    trying_does_not_wait,
    a_child_can_be_asked_without_end,
    much_goes_in_and_out_at_the_same_time,
    output_and_errors_are_collected,
    output_is_collected_although_it_is_more_than_a_pipe_has_room_for,
    a_child_without_pipes_has_no_output,
    pipes_can_be_taken_out,
    a_child_can_be_killed,
    a_child_that_has_ended_can_be_killed,
    a_child_goes_on_when_it_is_dropped,
    a_child_is_killed_when_it_is_dropped_if_asked_for,
    a_child_that_is_dropped_leaves_no_zombie,
    a_child_that_outlives_its_loop_leaves_no_zombie,
    many_children_run_at_once,
    a_program_that_does_not_exist_is_an_error,
    a_loop_that_has_ended_starts_nothing,
    a_child_that_nobody_awaits_does_not_keep_the_loop,
    a_child_of_a_loop_that_has_ended_says_so,
}

fn sh(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

/// A child that runs until its standard input is closed.
fn patient(cx: &Cx, status: u8) -> Child {
    let mut command = sh(&format!("read -r line; exit {status}"));
    process::spawn(cx, command.stdin(Stdio::piped())).unwrap()
}

/// A child that runs until it is killed.
fn endless(cx: &Cx) -> Child {
    process::spawn(cx, Command::new("sleep").arg("1000")).unwrap()
}

/// Whether the system knows a process, as a running one or a zombie.
fn exists(id: u32) -> bool {
    fs::exists(format!("/proc/{id}")).unwrap()
}

fn is_zombie(id: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit(')').next().unwrap().trim_start().starts_with('Z')
}

// spec: BX-1
fn a_child_says_how_it_ended(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    for code in [0, 1, 42, 255] {
        let mut child = process::spawn(cx, &mut sh(&format!("exit {code}"))).unwrap();
        assert!(child.id() > 0);
        let status = run(&event_loop, child.wait());
        assert_eq!(status.code(), Some(code));
        // As often as one likes.
        assert_eq!(run(&event_loop, child.wait()), status);
        assert_eq!(child.try_wait().unwrap(), Some(status));
    }
    let mut child = process::spawn(cx, &mut sh("kill -TERM $$")).unwrap();
    assert_eq!(run(&event_loop, child.wait()).signal(), Some(libc::SIGTERM));
}

// spec: BX-1, WK-1
fn a_child_that_ends_wakes_a_loop_that_sleeps(variant: Variant) {
    let event_loop = build(variant);
    let mut child = patient(event_loop.cx(), 5);
    let input = child.stdin.take().unwrap().into_fd();
    let handle = event_loop.handle();
    let ender = thread::spawn(move || {
        wait_until_sleeping(&handle);
        drop(input);
    });
    assert_eq!(run(&event_loop, child.wait()).code(), Some(5));
    ender.join().unwrap();
}

// spec: BX-1
fn waiting_closes_the_standard_input(variant: Variant) {
    let event_loop = build(variant);
    let mut child = patient(event_loop.cx(), 3);
    assert!(child.try_wait().unwrap().is_none());
    assert_eq!(run(&event_loop, child.wait()).code(), Some(3));
    assert!(child.stdin.is_none());
}

// spec: BX-1
fn waiting_can_be_given_up_and_begun_again(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let mut child = patient(cx, 6);
    let input = child.stdin.take();
    run(&event_loop, async {
        for _ in 0..5 {
            give_up(cx, child.wait()).await;
        }
        drop(input);
        assert_eq!(child.wait().await?.code(), Some(6));
        Ok(())
    });
    // The end comes while nobody waits.
    let mut child = patient(cx, 7);
    let (id, input) = (child.id(), child.stdin.take());
    run(&event_loop, async {
        give_up(cx, child.wait()).await;
        drop(input);
        wait_until(|| is_zombie(id));
        assert_eq!(child.wait().await?.code(), Some(7));
        Ok(())
    });
}

// spec: BX-1
fn trying_does_not_wait(variant: Variant) {
    let event_loop = build(variant);
    let mut child = patient(event_loop.cx(), 0);
    for _ in 0..3 {
        assert!(child.try_wait().unwrap().is_none());
    }
    let (id, input) = (child.id(), child.stdin.take());
    drop(input);
    wait_until(|| is_zombie(id));
    assert!(child.try_wait().unwrap().unwrap().success());
    // It was the first to ask, and that does not matter to who waits.
    assert!(run(&event_loop, child.wait()).success());
    assert!(!exists(id));
}

// spec: BX-1
fn a_child_can_be_asked_without_end(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let mut child = process::spawn(cx, &mut Command::new("true")).unwrap();
    run(&event_loop, async {
        for _ in 0..1000 {
            assert!(child.wait().await?.success());
        }
        Ok(())
    });
}

// spec: BX-1
fn much_goes_in_and_out_at_the_same_time(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let mut command = Command::new("cat");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = process::spawn(cx, &mut command).unwrap();
    let sent: Vec<u8> = (0..1_048_576).map(|i| (i % 251) as u8).collect();
    let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    run(&event_loop, async {
        let mut received = Vec::new();
        let write = async {
            let written = stdin.write_all(&sent).await;
            drop(stdin);
            written
        };
        let (written, read) = both(write, stdout.read_to_end(&mut received)).await;
        written?;
        read?;
        assert!(received == sent);
        assert!(child.wait().await?.success());
        Ok(())
    });
}

// spec: BX-1
fn output_and_errors_are_collected(variant: Variant) {
    let event_loop = build(variant);
    let mut command = sh("echo out; echo err >&2; cat; exit 9");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = process::spawn(event_loop.cx(), &mut command).unwrap();
    // It reads its input until the end.
    let output = run(&event_loop, child.wait_with_output());
    assert_eq!(output.status.code(), Some(9));
    assert_eq!(output.stdout, b"out\n");
    assert_eq!(output.stderr, b"err\n");
}

// spec: BX-1
fn output_is_collected_although_it_is_more_than_a_pipe_has_room_for(variant: Variant) {
    let event_loop = build(variant);
    // First all of one, then all of the other: neither must wait for the other one.
    for (first, second) in [("1", "2"), ("2", "1")] {
        let script = format!(
            "head -c 500000 /dev/zero >&{first}; head -c 400000 /dev/zero >&{second}; exit 1"
        );
        let mut command = sh(&script);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = process::spawn(event_loop.cx(), &mut command).unwrap();
        let output = run(&event_loop, child.wait_with_output());
        let mut lengths = [output.stdout.len(), output.stderr.len()];
        lengths.sort_unstable();
        assert_eq!(lengths, [400_000, 500_000]);
        assert_eq!(output.status.code(), Some(1));
    }
}

// spec: BX-1
fn a_child_without_pipes_has_no_output(variant: Variant) {
    let event_loop = build(variant);
    let mut command = sh("echo unheard");
    command.stdout(Stdio::null());
    let child = process::spawn(event_loop.cx(), &mut command).unwrap();
    assert!(child.stdin.is_none() && child.stdout.is_none() && child.stderr.is_none());
    let output = run(&event_loop, child.wait_with_output());
    assert!(output.status.success());
    assert!(output.stdout.is_empty() && output.stderr.is_empty());
}

// spec: BX-1
fn pipes_can_be_taken_out(variant: Variant) {
    let event_loop = build(variant);
    let mut command = sh("read -r line; echo \"$line\"");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = process::spawn(event_loop.cx(), &mut command).unwrap();
    let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    drop(child);
    run(&event_loop, async {
        stdin.write_all(b"still here\n").await?;
        let mut text = Vec::new();
        stdout.read_to_end(&mut text).await?;
        assert_eq!(text, b"still here\n");
        Ok(())
    });
}

// spec: BX-1
fn a_child_can_be_killed(variant: Variant) {
    let event_loop = build(variant);
    let mut child = endless(event_loop.cx());
    child.kill().unwrap();
    assert_eq!(run(&event_loop, child.wait()).signal(), Some(libc::SIGKILL));
}

// spec: BX-1, ER-2
fn a_child_that_has_ended_can_be_killed(variant: Variant) {
    let event_loop = build(variant);
    let mut child = process::spawn(event_loop.cx(), &mut Command::new("true")).unwrap();
    let id = child.id();
    wait_until(|| is_zombie(id));
    child.kill().unwrap();
    assert!(run(&event_loop, child.wait()).success());
    child.kill().unwrap();
}

// spec: BX-1
fn a_child_goes_on_when_it_is_dropped(variant: Variant) {
    let event_loop = build(variant);
    let mut child = endless(event_loop.cx());
    let id = child.id();
    child.kill_on_drop(true).kill_on_drop(false);
    drop(child);
    turn_until_quiet(&event_loop);
    assert!(exists(id) && !is_zombie(id));
    kill(id);
}

fn kill(id: u32) {
    let id = rustix::process::Pid::from_raw(id.try_into().unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::KILL).unwrap();
}

/// Drives the loop until it has asked how a process ended.
fn turn_until_gone(event_loop: &EventLoop, id: u32) {
    while exists(id) {
        turn_until_quiet(event_loop);
        thread::yield_now();
    }
}

// spec: BX-1
fn a_child_is_killed_when_it_is_dropped_if_asked_for(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let mut child = endless(cx);
    let id = child.id();
    child.kill_on_drop(true);
    drop(child);
    turn_until_gone(&event_loop, id);
    assert!(has_no_trace(&event_loop));
    // Together with the future that waits for it.
    let mut child = endless(cx);
    let id = child.id();
    child.kill_on_drop(true);
    let waiting = cx.spawn_local(async move { child.wait().await });
    turn_until_quiet(&event_loop);
    assert!(exists(id));
    waiting.abort();
    turn_until_gone(&event_loop, id);
    // And with the one that waits for its output.
    let mut child = endless(cx);
    let id = child.id();
    child.kill_on_drop(true);
    run(&event_loop, async {
        give_up(cx, child.wait_with_output()).await;
        Ok(())
    });
    turn_until_gone(&event_loop, id);
}

// spec: BX-1
fn a_child_that_is_dropped_leaves_no_zombie(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    // It ends after it is dropped.
    let child = endless(cx);
    let id = child.id();
    drop(child);
    assert!(!has_no_trace(&event_loop), "the loop waits for it");
    turn_until_quiet(&event_loop);
    kill(id);
    turn_until_gone(&event_loop, id);
    assert!(has_no_trace(&event_loop));
    // It ends before that.
    let child = process::spawn(cx, &mut Command::new("true")).unwrap();
    let id = child.id();
    wait_until(|| is_zombie(id));
    drop(child);
    assert!(!exists(id));
    assert!(has_no_trace(&event_loop));
    // It was waited for.
    let mut child = process::spawn(cx, &mut Command::new("true")).unwrap();
    run(&event_loop, child.wait());
    assert!(!exists(child.id()));
    drop(child);
    assert!(has_no_trace(&event_loop));
}

// spec: BX-1
fn a_child_that_outlives_its_loop_leaves_no_zombie(variant: Variant) {
    // Dropped before the loop, after it, or after its end.
    let ids = [0, 1, 2].map(|order| {
        let event_loop = build(variant);
        let child = endless(event_loop.cx());
        let id = child.id();
        match order {
            0 => drop((child, event_loop)),
            1 => {
                drop(event_loop);
                drop(child);
            }
            _ => {
                event_loop.cx().close();
                let _ = event_loop.run();
                drop(child);
            }
        }
        id
    });
    for id in ids {
        assert!(exists(id) && !is_zombie(id));
        kill(id);
    }
    wait_until(|| ids.into_iter().all(|id| is_zombie(id) || !exists(id)));
    // The next one who comes by asks.
    let event_loop = build(variant);
    let mut child = process::spawn(event_loop.cx(), &mut Command::new("true")).unwrap();
    assert!(!ids.into_iter().any(exists));
    run(&event_loop, child.wait());
}

// spec: BX-1
fn many_children_run_at_once(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let mut children: Vec<Child> = (0..200).map(|i| patient(cx, i)).collect();
    let ids: Vec<u32> = children.iter().map(Child::id).collect();
    let waiting: Vec<_> = children
        .drain(..)
        .map(|mut child| cx.spawn_local(async move { child.wait().await.unwrap().code() }))
        .collect();
    run(&event_loop, async {
        for (i, waiting) in waiting.into_iter().enumerate() {
            assert_eq!(waiting.await.unwrap(), Some(i.try_into().unwrap()));
        }
        Ok(())
    });
    assert!(!ids.into_iter().any(exists));
    assert!(has_no_trace(&event_loop));
}

// spec: BX-1, ER-2
fn a_program_that_does_not_exist_is_an_error(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let mut command = Command::new("/no/such/program");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let error = process::spawn(cx, &mut command).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let error = process::spawn(cx, Command::new("true").current_dir("/no/such/place")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let error = process::spawn(cx, &mut Command::new("/")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    let error = process::spawn(cx, Command::new("true").arg("a\0b")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(has_no_trace(&event_loop));
}

// spec: BX-1, ER-1
fn a_loop_that_has_ended_starts_nothing(variant: Variant) {
    let event_loop = build(variant);
    event_loop.cx().close();
    let _ = event_loop.run();
    let (read, write) = io::pipe().unwrap();
    let mut command = Command::new("sleep");
    command.arg("1000").stdout(write);
    let error = process::spawn(event_loop.cx(), &mut command).unwrap_err();
    assert!(error.get_ref().unwrap().is::<mainspring::Error>(), "{error:?}");
    drop(command);
    // The process is gone, so nobody has the other end.
    assert_eq!(io::read_to_string(read).unwrap(), "");
}

// spec: BX-1
fn a_child_that_nobody_awaits_does_not_keep_the_loop(variant: Variant) {
    let event_loop = build(variant);
    let child = endless(event_loop.cx());
    event_loop.run_until_idle().unwrap();
    // Nor does one that was dropped, and that the loop awaits.
    let id = child.id();
    drop(child);
    event_loop.run_until_idle().unwrap();
    assert!(exists(id) && !is_zombie(id));
    kill(id);
    turn_until_gone(&event_loop, id);
}

// spec: BX-1, ER-1
fn a_child_of_a_loop_that_has_ended_says_so(variant: Variant) {
    let event_loop = build(variant);
    let other = build(variant);
    let mut child = endless(event_loop.cx());
    event_loop.cx().close();
    let _ = event_loop.run();
    let error = other.block_on(child.wait()).unwrap().unwrap_err();
    assert!(error.get_ref().unwrap().is::<mainspring::Error>(), "{error:?}");
    // What needs no loop still works.
    child.kill().unwrap();
    let id = child.id();
    wait_until(|| is_zombie(id));
    assert!(child.try_wait().unwrap().is_some());
    assert!(other.block_on(child.wait()).unwrap().is_ok());
}
