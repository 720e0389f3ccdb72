//! A guest of a tokio runtime.
#![cfg(target_os = "linux")]

mod common;

use std::cell::Cell;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use common::{HOUR, MS, assert_asleep, counted, every, thread_number};
use mainspring::{Cx, Error, EventLoop, Guest, LoopState, Watch};
use mainspring_embedding::drive;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{LocalSet, spawn_local, yield_now};
use tokio::time::timeout;

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn guest() -> (Rc<Guest>, Rc<Cell<usize>>) {
    let (event_loop, ticks) = counted(EventLoop::builder());
    (Rc::new(event_loop.into_guest().unwrap()), ticks)
}

/// Drives a guest to its end, which only a broken one does not reach.
async fn to_the_end(guest: &Rc<Guest>) {
    let driven = timeout(Duration::from_secs(20), drive(Rc::clone(guest))).await;
    driven.expect("the host sleeps through it").unwrap();
}

// spec: BX-2
#[test]
fn a_guest_has_one_turn_for_each_timer() {
    let (guest, ticks) = guest();
    every(guest.cx(), 2 * MS, 20, |cx, call| {
        if call == 20 {
            cx.shutdown();
        }
    });
    LocalSet::new().block_on(&runtime(), to_the_end(&guest));
    // One more for the beginning, unless a timer was due by then, and one less for the end.
    assert!((19..=20).contains(&ticks.get()), "{ticks:?}");
}

// spec: BX-2
#[test]
fn tasks_of_tokio_and_callbacks_of_the_guest_share_a_thread() {
    let (guest, _) = guest();
    let shared = Rc::new(Cell::new(0));
    LocalSet::new().block_on(&runtime(), async {
        let driver = spawn_local(drive(Rc::clone(&guest)));
        for i in 0..10 {
            // A task of tokio's gives the guest something to do, between two of its turns.
            tokio::time::sleep(MS).await;
            let theirs = Rc::clone(&shared);
            let cx = guest.cx().clone();
            let join = guest.cx().spawn_local(async move {
                cx.sleep(MS).await;
                theirs.set(theirs.get() + 1);
            });
            // And waits for it like for a future of its own.
            timeout(Duration::from_secs(20), join).await.unwrap().unwrap();
            assert_eq!(shared.get(), i + 1);
        }
        guest.cx().shutdown();
        timeout(Duration::from_secs(20), driver).await.unwrap().unwrap().unwrap();
    });
    assert_eq!(guest.state(), LoopState::Terminated);
}

// spec: BX-2, WK-1
#[test]
fn other_threads_are_heard() {
    const EACH: usize = 1_000;
    let (guest, _) = guest();
    let handle = guest.handle();
    let thread = thread::spawn(move || {
        let (send, receive) = mpsc::channel();
        for _ in 0..EACH {
            let send = send.clone();
            handle.submit(move |_| send.send(()).unwrap()).unwrap();
            receive.recv_timeout(Duration::from_secs(20)).expect("the host sleeps through it");
        }
        handle.close();
    });
    LocalSet::new().block_on(&runtime(), to_the_end(&guest));
    thread.join().unwrap();
}

// Tokio is told of changes only.
// spec: BX-2
#[test]
fn a_descriptor_that_stays_ready_is_not_forgotten() {
    let (guest, _) = guest();
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    theirs.write_all(&[7; 100]).unwrap();
    let mut left = 100;
    let watch = Watch::new().read(move |cx: &Cx, mut stream: &UnixStream| {
        stream.read_exact(&mut [0]).unwrap();
        left -= 1;
        if left == 0 {
            cx.shutdown();
        }
    });
    drop(guest.cx().watch(ours, watch).unwrap());
    LocalSet::new().block_on(&runtime(), to_the_end(&guest));
}

// spec: BX-2, IN-5
#[test]
fn what_a_turn_leaves_is_not_forgotten() {
    let (event_loop, ticks) = counted(EventLoop::builder().external_budget(1));
    let guest = Rc::new(event_loop.into_guest().unwrap());
    for _ in 0..100 {
        guest.cx().submit(|_| ()).unwrap();
    }
    guest.cx().submit(|cx| cx.close()).unwrap();
    LocalSet::new().block_on(&runtime(), to_the_end(&guest));
    assert_eq!(ticks.get(), 100, "each took one, and the last one ended it");
}

// spec: BX-2
#[test]
fn neither_of_the_two_starves_the_other() {
    let (guest, ticks) = guest();
    fn again(cx: &Cx) {
        cx.set_immediate(again);
    }
    again(guest.cx());
    LocalSet::new().block_on(&runtime(), async {
        let driver = spawn_local(drive(Rc::clone(&guest)));
        let before = ticks.get();
        for _ in 0..100 {
            yield_now().await;
        }
        assert!(ticks.get() - before >= 10);
        guest.cx().close();
        driver.await.unwrap().unwrap();
    });
}

// spec: BX-2
#[test]
fn a_guest_can_be_driven_on_after_a_pause() {
    let (guest, ticks) = guest();
    let runtime = runtime();
    every(guest.cx(), 10 * MS, usize::MAX, |_, _| ());
    for _ in 0..3 {
        let driven = LocalSet::new()
            .block_on(&runtime, async { timeout(25 * MS, drive(Rc::clone(&guest))).await });
        assert!(driven.is_err());
    }
    assert!(ticks.get() >= 1, "{ticks:?}");
    guest.cx().submit(|cx| cx.shutdown()).unwrap();
    LocalSet::new().block_on(&runtime, to_the_end(&guest));
}

// spec: BX-2
#[test]
fn a_guest_that_has_ended_is_not_driven() {
    let (guest, _) = guest();
    guest.cx().close();
    LocalSet::new().block_on(&runtime(), async {
        let driven = drive(Rc::clone(&guest)).await;
        assert!(matches!(driven, Ok(()) | Err(Error::Terminated)), "{driven:?}");
    });
}

// spec: BX-2
#[test]
fn the_threads_of_a_runtime_do_not_disturb_a_guest() {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (guest, ticks) = guest();
    every(guest.cx(), MS, 50, |cx, call| {
        if call == 50 {
            cx.shutdown();
        }
    });
    LocalSet::new().block_on(&runtime, to_the_end(&guest));
    assert!((49..=50).contains(&ticks.get()), "{ticks:?}");
}

// spec: BX-2, TK-4
#[test]
fn while_nothing_happens_nobody_wakes_up() {
    let (send, receive) = mpsc::channel();
    let thread = thread::spawn(move || {
        let (guest, ticks) = guest();
        // Not quite without anything.
        guest.cx().set_timeout(HOUR, |_| ()).unwrap();
        let (ours, _theirs) = UnixStream::pair().unwrap();
        drop(guest.cx().watch(ours, Watch::new().read(|_, _| ())).unwrap());
        guest.cx().spawn_local(guest.cx().sleep(HOUR));
        every(guest.cx(), MS, 5, move |cx, call| {
            if call == 5 {
                let (handle, thread) = (cx.handle(), thread_number());
                send.send((handle, thread)).unwrap();
            }
        });
        LocalSet::new().block_on(&runtime(), async {
            drive(guest).await.unwrap();
        });
        ticks.get()
    });
    let (handle, number) = receive.recv().unwrap();
    assert_asleep(&[number]);
    let before = Instant::now();
    handle.close();
    // The beginning, unless a timer was due by then, and one for each timer: idling took none.
    let ticks = thread.join().unwrap();
    assert!((5..=6).contains(&ticks), "{ticks}");
    assert!(before.elapsed() < Duration::from_secs(20));
}
