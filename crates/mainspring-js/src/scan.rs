//! A look at the source of a script without an engine: is it a module, and what does it export?
//!
//! It reads tokens, not grammar. What it says of code that runs is right but for contrived cases; code that is
//! broken is for the engine to refuse.
//!
//! ```
//! use mainspring_js::scan;
//!
//! assert!(scan::syntax("export default 1").module);
//! assert_eq!(scan::commonjs_exports("exports.a = 1").names, ["a"]);
//! ```

mod exports;
mod reexports;

pub use exports::{Exports, commonjs_exports};
pub use reexports::commonjs_names;

/// What of the syntax of modules a source has.
///
/// ```
/// let syntax = mainspring_js::scan::syntax("await fetch('x')");
/// assert!(!syntax.module && syntax.doubtful);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Syntax {
    /// `import` or `export` as a statement, or `import.meta`.
    pub module: bool,
    /// What a module may have at its top and a CommonJS source only further down: `await`, or a declaration of
    /// a name that CommonJS has already.
    pub doubtful: bool,
}

/// The parameters of the function that a CommonJS source is the body of.
///
/// ```
/// assert!(mainspring_js::scan::COMMONJS_NAMES.contains(&"__dirname"));
/// ```
pub const COMMONJS_NAMES: &[&str] = &["exports", "require", "module", "__filename", "__dirname"];

/// Looks for the syntax of modules in a source.
///
/// ```
/// use mainspring_js::scan::syntax;
///
/// assert!(syntax("import fs from 'fs';").module);
/// assert!(!syntax("import('fs').then(({ export: x }) => x);").module);
/// ```
#[must_use]
pub fn syntax(source: &str) -> Syntax {
    let tokens = Tokens::read(source);
    let mut found = Syntax::default();
    for at in 0..tokens.len() {
        if tokens.is_property(at) {
            continue;
        }
        match tokens.word(at) {
            Some("export") if tokens.is_top(at) => found.module = true,
            Some("import") => {
                let is_meta = tokens.is(at + 1, b'.') && tokens.word(at + 2) == Some("meta");
                let is_expression = tokens.is(at + 1, b'(') || tokens.is(at + 1, b'.');
                found.module |= is_meta || tokens.is_top(at) && !is_expression;
            }
            Some("await") => found.doubtful = true,
            Some("const" | "let" | "class") => {
                let name = tokens.word(at + 1).unwrap_or_default();
                found.doubtful |= COMMONJS_NAMES.contains(&name);
            }
            _ => {}
        }
    }
    found
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// An identifier or a keyword.
    Word,
    /// One character of punctuation.
    Mark(u8),
    /// A string.
    Text,
    /// A number, a regular expression or a piece of a template.
    Other,
}

#[derive(Clone, Copy, Debug)]
struct Token {
    kind: Kind,
    start: usize,
    end: usize,
    /// Outside of all brackets.
    is_top: bool,
}

/// The tokens of a source. An index beyond the end is no token of any kind.
struct Tokens<'s> {
    source: &'s str,
    list: Vec<Token>,
}

impl<'s> Tokens<'s> {
    fn read(source: &'s str) -> Self {
        let reader =
            Reader { source: source.as_bytes(), at: 0, list: Vec::new(), open: Vec::new() };
        Self { source, list: reader.read() }
    }

    fn len(&self) -> usize {
        self.list.len()
    }

    fn is(&self, at: usize, mark: u8) -> bool {
        self.list.get(at).is_some_and(|token| token.kind == Kind::Mark(mark))
    }

    fn word(&self, at: usize) -> Option<&'s str> {
        let token = self.list.get(at).filter(|token| token.kind == Kind::Word)?;
        Some(&self.source[token.start..token.end])
    }

    /// What stands between the quotes of a string, as it is written.
    fn text(&self, at: usize) -> Option<&'s str> {
        let token = self.list.get(at).filter(|token| token.kind == Kind::Text)?;
        self.source.get(token.start + 1..token.end - 1)
    }

    fn is_top(&self, at: usize) -> bool {
        self.list.get(at).is_some_and(|token| token.is_top)
    }

    /// Whether the token is behind a dot. Three dots are none.
    fn is_property(&self, at: usize) -> bool {
        at > 0 && self.is(at - 1, b'.') && !(at > 1 && self.is(at - 2, b'.'))
    }

    /// Whether a single `=` stands there.
    fn is_assignment(&self, at: usize) -> bool {
        self.is(at, b'=') && {
            let next = self.source.as_bytes().get(self.list[at].end);
            !matches!(next, Some(b'=' | b'>'))
        }
    }
}

/// A bracket that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    /// `(` or `[` or a brace. Whether a slash behind its end begins a regular expression.
    Bracket(bool),
    /// `${` in a template.
    Template,
}

struct Reader<'s> {
    source: &'s [u8],
    at: usize,
    list: Vec<Token>,
    open: Vec<Open>,
}

