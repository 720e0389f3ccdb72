//! Looking up the addresses of hosts.
#![cfg(all(target_os = "linux", not(loom)))]

#[path = "common/awaiting.rs"]
mod awaiting;
mod common;

use std::cell::Cell;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::pin::pin;
use std::rc::Rc;
use std::sync::mpsc;

use awaiting::{give_up, poll_once, run};
use common::{Variant, turn_until_quiet};
use mainspring::net::lookup_host;
use mainspring::{AbortController, Cx, Error, EventLoop};

suite! {
    localhost_is_found,
    an_address_needs_no_worker,
    several_addresses_keep_their_order,
    what_is_no_host_is_an_error,
    a_host_that_does_not_exist_is_an_error,
    a_lookup_waits_for_a_worker_and_the_loop_goes_on,
    a_lookup_that_is_given_up_leaves_nothing_behind,
    a_lookup_that_is_given_up_while_it_runs_is_no_rejection,
    a_lookup_after_the_end_of_the_loop_is_an_error,
}

// spec: BX-1
fn localhost_is_found(variant: Variant) {
    let event_loop = variant.build();
    let cx = event_loop.cx();
    run(&event_loop, async {
        let found = lookup_host(cx, "localhost:80").await?;
        assert!(!found.is_empty());
        assert!(found.iter().all(|address| address.ip().is_loopback() && address.port() == 80));
        assert_eq!(lookup_host(cx, ("localhost", 80)).await?, found);
        assert_eq!(lookup_host(cx, ("localhost".to_owned(), 80)).await?, found);
        assert_eq!(lookup_host(cx, "localhost:80".to_owned()).await?, found);
        // The system knows about zones.
        let zoned = lookup_host(cx, "[fe80::1%lo]:80").await?;
        let SocketAddr::V6(zoned) = zoned[0] else { panic!("{zoned:?}") };
        assert_eq!((zoned.scope_id(), zoned.port()), (1, 80));
        Ok(())
    });
}

/// A loop with one worker, which is busy until the sender is dropped, and what makes the loop forget that.
fn with_busy_worker(variant: Variant) -> (EventLoop, mpsc::Sender<()>, AbortController) {
    let event_loop = variant.builder().max_workers(1).build().unwrap();
    let (sender, receiver) = mpsc::channel::<()>();
    let controller = AbortController::new();
    let busy = event_loop.cx().promisify(&controller.signal(), move |_| {
        let _ = receiver.recv();
        io::Result::Ok(())
    });
    busy.catch(|_, _| ());
    (event_loop, sender, controller)
}

// spec: BX-1
fn an_address_needs_no_worker(variant: Variant) {
    let (event_loop, _busy, _) = with_busy_worker(variant);
    let cx = event_loop.cx();
    let v4 = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 80);
    let v6 = SocketAddrV6::new(Ipv6Addr::LOCALHOST, 80, 0, 0);
    run(&event_loop, async {
        let first = [SocketAddr::V4(v4)];
        assert_eq!(lookup_host(cx, v4).await?, first);
        assert_eq!(lookup_host(cx, first[0]).await?, first);
        assert_eq!(lookup_host(cx, &first[0]).await?, first);
        assert_eq!(lookup_host(cx, (Ipv4Addr::LOCALHOST, 80)).await?, first);
        assert_eq!(lookup_host(cx, (IpAddr::V4(Ipv4Addr::LOCALHOST), 80)).await?, first);
        assert_eq!(lookup_host(cx, "127.0.0.1:80").await?, first);
        assert_eq!(lookup_host(cx, "127.0.0.1:80".to_owned()).await?, first);
        assert_eq!(lookup_host(cx, ("127.0.0.1", 80)).await?, first);
        assert_eq!(lookup_host(cx, ("127.0.0.1".to_owned(), 80)).await?, first);
        let second = [SocketAddr::V6(v6)];
        assert_eq!(lookup_host(cx, v6).await?, second);
        assert_eq!(lookup_host(cx, (Ipv6Addr::LOCALHOST, 80)).await?, second);
        assert_eq!(lookup_host(cx, "[::1]:80").await?, second);
        assert_eq!(lookup_host(cx, ("::1", 80)).await?, second);
        let zoned = SocketAddrV6::new("fe80::1".parse().unwrap(), 80, 0, 3);
        assert_eq!(lookup_host(cx, "[fe80::1%3]:80").await?, [SocketAddr::V6(zoned)]);
        Ok(())
    });
}

