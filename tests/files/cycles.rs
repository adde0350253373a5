//! Which modules of a crate use which, and that none use each other in a circle.
//!
//! The graph comes from the sources: `use` declarations, and paths in the code (`crate::…`, `super::…`, `self::…`, `child::…`),
//! each followed through re-exports to the module that defines the item. Declaring a module or re-exporting from it is no
//! use of it. Modules that are only there for tests are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::root;

/// The crates, by the directories of their `lib.rs`.
const CRATES: [&str; 19] = [
    "bridge",
    "bridge/context",
    "bridge/doctor",
    "bridge/migrate",
    "bridge/operations",
    "bridge/package",
    "bridge/reference",
    "bridge/services",
    "bridge/session",
    "bridge/trace",
    "bridge/translate",
    "proto",
    "sandbox",
    "shim/common",
    "shim/cty",
    "shim/grpc",
    "shim/install",
    "shim/provider",
    "shim/state",
];

/// A module's path below the crate, such as `["schema", "block"]`.
type ModulePath = Vec<String>;

/// Which modules each module uses.
type Graph<'a> = BTreeMap<&'a ModulePath, BTreeSet<&'a ModulePath>>;

#[derive(Debug, Default)]
struct Module {
    children: BTreeSet<String>,
    /// What `use` declarations bring, by name, with the path as it is written.
    imports: BTreeMap<String, Import>,
    /// Paths that end in `*`.
    globs: Vec<Vec<String>>,
    /// Names of the items that are defined here.
    items: BTreeSet<String>,
    /// Paths in the code.
    paths: BTreeSet<Vec<String>>,
    /// Single names in the code.
    names: BTreeSet<String>,
}

#[derive(Clone, Debug)]
struct Import {
    path: Vec<String>,
    is_public: bool,
}

/// What a path leads to.
#[derive(Debug)]
enum Target {
    Module(ModulePath),
    /// An item, by the module that defines it.
    Item(ModulePath),
}

#[derive(Debug, Default)]
struct Crate(BTreeMap<ModulePath, Module>);

impl Crate {
    fn read(directory: &str) -> Self {
        let mut modules = Self::default();
        let directory = root().join(directory);
        modules.file(&directory.join("lib.rs"), &directory, &[]);
        modules
    }

    /// Reads a file, whose child modules are below `directory`.
    fn file(&mut self, file: &Path, directory: &Path, path: &[String]) {
        let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{file:?}: {error}"));
        let beside = file.parent().expect("a directory");
        self.module(&tokens(&text), beside, directory, path);
    }

    /// Takes in a module; `#[path]` counts from `beside`.
    fn module(&mut self, tokens: &[String], beside: &Path, directory: &Path, path: &[String]) {
        let mut module = Module::default();
        let mut at = 0;
        while at < tokens.len() {
            let begin = at;
            let mut attributes = Vec::new();
            while token(tokens, at) == "#" {
                let bracket = at + 1 + usize::from(token(tokens, at + 1) == "!");
                let end = closing(tokens, bracket);
                attributes.push(&tokens[at..end]);
                at = end;
            }
            let is_test = attributes.iter().any(|attribute| attribute.join("").starts_with("#[cfg(test"));
            let visibility = at;
            if token(tokens, at) == "pub" {
                at += 1;
                if token(tokens, at) == "(" {
                    at = closing(tokens, at);
                }
            }
            let is_public = at > visibility;
            let end = end_of_item(tokens, at);
            let item = &tokens[at..end];
            at = end;
            if is_test {
                continue;
            }
            match (token(item, 0), token(item, 2)) {
                ("mod", ";") => {
                    let name = &item[1];
                    module.children.insert(name.clone());
                    let own = attributes.iter().find(|attribute| token(attribute, 2) == "path");
                    let named = own.map(|attribute| token(attribute, 4).trim_matches('"'));
                    let (file, below) = match named {
                        Some(file) => (beside.join(file), beside.to_owned()),
                        None => (directory.join(format!("{name}.rs")), directory.join(name)),
                    };
                    self.file(&file, &below, &[path, std::slice::from_ref(name)].concat());
                }
                ("mod", "{") => {
                    let name = &item[1];
                    module.children.insert(name.clone());
                    let inside = &item[3..item.len() - 1];
                    self.module(
                        inside,
                        beside,
                        &directory.join(name),
                        &[path, std::slice::from_ref(name)].concat(),
                    );
                }
                ("use", _) => module.imports(&item[1..], &[], is_public),
                _ => {
                    module.item(item);
                    module.code(&tokens[begin..end]);
                }
            }
        }
        self.0.insert(path.to_vec(), module);
    }

