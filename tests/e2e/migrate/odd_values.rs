//! Values and names that YAML, its host or the engine take for something else.

use serde_json::{Value, json};

use super::terraform::Migration;

/// Texts that something on the way might read as another value.
const TEXTS: [&str; 64] = [
    "plain",
    "",
    " ",
    "1",
    "0",
    "t",
    "F",
    "true",
    "TRUE",
    "false",
    "null",
    "~",
    "y",
    "no",
    "1e5",
    "1E400",
    "1e-7",
    "1.0",
    "1.10",
    "0.1",
    ".5",
    "-0",
    "-.5e3",
    "+5",
    "1_000",
    "007",
    "0x10",
    "0x1p-2",
    "0o17",
    "NaN",
    "-inf",
    "Infinity",
    " 1",
    "1\n",
    "9007199254740993",
    "12345678901234567",
    "123456789012345678901234567890",
    "00000000000000000001",
    "{}",
    "[]",
    "[1,2]",
    r#"{"a":1}"#,
    r#"{"a":1"#,
    r#"{"4dabf18193072939515e22adb298388d":"1b47061264138c4ac30d75fd1eb44270","value":"x"}"#,
    r#""quoted""#,
    "\"",
    "'",
    "[secret]",
    "-----BEGIN KEY-----\nMII=\n",
    "a\0b\u{1}",
    "\r\n\t",
    "trail \n\n",
    "a \u{2028} b \u{2029} c \u{85} d",
    "\u{7f}\u{80}\u{9b}\u{feff}\u{fffe}\u{ffff}\u{1fffe}",
    "é\u{1f600}",
    "${a} $${b} $",
    "${pulumi.stack}",
    "<<",
    "fn::secret",
    "# no comment",
    "a: b",
    "- a",
    "!!binary x",
    "*a &b",
];

/// Keys of maps with a meaning somewhere.
const KEYS: [&str; 35] = [
    "plain",
    "",
    " ",
    "<<",
    "fn::invoke",
    "Fn::Join",
    "fn::readFile",
    "fn::random:index:x",
    "fn::fileAsset",
    "FN::STRINGASSET",
    "__defaults",
    "__meta",
    "__self",
    "__internal",
    "__pulumi_raw_state_delta",
    "__",
    "id",
    "urn",
    "y",
    "null",
    "1",
    "1.0",
    "a.b",
    "a[0]",
    "a\"b",
    "a\\",
    "*",
    "${a}",
    "$$",
    "a: b",
    "? a",
    "# a",
    "a\u{2028}b",
    "\u{7f}\u{85}\u{feff}\n",
    "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
];

/// A `random_pet` of a state.
fn pet(name: &str, keepers: &Value, sensitive: &[String]) -> Value {
    let path = |key: &String| {
        json!([
            { "type": "get_attr", "value": "keepers" },
            { "type": "index", "value": { "value": key, "type": "string" } },
        ])
    };
    json!({
        "mode": "managed", "type": "random_pet", "name": name,
        "provider": r#"provider["registry.opentofu.org/hashicorp/random"]"#,
        "instances": [{
            "schema_version": 0,
            "attributes": { "id": "able-dog", "keepers": keepers, "length": 2, "prefix": null, "separator": "-" },
            "sensitive_attributes": sensitive.iter().map(path).collect::<Vec<_>>(),
        }],
    })
}

fn map(entries: impl IntoIterator<Item = (String, String)>) -> Value {
    entries.into_iter().map(|(key, text)| (key, Value::from(text))).collect::<serde_json::Map<_, _>>().into()
}

/// Pets with the texts as values, secret and not, and with the keys.
fn pets() -> Vec<Value> {
    let texts = || TEXTS.iter().enumerate().map(|(number, text)| (format!("k{number}"), (*text).to_owned()));
    let keys: Vec<String> = texts().map(|(key, _)| key).collect();
    let mut pets = vec![
        pet("texts", &map(texts()), &[]),
        pet("secrets", &map(texts()), &keys),
        pet("keys", &map(KEYS.map(|key| (key.to_owned(), "x".to_owned()))), &[]),
        pet("long", &map([("k".repeat(2000), "x".to_owned())]), &["k".repeat(2000)]),
        pet(&"n".repeat(1500), &map([("a".to_owned(), "x".to_owned())]), &["a".to_owned()]),
    ];
    // Of a map with one key, the YAML host takes more for functions.
    for (number, key) in KEYS.iter().enumerate() {
        pets.push(pet(&format!("key{number}"), &map([((*key).to_owned(), "x".to_owned())]), &[]));
    }
    pets
}

