//! The native form: `name = value`, and `name "label" { … }`. A comma may follow each item, and line
//! breaks have no meaning.

use std::collections::HashMap;

use super::{Body, Content, Cursor, DEEPEST, Item, Key, Position, SyntaxError, Value, number};

pub(super) fn parse(text: &str) -> Result<Body, SyntaxError> {
    let text = text.replace("\r\n", "\n");
    let mut parser = Parser { text: &text, at: 0, cursor: Cursor::new(&text) };
    parser.body(None, DEEPEST)
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    cursor: Cursor<'t>,
}

impl<'t> Parser<'t> {
    /// The items up to and including the closing brace, or up to the end of the file.
    fn body(&mut self, end: Option<char>, depth: usize) -> Result<Body, SyntaxError> {
        let mut items: Vec<Item> = Vec::new();
        let mut assigned = HashMap::new();
        while self.next()? != end {
            if self.peek().is_none() {
                return Err(self.expected("}"));
            }
            let item = self.item(depth)?;
            if item.is_assigned
                && let Some(first) = assigned.insert(item.name.text.clone(), item.name.position)
            {
                let reason = format!("this was already set at {first}; it can be set once only");
                return Err(SyntaxError::new(item.name.position, reason));
            }
            items.push(item);
            self.accept(',')?;
        }
        self.bump();
        Ok(Body { items })
    }

    fn item(&mut self, depth: usize) -> Result<Item, SyntaxError> {
        let name = self.key()?.ok_or_else(|| self.expected("a name"))?;
        let mut labels = Vec::new();
        while let Some(label) = self.key()? {
            labels.push(label);
        }
        let is_assigned = labels.is_empty() && self.accept('=')?;
        if !is_assigned && self.next()? != Some('{') {
            return Err(self.expected(if labels.is_empty() { "= or {" } else { "{ of a block" }));
        }
        Ok(Item { name, labels, is_assigned, value: self.value("a value", depth)? })
    }

    fn key(&mut self) -> Result<Option<Key>, SyntaxError> {
        let first = self.next()?;
        let position = self.position();
        let text = match first {
            Some('"') => self.string()?,
            Some(first) if is_letter(first) && !matches!(self.word(), "true" | "false") => {
                let word = self.word();
                self.at += word.len();
                word.to_owned()
            }
            _ => return Ok(None),
        };
        Ok(Some(Key { position, text }))
    }

    fn value(&mut self, expected: &str, depth: usize) -> Result<Value, SyntaxError> {
        let first = self.next()?;
        let position = self.position();
        let below = || depth.checked_sub(1).ok_or(SyntaxError::too_deep(position));
        let content = match first {
            Some('"') => Content::String(self.string()?),
            Some('<') => Content::String(self.heredoc()?),
            Some('{') => {
                self.bump();
                Content::Body(self.body(Some('}'), below()?)?)
            }
            Some('[') => {
                self.bump();
                Content::List(self.list(below()?)?)
            }
            Some('-' | '0'..='9') => {
                let text = self.taken(|letter| letter.is_ascii_alphanumeric() || "+-.".contains(letter));
                number(text).ok_or_else(|| SyntaxError::new(position, "this is not a number"))?
            }
            _ => match self.word() {
                word @ ("true" | "false") => {
                    self.at += word.len();
                    Content::Bool(word == "true")
                }
                _ => return Err(self.expected(expected)),
            },
        };
        Ok(Value { position, content })
    }

    /// The values up to and including the closing bracket. A comma may follow the last one.
    fn list(&mut self, depth: usize) -> Result<Vec<Value>, SyntaxError> {
        let mut values = Vec::new();
        while !self.accept(']')? {
            values.push(self.value("a value or ]", depth)?);
            if !self.accept(',')? && self.next()? != Some(']') {
                return Err(self.expected(", or ]"));
            }
        }
        Ok(values)
    }

    /// A quoted string. The content of `${...}` stays as it is, with quotes and line breaks.
    fn string(&mut self) -> Result<String, SyntaxError> {
        let start = self.position();
        let unterminated = || SyntaxError::new(start, "this string has no end");
        let mut text = String::new();
        let mut braces = 0_usize;
        self.bump();
        loop {
            if braces == 0 && self.text[self.at..].starts_with("${") {
                self.at += "${".len();
                braces = 1;
                text.push_str("${");
                continue;
            }
            match self.bump().ok_or_else(unterminated)? {
                '"' if braces == 0 => return Ok(text),
                '\n' if braces == 0 => return Err(unterminated()),
                '\\' if braces == 0 => text.push(self.escape()?),
                character => {
                    braces += usize::from(braces > 0 && character == '{');
                    braces -= usize::from(braces > 0 && character == '}');
                    text.push(character);
                }
            }
        }
    }

