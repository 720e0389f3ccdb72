//! A wake source without a descriptor.

use std::io;
use std::time::Instant;

use crate::sync::{Condvar, Mutex, lock};

/// See the [contract](super).
#[derive(Debug)]
pub(crate) struct WakeSource {
    woken: Mutex<bool>,
    changed: Condvar,
}

impl WakeSource {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { woken: Mutex::new(false), changed: Condvar::new() })
    }

    pub(crate) fn wake(&self) -> io::Result<()> {
        *lock(&self.woken) = true;
        self.changed.notify_one();
        Ok(())
    }

    pub(crate) fn wait(&self, deadline: Option<Instant>) -> io::Result<()> {
        let mut woken = lock(&self.woken);
        while !*woken {
            woken = match deadline {
                None => self.changed.wait(woken).unwrap_or_else(|e| e.into_inner()),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        break;
                    }
                    self.changed.wait_timeout(woken, left).unwrap_or_else(|e| e.into_inner()).0
                }
            };
        }
        *woken = false;
        Ok(())
    }
}
