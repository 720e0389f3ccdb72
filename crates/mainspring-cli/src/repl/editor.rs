//! The line editor.

use std::cell::Cell;
use std::path::PathBuf;

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Editor, Helper};

use super::history;
use super::link::Link;
use super::screen::Screen;

const HELP: &str = "\
.editor   Type several lines, up to Ctrl-D
.exit     Leave
.help     This
.load     Evaluate a file: .load FILE

Ctrl-C abandons the line or stops what runs, Ctrl-D leaves. Tab completes names.
_ is the last value, _error the last error.
";

const COMMANDS: [&str; 4] = [".editor", ".exit", ".help", ".load"];

/// What the editor asks while a line is being typed.
struct Typing {
    link: Link,
    /// Whether each line is complete, whatever it is.
    is_plain: Cell<bool>,
}

impl Helper for Typing {}
impl Highlighter for Typing {}

impl Hinter for Typing {
    type Hint = String;
}

impl Completer for Typing {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let text = &line[..pos];
        if text.starts_with('.') {
            let fitting = COMMANDS.iter().filter(|command| command.starts_with(text));
            return Ok((0, fitting.map(|command| (*command).to_owned()).collect()));
        }
        let (word, names) = self.link.complete(text);
        Ok((pos - word.len(), names))
    }
}

impl Validator for Typing {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let line = context.input();
        let is_complete =
            self.is_plain.get() || command(line).is_some() || !self.link.is_incomplete(line);
        Ok(if is_complete { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

/// A command and what follows it.
fn command(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let is_command = word
        .strip_prefix('.')
        .is_some_and(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()));
    is_command.then_some((word, rest.trim()))
}

/// Reads lines, and has them evaluated.
pub(super) struct LineEditor {
    link: Link,
    screen: Screen,
    editor: Option<Editor<Typing, FileHistory>>,
    history: Option<PathBuf>,
}

impl LineEditor {
    pub(super) fn open(link: Link, screen: Screen) -> Self {
        let config = Config::builder()
            .completion_type(CompletionType::List)
            .max_history_size(1000)
            .and_then(|config| config.history_ignore_dups(true))
            .map(|config| config.build());
        let mut editor = config.and_then(Editor::<Typing, _>::with_config).ok();
        let history = history::file();
        if let Some(editor) = &mut editor {
            editor.set_helper(Some(Typing { link: link.clone(), is_plain: Cell::new(false) }));
            if let Some(history) = &history {
                // There is none the first time.
                let _ = editor.load_history(history);
            }
            if let Ok(printer) = editor.create_external_printer() {
                screen.feed(printer);
            }
        }
        Self { link, screen, editor, history }
    }

    /// Reads lines until the person has enough of it.
    pub(super) fn run(mut self) {
        let mut was_interrupted = false;
        loop {
            match self.read("> ") {
                Ok(line) => {
                    was_interrupted = false;
                    if !self.obey(&line) {
                        break;
                    }
                }
                Err(ReadlineError::Interrupted) if !was_interrupted => {
                    was_interrupted = true;
                    self.link.interrupt();
                    self.screen.print("(To leave, press Ctrl-C again or Ctrl-D, or type .exit)\n");
                }
                Err(_) => break,
            }
        }
        self.link.exit();
    }

    fn read(&mut self, prompt: &str) -> rustyline::Result<String> {
        let Some(editor) = &mut self.editor else { return Err(ReadlineError::Eof) };
        self.screen.while_typing(|| editor.readline(prompt))
    }

    /// Does what a line says. False if that is to leave.
    fn obey(&mut self, line: &str) -> bool {
        if line.trim().is_empty() {
            return true;
        }
        self.remember(line);
        match command(line) {
            None => self.link.evaluate(line.to_owned()),
            Some((".exit", _)) => false,
            Some((".editor", _)) => self.read_many(),
            Some((".load", path)) => self.load(path),
            Some((".help", _)) => {
                self.screen.print(HELP);
                true
            }
            Some((word, _)) => {
                self.screen.print(&format!("There is no command {word}: type .help\n"));
                true
            }
        }
    }

    fn remember(&mut self, line: &str) {
        let Some(editor) = &mut self.editor else { return };
        let is_new = editor.add_history_entry(line).unwrap_or(false);
        if let Some(history) = self.history.as_ref().filter(|_| is_new) {
            // It is a convenience.
            let _ = editor.append_history(history);
        }
    }

    fn load(&self, path: &str) -> bool {
        match std::fs::read_to_string(path) {
            Ok(source) => self.link.evaluate(source),
            Err(error) => {
                self.screen.print(&format!("{path} cannot be loaded: {error}\n"));
                true
            }
        }
    }

    /// Reads lines as they are, up to Ctrl-D.
    fn read_many(&mut self) -> bool {
        self.screen.print("// Ctrl-D evaluates, Ctrl-C abandons.\n");
        self.set_plain(true);
        let mut source = String::new();
        let is_wanted = loop {
            match self.read("... ") {
                Ok(line) => source.extend([line.as_str(), "\n"]),
                Err(ReadlineError::Eof) => break true,
                Err(_) => break false,
            }
        };
        self.set_plain(false);
        if !is_wanted {
            return true;
        }
        self.link.evaluate(source)
    }

    fn set_plain(&self, is_plain: bool) {
        if let Some(typing) = self.editor.as_ref().and_then(|editor| editor.helper()) {
            typing.is_plain.set(is_plain);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::command;

    #[test]
    fn commands_begin_with_a_dot() {
        assert_eq!(command(".load  a b.js "), Some((".load", "a b.js")));
        assert_eq!(command(" .help"), Some((".help", "")));
        assert_eq!(command(".5 + 1"), None);
        assert_eq!(command("a.b"), None);
    }
}
