//! The modules of a crate: their files, items, and imports.

use super::imports::{self, Import, Token};
use crate::repository::TextFile;
use std::collections::{BTreeMap, BTreeSet};

/// A crate's modules. A module written inside its parent's file counts as a part of that file.
#[derive(Debug)]
pub(super) struct CrateTree<'a> {
    pub(super) files: Vec<&'a TextFile>,
    /// Every module by its path from the root; the root's is empty.
    pub(super) modules: BTreeMap<Vec<String>, Module>,
}

/// One module.
#[derive(Debug, Default)]
pub(super) struct Module {
    /// Index of its file.
    pub(super) file: usize,
    /// Names that are defined in it.
    pub(super) items: BTreeSet<String>,
    pub(super) imports: Vec<Import>,
    /// Words and paths of the code that is no declaration of imports.
    pub(super) words: BTreeSet<String>,
    pub(super) paths: BTreeSet<Vec<String>>,
}

impl<'a> CrateTree<'a> {
    /// Reads a crate from the file of its root; `sources` hold code without comments, literals, and tests.
    pub(super) fn load(root: &str, sources: &'a [TextFile]) -> CrateTree<'a> {
        let mut tree = CrateTree { files: Vec::new(), modules: BTreeMap::new() };
        let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        tree.add_file(sources, root, Vec::new(), folder);
        tree
    }

    /// Adds a file; `folder` is where the files of its children are.
    fn add_file(&mut self, sources: &'a [TextFile], path: &str, module: Vec<String>, folder: String) {
        let Some(source) = sources.iter().find(|file| file.path == path) else { return };
        self.files.push(source);
        let file = self.files.len() - 1;
        let tokens = imports::tokens(&source.text);
        self.add_module(sources, &tokens, file, module, folder);
    }

    fn add_module(
        &mut self,
        sources: &'a [TextFile],
        tokens: &[Token],
        file: usize,
        path: Vec<String>,
        folder: String,
    ) {
        let (own, children) = split_modules(tokens);
        let (imports, rest) = imports::split(&own);
        let words = rest.iter().filter_map(|token| match token {
            Token::Word(word) => Some(word.clone()),
            _ => None,
        });
        let module = Module {
            file,
            items: items(&rest),
            imports,
            words: words.collect(),
            paths: imports::paths(&rest).into_iter().collect(),
        };
        self.modules.insert(path.clone(), module);
        for child in children {
            let inner = [&path[..], std::slice::from_ref(&child.name)].concat();
            let below = format!("{folder}/{}", child.name);
            match child.body {
                Some(body) => self.add_module(sources, &body, file, inner, below),
                None => {
                    self.add_file(sources, &format!("{below}.rs"), inner.clone(), below.clone());
                    self.add_file(sources, &format!("{below}/mod.rs"), inner, below);
                }
            }
        }
    }
}

/// A declared module; with a body when it is written in place.
struct Child {
    name: String,
    body: Option<Vec<Token>>,
}

/// Takes the modules out of the tokens of their parent.
fn split_modules(tokens: &[Token]) -> (Vec<Token>, Vec<Child>) {
    let (mut own, mut children) = (Vec::new(), Vec::new());
    let mut position = 0;
    while position < tokens.len() {
        let declares = matches!(&tokens[position], Token::Word(word) if word == "mod");
        let (Some(Token::Word(name)), true) = (tokens.get(position + 1), declares) else {
            own.push(tokens[position].clone());
            position += 1;
            continue;
        };
        let mut child = Child { name: name.clone(), body: None };
        position += 3;
        if tokens.get(position - 1) == Some(&Token::Other('{')) {
            let end = block_end(tokens, position - 1);
            child.body = Some(tokens[position..end].to_vec());
            position = end + 1;
        }
        children.push(child);
    }
    (own, children)
}

/// The index of the brace that closes the one at `open`.
fn block_end(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        match token {
            Token::Other('{') => depth += 1,
            Token::Other('}') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return index;
        }
    }
    tokens.len()
}

/// Names that are defined outside every block.
fn items(tokens: &[Token]) -> BTreeSet<String> {
    const KEYWORDS: [&str; 9] =
        ["struct", "enum", "trait", "type", "const", "static", "fn", "union", "macro_rules"];
    let mut out = BTreeSet::new();
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate() {
        match token {
            Token::Other('{' | '(' | '[') => depth += 1,
            Token::Other('}' | ')' | ']') => depth = depth.saturating_sub(1),
            Token::Word(keyword) if depth == 0 && KEYWORDS.contains(&keyword.as_str()) => {
                let skipped = usize::from(keyword == "macro_rules");
                if let Some(Token::Word(name)) = tokens.get(index + 1 + skipped) {
                    out.insert(name.clone());
                }
            }
            _ => {}
        }
    }
    out
}
