//! What is measured. Each function runs in a process of its own.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::hint::black_box;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use super::peers::{Executor, Sleeps, Yields};
use crate::measure::{CpuClock, percentile};

pub const TASK: &str = "ns per future";
pub const WAKE: &str = "ns per wake";
pub const YIELD: &str = "ns per yield";

/// So long another thread waits before it wakes the loop, which sleeps by then.
const ASLEEP: Duration = Duration::from_micros(200);

/// The first and the last of many futures sleep for so long: the first one until all have been spawned.
const SLEEPS: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(120)];

/// Hands a figure to the process that compares them.
fn report(metric: &str, value: f64) {
    println!("{metric}\t{value}");
}

fn nanoseconds(all: Duration, count: usize) -> f64 {
    all.as_nanos() as f64 / count as f64
}

/// How often a workload is repeated before it is measured, for as many rounds.
fn warm_up(rounds: usize) -> usize {
    rounds.div_ceil(4)
}

/// Does it as often as it is told, first unmeasured. Returns the CPU time of the process.
async fn measured(rounds: usize, mut work: impl AsyncFnMut(usize)) -> Duration {
    work(warm_up(rounds)).await;
    let clock = CpuClock::start();
    work(rounds).await;
    clock.elapsed()
}

/// Spawns `size` futures that have a result at once, and waits for them in the same order.
pub fn spawn_and_join<E: Executor>(size: usize, rounds: usize) {
    let time = E::new().run(async move |spawner| {
        let mut tasks = Vec::with_capacity(size);
        measured(rounds, async |rounds| {
            for _ in 0..rounds {
                tasks.extend((0..size).map(|number| {
                    let number = black_box(number);
                    E::spawn(&spawner, async move { number })
                }));
                for (number, task) in tasks.drain(..).enumerate() {
                    assert_eq!(task.await, number, "a future gives its result");
                }
            }
        })
        .await
    });
    report(TASK, nanoseconds(time, size * rounds));
}

/// A future wakes itself before it returns.
pub fn self_wake<E: Executor>(wakes: usize) {
    let time = E::new().run(async move |_| {
        measured(wakes, async |mut left| {
            poll_fn(move |context| {
                if left == 0 {
                    return Poll::Ready(());
                }
                left -= 1;
                context.waker().wake_by_ref();
                Poll::Pending
            })
            .await;
        })
        .await
    });
    report(WAKE, nanoseconds(time, wakes));
}

/// What two futures share that take turns.
#[derive(Default)]
struct Turns {
    /// Whose turn it is.
    turn: Cell<usize>,
    waiting: [RefCell<Option<Waker>>; 2],
}

