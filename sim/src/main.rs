//! `cargo run --release -p mainspring-sim -- --seeds 1000000`: see the README.

mod chain;
mod execute;
mod program;
mod shrink;
mod streams;
mod watchdog;
mod world;

use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;

use execute::run;
use program::Program;
use shrink::shrink;

/// Runs random programs on the simulated loop, and checks what must be true of them
#[derive(Parser)]
#[command(name = "mainspring-sim", version)]
struct Arguments {
    /// How many programs
    #[arg(long, default_value_t = 20_000)]
    seeds: u64,
    /// The first one
    #[arg(long, default_value_t = 0)]
    start: u64,
    /// Only this one: shows the program, and whether it does the same twice
    #[arg(long)]
    seed: Option<u64>,
    /// Do not make a program that fails smaller
    #[arg(long)]
    whole: bool,
}

/// How often progress is shown.
const PACE: Duration = Duration::from_millis(500);

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // Many callbacks panic on purpose.
    std::panic::set_hook(Box::new(|_| ()));
    watchdog::start();
    match arguments.seed {
        Some(seed) => replay(seed, arguments.whole),
        None => explore(&arguments),
    }
}

fn replay(seed: u64, whole: bool) -> ExitCode {
    let program = Program::random(seed);
    println!("{program}");
    let (first, second) = (run(&program, seed), run(&program, seed));
    // What is wrong may be said with the number of the loop, which is another one the second time.
    let is_same = match (&first, &second) {
        (Ok(one), Ok(other)) => one == other,
        (one, other) => one.is_err() && other.is_err(),
    };
    if !is_same {
        println!("seed {seed} does not repeat itself: {first:?}, then {second:?}");
        return ExitCode::FAILURE;
    }
    match first {
        Ok(fingerprint) => {
            println!("seed {seed}: nothing is wrong, fingerprint {fingerprint:016x}");
            ExitCode::SUCCESS
        }
        Err(violation) => {
            println!("seed {seed}: {violation}");
            if !whole {
                smaller(&program, seed);
            }
            ExitCode::FAILURE
        }
    }
}

fn explore(arguments: &Arguments) -> ExitCode {
    let begin = Instant::now();
    let is_terminal = std::io::stderr().is_terminal();
    let mut shown = begin;
    let speed = |done: u64| done as f64 / begin.elapsed().as_secs_f64();
    for done in 0..arguments.seeds {
        let seed = arguments.start + done;
        let program = Program::random(seed);
        if let Err(violation) = run(&program, seed) {
            println!("seed {seed}, after {} programs: {violation}", done + 1);
            if !arguments.whole {
                smaller(&program, seed);
            }
            println!("to see it again: cargo run --release -p mainspring-sim -- --seed {seed}");
            return ExitCode::FAILURE;
        }
        if is_terminal && shown.elapsed() > PACE {
            shown = Instant::now();
            eprint!("\r{done} of {} seeds, {:.0} per second ", arguments.seeds, speed(done));
            let _ = std::io::stderr().flush();
        }
    }
    if is_terminal {
        eprintln!();
    }
    let (seeds, speed) = (arguments.seeds, speed(arguments.seeds));
    println!("{seeds} seeds, nothing is wrong; {speed:.0} seeds per second");
    ExitCode::SUCCESS
}

fn smaller(program: &Program, seed: u64) {
    let (small, with, violation) = shrink(program, seed);
    println!("\n{} steps of {} are enough, with seed {with}:\n", small.len(), program.len());
    println!("{small}\n{violation}");
}
