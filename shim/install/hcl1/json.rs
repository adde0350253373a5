//! The JSON form. A list of objects stands for several blocks of one name, and so does a name that comes more than once.
//!
//! A general reader of JSON would lose both the places of what it reads, which errors name, and all but one of several
//! members of the same name.

use super::lexer::{Form, Lexer, Token};
use super::{Body, Content, DEEPEST, Item, Key, Position, SyntaxError, SyntaxFault, Value};

pub(super) fn parse(text: &str) -> Result<Body, SyntaxError> {
    let mut lexer = Lexer::new(text, Form::Json);
    let next = lexer.next()?;
    let mut parser = Parser { lexer, next };
    let position = parser.next.0;
    parser.expect(&Token::Sign('{'), "{")?;
    let body = parser.body(position, DEEPEST)?;
    parser.expect(&Token::End, "the end of the file")?;
    Ok(body)
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    next: (Position, Token),
}

impl Parser<'_> {
    /// The members up to and including the closing brace; the opening one is gone.
    fn body(&mut self, position: Position, depth: usize) -> Result<Body, SyntaxError> {
        let mut items = Vec::new();
        let mut expected = "a name in quotes or }";
        if self.next.1 == Token::Sign('}') {
            self.advance()?;
            return Ok(Body { position, items });
        }
        loop {
            let Token::String(text) = self.next.1.clone() else { return Err(self.expected(expected)) };
            let name = Key { position: self.next.0, text };
            self.advance()?;
            self.expect(&Token::Sign(':'), ":")?;
            let item = |value| Item { name: name.clone(), labels: Vec::new(), is_assigned: false, value };
            match self.value(depth)? {
                Value { content: Content::List(values), .. } if is_blocks(&values) => {
                    items.extend(values.into_iter().map(item));
                }
                value => items.push(item(value)),
            }
            match self.next.1 {
                Token::Sign(',') => self.advance()?,
                Token::Sign('}') => {
                    self.advance()?;
                    return Ok(Body { position, items });
                }
                _ => return Err(self.expected(", or }")),
            };
            expected = "a name in quotes";
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, SyntaxError> {
        let position = self.next.0;
        let content = match &self.next.1 {
            Token::String(text) => Content::String(text.clone()),
            Token::Number(text) => Content::Number(text.clone()),
            Token::Word(word) if word == "true" => Content::Bool(true),
            Token::Word(word) if word == "false" => Content::Bool(false),
            Token::Word(word) if word == "null" => Content::Null,
            Token::Sign(sign @ ('{' | '[')) => {
                let is_body = *sign == '{';
                let too_deep = SyntaxError { position, fault: SyntaxFault::TooDeep };
                let depth = depth.checked_sub(1).filter(|depth| *depth > 0).ok_or(too_deep)?;
                self.advance()?;
                let content = if is_body {
                    Content::Body(self.body(position, depth)?)
                } else {
                    Content::List(self.list(depth)?)
                };
                return Ok(Value { position, content });
            }
            _ => return Err(self.expected("a value")),
        };
        self.advance()?;
        Ok(Value { position, content })
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Value>, SyntaxError> {
        let mut values = Vec::new();
        if self.next.1 == Token::Sign(']') {
            self.advance()?;
            return Ok(values);
        }
        loop {
            values.push(self.value(depth)?);
            match self.next.1 {
                Token::Sign(',') => self.advance()?,
                Token::Sign(']') => {
                    self.advance()?;
                    return Ok(values);
                }
                _ => return Err(self.expected(", or ]")),
            };
        }
    }

    fn advance(&mut self) -> Result<(Position, Token), SyntaxError> {
        let next = self.lexer.next()?;
        Ok(std::mem::replace(&mut self.next, next))
    }

    fn expect(&mut self, token: &Token, expected: &'static str) -> Result<(), SyntaxError> {
        if self.next.1 != *token {
            return Err(self.expected(expected));
        }
        // The end has nothing behind it, and stays what comes next.
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
