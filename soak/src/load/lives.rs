//! Loops that are made, loaded and ended, again and again: gracefully, at once, out of time, or just dropped, while
//! another thread goes on submitting.

use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use mainspring::{
    AbortSignal, Builder, Cx, Deadline, EventLoop, FastPathMode, Handle, LoopGroup, Profile,
    Refusal, Shutdown, Watch,
};

use super::run::Run;
use crate::ledger::{Account, FORCED, GRACEFUL, LEFTOVERS, LOOPS};
use crate::random::Random;

/// How a loop comes to its end.
#[derive(Clone, Copy)]
enum End {
    /// A callback shuts it down.
    Callback,
    /// Another thread shuts it down, and waits for that.
    Thread,
    /// Another thread shuts it down and has no patience.
    Impatience,
    /// Another thread closes it.
    Close,
    /// It is dropped between two turns.
    Drop,
    /// It is one of a group, which is shut down.
    Group,
}

impl End {
    const ALL: [Self; 6] =
        [Self::Callback, Self::Thread, Self::Impatience, Self::Close, Self::Drop, Self::Group];

    fn account(self) -> &'static Account {
        match self {
            Self::Callback | Self::Thread | Self::Group => &GRACEFUL,
            Self::Impatience | Self::Close | Self::Drop => &FORCED,
        }
    }
}

/// One thread that makes loops, until the run is over.
pub(crate) fn make(run: &Run, seed: u64) {
    let mut random = Random::new(seed);
    while !run.is_over() {
        let end = End::ALL[random.within(0..End::ALL.len() as u64) as usize];
        let ticket = LOOPS.issue();
        match end {
            End::Group => group(&mut random),
            _ => live(end, &mut random),
        }
        ticket.run();
        thread::sleep(random.milliseconds(1..20));
    }
}

/// All sorts of loops.
fn builder(random: &mut Random) -> Builder {
    let modes = [FastPathMode::Auto, FastPathMode::Disabled];
    let builder = EventLoop::builder()
        .fast_path(modes[random.within(0..2) as usize])
        .metrics(random.is_one_in(2))
        .high_water_mark(500)
        .max_workers(4);
    if random.is_one_in(8) { builder.profile(Profile::MaximumSafety) } else { builder }
}

/// The life of one loop.
fn live(end: End, random: &mut Random) {
    let event_loop = builder(random).build().expect("there are descriptors left");
    furnish(event_loop.cx(), random);
    let handle = event_loop.handle();
    let (account, tasks) = (end.account(), random.within(1..2_000));
    let executed = Arc::new(AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(|| submit(&handle, account, end, tasks, &executed));
        if matches!(end, End::Thread | End::Impatience | End::Close) {
            scope.spawn(|| finish(&handle, end, tasks, &executed));
        }
        if matches!(end, End::Drop) {
            while executed.load(Ordering::Relaxed) < tasks {
                event_loop.turn(Duration::from_millis(1)).expect("nobody ends it");
            }
            drop(event_loop);
        } else {
            event_loop.run().expect("it is driven once");
            drop(event_loop);
        }
    });
}

/// What a loop may have when it ends.
fn furnish(cx: &Cx, random: &mut Random) {
    for _ in 0..random.within(1..50) {
        let ticket = LEFTOVERS.issue();
        let set = cx.set_timeout(random.milliseconds(0..10_000), |_| ticket.run());
        assert!(set.is_ok(), "the loop is new");
    }
    for _ in 0..random.within(1..4) {
        let (ticket, time) = (LEFTOVERS.issue(), random.milliseconds(0..3));
        let work = move |_: &AbortSignal| {
            ticket.run();
            thread::sleep(time);
            Ok::<(), std::fmt::Error>(())
        };
        // If the loop ends first, the promise is rejected, which is nobody's fault.
        cx.promisify(&AbortSignal::never(), work).catch(|_, _| ());
    }
    let (ours, theirs) = UnixStream::pair().expect("there are descriptors left");
    let watch = Watch::new().write(|_, _: &UnixStream| ()).one_shot();
    assert!(cx.watch(ours, watch).is_ok(), "the loop is new");
    cx.spawn_local(async move {
        let _theirs = theirs;
        std::future::pending::<()>().await;
    });
}

/// Submits to both lanes until the loop says that it ends.
fn submit(
    handle: &Handle,
    account: &'static Account,
    end: End,
    tasks: u64,
    executed: &Arc<AtomicU64>,
) {
    loop {
        let (ticket, count) = (account.issue(), Arc::clone(executed));
        let mut task = move |cx: &Cx| {
            ticket.run();
            let number = count.fetch_add(1, Ordering::Relaxed);
            if number == tasks && matches!(end, End::Callback) {
                cx.shutdown();
            }
        };
        while let Err(error) = handle.submit(task) {
            if error.reason() != Refusal::Overloaded {
                account.note_told();
                return;
            }
            account.note_refused();
            task = error.into_task();
            thread::yield_now();
        }
        let ticket = account.issue();
        if handle.submit_internal(|_| ticket.run()).is_err() {
            account.note_told();
            return;
        }
    }
}

/// Ends a loop from outside, once it has done something.
fn finish(handle: &Handle, end: End, tasks: u64, executed: &AtomicU64) {
    while executed.load(Ordering::Relaxed) < tasks {
        thread::yield_now();
    }
    match end {
        End::Thread => {
            let outcome = handle.shutdown(Deadline::NEVER).expect("nobody else ends it");
            assert_eq!(outcome, Shutdown::Finished { dropped: 0 }, "all of it was run");
        }
        // How much was left is for the ledger to say.
        End::Impatience => drop(handle.shutdown(Duration::ZERO)),
        _ => handle.close(),
    }
}

/// The life of two loops.
fn group(random: &mut Random) {
    let group = LoopGroup::builder().loops(2).build().expect("there are threads left");
    for _ in 0..random.within(1..100) {
        let (ticket, delay) = (GRACEFUL.issue(), random.milliseconds(0..3));
        group.spawn(move |cx| {
            let sleep = cx.sleep(delay);
            async move {
                sleep.await;
                ticket.run();
            }
        });
    }
    group.shutdown(Deadline::NEVER).expect("there is time enough");
}
