//! `isthmus inspect`, as people and scripts use it.

use fixtures::tools::tool;
use serde_json::{Value, json};
use std::env::consts::EXE_SUFFIX;

use super::{Machine, Said};
use crate::harness::host::named;

/// A text that must never be shown.
const SECRET: &str = "hunter2-hunter2";

/// The sentinel by which an engine marks what it does not know yet.
const UNKNOWN: &str = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

const SANDBOX: &str = "./terraform-provider-sandbox";
const CONFORMANCE: &str = "./terraform-provider-conformance";

/// A machine with the two providers of tests in its directory.
fn machine() -> Machine {
    let machine = Machine::new();
    named(env!("CARGO_BIN_EXE_isthmus"), machine.path(SANDBOX));
    named(tool("terraform-provider-conformance"), machine.path(CONFORMANCE));
    machine
}

impl Machine {
    fn file(&self, name: &str, json: &Value) {
        self.write(name, json.to_string().as_bytes());
    }

    /// Inspects a resource whose inputs these are.
    fn inspect(&self, words: &[&str], inputs: &Value) -> Said {
        self.file("inputs.json", inputs);
        let mut command = self.command(env!("CARGO_BIN_EXE_isthmus"));
        command.arg("inspect").args(words).args(["--inputs", "inputs.json"]);
        command.env("SANDBOX_DIR", self.directory.path()).env("CONFORMANCE_DIR", self.directory.path());
        let said = Said::of(command.env("SANDBOX_PROTOCOL", "6"));
        for text in [&said.stdout, &said.stderr] {
            assert!(!text.contains("hunter2"), "{text}");
        }
        said
    }

    fn inspect_json(&self, words: &[&str], inputs: &Value) -> Value {
        let said = self.inspect(&[words, &["--json"]].concat(), inputs).well();
        serde_json::from_str(&said).unwrap_or_else(|error| panic!("{error}: {said}"))
    }
}

fn note() -> Value {
    json!({
        "title": "Milk",
        "labels": { "made by": "a test" },
        "secretHint": SECRET,
        "passphrase": SECRET,
        "body": UNKNOWN,
    })
}

/// A note as an engine has it.
fn existing() -> Value {
    json!({
        "id": "1", "title": "Milk", "body": "Buy some.", "color": "yellow", "priority": 3, "revision": 1,
        "checksum": "c", "locked": false, "secretHint": SECRET,
    })
}

fn methods(step: &Value) -> (String, Vec<String>) {
    let terraform = step["terraform"].as_array().expect("calls").iter();
    let method = |call: &Value| call["method"].as_str().expect("a method").to_owned();
    (method(&step["pulumi"]), terraform.map(method).collect())
}

fn steps(document: &Value) -> Vec<(String, Vec<String>)> {
    document["steps"].as_array().expect("steps").iter().map(methods).collect()
}

fn expected(steps: &[(&str, &[&str])]) -> Vec<(String, Vec<String>)> {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    steps.iter().map(|(method, provider)| ((*method).to_owned(), owned(provider))).collect()
}

const CONFIGURED: [(&str, &[&str]); 3] = [
    ("CheckConfig", &["ValidateProviderConfig"]),
    ("Configure", &["ConfigureProvider"]),
    ("Check", &["ValidateResourceConfig"]),
];

#[test]
fn a_creation_is_shown_with_the_calls_of_both_sides() {
    let said = machine().inspect(&[SANDBOX, "sandbox_note"], &note()).well();
    insta::assert_snapshot!("inspect_sandbox_note", said);
}

#[test]
fn a_resource_of_blocks_and_nested_attributes_is_shown_with_the_calls_of_both_sides() {
    let inputs = json!({
        "name": "one", "secret": SECRET, "passwordWo": SECRET, "labels": ["b", "a"],
        "rules": [{ "port": 80 }], "extra": { "fn::secret": "x" },
    });
    let said = machine().inspect(&[CONFORMANCE, "conformance.Record"], &inputs).well();
    insta::assert_snapshot!("inspect_conformance_record", said);
}

