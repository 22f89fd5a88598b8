//! Types of TSDL: names of types, and what is written out in place.

use super::lexer::{Lexer, Token};
use crate::ctf::class::{
    ByteOrder, Choice, ChoiceOption, Class, ElementCount, FieldKind, FieldScope, Reference,
};
use std::collections::{HashMap, HashSet};

/// Blocks nested deeper than this are refused; parsing them recurses.
const NESTING_MAX: usize = 64;

/// A value of an attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Value {
    NumberPlan(i128),
    /// Words joined by dots, or a text in quotes.
    Word(String),
}

impl Value {
    pub(super) fn word(&self) -> String {
        match self {
            Value::NumberPlan(number) => number.to_string(),
            Value::Word(word) => word.clone(),
        }
    }

    pub(super) fn number(&self) -> Result<u64, String> {
        match self {
            Value::NumberPlan(number) => {
                u64::try_from(*number).map_err(|_| format!("{number} is out of range"))
            }
            Value::Word(word) => Err(format!("a number expected, found `{word}`")),
        }
    }
}

/// Parser of types: the remaining tokens, the names in scope, and the byte order in force.
pub(super) struct Parser<'a> {
    pub(super) lexer: Lexer<'a>,
    /// Names of types, innermost block last.
    names: Vec<HashMap<String, Class>>,
    pub(super) order: ByteOrder,
    pub(super) referenced: HashSet<String>,
}