    /// Follows a path as it is written in a module.
    fn resolve(&self, from: &[String], path: &[String], depth: usize) -> Option<Target> {
        let mut current = from.to_vec();
        for (position, name) in path.iter().enumerate() {
            let module = self.0.get(&current)?;
            match name.as_str() {
                "crate" => current.clear(),
                "self" if position == 0 => {}
                "super" => drop(current.pop()?),
                _ if module.children.contains(name) => current.push(name.clone()),
                _ => match self.name(&current, name, depth)? {
                    Target::Module(found) => current = found,
                    item if position > 0 || module.imports.contains_key(name) => return Some(item),
                    // An item of the module itself.
                    Target::Item(_) => return None,
                },
            }
        }
        Some(Target::Module(current))
    }

    /// What a name in a module stands for, other than a child.
    fn name(&self, module: &[String], name: &str, depth: usize) -> Option<Target> {
        // Two modules that import everything of each other would send us round and round.
        let depth = depth.checked_sub(1)?;
        let content = self.0.get(module)?;
        if content.items.contains(name) {
            return Some(Target::Item(module.to_vec()));
        }
        if let Some(import) = content.imports.get(name) {
            return self.resolve(module, &import.path, depth);
        }
        content.globs.iter().find_map(|glob| match self.resolve(module, glob, depth)? {
            Target::Module(of) => self.name(&of, name, depth),
            Target::Item(of) => Some(Target::Item(of)),
        })
    }

    /// Which modules each module uses.
    fn graph(&self) -> Graph<'_> {
        self.0.iter().map(|(path, module)| (path, self.used_by(path, module))).collect()
    }

    fn used_by(&self, path: &ModulePath, module: &Module) -> BTreeSet<&ModulePath> {
        let is_used = |(name, import): &(&String, &Import)| !import.is_public || module.names.contains(*name);
        let imports = module.imports.iter().filter(is_used).map(|(_, import)| &import.path);
        let mut used = BTreeSet::new();
        for target in imports.chain(&module.paths) {
            if let Some(Target::Item(of)) = self.resolve(path, target, 16)
                && of != *path
            {
                used.extend(self.0.get_key_value(&of).map(|(of, _)| of));
            }
        }
        used
    }
}

impl Module {
    /// Takes in a tree of imports.
    fn imports(&mut self, tree: &[String], prefix: &[String], is_public: bool) {
        let mut path = prefix.to_vec();
        let mut at = 0;
        loop {
            match token(tree, at) {
                "::" => {}
                "{" => {
                    let mut inside = &tree[at + 1..closing(tree, at) - 1];
                    while !inside.is_empty() {
                        let mut depth = 0;
                        let end = inside.iter().position(|token| {
                            depth += i32::from(token == "{") - i32::from(token == "}");
                            depth == 0 && token == ","
                        });
                        let end = end.unwrap_or(inside.len());
                        self.imports(&inside[..end], &path, is_public);
                        inside = inside.get(end + 1..).unwrap_or_default();
                    }
                    return;
                }
                "*" => return self.globs.push(path),
                "as" => {
                    let name = token(tree, at + 1);
                    // Traits that are not named are many.
                    let name = if name == "_" { format!("_{}", self.imports.len()) } else { name.to_owned() };
                    self.imports.insert(name, Import { path, is_public });
                    return;
                }
                "" | ";" => break,
                // `use a::{self}` is `use a`.
                "self" if !path.is_empty() => {}
                name => path.push(name.to_owned()),
            }
            at += 1;
        }
        if let Some(name) = path.last().cloned() {
            self.imports.insert(name, Import { path, is_public });
        }
    }

    /// Notes the name of an item.
    fn item(&mut self, item: &[String]) {
        const KEYWORDS: [&str; 9] =
            ["struct", "enum", "fn", "const", "static", "type", "trait", "union", "macro_rules"];
        let head = item.iter().position(|token| ["{", "(", ";", "="].contains(&token.as_str()));
        let head = &item[..head.unwrap_or(item.len())];
        let keyword = head.iter().rposition(|token| KEYWORDS.contains(&token.as_str()));
        if let Some(keyword) = keyword.filter(|_| !["impl"].contains(&token(item, 0))) {
            let name = item[keyword + 1..].iter().find(|token| token.as_str() != "!");
            self.items.extend(name.cloned());
        }
    }

    /// Notes the paths and names in code.
    fn code(&mut self, code: &[String]) {
        let mut at = 0;
        while at < code.len() {
            if code[at] == "use" {
                let end = end_of_item(code, at);
                self.imports(&code[at + 1..end], &[], false);
                at = end;
                continue;
            }
            if !is_name(&code[at]) || (at > 0 && code[at - 1] == ".") {
                at += 1;
                continue;
            }
            let mut path = vec![code[at].clone()];
            while token(code, at + 1) == "::" && is_name(token(code, at + 2)) {
                path.push(code[at + 2].clone());
                at += 2;
            }
            at += 1;
            if path.len() > 1 {
                self.names.insert(path[0].clone());
                self.paths.insert(path);
            } else {
                self.names.extend(path);
            }
        }
    }
}

