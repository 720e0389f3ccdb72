//! Descriptors.

use std::error::Error;

pub(crate) fn one_event() -> Result<(), Box<dyn Error>> {
    use mainspring::{EventLoop, Watch};
    use std::{io::Write, os::unix::net::UnixStream};

    let event_loop = EventLoop::new()?;
    let (ours, mut theirs) = UnixStream::pair()?;
    theirs.write_all(b"hello")?; // so that it can be read and written
    let watch = Watch::new()
        .write(|_, _: &UnixStream| println!("write"))
        .read(|cx, _| {
            println!("read");
            cx.queue_microtask(|_| println!("  microtask"));
        })
        .error(|_, _| println!("error"));
    event_loop.cx().watch(ours, watch.one_shot())?;
    event_loop.run_until_idle()?;
    Ok(())
}

pub(crate) fn unwatched() -> Result<(), Box<dyn Error>> {
    use mainspring::{EventLoop, Watch};
    use std::os::{fd::AsRawFd, unix::net::UnixStream};

    let event_loop = EventLoop::new()?;
    let (one, other) = UnixStream::pair()?; // both can be written
    let (fd_of_one, fd_of_other) = (one.as_raw_fd(), other.as_raw_fd());
    for (stream, peer) in [(one, fd_of_other), (other, fd_of_one)] {
        let watch = Watch::new().write(move |cx, stream: &UnixStream| {
            println!("one of the two: removes the other ({}) and itself", cx.unwatch(peer));
            cx.unwatch(stream.as_raw_fd());
        });
        event_loop.cx().watch(stream, watch)?;
    }
    event_loop.run_until_idle()?;
    Ok(())
}

pub(crate) fn new_watcher() -> Result<(), Box<dyn Error>> {
    use mainspring::{EventLoop, Watch};
    use std::{os::unix::net::UnixStream, time::Duration};

    let event_loop = EventLoop::new()?;
    let (one, other) = UnixStream::pair()?;
    let mut other = Some(other);
    let watch = Watch::new().write(move |cx, _: &UnixStream| {
        println!("the first watches another one");
        let watch = Watch::new().write(|_, _| println!("the other")).one_shot();
        let _ = cx.watch(other.take().unwrap(), watch);
    });
    event_loop.cx().watch(one, watch.one_shot())?;
    for number in 1..=2 {
        println!("tick {number}");
        event_loop.turn(Duration::ZERO)?;
    }
    Ok(())
}
