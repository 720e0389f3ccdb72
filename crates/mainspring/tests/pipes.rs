//! Pipes, as futures.
#![cfg(all(target_os = "linux", not(loom)))]

#[path = "common/awaiting.rs"]
mod awaiting;
mod common;
#[path = "common/fds.rs"]
mod fds;

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::mem::MaybeUninit;
use std::pin::pin;
use std::process::Command;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use awaiting::{both, give_up, poll_once, run};
use common::{Variant, wait_until_sleeping};
use fds::{build, has_no_trace};
use mainspring::net::pipe::{self, Receiver, Sender};
use mainspring::{Cx, EventLoop};

suite! {
    bytes_arrive_and_then_the_end,
    a_reader_that_waits_is_woken_by_bytes,
    a_reader_that_waits_is_woken_by_the_end,
    a_writer_that_waits_is_woken_by_room,
    nobody_to_read_is_an_error,
    a_writer_that_waits_is_told_when_nobody_can_read,
    much_goes_through,
    many_small_pieces_go_through,
    a_read_that_is_given_up_takes_nothing,
    a_write_that_is_given_up_writes_nothing,
    reading_to_the_end_keeps_what_it_has_when_given_up,
    reading_exactly_says_if_the_end_comes_first,
    trying_does_not_wait,
    descriptors_can_be_exchanged,
    what_cannot_be_waited_for_is_refused,
    both_ends_are_forgotten_when_they_are_dropped,
    a_pipe_that_cuts_into_packets_loses_none,
}

// spec: BX-1
fn bytes_arrive_and_then_the_end(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let (sender, receiver) = pipe::pair(cx)?;
        assert_eq!(sender.write(b"hello").await?, 5);
        let mut buffer = [0; 3];
        assert_eq!(receiver.read(&mut buffer).await?, 3);
        assert_eq!(&buffer, b"hel");
        drop(sender);
        assert_eq!(receiver.read(&mut buffer).await?, 2);
        assert_eq!(&buffer[..2], b"lo");
        for _ in 0..3 {
            assert_eq!(receiver.read(&mut buffer).await?, 0);
        }
        Ok(())
    });
}

/// Does something on another thread, once the loop sleeps.
fn when_asleep(
    event_loop: &EventLoop,
    f: impl FnOnce() + Send + 'static,
) -> thread::JoinHandle<()> {
    let handle = event_loop.handle();
    thread::spawn(move || {
        wait_until_sleeping(&handle);
        f();
    })
}

// spec: BX-1, WK-1
fn a_reader_that_waits_is_woken_by_bytes(variant: Variant) {
    let event_loop = build(variant);
    let (read, write) = io::pipe().unwrap();
    let receiver = Receiver::from_fd(event_loop.cx(), read).unwrap();
    for round in 0..10_u8 {
        let mut write = write.try_clone().unwrap();
        let writer = when_asleep(&event_loop, move || write.write_all(&[round]).unwrap());
        let mut buffer = [0xff; 8];
        assert_eq!(run(&event_loop, receiver.read(&mut buffer)), 1);
        assert_eq!(buffer[0], round);
        writer.join().unwrap();
    }
}

// spec: BX-1, WK-1
fn a_reader_that_waits_is_woken_by_the_end(variant: Variant) {
    let event_loop = build(variant);
    let (read, mut write) = io::pipe().unwrap();
    let receiver = Receiver::from_fd(event_loop.cx(), read).unwrap();
    // Something came before, and was less than there was room for.
    write.write_all(b"x").unwrap();
    assert_eq!(run(&event_loop, receiver.read(&mut [0; 8])), 1);
    let writer = when_asleep(&event_loop, move || drop(write));
    assert_eq!(run(&event_loop, receiver.read(&mut [0; 8])), 0);
    writer.join().unwrap();
}

/// Writes until the pipe is full.
fn fill(sender: &Sender) -> usize {
    let mut total = 0;
    loop {
        match sender.try_write(&[7; 4096]) {
            Ok(n) => total += n,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                return total;
            }
        }
    }
}

// spec: BX-1, WK-1
fn a_writer_that_waits_is_woken_by_room(variant: Variant) {
    let event_loop = build(variant);
    let (read, write) = io::pipe().unwrap();
    let sender = Sender::from_fd(event_loop.cx(), write).unwrap();
    let full = fill(&sender);
    let mut read_there = read.try_clone().unwrap();
    let reader = when_asleep(&event_loop, move || {
        read_there.read_exact(&mut vec![0; full]).unwrap();
    });
    assert_eq!(run(&event_loop, sender.write(b"more")), 4);
    reader.join().unwrap();
}

