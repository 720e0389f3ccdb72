//! What the contract asks of a poller, of the one that this build has. The suite is run with each.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;

use super::{AT_ONCE, Event, Events, Flags, Poller, ask, now};
use crate::Interest;

const TOKEN: u64 = 0x12_3456;
const OTHER: u64 = 0x65_4321;

fn poller() -> (Poller, Events) {
    (Poller::new().unwrap(), Events::new())
}

fn pair() -> (UnixStream, UnixStream) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    (ours, theirs)
}

/// What is reported now.
fn look(poller: &Poller, events: &mut Events) -> Vec<Event> {
    poller.wait(events, Some(AT_ONCE)).unwrap();
    (0..events.len()).map(|index| events.get(index).unwrap()).collect()
}

fn tokens(poller: &Poller, events: &mut Events) -> Vec<u64> {
    look(poller, events).into_iter().map(|event| event.token).collect()
}

fn kind(result: io::Result<()>) -> ErrorKind {
    result.unwrap_err().kind()
}

// spec: IO-7, WK-5
#[test]
fn a_wake_before_the_wait_ends_it_at_once_and_many_count_as_one() {
    let (poller, mut events) = poller();
    for _ in 0..1_000 {
        poller.wake().unwrap();
    }
    poller.wait(&mut events, None).unwrap();
    assert_eq!(events.len(), 0, "a wake is not an event");
    let deadline = now() + 2_000_000;
    poller.wait(&mut events, Some(deadline)).unwrap();
    assert!(now() >= deadline, "all wakes are consumed");
    poller.wake().unwrap();
    poller.wait(&mut events, None).unwrap();
}

// spec: IO-7
#[test]
fn a_wait_without_a_wake_does_not_end_before_its_deadline() {
    let (poller, mut events) = poller();
    for nanoseconds in [1, 1_000, 999_999, 3_000_001] {
        let deadline = now() + nanoseconds;
        poller.wait(&mut events, Some(deadline)).unwrap();
        assert!(now() >= deadline);
    }
    poller.wait(&mut events, Some(now() - 1)).unwrap();
    poller.wait(&mut events, Some(1)).unwrap();
}

// spec: IO-7, IO-1, F-10
#[test]
fn what_is_registered_during_a_wait_ends_it() {
    let poller = Arc::new(Poller::new().unwrap());
    let (ours, mut theirs) = pair();
    theirs.write_all(b"x").unwrap();
    let (sender, receiver) = channel();
    let waiting = Arc::clone(&poller);
    let waiter = thread::spawn(move || {
        let mut events = Events::new();
        sender.send(()).unwrap();
        waiting.wait(&mut events, None).unwrap();
        events.get(0).unwrap().token
    });
    receiver.recv().unwrap();
    poller.add(ours.as_fd(), TOKEN, Interest::READ).unwrap();
    assert_eq!(waiter.join().unwrap(), TOKEN);
}

// spec: IO-7, IO-1
#[test]
fn the_systems_answers_can_be_told_apart() {
    let (poller, _) = poller();
    let (ours, _theirs) = pair();
    let fd = ours.as_fd();
    assert_eq!(kind(poller.modify(fd, TOKEN, Interest::READ)), ErrorKind::NotFound);
    assert_eq!(kind(poller.delete(fd)), ErrorKind::NotFound);
    poller.add(fd, TOKEN, Interest::READ).unwrap();
    assert_eq!(kind(poller.add(fd, OTHER, Interest::READ)), ErrorKind::AlreadyExists);
    poller.modify(fd, OTHER, Interest::READ).unwrap();
    poller.delete(fd).unwrap();
    assert_eq!(kind(poller.delete(fd)), ErrorKind::NotFound);
    let file = std::fs::File::open("/proc/self/stat").unwrap();
    let error = poller.add(file.as_fd(), TOKEN, Interest::READ).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
}

// spec: IO-7, M1-2.5, M1-2.6
#[test]
fn level_edge_and_one_shot_report_as_often_as_they_should() {
    let (poller, mut events) = poller();
    let (mut ours, mut theirs) = pair();
    let fd = ours.try_clone().unwrap();
    theirs.write_all(b"x").unwrap();

    poller.add(fd.as_fd(), TOKEN, Interest::READ).unwrap();
    for _ in 0..3 {
        assert_eq!(tokens(&poller, &mut events), [TOKEN], "level");
    }
    poller.modify(fd.as_fd(), OTHER, Interest::READ.edge_triggered()).unwrap();
    assert_eq!(tokens(&poller, &mut events), [OTHER], "edge");
    assert_eq!(tokens(&poller, &mut events), []);
    theirs.write_all(b"y").unwrap();
    assert_eq!(tokens(&poller, &mut events), [OTHER], "another edge, although nothing was read");
    for interest in [Interest::READ.one_shot(), Interest::READ.one_shot().edge_triggered()] {
        poller.modify(fd.as_fd(), TOKEN, interest).unwrap();
        assert_eq!(tokens(&poller, &mut events), [TOKEN], "one-shot");
        theirs.write_all(b"z").unwrap();
        assert_eq!(tokens(&poller, &mut events), []);
    }
    assert_eq!(ours.read(&mut [0; 16]).unwrap(), 4);
    poller.modify(fd.as_fd(), TOKEN, Interest::READ).unwrap();
    assert_eq!(tokens(&poller, &mut events), []);
}

// spec: IO-7, M1-2.4
#[test]
fn what_is_the_case_is_known_exactly_in_the_end() {
    let (poller, mut events) = poller();
    let mut found = |fd: std::os::fd::BorrowedFd<'_>, interest| {
        poller.add(fd, TOKEN, interest).unwrap();
        let flags = look(&poller, &mut events).first().map_or(Flags::NOTHING, |event| event.flags);
        poller.delete(fd).unwrap();
        if flags.has(Flags::UNSURE) { ask(fd, flags).unwrap() } else { flags }
    };
    let (reader, writer) = io::pipe().unwrap();
    assert_eq!(found(writer.as_fd(), Interest::WRITE), Flags::WRITABLE);
    assert_eq!(found(reader.as_fd(), Interest::READ), Flags::NOTHING);
    drop(writer);
    assert_eq!(found(reader.as_fd(), Interest::READ), Flags::HANGUP);
    assert_eq!(found(reader.as_fd(), Interest::EDGE), Flags::HANGUP, "without being asked");

    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    assert_eq!(found(writer.as_fd(), Interest::WRITE), Flags::WRITABLE.or(Flags::ERROR));
}
