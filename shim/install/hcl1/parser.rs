//! The parser of both forms: `name = value`, `name "label" { … }`, and `{"name": value}`.
//!
//! In JSON, a list of objects represents several blocks of one name, and so does a repeated name. A
//! general JSON parser would lose both the positions, which errors contain, and repeated members.

use std::collections::HashMap;

use super::lexer::{Form, Lexer, Token};
use super::tree::{Body, Content, DEEPEST, Item, Key, Position, SyntaxError, SyntaxFault, Value};

pub(super) fn parse(text: &str, form: Form) -> Result<Body, SyntaxError> {
    let mut lexer = Lexer::new(text, form);
    let next = lexer.next()?;
    let mut parser = Parser { lexer, form, next };
    let position = parser.next.0;
    match form {
        Form::Native => parser.body(Position::START, &Token::End, DEEPEST),
        Form::Json => {
            parser.expect(&Token::Sign('{'), "{")?;
            let body = parser.members(position, DEEPEST)?;
            parser.expect(&Token::End, "the end of the file")?;
            Ok(body)
        }
    }
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    form: Form,
    next: (Position, Token),
}

impl Parser<'_> {
    /// The items of the native form, up to and including the closing token.
    fn body(&mut self, position: Position, end: &Token, depth: usize) -> Result<Body, SyntaxError> {
        let mut items: Vec<Item> = Vec::new();
        let mut assigned: HashMap<String, Position> = HashMap::new();
        while self.next.1 != *end {
            if self.next.1 == Token::End {
                return Err(self.expected("}"));
            }
            let item = self.item(depth)?;
            if item.is_assigned
                && let Some(first) = assigned.insert(item.name.text.clone(), item.name.position)
            {
                let fault = SyntaxFault::Twice { first };
                return Err(SyntaxError { position: item.name.position, fault });
            }
            items.push(item);
            if self.next.1 == Token::Sign(',') {
                self.advance()?;
            }
        }
        self.advance()?;
        Ok(Body { position, items })
    }

    fn item(&mut self, depth: usize) -> Result<Item, SyntaxError> {
        let name = self.key()?.ok_or_else(|| self.expected("a name"))?;
        let mut labels = Vec::new();
        while let Some(label) = self.key()? {
            labels.push(label);
        }
        match self.next.1 {
            Token::Sign('=') if labels.is_empty() => {
                self.advance()?;
                Ok(Item { name, labels, is_assigned: true, value: self.value("a value", depth)? })
            }
            Token::Sign('=') => Err(self.expected("{ of a block")),
            Token::Sign('{') => Ok(Item { name, labels, is_assigned: false, value: self.value("{", depth)? }),
            _ => Err(self.expected("= or {")),
        }
    }

    fn key(&mut self) -> Result<Option<Key>, SyntaxError> {
        let is_key = match &self.next.1 {
            Token::String(_) => true,
            Token::Word(word) => !matches!(word.as_str(), "true" | "false"),
            _ => false,
        };
        if !is_key {
            return Ok(None);
        }
        Ok(match self.advance()? {
            (position, Token::String(text) | Token::Word(text)) => Some(Key { position, text }),
            _ => None,
        })
    }

    /// The members of a JSON object after the opening brace, up to and including the closing one.
    fn members(&mut self, position: Position, depth: usize) -> Result<Body, SyntaxError> {
        let mut items = Vec::new();
        let mut expected = "a name in quotes or }";
        while !(items.is_empty() && self.next.1 == Token::Sign('}')) {
            let Token::String(text) = self.next.1.clone() else { return Err(self.expected(expected)) };
            let name = Key { position: self.next.0, text };
            self.advance()?;
            self.expect(&Token::Sign(':'), ":")?;
            let item = |value| Item { name: name.clone(), labels: Vec::new(), is_assigned: false, value };
            match self.value("a value", depth)? {
                Value { content: Content::List(values), .. } if is_blocks(&values) => {
                    items.extend(values.into_iter().map(item));
                }
                value => items.push(item(value)),
            }
            match self.next.1 {
                Token::Sign(',') => self.advance()?,
                Token::Sign('}') => break,
                _ => return Err(self.expected(", or }")),
            };
            expected = "a name in quotes";
        }
        self.advance()?;
        Ok(Body { position, items })
    }

    fn value(&mut self, expected: &'static str, depth: usize) -> Result<Value, SyntaxError> {
        let position = self.next.0;
        let content = match &self.next.1 {
            Token::String(text) => Content::String(text.clone()),
            Token::Number(text) => Content::Number(text.clone()),
            Token::Word(word) if word == "true" => Content::Bool(true),
            Token::Word(word) if word == "false" => Content::Bool(false),
            Token::Word(word) if word == "null" && self.form == Form::Json => Content::Null,
            Token::Sign(sign @ ('{' | '[')) => {
                let is_body = *sign == '{';
                let too_deep = SyntaxError { position, fault: SyntaxFault::TooDeep };
                let depth = depth.checked_sub(1).filter(|depth| *depth > 0).ok_or(too_deep)?;
                self.advance()?;
                let content = match (is_body, self.form) {
                    (true, Form::Native) => Content::Body(self.body(position, &Token::Sign('}'), depth)?),
                    (true, Form::Json) => Content::Body(self.members(position, depth)?),
                    (false, _) => Content::List(self.list(depth)?),
                };
                return Ok(Value { position, content });
            }
            _ => return Err(self.expected(expected)),
        };
        self.advance()?;
        Ok(Value { position, content })
    }

    /// The values up to and including the closing bracket. In the native form a comma may follow
    /// the last one.
    fn list(&mut self, depth: usize) -> Result<Vec<Value>, SyntaxError> {
        let mut values = Vec::new();
        let expected = if self.form == Form::Native { "a value or ]" } else { "a value" };
        while self.next.1 != Token::Sign(']') || (self.form == Form::Json && !values.is_empty()) {
            values.push(self.value(expected, depth)?);
            match self.next.1 {
                Token::Sign(',') => self.advance()?,
                Token::Sign(']') => break,
                _ => return Err(self.expected(", or ]")),
            };
        }
        self.advance()?;
        Ok(values)
    }

    fn advance(&mut self) -> Result<(Position, Token), SyntaxError> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.next, next))
    }

    fn expect(&mut self, token: &Token, expected: &'static str) -> Result<(), SyntaxError> {
        if self.next.1 != *token {
            return Err(self.expected(expected));
        }
        // The end of the file is not consumed.
        self.advance().map(drop)
    }

    fn expected(&self, expected: &'static str) -> SyntaxError {
        let fault = SyntaxFault::Expected { expected, found: self.next.1.shown() };
        SyntaxError { position: self.next.0, fault }
    }
}

fn is_blocks(values: &[Value]) -> bool {
    !values.is_empty() && values.iter().all(|value| matches!(value.content, Content::Body(_)))
}
