//! Promises as in JavaScript, on the loop's thread and across threads.
//!
//! `cargo run --example promises` prints the numbers 0 to 6 in order, as the same program does in Node; then
//! what a thread computed; then the reason of a rejection that nobody handled.

use std::thread;

use mainspring::{Error, EventLoop, LocalPromise, Promise};

fn main() -> Result<(), Error> {
    let event_loop = EventLoop::builder()
        .on_unhandled_rejection(|_, rejection| println!("unhandled: {}", rejection.reason()))
        .build()?;
    let cx = event_loop.cx();

    let say = |n: i32| move |_: &mainspring::Cx, ()| println!("{n}");
    let start = LocalPromise::resolve(cx, ());
    start
        .and_then(|cx, ()| {
            println!("0");
            LocalPromise::resolve(cx, 4)
        })
        .then(|_, n| println!("{n}"));
    start.then(say(1)).then(say(2)).then(say(3)).then(say(5)).then(say(6));

    let handle = event_loop.handle();
    let guard = handle.keep_alive();
    let (sum, resolver) = Promise::with_resolvers(&handle);
    sum.then(|_, n: u64| println!("the sum is {n}"))
        .try_then(|_, ()| "not a number".parse::<f64>())
        .then(|_, n| println!("never reached: {n}"));
    thread::spawn(move || {
        resolver.resolve((1..=1000).sum());
        drop(guard);
    });
    event_loop.run_until_idle()
}