// spec: BX-1
fn nobody_to_read_is_an_error(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let (sender, receiver) = pipe::pair(cx)?;
        sender.write_all(b"unread").await?;
        drop(receiver);
        for _ in 0..3 {
            assert_eq!(sender.write(b"x").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
            assert_eq!(sender.write_all(b"x").await.unwrap_err().kind(), ErrorKind::BrokenPipe);
            assert_eq!(sender.try_write(b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);
        }
        Ok(())
    });
}

// spec: BX-1, WK-1
fn a_writer_that_waits_is_told_when_nobody_can_read(variant: Variant) {
    let event_loop = build(variant);
    let (read, write) = io::pipe().unwrap();
    let sender = Sender::from_fd(event_loop.cx(), write).unwrap();
    fill(&sender);
    let reader = when_asleep(&event_loop, move || drop(read));
    let error = event_loop.block_on(sender.write(b"more")).unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BrokenPipe);
    reader.join().unwrap();
}

/// Bytes that show where they come from.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i % 251) as u8).collect()
}

// spec: BX-1
fn much_goes_through(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let sent = pattern(1_000_003);
    run(&event_loop, async {
        let (sender, receiver) = pipe::pair(cx)?;
        let mut received = b"before".to_vec();
        let write = async {
            let written = sender.write_all(&sent).await;
            drop(sender);
            written
        };
        let (written, read) = both(write, receiver.read_to_end(&mut received)).await;
        written?;
        assert_eq!(read?, sent.len());
        assert_eq!(received[..6], *b"before");
        assert!(received[6..] == sent);
        Ok(())
    });
}

// spec: BX-1
fn many_small_pieces_go_through(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let sent = pattern(30_000);
    run(&event_loop, async {
        let (sender, receiver) = pipe::pair(cx)?;
        let write = async {
            for piece in sent.chunks(7) {
                sender.write_all(piece).await?;
            }
            drop(sender);
            io::Result::Ok(())
        };
        let read = async {
            let mut received = Vec::new();
            let mut buffer = [0; 5];
            loop {
                match receiver.read(&mut buffer).await? {
                    0 => return io::Result::Ok(received),
                    n => received.extend_from_slice(&buffer[..n]),
                }
            }
        };
        let (written, read) = both(write, read).await;
        written?;
        assert!(read? == sent);
        Ok(())
    });
}

// spec: BX-1
fn a_read_that_is_given_up_takes_nothing(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let (sender, receiver) = pipe::pair(cx)?;
        for round in 0..10 {
            let mut buffer = [0; 8];
            {
                let mut waiting = pin!(receiver.read(&mut buffer));
                assert!(poll_once(waiting.as_mut()).await.is_none());
                sender.write_all(&[round]).await?;
                // It has been woken, and is not polled again.
                receiver.readable().await?;
            }
            assert_eq!(receiver.read(&mut buffer).await?, 1);
            assert_eq!(buffer[0], round);
        }
        Ok(())
    });
}

// spec: BX-1
fn a_write_that_is_given_up_writes_nothing(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let (sender, receiver) = pipe::pair(cx)?;
        let mut full = fill(&sender);
        give_up(cx, sender.write(&[1; 64])).await;
        {
            let mut waiting = pin!(sender.write(&[1; 64]));
            assert!(poll_once(waiting.as_mut()).await.is_none());
            let mut buffer = vec![0; full];
            full -= receiver.read(&mut buffer).await?;
            sender.writable().await?;
        }
        assert_eq!(sender.write(&[2; 64]).await?, 64);
        drop(sender);
        let mut rest = Vec::new();
        receiver.read_to_end(&mut rest).await?;
        assert_eq!(rest.len(), full + 64);
        assert!(!rest.contains(&1));
        Ok(())
    });
}

// spec: BX-1
fn reading_to_the_end_keeps_what_it_has_when_given_up(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let (sender, receiver) = pipe::pair(cx)?;
        let mut text = Vec::new();
        sender.write_all(b"hello, ").await?;
        give_up(cx, receiver.read_to_end(&mut text)).await;
        assert_eq!(text, b"hello, ");
        sender.write_all(b"world").await?;
        drop(sender);
        assert_eq!(receiver.read_to_end(&mut text).await?, 5);
        assert_eq!(text, b"hello, world");
        Ok(())
    });
}

