//! Registrations from other threads: while the loop sleeps, while it runs, and while it ends.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/fds.rs"]
mod fds;

use std::cell::Cell;
use std::io::Write;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Duration;

use common::timers::{Random, elsewhere};
use common::{OnDrop, Tracker, Variant, must_return, wait_until, wait_until_sleeping};
use fds::{Number, descriptor_limit, drain, flush, is_orphaned, pair, readable, witness};
use mainspring::{Cx, Deadline, Error, FastPathMode, Handle, Interest, Readiness};

suite! {
    a_registration_does_not_wait_for_a_sleeping_loop,
    a_sleeping_loop_gets_its_first_descriptor_again_and_again,
    a_change_of_interest_does_not_wait_for_a_sleeping_loop,
    an_unregistration_does_not_wait_for_a_sleeping_loop,
    a_turn_without_a_limit_is_ended_by_a_new_descriptor,
    of_two_threads_that_register_the_same_descriptor_one_wins,
    of_two_threads_that_unregister_the_same_descriptor_one_wins,
    many_threads_register_and_every_one_is_served,
    threads_that_do_everything_to_the_same_descriptors_leave_them_usable,
    a_poller_that_is_built_anew_loses_no_registration_of_another_thread,
    no_lock_is_held_while_a_callback_runs,
    an_unregistered_callback_is_not_called_any_more,
    captures_are_dropped_on_the_thread_of_the_loop,
    captures_of_a_number_that_is_used_again_are_dropped_on_the_thread_of_the_loop,
    what_one_thread_did_is_seen_by_the_next,
    a_loop_that_waits_for_the_last_thing_waits_for_its_descriptor,
    a_loop_becomes_idle_when_another_thread_takes_its_last_descriptor_back,
}

/// A callback that counts its calls, and reads what there is.
fn count(ran: &Arc<AtomicUsize>) -> impl FnMut(&Cx, &UnixStream, Readiness) + Send + 'static {
    let ran = Arc::clone(ran);
    move |_, source, _| {
        drain(source);
        ran.fetch_add(1, Ordering::SeqCst);
    }
}

fn close(handle: &Handle, thread: thread::JoinHandle<Result<(), Error>>) {
    handle.close();
    thread.join().unwrap().unwrap();
}

// spec: IO-1, IO-2, SH-2, F-10
fn a_registration_does_not_wait_for_a_sleeping_loop(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    let ran = Arc::new(AtomicUsize::new(0));
    let mut peers = Vec::new();
    for n in 1..=20 {
        // Nothing but this descriptor ends the sleep.
        wait_until_sleeping(&handle);
        let (socket, peer) = readable();
        let (sent, callback) = (handle.clone(), count(&ran));
        must_return(move || sent.register_fd(socket, Interest::READ, callback).unwrap());
        wait_until(|| ran.load(Ordering::SeqCst) == n);
        peers.push(peer);
    }
    // A descriptor that becomes ready later ends the sleep, too.
    for (n, mut peer) in peers.iter().enumerate() {
        wait_until_sleeping(&handle);
        peer.write_all(b"x").unwrap();
        wait_until(|| ran.load(Ordering::SeqCst) == 21 + n);
    }
    close(&handle, thread);
}

// spec: IO-1, WK-6, F-10
fn a_sleeping_loop_gets_its_first_descriptor_again_and_again(variant: Variant) {
    let (handle, thread) =
        variant.spawn(|builder| builder.max_spin(Duration::ZERO), |event_loop| event_loop.run());
    for n in 0..500 {
        let (socket, _peer) = readable();
        let ran = Arc::new(AtomicBool::new(false));
        let called = Arc::clone(&ran);
        let callback = move |cx: &Cx, source: &UnixStream, _: Readiness| {
            cx.unregister_fd(source.as_raw_fd()).unwrap();
            called.store(true, Ordering::SeqCst);
        };
        if n % 2 == 0 {
            wait_until_sleeping(&handle);
        } else {
            // It is on its way to sleep. Meet it a little further on each time.
            (0..n % 100 * 10).for_each(|_| std::hint::spin_loop());
        }
        handle.register_fd(socket, Interest::READ, callback).unwrap();
        wait_until(|| ran.load(Ordering::SeqCst));
    }
    close(&handle, thread);
}

