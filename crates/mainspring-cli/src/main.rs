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
mod top;
mod trace;
mod units;
mod watchdog;

use std::convert::Infallible;
use std::process::ExitCode;

use crate::args::{Cli, Command};
use crate::program::Program;

fn main() -> ExitCode {
    let done = match args::parse() {
        Cli { command: Some(Command::Top(top)), .. } => top::run(&top),
        cli => run(cli).map(|never| match never {}),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mainspring: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs a script to its end.
fn run(cli: Cli) -> Result<Infallible, String> {
    let options = cli.options.clone();
    session::run(Program::of(cli)?, &options)
}
