//! Programs: what they consist of, how they are made at random, and how they are shown.

use std::fmt;
use std::sync::Arc;

/// What a callback does.
pub(crate) type Body = Arc<Vec<Op>>;

/// Where a task goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    External,
    Internal,
}

/// Who hears that a promise is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Nobody,
    /// Somebody who asks for the value only.
    Half,
    Caught,
}

/// What a stream is watched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    Read,
    /// Once.
    Write,
    /// So that nobody listens when it is hung up.
    Nothing,
}

/// One step. Numbers of things count those that exist when it is made, and start again from the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Submit(Lane, Body),
    Microtask(Body),
    NextTick(Body),
    Immediate(Body),
    /// After so many microseconds.
    Timeout(u32, Body),
    /// Every so many microseconds, so many times.
    Interval(u32, u8),
    Clear(u8),
    Reset(u8, u32),
    Unreference(u8),
    /// A promise, with a reaction.
    Promise(Body),
    Then(u8, Body),
    Settle(u8, bool),
    /// A function on another thread that takes so long, and may panic.
    Offload(u32, bool, Body),
    /// A function on another thread that takes an hour, unless it looks whether it was aborted.
    Stuck(bool, Body),
    Abort(u8),
    /// Microtasks, or tasks, of which each makes the next one, until a timer ends that after so many microseconds.
    Chain(bool, u32),
    /// A promise follows another one, or one is made for both.
    Combine(u8, u8, bool),
    /// A promise that is rejected, and who hears of that.
    Reject(Heard),
    /// A stream whose near end the loop watches, and what is done when it is heard first.
    Watch(Wish, Body),
    Send(u8, u8),
    HangUp(u8),
    Unwatch(u8),
    /// Another way to block.
    Switch(bool),
    Wake,
    Sleep(u32),
    Panic,
}

/// How the loop is driven, and comes to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It runs until nothing keeps it alive, in one go or in turns.
    Idle { turns: bool },
    /// It is shut down after so many microseconds, by one or two threads.
    Shutdown { after: u32, twice: bool },
    /// By one of its callbacks.
    FromWithin { after: u32 },
    /// It is closed.
    Close { after: u32 },
    /// It is shut down, and closed if that takes longer than so many microseconds.
    Hurried { after: u32, patience: u32 },
}

impl Ending {
    /// Whether the loop ends whatever its callbacks do.
    pub(crate) fn is_forced(self) -> bool {
        matches!(self, Self::Close { .. } | Self::Hurried { .. })
    }
}

/// How the loop is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) polls: bool,
    pub(crate) safe: bool,
    pub(crate) strict: bool,
    pub(crate) catches_up: bool,
    pub(crate) budget: usize,
    pub(crate) high_water_mark: usize,
    pub(crate) workers: usize,
    pub(crate) spins: bool,
    /// 0 for none, 1 for the usual ones, 2 for all.
    pub(crate) faults: u8,
    pub(crate) still: bool,
}

/// A program: what the loop's thread does first, what others do meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) options: Options,
    pub(crate) ending: Ending,
    pub(crate) first: Vec<Op>,
    pub(crate) others: Vec<Vec<Op>>,
}

/// Random numbers: SplitMix64.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn flip(&mut self) -> bool {
        self.below(2) == 0
    }

    /// A time: often none, often one of few, so that deadlines are equal.
    fn micros(&mut self) -> u32 {
        match self.below(4) {
            0 => 0,
            1 => [100, 1_000, 5_000][self.below(3) as usize],
            2 => self.below(300) as u32,
            _ => self.below(20_000) as u32,
        }
    }

    fn number(&mut self) -> u8 {
        self.below(8) as u8
    }

    fn wish(&mut self) -> Wish {
        match self.below(6) {
            0 => Wish::Write,
            1 => Wish::Nothing,
            _ => Wish::Read,
        }
    }

    /// Steps of a thread that comes when the loop ends.
    fn late(&mut self, after: u32) -> Vec<Op> {
        let mut ops = vec![Op::Sleep(after)];
        for _ in 0..=self.below(4) {
            ops.push(match self.below(6) {
                0 => Op::Timeout(self.micros(), Body::default()),
                1 => Op::Submit(Lane::Internal, Body::default()),
                2 => Op::Offload(self.micros(), false, Body::default()),
                _ => Op::Watch(self.wish(), Body::default()),
            });
        }
        ops
    }

    fn body(&mut self, depth: u32) -> Body {
        let most = if depth >= 3 { 1 } else { 4 };
        Arc::new(self.ops(most, depth + 1, true))
    }

    fn ops(&mut self, most: u64, depth: u32, on_loop: bool) -> Vec<Op> {
        (0..self.below(most)).map(|_| self.op(depth, on_loop)).collect()
    }

    fn op(&mut self, depth: u32, on_loop: bool) -> Op {
        loop {
            let op = match self.below(46) {
                0..=4 => Op::Submit(Lane::External, self.body(depth)),
                5..=7 => Op::Submit(Lane::Internal, self.body(depth)),
                8..=9 => Op::Microtask(self.body(depth)),
                10..=11 if on_loop => Op::NextTick(self.body(depth)),
                12..=13 if on_loop => Op::Immediate(self.body(depth)),
                14..=18 => Op::Timeout(self.micros(), self.body(depth)),
                19 => Op::Interval(self.micros().max(1), 1 + self.below(3) as u8),
                20..=21 => Op::Clear(self.number()),
                22 if on_loop => Op::Reset(self.number(), self.micros()),
                23 => Op::Unreference(self.number()),
                24..=25 => Op::Promise(self.body(depth)),
                26 => Op::Then(self.number(), self.body(depth)),
                27..=28 => Op::Settle(self.number(), self.below(4) > 0),
                29..=30 => Op::Offload(self.micros(), self.below(8) == 0, self.body(depth)),
                31 => Op::Abort(self.number()),
                32 => Op::Watch(self.wish(), self.body(depth)),
                33 => Op::Send(self.number(), self.number()),
                34 => Op::HangUp(self.number()),
                35 if on_loop => Op::Unwatch(self.number()),
                36 => Op::Switch(self.flip()),
                37 => Op::Wake,
                38 => Op::Sleep(self.micros()),
                39 if on_loop && depth > 0 => Op::Panic,
                40 => Op::Combine(self.number(), self.number(), self.flip()),
                41 if on_loop => {
                    Op::Reject([Heard::Nobody, Heard::Half, Heard::Caught][self.below(3) as usize])
                }
                42 if on_loop => Op::Unwatch(self.number()),
                43 => Op::Stuck(self.flip(), self.body(depth)),
                44 if on_loop => Op::Chain(self.flip(), self.below(2_000) as u32),
                45 => Op::Watch(self.wish(), self.body(depth)),
                _ => continue,
            };
            return op;
        }
    }
}

