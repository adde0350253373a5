//! Schemas that are read from the cache when they are used.

use isthmus_platform::files::FileExt as _;

use super::*;
use crate::schema::CatalogueError;

/// A response with a resource for each of these names, which has one attribute of the same name.
fn described(resources: &[&str]) -> SchemaAnswer {
    let mut bytes = answer(&[]).bytes.to_vec();
    for name in resources {
        let schema = schema(block(vec![attribute(name, "\"string\"", "o")], vec![]));
        let one = tfplugin6::get_provider_schema::Response {
            resource_schemas: [((*name).to_owned(), schema.encode_to_vec().into())].into(),
            ..Default::default()
        };
        bytes.extend(one.encode_to_vec());
    }
    SchemaAnswer { protocol: ProtocolVersion::V6, bytes: bytes.into() }
}

/// The only attribute of a resource.
fn attribute_of(catalogue: &Catalogue, resource: &str) -> Result<String, CatalogueError> {
    Ok(catalogue.resource(resource)?.block.attributes[0].name.to_string())
}

/// A cache with a response, and the path of its file.
fn kept(resources: &[&str]) -> (Shelf, Program, PathBuf) {
    let shelf = Shelf::new();
    let program = shelf.program("terraform-provider-x", "\x7fELF one");
    shelf.cache.keep(&program, &environment("here"), &described(resources)).expect("it is kept");
    let path = shelf.path(&shelf.answers()[0]);
    (shelf, program, path)
}

fn found(shelf: &Shelf, program: &Program) -> Option<Catalogue> {
    shelf.cache.find(program, &environment("here"))
}

/// Changes the byte behind a text that is in a file once.
fn damage(path: &Path, behind: &str) {
    let content = std::fs::read(path).expect("a file");
    let at = content.windows(behind.len()).position(|text| text == behind.as_bytes()).expect("it is there");
    let at = at + behind.len();
    let file = File::options().write(true).open(path).expect("a file");
    file.write_all_at(&[content[at] ^ 1], at as u64).expect("a file of ours");
}

#[test]
fn schemas_are_read_when_they_are_used_even_if_the_file_was_removed_or_replaced() {
    let (shelf, program, path) = kept(&["x_a", "x_b"]);
    let [removed, replaced] = [(); 2].map(|()| found(&shelf, &program).expect("it was kept"));
    std::fs::remove_file(&path).expect("a file");
    assert_eq!(attribute_of(&removed, "x_b").expect("the file is open"), "x_b");
    shelf.cache.keep(&program, &environment("here"), &described(&["x_b", "x_a"])).expect("it is kept");
    assert_eq!(attribute_of(&replaced, "x_a").expect("the file is open"), "x_a");
    std::fs::remove_dir_all(shelf.directory.path().join("cache")).expect("a directory");
    assert_eq!(attribute_of(&replaced, "x_b").expect("the file is open"), "x_b");
}

#[test]
fn a_damaged_schema_is_an_error_that_says_what_to_do_and_its_file_is_removed() {
    let (shelf, program, path) = kept(&["x_a", "x_b"]);
    damage(&path, "x_a");
    let catalogue = found(&shelf, &program).expect("the index is as it was");
    let first =
        ["x_a", "x_b"].map(|name| attribute_of(&catalogue, name).err().map(|error| error.to_string()));
    let [Some(error), None] = first else { panic!("one is damaged: {first:?}") };
    let expected = format!(
        "failed to read the cached schema of resource x_a: {} is damaged, and was removed\nhelp: run this again",
        path.display()
    );
    assert_eq!(error, expected);
    assert!(!path.exists() && found(&shelf, &program).is_none());
    shelf.cache.keep(&program, &environment("here"), &described(&["x_a", "x_b"])).expect("it is kept");
    assert_eq!(
        attribute_of(&found(&shelf, &program).expect("it was kept"), "x_a").expect("it is whole"),
        "x_a"
    );
}

#[test]
fn a_file_that_is_truncated_while_it_is_in_use_is_an_error() {
    let (shelf, program, path) = kept(&["x_a"]);
    let catalogue = found(&shelf, &program).expect("it was kept");
    File::options().write(true).open(&path).expect("a file").set_len(70).expect("a file of ours");
    let error = attribute_of(&catalogue, "x_a").expect_err("it is gone");
    assert!(matches!(error, CatalogueError::Unreadable { .. }), "{error}");
    assert!(found(&shelf, &program).is_none());
}

#[test]
fn a_catalogue_in_memory_is_read_from_the_file_whatever_its_order_is() {
    let (shelf, _, path) = kept(&["x_a", "x_b"]);
    let live = described(&["x_b", "x_a"]).decode().expect("a response").catalogue;
    shelf.cache.serve(&live);
    assert_eq!(attribute_of(&live, "x_a").expect("it is there"), "x_a");
    damage(&path, "x_b");
    attribute_of(&live, "x_b").expect_err("it is read from the file");

    let other = described(&["x_c"]).decode().expect("a response").catalogue;
    shelf.cache.serve(&other);
    assert_eq!(attribute_of(&other, "x_c").expect("it is in memory"), "x_c");
}
