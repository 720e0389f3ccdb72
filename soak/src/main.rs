//! Loops under load, for as long as you like: everything that was accepted is run, and nothing is left behind.
//!
//! `soak/run` is the mixed load; its parts are in [`load`], what counts in [`ledger`], what has to be so in
//! [`verdict`]. `soak/run hostile` is [`hostile`].

mod args;
mod descriptors;
mod heap;
mod hostile;
mod ledger;
mod load;
mod picture;
mod random;
mod report;
mod sample;
mod verdict;

use std::fs::{self, File};
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use args::{Command, Soak};
use load::{Load, Run, Sabotage, Scale};
use sample::{Belongings, Loops, Samples};

/// How long the end of the load may take.
const PATIENCE: Duration = Duration::from_secs(300);

fn main() -> ExitCode {
    let command = match args::parse(std::env::args().skip(1)) {
        Ok(command) => command,
        Err(error) => {
            eprintln!("{error}\n\n{}", args::USAGE);
            return ExitCode::from(2);
        }
    };
    let passed = match command {
        Command::Soak(soak) => run(&soak),
        Command::Hostile(time) => hostile::run_all(time),
        Command::Scenario(scenario, time) => hostile::run(scenario, time),
    };
    match passed {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The mixed load. Tells whether it has passed.
fn run(soak: &Soak) -> io::Result<bool> {
    descriptors::raise_limit()?;
    let (over, is_over) = channel();
    let limit = soak.time + PATIENCE;
    let watchdog = thread::spawn(move || watch(&is_over, limit));
    let mut samples = Samples::new(soak.time.as_secs() as usize + 2);
    let before = Belongings::now();
    let scale = if soak.is_small { Scale::SMALL } else { Scale::FULL };
    let load = Load::start(Run::new(scale, soak.sabotage));
    observe(&load, soak, &mut samples);
    let faults = load.end();
    let after = settled(before);
    drop(over);
    let verdict = verdict::judge(faults, before, after, samples.all());
    print!("\n{}\n{}", report::table(), report::conclusion(&verdict));
    fs::create_dir_all(&soak.out)?;
    let title = format!("mainspring under a mixed load for {} s", soak.time.as_secs());
    let word = if verdict.passed() { "passed" } else { "failed" };
    fs::write(soak.out.join("soak.svg"), picture::draw(samples.all(), &title, word))?;
    let json = report::json(samples.all(), before, after, &verdict);
    fs::write(soak.out.join("soak.json"), json)?;
    println!("written to {}: soak.svg, soak.json", soak.out.display());
    drop(watchdog.join());
    Ok(verdict.passed())
}

/// Takes a sample each second until the time is over, and says how it goes.
fn observe(load: &Load, soak: &Soak, samples: &mut Samples) {
    let begun = Instant::now();
    let is_terminal = io::stdout().is_terminal();
    let every = if is_terminal { 1 } else { 10 };
    for second in 1.. {
        let next = begun + Duration::from_secs(second);
        thread::sleep(next.saturating_duration_since(Instant::now()));
        if soak.sabotage == Some(Sabotage::Descriptor) {
            std::mem::forget(File::open("/dev/null"));
        }
        let sample = samples.take(Loops::of(load.handles().filter_map(|handle| handle.metrics())));
        let is_last = sample.time >= soak.time;
        if second.is_multiple_of(every) || is_last {
            let line = report::line(sample, soak.time.as_secs());
            // On a terminal each line takes the place of the one before.
            print!(
                "{}{line}{}",
                if is_terminal { "\r" } else { "" },
                if is_terminal { "\x1b[K" } else { "\n" }
            );
            drop(io::stdout().flush());
        }
        if is_last {
            return;
        }
    }
}

/// What the process has when the system has taken note of all threads that have ended.
fn settled(before: Belongings) -> Belongings {
    let limit = Instant::now() + Duration::from_secs(10);
    loop {
        let now = Belongings::now();
        if (now.threads <= before.threads && now.descriptors <= before.descriptors)
            || Instant::now() > limit
        {
            return now;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Ends the process if the load does not come to its end.
fn watch(is_over: &Receiver<()>, limit: Duration) {
    if is_over.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
        println!(
            "\n{}\nFAILED\n  the load does not end: something waits for ever",
            report::table()
        );
        std::process::exit(1);
    }
}
