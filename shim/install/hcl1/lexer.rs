//! The lexer for both forms of the language.

use super::tree::{Position, SyntaxError, SyntaxFault};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A name without quotes; in JSON a word such as `true`.
    Word(String),
    String(String),
    Number(String),
    Sign(char),
    End,
}

impl Token {
    /// Its description, for an error. Without its text: a token whose quotes were forgotten is a word.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Word(_) => "a word without quotes".to_owned(),
            Self::String(_) => "a string".to_owned(),
            Self::Number(_) => "a number".to_owned(),
            Self::Sign(sign) => sign.to_string(),
            Self::End => "the end of the file".to_owned(),
        }
    }
}

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Native,
    Json,
}

#[derive(Debug)]
pub(super) struct Lexer<'a> {
    rest: &'a str,
    position: Position,
    form: Form,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str, form: Form) -> Self {
        Self { rest: text, position: Position::START, form }
    }

    /// The next token and its position.
    pub(super) fn next(&mut self) -> Result<(Position, Token), SyntaxError> {
        self.skip_space_and_comments()?;
        let start = self.position;
        let fault = |fault| SyntaxError { position: start, fault };
        let Some(first) = self.peek() else { return Ok((start, Token::End)) };
        let token = match first {
            '"' => Token::String(match self.form {
                Form::Native => self.native_string(start)?,
                Form::Json => self.json_string(start)?,
            }),
            '{' | '}' | '[' | ']' | ',' => self.sign(first),
            '=' if self.form == Form::Native => self.sign(first),
            ':' if self.form == Form::Json => self.sign(first),
            '<' if self.form == Form::Native => Token::String(self.heredoc(start)?),
            '-' | '0'..='9' => Token::Number(self.number().ok_or_else(|| fault(SyntaxFault::Number))?),
            _ if is_letter(first) => Token::Word(self.take_while(|character| {
                is_letter(character) || character.is_numeric() || matches!(character, '-' | '.')
            })),
            _ => return Err(fault(SyntaxFault::Character)),
        };
        Ok((start, token))
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.rest = &self.rest[character.len_utf8()..];
        self.position = self.position.behind(character);
        Some(character)
    }

    fn sign(&mut self, sign: char) -> Token {
        self.bump();
        Token::Sign(sign)
    }

    fn take_while(&mut self, belongs: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while let Some(character) = self.peek().filter(|character| belongs(*character)) {
            taken.push(character);
            self.bump();
        }
        taken
    }

    fn skip_space_and_comments(&mut self) -> Result<(), SyntaxError> {
        loop {
            let start = self.position;
            if self.peek().is_some_and(|character| matches!(character, ' ' | '\t' | '\n' | '\r')) {
                self.bump();
            } else if self.form == Form::Json {
                return Ok(());
            } else if self.rest.starts_with('#') || self.rest.starts_with("//") {
                while self.peek().is_some_and(|character| character != '\n') {
                    self.bump();
                }
            } else if self.rest.starts_with("/*") {
                self.bump();
                self.bump();
                while !self.rest.starts_with("*/") {
                    let unterminated =
                        SyntaxError { position: start, fault: SyntaxFault::Unterminated("comment") };
                    self.bump().ok_or(unterminated)?;
                }
                self.bump();
                self.bump();
            } else {
                return Ok(());
            }
        }
    }

    /// A number, unparsed. JSON's are a subset of the native ones.
    fn number(&mut self) -> Option<String> {
        let text = self.take_while(|character| {
            character.is_ascii_alphanumeric() || matches!(character, '.' | '+' | '-')
        });
        let digits = text.strip_prefix('-').unwrap_or(&text);
        let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if let Some(hexadecimal) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            let is_one = !hexadecimal.is_empty() && hexadecimal.bytes().all(|byte| byte.is_ascii_hexdigit());
            return (is_one && self.form == Form::Native).then_some(text);
        }
        let (mantissa, exponent) = match digits.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.strip_prefix(['+', '-']).unwrap_or(exponent)),
            None => (digits, "0"),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
        let starts_well = self.form == Form::Native || whole == "0" || !whole.starts_with('0');
        (all_digits(whole) && all_digits(fraction) && all_digits(exponent) && starts_well).then_some(text)
    }

    /// A quoted string. The content of `${...}` is preserved, quotes included.
    fn native_string(&mut self, start: Position) -> Result<String, SyntaxError> {
        let unterminated = || SyntaxError { position: start, fault: SyntaxFault::Unterminated("string") };
        let mut text = String::new();
        let mut braces = 0_usize;
        self.bump();
        loop {
            if braces == 0 && self.rest.starts_with("${") {
                braces = 1;
                text.push_str("${");
                self.bump();
                self.bump();
                continue;
            }
            let position = self.position;
            let character = self.bump().ok_or_else(unterminated)?;
            match character {
                '\0' => return Err(SyntaxError { position, fault: SyntaxFault::Character }),
                '{' if braces > 0 => braces += 1,
                '}' if braces > 0 => braces -= 1,
                _ if braces > 0 => {}
                '"' => return Ok(text),
                '\n' => return Err(unterminated()),
                '\\' => {
                    let fault = SyntaxError { position, fault: SyntaxFault::Escape };
                    text.push(self.native_escape().ok_or(fault)?);
                    continue;
                }
                _ => {}
            }
            text.push(character);
        }
    }

    /// The character of an escape sequence.
    fn native_escape(&mut self) -> Option<char> {
        match self.bump()? {
            'a' => Some('\u{7}'),
            'b' => Some('\u{8}'),
            'f' => Some('\u{c}'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'v' => Some('\u{b}'),
            '\\' => Some('\\'),
            '"' => Some('"'),
            first @ '0'..='7' => {
                let value = first.to_digit(8)? * 64 + self.digits(2, 8)?;
                // A byte; only ASCII is a character by itself.
                char::from_u32(value).filter(char::is_ascii)
            }
            'x' => char::from_u32(self.digits(2, 16)?).filter(char::is_ascii),
            'u' => char::from_u32(self.digits(4, 16)?),
            'U' => char::from_u32(self.digits(8, 16)?),
            _ => None,
        }
    }

    fn json_string(&mut self, start: Position) -> Result<String, SyntaxError> {
        let unterminated = || SyntaxError { position: start, fault: SyntaxFault::Unterminated("string") };
        let mut text = String::new();
        self.bump();
        loop {
            let position = self.position;
            match self.bump().ok_or_else(unterminated)? {
                '"' => return Ok(text),
                '\n' => return Err(unterminated()),
                '\\' => {
                    let fault = SyntaxError { position, fault: SyntaxFault::Escape };
                    text.push(self.json_escape().ok_or(fault)?);
                }
                character if character < ' ' => {
                    return Err(SyntaxError { position, fault: SyntaxFault::Character });
                }
                character => text.push(character),
            }
        }
    }

    fn json_escape(&mut self) -> Option<char> {
        match self.bump()? {
            character @ ('"' | '\\' | '/') => Some(character),
            'b' => Some('\u{8}'),
            'f' => Some('\u{c}'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'u' => {
                let first = self.digits(4, 16)?;
                if !(0xD800..0xDC00).contains(&first) {
                    return char::from_u32(first);
                }
                let second = (self.bump()? == '\\' && self.bump()? == 'u').then(|| self.digits(4, 16))??;
                let low = second.checked_sub(0xDC00).filter(|low| *low < 0x400)?;
                char::from_u32(0x10000 + ((first - 0xD800) << 10) + low)
            }
            _ => None,
        }
    }

    /// The number in the next `count` digits.
    fn digits(&mut self, count: usize, base: u32) -> Option<u32> {
        let mut value = 0_u32;
        for _ in 0..count {
            value = value.checked_mul(base)?.checked_add(self.peek()?.to_digit(base)?)?;
            self.bump();
        }
        Some(value)
    }

    /// A heredoc from `<<NAME` to a line with that name alone. With `<<-`, all lines lose the
    /// indentation of the closing name, if all have it.
    fn heredoc(&mut self, start: Position) -> Result<String, SyntaxError> {
        let fault = |fault| SyntaxError { position: start, fault };
        if !self.rest.starts_with("<<") {
            return Err(fault(SyntaxFault::Heredoc));
        }
        self.bump();
        self.bump();
        let is_indented = self.rest.starts_with('-');
        if is_indented {
            self.bump();
        }
        let name = self.take_while(|character| is_letter(character) || character.is_numeric());
        self.take_while(|character| character == '\r');
        if name.is_empty() || self.bump() != Some('\n') {
            return Err(fault(SyntaxFault::Heredoc));
        }
        let mut lines = Vec::new();
        loop {
            if self.rest.is_empty() {
                return Err(fault(SyntaxFault::Unterminated("heredoc")));
            }
            let line = self.take_while(|character| character != '\n');
            let words = line.trim_end_matches('\r').trim_start();
            if words == name {
                let indent = &line[..line.len() - line.trim_start().len()];
                return Ok(heredoc_text(&lines, indent, is_indented));
            }
            self.bump();
            lines.push(line);
        }
    }
}

fn heredoc_text(lines: &[String], indent: &str, is_indented: bool) -> String {
    let cut = is_indented && lines.iter().all(|line| line.starts_with(indent));
    let mut text = String::new();
    for line in lines {
        let line = if cut { &line[indent.len()..] } else { line };
        text.push_str(line.trim_end_matches('\r'));
        text.push('\n');
    }
    if !is_indented {
        // As elsewhere: the indentation of the closing name belongs to the text.
        text.push_str(indent);
    }
    text
}

fn is_letter(character: char) -> bool {
    character == '_' || character.is_alphabetic()
}
