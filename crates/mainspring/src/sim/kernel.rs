//! The system calls of the loop's backend, as a simulation answers them: epoll, eventfd, timerfd, and streams.
//!
//! The backend above is the real one. Descriptors are real, too, and keep their numbers from being used by others,
//! but nothing is behind them: what they stand for is here.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write as _;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rustix::event::EventfdFlags;
use rustix::event::epoll::{self, EventFlags};
use rustix::io::Errno;
use rustix::time::Itimerspec;

use super::scheduler::{NEVER, Scheduler, ThreadId, current};

type Result<T> = rustix::io::Result<T>;

/// How many bytes a stream holds that were not read yet.
const CAPACITY: usize = 4096;

/// All that is open.
#[derive(Debug, Default)]
pub(crate) struct Kernel {
    objects: BTreeMap<RawFd, Object>,
    /// Names that can be connected to.
    names: BTreeMap<String, RawFd>,
    serial: u64,
    /// Who waits for something to become ready: all look again when anything changes.
    waiters: Vec<ThreadId>,
}

#[derive(Debug)]
struct Object {
    /// Never used again, as the number of the descriptor is.
    serial: u64,
    /// How often it became ready, or readier.
    edges: u64,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Epoll(Vec<Entry>),
    Event(u64),
    /// When it expires, and whether it has.
    Timer(i64, bool),
    Stream(End),
    /// Ends of connections that were not accepted yet.
    Listener(VecDeque<OwnedFd>),
}

/// A registration.
#[derive(Debug)]
struct Entry {
    fd: RawFd,
    serial: u64,
    token: u64,
    flags: EventFlags,
    /// The edge that was reported last.
    seen: u64,
    is_armed: bool,
}

/// One end of a stream.
#[derive(Debug)]
struct End {
    peer: RawFd,
    peer_serial: u64,
    /// What can be read.
    inbound: VecDeque<u8>,
    /// The peer will write no more.
    is_ended: bool,
    /// The peer is gone.
    is_gone: bool,
}

impl Kernel {
    fn insert(&mut self, fd: &OwnedFd, kind: Kind) -> u64 {
        self.serial += 1;
        let object = Object { serial: self.serial, edges: 1, kind };
        // What had this number before was closed.
        self.objects.insert(fd.as_raw_fd(), object);
        self.serial
    }

    fn object(&mut self, fd: RawFd) -> Result<&mut Object> {
        self.objects.get_mut(&fd).ok_or(Errno::BADF)
    }

    /// What is ready of a descriptor.
    fn ready(&self, object: &Object) -> EventFlags {
        let mut ready = EventFlags::empty();
        match &object.kind {
            Kind::Epoll(_) => {}
            Kind::Event(count) => {
                ready.set(EventFlags::IN, *count > 0);
                ready.insert(EventFlags::OUT);
            }
            Kind::Timer(_, has_expired) => ready.set(EventFlags::IN, *has_expired),
            Kind::Listener(waiting) => ready.set(EventFlags::IN, !waiting.is_empty()),
            Kind::Stream(end) => {
                let is_over = end.is_ended || end.is_gone;
                ready.set(EventFlags::IN, is_over || !end.inbound.is_empty());
                ready.set(EventFlags::RDHUP, is_over);
                ready.set(EventFlags::HUP, end.is_gone);
                ready.set(EventFlags::OUT, end.is_gone || self.room(end) > 0);
            }
        }
        ready
    }

    /// How many bytes the peer would take.
    fn room(&self, end: &End) -> usize {
        match self.objects.get(&end.peer) {
            Some(Object { serial, kind: Kind::Stream(peer), .. }) if *serial == end.peer_serial => {
                CAPACITY - peer.inbound.len()
            }
            _ => 0,
        }
    }

    /// Lets the timers expire whose time has come.
    fn expire(&mut self, now: i64) {
        for object in self.objects.values_mut() {
            if let Kind::Timer(at, has_expired) = &mut object.kind
                && *at <= now
                && !*has_expired
            {
                *has_expired = true;
                object.edges += 1;
            }
        }
    }

