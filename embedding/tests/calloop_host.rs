//! A guest of calloop, in which it is a source like others.
#![cfg(target_os = "linux")]

mod common;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use calloop::generic::Generic;
use calloop::timer::{TimeoutAction, Timer};
use calloop::{Interest, LoopSignal, Mode, PostAction};
use common::{HOUR, MS, assert_asleep, counted, every, thread_number};
use mainspring::{Cx, EventLoop, Guest, LoopState};

/// What the sources share.
struct State {
    signal: LoopSignal,
    turns: usize,
    host_timers: usize,
}

fn host(guest: Guest) -> (calloop::EventLoop<'static, State>, State) {
    let host = calloop::EventLoop::<State>::try_new().unwrap();
    let source = Generic::new(guest, Interest::READ, Mode::Level);
    let turn = |_, guest: &mut calloop::generic::NoIoDrop<Guest>, state: &mut State| {
        state.turns += 1;
        guest.turn().map_err(std::io::Error::other)?;
        if guest.state() == LoopState::Terminated {
            state.signal.stop();
            return Ok(PostAction::Remove);
        }
        Ok(PostAction::Continue)
    };
    host.handle().insert_source(source, turn).unwrap();
    let state = State { signal: host.get_signal(), turns: 0, host_timers: 0 };
    (host, state)
}

// spec: BX-2
#[test]
fn timers_of_both_are_called_and_each_of_the_guest_takes_one_turn() {
    let (event_loop, ticks) = counted(EventLoop::builder());
    let guest = event_loop.into_guest().unwrap();
    every(guest.cx(), 2 * MS, 20, |cx, call| {
        if call == 20 {
            cx.shutdown();
        }
    });
    let (mut host, mut state) = host(guest);
    let timer = Timer::from_duration(MS);
    let again = |_, _: &mut (), state: &mut State| {
        state.host_timers += 1;
        TimeoutAction::ToDuration(MS)
    };
    host.handle().insert_source(timer, again).unwrap();
    host.run(None, &mut state, |_| ()).unwrap();
    // One more for the beginning, unless a timer was due by then.
    assert!((20..=21).contains(&state.turns), "{}", state.turns);
    assert_eq!(ticks.get() + 1, state.turns);
    assert!(state.host_timers > 0);
}

// spec: BX-2, IN-5
#[test]
fn what_a_turn_leaves_has_the_host_come_back() {
    let (event_loop, _) = counted(EventLoop::builder().external_budget(1));
    let guest = event_loop.into_guest().unwrap();
    let ran = Rc::new(Cell::new(0));
    for i in 1..=1_000 {
        let ran = Rc::clone(&ran);
        let task = move |cx: &Cx| {
            ran.set(i);
            if i == 1_000 {
                cx.shutdown();
            }
        };
        guest.cx().submit(task).unwrap();
    }
    let (mut host, mut state) = host(guest);
    host.run(None, &mut state, |_| ()).unwrap();
    assert_eq!((ran.get(), state.turns), (1_000, 1_000));
}

// spec: BX-2, TK-4, WK-1
#[test]
fn while_nothing_happens_nobody_wakes_up_and_then_other_threads_are_heard() {
    let (send, receive) = mpsc::channel();
    let thread = thread::spawn(move || {
        let (event_loop, _) = counted(EventLoop::builder());
        let guest = event_loop.into_guest().unwrap();
        guest.cx().set_timeout(HOUR, |_| ()).unwrap();
        every(guest.cx(), MS, 5, move |cx, call| {
            if call == 5 {
                send.send((cx.handle(), thread_number())).unwrap();
            }
        });
        let (mut host, mut state) = host(guest);
        host.run(None, &mut state, |_| ()).unwrap();
        state.turns
    });
    let (handle, number) = receive.recv().unwrap();
    assert_asleep(&[number]);
    let (answer, answers) = mpsc::channel();
    for _ in 0..100 {
        let answer = answer.clone();
        handle.submit(move |_| answer.send(()).unwrap()).unwrap();
        answers.recv_timeout(Duration::from_secs(20)).expect("the host sleeps through it");
    }
    handle.close();
    // The beginning, the timers, the tasks, unless one turn ran several, and the end. Idling took none.
    let turns = thread.join().unwrap();
    assert!((7..=107).contains(&turns), "{turns}");
}