impl Program {
    /// The program of a seed.
    pub(crate) fn random(seed: u64) -> Self {
        let random = &mut Random::new(seed ^ 0x5EED);
        let options = Options {
            polls: random.flip(),
            safe: random.below(8) == 0,
            strict: random.flip(),
            catches_up: random.below(4) == 0,
            budget: [1, 2, 1024][random.below(3) as usize],
            high_water_mark: [2, 100_000][usize::from(random.below(6) > 0)],
            workers: 1 + random.below(3) as usize,
            spins: random.below(4) == 0,
            faults: random.below(3) as u8,
            still: random.below(4) == 0,
        };
        let after = random.micros();
        let ending = match random.below(11) {
            0..=4 => Ending::Idle { turns: random.below(3) == 0 },
            5..=7 => Ending::Shutdown { after, twice: random.below(3) == 0 },
            8 => Ending::FromWithin { after },
            9 => Ending::Close { after },
            _ => Ending::Hurried { after, patience: random.micros() },
        };
        let first = random.ops(7, 0, true);
        let mut others: Vec<_> = (0..random.below(4)).map(|_| random.ops(8, 0, false)).collect();
        if !matches!(ending, Ending::Idle { .. }) && random.below(3) == 0 {
            others.push(random.late(after));
        }
        Self { options, ending, first, others }
    }

    /// Programs that are smaller by one thing, the smallest first.
    pub(crate) fn smaller(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for index in 0..self.others.len() {
            let mut one = self.clone();
            one.others.remove(index);
            all.push(one);
        }
        for first in smaller(&self.first) {
            all.push(Self { first, ..self.clone() });
        }
        for (index, ops) in self.others.iter().enumerate() {
            for ops in smaller(ops) {
                let mut one = self.clone();
                one.others[index] = ops;
                all.push(one);
            }
        }
        let plain = Options {
            polls: false,
            safe: false,
            strict: true,
            catches_up: false,
            budget: 1024,
            high_water_mark: 100_000,
            workers: 1,
            spins: false,
            faults: 0,
            still: true,
        };
        let mine = self.options;
        all.extend(
            [
                Options { faults: 0, ..mine },
                Options { faults: mine.faults.min(1), ..mine },
                Options { safe: plain.safe, ..mine },
                Options { catches_up: plain.catches_up, ..mine },
                Options { budget: plain.budget, ..mine },
                Options { high_water_mark: plain.high_water_mark, ..mine },
                Options { spins: plain.spins, ..mine },
                Options { workers: plain.workers, ..mine },
                Options { strict: plain.strict, ..mine },
                Options { polls: plain.polls, ..mine },
                Options { still: plain.still, ..mine },
            ]
            .into_iter()
            .filter(|options| *options != mine)
            .map(|options| Self { options, ..self.clone() }),
        );
        all
    }

    /// How many steps there are.
    pub(crate) fn len(&self) -> usize {
        count(&self.first) + self.others.iter().map(|ops| count(ops)).sum::<usize>()
    }
}

fn count(ops: &[Op]) -> usize {
    ops.iter().map(|op| 1 + op.body().map_or(0, |body| count(body))).sum()
}

