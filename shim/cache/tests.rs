//! What is remembered of providers, and when it is not.

use std::collections::HashMap;
use std::fs::File;
use std::time::{Duration, SystemTime};

use isthmus_proto::tfplugin6;
use prost::Message as _;
use tempfile::TempDir;

use super::*;
use crate::schema::testing::{attribute, block, schema};

struct Shelf {
    folder: TempDir,
    cache: SchemaCache,
}

impl Shelf {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = SchemaCache::new(folder.path().join("cache"));
        Self { folder, cache }
    }

    /// Puts a program into the folder, as if it had been there for long.
    fn program(&self, name: &str, content: &str) -> Program {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).expect("a file");
        let file = File::options().write(true).open(&path).expect("a file");
        file.set_modified(SystemTime::now() - Duration::from_secs(60)).expect("a file of ours");
        Program::look(&path).expect("a program")
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path().join("cache")).expect("the cache");
        let mut names: Vec<_> =
            entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text")).collect();
        names.sort();
        names
    }
}

fn answer(resources: &[&str]) -> SchemaAnswer {
    let one = || schema(block(vec![attribute("a", "\"string\"", "o")], vec![]));
    let resources: HashMap<String, Bytes> =
        resources.iter().map(|name| ((*name).to_owned(), one().encode_to_vec().into())).collect();
    let response = tfplugin6::get_provider_schema::Response {
        provider: Some(one()),
        resource_schemas: resources,
        ..Default::default()
    };
    SchemaAnswer { protocol: ProtocolVersion::V6, bytes: response.encode_to_vec().into() }
}

fn environment(value: &str) -> EnvironmentPrint {
    EnvironmentPrint::of_child(&[("SHIM_CACHE_TEST".into(), value.into())])
}

fn names(known: Option<KnownSchema>) -> Option<Vec<String>> {
    Some(known?.catalogue.resource_names().map(ToString::to_string).collect())
}

#[test]
fn a_kept_answer_is_found_for_the_same_program_in_the_same_environment() {
    let shelf = Shelf::new();
    let program = shelf.program("terraform-provider-x", "\x7fELF one");
    let here = environment("here");
    assert!(shelf.cache.find(&program, &here).is_none());
    let kept = answer(&["x_a", "x_b"]);
    shelf.cache.keep(&program, &here, &kept).expect("the folder can be written");
    let known = shelf.cache.find(&program, &here).expect("it was kept");
    assert_eq!(known.fingerprint, kept.fingerprint());
    assert_eq!(names(Some(known)), Some(vec!["x_a".to_owned(), "x_b".to_owned()]));
    assert!(shelf.cache.find(&program, &environment("there")).is_none());

    shelf.cache.forget(&program, &here);
    assert!(shelf.cache.find(&program, &here).is_none());
}

#[test]
fn environments_with_the_same_schema_share_it() {
    let shelf = Shelf::new();
    let program = shelf.program("terraform-provider-x", "\x7fELF one");
    for place in ["here", "there"] {
        shelf.cache.keep(&program, &environment(place), &answer(&["x_a"])).expect("it is kept");
    }
    let schemas = |names: Vec<String>| {
        names
            .into_iter()
            .filter(|name| name.starts_with("schema-") && !name.starts_with("schema-of-"))
            .count()
    };
    assert_eq!(schemas(shelf.names()), 1, "{:?}", shelf.names());
}

#[test]
fn another_program_at_the_same_path_is_not_known() {
    let shelf = Shelf::new();
    let here = environment("here");
    let program = shelf.program("terraform-provider-x", "\x7fELF one");
    shelf.cache.keep(&program, &here, &answer(&["x_a"])).expect("it is kept");
    // Of the same size, and with the same time of its last change of content.
    let other = shelf.program("terraform-provider-x", "\x7fELF two");
    assert!(shelf.cache.find(&other, &here).is_none());
    shelf.cache.keep(&other, &here, &answer(&["x_b"])).expect("it is kept");
    assert_eq!(names(shelf.cache.find(&other, &here)), Some(vec!["x_b".to_owned()]));
}

#[test]
fn the_same_program_is_known_elsewhere_but_not_under_another_name() {
    let shelf = Shelf::new();
    let here = environment("here");
    let program = shelf.program("terraform-provider-x", "\x7fELF one");
    shelf.cache.keep(&program, &here, &answer(&["x_a"])).expect("it is kept");
    std::fs::create_dir(shelf.folder.path().join("copy")).expect("a folder");
    let copy = shelf.program("copy/terraform-provider-x", "\x7fELF one");
    assert!(shelf.cache.find(&copy, &here).is_some());
    let namesake = shelf.program("terraform-provider-y", "\x7fELF one");
    assert!(shelf.cache.find(&namesake, &here).is_none(), "one file may be several programs");
}

#[test]
fn nothing_is_kept_of_a_program_that_changed_meanwhile() {
    let shelf = Shelf::new();
    let here = environment("here");
    let program = shelf.program("terraform-provider-x", "\x7fELF one");
    let changed = shelf.program("terraform-provider-x", "\x7fELF two!");
    shelf.cache.keep(&program, &here, &answer(&["x_a"])).expect("that is no error");
    assert!(shelf.cache.find(&program, &here).is_none());
    assert!(shelf.cache.find(&changed, &here).is_none());
}

#[test]
fn an_answer_that_is_lost_or_damaged_is_not_found_and_can_be_kept_again() {
    let shelf = Shelf::new();
    let here = environment("here");
    let program = shelf.program("terraform-provider-x", "\x7fELF one");
    shelf.cache.keep(&program, &here, &answer(&["x_a"])).expect("it is kept");
    for name in shelf.names() {
        let path = shelf.folder.path().join("cache").join(&name);
        std::fs::write(&path, "damaged").expect("a file");
        if !name.starts_with("program-") {
            assert!(shelf.cache.find(&program, &here).is_none(), "{name} is damaged");
        }
        shelf.cache.keep(&program, &here, &answer(&["x_a"])).expect("it is kept");
        assert!(shelf.cache.find(&program, &here).is_some(), "{name} was written again");
        std::fs::remove_file(&path).expect("a file");
        shelf.cache.keep(&program, &here, &answer(&["x_a"])).expect("it is kept");
        assert!(shelf.cache.find(&program, &here).is_some(), "{name} was written again");
    }
}

#[test]
fn a_newer_answer_replaces_the_one_before() {
    let shelf = Shelf::new();
    let here = environment("here");
    let program = shelf.program("terraform-provider-x", "\x7fELF one");
    for resource in ["x_a", "x_b"] {
        shelf.cache.keep(&program, &here, &answer(&[resource])).expect("it is kept");
        assert_eq!(names(shelf.cache.find(&program, &here)), Some(vec![resource.to_owned()]));
    }
}

#[test]
fn what_cannot_be_written_is_an_error_that_names_the_folder() {
    let shelf = Shelf::new();
    let program = shelf.program("terraform-provider-x", "\x7fELF one");
    let in_the_way = shelf.folder.path().join("terraform-provider-x").join("cache");
    let cache = SchemaCache::new(in_the_way.clone());
    let here = environment("here");
    assert!(cache.find(&program, &here).is_none());
    let error = cache.keep(&program, &here, &answer(&["x_a"])).expect_err("a file is no folder");
    assert!(error.to_string().contains(&in_the_way.display().to_string()), "{error}");
}
