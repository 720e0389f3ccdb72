//! A terminal with the command in it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::{BINARY, Guard};

pub(crate) struct Terminal {
    pub(crate) master: File,
    pub(crate) child: Child,
    /// What was shown and not expected yet, as it is to be seen.
    shown: String,
    seen: fn(&str) -> String,
    _guard: Guard,
}

impl Terminal {
    /// Runs the command in a new terminal of that many columns and rows. What it shows goes through `seen`.
    pub(crate) fn start(
        size: (u16, u16),
        seen: fn(&str) -> String,
        prepare: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = File::from(openpt(flags).unwrap());
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let slave = File::from(rustix::fs::open(name, flags, Mode::empty()).unwrap());
        resize(&master, size);
        let mut command = Command::new(BINARY);
        prepare(&mut command)
            .stdin(slave.try_clone().unwrap())
            .stdout(slave.try_clone().unwrap())
            .stderr(slave);
        // SAFETY: both are system calls that may be made between fork and exec.
        unsafe {
            command.pre_exec(|| {
                rustix::process::setsid()?;
                rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
                Ok(())
            });
        }
        // Only the child holds the other side when this returns, so that its end is seen.
        let child = command.spawn().unwrap();
        let guard = Guard::new(&child);
        Self { master, child, shown: String::new(), seen, _guard: guard }
    }

    pub(crate) fn resize(&self, size: (u16, u16)) {
        resize(&self.master, size);
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Reads until something is shown, and gives what was shown before it.
    pub(crate) fn expect(&mut self, text: &str) -> String {
        loop {
            if let Some(at) = self.shown.find(text) {
                let rest = self.shown.split_off(at + text.len());
                let mut before = std::mem::replace(&mut self.shown, rest);
                before.truncate(at);
                return before;
            }
            let mut bytes = [0; 65536];
            let n = match self.master.read(&mut bytes) {
                Ok(n) if n > 0 => n,
                _ => panic!("the end, instead of {text:?} after {:?}", self.shown),
            };
            self.shown.push_str(&(self.seen)(&String::from_utf8_lossy(&bytes[..n])));
        }
    }
}

fn resize(master: &File, (columns, rows): (u16, u16)) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(master, size).unwrap();
}
