//! The report of an examination, the choice of checks, and the codes of faults.

use super::super::Machine;
use super::patient::Patient;
use crate::harness::Json;

#[test]
fn a_report_has_the_faults_and_no_secrets() {
    let mut patient = Patient::new();
    patient.registry.require_token("another-token");
    patient.registry_at(&format!("{}/v1/providers/", patient.registry.url()));
    patient.set("TF_TOKEN_registry_opentofu_org", "s3cret-token-of-mine");
    patient.set("HTTPS_PROXY", "http://me:hunter2hunter2@proxy.example:3128");
    // A fault that quotes a secret of the environment.
    patient.set("MY_PASSWORD", "correct-horse-battery");
    patient.script("bin/pulumi", "echo correct-horse-battery");
    let said = patient.doctor(&["--report"]);
    assert_eq!(said.code, 1, "{said:?}");
    for part in [
        "## isthmus doctor",
        "| isthmus | ",
        "| registry | **fault** |",
        "ISTHMUS-2009",
        "ISTHMUS-1103",
        "[secret]",
    ] {
        assert!(said.stdout.contains(part), "{part:?}: {}", said.stdout);
    }
    let home = patient.machine.path("").display().to_string();
    for secret in ["s3cret-token-of-mine", "hunter2", "another-token", "correct-horse-battery", &home] {
        assert!(!said.stdout.contains(secret), "{secret:?}: {}", said.stdout);
    }
    // Nor do the other forms.
    for words in [&[][..], &["--json"]] {
        assert!(!patient.doctor(words).stdout.contains("correct-horse-battery"), "{words:?}");
    }
}

#[test]
fn checks_can_be_chosen_and_a_misspelt_one_is_answered_with_the_right_one() {
    let machine = Machine::new();
    let said = machine.isthmus(&["doctor", "--only", "home", "--only", "proxy", "--json"]).well();
    let document: Json = serde_json::from_str(&said).expect("JSON");
    let names: Vec<&str> = document["checks"]
        .as_array()
        .expect("an array")
        .iter()
        .filter_map(|check| check["name"].as_str())
        .collect();
    assert_eq!(names, ["home", "proxy"]);
    let said = machine.isthmus(&["doctor", "--skip", "regstry"]);
    assert!(said.code == 2 && said.stderr.contains("'registry'"), "{said:?}");
}

#[test]
fn a_failure_names_its_code_and_the_code_is_explained() {
    let machine = Machine::new();
    let failed = machine.isthmus(&["install", "127.0.0.1:1/acme/thing"]).failed();
    assert!(failed.contains("\nhelp: `isthmus explain ISTHMUS-2002` describes this error\n"), "{failed}");
    let page = machine.isthmus(&["explain", "ISTHMUS-2002"]).well();
    assert!(page.starts_with("# ISTHMUS-2002: ") && page.contains("## What to do"), "{page}");
    assert_eq!(machine.isthmus(&["explain", "2002"]).well(), page);
    let list = machine.isthmus(&["explain"]).well();
    assert!(
        list.lines().count() > 40 && list.contains("ISTHMUS-2002  a registry cannot be reached\n"),
        "{list}"
    );
    let document: Json = serde_json::from_str(&machine.isthmus(&["explain", "--json"]).well()).expect("JSON");
    assert_eq!(document["codes"].as_array().map(Vec::len), Some(list.lines().count()));
    for (topic, parts) in [
        (
            "ISTHMUS_OFFLINE",
            &["ISTHMUS_OFFLINE\n  Resolves providers from the plugin cache", "value: true or false\n"][..],
        ),
        ("settings", &["ISTHMUS_HOME\n", "ISTHMUS_WRITE_ONLY\n"]),
        ("names", &["# Names by choice", "`property-names`"]),
    ] {
        let page = machine.isthmus(&["explain", topic]).well();
        assert!(parts.iter().all(|part| page.contains(part)), "{topic}: {page}");
        assert!(!page.contains(".md") && !page.contains("see below"), "{topic} leads nowhere else: {page}");
        let json: Json =
            serde_json::from_str(&machine.isthmus(&["explain", topic, "--json"]).well()).expect("JSON");
        assert_eq!(json["command"], "explain", "{topic}");
    }
    let unknown = machine.isthmus(&["explain", "ISTHMUS_OFLINE"]);
    assert!(unknown.code == 2 && unknown.stderr.contains("did you mean ISTHMUS_OFFLINE?"), "{unknown:?}");
    let unknown = machine.isthmus(&["explain", "ISTHMUS-2020"]);
    assert!(unknown.code == 2 && unknown.stderr.contains("did you mean ISTHMUS-20"), "{unknown:?}");
}

#[test]
fn a_plugin_is_not_disturbed_by_options_of_commands() {
    let machine = Machine::new();
    assert_eq!(machine.isthmus(&["plugin", "-version"]).well(), "v1.4.0\n");
}
