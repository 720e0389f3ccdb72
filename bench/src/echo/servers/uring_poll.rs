//! The floor for readiness by io_uring: the ring says that a connection may be read, which is done by system
//! calls, as with epoll.
//!
//! Multishot, a connection is submitted once, and a completion comes for each event: that is edge-triggered.
//! With one shot it is submitted again after each event, together with the others of that turn, and what is
//! still there is found again: that is level-triggered.

use std::net::{Shutdown, TcpStream};
use std::os::fd::AsRawFd;

use io_uring::squeue::Entry;
use io_uring::{cqueue, opcode, types};

use super::{BUFFER, echo, uring};

/// For the completion of a removal, which tells nothing.
const REMOVAL: u64 = u64::MAX;

fn poll(stream: &TcpStream, index: u64, multishot: bool) -> Entry {
    let events = libc::POLLIN as u32 | libc::POLLRDHUP as u32;
    let fd = types::Fd(stream.as_raw_fd());
    opcode::PollAdd::new(fd, events).multi(multishot).build().user_data(index)
}

fn may_have_more(count: usize, events: u32) -> bool {
    count == BUFFER || (count > 0 && events & libc::POLLRDHUP as u32 != 0)
}

pub fn run(streams: Vec<TcpStream>, multishot: bool) {
    // A connection has one submission in a turn: it is polled again, or removed.
    let mut ring = uring::ring(streams.len()).unwrap();
    for (index, stream) in streams.iter().enumerate() {
        // SAFETY: a poll has no memory of ours.
        unsafe { ring.submission().push(&poll(stream, index as u64, multishot)).unwrap() };
    }
    let mut open = streams.len();
    let mut streams: Vec<_> = streams.into_iter().map(Some).collect();
    let mut buffer = [0; BUFFER];
    while open > 0 {
        uring::enter(&ring, 1);
        let (_, mut submissions, completions) = ring.split();
        for completion in completions {
            let index = completion.user_data();
            if index == REMOVAL {
                continue;
            }
            let slot = &mut streams[index as usize];
            // The last event of a poll that is being removed.
            let Some(stream) = slot.as_ref() else { continue };
            let events = completion.result().cast_unsigned();
            assert!(completion.result() > 0, "cannot poll: {}", completion.result());
            let is_closed = loop {
                match echo(stream, &mut buffer) {
                    None => break true,
                    // There may be more, be it the end. With one shot that is found in the next turn.
                    Some(count) if multishot && may_have_more(count, events) => {}
                    Some(_) => break false,
                }
            };
            let is_armed = cqueue::more(completion.flags());
            let submission = match (is_closed, is_armed) {
                (false, true) => None,
                (false, false) => Some(poll(stream, index, multishot)),
                (true, false) => None,
                (true, true) => Some(opcode::PollRemove::new(index).build().user_data(REMOVAL)),
            };
            if let Some(submission) = submission {
                // SAFETY: as above.
                unsafe { submissions.push(&submission).expect("one for each connection fits in") };
            }
            if is_closed {
                // A poll that is not yet removed keeps the connection.
                stream.shutdown(Shutdown::Both).unwrap();
                *slot = None;
                open -= 1;
            }
        }
    }
}