#[test]
fn scripts_get_the_same_as_one_object() {
    let document = machine().inspect_json(&[SANDBOX, "sandbox_note"], &note());
    assert_eq!((&document["format_version"], &document["command"]), (&json!("1.0"), &json!("inspect")));
    assert_eq!(document["provider"], json!({ "source": SANDBOX, "version": null, "protocol": 6 }));
    assert_eq!(
        document["resource"],
        json!({ "terraform": "sandbox_note", "pulumi": "sandbox:index/note:Note" })
    );
    assert_eq!(document["action"], "create");
    let calls = [&CONFIGURED[..], &[("Create (preview)", &["PlanResourceChange"])]].concat();
    assert_eq!(steps(&document), expected(&calls));
    let plan = &document["steps"][3];
    assert_eq!(plan["terraform"][0]["request"]["prior_state"], Value::Null);
    assert_eq!(plan["terraform"][0]["request"]["config"]["passphrase"], "(secret)");
    let planned = &plan["terraform"][0]["response"]["planned_state"];
    assert_eq!((&planned["id"], &planned["priority"]), (&json!("(known after apply)"), &json!(3)));
    let properties = &plan["pulumi"]["response"]["properties"];
    assert_eq!(
        (&properties["secretHint"], &properties["body"]),
        (&json!("(secret)"), &json!("(known after apply)"))
    );
}

#[test]
fn a_change_of_an_existing_object_is_compared_with_it() {
    let machine = machine();
    machine.file("prior.json", &existing());
    let words = [SANDBOX, "sandbox_note", "--prior", "prior.json"];
    let news = |body: &str, color: &str| json!({ "title": "Milk", "body": body, "color": color, "secretHint": SECRET });
    let document = machine.inspect_json(&words, &news("Buy some.", "yellow"));
    let diff = ("Diff", &["UpgradeResourceState", "PlanResourceChange", "GetResourceIdentitySchemas"][..]);
    assert_eq!(document["action"], "none");
    assert_eq!(steps(&document), expected(&[&CONFIGURED[..], &[diff]].concat()));

    let document = machine.inspect_json(&words, &news("Drink it.", "yellow"));
    let update = ("Update (preview)", &["PlanResourceChange"][..]);
    assert_eq!(document["action"], "update");
    assert_eq!(steps(&document), expected(&[&CONFIGURED[..], &[diff, update]].concat()));
    let detailed = &document["steps"][3]["pulumi"]["response"]["detailedDiff"];
    assert_eq!(detailed["body"], "update", "{detailed}");

    let document = machine.inspect_json(&words, &news("Buy some.", "green"));
    let create = ("Create (preview)", &["PlanResourceChange"][..]);
    assert!(document["action"].as_str().is_some_and(|action| action.ends_with("replace")), "{document}");
    assert_eq!(steps(&document), expected(&[&CONFIGURED[..], &[diff, create]].concat()));
    let step = &document["steps"][3];
    assert_eq!(step["terraform"][1]["response"]["requires_replace"], json!(["color"]));
    assert_eq!(step["pulumi"]["response"]["detailedDiff"]["color"], "update-replace");
}

#[test]
fn an_existing_object_is_found_in_a_stack_export() {
    let machine = machine();
    let resource = |name: &str| {
        json!({
            "urn": format!("urn:pulumi:dev::shop::sandbox:index/note:Note::{name}"),
            "type": "sandbox:index/note:Note", "custom": true, "id": "1",
            "inputs": { "title": "Milk" }, "outputs": existing(),
        })
    };
    let mut export = json!({ "version": 3, "deployment": { "resources": [resource("a"), resource("b")] } });
    machine.file("stack.json", &export);
    let words = [SANDBOX, "sandbox_note", "--prior", "stack.json"];
    let failed = machine.inspect(&words, &json!({ "title": "Milk" })).failed();
    assert!(failed.contains("help: choose one with --urn: urn:pulumi:dev::shop::"), "{failed}");
    let urn = "urn:pulumi:dev::shop::sandbox:index/note:Note::b";
    let document = machine.inspect_json(
        &[&words[..], &["--urn", urn]].concat(),
        &json!({ "title": "Bread", "color": "yellow" }),
    );
    assert_eq!(document["action"], "update");

    export["deployment"]["resources"][1]["outputs"]["secretHint"] = json!({
        "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:x",
    });
    machine.file("stack.json", &export);
    let failed =
        machine.inspect(&[&words[..], &["--urn", urn]].concat(), &json!({ "title": "Milk" })).failed();
    assert_eq!(
        failed,
        "error: the secrets in stack.json are encrypted\nhelp: write it with `pulumi stack export --show-secrets`\n"
    );
}

#[test]
fn what_a_program_marks_is_secret_on_both_sides_however_short_it_is() {
    let inputs = json!({ "title": { "fn::secret": "qz" }, "labels": { "k": { "fn::secret": "zq" } } });
    let said = machine().inspect(&[SANDBOX, "sandbox_note"], &inputs).well();
    assert!(said.contains("title: (sensitive value)") && said.contains("title: [secret]"), "{said}");
    assert!(!said.contains("qz") && !said.contains("zq"), "{said}");
}