/// Lists without one step, with what it contains in its place, or with one that is smaller.
fn smaller(ops: &[Op]) -> Vec<Vec<Op>> {
    let mut all = Vec::new();
    let with = |index: usize, instead: &[Op]| {
        let mut list = ops[..index].to_vec();
        list.extend_from_slice(instead);
        list.extend_from_slice(&ops[index + 1..]);
        list
    };
    for (index, op) in ops.iter().enumerate() {
        all.push(with(index, &[]));
        if let Some(body) = op.body() {
            if !body.is_empty() {
                all.push(with(index, body));
            }
            for body in smaller(body) {
                all.push(with(index, &[op.with_body(Arc::new(body))]));
            }
        }
    }
    all
}

impl Op {
    fn body(&self) -> Option<&Body> {
        match self {
            Self::Submit(_, body)
            | Self::Microtask(body)
            | Self::NextTick(body)
            | Self::Immediate(body)
            | Self::Timeout(_, body)
            | Self::Promise(body)
            | Self::Then(_, body)
            | Self::Watch(_, body)
            | Self::Stuck(_, body)
            | Self::Offload(_, _, body) => Some(body),
            _ => None,
        }
    }

    fn with_body(&self, new: Body) -> Self {
        let mut op = self.clone();
        match &mut op {
            Self::Submit(_, body)
            | Self::Microtask(body)
            | Self::NextTick(body)
            | Self::Immediate(body)
            | Self::Timeout(_, body)
            | Self::Promise(body)
            | Self::Then(_, body)
            | Self::Watch(_, body)
            | Self::Stuck(_, body)
            | Self::Offload(_, _, body) => *body = new,
            _ => {}
        }
        op
    }
}

fn show(f: &mut fmt::Formatter<'_>, ops: &[Op], indent: usize) -> fmt::Result {
    for op in ops {
        write!(f, "{:indent$}", "")?;
        match op {
            Op::Submit(lane, _) => writeln!(f, "submit, {lane:?}")?,
            Op::Microtask(_) => writeln!(f, "microtask")?,
            Op::NextTick(_) => writeln!(f, "next tick")?,
            Op::Immediate(_) => writeln!(f, "immediate")?,
            Op::Timeout(micros, _) => writeln!(f, "timeout after {micros} µs")?,
            Op::Interval(micros, times) => {
                writeln!(f, "interval of {micros} µs, {times} times")?;
            }
            Op::Clear(which) => writeln!(f, "clear timer {which}")?,
            Op::Reset(which, micros) => writeln!(f, "reset timer {which} to {micros} µs")?,
            Op::Unreference(which) => writeln!(f, "unreference timer {which}")?,
            Op::Promise(_) => writeln!(f, "promise, then")?,
            Op::Then(which, _) => writeln!(f, "promise {which}, then")?,
            Op::Settle(which, true) => writeln!(f, "resolve promise {which}")?,
            Op::Settle(which, false) => writeln!(f, "reject promise {which}")?,
            Op::Offload(micros, panics, _) => {
                let end = if *panics { ", which panics" } else { "" };
                writeln!(f, "offload {micros} µs{end}, then")?;
            }
            Op::Abort(which) => writeln!(f, "abort offload {which}")?,
            Op::Combine(which, other, true) => {
                writeln!(f, "promise {which} follows promise {other}")?;
            }
            Op::Combine(which, other, false) => {
                writeln!(f, "a promise for promises {which} and {other}")?;
            }
            Op::Reject(heard) => writeln!(f, "a rejected promise, heard: {heard:?}")?,
            Op::Stuck(heeds, _) => {
                let unless = if *heeds { ", unless it is aborted" } else { "" };
                writeln!(f, "offload an hour{unless}, then")?;
            }
            Op::Chain(is_micro, micros) => {
                let what = if *is_micro { "microtasks" } else { "tasks" };
                writeln!(f, "{what} without end, for {micros} µs")?;
            }
            Op::Watch(wish, _) => {
                writeln!(f, "watch a stream for {wish:?}, and when it is heard first")?;
            }
            Op::Send(which, bytes) => writeln!(f, "send {bytes} bytes to stream {which}")?,
            Op::HangUp(which) => writeln!(f, "hang up stream {which}")?,
            Op::Unwatch(which) => writeln!(f, "unwatch stream {which}")?,
            Op::Switch(polls) => writeln!(f, "{}", if *polls { "poll" } else { "park" })?,
            Op::Wake => writeln!(f, "wake the loop")?,
            Op::Sleep(micros) => writeln!(f, "take {micros} µs")?,
            Op::Panic => writeln!(f, "panic")?,
        }
        if let Some(body) = op.body() {
            show(f, body, indent + 2)?;
        }
    }
    Ok(())
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?}\n{:?}", self.options, self.ending)?;
        writeln!(f, "the loop's thread:")?;
        show(f, &self.first, 2)?;
        for (index, ops) in self.others.iter().enumerate() {
            writeln!(f, "thread {index}:")?;
            show(f, ops, 2)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_smaller_is_smaller() {
        for seed in 0..200 {
            let program = Program::random(seed);
            assert_eq!(program, Program::random(seed));
            for smaller in program.smaller() {
                assert_ne!(smaller, program);
                assert!(smaller.len() <= program.len());
            }
        }
    }
}
