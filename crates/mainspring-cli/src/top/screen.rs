//! A terminal that is used as a whole, and is left as it was.

use std::io::{self, Write};
use std::panic;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::stdio::{stdin, stdout};
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcgetwinsize, tcsetattr};

/// The other screen, without a cursor, and lines that are cut off.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";

/// Whether it is used, and what the input was like before.
static IS_USED: AtomicBool = AtomicBool::new(false);
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// The terminal, until this is dropped.
#[derive(Debug)]
pub(super) struct Screen(());

impl Screen {
    /// Takes the terminal. It is given back when this is dropped, and before a panic is reported.
    pub(super) fn enter() -> io::Result<Self> {
        if isatty(stdin()) {
            let before = tcgetattr(stdin())?;
            let mut raw = before.clone();
            raw.make_raw();
            *lock() = Some(before);
            tcsetattr(stdin(), OptionalActions::Now, &raw)?;
        }
        IS_USED.store(true, Ordering::Relaxed);
        let screen = Self(());
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            leave();
            report(info);
        }));
        write(ENTER)?;
        Ok(screen)
    }

    /// Shows lines from the top.
    pub(super) fn show(&self, frame: &str) -> io::Result<()> {
        let mut text = String::from("\x1b[H");
        for (index, line) in frame.split('\n').enumerate() {
            text.push_str(if index > 0 { "\r\n" } else { "" });
            text.push_str(line);
            text.push_str("\x1b[K");
        }
        text.push_str("\x1b[J");
        write(&text)
    }

    /// Gives the terminal back.
    pub(super) fn leave(&self) {
        leave();
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave();
    }
}

/// Gives the terminal back, once.
fn leave() {
    if IS_USED.swap(false, Ordering::Relaxed) {
        // Nobody looks at a terminal that is gone.
        let _ = write(LEAVE);
        if let Some(before) = lock().take() {
            let _ = tcsetattr(stdin(), OptionalActions::Now, &before);
        }
    }
}

fn lock() -> std::sync::MutexGuard<'static, Option<Termios>> {
    BEFORE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The columns and rows of the terminal.
pub(super) fn size() -> (usize, usize) {
    match tcgetwinsize(stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col.into(), size.ws_row.into()),
        _ => (80, 24),
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::process::Command;

    use rustix::fs::{Mode, OFlags};
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::LocalModes;

    use super::*;

    const ROLE: &str = "MAINSPRING_TEST_PANICS_ON_SCREEN";

    /// In a process of its own, of which the standard streams are a terminal.
    #[test]
    fn a_panic_gives_the_terminal_back_and_is_readable() {
        if std::env::var_os(ROLE).is_some() {
            let _screen = Screen::enter().unwrap();
            panic!("on the screen");
        }
        let master =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let slave = File::from(rustix::fs::open(name, flags, Mode::empty()).unwrap());
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "--nocapture", "--test-threads=1"])
            .arg("top::screen::tests::a_panic_gives_the_terminal_back_and_is_readable")
            .env(ROLE, "1")
            .stdin(slave.try_clone().unwrap())
            .stdout(slave.try_clone().unwrap())
            .stderr(slave);
        let mut child = command.spawn().unwrap();
        // Only the child holds the other side from now on, so that its end is seen.
        drop(command);
        let (mut master, mut shown) = (File::from(master), Vec::new());
        // It ends with an error, because the other side of a terminal is gone.
        let _ = master.read_to_end(&mut shown);
        let shown = String::from_utf8_lossy(&shown);
        assert!(!child.wait().unwrap().success());
        let position =
            |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text:?} in {shown:?}"));
        assert!(position(ENTER) < position(LEAVE));
        assert!(position(LEAVE) < position("on the screen"));
        let modes = tcgetattr(&master).unwrap().local_modes;
        assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO));
    }
}
