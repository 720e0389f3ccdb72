//! The names that a CommonJS module exports, as far as its source shows them.

use super::Tokens;

/// What a CommonJS source exports by the look of it.
///
/// ```
/// let exports = mainspring_js::scan::commonjs_exports("module.exports = require('./other');");
/// assert_eq!(exports.reexports, ["./other"]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exports {
    /// The names of properties, each once.
    pub names: Vec<String>,
    /// The specifiers of modules whose exports are exported too.
    pub reexports: Vec<String>,
}

/// Finds the exports that `import` can have by name: assignments to properties of `exports` and
/// `module.exports`, the keys of an object that is assigned to it, and what compilers write for them.
///
/// ```
/// let exports = mainspring_js::scan::commonjs_exports("exports.a = 1; module.exports.b = 2;");
/// assert_eq!(exports.names, ["a", "b"]);
/// ```
#[must_use]
pub fn commonjs_exports(source: &str) -> Exports {
    let finder = Finder { tokens: Tokens::read(source), found: Exports::default() };
    finder.run()
}

struct Finder<'s> {
    tokens: Tokens<'s>,
    found: Exports,
}

impl<'s> Finder<'s> {
    fn run(mut self) -> Exports {
        for at in 0..self.tokens.len() {
            match self.tokens.word(at) {
                Some("exports" | "module") if !self.tokens.is_property(at) => self.assignment(at),
                Some("Object") if !self.tokens.is_property(at) && self.tokens.is(at + 1, b'.') => {
                    match self.tokens.word(at + 2) {
                        Some("defineProperty") => self.definition(at + 3),
                        Some("keys") => self.copied_keys(at + 3),
                        _ => {}
                    }
                }
                Some("__export" | "__exportStar") if self.tokens.is(at + 1, b'(') => {
                    if let Some(specifier) = self.required(at + 2) {
                        self.found.reexports.push(specifier);
                    }
                }
                _ => {}
            }
        }
        self.found
    }

    fn add(&mut self, name: Option<String>) {
        if let Some(name) = name
            && !self.found.names.contains(&name)
        {
            self.found.names.push(name);
        }
    }

    fn word(&self, at: usize) -> Option<String> {
        self.tokens.word(at).map(Into::into)
    }

    fn text(&self, at: usize) -> Option<String> {
        self.tokens.text(at).and_then(unescape)
    }

    /// The index behind `exports` or `module.exports`.
    fn reference(&self, at: usize) -> Option<usize> {
        match self.tokens.word(at)? {
            "exports" => Some(at + 1),
            "module"
                if self.tokens.is(at + 1, b'.') && self.tokens.word(at + 2) == Some("exports") =>
            {
                Some(at + 3)
            }
            _ => None,
        }
    }

    /// `exports.name =`, `exports["name"] =`, `module.exports =`.
    fn assignment(&mut self, start: usize) {
        let Some(at) = self.reference(start) else { return };
        if self.tokens.is(at, b'.') && self.tokens.is_assignment(at + 2) {
            self.add(self.word(at + 1));
        } else if self.tokens.is(at, b'[')
            && self.tokens.is(at + 2, b']')
            && self.tokens.is_assignment(at + 3)
        {
            self.add(self.text(at + 1));
        } else if self.tokens.word(start) == Some("module") && self.tokens.is_assignment(at) {
            // The last one counts.
            self.found.reexports.clear();
            if self.tokens.is(at + 1, b'{') {
                self.literal(at + 2);
            } else if let Some(specifier) = self.required(at + 1) {
                self.found.reexports.push(specifier);
            }
        }
    }

    /// The keys of an object, as long as the values are no more than names.
    fn literal(&mut self, mut at: usize) {
        loop {
            if self.tokens.is(at, b'.')
                && self.tokens.is(at + 1, b'.')
                && self.tokens.is(at + 2, b'.')
            {
                let Some(specifier) = self.required(at + 3) else { return };
                self.found.reexports.push(specifier);
                at += 7;
            } else if let Some(name) = self.word(at) {
                if !self.tokens.is(at + 1, b':') {
                    self.add(Some(name));
                    at += 1;
                } else if self.tokens.word(at + 2).is_some() {
                    self.add(Some(name));
                    at += 3;
                } else {
                    return;
                }
            } else if self.tokens.is(at + 1, b':') && self.tokens.word(at + 2).is_some() {
                self.add(self.text(at));
                at += 3;
            } else {
                return;
            }
            if !self.tokens.is(at, b',') {
                return;
            }
            at += 1;
        }
    }