// spec: IO-1, IO-2
fn a_change_of_interest_does_not_wait_for_a_sleeping_loop(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    let (socket, _peer) = readable();
    let fd = socket.as_raw_fd();
    let ran = Arc::new(AtomicUsize::new(0));
    let called = Arc::clone(&ran);
    let callback = move |cx: &Cx, source: &UnixStream, _: Readiness| {
        cx.modify_fd(source.as_raw_fd(), Interest::NONE).unwrap();
        called.fetch_add(1, Ordering::SeqCst);
    };
    handle.register_fd(socket, Interest::NONE, callback).unwrap();
    for n in 1..=100 {
        wait_until_sleeping(&handle);
        let sent = handle.clone();
        must_return(move || sent.modify_fd(fd, Interest::READ).unwrap());
        wait_until(|| ran.load(Ordering::SeqCst) == n);
    }
    close(&handle, thread);
}

// spec: IO-1, IO-2
fn an_unregistration_does_not_wait_for_a_sleeping_loop(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    let tracker = Tracker::new();
    for _ in 0..20 {
        let (socket, peer) = pair();
        let fd = socket.as_raw_fd();
        let token = tracker.token();
        let callback = move |_: &Cx, _: &UnixStream, _: Readiness| _ = &token;
        handle.register_fd(socket, Interest::READ, callback).unwrap();
        wait_until_sleeping(&handle);
        let sent = handle.clone();
        must_return(move || sent.unregister_fd(fd).unwrap());
        // Nothing else makes the loop turn.
        wait_until(|| tracker.alive() == 0);
        wait_until(|| is_orphaned(&peer));
    }
    close(&handle, thread);
}

// spec: IO-1, F-10
fn a_turn_without_a_limit_is_ended_by_a_new_descriptor(variant: Variant) {
    let event_loop = variant.build();
    for _ in 0..20 {
        let handle = event_loop.handle();
        let ran = Arc::new(AtomicUsize::new(0));
        let (socket, _peer) = readable();
        let (fd, callback) = (socket.as_raw_fd(), count(&ran));
        let other = thread::spawn(move || {
            wait_until_sleeping(&handle);
            handle.register_fd(socket, Interest::READ, callback).unwrap();
        });
        while ran.load(Ordering::SeqCst) == 0 {
            event_loop.turn(None).unwrap();
        }
        other.join().unwrap();
        event_loop.cx().unregister_fd(fd).unwrap();
    }
}

const THREADS: usize = 4;

