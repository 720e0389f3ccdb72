//! What is measured with: clocks, memory, random numbers.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering};
use std::time::Duration;

/// Runs `work`; returns the CPU time that this thread spent on it, and its result.
pub fn thread_cpu<R>(work: impl FnOnce() -> R) -> (Duration, R) {
    cpu(libc::CLOCK_THREAD_CPUTIME_ID, work)
}

/// Runs `work`; returns the CPU time that the process spent on it, and its result.
pub fn process_cpu<R>(work: impl FnOnce() -> R) -> (Duration, R) {
    cpu(libc::CLOCK_PROCESS_CPUTIME_ID, work)
}

fn cpu<R>(clock: libc::clockid_t, work: impl FnOnce() -> R) -> (Duration, R) {
    let begin = read(clock);
    let result = work();
    (read(clock) - begin, result)
}

/// By libc and not by rustix, which looks for the clock in the process's memory by itself, and does not find it
/// under valgrind.
fn read(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes to what it is given, and to nothing else.
    assert_eq!(unsafe { libc::clock_gettime(clock, &raw mut time) }, 0, "every Linux has it");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// CPU time, for what is no function.
pub struct CpuClock {
    clock: libc::clockid_t,
    begin: Duration,
}

impl CpuClock {
    /// That of the process.
    pub fn start() -> Self {
        Self::of(libc::CLOCK_PROCESS_CPUTIME_ID)
    }

    /// That of this thread, which is also the one to ask how much has elapsed.
    pub fn of_thread() -> Self {
        Self::of(libc::CLOCK_THREAD_CPUTIME_ID)
    }

    fn of(clock: libc::clockid_t) -> Self {
        Self { clock, begin: read(clock) }
    }

    pub fn elapsed(&self) -> Duration {
        read(self.clock) - self.begin
    }
}

/// The system's allocator, which counts what is asked of it from [`count_memory`] on. Before that it
/// costs one branch, the same one for every peer.
pub struct Counting;

static COUNTS: AtomicBool = AtomicBool::new(false);
static LIVE: AtomicIsize = AtomicIsize::new(0);
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

fn count(freed: usize, allocated: usize) {
    if COUNTS.load(Ordering::Relaxed) {
        // What grows or shrinks is one, too.
        ALLOCATIONS.fetch_add(usize::from(allocated > 0), Ordering::Relaxed);
        LIVE.fetch_add(allocated.cast_signed() - freed.cast_signed(), Ordering::Relaxed);
    }
}

// SAFETY: everything is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(0, layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(0, layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(layout.size(), size);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(old, layout, size) }
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        count(layout.size(), 0);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(old, layout) }
    }
}

/// Memory, since [`count_memory`].
pub struct Memory {
    resident: isize,
}

/// Begins to count.
pub fn count_memory() -> Memory {
    // Its buffer is made now, and not counted.
    drop(std::io::stdout());
    COUNTS.store(true, Ordering::Relaxed);
    Memory { resident: resident() }
}

impl Memory {
    /// Bytes asked of the allocator and not given back.
    pub fn live(&self) -> isize {
        LIVE.load(Ordering::Relaxed)
    }

    /// How often memory was asked for.
    pub fn allocations(&self) -> usize {
        ALLOCATIONS.load(Ordering::Relaxed)
    }

    /// Bytes of memory that the process has got from the system.
    pub fn resident(&self) -> isize {
        resident() - self.resident
    }
}

fn resident() -> isize {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages: usize = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("statm");
    (pages * rustix::param::page_size()).cast_signed()
}

/// Random numbers, the same in each run: SplitMix64.
pub struct Random(u64);

impl Random {
    pub const SEED: u64 = 0x6d61_696e;

    pub fn new() -> Self {
        Self(Self::SEED)
    }

    /// Less than `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        ((u128::from(bits) * u128::from(bound)) >> 64) as u64
    }

    /// Uniform between the two.
    pub fn durations(&mut self, count: usize, low: Duration, high: Duration) -> Vec<Duration> {
        let span = (high - low).as_nanos() as u64;
        (0..count).map(|_| low + Duration::from_nanos(self.below(span))).collect()
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

/// The value that `share` of the sorted values are not greater than.
pub fn percentile(sorted: &[i64], share: f64) -> f64 {
    let index = (share * sorted.len() as f64).ceil() as usize;
    sorted[index.saturating_sub(1)] as f64
}