    /// When the next timer of a set expires.
    fn deadline(&self, set: RawFd) -> i64 {
        let Some(Object { kind: Kind::Epoll(entries), .. }) = self.objects.get(&set) else {
            return NEVER;
        };
        let timers = entries.iter().filter_map(|entry| match self.objects.get(&entry.fd)?.kind {
            Kind::Timer(at, false) => Some(at),
            _ => None,
        });
        timers.min().unwrap_or(NEVER)
    }

    /// Reports what is ready.
    fn harvest(&mut self, set: RawFd, list: &mut Vec<epoll::Event>) -> Result<()> {
        let Kind::Epoll(entries) = &mut self.object(set)?.kind else { return Err(Errno::INVAL) };
        let mut entries = std::mem::take(entries);
        // Whoever was closed is gone from the set.
        entries.retain(|entry| {
            self.objects.get(&entry.fd).is_some_and(|object| object.serial == entry.serial)
        });
        for entry in &mut entries {
            let Some(object) = self.objects.get(&entry.fd) else { continue };
            let always = EventFlags::ERR | EventFlags::HUP;
            let flags = self.ready(object) & (entry.flags | always);
            let is_edge = entry.flags.contains(EventFlags::ET);
            let is_new = !is_edge || entry.seen != object.edges;
            if !entry.is_armed || flags.is_empty() || !is_new || list.len() == list.capacity() {
                continue;
            }
            entry.seen = object.edges;
            entry.is_armed = !entry.flags.contains(EventFlags::ONESHOT);
            list.push(epoll::Event { flags, data: epoll::EventData::new_u64(entry.token) });
        }
        if let Kind::Epoll(place) = &mut self.object(set)?.kind {
            *place = entries;
        }
        Ok(())
    }

    /// Something became ready.
    fn edge(&mut self, fd: RawFd, serial: u64) {
        if let Some(object) = self.objects.get_mut(&fd)
            && object.serial == serial
        {
            object.edges += 1;
        }
    }

    /// How many ends of streams, and listeners, are open.
    pub(crate) fn count_open(&self) -> usize {
        let is_users = |it: &&Object| matches!(it.kind, Kind::Stream(_) | Kind::Listener(_));
        self.objects.values().filter(is_users).count()
    }
}

impl Scheduler {
    /// Everybody who waits looks again.
    fn wake_waiters(&self) {
        let waiters = std::mem::take(&mut self.kernel.borrow_mut().waiters);
        waiters.into_iter().for_each(|id| self.wake(id));
    }

    /// Waits until something in the kernel has changed.
    fn wait_for_change(&self, until: i64, reason: &'static str) {
        let id = self.running();
        self.kernel.borrow_mut().waiters.push(id);
        self.block(until, reason);
        self.kernel.borrow_mut().waiters.retain(|other| *other != id);
    }

    fn interruption(&self) -> Result<()> {
        self.point();
        if self.rng.chance(self.faults.interrupted) { Err(Errno::INTR) } else { Ok(()) }
    }

    /// Before something is moved, which may have to be tried again: as if it became possible right after that, so
    /// whoever waits for an edge gets one. Who blocks does not notice.
    fn hesitation(&self, fd: RawFd, blocks: bool) -> Result<()> {
        self.interruption()?;
        if blocks || !self.rng.chance(self.faults.would_block) {
            return Ok(());
        }
        if let Ok(object) = self.kernel.borrow_mut().object(fd) {
            object.edges += 1;
        }
        self.wake_waiters();
        Err(Errno::AGAIN)
    }

    /// A descriptor of which nothing but the number is used.
    fn descriptor(&self) -> Result<OwnedFd> {
        self.interruption()?;
        if self.rng.chance(self.faults.no_descriptor) {
            return Err(Errno::MFILE);
        }
        rustix::event::eventfd(0, EventfdFlags::CLOEXEC)
    }

    fn open(&self, kind: Kind) -> Result<OwnedFd> {
        let fd = self.descriptor()?;
        self.kernel.borrow_mut().insert(&fd, kind);
        Ok(fd)
    }
}

