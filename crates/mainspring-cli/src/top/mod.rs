//! What loops of another program do, in a terminal.

mod address;
mod client;
mod keys;
mod render;
mod screen;
mod view;

use std::io::{self, IsTerminal, Write, stdout};
use std::time::Duration;

use mainspring::{Cx, EventLoop};
use mainspring_inspect::model::State;

pub(crate) use self::address::Address;
use self::client::{Failure, ask, parse};
use self::render::{Look, Size, render};
use crate::args::Top;
use crate::units::parse_time;

/// The columns of what is no terminal.
const COLUMNS: usize = 100;

/// A time that does not keep the program busy with answers.
pub(crate) fn parse_interval(text: &str) -> Result<Duration, String> {
    match parse_time(text)? {
        time if time < Duration::from_millis(100) => Err("look every 100ms at the most".into()),
        time => Ok(time),
    }
}

/// Shows it until somebody has seen enough.
pub(crate) fn run(wanted: &Top) -> Result<(), String> {
    let event_loop = EventLoop::new().map_err(|error| error.to_string())?;
    let cx = event_loop.cx();
    event_loop.block_on(show(cx, wanted)).map_err(|error| error.to_string())?
}

async fn show(cx: &Cx, wanted: &Top) -> Result<(), String> {
    let first = ask(cx, &wanted.address).await;
    let first = first.map_err(|failure| unreachable_at(&wanted.address, &failure))?;
    let state = parse(&first);
    // Who reads JSON looks at its version.
    if wanted.json && matches!(state, Ok(_) | Err(Failure::Version(_))) {
        return written(print(&[&first[..], b"\n"].concat()));
    }
    let state = state.map_err(|failure| unreachable_at(&wanted.address, &failure))?;
    let is_terminal = stdout().is_terminal();
    let look = Look {
        is_coloured: is_terminal && std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty()),
        source: wanted.address.to_string(),
        ..Look::default()
    };
    if is_terminal && !wanted.once {
        return view::run(cx, wanted, state, look).await;
    }
    let columns = if is_terminal { screen::size().0 } else { COLUMNS };
    let size = Size { columns, rows: None };
    if wanted.once {
        return written(print_frame(&state, size, &look));
    }
    written(repeat(cx, wanted, state, look, size).await)
}

/// Prints it again and again, until nobody reads it any more.
async fn repeat(
    cx: &Cx,
    wanted: &Top,
    mut state: State,
    mut look: Look,
    size: Size,
) -> io::Result<()> {
    loop {
        print_frame(&state, size, &look)?;
        print(b"\n")?;
        cx.sleep(wanted.interval).await;
        match ask(cx, &wanted.address).await.and_then(|text| parse(&text)) {
            Ok(newer) => (state, look.lost) = (newer, None),
            Err(failure) => look.lost = Some(failure.to_string()),
        }
    }
}

fn print_frame(state: &State, size: Size, look: &Look) -> io::Result<()> {
    print((render(state, size, look) + "\n").as_bytes())
}

fn print(text: &[u8]) -> io::Result<()> {
    let mut stdout = stdout().lock();
    stdout.write_all(text)?;
    stdout.flush()
}

/// Whoever has stopped to read has read enough.
fn written(result: io::Result<()>) -> Result<(), String> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(format!("nothing can be written: {error}"))
        }
        _ => Ok(()),
    }
}

fn unreachable_at(address: &Address, failure: &Failure) -> String {
    let hint = match failure {
        Failure::Version(_) => "",
        _ => "; is a program with --inspect running there?",
    };
    format!("no figures at {address}: {failure}{hint}")
}