impl Turns {
    async fn mine(&self, me: usize) {
        poll_fn(|context| {
            if self.turn.get() == me {
                return Poll::Ready(());
            }
            *self.waiting[me].borrow_mut() = Some(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    fn pass_on(&self, me: usize) {
        let other = 1 - me;
        self.turn.set(other);
        let waker = self.waiting[other].borrow_mut().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// Two futures take turns: each wakes the other, and waits.
pub fn ping_pong<E: Executor>(rounds: usize) {
    let time = E::new().run(async move |spawner| {
        measured(rounds, async |rounds| {
            let turns = Rc::new(Turns::default());
            let players: Vec<_> = (0..2)
                .map(|me| {
                    let turns = Rc::clone(&turns);
                    E::spawn(&spawner, async move {
                        for _ in 0..rounds {
                            turns.mine(me).await;
                            turns.pass_on(me);
                        }
                    })
                })
                .collect();
            for player in players {
                player.await;
            }
        })
        .await
    });
    report(WAKE, nanoseconds(time, 2 * rounds));
}

/// `size` futures yield again and again.
pub fn yielding<E: Yields>(size: usize, rounds: usize) {
    let time = E::new().run(async move |spawner| {
        measured(rounds, async |rounds| {
            let tasks: Vec<_> = (0..size)
                .map(|_| {
                    let own = spawner.clone();
                    E::spawn(&spawner, async move {
                        for _ in 0..rounds {
                            E::yield_now(&own).await;
                        }
                    })
                })
                .collect();
            for task in tasks {
                task.await;
            }
        })
        .await
    });
    report(YIELD, nanoseconds(time, size * rounds));
}

/// What a future and another thread share, which wakes it.
struct Bell {
    begin: Instant,
    waker: Mutex<Option<Waker>>,
    /// For which ring the future waits, and which one was the last, from 1.
    awaited: AtomicU64,
    rung: AtomicU64,
    /// When it was rung, in nanoseconds from the beginning.
    rung_at: AtomicU64,
}

impl Bell {
    fn now(&self) -> u64 {
        self.begin.elapsed().as_nanos() as u64
    }

    /// Returns how many nanoseconds after the ring this was polled.
    async fn ring(&self, number: u64) -> i64 {
        poll_fn(|context| {
            // Acquires the time, which was released.
            if self.rung.load(Ordering::Acquire) == number {
                let late = self.now() - self.rung_at.load(Ordering::Relaxed);
                return Poll::Ready(late as i64);
            }
            *self.waker.lock().unwrap() = Some(context.waker().clone());
            self.awaited.store(number, Ordering::Release);
            Poll::Pending
        })
        .await
    }

    /// Wakes the future when it has waited for a while. Returns how many nanoseconds that call took.
    fn wake(&self, number: u64) -> i64 {
        while self.awaited.load(Ordering::Acquire) != number {
            thread::sleep(ASLEEP);
        }
        thread::sleep(ASLEEP);
        let waker = self.waker.lock().unwrap().take().expect("the future waits");
        let begin = self.now();
        self.rung_at.store(begin, Ordering::Relaxed);
        self.rung.store(number, Ordering::Release);
        waker.wake();
        (self.now() - begin) as i64
    }
}

/// Another thread wakes a future, again and again, when the loop sleeps.
pub fn wake_asleep<E: Executor>(rounds: usize) {
    let bell = Arc::new(Bell {
        begin: Instant::now(),
        waker: Mutex::new(None),
        awaited: AtomicU64::new(0),
        rung: AtomicU64::new(0),
        rung_at: AtomicU64::new(0),
    });
    let before = warm_up(rounds) as u64;
    let all = 1..=before + rounds as u64;
    let skip = before as usize;
    let ringer = thread::spawn({
        let (bell, all) = (Arc::clone(&bell), all.clone());
        move || all.map(|number| bell.wake(number)).skip(skip).collect::<Vec<_>>()
    });
    let mut late = E::new().run(async move |_| {
        let mut late = Vec::new();
        for number in all {
            late.push(bell.ring(number).await);
        }
        late.split_off(skip)
    });
    let mut calls = ringer.join().expect("does not panic");
    late.sort_unstable();
    calls.sort_unstable();
    report("until it is polled, median, µs", percentile(&late, 0.5) / 1e3);
    report("until it is polled, 99th perc., µs", percentile(&late, 0.99) / 1e3);
    report("wake() in the other thread, µs", percentile(&calls, 0.5) / 1e3);
}

/// `size` futures sleep at the same time, each for another time.
pub fn sleeping<E: Sleeps>(size: usize, rounds: usize) {
    let (time, mut late) = E::new().run(async move |spawner| {
        let step = (SLEEPS[1] - SLEEPS[0]) / size as u32;
        let mut late = Vec::new();
        let time = measured(rounds, async |rounds| {
            late.clear();
            for _ in 0..rounds {
                let begin = Instant::now() + SLEEPS[0];
                let tasks: Vec<_> = (0..size as u32)
                    .map(|number| {
                        let deadline = begin + step * number;
                        let sleep = E::sleep_until(&spawner, deadline);
                        E::spawn(&spawner, async move {
                            sleep.await;
                            let now = Instant::now();
                            assert!(now >= deadline, "a future that sleeps is never early");
                            (now - deadline).as_nanos() as i64
                        })
                    })
                    .collect();
                for task in tasks {
                    late.push(task.await);
                }
            }
        })
        .await;
        (time, late)
    });
    assert_eq!(late.len(), size * rounds, "each future sleeps once");
    late.sort_unstable();
    report("CPU time, ns per future", nanoseconds(time, size * rounds));
    report("late, median, µs", percentile(&late, 0.5) / 1e3);
    report("late, 99th percentile, µs", percentile(&late, 0.99) / 1e3);
}