    /// `(exports, "name", { value: …` or with an enumerable getter that returns a name or a member.
    fn definition(&mut self, at: usize) {
        if !self.tokens.is(at, b'(') {
            return;
        }
        let Some(at) = self.reference(at + 1) else { return };
        if !self.tokens.is(at, b',')
            || !self.tokens.is(at + 2, b',')
            || !self.tokens.is(at + 3, b'{')
        {
            return;
        }
        let name = self.text(at + 1);
        let mut at = at + 4;
        let is_enumerable = self.tokens.word(at) == Some("enumerable")
            && self.tokens.is(at + 1, b':')
            && self.tokens.word(at + 2) == Some("true")
            && self.tokens.is(at + 3, b',');
        if is_enumerable {
            at += 4;
        }
        let is_value = self.tokens.word(at) == Some("value") && self.tokens.is(at + 1, b':');
        if is_value || is_enumerable && self.is_plain_getter(at) {
            self.add(name);
        }
    }

    fn is_plain_getter(&self, mut at: usize) -> bool {
        if self.tokens.word(at) != Some("get") {
            return false;
        }
        at += 1;
        if self.tokens.is(at, b':') && self.tokens.word(at + 1) == Some("function") {
            at += 2;
            if self.tokens.word(at).is_some() {
                at += 1;
            }
        }
        let is_head = self.tokens.is(at, b'(')
            && self.tokens.is(at + 1, b')')
            && self.tokens.is(at + 2, b'{');
        if !is_head
            || self.tokens.word(at + 3) != Some("return")
            || self.tokens.word(at + 4).is_none()
        {
            return false;
        }
        at += 5;
        if self.tokens.is(at, b'.') && self.tokens.word(at + 1).is_some() {
            at += 2;
        } else if self.tokens.is(at, b'[')
            && self.tokens.text(at + 1).is_some()
            && self.tokens.is(at + 2, b']')
        {
            at += 3;
        }
        if self.tokens.is(at, b';') {
            at += 1;
        }
        self.tokens.is(at, b'}')
    }

    /// `(x).forEach(function (key) { … exports[key] = …`, where `x` is a module that was required.
    fn copied_keys(&mut self, at: usize) {
        let Some(source) = self.tokens.word(at + 1) else { return };
        let is_loop = self.tokens.is(at, b'(')
            && self.tokens.is(at + 2, b')')
            && self.tokens.is(at + 3, b'.')
            && self.tokens.word(at + 4) == Some("forEach")
            && self.tokens.is(at + 5, b'(')
            && self.tokens.word(at + 6) == Some("function")
            && self.tokens.is(at + 7, b'(');
        let Some(key) = self.tokens.word(at + 8).filter(|_| is_loop) else { return };
        // Compilers write no more than this between the head and the copy.
        let is_copied = (at + 9..at + 80).any(|at| {
            self.tokens.word(at) == Some("exports")
                && self.tokens.word(at + 2) == Some(key)
                && (self.tokens.is(at + 1, b'[') || self.tokens.is(at + 1, b','))
        });
        if is_copied && let Some(specifier) = self.bound(source, at) {
            self.found.reexports.push(specifier);
        }
    }

    /// The module that a variable was assigned before, perhaps through a helper.
    fn bound(&self, name: &str, before: usize) -> Option<String> {
        (0..before).rev().find_map(|at| {
            if self.tokens.word(at) != Some(name) || !self.tokens.is_assignment(at + 1) {
                return None;
            }
            self.required(at + 2).or_else(|| {
                let is_call = self.tokens.word(at + 2).is_some() && self.tokens.is(at + 3, b'(');
                is_call.then(|| self.required(at + 4)).flatten()
            })
        })
    }

    /// The specifier of `require("…")`.
    fn required(&self, at: usize) -> Option<String> {
        let is_call = self.tokens.word(at) == Some("require")
            && self.tokens.is(at + 1, b'(')
            && self.tokens.is(at + 3, b')');
        is_call.then(|| self.text(at + 2)).flatten()
    }
}

/// The value of a string literal. None if it is no text.
fn unescape(text: &str) -> Option<String> {
    let mut units = Vec::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    let push = |units: &mut Vec<u16>, character: char| {
        units.extend_from_slice(character.encode_utf16(&mut [0; 2]));
    };
    while let Some(character) = characters.next() {
        if character != '\\' {
            push(&mut units, character);
            continue;
        }
        match characters.next()? {
            'x' => units.push(hex(&mut characters, 2)?),
            'u' if characters.peek() == Some(&'{') => {
                let digits: String =
                    characters.by_ref().skip(1).take_while(|&digit| digit != '}').collect();
                push(&mut units, char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?);
            }
            'u' => units.push(hex(&mut characters, 4)?),
            'n' => units.push(b'\n'.into()),
            't' => units.push(b'\t'.into()),
            'r' => units.push(b'\r'.into()),
            'b' => units.push(8),
            'f' => units.push(12),
            'v' => units.push(11),
            '0' => units.push(0),
            '\n' => {}
            other => push(&mut units, other),
        }
    }
    String::from_utf16(&units).ok()
}

fn hex(characters: &mut impl Iterator<Item = char>, count: usize) -> Option<u16> {
    let digits: String = characters.take(count).collect();
    u16::from_str_radix(&digits, 16).ok()
}
