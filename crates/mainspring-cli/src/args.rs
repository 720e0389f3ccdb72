//! The command line.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::inspect::parse_address;
use crate::top::{Address, parse_interval};
use crate::units::{parse_memory, parse_size, parse_time};

static VERSION: LazyLock<String> = LazyLock::new(|| {
    format!("{} (quickjs-ng {})", env!("CARGO_PKG_VERSION"), mainspring_quickjs::engine_version())
});

/// Runs JavaScript on the mainspring event loop.
#[derive(Debug, Default, Parser)]
#[command(name = "mainspring", version = VERSION.as_str(), override_usage = USAGE, after_help = AFTER)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// The script, and what it finds in process.argv; - is the standard input
    #[arg(value_names = ["FILE", "ARGS"], trailing_var_arg = true)]
    pub(crate) script: Vec<OsString>,

    /// Evaluates CODE, as `mainspring eval` does
    #[arg(short, long, value_name = "CODE", conflicts_with = "print")]
    pub(crate) eval: Option<String>,

    /// Evaluates CODE and prints its value
    #[arg(short, long, value_name = "CODE")]
    pub(crate) print: Option<String>,

    #[command(flatten)]
    pub(crate) options: Options,
}

const USAGE: &str = "\
mainspring [OPTIONS] [FILE [ARGS]...]
       mainspring [OPTIONS] run FILE [ARGS]...
       mainspring [OPTIONS] eval CODE [ARGS]...
       mainspring top [OPTIONS] ADDR";

const AFTER: &str = "\
Without a file, evaluates what you type; from a pipe, runs the script that comes through it.

Exit codes: that of process.exit or process.exitCode; 1 after an uncaught error or when a limit
was hit; 2 for a bad option; 7 if a handler of uncaught errors threw; 13 if the script still
awaits something when nothing is left to do.

Without --strict-node, timers run in the order of their deadlines, to the nanosecond. Node cuts
times to milliseconds, and runs timers that are late in groups of equal delay.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Runs a file: a module or a CommonJS script, as Node decides it
    Run {
        /// The script, and what it finds in process.argv; - is the standard input
        #[arg(value_names = ["FILE", "ARGS"], trailing_var_arg = true, required = true)]
        script: Vec<OsString>,
    },
    /// Evaluates code
    Eval {
        /// The code, and what it finds in process.argv
        #[arg(
            value_names = ["CODE", "ARGS"],
            trailing_var_arg = true,
            required = true,
            allow_hyphen_values = true
        )]
        code: Vec<String>,
        /// Prints the value of the code
        #[arg(short, long)]
        print: bool,
    },
    /// Shows what the loops of a program with an inspector do, such as one of --inspect
    Top(Top),
}

/// Shows what the loops of a program with an inspector do, such as one of --inspect.
#[derive(Clone, Debug, Parser)]
#[command(name = "mainspring top", bin_name = "mainspring top", after_help = AFTER_TOP)]
pub(crate) struct Top {
    /// Where the inspector is: 9230, 127.0.0.1:9230, http://localhost:9230/
    #[arg(value_name = "ADDR")]
    pub(crate) address: Address,

    /// How often to look: 500ms, 2s
    #[arg(long, value_name = "TIME", value_parser = parse_interval, default_value = "1s")]
    pub(crate) interval: Duration,

    /// Prints what there is now, and ends
    #[arg(long)]
    pub(crate) once: bool,

    /// Prints what there is now as JSON, and ends
    #[arg(long, conflicts_with = "once")]
    pub(crate) json: bool,
}

const AFTER_TOP: &str = "\
Keys: q or Ctrl-C quits; 1 to 9, Tab, Left and Right choose a loop; Up and Down scroll.

If the output is no terminal, it is printed anew after each interval. Colours are off if NO_COLOR
is set. The exit code is 1 if the first look fails; later on, it tries again.";

#[derive(Clone, Debug, Default, PartialEq, Args)]
pub(crate) struct Options {
    /// Prints what was counted to the standard error when the script has ended
    #[arg(long, global = true, help_heading = "What it does")]
    pub(crate) stats: bool,