/// What no stack can have.
fn reserved() -> [Value; 2] {
    let keepers = |key: &str, text: &str| map([(key.to_owned(), text.to_owned())]);
    [
        pet("signature", &keepers("4dabf18193072939515e22adb298388d", "x"), &[]),
        pet("unknown", &keepers("k", "04da6b54-80e4-46f7-96ec-b56ff0331ba9"), &["k".to_owned()]),
    ]
}

#[test]
fn no_value_breaks_the_project_and_what_is_lost_is_listed() {
    let migration = Migration::new("odd values", "odd");
    let project = &migration.project;
    migration.tofu(&["apply", "-auto-approve"]).well();
    // As text, because a parser would round the numbers.
    let state = std::fs::read_to_string(migration.path("terraform.tfstate")).expect("a state");
    let pets: String = pets().iter().chain(&reserved()).map(|pet| format!("{pet},")).collect();
    let with_pets = state.replacen("\"resources\": [", &format!("\"resources\": [{pets}"), 1);
    assert_ne!(with_pets, state);
    let file = migration.path("odd.tfstate");
    std::fs::write(&file, with_pets).expect("a file in a directory of ours");

    let [file, output] = [file, project.path("")].map(|path| path.to_str().expect("a path").to_owned());
    let said = migration.migrate(&[&file, "--output", &output, "--project", "e2e"]).with_code(3);
    let lost: Vec<&str> = said.stderr.lines().filter(|line| line.contains("not migrated")).collect();
    let expected = [
        ("random_pet.signature", "a map in it has the key 4dabf18193072939515e22adb298388d"),
        ("random_pet.unknown", "the one by which Pulumi marks unknown values"),
        (".pulumi", "set the properties of the provider `pulumi-2`"),
        ("conformance_dynamics.digits", "no program can express the number `anyNeeded`"),
        ("conformance_dynamics.digits", "no program can express the number `any.deep[0].n`"),
        ("conformance_dynamics.digits", "no program can express the number `anySecret.n`"),
        ("conformance_kinds.digits", "YAML cannot express the number `number`"),
        ("conformance_kinds.digits", "YAML cannot express the number `numberMap[\"${a}\"]`"),
    ];
    for (place, reason) in expected {
        assert!(lost.iter().any(|line| line.contains(place) && line.contains(reason)), "{reason}: {lost:#?}");
    }
    assert_eq!(lost.len(), expected.len(), "{lost:#?}");

    let program = project.read("Pulumi.yaml");
    assert!(!program.contains("hush") && !program.contains("BEGIN KEY\\n"), "a secret is in the program");
    migration.import_stack();
    project.expect_no_changes();
    project.up().changed_nothing();
    project.refresh().changed_nothing();
    project.expect_no_changes();
}

#[test]
fn secrets_without_a_passphrase_survive_the_way_through_files() {
    let migration = Migration::new("odd secrets", "odd");
    let project = &migration.project;
    // Each is a command of the CLI.
    let some = || TEXTS.iter().enumerate().step_by(4);
    let texts = || some().map(|(number, text)| (format!("k{number}"), (*text).to_owned()));
    let keys: Vec<String> = texts().map(|(key, _)| key).collect();
    let state = json!({
        "version": 4, "terraform_version": "1.12.6", "serial": 1, "lineage": "l", "outputs": {},
        "resources": [pet("secrets", &map(texts()), &keys)],
    });
    let file = migration.path("odd.tfstate");
    std::fs::write(&file, state.to_string()).expect("a file in a directory of ours");
    project.create_stack();
    let [file, output] = [file, project.path("")].map(|path| path.to_str().expect("a path").to_owned());
    migration.migrate(&[&file, "--output", &output, "--project", "e2e", "--force"]).well();
    assert_eq!(migration.secrets().len(), some().count());
    migration.set_secrets();
    project.run(&["stack", "import", "--file", "stack.json"]).succeeded();
    project.expect_no_changes();
}

#[test]
fn a_state_with_two_lists_of_resources_is_refused() {
    let migration = Migration::new("two lists", "odd");
    let file = migration.path("twice.tfstate");
    let text = r#"{"version":4,"serial":1,"lineage":"l","resources":[],"outputs":{},"resources":[]}"#;
    std::fs::write(&file, text).expect("a file in a directory of ours");
    let [file, output] = [file, migration.path("out")].map(|path| path.to_str().expect("a path").to_owned());
    let said = migration.migrate(&[&file, "--output", &output]).with_code(1);
    assert!(said.stderr.contains(r#"the member "resources" is there twice"#), "{}", said.stderr);
    assert!(!migration.path("out").exists());
}