/// Runs `f` on several threads at the same time.
fn together<R: Send>(f: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let start = Barrier::new(THREADS);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|i| {
                let (f, start) = (&f, &start);
                scope.spawn(move || {
                    start.wait();
                    f(i)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

// spec: IO-1, M1-1.1
fn of_two_threads_that_register_the_same_descriptor_one_wins(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    for round in 0..200 {
        let (socket, peer) = readable();
        let socket = Arc::new(socket);
        let tracker = Tracker::new();
        let ran: Arc<[AtomicUsize; THREADS]> = Arc::default();
        let results = together(|i| {
            let (token, ran) = (tracker.token(), Arc::clone(&ran));
            let callback = move |_: &Cx, source: &Arc<UnixStream>, _: Readiness| {
                let _ = &token;
                drain(&**source);
                ran[i].fetch_add(1, Ordering::SeqCst);
            };
            handle.register_fd(Arc::clone(&socket), Interest::READ, callback).map_err(Error::from)
        });
        let winners: Vec<_> = (0..THREADS).filter(|i| results[*i].is_ok()).collect();
        let [winner] = winners[..] else { panic!("{results:?}") };
        for result in results {
            assert!(matches!(result, Ok(()) | Err(Error::FdAlreadyRegistered)), "{result:?}");
        }
        assert_eq!(tracker.alive(), 1, "the others were handed back");
        wait_until(|| ran[winner].load(Ordering::SeqCst) > 0);
        assert_eq!(ran.iter().filter(|ran| ran.load(Ordering::SeqCst) > 0).count(), 1);
        if round % 2 == 0 {
            handle.unregister_fd(socket.as_raw_fd()).unwrap();
            wait_until(|| tracker.alive() == 0);
        }
        drop(peer);
    }
    close(&handle, thread);
}

// spec: IO-1
fn of_two_threads_that_unregister_the_same_descriptor_one_wins(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    let tracker = Tracker::new();
    for _ in 0..200 {
        let (socket, peer) = readable();
        let fd = socket.as_raw_fd();
        let token = tracker.token();
        let callback = move |_: &Cx, _: &UnixStream, _: Readiness| _ = &token;
        handle.register_fd(socket, Interest::READ, callback).unwrap();
        let results = together(|_| handle.unregister_fd(fd));
        assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1, "{results:?}");
        for result in results {
            assert!(matches!(result, Ok(()) | Err(Error::FdNotRegistered)), "{result:?}");
        }
        wait_until(|| tracker.alive() == 0);
        assert!(is_orphaned(&peer));
    }
    close(&handle, thread);
}

// spec: IO-1
fn many_threads_register_and_every_one_is_served(variant: Variant) {
    const EACH: usize = 200;
    descriptor_limit();
    let (handle, thread) = variant.spawn_running();
    let ran = Arc::new(AtomicUsize::new(0));
    let tracker = Tracker::new();
    together(|i| {
        for n in 0..EACH {
            let (socket, peer) = readable();
            let fd = socket.as_raw_fd();
            let (token, ran) = (tracker.token(), Arc::clone(&ran));
            let callback = move |_: &Cx, _: &UnixStream, _: Readiness| {
                let _ = (&token, &peer);
                ran.fetch_add(1, Ordering::SeqCst);
            };
            let interest = Interest::READ.one_shot();
            // Half of them are armed in a second step.
            if (n + i) % 2 == 0 {
                handle.register_fd(socket, interest, callback).unwrap();
            } else {
                handle.register_fd(socket, Interest::NONE, callback).unwrap();
                handle.modify_fd(fd, interest).unwrap();
            }
        }
    });
    wait_until(|| ran.load(Ordering::SeqCst) == THREADS * EACH);
    flush(&handle);
    assert_eq!(ran.load(Ordering::SeqCst), THREADS * EACH);
    assert_eq!(tracker.alive(), THREADS * EACH, "a one-shot stays registered");
    close(&handle, thread);
    assert_eq!(tracker.alive(), 0);
}

/// Does something to one of the numbers.
fn meddle(handle: &Handle, number: &Number, random: u64, capture: impl Send + 'static) {
    let interest = [
        Interest::NONE,
        Interest::READ,
        Interest::BOTH.one_shot(),
        Interest::READ.edge_triggered(),
    ][random as usize / 16 % 4];
    let result = match random % 16 {
        0..6 => {
            let callback = move |_: &Cx, _: &BorrowedFd<'static>, _: Readiness| _ = &capture;
            handle.register_fd(number.source(), interest, callback).map_err(Error::from)
        }
        6..9 => handle.unregister_fd(number.fd()),
        9..13 => handle.modify_fd(number.fd(), interest),
        13 | 14 => handle.reference_fd(number.fd(), random % 32 < 16),
        _ => {
            // Closed behind the loop's back, and another one with its number.
            number.replace(readable().0);
            Ok(())
        }
    };
    let is_known = matches!(
        result,
        Ok(()) | Err(Error::FdAlreadyRegistered | Error::FdNotRegistered | Error::Io(_))
    );
    assert!(is_known, "{result:?}");
}

// spec: IO-1, IO-2, SH-3, ER-2
fn threads_that_do_everything_to_the_same_descriptors_leave_them_usable(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    let own = thread.thread().id();
    let (dropped, drops) = mpsc::channel();
    let tracker = Tracker::new();
    let numbers: Arc<Vec<_>> = Arc::new((0..6).map(|_| Number::new(pair().0)).collect());
    // The loop's own thread does the same in between.
    let (shared, local) = (Arc::clone(&numbers), tracker.clone());
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let own_part = move |cx: &Cx| {
        let number = &shared[random.below(6) as usize];
        meddle(&cx.handle(), number, random.next(), local.token());
    };
    let interval = handle.set_interval(Duration::from_micros(50), own_part).unwrap();
    together(|i| {
        let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ (i as u64 + 1) << 32);
        for _ in 0..3_000 {
            let number = &numbers[random.below(6) as usize];
            meddle(&handle, number, random.next(), tracker.token());
        }
    });
    handle.clear_interval(interval);
    flush(&handle);
    // Whatever became of them, each can be unregistered, registered and served.
    for number in numbers.iter() {
        let _ = handle.unregister_fd(number.fd());
        let (socket, _peer) = readable();
        number.replace(socket);
        let (capture, is_served) = (witness(&dropped), Arc::new(AtomicBool::new(false)));
        let served = Arc::clone(&is_served);
        let callback = move |_: &Cx, _: &BorrowedFd<'static>, _: Readiness| {
            let _ = &capture;
            served.store(true, Ordering::SeqCst);
        };
        handle.register_fd(number.source(), Interest::READ.one_shot(), callback).unwrap();
        wait_until(|| is_served.load(Ordering::SeqCst));
        wait_until(|| tracker.alive() <= numbers.len());
        handle.unregister_fd(number.fd()).unwrap();
        assert_eq!(drops.recv().unwrap(), own);
    }
    wait_until(|| tracker.alive() == 0);
    close(&handle, thread);
}

// spec: IO-1, M1-1.4
fn a_poller_that_is_built_anew_loses_no_registration_of_another_thread(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    let stop = AtomicBool::new(false);
    let (quiet, _quiet_peer) = pair();
    thread::scope(|scope| {
        let _stop = OnDrop(|| stop.store(true, Ordering::SeqCst));
        for _ in 0..2 {
            scope.spawn(|| {
                let (long, mut long_peer) = pair();
                let long_fd = long.as_raw_fd();
                let edges = Arc::new(AtomicUsize::new(0));
                let interest = Interest::READ.edge_triggered();
                handle.register_fd(long, interest, count(&edges)).unwrap();
                while !stop.load(Ordering::SeqCst) {
                    let (socket, _peer) = readable();
                    let (fd, ran) = (socket.as_raw_fd(), Arc::new(AtomicUsize::new(0)));
                    let interest = Interest::READ.one_shot();
                    handle.register_fd(socket, interest, count(&ran)).unwrap();
                    wait_until(|| ran.load(Ordering::SeqCst) == 1);
                    handle.unregister_fd(fd).unwrap();
                    let before = edges.load(Ordering::SeqCst);
                    long_peer.write_all(b"x").unwrap();
                    wait_until(|| edges.load(Ordering::SeqCst) > before);
                }
                handle.unregister_fd(long_fd).unwrap();
            });
        }
        for _ in 0..100 {
            // The descriptor is closed, but its file is open elsewhere and stays ready: the kernel goes on to
            // report it, until the loop has a new poller.
            let (socket, _peer) = readable();
            let elsewhere = socket.try_clone().unwrap();
            let number = Number::new(socket);
            let ran = Arc::new(AtomicUsize::new(0));
            let counted = Arc::clone(&ran);
            let callback = move |_: &Cx, _: &BorrowedFd<'static>, _: Readiness| {
                counted.fetch_add(1, Ordering::SeqCst);
            };
            handle.register_fd(number.source(), Interest::READ, callback).unwrap();
            wait_until(|| ran.load(Ordering::SeqCst) > 0);
            number.replace(&quiet);
            let (strange, callback) = {
                let strange = Arc::new(AtomicUsize::new(0));
                let counted = Arc::clone(&strange);
                (strange, move |_: &Cx, _: &BorrowedFd<'static>, _: Readiness| {
                    counted.fetch_add(1, Ordering::SeqCst);
                })
            };
            handle.register_fd(number.source(), Interest::READ, callback).unwrap();
            // One call may be under way.
            flush(&handle);
            let last = ran.load(Ordering::SeqCst);
            (0..10).for_each(|_| flush(&handle));
            assert_eq!(ran.load(Ordering::SeqCst), last);
            assert_eq!(strange.load(Ordering::SeqCst), 0, "nothing is to be read from the new one");
            handle.unregister_fd(number.fd()).unwrap();
            drop(elsewhere);
        }
    });
    close(&handle, thread);
}

