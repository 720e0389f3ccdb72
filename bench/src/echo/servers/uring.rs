//! What the servers on io_uring have in common: a ring for one thread, which runs what completions need
//! only when that thread enters the kernel to wait, and not whenever it is interrupted.

use std::io;

use io_uring::{Builder, IoUring};

/// How rings are made.
pub fn builder() -> Builder {
    let mut builder = IoUring::builder();
    builder.setup_single_issuer().setup_defer_taskrun();
    builder
}

/// A ring whose submissions of one turn fit in, so that all of them are one system call, and whose
/// completions of one turn do not overflow.
pub fn ring(submissions: usize) -> io::Result<IoUring> {
    let submissions = u32::try_from(submissions.next_power_of_two()).expect("is not so large");
    builder().setup_cqsize(2 * submissions).build(submissions)
}

/// Submits what there is, and waits for as many completions.
pub fn enter(ring: &IoUring, completions: usize) {
    while let Err(error) = ring.submit_and_wait(completions) {
        assert_eq!(error.kind(), io::ErrorKind::Interrupted, "cannot wait: {error}");
    }
}

/// Why there is no such ring here, if there is none.
pub fn absent() -> Option<String> {
    ring(1).err().map(|error| format!("the kernel refuses io_uring: {error}"))
}