/// The answer of a simulation, if the current thread is in one.
pub(crate) fn answer<T>(call: impl FnOnce(&Scheduler) -> Result<T>) -> Option<Result<T>> {
    Some(call(&*current()?))
}

pub(crate) fn epoll(scheduler: &Scheduler) -> Result<OwnedFd> {
    scheduler.open(Kind::Epoll(Vec::new()))
}

pub(crate) fn eventfd(scheduler: &Scheduler) -> Result<OwnedFd> {
    scheduler.open(Kind::Event(0))
}

pub(crate) fn timerfd(scheduler: &Scheduler) -> Result<OwnedFd> {
    scheduler.open(Kind::Timer(NEVER, false))
}

/// To an eventfd.
pub(crate) fn write(scheduler: &Scheduler, fd: &OwnedFd, bytes: &[u8]) -> Result<usize> {
    scheduler.interruption()?;
    let mut kernel = scheduler.kernel.borrow_mut();
    let object = kernel.object(fd.as_raw_fd())?;
    // A wake that writes to anything else writes into a stranger's file.
    let Kind::Event(count) = &mut object.kind else { panic!("a wake went to a stranger") };
    *count = count.saturating_add(1);
    object.edges += 1;
    drop(kernel);
    scheduler.wake_waiters();
    Ok(bytes.len())
}

pub(crate) fn settime(scheduler: &Scheduler, fd: &OwnedFd, new: &Itimerspec) -> Result<()> {
    scheduler.interruption()?;
    let value = new.it_value;
    let at = value.tv_sec * 1_000_000_000 + value.tv_nsec;
    let mut kernel = scheduler.kernel.borrow_mut();
    let object = kernel.object(fd.as_raw_fd())?;
    let Kind::Timer(when, has_expired) = &mut object.kind else { return Err(Errno::INVAL) };
    // Zero disarms it.
    *when = if at == 0 { NEVER } else { at };
    *has_expired = false;
    Ok(())
}

pub(crate) fn wait(
    scheduler: &Scheduler,
    fd: &OwnedFd,
    list: &mut Vec<epoll::Event>,
    at_once: bool,
) -> Result<()> {
    loop {
        scheduler.interruption()?;
        let mut kernel = scheduler.kernel.borrow_mut();
        kernel.expire(scheduler.now());
        kernel.harvest(fd.as_raw_fd(), list)?;
        if at_once || !list.is_empty() {
            return Ok(());
        }
        let until = kernel.deadline(fd.as_raw_fd());
        drop(kernel);
        scheduler.wait_for_change(until, "the poller");
    }
}

pub(crate) fn add(
    scheduler: &Scheduler,
    set: &OwnedFd,
    fd: BorrowedFd<'_>,
    token: u64,
    flags: EventFlags,
) -> Result<()> {
    scheduler.interruption()?;
    if scheduler.rng.chance(scheduler.faults.no_memory) {
        return Err(Errno::NOMEM);
    }
    let mut kernel = scheduler.kernel.borrow_mut();
    let serial = kernel.object(fd.as_raw_fd())?.serial;
    let entries = entries(&mut kernel, set)?;
    if entries.iter().any(|entry| entry.fd == fd.as_raw_fd() && entry.serial == serial) {
        return Err(Errno::EXIST);
    }
    entries.push(Entry { fd: fd.as_raw_fd(), serial, token, flags, seen: 0, is_armed: true });
    drop(kernel);
    scheduler.wake_waiters();
    Ok(())
}

pub(crate) fn modify(
    scheduler: &Scheduler,
    set: &OwnedFd,
    fd: BorrowedFd<'_>,
    token: u64,
    flags: EventFlags,
) -> Result<()> {
    scheduler.interruption()?;
    let mut kernel = scheduler.kernel.borrow_mut();
    let (entries, position) = registered(&mut kernel, set, fd)?;
    let entry = &mut entries[position];
    *entry = Entry { token, flags, seen: 0, is_armed: true, ..*entry };
    drop(kernel);
    scheduler.wake_waiters();
    Ok(())
}

