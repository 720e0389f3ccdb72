//! A loop as a source of calloop's, as in a compositor or a client of one.
//!
//! `cargo run -p mainspring-embedding --example calloop_host`

use std::error::Error;
use std::io;
use std::time::Duration;

use calloop::generic::Generic;
use calloop::timer::{TimeoutAction, Timer};
use calloop::{Interest, LoopSignal, Mode, PostAction};
use mainspring::{EventLoop, LoopState};

fn main() -> Result<(), Box<dyn Error>> {
    let mut host = calloop::EventLoop::<LoopSignal>::try_new()?;
    let guest = EventLoop::new()?.into_guest()?;
    let mut left = 5;
    guest.cx().set_interval(Duration::from_millis(40), move |cx| {
        println!("mainspring: {left}");
        left -= 1;
        if left == 0 {
            cx.shutdown();
        }
    })?;

    // The guest is a descriptor like others.
    let source = Generic::new(guest, Interest::READ, Mode::Level);
    host.handle().insert_source(source, |_, guest, signal| {
        guest.turn().map_err(io::Error::other)?;
        if guest.state() == LoopState::Terminated {
            signal.stop();
            return Ok(PostAction::Remove);
        }
        Ok(PostAction::Continue)
    })?;
    let period = Duration::from_millis(50);
    host.handle().insert_source(Timer::from_duration(period), move |_, _, _| {
        println!("calloop");
        TimeoutAction::ToDuration(period)
    })?;

    let mut signal = host.get_signal();
    host.run(None, &mut signal, |_| ())?;
    Ok(())
}