pub(super) fn token(tokens: &[String], at: usize) -> &str {
    tokens.get(at).map_or("", String::as_str)
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// The place behind the bracket that closes the one at `at`.
pub(super) fn closing(tokens: &[String], at: usize) -> usize {
    let mut depth = 0;
    for (offset, token) in tokens[at..].iter().enumerate() {
        match token.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + offset + 1;
        }
    }
    tokens.len()
}

/// The place behind the item at `at`: a `;`, or a block in braces that ends it.
pub(super) fn end_of_item(tokens: &[String], mut at: usize) -> usize {
    let is_use = token(tokens, at) == "use";
    let is_value = ["const", "static", "type"].contains(&token(tokens, at)) && token(tokens, at + 1) != "fn";
    while at < tokens.len() {
        match token(tokens, at) {
            ";" => return at + 1,
            "{" => {
                at = closing(tokens, at);
                if !is_use && !is_value {
                    return at;
                }
            }
            "(" | "[" => at = closing(tokens, at),
            _ => at += 1,
        }
    }
    at
}

/// The tokens of a source without comments: names, numbers, `::`, and single characters. Of texts only their quotes stay, but
/// for short ones, which may be the paths of modules.
pub(super) fn tokens(text: &str) -> Vec<String> {
    static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?s)//[^\n]*|/\*.*?\*/",
            r"|b?r###\x22.*?\x22###|b?r##\x22.*?\x22##|b?r#\x22.*?\x22#|b?r\x22[^\x22]*\x22|b?\x22(?:[^\x22\\]|\\.)*\x22",
            r"|b?'(?:[^'\\]|\\.[^']*)'|'[A-Za-z0-9_]+",
            r"|(?:r#)?[A-Za-z0-9_]+|::|[^ \t\r\n]",
        ))
        .expect("a pattern")
    });
    let found = PATTERN.find_iter(text).map(|found| found.as_str());
    found.filter(|token| !token.starts_with("//") && !token.starts_with("/*")).map(str::to_owned).collect()
}

/// The groups of modules that use each other in circles.
fn cycles(graph: &Graph<'_>) -> Vec<Vec<String>> {
    let reached: BTreeMap<&ModulePath, _> =
        graph.keys().map(|module| (*module, reachable(graph, module))).collect();
    let groups = graph.keys().filter(|module| reached[*module].contains(**module)).map(|module| {
        let mutual = reached[module].iter().filter(|other| reached[*other].contains(module));
        mutual.map(|path| path.join("::")).collect::<Vec<_>>()
    });
    groups.collect::<BTreeSet<_>>().into_iter().collect()
}

/// All that a module uses, directly and by way of others.
fn reachable<'graph>(graph: &Graph<'graph>, from: &'graph ModulePath) -> BTreeSet<&'graph ModulePath> {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(module) = next.pop() {
        next.extend(graph[module].iter().filter(|used| seen.insert(**used)));
    }
    seen
}

#[test]
fn no_modules_use_each_other_in_a_circle() {
    let mut found = String::new();
    for name in CRATES {
        let modules = Crate::read(name);
        assert!(!modules.0.is_empty(), "{name} has modules");
        let graph = modules.graph();
        for group in cycles(&graph) {
            let uses =
                graph.iter().flat_map(|(from, to)| to.iter().map(move |to| (from.join("::"), to.join("::"))));
            let inside = uses.filter(|(from, to)| group.contains(from) && group.contains(to));
            let inside = inside.map(|(from, to)| format!("    {from} uses {to}\n")).collect::<String>();
            found.push_str(&format!("  {name}: {group:?}\n{inside}"));
        }
    }
    assert!(found.is_empty(), "modules that use each other in a circle:\n{found}");
}

/// A graph that finds nothing would find no cycle either.
#[test]
fn uses_are_found_through_imports_paths_and_re_exports() {
    let modules = Crate::read("shim/cty");
    let graph = modules.graph();
    let uses = |from: &[&str], to: &[&str]| {
        let path = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<ModulePath>();
        graph[&path(from)].contains(&path(to))
    };
    assert!(uses(&["msgpack", "decode"], &["msgpack", "reader"]));
    assert!(uses(&["msgpack", "encode"], &["value"]), "by way of the re-export at the top");
    assert!(!uses(&["value"], &["msgpack", "encode"]));
}
