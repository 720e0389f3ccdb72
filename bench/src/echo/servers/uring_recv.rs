//! The floor for completions: io_uring itself receives and sends, and no other system call is made. What comes
//! lands in a buffer that the kernel takes from a ring of them, is sent from there, and then the buffer goes
//! back to the ring.

use std::net::TcpStream;
use std::os::fd::AsRawFd;

use io_uring::squeue::Entry;
use io_uring::{cqueue, opcode, types};

use super::buffers::{Buffers, GROUP};
use super::uring;

/// In what belongs to a submission: it sends, and does not receive.
const SENDS: u64 = 1 << 63;

fn receive(index: u64) -> Entry {
    let fd = types::Fixed(index as u32);
    opcode::RecvMulti::new(fd, GROUP).build().user_data(index)
}

pub fn run(streams: Vec<TcpStream>) {
    // A connection has two: its next message may have come before it is known that the last one was sent.
    let mut buffers = Buffers::new(2 * streams.len());
    // A connection has two submissions in a turn: it sends, and it receives again if that has ended.
    let mut ring = uring::ring(2 * streams.len()).unwrap();
    // SAFETY: what is declared before the ring is dropped after it.
    unsafe { buffers.register(&ring.submitter()) }.unwrap();
    let descriptors: Vec<_> = streams.iter().map(AsRawFd::as_raw_fd).collect();
    ring.submitter().register_files(&descriptors).unwrap();
    for (index, stream) in streams.iter().enumerate() {
        // io_uring waits only for what would block.
        stream.set_nonblocking(false).unwrap();
        // SAFETY: the buffers stay until the ring is gone.
        unsafe { ring.submission().push(&receive(index as u64)).unwrap() };
    }
    let mut open = streams.len();
    let mut streams: Vec<_> = streams.into_iter().map(Some).collect();
    let mut sends = 0;
    while open > 0 {
        // What is sent completes at once: only one more is worth waking up for.
        uring::enter(&ring, sends + 1);
        sends = 0;
        let (submitter, mut submissions, completions) = ring.split();
        // SAFETY: as above; and a buffer that is sent is not given back before it was.
        let mut submit = |entry: &Entry| unsafe {
            submissions.push(entry).expect("two for each connection fit in");
        };
        for completion in completions {
            let (data, result) = (completion.user_data(), completion.result());
            if data & SENDS != 0 {
                assert_eq!(result, data as i32, "what is in flight fits into the socket");
                buffers.give((data >> 32) as u16);
                continue;
            }
            if result > 0 {
                let id = cqueue::buffer_select(completion.flags()).expect("it has taken one");
                let fd = types::Fixed(data as u32);
                let data = SENDS | u64::from(id) << 32 | u64::from(result.cast_unsigned());
                let send = opcode::Send::new(fd, buffers.address(id), result.cast_unsigned());
                submit(&send.build().user_data(data));
                sends += 1;
            } else if result == 0 {
                submitter.register_files_update(data as u32, &[-1]).unwrap();
                streams[data as usize] = None;
                open -= 1;
                continue;
            } else {
                assert_eq!(-result, libc::ENOBUFS, "cannot receive");
            }
            if !cqueue::more(completion.flags()) {
                submit(&receive(data));
            }
        }
        buffers.publish();
    }
}
