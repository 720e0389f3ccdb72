//! A wake source without a descriptor.

use std::io;
use std::time::Duration;

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

    pub(crate) fn wait(&self, deadline: Option<i64>) -> io::Result<()> {
        let mut woken = lock(&self.woken);
        while !*woken {
            woken = match deadline {
                None => self.changed.wait(woken).unwrap_or_else(|e| e.into_inner()),
                Some(deadline) => {
                    let left = deadline.saturating_sub(super::now());
                    if left <= 0 {
                        break;
                    }
                    let left = Duration::from_nanos(left.unsigned_abs());
                    self.changed.wait_timeout(woken, left).unwrap_or_else(|e| e.into_inner()).0
                }
            };
        }
        *woken = false;
        Ok(())
    }
}
