//! Parking and polling with descriptors that come and go.
//!
//! Which of the two a sleeping loop does is asked of the kernel: the system call that its thread is in.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/fds.rs"]
mod fds;

use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use common::timers::{elsewhere, tick};
use common::{Tracker, wait_until_sleeping, watchdog};
use fds::{drain, flush, is_orphaned, pair, readable};
use mainspring::{
    Cx, Deadline, Error, FastPathMode, Handle, Interest, LoopState, Readiness, Shutdown,
};

use FastPathMode::{Auto, Disabled, Forced};

/// What a sleeping thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sleep {
    Parks,
    Polls,
}

/// A loop on a thread of its own.
struct Running {
    handle: Handle,
    thread: JoinHandle<Result<(), Error>>,
    /// The kernel's number for the thread.
    id: i32,
}

impl Running {
    fn start(mode: FastPathMode) -> Self {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::spawn(move || {
            let builder = common::builder().fast_path(mode).max_spin(Duration::ZERO);
            let event_loop = builder.build().unwrap();
            let id = rustix::thread::gettid().as_raw_nonzero().get();
            sender.send((event_loop.handle(), id)).unwrap();
            event_loop.run()
        });
        let (handle, id) = receiver.recv().unwrap();
        wait_until_sleeping(&handle);
        Self { handle, thread, id }
    }

    /// What the thread does now, if it sleeps.
    fn sleep(&self) -> Option<Sleep> {
        let text = std::fs::read_to_string(format!("/proc/self/task/{}/syscall", self.id)).unwrap();
        // `running` if it is in none.
        let number: libc::c_long = text.split(' ').next()?.trim().parse().ok()?;
        let polls = [
            libc::SYS_epoll_pwait,
            libc::SYS_epoll_pwait2,
            libc::SYS_ppoll,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_epoll_wait,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_poll,
        ];
        if self.handle.state() != LoopState::Sleeping {
            None
        } else if number == libc::SYS_futex {
            Some(Sleep::Parks)
        } else {
            polls.contains(&number).then_some(Sleep::Polls)
        }
    }

    #[track_caller]
    fn expect(&self, sleep: Sleep) {
        // It may be on its way from one to the other.
        patiently(|| self.sleep() == Some(sleep), || format!("{sleep:?}, not {:?}", self.sleep()));
    }

    fn end(self) {
        let shutdown = self.handle.shutdown(Deadline::NEVER).unwrap();
        assert_eq!(shutdown, Shutdown::Finished { dropped: 0 });
        self.thread.join().unwrap().unwrap();
    }
}

/// Waits for a condition that another thread brings about, and fails if it does not.
#[track_caller]
fn patiently(condition: impl Fn() -> bool, expected: impl Fn() -> String) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < Duration::from_secs(30), "{}", expected());
        thread::yield_now();
    }
}

fn nothing(_: &Cx, _: &UnixStream, _: Readiness) {}

// spec: WK-6
#[test]
fn a_loop_that_must_park_refuses_descriptors() {
    let _watchdog = watchdog("a_loop_that_must_park_refuses_descriptors");
    for set_later in [false, true] {
        let builder = common::builder().fast_path(if set_later { Auto } else { Forced });
        let event_loop = builder.build().unwrap();
        let handle = event_loop.handle();
        if set_later {
            handle.set_fast_path(Forced).unwrap();
        }
        let tracker = Tracker::new();
        let (socket, peer) = readable();
        let fd = socket.as_raw_fd();
        let token = tracker.token();
        let callback = move |_: &Cx, _: &UnixStream, _: Readiness| _ = &token;
        let error = event_loop.cx().register_fd(socket, Interest::READ, callback).unwrap_err();
        let (error, socket, callback) = error.into_parts();
        assert!(matches!(error, Error::FastPathIncompatible), "{error}");
        let error = elsewhere(|| handle.register_fd(socket, Interest::READ, callback)).unwrap_err();
        let (error, socket, callback) = error.into_parts();
        assert!(matches!(error, Error::FastPathIncompatible), "{error}");
        assert_eq!((tracker.alive(), socket.as_raw_fd()), (1, fd), "handed back");
        assert!(matches!(handle.unregister_fd(fd), Err(Error::FdNotRegistered)), "no trace");
        event_loop.run_until_idle().unwrap();
        // Nothing of it keeps the same one from being registered when it is possible.
        handle.set_fast_path(Auto).unwrap();
        handle.register_fd(socket, Interest::READ, callback).unwrap();
        assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 1);
        drop(event_loop);
        assert!(is_orphaned(&peer) && tracker.alive() == 0);
    }
}