    /// The character of an escape sequence behind its backslash.
    fn escape(&mut self) -> Result<char, SyntaxError> {
        let start = self.cursor.position(self.at - 1);
        let character = match self.bump() {
            Some('a') => Some('\u{7}'),
            Some('b') => Some('\u{8}'),
            Some('f') => Some('\u{c}'),
            Some('n') => Some('\n'),
            Some('r') => Some('\r'),
            Some('t') => Some('\t'),
            Some('v') => Some('\u{b}'),
            Some(character @ ('\\' | '"')) => Some(character),
            // A byte; only ASCII is a character by itself.
            Some('x') => self.code(2, 16).filter(char::is_ascii),
            Some('0'..='7') => {
                self.at -= 1;
                self.code(3, 8).filter(char::is_ascii)
            }
            Some('u') => self.code(4, 16),
            Some('U') => self.code(8, 16),
            _ => None,
        };
        character.ok_or_else(|| {
            SyntaxError::new(
                start,
                "a backslash cannot be followed by this; write \\\\ for a backslash itself",
            )
        })
    }

    /// The character with the code in the next digits.
    fn code(&mut self, count: usize, base: u32) -> Option<char> {
        let digits = self.text.get(self.at..self.at + count).filter(|digits| !digits.starts_with('+'))?;
        self.at += count;
        char::from_u32(u32::from_str_radix(digits, base).ok()?)
    }

    /// A heredoc from `<<NAME` to a line with that name alone. With `<<-`, all lines lose the
    /// indentation of the closing name if all have it; else that belongs to the text.
    fn heredoc(&mut self) -> Result<String, SyntaxError> {
        let start = self.position();
        let first = self.taken(|character| character != '\n');
        let name = first.strip_prefix("<<").unwrap_or_default();
        let is_indented = name.starts_with('-');
        let name = name.strip_prefix('-').unwrap_or(name);
        if name.is_empty() || !name.chars().all(|character| is_letter(character) || character.is_numeric()) {
            let reason = "a heredoc starts with << and a name, and nothing else in its line";
            return Err(SyntaxError::new(start, reason));
        }
        self.bump();
        let begin = self.at;
        while self.at < self.text.len() {
            let text = &self.text[begin..self.at];
            let line = self.taken(|character| character != '\n');
            if let Some(indent) = line.strip_suffix(name).filter(|indent| indent.trim_start().is_empty()) {
                return Ok(match is_indented {
                    false => format!("{text}{indent}"),
                    true if text.lines().all(|line| line.starts_with(indent)) => {
                        text.lines().map(|line| format!("{}\n", &line[indent.len()..])).collect()
                    }
                    true => text.to_owned(),
                });
            }
            self.bump();
        }
        Err(SyntaxError::new(start, "this heredoc has no end"))
    }

    /// The next character that is neither space nor part of a comment.
    fn next(&mut self) -> Result<Option<char>, SyntaxError> {
        loop {
            self.taken(|character| matches!(character, ' ' | '\t' | '\n' | '\r'));
            let rest = &self.text[self.at..];
            if rest.starts_with('#') || rest.starts_with("//") {
                self.taken(|character| character != '\n');
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let unterminated = SyntaxError::new(self.position(), "this comment has no end");
                self.at += "/*".len() + comment.find("*/").ok_or(unterminated)? + "*/".len();
            } else {
                return Ok(self.peek());
            }
        }
    }

    /// Whether this sign is next, which is consumed then.
    fn accept(&mut self, sign: char) -> Result<bool, SyntaxError> {
        Ok(self.next()? == Some(sign) && self.bump().is_some())
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.at += character.len_utf8();
        Some(character)
    }

    /// The characters up to the first that does not belong.
    fn taken(&mut self, belongs: impl Fn(char) -> bool) -> &'t str {
        let taken = self.upcoming(belongs);
        self.at += taken.len();
        taken
    }

    /// The same, not consumed.
    fn upcoming(&self, belongs: impl Fn(char) -> bool) -> &'t str {
        let rest = &self.text[self.at..];
        &rest[..rest.find(|character| !belongs(character)).unwrap_or(rest.len())]
    }

    /// The word that is next, not consumed; it may be empty.
    fn word(&self) -> &'t str {
        self.upcoming(|character| is_letter(character) || character.is_numeric() || "-.".contains(character))
    }

    fn position(&mut self) -> Position {
        self.cursor.position(self.at)
    }

    /// The error that something else is next. Without its text: a token whose quotes were forgotten is
    /// a word.
    fn expected(&mut self, expected: &str) -> SyntaxError {
        let position = self.position();
        let found = match self.peek() {
            None => "the end of the file",
            Some('"') => "a string",
            Some('-' | '0'..='9') => "a number",
            Some(sign @ ('{' | '}' | '[' | ']' | ',' | '=')) => {
                return SyntaxError::new(position, format!("found {sign}, where {expected} should be"));
            }
            Some(character) if is_letter(character) => "a word without quotes",
            Some(_) => return SyntaxError::new(position, "this character has no meaning here"),
        };
        SyntaxError::new(position, format!("found {found}, where {expected} should be"))
    }
}

fn is_letter(character: char) -> bool {
    character == '_' || character.is_alphabetic()
}