// spec: IO-2, F-9
fn no_lock_is_held_while_a_callback_runs(variant: Variant) {
    let event_loop = variant.build();
    let (socket, _peer) = readable();
    let fd = socket.as_raw_fd();
    let (bystander, _bystander_peer) = pair();
    let bystander_fd = bystander.as_raw_fd();
    event_loop.cx().register_fd(bystander, Interest::READ, |_, _, _| ()).unwrap();
    let ran = Rc::new(Cell::new(false));
    let called = Rc::clone(&ran);
    let callback = move |cx: &Cx, _: &UnixStream, _: Readiness| {
        let handle = cx.handle();
        // The callback waits for a thread that does everything there is to do.
        must_return(move || {
            let (other, _other_peer) = pair();
            let other_fd = other.as_raw_fd();
            handle.register_fd(other, Interest::READ, |_, _, _| ()).unwrap();
            handle.modify_fd(other_fd, Interest::BOTH).unwrap();
            handle.reference_fd(other_fd, false).unwrap();
            handle.unregister_fd(other_fd).unwrap();
            handle.modify_fd(bystander_fd, Interest::NONE).unwrap();
            handle.unregister_fd(bystander_fd).unwrap();
            let result = handle.set_fast_path(FastPathMode::Forced);
            assert!(matches!(result, Err(Error::FastPathIncompatible)), "{result:?}");
            // That of the callback itself.
            handle.modify_fd(fd, Interest::WRITE).unwrap();
            handle.unregister_fd(fd).unwrap();
        });
        called.set(true);
    };
    event_loop.cx().register_fd(socket, Interest::READ, callback).unwrap();
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 1);
    assert!(ran.get());
    assert_eq!(event_loop.turn(Duration::ZERO).unwrap().callbacks, 0);
    event_loop.run_until_idle().unwrap();
}

