//! Several loops on threads of their own.
#![cfg(not(loom))]

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, channel};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use mainspring::{Cx, Deadline, Error, LoopGroup, LoopState, PanicPolicy};

const SOON: Duration = Duration::from_secs(30);

fn group(loops: usize) -> LoopGroup {
    LoopGroup::builder().loops(loops).build().unwrap()
}

/// The name of the thread on which a future of the group runs.
fn place(promise: mainspring::Promise<String>) -> String {
    promise.wait(SOON).unwrap()
}

fn name() -> String {
    thread::current().name().unwrap().to_owned()
}

// spec: SH-5, BX-4
#[test]
fn round_robin_gives_each_loop_the_same_share() {
    let group = group(3);
    let mut shares = HashMap::new();
    for _ in 0..12 {
        *shares.entry(place(group.spawn(|_| async { name() }))).or_insert(0) += 1;
    }
    assert_eq!(shares.len(), 3);
    assert!(shares.values().all(|share| *share == 4), "{shares:?}");
}

// spec: SH-5
#[test]
fn a_key_leads_to_the_same_loop_each_time_and_keys_to_all_loops() {
    let group = group(3);
    let places = || -> Vec<_> {
        (0..64).map(|key| place(group.spawn_by_key(&key, |_| async { name() }))).collect()
    };
    let first = places();
    assert_eq!(first, places());
    assert_eq!(first.iter().collect::<HashSet<_>>().len(), 3);
    assert_eq!(place(group.spawn_by_key("a", |_| async { name() })), {
        place(group.spawn_by_key(&String::from("a"), |_| async { name() }))
    });
}

// spec: SH-5
#[test]
fn a_loop_that_has_ended_is_passed_over_and_the_others_go_on() {
    let group = group(2);
    group.handles()[0].shutdown(SOON).unwrap();
    for _ in 0..4 {
        assert_eq!(place(group.spawn(|_| async { name() })), "mainspring-1");
    }
    group.handles()[1].shutdown(SOON).unwrap();
    assert!(group.spawn(|_| async {}).wait(SOON).is_err(), "all have ended");
    group.shutdown(SOON).unwrap();
}

