//! What was counted for a script.

use std::fmt::Write;
use std::time::{Duration, Instant};

use mainspring_quickjs::{Runtime, Stats};

use crate::units::Bytes;

/// What was counted for a script up to now.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    wall: Duration,
    cpu: Duration,
    /// The most memory that the process has had.
    peak: u64,
    /// What the engine has allocated.
    heap: u64,
    stats: Stats,
}

impl Figures {
    pub(crate) fn of(script: &Runtime, began: Instant) -> Self {
        let (cpu, peak) = usage();
        Self {
            wall: began.elapsed(),
            cpu,
            peak,
            heap: script.allocated().unwrap_or_default() as u64,
            stats: script.host().stats(),
        }
    }

    fn callbacks(&self) -> [(&'static str, u64); 5] {
        let Stats { timers, immediates, tick_passes, jobs, callbacks, .. } = self.stats;
        [
            ("timers", timers),
            ("immediates", immediates),
            ("nextTick passes", tick_passes),
            ("microtasks", jobs),
            ("I/O and other", callbacks),
        ]
    }

    /// For a person.
    pub(crate) fn table(&self) -> String {
        let mut rows = vec![
            ("wall time".to_owned(), format!("{:.3} ms", millis(self.wall))),
            ("CPU time".to_owned(), format!("{:.3} ms", millis(self.cpu))),
            ("peak memory".to_owned(), Bytes(self.peak).to_string()),
            ("engine heap".to_owned(), Bytes(self.heap).to_string()),
        ];
        rows.extend(self.callbacks().map(|(name, count)| (name.to_owned(), count.to_string())));
        let width = rows.iter().map(|(_, value)| value.len()).max().unwrap_or_default();
        rows.iter().fold(String::new(), |mut table, (name, value)| {
            let _ = writeln!(table, "  {name:<16}{value:>width$}");
            table
        })
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The processor time of the process, and the most memory that it has had.
fn usage() -> (Duration, u64) {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the structure is plain numbers, valid as zeros, and filled by the call.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let time =
        |time: libc::timeval| Duration::new(time.tv_sec.unsigned_abs(), time.tv_usec as u32 * 1000);
    // In kilobytes, except on Apple's systems.
    let unit = if cfg!(target_vendor = "apple") { 1 } else { 1024 };
    (time(usage.ru_utime) + time(usage.ru_stime), usage.ru_maxrss.unsigned_abs() * unit)
}