impl Reader<'_> {
    fn read(mut self) -> Vec<Token> {
        if self.source.starts_with(b"#!") {
            self.skip_line();
        }
        while let Some(&byte) = self.source.get(self.at) {
            let start = self.at;
            let next = self.source.get(self.at + 1).copied();
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                b'/' if next == Some(b'/') => self.skip_line(),
                b'/' if next == Some(b'*') => {
                    self.at = find(self.source, b"*/", self.at + 2)
                        .map_or(self.source.len(), |at| at + 2);
                }
                b'/' if self.expects_value() && self.skip_regexp() => self.push(Kind::Other, start),
                b'"' | b'\'' => {
                    self.skip_string(byte);
                    self.push(Kind::Text, start);
                }
                b'`' => self.template(),
                b'}' if self.open.last() == Some(&Open::Template) => {
                    self.open.pop();
                    self.template();
                }
                b'0'..=b'9' => {
                    self.skip_while(|byte| is_word(byte) || byte == b'.');
                    self.push(Kind::Other, start);
                }
                _ if is_word(byte) => {
                    self.skip_while(is_word);
                    self.push(Kind::Word, start);
                }
                _ => self.mark(byte),
            }
        }
        self.list
    }

    fn push(&mut self, kind: Kind, start: usize) {
        self.list.push(Token { kind, start, end: self.at, is_top: self.open.is_empty() });
    }

    fn mark(&mut self, byte: u8) {
        let start = self.at;
        match byte {
            b'(' => {
                let keyword = matches!(self.last_word(), Some(b"if" | b"while" | b"for" | b"with"));
                self.open.push(Open::Bracket(keyword));
            }
            b'[' => self.open.push(Open::Bracket(false)),
            b'{' => {
                let is_block = self.begins_block();
                self.open.push(Open::Bracket(is_block));
            }
            _ => {}
        }
        let closed = if matches!(byte, b')' | b']' | b'}') { self.open.pop() } else { None };
        self.at += 1;
        self.push(Kind::Mark(byte), start);
        if closed == Some(Open::Bracket(true)) {
            // A block or a condition is no value: mark its end as the end of a statement.
            self.list.push(Token {
                kind: Kind::Mark(b';'),
                start: self.at,
                end: self.at,
                is_top: self.open.is_empty(),
            });
        }
    }

    /// The text of a template up to its end or its next `${`.
    fn template(&mut self) {
        let start = self.at;
        self.at += 1;
        while let Some(&byte) = self.source.get(self.at) {
            match byte {
                b'\\' => self.at += 2,
                b'`' => {
                    self.at += 1;
                    break;
                }
                b'$' if self.source.get(self.at + 1) == Some(&b'{') => {
                    self.at += 2;
                    self.push(Kind::Mark(b'('), start);
                    self.open.push(Open::Template);
                    return;
                }
                _ => self.at += 1,
            }
        }
        self.at = self.at.min(self.source.len());
        self.push(Kind::Other, start);
    }

    fn skip_while(&mut self, is_part: impl Fn(u8) -> bool) {
        while self.source.get(self.at).is_some_and(|&byte| is_part(byte)) {
            self.at += 1;
        }
    }

    fn skip_line(&mut self) {
        self.skip_while(|byte| byte != b'\n');
    }

    fn skip_string(&mut self, quote: u8) {
        self.at += 1;
        while let Some(&byte) = self.source.get(self.at) {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == quote || byte == b'\n' {
                break;
            }
        }
        self.at = self.at.min(self.source.len());
    }

    /// Skips a regular expression. False, and nothing skipped, if it has no end on this line.
    fn skip_regexp(&mut self) -> bool {
        let mut at = self.at + 1;
        let mut in_class = false;
        while let Some(&byte) = self.source.get(at) {
            at += 1;
            match byte {
                b'\n' => return false,
                b'\\' => at += 1,
                b'[' => in_class = true,
                b']' => in_class = false,
                b'/' if !in_class => {
                    self.at = at.min(self.source.len());
                    self.skip_while(is_word);
                    return true;
                }
                _ => {}
            }
        }
        false
    }

    fn last_word(&self) -> Option<&[u8]> {
        let token = self.list.last().filter(|token| token.kind == Kind::Word)?;
        Some(&self.source[token.start..token.end])
    }

    /// Whether a value is expected behind the last token, so that a slash begins a regular expression.
    fn expects_value(&self) -> bool {
        match self.list.last().map(|token| token.kind) {
            None => true,
            Some(Kind::Mark(mark)) => !matches!(mark, b')' | b']' | b'}'),
            Some(Kind::Word) => self.last_word().is_some_and(is_operator_word),
            Some(Kind::Text | Kind::Other) => false,
        }
    }

    /// Whether a brace here opens a block rather than an object or the body of a function expression.
    fn begins_block(&self) -> bool {
        match self.list.last().map(|token| token.kind) {
            None => true,
            Some(Kind::Mark(mark)) => matches!(mark, b';' | b'{' | b'}' | b')'),
            Some(Kind::Word) => {
                matches!(self.last_word(), Some(b"else" | b"do" | b"try" | b"finally"))
            }
            Some(Kind::Text | Kind::Other) => false,
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'\\' | b'#') || byte >= 0x80
}

/// Words that want an operand behind them.
fn is_operator_word(word: &[u8]) -> bool {
    matches!(
        word,
        b"return"
            | b"typeof"
            | b"instanceof"
            | b"in"
            | b"of"
            | b"new"
            | b"delete"
            | b"void"
            | b"throw"
            | b"case"
            | b"do"
            | b"else"
            | b"await"
            | b"yield"
    )
}

fn find(bytes: &[u8], wanted: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    rest.windows(wanted.len()).position(|window| window == wanted).map(|at| at + from)
}

#[cfg(test)]
mod tests;
