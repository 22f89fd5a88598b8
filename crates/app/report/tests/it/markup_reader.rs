//! A strict reader of the HTML this crate writes: every tag closed, every value quoted.

use std::collections::HashMap;

/// An element with its attributes, children and own text.
#[derive(Debug, Default)]
pub(crate) struct Element {
    pub(crate) tag: String,
    pub(crate) attributes: HashMap<String, String>,
    pub(crate) text: String,
    pub(crate) children: Vec<Element>,
}

const VOID: [&str; 3] = ["meta", "input", "br"];

impl Element {
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.get(name).map(String::as_str)
    }

    /// This element and all below, in document order.
    pub(crate) fn all(&self) -> Vec<&Element> {
        let mut found = Vec::new();
        self.collect(&mut found);
        found
    }

    fn collect<'a>(&'a self, found: &mut Vec<&'a Element>) {
        found.push(self);
        self.children.iter().for_each(|child| child.collect(found));
    }

    pub(crate) fn with_tag<'a>(&'a self, tag: &'a str) -> impl Iterator<Item = &'a Element> {
        self.all().into_iter().filter(move |element| element.tag == tag)
    }

    pub(crate) fn child(&self, tag: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.tag == tag)
    }
}

/// Reads a page; the reason when it is not well formed.
pub(crate) fn read(html: &str) -> Result<Element, String> {
    let mut rest = html.strip_prefix("<!doctype html>\n").ok_or("no doctype")?;
    let mut open = vec![Element::default()];
    while let Some(start) = rest.find('<') {
        let top = open.last_mut().ok_or("closed too often")?;
        let (text, tail) = rest.split_at(start);
        top.text.push_str(&unescaped(text)?);
        let (inside, after) = tag_end(tail)?;
        rest = after;
        if let Some(name) = inside.strip_prefix('/') {
            close(&mut open, name)?;
            continue;
        }
        let element = opening(inside.trim_end_matches('/'))?;
        let raw = matches!(element.tag.as_str(), "script" | "style");
        if VOID.contains(&element.tag.as_str()) || inside.ends_with('/') {
            open.last_mut().ok_or("no parent")?.children.push(element);
            continue;
        }
        open.push(element);
        if raw {
            rest = raw_text(&mut open, rest)?;
        }
    }
    if open.len() != 1 {
        return Err(format!("{} is not closed", open[1].tag));
    }
    open.pop().ok_or_else(|| "nothing".to_owned())
}

/// Scripts and styles end at the first closing tag, regardless of their content.
fn raw_text<'a>(open: &mut [Element], rest: &'a str) -> Result<&'a str, String> {
    let top = open.last_mut().ok_or("no element")?;
    let end = rest.find(&format!("</{}", top.tag)).ok_or("an endless script or style")?;
    top.text = rest[..end].to_owned();
    Ok(&rest[end..])
}

fn close(open: &mut Vec<Element>, name: &str) -> Result<(), String> {
    let element = open.pop().ok_or("closed too often")?;
    if element.tag != name {
        return Err(format!("</{name}> closes <{}>", element.tag));
    }
    open.last_mut().ok_or("closed too often")?.children.push(element);
    Ok(())
}

/// The text between `<` and the next `>` outside quotes, and the rest.
fn tag_end(tail: &str) -> Result<(&str, &str), String> {
    let mut quoted = false;
    for (position, c) in tail.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '>' if !quoted => return Ok((&tail[1..position], &tail[position + 1..])),
            '<' if position > 0 => return Err(format!("< inside a tag: {}", &tail[..position])),
            _ => {}
        }
    }
    Err("an endless tag".to_owned())
}

fn opening(inside: &str) -> Result<Element, String> {
    let (tag, mut rest) = inside.split_once(' ').unwrap_or((inside, ""));
    let mut element = Element { tag: tag.to_owned(), ..Element::default() };
    if !tag.bytes().all(|b| b.is_ascii_alphanumeric()) || tag.is_empty() {
        return Err(format!("a tag named {tag:?}"));
    }
    while !rest.trim().is_empty() {
        rest = rest.trim_start();
        let name_end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(rest.len());
        let (name, tail) = rest.split_at(name_end);
        let (value, tail) = match tail.strip_prefix("=\"") {
            Some(tail) => tail.split_once('"').ok_or("an endless value")?,
            None if tail.is_empty() || tail.starts_with(' ') => ("", tail),
            None => return Err(format!("an unquoted value in <{inside}>")),
        };
        if name.is_empty() || element.attributes.insert(name.to_owned(), unescaped(value)?).is_some() {
            return Err(format!("a strange attribute in <{inside}>"));
        }
        rest = tail;
    }
    Ok(element)
}

fn unescaped(text: &str) -> Result<String, String> {
    let mut pieces = text.split('&');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (entity, rest) = piece.split_once(';').ok_or("a bare ampersand")?;
        plain.push(match entity {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "#39" => '\'',
            other => return Err(format!("the entity {other}")),
        });
        plain.push_str(rest);
    }
    Ok(plain)
}

#[test]
fn the_reader_rejects_broken_markup() {
    let page = |body: &str| read(&format!("<!doctype html>\n<p>{body}</p>"));
    assert!(page("<b>x</b>").is_ok());
    for broken in ["<b>x", "x</b>", "a & b", "<b a=1>x</b>", "<b a=\"1\" a=\"2\">x</b>", "<b <i>x</i></b>"] {
        assert!(page(broken).is_err(), "{broken}");
    }
}