// spec: IO-1, M1-3.1
fn an_unregistered_callback_is_not_called_any_more(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    for _ in 0..200 {
        let (socket, _peer) = readable();
        let fd = socket.as_raw_fd();
        let running = Arc::new(AtomicUsize::new(0));
        let ran = Arc::clone(&running);
        // It stays ready all the time.
        let callback = move |_: &Cx, _: &UnixStream, _: Readiness| {
            ran.fetch_add(1, Ordering::SeqCst);
        };
        handle.register_fd(socket, Interest::BOTH, callback).unwrap();
        wait_until(|| running.load(Ordering::SeqCst) > 3);
        let before = running.load(Ordering::SeqCst);
        wait_until(|| running.load(Ordering::SeqCst) > before);
        handle.unregister_fd(fd).unwrap();
        // One call may have begun before that. Its count is there when the loop gets to the next phase.
        let after = running.load(Ordering::SeqCst);
        flush(&handle);
        let last = running.load(Ordering::SeqCst);
        assert!(last <= after + 1, "{after}, then {last}");
        flush(&handle);
        assert_eq!(running.load(Ordering::SeqCst), last);
    }
    close(&handle, thread);
}

// spec: IO-1, SH-3
fn captures_are_dropped_on_the_thread_of_the_loop(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    let own = thread.thread().id();
    let (dropped, drops) = mpsc::channel();
    for local in [false, true] {
        let (socket, peer) = pair();
        let fd = socket.as_raw_fd();
        let capture = witness(&dropped);
        if local {
            let register = move |cx: &Cx| {
                // This one may not even be sent.
                let capture = Rc::new(capture);
                cx.register_fd(socket, Interest::READ, move |_, _, _| _ = &capture).unwrap();
            };
            handle.submit(register).unwrap();
            flush(&handle);
        } else {
            handle.register_fd(socket, Interest::READ, move |_, _, _| _ = &capture).unwrap();
        }
        wait_until_sleeping(&handle);
        handle.unregister_fd(fd).unwrap();
        assert_eq!(drops.recv().unwrap(), own);
        wait_until(|| is_orphaned(&peer));
    }
    // At the end, too, whoever caused it.
    let (socket, _peer) = pair();
    let capture = witness(&dropped);
    handle.register_fd(socket, Interest::READ, move |_, _, _| _ = &capture).unwrap();
    handle.shutdown(Deadline::NEVER).unwrap();
    assert_eq!(drops.try_recv(), Ok(own), "before the shutdown returns");
    thread.join().unwrap().unwrap();
}