// spec: BX-1
fn reading_exactly_says_if_the_end_comes_first(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let (sender, receiver) = pipe::pair(cx)?;
        let mut buffer = [0; 6];
        let (read, written) = both(receiver.read_exact(&mut buffer), async {
            for piece in ["ab", "cd", "efg"] {
                sender.write_all(piece.as_bytes()).await?;
                cx.yield_now().await;
            }
            drop(sender);
            io::Result::Ok(())
        })
        .await;
        read?;
        written?;
        assert_eq!(&buffer, b"abcdef");
        let error = receiver.read_exact(&mut buffer).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedEof);
        Ok(())
    });
}

// spec: BX-1
fn trying_does_not_wait(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let (sender, receiver) = pipe::pair(cx)?;
        let mut buffer = [0; 8];
        assert_eq!(receiver.try_read(&mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
        give_up(cx, receiver.readable()).await;
        assert_eq!(sender.try_write(b"hello")?, 5);
        receiver.readable().await?;
        assert_eq!(receiver.try_read(&mut buffer)?, 5);
        fill(&sender);
        give_up(cx, sender.writable()).await;
        drop(sender);
        while receiver.try_read(&mut [0; 4096])? != 0 {}
        Ok(())
    });
}

// spec: BX-1
fn descriptors_can_be_exchanged(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let (sender, receiver) = pipe::pair(cx).unwrap();
    let (read, write) = (receiver.into_fd(), sender.into_fd());
    assert!(has_no_trace(&event_loop));
    // It stays non-blocking.
    let error = File::from(read.try_clone().unwrap()).read(&mut [0; 8]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
    let (sender, receiver) =
        (Sender::from_fd(cx, write).unwrap(), Receiver::from_fd(cx, read).unwrap());
    run(&event_loop, async {
        sender.write_all(b"hello").await?;
        assert_eq!(receiver.read(&mut [0; 8]).await?, 5);
        Ok(())
    });
}

// spec: BX-1, ER-2
fn what_cannot_be_waited_for_is_refused(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let file = File::open("/proc/self/stat").unwrap();
    Receiver::from_fd(cx, file).unwrap_err();
    // The wrong end can be had, but not used.
    let (read, write) = io::pipe().unwrap();
    let (sender, receiver) =
        (Sender::from_fd(cx, read).unwrap(), Receiver::from_fd(cx, write).unwrap());
    assert!(event_loop.block_on(sender.write(b"x")).unwrap().is_err());
    assert!(event_loop.block_on(receiver.read(&mut [0])).unwrap().is_err());
    // A loop that has ended takes none.
    event_loop.cx().close();
    let _ = event_loop.run();
    assert!(pipe::pair(cx).is_err());
}

// spec: BX-1
fn both_ends_are_forgotten_when_they_are_dropped(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    for _ in 0..100 {
        let (sender, receiver) = pipe::pair(cx).unwrap();
        run(&event_loop, async {
            sender.write_all(b"unread").await?;
            give_up(cx, async { receiver.read_exact(&mut [0; 8]).await }).await;
            Ok(())
        });
        // An end that nobody awaits does not keep the loop.
        event_loop.run_until_idle().unwrap();
        drop((sender, receiver));
        assert!(has_no_trace(&event_loop));
    }
}

// spec: BX-1
fn a_pipe_that_cuts_into_packets_loses_none(variant: Variant) {
    let event_loop = build(variant);
    let cx = event_loop.cx();
    let flags = rustix::pipe::PipeFlags::DIRECT | rustix::pipe::PipeFlags::CLOEXEC;
    let (read, write) = rustix::pipe::pipe_with(flags).unwrap();
    let (sender, receiver) =
        (Sender::from_fd(cx, write).unwrap(), Receiver::from_fd(cx, read).unwrap());
    run(&event_loop, async {
        // Each read ends at the end of a packet: less than there is room for does not mean that there is no more.
        for packet in ["one", "two", "three"] {
            sender.write_all(packet.as_bytes()).await?;
        }
        let mut buffer = [0; 64];
        for packet in ["one", "two", "three"] {
            let n = receiver.read(&mut buffer).await?;
            assert_eq!(&buffer[..n], packet.as_bytes());
        }
        Ok(())
    });
}

const KEY: &str = "MAINSPRING_PIPES";

/// Starts a process of its own, since the effect of a signal is for a whole process.
fn in_a_process(scenario: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_process", "--nocapture", "--test-threads=1"])
        .env(KEY, scenario)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("scenario done"), "{output:?}");
}

static SIGPIPES: AtomicUsize = AtomicUsize::new(0);

extern "C" fn count_sigpipe(_: libc::c_int) {
    SIGPIPES.fetch_add(1, Ordering::Relaxed);
}

fn set_sigpipe(action: libc::sighandler_t) {
    // SAFETY: the handler does nothing but to count.
    assert_ne!(unsafe { libc::signal(libc::SIGPIPE, action) }, libc::SIG_ERR);
}