pub(crate) fn delete(scheduler: &Scheduler, set: &OwnedFd, fd: BorrowedFd<'_>) -> Result<()> {
    scheduler.interruption()?;
    let mut kernel = scheduler.kernel.borrow_mut();
    let (entries, position) = registered(&mut kernel, set, fd)?;
    entries.remove(position);
    Ok(())
}

fn entries<'a>(kernel: &'a mut Kernel, set: &OwnedFd) -> Result<&'a mut Vec<Entry>> {
    match &mut kernel.object(set.as_raw_fd())?.kind {
        Kind::Epoll(entries) => Ok(entries),
        _ => Err(Errno::INVAL),
    }
}

/// The registration of what a descriptor stands for now.
fn registered<'a>(
    kernel: &'a mut Kernel,
    set: &OwnedFd,
    fd: BorrowedFd<'_>,
) -> Result<(&'a mut Vec<Entry>, usize)> {
    let serial = kernel.object(fd.as_raw_fd())?.serial;
    let entries = entries(kernel, set)?;
    let position = entries.iter().position(|it| it.fd == fd.as_raw_fd() && it.serial == serial);
    Ok((entries, position.ok_or(Errno::NOENT)?))
}

/// Both ends of a new stream.
pub(crate) fn pair(scheduler: &Scheduler) -> Result<(OwnedFd, OwnedFd)> {
    let (one, other) = (scheduler.descriptor()?, scheduler.descriptor()?);
    let mut kernel = scheduler.kernel.borrow_mut();
    let end = |peer: &OwnedFd, peer_serial| {
        Kind::Stream(End {
            peer: peer.as_raw_fd(),
            peer_serial,
            inbound: VecDeque::new(),
            is_ended: false,
            is_gone: false,
        })
    };
    let next = kernel.serial + 2;
    let serial = kernel.insert(&one, end(&other, next));
    kernel.insert(&other, end(&one, serial));
    Ok((one, other))
}

/// A name that can be connected to.
pub(crate) fn listen(scheduler: &Scheduler, name: &str) -> Result<OwnedFd> {
    if scheduler.kernel.borrow().names.contains_key(name) {
        return Err(Errno::ADDRINUSE);
    }
    let fd = scheduler.open(Kind::Listener(VecDeque::new()))?;
    scheduler.kernel.borrow_mut().names.insert(name.to_owned(), fd.as_raw_fd());
    Ok(fd)
}

pub(crate) fn connect(scheduler: &Scheduler, name: &str) -> Result<OwnedFd> {
    let (ours, theirs) = pair(scheduler)?;
    let mut kernel = scheduler.kernel.borrow_mut();
    let listener = kernel.names.get(name).copied();
    let object = listener.and_then(|fd| kernel.objects.get_mut(&fd));
    let Some(Object { edges, kind: Kind::Listener(waiting), .. }) = object else {
        drop(kernel);
        close(scheduler, ours.as_raw_fd());
        close(scheduler, theirs.as_raw_fd());
        return Err(Errno::CONNREFUSED);
    };
    waiting.push_back(theirs);
    *edges += 1;
    drop(kernel);
    scheduler.wake_waiters();
    Ok(ours)
}

pub(crate) fn accept(scheduler: &Scheduler, fd: RawFd, blocks: bool) -> Result<OwnedFd> {
    scheduler.hesitation(fd, blocks)?;
    if scheduler.rng.chance(scheduler.faults.no_descriptor) {
        return Err(Errno::MFILE);
    }
    match &mut scheduler.kernel.borrow_mut().object(fd)?.kind {
        Kind::Listener(waiting) => waiting.pop_front().ok_or(Errno::AGAIN),
        _ => Err(Errno::INVAL),
    }
}

fn stream(kernel: &mut Kernel, fd: RawFd) -> Result<&mut End> {
    match &mut kernel.object(fd)?.kind {
        Kind::Stream(end) => Ok(end),
        _ => Err(Errno::INVAL),
    }
}

