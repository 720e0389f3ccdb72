//! A server's process, seen from outside.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// A server without connections that is not gone after so long never will be.
const ENDING: Duration = Duration::from_secs(5);

/// What a process needs besides its connections, and more.
const OTHER_DESCRIPTORS: usize = 100;

/// Lets this process, and those that it starts, have so many connections; where it is not changed, the limit
/// often is 1,024 descriptors.
pub fn allow_connections(connections: usize) {
    let limit = getrlimit(Resource::Nofile);
    let needed = (connections + OTHER_DESCRIPTORS) as u64;
    if limit.current.is_some_and(|current| current < needed) {
        let more = Rlimit { current: Some(needed), maximum: limit.maximum };
        setrlimit(Resource::Nofile, more).expect("so many descriptors are allowed");
    }
}

pub struct Process {
    child: Child,
    pub port: u16,
}

impl Process {
    /// Starts a command that is, or ends up in, a server.
    pub fn start(command: &[String]) -> Self {
        let mut child = Command::new(&command[0])
            .args(&command[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server can be started");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("text");
        let port = line.trim().parse().expect("the server says its port");
        Self { child, port }
    }

    /// The CPU time that it has used, in user and kernel mode, all threads together.
    pub fn cpu(&self) -> Duration {
        cpu_of(self.child.id()).expect("it is there")
    }

    /// That, and the same of the processes that it has started, and of those that they have.
    pub fn cpu_with_children(&self) -> Duration {
        let parents = parents();
        let mut family = vec![self.child.id()];
        let mut index = 0;
        while let Some(&parent) = family.get(index) {
            let children = parents.iter().filter(|pair| pair.1 == parent);
            family.extend(children.map(|pair| pair.0));
            index += 1;
        }
        family.into_iter().map(|id| cpu_of(id).expect("it is there")).sum()
    }

    /// How much memory of its own is resident, in bytes: without the program's file, of which the system brings
    /// in more or less.
    pub fn resident(&self) -> usize {
        // Counted page by page: in `status` the figure may be behind by some pages for each processor.
        let path = format!("/proc/{}/smaps_rollup", self.child.id());
        let memory = std::fs::read_to_string(path).expect("Linux");
        let line = memory.lines().find_map(|line| line.strip_prefix("Anonymous:"));
        let kibibytes = line.expect("a figure").trim().trim_end_matches(" kB").parse::<usize>();
        kibibytes.expect("a number") * 1024
    }

    /// Waits for its end, which is near.
    pub fn ends(mut self) {
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("it is ours") {
                break status;
            }
            assert!(begin.elapsed() < ENDING, "the server does not end");
            thread::sleep(Duration::from_millis(1));
        };
        assert!(status.success(), "the server failed: {status}");
    }
}

impl Drop for Process {
    /// Leaves no process behind, whatever happened.
    fn drop(&mut self) {
        // It fails if the process has ended, which is well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The CPU time of a process, if there is such a one.
fn cpu_of(id: u32) -> Option<Duration> {
    let mut clock = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both write to what they are given, and to nothing else.
    let failed = unsafe {
        libc::clock_getcpuclockid(id.cast_signed(), &raw mut clock) != 0
            || libc::clock_gettime(clock, &raw mut time) != 0
    };
    (!failed).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

/// All processes, each with the one that started it.
fn parents() -> Vec<(u32, u32)> {
    let processes = std::fs::read_dir("/proc").expect("Linux");
    let pair = |name: std::ffi::OsString| {
        let id = name.to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // A name in brackets, which may have any characters, then the state.
        let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?;
        Some((id, parent.parse().ok()?))
    };
    processes.filter_map(|entry| pair(entry.ok()?.file_name())).collect()
}