// spec: IO-1, SH-3, M1-1.4
fn captures_of_a_number_that_is_used_again_are_dropped_on_the_thread_of_the_loop(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    let own = thread.thread().id();
    let (dropped, drops) = mpsc::channel();
    let (socket, _peer) = pair();
    let number = Number::new(socket);
    let (source, capture) = (number.source(), witness(&dropped));
    let register = move |cx: &Cx| {
        let capture = Rc::new(capture);
        cx.register_fd(source, Interest::READ, move |_, _, _| _ = &capture).unwrap();
    };
    handle.submit(register).unwrap();
    flush(&handle);
    let ran = Arc::new(AtomicUsize::new(0));
    for n in 1..=10 {
        let (next, _next_peer) = readable();
        number.replace(next);
        let (capture, ran_by) = (witness(&dropped), Arc::clone(&ran));
        let callback = move |cx: &Cx, source: &BorrowedFd<'static>, _: Readiness| {
            let _ = &capture;
            cx.modify_fd(source.as_raw_fd(), Interest::NONE).unwrap();
            ran_by.fetch_add(1, Ordering::SeqCst);
        };
        handle.register_fd(number.source(), Interest::READ, callback).unwrap();
        assert_eq!(drops.recv().unwrap(), own, "what the old one had captured");
        wait_until(|| ran.load(Ordering::SeqCst) == n);
    }
    close(&handle, thread);
    assert_eq!(drops.recv().unwrap(), own);
}

// spec: IO-1
fn what_one_thread_did_is_seen_by_the_next(variant: Variant) {
    let (handle, thread) = variant.spawn_running();
    let (socket, _peer) = pair();
    let socket = Arc::new(socket);
    let fd = socket.as_raw_fd();
    let register = |handle: &Handle| {
        let result = handle.register_fd(Arc::clone(&socket), Interest::READ, |_, _, _| ());
        result.map_err(Error::from)
    };
    for _ in 0..50 {
        elsewhere(|| register(&handle)).unwrap();
        assert!(matches!(register(&handle), Err(Error::FdAlreadyRegistered)));
        elsewhere(|| handle.modify_fd(fd, Interest::NONE)).unwrap();
        elsewhere(|| handle.unregister_fd(fd)).unwrap();
        let result = handle.modify_fd(fd, Interest::READ);
        assert!(matches!(result, Err(Error::FdNotRegistered)), "{result:?}");
        register(&handle).unwrap();
        // The loop's own thread sees it, and is seen.
        let (answer, answers) = mpsc::channel();
        handle.submit(move |cx| answer.send(cx.unregister_fd(fd)).unwrap()).unwrap();
        answers.recv().unwrap().unwrap();
        let result = handle.unregister_fd(fd);
        assert!(matches!(result, Err(Error::FdNotRegistered)), "{result:?}");
    }
    close(&handle, thread);
}

// spec: F-24
fn a_loop_that_waits_for_the_last_thing_waits_for_its_descriptor(variant: Variant) {
    for round in 0..300_usize {
        let event_loop = variant.build();
        let handle = event_loop.handle();
        let guard = handle.keep_alive();
        let ran = Arc::new(AtomicUsize::new(0));
        let called = Arc::clone(&ran);
        let (socket, peer) = pair();
        let callback = move |cx: &Cx, source: &UnixStream, _: Readiness| {
            called.fetch_add(1, Ordering::SeqCst);
            cx.unregister_fd(source.as_raw_fd()).unwrap();
        };
        let other = thread::spawn(move || {
            if round % 2 == 0 {
                wait_until_sleeping(&handle);
            }
            handle.register_fd(socket, Interest::READ, callback).unwrap();
            // From here on the descriptor alone is what the loop waits for.
            drop(guard);
            if round % 3 == 0 {
                wait_until_sleeping(&handle);
            }
            (&peer).write_all(b"x").unwrap();
            peer
        });
        event_loop.run_until_idle().unwrap();
        assert_eq!(ran.load(Ordering::SeqCst), 1, "in round {round}");
        other.join().unwrap();
    }
}

type End = fn(&Handle, i32) -> Result<(), Error>;

// spec: F-24
fn a_loop_becomes_idle_when_another_thread_takes_its_last_descriptor_back(variant: Variant) {
    let ends: [End; 3] = [
        |handle, fd| handle.unregister_fd(fd),
        |handle, fd| handle.reference_fd(fd, false),
        |handle, fd| handle.modify_fd(fd, Interest::NONE),
    ];
    for end in ends {
        for _ in 0..20 {
            let event_loop = variant.build();
            let handle = event_loop.handle();
            let (socket, _peer) = pair();
            let fd = socket.as_raw_fd();
            event_loop.cx().register_fd(socket, Interest::READ, |_, _, _| ()).unwrap();
            let other = thread::spawn(move || {
                wait_until_sleeping(&handle);
                end(&handle, fd).unwrap();
            });
            event_loop.run_until_idle().unwrap();
            other.join().unwrap();
        }
    }
}
