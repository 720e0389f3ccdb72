//! Work that blocks, on the loop's worker pool: files are read side by side, one of them is given up.
//!
//! `cargo run --example offload [FILE…]` prints the number of lines of each file as it becomes known, then the
//! total, and that the slow one was aborted.

use std::time::Duration;
use std::{env, fs, io, thread};

use mainspring::{AbortSignal, Error, EventLoop, Promise};

fn main() -> Result<(), Error> {
    let mut files: Vec<String> = env::args().skip(1).collect();
    if files.is_empty() {
        files = ["Cargo.toml", "README.md", "CHANGELOG.md"].map(String::from).into();
    }
    let event_loop = EventLoop::new()?;
    let cx = event_loop.cx();

    let counts = files.into_iter().map(|name| {
        let path = name.clone();
        cx.promisify(&AbortSignal::never(), move |_| {
            io::Result::Ok(fs::read_to_string(path)?.lines().count())
        })
        .then(move |_, lines| {
            println!("{lines:6} {name}");
            lines
        })
        .catch(|_, reason| {
            println!("{reason}");
            0
        })
    });
    Promise::all(&cx.handle(), counts.collect::<Vec<_>>())
        .then(|_, counts| println!("{:6} in all", counts.iter().sum::<usize>()));

    let signal = AbortSignal::timeout(cx, Duration::from_millis(100))?;
    cx.promisify(&signal, |signal| {
        // A function that looks at the signal ends soon after it was aborted.
        while !signal.aborted() {
            thread::sleep(Duration::from_millis(1));
        }
        signal.throw_if_aborted()
    })
    .catch(|_, reason| println!("the slow one: {reason}"));

    event_loop.run_until_idle()
}