/// How many of so many bytes are moved.
fn share(scheduler: &Scheduler, count: usize) -> usize {
    if count > 1 && scheduler.rng.chance(scheduler.faults.short) {
        1 + scheduler.rng.below(count as u64 - 1) as usize
    } else {
        count
    }
}

pub(crate) fn receive(
    scheduler: &Scheduler,
    fd: RawFd,
    mut buffer: &mut [u8],
    blocks: bool,
) -> Result<usize> {
    scheduler.hesitation(fd, blocks)?;
    let mut kernel = scheduler.kernel.borrow_mut();
    let end = stream(&mut kernel, fd)?;
    let count = share(scheduler, end.inbound.len().min(buffer.len()));
    if count == 0 {
        let is_over = end.is_ended || end.is_gone || buffer.is_empty();
        return if is_over { Ok(0) } else { Err(Errno::AGAIN) };
    }
    for byte in end.inbound.drain(..count) {
        // There is room for each.
        let _ = buffer.write(&[byte]);
    }
    let (peer, serial) = (end.peer, end.peer_serial);
    kernel.edge(peer, serial);
    drop(kernel);
    scheduler.wake_waiters();
    Ok(count)
}

pub(crate) fn send(scheduler: &Scheduler, fd: RawFd, bytes: &[u8], blocks: bool) -> Result<usize> {
    scheduler.hesitation(fd, blocks)?;
    let mut kernel = scheduler.kernel.borrow_mut();
    let end = stream(&mut kernel, fd)?;
    if end.is_gone {
        return Err(Errno::PIPE);
    }
    let (peer, serial) = (end.peer, end.peer_serial);
    let peer_end = stream(&mut kernel, peer)?;
    if peer_end.is_ended {
        // This end said that it would write no more.
        return Err(Errno::PIPE);
    }
    let count = share(scheduler, bytes.len().min(CAPACITY - peer_end.inbound.len()));
    if count == 0 && !bytes.is_empty() {
        return Err(Errno::AGAIN);
    }
    peer_end.inbound.extend(&bytes[..count]);
    kernel.edge(peer, serial);
    drop(kernel);
    scheduler.wake_waiters();
    Ok(count)
}

/// The end will write no more.
pub(crate) fn finish(scheduler: &Scheduler, fd: RawFd) -> Result<()> {
    let mut kernel = scheduler.kernel.borrow_mut();
    let end = stream(&mut kernel, fd)?;
    let (peer, serial) = (end.peer, end.peer_serial);
    if let Ok(peer) = stream(&mut kernel, peer) {
        peer.is_ended = true;
    }
    kernel.edge(peer, serial);
    drop(kernel);
    scheduler.wake_waiters();
    Ok(())
}

/// What the descriptor stands for is gone. The number is the caller's to close.
pub(crate) fn close(scheduler: &Scheduler, fd: RawFd) {
    let mut kernel = scheduler.kernel.borrow_mut();
    let Some(object) = kernel.objects.remove(&fd) else { return };
    let mut orphans = VecDeque::new();
    match object.kind {
        Kind::Stream(end) => {
            if let Some(Object { serial, edges, kind: Kind::Stream(peer) }) =
                kernel.objects.get_mut(&end.peer)
                && *serial == end.peer_serial
            {
                peer.is_gone = true;
                *edges += 1;
            }
        }
        Kind::Listener(waiting) => {
            kernel.names.retain(|_, listener| *listener != fd);
            orphans = waiting;
        }
        _ => {}
    }
    drop(kernel);
    for orphan in orphans {
        close(scheduler, orphan.as_raw_fd());
    }
    scheduler.wake_waiters();
}

/// Makes a call that is interrupted again, and waits where it would block, if it is to.
pub(crate) fn complete<T>(
    blocks: bool,
    reason: &'static str,
    mut call: impl FnMut(&Scheduler) -> Result<T>,
) -> std::io::Result<T> {
    let Some(scheduler) = current() else { return Err(std::io::ErrorKind::Unsupported.into()) };
    loop {
        match call(&scheduler) {
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if blocks => scheduler.wait_for_change(NEVER, reason),
            result => return Ok(result?),
        }
    }
}