// spec: WK-6, ER-2
#[test]
fn a_loop_with_descriptors_cannot_be_made_to_park() {
    let _watchdog = watchdog("a_loop_with_descriptors_cannot_be_made_to_park");
    // Registered is registered, whether it can be delivered or not.
    for interest in [Interest::READ, Interest::NONE, Interest::READ.one_shot()] {
        for mode in [Auto, Disabled] {
            let event_loop = common::builder().fast_path(mode).build().unwrap();
            let handle = event_loop.handle();
            let (socket, _peer) = readable();
            let fd = socket.as_raw_fd();
            event_loop.cx().register_fd(socket, interest, nothing).unwrap();
            event_loop.cx().reference_fd(fd, false).unwrap();
            for _ in 0..2 {
                let result = elsewhere(|| handle.set_fast_path(Forced));
                assert!(matches!(result, Err(Error::FastPathIncompatible)), "{result:?}");
                assert_eq!(handle.fast_path(), mode);
                tick(&event_loop);
            }
            // From another thread, before the loop has taken notice.
            elsewhere(|| handle.unregister_fd(fd)).unwrap();
            handle.set_fast_path(Forced).unwrap();
            assert_eq!(handle.fast_path(), Forced);
            tick(&event_loop);
        }
    }
}

// spec: WK-6
#[test]
fn a_loop_parks_while_it_has_no_descriptor_and_polls_while_it_has() {
    let _watchdog = watchdog("a_loop_parks_while_it_has_no_descriptor_and_polls_while_it_has");
    let running = Running::start(Auto);
    let handle = &running.handle;
    running.expect(Sleep::Parks);
    for round in 0..20 {
        // What is registered counts, not what can be delivered.
        let interest = if round % 2 == 0 { Interest::READ } else { Interest::NONE };
        let sockets = [pair(), pair()];
        let fds = sockets.each_ref().map(|(socket, _)| socket.as_raw_fd());
        let peers = sockets.map(|(socket, peer)| {
            handle.register_fd(socket, interest, nothing).unwrap();
            running.expect(Sleep::Polls);
            peer
        });
        handle.unregister_fd(fds[0]).unwrap();
        flush(handle);
        running.expect(Sleep::Polls);
        if round % 3 == 0 {
            // By the loop itself.
            let last = fds[1];
            handle.submit(move |cx| cx.unregister_fd(last).unwrap()).unwrap();
        } else {
            handle.unregister_fd(fds[1]).unwrap();
        }
        running.expect(Sleep::Parks);
        drop(peers);
    }
    running.end();
}

// spec: WK-6
#[test]
fn a_loop_that_was_told_how_to_sleep_does_so() {
    let _watchdog = watchdog("a_loop_that_was_told_how_to_sleep_does_so");
    let running = Running::start(Disabled);
    let handle = &running.handle;
    running.expect(Sleep::Polls);
    for _ in 0..5 {
        handle.set_fast_path(Auto).unwrap();
        running.expect(Sleep::Parks);
        handle.set_fast_path(Disabled).unwrap();
        running.expect(Sleep::Polls);
        handle.set_fast_path(Forced).unwrap();
        running.expect(Sleep::Parks);
        // With a descriptor there is one way only, under either name.
        handle.set_fast_path(Auto).unwrap();
        let (socket, _peer) = pair();
        let fd = socket.as_raw_fd();
        handle.register_fd(socket, Interest::READ, nothing).unwrap();
        running.expect(Sleep::Polls);
        for mode in [Disabled, Auto] {
            handle.set_fast_path(mode).unwrap();
            flush(handle);
            running.expect(Sleep::Polls);
        }
        assert!(matches!(handle.set_fast_path(Forced), Err(Error::FastPathIncompatible)));
        flush(handle);
        running.expect(Sleep::Polls);
        handle.set_fast_path(Disabled).unwrap();
        handle.unregister_fd(fd).unwrap();
        flush(handle);
        running.expect(Sleep::Polls);
    }
    running.end();
}

// spec: WK-6, F-21
#[test]
fn a_loop_whose_last_descriptor_went_hears_of_tasks() {
    let _watchdog = watchdog("a_loop_whose_last_descriptor_went_hears_of_tasks");
    let running = Running::start(Auto);
    let handle = &running.handle;
    for round in 0..1_000_usize {
        let (socket, _peer) = pair();
        let fd = socket.as_raw_fd();
        handle.register_fd(socket, Interest::READ, nothing).unwrap();
        if round % 2 == 0 {
            wait_until_sleeping(handle);
        }
        handle.unregister_fd(fd).unwrap();
        // It changes over now. Meet it a little further on each time.
        (0..round % 500).for_each(|_| std::hint::spin_loop());
        let tracker = Tracker::new();
        match round % 3 {
            0 => handle.submit(tracker.callback()).unwrap(),
            1 => handle.submit_internal(tracker.callback()).unwrap(),
            _ => handle.queue_microtask(tracker.callback()).unwrap(),
        }
        patiently(|| tracker.ran() == 1, || format!("the task of round {round}"));
    }
    running.end();
}