    /// Writes a trace of all that the loop does, for Perfetto or chrome://tracing
    #[arg(long, global = true, value_name = "FILE", help_heading = "What it does")]
    pub(crate) trace: Option<PathBuf>,

    /// Serves a page with the figures of the loop: a port, or address:port; see top
    #[arg(
        long,
        global = true,
        value_name = "ADDR",
        value_parser = parse_address,
        help_heading = "What it does"
    )]
    pub(crate) inspect: Option<SocketAddr>,

    /// Lets --inspect listen on an address that other machines reach
    #[arg(long, global = true, help_heading = "What it does")]
    pub(crate) inspect_any: bool,

    /// How much memory the engine may use: 64M, 1G
    #[arg(
        long,
        global = true,
        value_name = "SIZE",
        value_parser = parse_memory,
        help_heading = "Limits"
    )]
    pub(crate) max_memory: Option<usize>,

    /// How long one callback may run, with its microtasks: 500, 500ms, 2s
    #[arg(
        long,
        global = true,
        value_name = "MS",
        value_parser = parse_time,
        help_heading = "Limits"
    )]
    pub(crate) max_callback_time: Option<Duration>,

    /// How much stack scripts may use, before a RangeError
    #[arg(
        long,
        global = true,
        value_name = "SIZE",
        value_parser = parse_size,
        help_heading = "Limits"
    )]
    pub(crate) max_stack: Option<usize>,

    /// Time passes at once whenever the script only waits for it; Date follows
    #[arg(long, global = true, help_heading = "Time")]
    pub(crate) virtual_time: bool,

    /// Timers nested deeper than five wait at least 4 ms, as in browsers
    #[arg(long, global = true, help_heading = "Time")]
    pub(crate) html_timers: bool,

    /// Timers run in Node's order, also when they are late; see below
    #[arg(long, global = true, help_heading = "Time")]
    pub(crate) strict_node: bool,
}

/// The command line. `top` runs no script, and has none of the options that others have.
pub(crate) fn parse() -> Cli {
    let args: Vec<_> = std::env::args_os().collect();
    let is = |index: usize, word: &str| args.get(index).is_some_and(|arg| arg == word);
    if is(1, "top") {
        let top = Top::parse_from(&args[1..]);
        return Cli { command: Some(Command::Top(top)), ..Cli::default() };
    }
    if is(1, "help") && is(2, "top") {
        Top::parse_from(["mainspring top", "--help"]);
    }
    let cli = Cli::parse();
    if matches!(cli.command, Some(Command::Top(_))) && cli.options != Options::default() {
        let why = "these options are for scripts, and `top` runs none";
        Cli::command().error(ErrorKind::ArgumentConflict, why).exit();
    }
    cli
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
        Top::command().debug_assert();
    }

    #[test]
    fn what_follows_the_file_belongs_to_the_script() {
        let cli = Cli::parse_from(["mainspring", "--stats", "a.js", "--stats", "--", "-x", "run"]);
        assert!(cli.options.stats);
        assert_eq!(cli.script, ["a.js", "--stats", "--", "-x", "run"]);
        let cli = Cli::parse_from(["mainspring", "run", "a.js", "--trace", "-h"]);
        assert!(cli.options.trace.is_none());
        let Some(Command::Run { script }) = cli.command else { unreachable!() };
        assert_eq!(script, ["a.js", "--trace", "-h"]);
    }

    #[test]
    fn options_stand_before_or_after_the_command() {
        for line in
            [["mainspring", "--stats", "run", "a.js"], ["mainspring", "run", "--stats", "a.js"]]
        {
            assert!(Cli::parse_from(line).options.stats, "{line:?}");
        }
    }

    #[test]
    fn code_may_begin_with_a_hyphen() {
        let cli = Cli::parse_from(["mainspring", "eval", "-1 + 2"]);
        let Some(Command::Eval { code, print }) = cli.command else { unreachable!() };
        assert_eq!((code, print), (vec!["-1 + 2".into()], false));
    }
}