// spec: SH-5, BX-4
#[test]
fn a_shutdown_aborts_the_signal_and_waits_for_what_is_left() {
    let group = group(2);
    let done = Arc::new(AtomicUsize::new(0));
    for _ in 0..4 {
        let (signal, done) = (group.signal(), Arc::clone(&done));
        group.spawn(move |cx| {
            let cx = cx.clone();
            async move {
                cx.aborted(&signal).await;
                for _ in 0..100 {
                    cx.yield_now().await;
                }
                done.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    let handles = group.handles();
    group.shutdown(Deadline::NEVER).unwrap();
    assert_eq!(done.load(Ordering::Relaxed), 4);
    assert!(handles.iter().all(|handle| handle.state() == LoopState::Terminated));
}

/// Sends when it is dropped.
struct Tell(mpsc::Sender<&'static str>);

impl Drop for Tell {
    fn drop(&mut self) {
        let _ = self.0.send("dropped");
    }
}

// spec: SH-5
#[test]
fn what_is_left_at_the_deadline_is_dropped_on_its_loop() {
    let group = group(2);
    let (tell, told) = channel();
    let tell = Tell(tell);
    let promise = group.spawn(move |_| async move {
        let _tell = tell;
        std::future::pending::<()>().await;
    });
    let result = promise.to_channel();
    let error = group.shutdown(Duration::ZERO).unwrap_err();
    assert!(matches!(error, Error::DeadlineExceeded { left: 1.. }), "{error}");
    assert_eq!(told.recv_timeout(SOON), Ok("dropped"));
    let reason = result.recv_timeout(SOON).unwrap().unwrap_err();
    assert!(matches!(reason.downcast_ref(), Some(Error::Terminated)));
}

#[test]
fn a_callback_that_does_not_return_does_not_keep_a_shutdown_for_ever() {
    let group = group(2);
    let (begun, is_begun) = channel();
    let (go_on, wait) = channel::<()>();
    group.handles()[0]
        .submit(move |_| {
            begun.send(()).unwrap();
            wait.recv().unwrap();
        })
        .unwrap();
    is_begun.recv().unwrap();
    let error = group.shutdown(Duration::from_millis(1)).unwrap_err();
    // The other loop may need longer than that for its end.
    assert!(matches!(error, Error::DeadlineExceeded { left: 1 | 2 }), "{error}");
    go_on.send(()).unwrap();
}

#[test]
fn dropping_a_group_ends_its_loops_and_waits_for_them() {
    let group = group(3);
    let handles = group.handles();
    let (tell, told) = channel();
    let tell = Tell(tell);
    group.spawn(move |_| async move {
        let _tell = tell;
        std::future::pending::<()>().await;
    });
    drop(group);
    assert!(handles.iter().all(|handle| handle.state() == LoopState::Terminated));
    assert_eq!(told.try_recv(), Ok("dropped"));
}

#[test]
fn a_group_can_be_dropped_by_one_of_its_own_loops() {
    let group = group(2);
    let first = group.handles()[0].clone();
    let (tell, told) = channel();
    let tell = Tell(tell);
    first
        .submit(move |_| {
            drop(group);
            drop(tell);
        })
        .unwrap();
    assert_eq!(told.recv_timeout(SOON), Ok("dropped"));
}

#[test]
fn loops_that_cannot_be_built_are_an_error_and_leave_no_thread() {
    let seen = Arc::new(AtomicUsize::new(0));
    let theirs = Arc::clone(&seen);
    let error = LoopGroup::builder()
        .loops(3)
        .configure(move |number, builder| {
            theirs.fetch_add(1, Ordering::Relaxed);
            if number == 2 { builder.external_budget(0) } else { builder }
        })
        .build()
        .unwrap_err();
    assert!(matches!(error, Error::InvalidOption { option: "external_budget", .. }), "{error}");
    assert_eq!(seen.load(Ordering::Relaxed), 3);
    assert_eq!(Arc::strong_count(&seen), 1, "the threads are gone");

    let error =
        LoopGroup::builder().configure(|_, _| panic!("expected by the test")).build().unwrap_err();
    assert!(error.to_string().contains("expected by the test"), "{error}");
}

#[test]
fn a_panic_that_leaves_a_loop_is_told_by_the_shutdown() {
    let group = LoopGroup::builder()
        .loops(2)
        .configure(|_, builder| builder.panic_policy(PanicPolicy::Propagate))
        .build()
        .unwrap();
    let ended = group.handles()[0].clone();
    ended.submit(|_| panic!("expected by the test")).unwrap();
    while ended.state() != LoopState::Terminated {
        thread::yield_now();
    }
    assert_eq!(place(group.spawn(|_| async { name() })), "mainspring-1");
    let error = group.shutdown(SOON).unwrap_err();
    assert!(error.to_string().contains("expected by the test"), "{error}");
}

// What came between a loop's last look and its end was dropped.
// spec: SH-5, F-33
#[test]
fn what_a_group_accepted_while_it_shuts_down_is_run() {
    const ROUNDS: usize = 200;
    for round in 0..ROUNDS {
        let group = group(2);
        let handles = group.handles();
        let ran = Arc::new(AtomicUsize::new(0));
        let barrier = Arc::new(Barrier::new(2));
        let submitter = {
            let (ran, barrier) = (Arc::clone(&ran), Arc::clone(&barrier));
            thread::spawn(move || {
                let mut accepted = 0;
                barrier.wait();
                loop {
                    let before = accepted;
                    for handle in &handles {
                        let ran = Arc::clone(&ran);
                        let task = move |_: &Cx| _ = ran.fetch_add(1, Ordering::Relaxed);
                        accepted += usize::from(handle.submit(task).is_ok());
                    }
                    if accepted == before {
                        return accepted;
                    }
                    // The loops are to have nothing to do now and then.
                    thread::yield_now();
                }
            })
        };
        barrier.wait();
        group.shutdown(Deadline::NEVER).unwrap();
        let accepted = submitter.join().unwrap();
        assert_eq!(ran.load(Ordering::Relaxed), accepted, "in round {round}");
    }
}

// It waited for itself.
// spec: SH-5, F-26
#[test]
fn a_group_can_be_shut_down_by_one_of_its_own_loops() {
    for by_future in [false, true] {
        let group = group(2);
        let handles = group.handles();
        let (tell, told) = channel();
        // It goes on meanwhile, and is waited for: it needs an answer of the other loop.
        let (other, signal, late) = (handles[0].clone(), group.signal(), tell.clone());
        let answered = handles[1].spawn(move |cx| {
            let cx = cx.clone();
            async move {
                cx.aborted(&signal).await;
                let answer = other.spawn(|_| async { 5 });
                let _ = late.send(answer.await.is_ok_and(|answer| answer == 5));
            }
        });
        if by_future {
            handles[0].spawn(move |_| async move {
                let _ = tell.send(group.shutdown(Deadline::NEVER).is_ok());
            });
        } else {
            let end = move |_: &Cx| _ = tell.send(group.shutdown(Deadline::NEVER).is_ok());
            handles[0].submit(end).unwrap();
        }
        assert_eq!(told.recv_timeout(SOON), Ok(true), "it returns");
        // The other loop may find the first one ended, or not.
        told.recv_timeout(SOON).unwrap();
        drop(answered);
        for handle in &handles {
            handle.shutdown(SOON).ok();
            assert_eq!(handle.state(), LoopState::Terminated);
        }
    }
}

// spec: SH-5, F-26
#[test]
fn a_group_that_is_shut_down_by_one_of_its_own_loops_has_a_deadline() {
    let group = group(2);
    let handles = group.handles();
    let (tell, told) = channel();
    for handle in &handles {
        let tell = Tell(tell.clone());
        handle.spawn(move |_| async move {
            let _tell = tell;
            std::future::pending::<()>().await;
        });
    }
    handles[0].submit(move |_| group.shutdown(Duration::ZERO).unwrap()).unwrap();
    for _ in &handles {
        assert_eq!(told.recv_timeout(SOON), Ok("dropped"));
    }
}

// Each loop was closed after a grace for the one before it, and went on until then.
// spec: SH-5
#[test]
fn all_loops_of_a_group_have_the_same_deadline() {
    let group = group(2);
    let (first, second) = (group.handles()[0].clone(), group.handles()[1].clone());
    let (begun, is_begun) = channel();
    let begins = begun.clone();
    let other = second.clone();
    first
        .submit(move |_| {
            begins.send(()).unwrap();
            while other.state() != LoopState::Terminated {
                thread::yield_now();
            }
        })
        .unwrap();
    second
        .submit(move |_| {
            begun.send(()).unwrap();
            while !first.state().is_ending() {
                thread::yield_now();
            }
        })
        .unwrap();
    is_begun.recv().unwrap();
    is_begun.recv().unwrap();
    let error = group.shutdown(Duration::ZERO).unwrap_err();
    // The second one ends because the first one is closed, and that is after the deadline of both.
    assert!(matches!(error, Error::DeadlineExceeded { left: 2 }), "{error}");
}

// The thread was not waited for.
// spec: SH-5
#[test]
fn a_loop_that_cannot_be_built_has_no_thread_any_more() {
    /// Takes its time, and then tells.
    struct Slow(Arc<AtomicUsize>);

    impl Drop for Slow {
        fn drop(&mut self) {
            for _ in 0..300_000 {
                std::hint::spin_loop();
            }
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    thread_local!(static END: RefCell<Option<Slow>> = const { RefCell::new(None) });

    for does_panic in [false, true] {
        let ended = Arc::new(AtomicUsize::new(0));
        let theirs = Arc::clone(&ended);
        let error = LoopGroup::builder()
            .loops(1)
            .configure(move |_, builder| {
                END.set(Some(Slow(Arc::clone(&theirs))));
                assert!(!does_panic, "expected by the test");
                builder.external_budget(0)
            })
            .build()
            .unwrap_err();
        assert_eq!(matches!(error, Error::InvalidOption { .. }), !does_panic, "{error}");
        assert_eq!(ended.load(Ordering::SeqCst), 1, "the thread is gone");
    }
}

#[cfg(unix)]
mod listening {
    use super::*;
    use std::io::{ErrorKind, Read, Write};
    use std::net::{SocketAddr, TcpStream};
    use std::sync::Mutex;

    /// A server that tells each client where it runs, and waits until that is gone.
    fn serve(group: &LoopGroup) -> SocketAddr {
        group
            .listen("127.0.0.1:0", |_, stream| async move {
                let _ = stream.write_all(name().as_bytes()).await;
                let _ = stream.shutdown(std::net::Shutdown::Write);
                let _ = stream.read(&mut [0]).await;
            })
            .unwrap()
    }

    fn ask(address: SocketAddr) -> String {
        let mut text = String::new();
        TcpStream::connect(address).unwrap().read_to_string(&mut text).unwrap();
        text
    }

    // spec: BX-4
    #[test]
    fn all_loops_accept_at_one_address() {
        let group = group(2);
        let address = serve(&group);
        // The system decides by a hash of the addresses, so each connection goes to either of them with
        // the same probability: all to one is not to be expected from so many.
        let places: HashSet<_> = (0..64).map(|_| ask(address)).collect();
        assert_eq!(places.len(), 2, "{places:?}");
        group.shutdown(SOON).unwrap();
    }

    // spec: BX-4
    #[test]
    fn after_a_shutdown_nobody_listens() {
        let group = group(2);
        let address = serve(&group);
        ask(address);
        group.shutdown(SOON).unwrap();
        let error = TcpStream::connect(address).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
    }

    // spec: BX-4
    #[test]
    fn what_was_connected_before_a_shutdown_is_served() {
        let group = group(2);
        let address = serve(&group);
        let barrier = Arc::new(Barrier::new(3));
        for handle in group.handles() {
            let barrier = Arc::clone(&barrier);
            // Nothing is accepted meanwhile.
            handle
                .submit_internal(move |_| {
                    barrier.wait();
                    barrier.wait();
                })
                .unwrap();
        }
        barrier.wait();
        let mut streams: Vec<_> = (0..16).map(|_| TcpStream::connect(address).unwrap()).collect();
        let ending = thread::spawn({
            let signal = group.signal();
            let ended = thread::spawn(move || group.shutdown(SOON));
            while !signal.aborted() {
                thread::yield_now();
            }
            move || ended.join().unwrap()
        });
        barrier.wait();
        for stream in &mut streams {
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            assert!(text.starts_with("mainspring-"));
        }
        drop(streams);
        ending.join().unwrap().unwrap();
    }

    // spec: BX-4
    #[test]
    fn connections_go_on_after_the_shutdown_has_begun_until_its_deadline() {
        let group = group(1);
        let address = group
            .listen("127.0.0.1:0", |_, stream| async move {
                let mut byte = [0];
                while let Ok(1) = stream.read(&mut byte).await {
                    stream.write_all(&byte).await.unwrap();
                }
            })
            .unwrap();
        let mut client = TcpStream::connect(address).unwrap();
        let mut echo = || {
            client.write_all(b"a").unwrap();
            client.read_exact(&mut [0])
        };
        echo().unwrap();
        let signal = group.signal();
        let ending = thread::spawn(move || group.shutdown(SOON));
        while !signal.aborted() {
            thread::yield_now();
        }
        echo().unwrap();
        drop(client);
        ending.join().unwrap().unwrap();
    }

    #[test]
    fn an_address_that_is_taken_is_an_error_and_nobody_listens() {
        let group = group(2);
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap();
        let error = group.listen(address, |_, _| async {}).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        let error = group.listen(&[][..], |_, _| async {}).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        group.shutdown(SOON).unwrap();
    }

    // One panic, and nobody listened on that loop any more.
    // spec: BX-4, FA-1
    #[test]
    fn a_panic_of_the_function_does_not_end_listening() {
        let reports = Arc::new(AtomicUsize::new(0));
        let theirs = Arc::clone(&reports);
        let group = LoopGroup::builder()
            .loops(1)
            .configure(move |_, builder| {
                let reports = Arc::clone(&theirs);
                builder.on_uncaught(move |_, panic| {
                    assert_eq!(panic.message(), Some("expected by the test"));
                    reports.fetch_add(1, Ordering::SeqCst);
                })
            })
            .build()
            .unwrap();
        let calls = Arc::new(AtomicUsize::new(0));
        let address = group
            .listen("127.0.0.1:0", move |_, stream| {
                // Not that of the future.
                let call = calls.fetch_add(1, Ordering::SeqCst);
                assert!(call % 2 == 1, "expected by the test");
                async move {
                    let _ = stream.write_all(b"hello").await;
                }
            })
            .unwrap();
        for round in 1..=3 {
            assert_eq!(ask(address), "", "the connection is closed");
            assert_eq!(ask(address), "hello");
            assert_eq!(reports.load(Ordering::SeqCst), round);
        }
        group.shutdown(SOON).unwrap();
    }

    // Clients that came again kept it from its end.
    // spec: BX-4, SH-5
    #[test]
    fn a_shutdown_does_not_wait_for_those_who_connect_after_it_has_begun() {
        /// More than the system keeps for a loop.
        const ENOUGH: usize = 3_000;
        let group = group(1);
        let (signal, served) = (group.signal(), Arc::new(AtomicUsize::new(0)));
        let (count, own) = (Arc::clone(&served), Arc::new(Mutex::new(None::<SocketAddr>)));
        let place = Arc::clone(&own);
        let address = group
            .listen("127.0.0.1:0", move |_, stream| {
                let is_late = signal.aborted();
                let served = if is_late { count.fetch_add(1, Ordering::SeqCst) } else { 0 };
                let next = place.lock().unwrap().filter(|_| is_late && served < ENOUGH);
                async move {
                    drop(stream);
                    // Whoever is served comes again at once.
                    if let Some(address) = next {
                        drop(TcpStream::connect(address));
                    }
                }
            })
            .unwrap();
        own.lock().unwrap().replace(address);
        // Nothing is accepted until the shutdown has begun.
        let barrier = Arc::new(Barrier::new(2));
        let theirs = Arc::clone(&barrier);
        group.handles()[0]
            .submit_internal(move |_| {
                theirs.wait();
                theirs.wait();
            })
            .unwrap();
        barrier.wait();
        let client = TcpStream::connect(address).unwrap();
        let signal = group.signal();
        let ending = thread::spawn(move || group.shutdown(SOON));
        while !signal.aborted() {
            thread::yield_now();
        }
        barrier.wait();
        ending.join().unwrap().unwrap();
        drop(client);
        let served = served.load(Ordering::SeqCst);
        assert!((1..ENOUGH).contains(&served), "{served} were accepted after it had begun");
    }
}
