//! The command `mainspring`: runs JavaScript on the event loop.

mod args;
mod ending;
mod figures;
mod inspect;
mod program;
mod repl;
mod session;
mod signals;
mod stack;
mod trace;
mod units;
mod watchdog;

use std::process::ExitCode;

use clap::Parser;

use crate::args::Cli;
use crate::program::Program;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let options = cli.options.clone();
    match Program::of(cli).and_then(|program| session::run(program, &options)) {
        Ok(never) => match never {},
        Err(error) => {
            eprintln!("mainspring: {error}");
            ExitCode::FAILURE
        }
    }
}
