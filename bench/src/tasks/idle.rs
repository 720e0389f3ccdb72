//! How many system calls a loop makes while it has nothing to do, from the log of strace.

use std::collections::BTreeMap;
use std::process::Command;

use crate::child::output;
use crate::echo::counted::Counts;

/// How long a loop is idle, in milliseconds: for longer than is looked at, so that nothing of its start and its end need
/// be in that.
const IDLE: usize = 1_500;

/// How long is looked at, in seconds.
const WINDOW: f64 = 1.0;

/// Those of one second. `None` if it takes too long.
///
/// The command is that of a loop that is idle for as many milliseconds.
pub fn system_calls(command: impl Fn(usize) -> Vec<String>, label: &str) -> Option<Counts> {
    let file = std::env::temp_dir().join(format!("mainspring-bench-{}", std::process::id()));
    let mut traced = Command::new("strace");
    traced.args(["-f", "-ttt", "-o"]).arg(&file).arg("--").args(command(IDLE));
    let (_, ended) = output(&mut traced, &format!("{label}, idle"));
    let log = std::fs::read_to_string(&file);
    // A tool that was stopped may have begun to write.
    let _ = std::fs::remove_file(&file);
    ended.then(|| quietest(&log.expect("the tool writes it")))
}

/// The calls of the second after a call in which there are the fewest.
fn quietest(log: &str) -> Counts {
    let calls: Vec<_> = log.lines().filter_map(call).collect();
    let last = calls.last().expect("there are some, be it the end").0;
    let windows = calls.iter().enumerate().filter(|(_, begin)| begin.0 + WINDOW <= last);
    let windows = windows.map(|(index, begin)| {
        let after = &calls[index + 1..];
        &after[..after.partition_point(|call| call.0 <= begin.0 + WINDOW)]
    });
    let quietest = windows.min_by_key(|calls| calls.len()).expect("it was idle for longer");
    let mut counts = BTreeMap::new();
    for (_, name) in quietest {
        *counts.entry((*name).to_owned()).or_default() += 1.0;
    }
    counts
}

/// A line: the thread, the time in seconds, and a call with its arguments. Others are about the end of a call that had
/// been interrupted by a line, about signals, and about the end of a thread.
fn call(line: &str) -> Option<(f64, &str)> {
    let (_, rest) = line.split_once(' ')?;
    let (time, call) = rest.trim_start().split_once(' ')?;
    let (name, _) = call.split_once('(')?;
    let is_name = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    is_name.then_some((time.parse().ok()?, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::echo::counted::describe;

    #[test]
    fn what_comes_before_and_after_an_idle_second_is_not_counted() {
        let log = "7     10.000000 execve(\"./it\", [\"./it\"], 0x7ffc /* 9 vars */) = 0\n\
                   7     10.100000 clone3({flags=CLONE_VM} => {parent_tid=[8]}, 88) = 8\n\
                   8     10.100100 clock_nanosleep(CLOCK_REALTIME, 0, {tv_sec=1} <unfinished ...>\n\
                   7     10.100200 epoll_wait(3,  <unfinished ...>\n\
                   7     10.700000 <... epoll_wait resumed>[], 1024, 600) = 0\n\
                   7     10.700100 epoll_wait(3,  <unfinished ...>\n\
                   8     11.600000 <... clock_nanosleep resumed>NULL) = 0\n\
                   8     11.600100 write(4, \"1\", 1) = 1\n\
                   8     11.600200 +++ exited with 0 +++\n\
                   7     11.600300 exit_group(0) = ?\n";
        assert_eq!(describe(&quietest(log)), "epoll_wait 1.00");
    }
}