fn only_sigpipe() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the first call makes it a set.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGPIPE);
        set.assume_init()
    }
}

/// Whether SIGPIPE is blocked, and whether it waits.
fn sigpipe() -> (bool, bool) {
    let (mut blocked, mut pending) = (only_sigpipe(), only_sigpipe());
    // SAFETY: there is room for both sets, and no new one.
    unsafe {
        assert_eq!(libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), &mut blocked), 0);
        assert_eq!(libc::sigpending(&mut pending), 0);
        let has = |set| libc::sigismember(set, libc::SIGPIPE) == 1;
        (has(&blocked), has(&pending))
    }
}

fn write_to_nobody(cx: &Cx, event_loop: &EventLoop) {
    for _ in 0..3 {
        let (sender, receiver) = pipe::pair(cx).unwrap();
        run(event_loop, sender.write_all(b"somebody reads this"));
        drop(receiver);
        let error = event_loop.block_on(sender.write(b"nobody reads this")).unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BrokenPipe);
        assert_eq!(sender.try_write(b"nor this").unwrap_err().kind(), ErrorKind::BrokenPipe);
    }
}

/// What the process does.
#[test]
fn the_process() {
    let Ok(scenario) = std::env::var(KEY) else { return };
    let _watchdog = common::watchdog("the_process");
    let event_loop = common::builder().build().unwrap();
    let cx = event_loop.cx();
    match &*scenario {
        "default" => {
            set_sigpipe(libc::SIG_DFL);
            write_to_nobody(cx, &event_loop);
            assert_eq!(sigpipe(), (false, false));
        }
        "handler" => {
            set_sigpipe(count_sigpipe as *const () as libc::sighandler_t);
            write_to_nobody(cx, &event_loop);
            assert_eq!(sigpipe(), (false, false));
            assert_eq!(SIGPIPES.load(Ordering::Relaxed), 0);
        }
        "blocked" => {
            set_sigpipe(libc::SIG_DFL);
            // SAFETY: the set is one.
            unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &only_sigpipe(), ptr::null_mut()) };
            write_to_nobody(cx, &event_loop);
            assert_eq!(sigpipe(), (true, false));
            // One that was there before is not taken away.
            // SAFETY: it is blocked.
            unsafe { libc::raise(libc::SIGPIPE) };
            write_to_nobody(cx, &event_loop);
            assert_eq!(sigpipe(), (true, true));
        }
        "ignored" => {
            write_to_nobody(cx, &event_loop);
            assert_eq!(sigpipe(), (false, false));
        }
        _ => unreachable!(),
    }
    println!("scenario done");
}

// spec: BX-1, WK-8
#[test]
fn nobody_to_read_does_not_end_a_process_that_does_not_ignore_sigpipe() {
    in_a_process("default");
}

// spec: BX-1, WK-8
#[test]
fn nobody_to_read_does_not_call_a_handler_of_sigpipe() {
    in_a_process("handler");
}

// spec: BX-1, WK-8
#[test]
fn a_sigpipe_of_somebody_else_is_left_alone() {
    in_a_process("blocked");
}

// spec: BX-1, WK-8
#[test]
fn sigpipe_is_not_touched_if_it_is_ignored() {
    in_a_process("ignored");
}

#[cfg(feature = "futures-io")]
mod traits {
    use std::future::poll_fn;
    use std::io;
    use std::pin::Pin;

    use futures_io::{AsyncRead, AsyncWrite};
    use mainspring::net::pipe;

    use crate::awaiting::run;

    // spec: BX-1
    #[test]
    fn both_ends_have_the_traits_of_futures_io() {
        let event_loop = crate::common::builder().build().unwrap();
        let (mut sender, mut receiver) = pipe::pair(event_loop.cx()).unwrap();
        let written = poll_fn(|context| Pin::new(&mut sender).poll_write(context, b"hello"));
        assert_eq!(run(&event_loop, written), 5);
        run(&event_loop, poll_fn(|context| Pin::new(&mut sender).poll_flush(context)));
        let mut buffer = [0; 8];
        let read = poll_fn(|context| Pin::new(&mut receiver).poll_read(context, &mut buffer));
        assert_eq!(run(&event_loop, read), 5);
        run(&event_loop, poll_fn(|context| Pin::new(&mut sender).poll_close(context)));
        drop(sender);
        let end: io::Result<usize> = event_loop
            .block_on(poll_fn(|context| Pin::new(&mut receiver).poll_read(context, &mut buffer)))
            .unwrap();
        assert_eq!(end.unwrap(), 0);
    }
}
