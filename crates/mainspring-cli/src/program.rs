//! What is to be run.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;

use crate::args::{Cli, Command};

/// What is to be run, and what it finds in `process.argv`.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) source: Source,
    pub(crate) args: Vec<String>,
    /// `process.execArgv`
    pub(crate) own_args: Vec<String>,
}

#[derive(Debug)]
pub(crate) enum Source {
    File(PathBuf),
    /// Code, with the name that its positions have.
    Code {
        code: String,
        name: &'static str,
        prints: bool,
    },
    Repl,
}

impl Source {
    /// What the loop is called that runs it.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::File(path) => text(path.file_name().unwrap_or(path.as_os_str())),
            Self::Code { name, .. } => (*name).to_owned(),
            Self::Repl => "repl".to_owned(),
        }
    }
}

impl Program {
    /// What the command line asks for. A script that comes through a pipe is read.
    pub(crate) fn of(cli: Cli) -> Result<Self, String> {
        let Cli { command, script, eval, print, .. } = cli;
        let mut own_len = std::env::args_os().len().saturating_sub(1);
        let code = |code, prints| Source::Code { code, name: "[eval]", prints };
        let (source, args) = match (command, eval, print) {
            (Some(Command::Run { script }), ..) => file(script)?,
            (Some(Command::Eval { code: mut args, print }), ..) => {
                let source = code(args.remove(0), print);
                own_len -= 1;
                (source, args)
            }
            (Some(Command::Top(_)), ..) => return Err("`top` runs no script".into()),
            (None, Some(text), _) => (code(text, false), texts(script)),
            (None, None, Some(text)) => (code(text, true), texts(script)),
            (None, None, None) if !script.is_empty() => file(script)?,
            (None, None, None) if io::stdin().is_terminal() => (Source::Repl, Vec::new()),
            (None, None, None) => (standard_input()?, Vec::new()),
        };
        let own_args = own_args(own_len.saturating_sub(args.len()));
        Ok(Self { source, args, own_args })
    }
}

/// A script with its arguments. The first of them is its path, as everybody else would find it.
fn file(mut script: Vec<OsString>) -> Result<(Source, Vec<String>), String> {
    if script[0] == "-" {
        return Ok((standard_input()?, texts(script)));
    }
    let path = PathBuf::from(&script[0]);
    let absolute = std::path::absolute(&path).map_err(|error| {
        format!(
            "the current directory is not to be found, and '{}' not either: {error}",
            path.display()
        )
    })?;
    script[0] = absolute.clone().into_os_string();
    Ok((Source::File(absolute), texts(script)))
}

fn standard_input() -> Result<Source, String> {
    let mut code = Vec::new();
    io::stdin()
        .read_to_end(&mut code)
        .map_err(|error| format!("the script cannot be read from the standard input: {error}"))?;
    let code = String::from_utf8_lossy(&code).into_owned();
    Ok(Source::Code { code, name: "[stdin]", prints: false })
}

fn texts(args: Vec<OsString>) -> Vec<String> {
    args.into_iter().map(text).collect()
}

fn text(arg: impl AsRef<OsStr>) -> String {
    arg.as_ref().to_string_lossy().into_owned()
}

/// The first arguments, which are none of the script's.
fn own_args(count: usize) -> Vec<String> {
    let own = std::env::args_os().skip(1).take(count).map(text);
    own.filter(|arg| arg != "run" && arg != "eval").collect()
}
