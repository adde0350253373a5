//! The scanner of addresses: identifiers, and keys in brackets.

use std::fmt;

/// Maximum length of text in a message.
const SHOWN: usize = 200;

/// A text is no valid address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not the address of {what}: {reason} at byte {offset}")]
pub struct AddressSyntaxError {
    /// The text; truncated if it is long.
    pub text: String,
    /// Kind of address.
    pub what: &'static str,
    /// Position of the fault, in bytes.
    pub offset: usize,
    /// Why.
    pub reason: &'static str,
}

/// An instance key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InstanceKey {
    /// Of `count`, from 0 on.
    Number(u64),
    /// Of `for_each`.
    Text(String),
}

/// A step of a module path, or of a stack path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModuleStep {
    /// Its name.
    pub name: String,
    /// Instance key.
    pub key: Option<InstanceKey>,
}

/// Position and reason of a syntax error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) offset: usize,
    pub(crate) reason: &'static str,
}

#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    position: usize,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, position: 0 }
    }

    /// Parses a whole text.
    pub(crate) fn read_all<T>(
        text: &'a str,
        what: &'static str,
        read: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, AddressSyntaxError> {
        let mut scanner = Self::new(text);
        let found = read(&mut scanner).and_then(|found| {
            if scanner.is_at_end() { Ok(found) } else { Err(scanner.fault("nothing more is expected")) }
        });
        found.map_err(|fault| AddressSyntaxError {
            text: text.chars().take(SHOWN).collect(),
            what,
            offset: fault.offset,
            reason: fault.reason,
        })
    }

    pub(crate) fn fault(&self, reason: &'static str) -> Fault {
        Fault { offset: self.position, reason }
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.rest().is_empty()
    }

    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.position..]
    }

    /// Consumes a character if it is the next one.
    pub(crate) fn take(&mut self, wanted: char) -> bool {
        let is_next = self.rest().starts_with(wanted);
        if is_next {
            self.position += wanted.len_utf8();
        }
        is_next
    }

    /// Consumes a word if the rest starts with it.
    pub(crate) fn take_word(&mut self, word: &str) -> bool {
        let is_next = self.rest().starts_with(word);
        if is_next {
            self.position += word.len();
        }
        is_next
    }

    pub(crate) fn expect(&mut self, wanted: char) -> Result<(), Fault> {
        let reason = match wanted {
            '.' => "'.' is expected",
            ',' => "',' is expected",
            '[' => "'[' is expected",
            _ => "']' is expected",
        };
        if self.take(wanted) { Ok(()) } else { Err(self.fault(reason)) }
    }

    /// An identifier by the rules of Terraform's language.
    pub(crate) fn identifier(&mut self) -> Result<String, Fault> {
        let rest = self.rest();
        let is_part = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-');
        let is_start = |character: char| character.is_alphabetic() || character == '_';
        if !rest.starts_with(is_start) {
            return Err(self.fault("a name is expected"));
        }
        let end = rest.find(|character| !is_part(character)).unwrap_or(rest.len());
        self.position += end;
        Ok(rest[..end].to_owned())
    }

    /// A key in brackets, if any.
    pub(crate) fn key(&mut self) -> Result<Option<InstanceKey>, Fault> {
        if !self.take('[') {
            return Ok(None);
        }
        let key = if self.rest().starts_with('"') {
            InstanceKey::Text(self.quoted_text()?)
        } else {
            InstanceKey::Number(self.number()?)
        };
        self.expect(']')?;
        Ok(Some(key))
    }

    /// `module.NAME[KEY].` any number of times.
    pub(super) fn modules(&mut self) -> Result<Vec<ModuleStep>, Fault> {
        let mut steps = Vec::new();
        while self.take_word("module.") {
            steps.push(ModuleStep { name: self.identifier()?, key: self.key()? });
            self.expect('.')?;
        }
        Ok(steps)
    }

    fn number(&mut self) -> Result<u64, Fault> {
        let rest = self.rest();
        let end = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
        let digits = &rest[..end];
        if digits.is_empty() {
            return Err(self.fault("a number or a quoted text is expected"));
        }
        if digits.len() > 1 && digits.starts_with('0') {
            return Err(self.fault("a number has no zeros before it"));
        }
        let number = digits.parse().map_err(|_| self.fault("the number is too large"))?;
        self.position += end;
        Ok(number)
    }

    /// A quoted string with the escapes of Terraform's language.
    pub(crate) fn quoted_text(&mut self) -> Result<String, Fault> {
        if !self.take('"') {
            return Err(self.fault("a quoted text is expected"));
        }
        let mut text = String::new();
        loop {
            let rest = self.rest();
            let mut characters = rest.chars();
            match characters.next() {
                None => return Err(self.fault("the text ends within quotes")),
                Some('"') => {
                    self.position += 1;
                    return Ok(text);
                }
                Some('\\') => {
                    self.position += 1;
                    let character = self.escape()?;
                    text.push(character);
                }
                Some(sign @ ('$' | '%')) if rest[1..].starts_with(sign) && rest[2..].starts_with('{') => {
                    text.push(sign);
                    text.push('{');
                    self.position += 3;
                }
                Some('$' | '%') if rest[1..].starts_with('{') => {
                    return Err(self.fault("a template has no place in an address"));
                }
                Some('\n' | '\r') => return Err(self.fault("a line ends within quotes")),
                Some(character) => {
                    text.push(character);
                    self.position += character.len_utf8();
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, Fault> {
        let unknown = self.fault("an unknown escape");
        let letter = self.rest().chars().next().ok_or(self.fault("the text ends within quotes"))?;
        let digits = match letter {
            'n' | 'r' | 't' | '"' | '\\' => 0,
            'u' => 4,
            'U' => 8,
            _ => return Err(unknown),
        };
        self.position += 1;
        if digits == 0 {
            return Ok(match letter {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                other => other,
            });
        }
        let code = self.rest().get(..digits).ok_or(unknown)?;
        if !code.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(unknown);
        }
        let character = u32::from_str_radix(code, 16).ok().and_then(char::from_u32).ok_or(unknown)?;
        self.position += digits;
        Ok(character)
    }
}

impl fmt::Display for InstanceKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(formatter, "[{number}]"),
            Self::Text(text) => write!(formatter, "[{}]", quoted(text)),
        }
    }
}

impl fmt::Display for ModuleStep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)?;
        self.key.as_ref().map_or(Ok(()), |key| key.fmt(formatter))
    }
}

/// A quoted string.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '$' | '%' if characters.peek() == Some(&'{') => {
                quoted.push(character);
                quoted.push(character);
            }
            _ if character.is_control() => {
                let code = u32::from(character);
                let escape = if code > 0xffff { format!("\\U{code:08x}") } else { format!("\\u{code:04x}") };
                quoted.push_str(&escape);
            }
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}