// spec: BX-1
fn several_addresses_keep_their_order(variant: Variant) {
    let event_loop = variant.build();
    let cx = event_loop.cx();
    let all: [SocketAddr; 3] = [3, 1, 2].map(|port| (Ipv4Addr::LOCALHOST, port).into());
    run(&event_loop, async {
        assert_eq!(lookup_host(cx, &all[..]).await?, all);
        assert_eq!(lookup_host(cx, all).await?, all);
        assert_eq!(lookup_host(cx, all.to_vec()).await?, all);
        let error = lookup_host(cx, &all[..0]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        Ok(())
    });
}

// spec: ER-2
fn what_is_no_host_is_an_error(variant: Variant) {
    let (event_loop, _busy, _) = with_busy_worker(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let texts = [
            "",
            ":",
            ":80",
            "localhost",
            "localhost:",
            "localhost:port",
            "localhost:-1",
            "localhost:65536",
            "127.0.0.1",
            "::1",
            "::1:80",
            "[]:80",
            "local\0host:80",
            "\0:80",
        ];
        for text in texts {
            let error = lookup_host(cx, text).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{text:?}");
        }
        for host in ["", "\0", "localhost\0", "\0localhost"] {
            let error = lookup_host(cx, (host, 80)).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{host:?}");
        }
        Ok(())
    });
}

// spec: BX-1
fn a_host_that_does_not_exist_is_an_error(variant: Variant) {
    let event_loop = variant.build();
    let cx = event_loop.cx();
    run(&event_loop, async {
        // No resolver is asked about these.
        for host in ["a host cannot be named thus", &"x".repeat(300), "..", "\u{1}"] {
            let error = lookup_host(cx, (host, 80)).await.unwrap_err();
            assert!(!error.to_string().is_empty(), "{host}");
        }
        // And the worker goes on.
        lookup_host(cx, "localhost:80").await?;
        Ok(())
    });
}

// spec: BX-1
fn a_lookup_waits_for_a_worker_and_the_loop_goes_on(variant: Variant) {
    let (event_loop, busy, _) = with_busy_worker(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        let mut lookup = pin!(lookup_host(cx, "localhost:80"));
        for _ in 0..3 {
            assert!(poll_once(lookup.as_mut()).await.is_none());
            cx.yield_now().await;
        }
        drop(busy);
        assert!(!lookup.await?.is_empty());
        Ok(())
    });
}

// spec: BX-1
fn a_lookup_that_is_given_up_leaves_nothing_behind(variant: Variant) {
    let (event_loop, busy, controller) = with_busy_worker(variant);
    let cx = event_loop.cx();
    run(&event_loop, async {
        for _ in 0..10 {
            give_up(cx, lookup_host(cx, "localhost:80")).await;
        }
        Ok(())
    });
    // The worker is still busy with something that nobody waits for. So the lookups would keep the loop alive
    // if they had not been given up.
    controller.abort();
    event_loop.run_until_idle().unwrap();
    drop(busy);
}

// spec: BX-1, PR-5
fn a_lookup_that_is_given_up_while_it_runs_is_no_rejection(variant: Variant) {
    let unhandled = Rc::new(Cell::new(0));
    let counted = Rc::clone(&unhandled);
    let count = move |_: &Cx, _: _| counted.set(counted.get() + 1);
    let event_loop = variant.builder().on_unhandled_rejection(count).build().unwrap();
    let cx = event_loop.cx();
    run(&event_loop, async {
        for _ in 0..100 {
            let mut lookup = pin!(lookup_host(cx, "localhost:80"));
            assert!(poll_once(lookup.as_mut()).await.is_none());
        }
        // Those before are done with: there is one queue.
        lookup_host(cx, "localhost:80").await
    });
    event_loop.run_until_idle().unwrap();
    turn_until_quiet(&event_loop);
    assert_eq!(unhandled.get(), 0);
}

// spec: BX-1, ER-1
fn a_lookup_after_the_end_of_the_loop_is_an_error(variant: Variant) {
    let event_loop = variant.build();
    let other = variant.build();
    event_loop.cx().close();
    let _ = event_loop.run();
    let found = other.block_on(lookup_host(event_loop.cx(), "localhost:80")).unwrap();
    let error = found.unwrap_err();
    let text = Error::Terminated.to_string();
    assert_eq!(error.to_string(), text);
    // What needs no worker needs no loop.
    let found = other.block_on(lookup_host(event_loop.cx(), "127.0.0.1:80")).unwrap();
    assert_eq!(found.unwrap().len(), 1);
}
