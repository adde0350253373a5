//! The native form: `name = value`, `name "label" { ... }`.

use std::collections::HashMap;

use super::lexer::{Form, Lexer, Token};
use super::{Body, Content, DEEPEST, Item, Key, Position, SyntaxError, SyntaxFault, Value};

pub(super) fn parse(text: &str) -> Result<Body, SyntaxError> {
    let mut lexer = Lexer::new(text, Form::Native);
    let next = lexer.next()?;
    Parser { lexer, next }.body(Position::START, &Token::End, DEEPEST)
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    next: (Position, Token),
}

impl Parser<'_> {
    /// The items up to and including the token that ends them.
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
                let fault = SyntaxFault::Twice { name: item.name.text, first };
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

    fn value(&mut self, expected: &'static str, depth: usize) -> Result<Value, SyntaxError> {
        let position = self.next.0;
        let content = match &self.next.1 {
            Token::String(text) => Content::String(text.clone()),
            Token::Number(text) => Content::Number(text.clone()),
            Token::Word(word) if word == "true" => Content::Bool(true),
            Token::Word(word) if word == "false" => Content::Bool(false),
            Token::Sign(sign @ ('{' | '[')) => {
                let is_body = *sign == '{';
                let too_deep = SyntaxError { position, fault: SyntaxFault::TooDeep };
                let depth = depth.checked_sub(1).filter(|depth| *depth > 0).ok_or(too_deep)?;
                self.advance()?;
                let content = if is_body {
                    Content::Body(self.body(position, &Token::Sign('}'), depth)?)
                } else {
                    Content::List(self.list(depth)?)
                };
                return Ok(Value { position, content });
            }
            _ => return Err(self.expected(expected)),
        };
        self.advance()?;
        Ok(Value { position, content })
    }

    /// The values up to and including the closing bracket. There may be a comma behind the last one.
    fn list(&mut self, depth: usize) -> Result<Vec<Value>, SyntaxError> {
        let mut values = Vec::new();
        loop {
            if self.next.1 == Token::Sign(']') {
                self.advance()?;
                return Ok(values);
            }
            values.push(self.value("a value or ]", depth)?);
            match self.next.1 {
                Token::Sign(',') => {
                    self.advance()?;
                }
                Token::Sign(']') => {}
                _ => return Err(self.expected(", or ]")),
            }
        }
    }

    fn advance(&mut self) -> Result<(Position, Token), SyntaxError> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.next, next))
    }

    fn expected(&self, expected: &'static str) -> SyntaxError {
        let fault = SyntaxFault::Expected { expected, found: self.next.1.shown() };
        SyntaxError { position: self.next.0, fault }
    }
}
