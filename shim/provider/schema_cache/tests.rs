//! Cached schemas, and what prevents caching.

mod bodies;
mod documents;

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use isthmus_common::Environment;
use isthmus_proto::tfplugin6;
use prost::Message as _;
use tempfile::TempDir;

use super::*;
use crate::plugin::ProtocolVersion;
use crate::schema::testing::{attribute, block, schema};

impl SchemaCache {
    /// The known schemas of an executable in a context.
    fn find(&self, program: &Program, context: &LaunchContext) -> Option<Catalogue> {
        self.catalogue(self.fingerprint(program, context)?.0)
    }
}

struct Shelf {
    directory: TempDir,
    cache: SchemaCache,
}

impl Shelf {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let cache = SchemaCache::new(directory.path().join("cache"));
        Self { directory, cache }
    }

    /// Writes an executable with an old time of change.
    fn program(&self, name: &str, content: &str) -> Program {
        let path = self.directory.path().join(name);
        std::fs::write(&path, content).expect("a file");
        let file = File::options().write(true).open(&path).expect("a file");
        file.set_modified(SystemTime::now() - Duration::from_secs(60)).expect("a file of ours");
        Program::look(&path).expect("a program")
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory.path().join("cache")).expect("the cache");
        let mut names: Vec<_> =
            entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text")).collect();
        names.sort();
        names
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join("cache").join(name)
    }

    fn named(&self, prefix: &str) -> Vec<String> {
        self.cache.files.names(prefix)
    }

    fn entries(&self) -> Vec<String> {
        self.named("schema-of-")
    }

    fn answers(&self) -> Vec<String> {
        self.named("schema-").into_iter().filter(|name| !name.starts_with("schema-of-")).collect()
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

/// An environment, always with the same directory.
fn environment(value: &str) -> LaunchContext {
    let environment = EnvironmentPrint::of(&Environment::default().with("SHIM_CACHE_TEST", value), |_| false);
    LaunchContext::new(environment, PathBuf::from("/project"))
}

/// A directory, always with the same environment.
fn directory(path: impl AsRef<Path>) -> LaunchContext {
    LaunchContext::new(EnvironmentPrint::of(&Environment::default(), |_| false), path.as_ref().to_owned())
}

fn names(known: Option<Catalogue>) -> Option<Vec<String>> {
    Some(known?.resource_names().map(ToString::to_string).collect())
}

#[test]
fn a_kept_answer_is_found_for_the_same_program_in_the_same_environment() {
    let shelf = Shelf::new();
    let program = shelf.program("terraform-provider-x", "\x7fELF one");
    let here = environment("here");
    assert!(shelf.cache.find(&program, &here).is_none());
    let kept = answer(&["x_a", "x_b"]);
    shelf.cache.keep(&program, &here, &kept).expect("the directory can be written");
    let known = shelf.cache.find(&program, &here).expect("it was kept");
    assert_eq!(known.fingerprint(), kept.fingerprint());
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
    assert_eq!(shelf.answers().len(), 1, "{:?}", shelf.names());
}

#[test]
fn another_program_at_the_same_path_is_not_known() {
    let shelf = Shelf::new();
    let here = environment("here");
    let program = shelf.program("terraform-provider-x", "\x7fELF one");
    shelf.cache.keep(&program, &here, &answer(&["x_a"])).expect("it is kept");
    // With the same size and time of last change.
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
    std::fs::create_dir(shelf.directory.path().join("copy")).expect("a directory");
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
        let path = shelf.directory.path().join("cache").join(&name);
        let mut damaged = std::fs::read(&path).expect("a file");
        *damaged.last_mut().expect("a header") ^= 1;
        std::fs::write(&path, damaged).expect("a file");
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
fn a_program_is_known_in_the_directories_where_it_was_asked() {
    let shelf = Shelf::new();
    let program = shelf.program("terraform-provider-x", "\x7fELF one");
    let kept = answer(&["x_a"]);
    for project in (0..20).map(|number| directory(format!("/projects/{number}"))) {
        assert!(shelf.cache.find(&program, &project).is_none(), "{project:?}");
        shelf.cache.keep(&program, &project, &kept).expect("it is kept");
        assert_eq!(names(shelf.cache.find(&program, &project)), Some(vec!["x_a".to_owned()]));
    }
    assert_eq!((shelf.entries().len(), shelf.answers().len()), (20, 1), "{:?}", shelf.names());
}

#[test]
fn a_program_that_answers_otherwise_in_another_directory_is_variable() {
    let shelf = Shelf::new();
    let program = shelf.program("terraform-provider-x", "\x7fELF one");
    let (here, there) = (directory("/here"), directory("/there"));
    shelf.cache.keep(&program, &here, &answer(&["x_a"])).expect("it is kept");
    shelf.cache.keep(&program, &there, &answer(&["x_b"])).expect("it is seen to be another");
    for context in [&here, &there] {
        assert!(shelf.cache.find(&program, context).is_none(), "{context:?}");
    }
    assert_eq!((shelf.entries().len(), shelf.answers().len()), (0, 0), "{:?}", shelf.names());
}

#[test]
fn a_program_that_answers_otherwise_in_the_same_context_is_variable() {
    let shelf = Shelf::new();
    let here = environment("here");
    let program = shelf.program("terraform-provider-x", "\x7fELF one");
    shelf.cache.keep(&program, &here, &answer(&["x_a"])).expect("it is kept");
    shelf.cache.keep(&program, &here, &answer(&["x_b"])).expect("it is seen to be another");
    assert!(shelf.cache.find(&program, &here).is_none());
}

#[test]
fn the_environment_may_change_what_a_program_answers() {
    let shelf = Shelf::new();
    let program = shelf.program("terraform-provider-x", "\x7fELF one");
    for resource in ["x_a", "x_b"] {
        shelf.cache.keep(&program, &environment(resource), &answer(&[resource])).expect("it is kept");
    }
    for resource in ["x_a", "x_b"] {
        let found = names(shelf.cache.find(&program, &environment(resource)));
        assert_eq!(found, Some(vec![resource.to_owned()]));
    }
}

#[test]
fn a_variable_executable_is_never_kept_again_wherever_it_is() {
    let shelf = Shelf::new();
    let program = shelf.program("terraform-provider-x", "\x7fELF one");
    let unlike = shelf.program("terraform-provider-y", "\x7fELF two");
    for (program, resource) in [(&program, "x_a"), (&unlike, "x_b")] {
        for context in [environment("here"), environment("there"), directory("/elsewhere")] {
            shelf.cache.keep(program, &context, &answer(&[resource])).expect("it is kept");
        }
    }
    shelf.cache.mark_variable(&program).expect("it is marked");
    std::fs::create_dir(shelf.directory.path().join("copy")).expect("a directory");
    let copy = shelf.program("copy/terraform-provider-z", "\x7fELF one");
    for program in [&program, &copy] {
        for context in [environment("here"), environment("there"), directory("/elsewhere"), directory("/new")]
        {
            assert!(shelf.cache.find(program, &context).is_none(), "{context:?}");
            shelf.cache.keep(program, &context, &answer(&["x_a"])).expect("that is no error");
            assert!(shelf.cache.find(program, &context).is_none(), "{context:?}");
        }
    }
    assert_eq!(
        (shelf.entries().len(), shelf.answers().len()),
        (3, 1),
        "those of the other one: {:?}",
        shelf.names()
    );
    assert!(shelf.cache.find(&unlike, &environment("here")).is_some());
}

#[test]
fn a_program_that_was_replaced_meanwhile_is_not_marked() {
    let shelf = Shelf::new();
    let here = environment("here");
    let program = shelf.program("terraform-provider-x", "\x7fELF one");
    let changed = shelf.program("terraform-provider-x", "\x7fELF two!");
    shelf.cache.mark_variable(&program).expect("that is no error");
    shelf.cache.keep(&changed, &here, &answer(&["x_a"])).expect("it is kept");
    assert!(shelf.cache.find(&changed, &here).is_some());
}

#[test]
fn many_processes_may_use_one_directory_and_make_room_in_it() {
    let mut shelf = Shelf::new();
    shelf.cache.files.limits.files = 6;
    let programs = ["a", "b"]
        .map(|name| shelf.program(&format!("terraform-provider-{name}"), &format!("\x7fELF {name}")));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (programs, cache) = (&programs, shelf.cache.clone());
            scope.spawn(move || {
                for round in 0..25 {
                    let program = &programs[(thread + round) % 2];
                    let kept = answer(&[if (thread + round) % 2 == 0 { "x_a" } else { "x_b" }]);
                    let context = directory(format!("/{}", round % 5));
                    cache.keep(program, &context, &kept).expect("it is kept");
                    // It may be missing, but is never wrong.
                    if let Some(known) = cache.find(program, &context) {
                        assert_eq!(known.fingerprint(), kept.fingerprint());
                    }
                }
            });
        }
    });
    assert_eq!([shelf.named("variable-"), shelf.named(".unfinished-")].concat(), [""; 0]);
}

#[test]
fn what_cannot_be_written_is_an_error_that_names_the_directory() {
    let shelf = Shelf::new();
    let program = shelf.program("terraform-provider-x", "\x7fELF one");
    let in_the_way = shelf.directory.path().join("terraform-provider-x").join("cache");
    let cache = SchemaCache::new(in_the_way.clone());
    let here = environment("here");
    assert!(cache.find(&program, &here).is_none());
    let error = cache.keep(&program, &here, &answer(&["x_a"])).expect_err("a file is no directory");
    assert!(error.to_string().contains(&in_the_way.display().to_string()), "{error}");
}