/// A type with the name that follows it, if one does.
pub(super) struct DeclaredType {
    pub(super) class: Class,
    pub(super) name: Option<String>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(bytes: &'a [u8], order: ByteOrder) -> Parser<'a> {
        Parser { lexer: Lexer::new(bytes), names: vec![HashMap::new()], order, referenced: HashSet::new() }
    }

    /// Names declared from here on are forgotten by [`Parser::leave`].
    pub(super) fn enter(&mut self) -> Result<(), String> {
        if self.names.len() > NESTING_MAX {
            return Err(format!("blocks nested deeper than {NESTING_MAX}"));
        }
        self.names.push(HashMap::new());
        Ok(())
    }

    pub(super) fn leave(&mut self) {
        self.names.pop();
    }

    pub(super) fn declare(&mut self, name: String, class: Class) {
        self.names.last_mut().expect("the outermost block stays").insert(name, class);
    }

    pub(super) fn find(&self, name: &str) -> Result<Class, String> {
        let class = self.names.iter().rev().find_map(|names| names.get(name));
        class.cloned().ok_or_else(|| format!("no type `{name}`"))
    }

    /// `typealias` and `typedef`, after their keyword.
    pub(super) fn alias(&mut self, keyword: &str) -> Result<(), String> {
        if keyword == "typedef" {
            let member = self.member()?.ok_or("a typedef without a name")?;
            self.declare(member.name, member.class);
            return Ok(());
        }
        let class = self.complete_type()?;
        match self.lexer.next()? {
            Token::Becomes => {}
            other => return Err(format!("`:=` expected, found {other:?}")),
        }
        let name = self.words()?.join(" ");
        self.lexer.expect(';')?;
        self.declare(name, class);
        Ok(())
    }

    /// Names and stars up to something else.
    fn words(&mut self) -> Result<Vec<String>, String> {
        let mut words = Vec::new();
        loop {
            match self.lexer.peek()? {
                Token::Name(name) if name == "const" => {}
                Token::Name(name) => words.push(name.clone()),
                Token::Sign('*') => words.push("*".to_owned()),
                _ => return Ok(words),
            }
            self.lexer.next()?;
        }
    }

    /// A type that no name follows.
    pub(super) fn complete_type(&mut self) -> Result<Class, String> {
        if let Some(class) = self.written_out()? {
            return Ok(class);
        }
        let words = self.words()?.join(" ");
        self.find(&words)
    }

    /// A type, and the name that follows it unless it is only declared.
    fn type_and_name(&mut self) -> Result<DeclaredType, String> {
        if let Some(class) = self.written_out()? {
            let name = match self.lexer.peek()? {
                Token::Name(name) => Some(name.clone()),
                _ => None,
            };
            if name.is_some() {
                self.lexer.next()?;
            }
            return Ok(DeclaredType { class, name });
        }
        let mut words = self.words()?;
        let name = words.pop();
        let class = self.find(&words.join(" "))?;
        Ok(DeclaredType { class, name })
    }

    /// A type that begins with a keyword.
    fn written_out(&mut self) -> Result<Option<Class>, String> {
        while *self.lexer.peek()? == Token::Name("const".to_owned()) {
            self.lexer.next()?;
        }
        let Token::Name(keyword) = self.lexer.peek()?.clone() else {
            return Err(format!("a type expected, found {:?}", self.lexer.peek()?));
        };
        let parse: fn(&mut Parser<'a>) -> Result<Class, String> = match keyword.as_str() {
            "integer" => Parser::integer,
            "floating_point" => Parser::floating_point,
            "string" => Parser::string,
            "enum" => Parser::enumeration,
            "struct" => Parser::structure,
            "variant" => Parser::variant,
            _ => return Ok(None),
        };
        self.lexer.next()?;
        parse(self).map(Some)
    }

    /// A field: type, name, sizes of arrays, semicolon. None when a type is only declared.
    pub(super) fn member(&mut self) -> Result<Option<ChoiceOption>, String> {
        let DeclaredType { mut class, name } = self.type_and_name()?;
        let Some(name) = name else {
            self.lexer.expect(';')?;
            return Ok(None);
        };
        let mut counts = Vec::new();
        while self.lexer.takes('[')? {
            counts.push(self.count()?);
            self.lexer.expect(']')?;
        }
        self.lexer.expect(';')?;
        for count in counts.into_iter().rev() {
            class = Class::new(FieldKind::Array { count, element: class }, 1)?;
        }
        Ok(Some(ChoiceOption { name, class }))
    }

    fn count(&mut self) -> Result<ElementCount, String> {
        if let Token::NumberPlan(number) = *self.lexer.peek()? {
            self.lexer.next()?;
            return u64::try_from(number).map(ElementCount::Fixed).map_err(|_| "a negative size".to_owned());
        }
        self.reference().map(ElementCount::Field)
    }

    /// `a.b.c`.
    pub(super) fn dotted(&mut self) -> Result<Vec<String>, String> {
        let mut path = Vec::new();
        loop {
            match self.lexer.next()? {
                Token::Name(name) => path.push(name),
                other => return Err(format!("a name expected, found {other:?}")),
            }
            if !self.lexer.takes('.')? {
                return Ok(path);
            }
        }
    }

    fn reference(&mut self) -> Result<Reference, String> {
        const SCOPES: [(&[&str], FieldScope); 6] = [
            (&["trace", "packet", "header"], FieldScope::PacketHeader),
            (&["stream", "packet", "context"], FieldScope::PacketContext),
            (&["stream", "event", "header"], FieldScope::EventHeader),
            (&["stream", "event", "context"], FieldScope::CommonContext),
            (&["event", "context"], FieldScope::EventContext),
            (&["event", "fields"], FieldScope::Payload),
        ];
        let path = self.dotted()?;
        self.referenced.extend(path.last().cloned());
        for (prefix, scope) in SCOPES {
            if path.len() > prefix.len() && path.iter().zip(prefix).all(|(name, expected)| name == expected) {
                return Ok(Reference { scope: Some(scope), path: path[prefix.len()..].to_vec() });
            }
        }
        Ok(Reference { scope: None, path })
    }

    /// `{ … }` of a structure or variant, after its opening brace.
    fn members(&mut self) -> Result<Vec<ChoiceOption>, String> {
        self.enter()?;
        let mut members = Vec::new();
        while !self.lexer.takes('}')? {
            match self.lexer.peek()?.clone() {
                Token::Name(keyword) if keyword == "typealias" || keyword == "typedef" => {
                    self.lexer.next()?;
                    self.alias(&keyword)?;
                }
                Token::End => return Err("a block without end".to_owned()),
                _ => members.extend(self.member()?),
            }
        }
        self.leave();
        Ok(members)
    }

    /// The name after `struct`, `enum` or `variant`.
    pub(super) fn tag(&mut self) -> Result<Option<String>, String> {
        let Token::Name(name) = self.lexer.peek()?.clone() else { return Ok(None) };
        self.lexer.next()?;
        Ok(Some(name))
    }

    fn structure(&mut self) -> Result<Class, String> {
        let tag = self.tag()?;
        let known = tag.as_ref().map(|tag| format!("struct {tag}"));
        if !self.lexer.takes('{')? {
            return self.find(&known.ok_or("a structure without name and fields")?);
        }
        let members = self.members()?;
        let mut align = 1;
        if *self.lexer.peek()? == Token::Name("align".to_owned()) {
            self.lexer.next()?;
            self.lexer.expect('(')?;
            let Token::NumberPlan(number) = self.lexer.next()? else {
                return Err("an alignment expected".to_owned());
            };
            align = u32::try_from(number).map_err(|_| format!("an alignment of {number}"))?;
            self.lexer.expect(')')?;
        }
        let class = Class::new(FieldKind::Struct(members), align)?;
        if let Some(known) = known {
            self.declare(known, class.clone());
        }
        Ok(class)
    }

    /// `variant NAME <selector> { … }`: each part may be missing.
    fn variant(&mut self) -> Result<Class, String> {
        let known = self.tag()?.map(|tag| format!("variant {tag}"));
        let mut selector = None;
        if self.lexer.takes('<')? {
            selector = Some(self.reference()?);
            self.lexer.expect('>')?;
        }
        if self.lexer.takes('{')? {
            let members = self.members()?;
            let choices = members.into_iter().map(|member| Choice {
                name: member.name,
                ranges: None,
                class: member.class,
            });
            let class = Class::new(FieldKind::Variant { selector, choices: choices.collect() }, 1)?;
            if let Some(known) = known {
                self.declare(known, class.clone());
            }
            return Ok(class);
        }
        let class = self.find(&known.ok_or("a variant without name and fields")?)?;
        match (class.kind(), selector) {
            (FieldKind::Variant { choices, .. }, Some(selector)) => {
                Class::new(FieldKind::Variant { selector: Some(selector), choices: choices.clone() }, 1)
            }
            _ => Ok(class),
        }
    }
}