// spec: WK-6
#[test]
fn a_deadline_survives_the_change_from_parking_to_polling_and_back() {
    let _watchdog = watchdog("a_deadline_survives_the_change_from_parking_to_polling_and_back");
    let running = Running::start(Auto);
    let handle = &running.handle;
    for is_polling in [false, true] {
        let (socket, _peer) = pair();
        let fd = socket.as_raw_fd();
        let mut socket = Some(socket);
        if is_polling {
            handle.register_fd(socket.take().unwrap(), Interest::READ, nothing).unwrap();
        }
        let tracker = Tracker::new();
        handle.set_timeout(Duration::from_millis(30), tracker.callback()).unwrap();
        let hour = handle.set_timeout(Duration::from_secs(3_600), tracker.callback()).unwrap();
        running.expect(if is_polling { Sleep::Polls } else { Sleep::Parks });
        if is_polling {
            handle.unregister_fd(fd).unwrap();
        } else {
            handle.register_fd(socket.take().unwrap(), Interest::READ, nothing).unwrap();
        }
        running.expect(if is_polling { Sleep::Parks } else { Sleep::Polls });
        patiently(|| tracker.ran() == 1, || "the timer".to_owned());
        assert!(handle.clear_timeout(hour));
        let _ = handle.unregister_fd(fd);
    }
    running.end();
}

// spec: WK-6
#[test]
fn of_a_registration_and_the_forced_mode_one_wins() {
    let _watchdog = watchdog("of_a_registration_and_the_forced_mode_one_wins");
    let running = Running::start(Auto);
    let handle = &running.handle;
    let mut wins = [0; 2];
    for round in 0..2_000 {
        let (socket, _peer) = pair();
        let fd = socket.as_raw_fd();
        let start = Barrier::new(2);
        let (registered, forced) = thread::scope(|scope| {
            let register = scope.spawn(|| {
                start.wait();
                (0..round % 50).for_each(|_| std::hint::spin_loop());
                handle.register_fd(socket, Interest::READ, nothing).map_err(Error::from)
            });
            start.wait();
            let forced = handle.set_fast_path(Forced);
            (register.join().unwrap(), forced)
        });
        match (registered, forced) {
            (Ok(()), Err(Error::FastPathIncompatible)) => {
                assert_eq!(handle.fast_path(), Auto);
                handle.unregister_fd(fd).unwrap();
                wins[0] += 1;
            }
            (Err(Error::FastPathIncompatible), Ok(())) => {
                assert_eq!(handle.fast_path(), Forced);
                assert!(matches!(handle.unregister_fd(fd), Err(Error::FdNotRegistered)));
                handle.set_fast_path(Auto).unwrap();
                wins[1] += 1;
            }
            both => panic!("in round {round}: {both:?}"),
        }
    }
    assert!(wins.iter().all(|wins| *wins > 0), "the race is one: {wins:?}");
    running.end();
}

// spec: WK-6, F-21
#[test]
fn a_descriptor_is_served_in_every_mode_and_between_them() {
    let _watchdog = watchdog("a_descriptor_is_served_in_every_mode_and_between_them");
    let running = Running::start(Disabled);
    let handle = &running.handle;
    let (socket, mut peer) = pair();
    let served = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&served);
    let callback = move |_: &Cx, source: &UnixStream, _: Readiness| {
        drain(source);
        counted.fetch_add(1, Ordering::SeqCst);
    };
    handle.register_fd(socket, Interest::READ, callback).unwrap();
    for n in 0..2_000_usize {
        if n % 2 == 0 {
            wait_until_sleeping(handle);
        }
        let before = served.load(Ordering::SeqCst);
        let mode = if n % 4 < 2 { Auto } else { Disabled };
        if n % 3 == 0 {
            handle.set_fast_path(mode).unwrap();
            peer.write_all(b"x").unwrap();
        } else {
            peer.write_all(b"x").unwrap();
            handle.set_fast_path(mode).unwrap();
        }
        patiently(|| served.load(Ordering::SeqCst) > before, || format!("byte {n}"));
    }
    running.end();
}

/// Two threads that submit, each of which goes on when its task was run.
struct Producers {
    trackers: [Tracker; 2],
    threads: Vec<JoinHandle<usize>>,
    stop: Arc<AtomicBool>,
}