#[test]
fn invalid_inputs_end_it_before_the_plan() {
    let said = machine().inspect(&[SANDBOX, "sandbox_note"], &json!({ "title": "", "colour": "red" }));
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.stdout.contains("failures:") && said.stdout.ends_with("\nResult: refused\n"), "{said:?}");
    assert!(!said.stdout.contains("PlanResourceChange"), "{said:?}");
    assert_eq!(said.stderr, "error: Check failed: the reason is shown above\n");
}

#[test]
fn what_may_be_secret_is_not_shown_when_inputs_are_invalid() {
    let machine = machine();
    for inputs in [
        // By Terraform's name, and misspelt.
        json!({ "title": "", "secret_hint": SECRET, "body": format!("it is {SECRET}") }),
        json!({ "title": "", "secretHnt": SECRET }),
        // By its own name, and repeated; and of another kind.
        json!({ "title": "", "secretHint": SECRET, "body": format!("it is {SECRET}") }),
        json!({ "title": "", "passphrase": [{ "a": SECRET }], "labels": { "k": SECRET } }),
    ] {
        for form in [&[][..], &["--json"]] {
            let said = machine.inspect(&[&[SANDBOX, "sandbox_note"], form].concat(), &inputs);
            assert_eq!(said.code, 1, "{inputs}: {said:?}");
            assert!(
                said.stdout.contains("secret") && !format!("{said:?}").contains(SECRET),
                "{inputs}: {said:?}"
            );
        }
    }
    machine
        .file("config.json", &json!({ "token": "refused", "endpont": SECRET, "password": { "a": SECRET } }));
    let said = machine.inspect(&[CONFORMANCE, "conformance_record", "--config", "config.json"], &json!({}));
    assert!(said.code == 1 && !format!("{said:?}").contains(SECRET), "{said:?}");
}

#[test]
fn a_secret_that_is_no_value_of_its_own_is_an_error_without_it() {
    for inputs in [
        json!({ "fn::secret": { "title": SECRET } }),
        json!({ "title": { "fn::secret": SECRET, "more": 1 } }),
        json!({ "labels": { "k": { "fn::secret": SECRET, "more": 1 } } }),
    ] {
        let failed = machine().inspect(&[SANDBOX, "sandbox_note"], &inputs).failed();
        assert!(
            failed.contains("help: write the value of a property as {\"fn::secret\": VALUE}"),
            "{failed}"
        );
        assert!(!failed.contains(SECRET), "{failed}");
    }
}

#[test]
fn what_a_provider_refuses_is_shown_with_its_call() {
    let machine = machine();
    machine.file("config.json", &json!({ "token": "refused" }));
    let words = [CONFORMANCE, "conformance_record", "--config", "config.json"];
    let said = machine.inspect(&words, &json!({ "name": "one" }));
    assert_eq!(said.code, 1, "{said:?}");
    assert!(
        said.stdout.contains("ConfigureProvider\n") && said.stdout.contains("severity: \"error\""),
        "{said:?}"
    );
    assert_eq!(said.stderr, "error: Configure failed: the reason is shown above\n");
}

#[test]
fn a_warning_of_the_provider_is_shown_in_pulumis_names() {
    let said = machine().inspect(&[SANDBOX, "sandbox_note"], &json!({ "title": "warn" })).well();
    assert!(said.contains("warning: A questionable title"), "{said}");
}

#[test]
fn a_type_or_file_that_is_not_there_is_named() {
    let machine = machine();
    let failed = machine.inspect(&[SANDBOX, "sandbox_not"], &json!({})).failed();
    assert!(failed.contains("help: did you mean sandbox_note?"), "{failed}");
    let failed = machine.inspect(&[SANDBOX, "sandbox_note", "--config", "none.json"], &json!({})).failed();
    assert!(failed.contains("none.json"), "{failed}");
    let failed = machine.inspect(&["./terraform-provider-none", "none_thing"], &json!({})).failed();
    assert!(failed.contains("terraform-provider-none"), "{failed}");
    let said = machine.inspect(&[SANDBOX, "sandbox_note", "--config", "-", "--prior", "-"], &json!({}));
    assert_eq!((said.code, said.stderr.as_str()), (2, "error: only one file can be standard input\n"));
}

#[test]
fn nothing_is_left_behind() {
    let machine = machine();
    machine.inspect(&[SANDBOX, "sandbox_note"], &json!({ "title": "Milk" })).well();
    let mut left: Vec<String> = std::fs::read_dir(machine.directory.path())
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    left.sort();
    let programs = ["terraform-provider-conformance", "terraform-provider-sandbox"];
    let [conformance, sandbox] = programs.map(|name| format!("{name}{EXE_SUFFIX}"));
    assert_eq!(left, ["inputs.json".to_owned(), conformance, sandbox]);
}