impl Producers {
    fn start(handle: &Handle) -> Self {
        let trackers = [Tracker::new(), Tracker::new()];
        let stop = Arc::new(AtomicBool::new(false));
        let threads = (0..2)
            .map(|i| {
                let (tracker, handle, stop) =
                    (trackers[i].clone(), handle.clone(), Arc::clone(&stop));
                thread::spawn(move || {
                    let mut accepted = 0;
                    while !stop.load(Ordering::Relaxed) {
                        match (accepted + i) % 3 {
                            0 => handle.submit(tracker.callback()).unwrap(),
                            1 => handle.submit_internal(tracker.callback()).unwrap(),
                            _ => handle.queue_microtask(tracker.callback()).unwrap(),
                        }
                        accepted += 1;
                        // A second one would wake the loop for the first one, too. Only sometimes there is.
                        if accepted % 7 != 0 {
                            let lost = || format!("producer {i} waits for its task {accepted}");
                            patiently(|| tracker.ran() == accepted, lost);
                        }
                    }
                    accepted
                })
            })
            .collect();
        Self { trackers, threads, stop }
    }

    /// Waits until both got on. What the switching thread does next would wake the loop for a task that is
    /// stranded, so nothing is done before.
    #[track_caller]
    fn progress(&self) {
        for tracker in &self.trackers {
            let before = tracker.ran();
            patiently(|| tracker.ran() > before, || "a task is stranded".to_owned());
        }
    }

    /// How many tasks were accepted, and how many run.
    fn end(self, handle: &Handle) -> (usize, usize) {
        self.stop.store(true, Ordering::Relaxed);
        let accepted = self.threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        let shutdown = handle.shutdown(Deadline::NEVER).unwrap();
        assert_eq!(shutdown, Shutdown::Finished { dropped: 0 });
        (accepted, self.trackers.iter().map(Tracker::ran).sum())
    }
}

/// Lets descriptors come and go and changes the mode, while two threads submit, for as long as `goes_on`
/// says so of the number of changes.
fn switch(goes_on: impl Fn(usize) -> bool) {
    let running = Running::start(Auto);
    let handle = &running.handle;
    let producers = Producers::start(handle);
    let served = Arc::new(AtomicUsize::new(0));
    let captured = Tracker::new();
    let mut switches = 0;
    for round in 0_usize.. {
        if !goes_on(switches) {
            break;
        }
        // Parks, or polls without a descriptor.
        let mode = if round % 5 == 4 { Disabled } else { Auto };
        handle.set_fast_path(mode).unwrap();
        producers.progress();
        let (socket, mut peer) = if round % 2 == 0 { readable() } else { pair() };
        let fd = socket.as_raw_fd();
        let (token, counted) = (captured.token(), Arc::clone(&served));
        let leaves = round % 3 == 0;
        let callback = move |cx: &Cx, source: &UnixStream, _: Readiness| {
            let _ = &token;
            drain(source);
            if leaves {
                cx.unregister_fd(source.as_raw_fd()).unwrap();
            }
            counted.fetch_add(1, Ordering::SeqCst);
        };
        let before = served.load(Ordering::SeqCst);
        if round % 7 == 6 {
            // On the loop's thread.
            let register = move |cx: &Cx| cx.register_fd(socket, Interest::READ, callback).unwrap();
            handle.submit(register).unwrap();
        } else {
            handle.register_fd(socket, Interest::READ, callback).unwrap();
        }
        producers.progress();
        if round % 2 == 1 {
            peer.write_all(b"x").unwrap();
        }
        patiently(|| served.load(Ordering::SeqCst) > before, || format!("descriptor of {round}"));
        if !leaves {
            if round % 4 == 0 {
                handle.set_fast_path(Disabled).unwrap();
                handle.set_fast_path(Auto).unwrap();
                assert!(matches!(handle.set_fast_path(Forced), Err(Error::FastPathIncompatible)));
                producers.progress();
            }
            handle.unregister_fd(fd).unwrap();
            producers.progress();
        }
        if round % 6 == 5 {
            handle.set_fast_path(Forced).unwrap();
            producers.progress();
            switches += 1;
        }
        patiently(|| captured.alive() == 0, || "the captures are released".to_owned());
        assert_eq!(served.load(Ordering::SeqCst), before + 1);
        switches += 2;
    }
    let (accepted, ran) = producers.end(handle);
    assert_eq!(accepted, ran);
    println!("{switches} changes of the way to sleep, {accepted} tasks");
    running.thread.join().unwrap().unwrap();
}

// spec: WK-6, F-21
#[test]
fn nothing_is_lost_while_descriptors_come_and_go_and_two_threads_submit() {
    let _watchdog =
        watchdog("nothing_is_lost_while_descriptors_come_and_go_and_two_threads_submit");
    switch(|switches| switches < 3_000);
}

// Ten minutes, or as many seconds as the environment says.
// spec: WK-6, F-21
#[test]
#[ignore = "takes ten minutes"]
fn nothing_is_lost_for_as_long_as_descriptors_come_and_go_and_two_threads_submit() {
    let seconds = std::env::var("MAINSPRING_SWITCH_SECONDS")
        .map_or(600, |text| text.parse().expect("a number of seconds"));
    let begin = Instant::now();
    switch(|_| begin.elapsed() < Duration::from_secs(seconds));
}
