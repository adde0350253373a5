//! Resources that exist already.

use serde_json::json;

use crate::harness::project::{PACKAGE_VERSION, PLUGIN, PLUGIN_VERSION};
use crate::harness::{Project, Provider};

const IDENTIFIER: &str = "6b5b1f05-5b3b-4d58-9f8a-1c8f2f3d4e5f";

#[test]
fn an_identifier_is_imported_and_the_generated_program_fits_it() {
    let project = Project::new("an import", &[Provider::Random]);
    // By a file, because on the command line the plugin would be looked for by the name of the package.
    let entry = json!({
        "type": "random:index/uuid:Uuid",
        "name": "identifier",
        "id": IDENTIFIER,
        "version": PACKAGE_VERSION,
        "parameterization": {
            "pluginName": PLUGIN,
            "pluginVersion": PLUGIN_VERSION,
            "value": project.parameter(Provider::Random),
        },
    });
    project.write("import.json", &json!({ "resources": [entry] }).to_string());

    let imported = project
        .run(&["import", "--yes", "--protect=false", "--file", "import.json", "--out", "generated.yaml"])
        .succeeded();
    assert_eq!(imported.steps("identifier"), ["import"], "{imported}");
    let identifier = project.resource("identifier");
    assert_eq!(identifier["id"], IDENTIFIER);
    assert_eq!(identifier["outputs"]["result"], IDENTIFIER, "{identifier}");

    let generated = project.read("generated.yaml");
    assert!(generated.contains("identifier:"), "{generated}");
    project.program(&generated);
    let unchanged = project.expect_no_changes();
    assert_eq!(unchanged.steps("identifier"), ["same"], "{unchanged}");
    project.up().changed_nothing();
    project.destroy();
}

#[test]
fn what_the_provider_cannot_import_fails_with_its_reason() {
    let project = Project::new("an import that fails", &[Provider::Random]);
    project.program(
        "resources:\n  identifier:\n    type: random:Uuid\n    options:\n      import: not-an-identifier\n",
    );
    let failed = project.run(&["up", "--yes"]).failed();
    let said = format!("{}{}", failed.stdout, failed.stderr);
    assert!(said.contains("uuid string is wrong length"), "the provider's reason is missing\n{failed}");
    project.expect_no_process();
}

#[test]
fn several_resources_are_imported_by_a_file_by_ids_and_by_identities() {
    let project = Project::new("an import of several", &[Provider::Conformance]);
    for (name, note) in [("ann", Some("first")), ("bob", None), ("cy", Some("third"))] {
        let id = format!("{name}-1");
        let state = json!({
            "id": id, "name": name, "note": note, "serial": 1, "official": true, "places": ["here"], "weight": null,
        });
        let passport = json!({"id": id, "revision": 1, "state": state, "notes": {}});
        project.write_object(&format!("passport/{id}.json"), &passport);
    }
    let entry = |name: &str, id: &str| {
        json!({
            "type": "conformance:index/passport:Passport",
            "name": name,
            "id": id,
            "version": PACKAGE_VERSION,
            "parameterization": {
                "pluginName": PLUGIN,
                "pluginVersion": PLUGIN_VERSION,
                "value": project.parameter(Provider::Conformance),
            },
        })
    };
    let import = |entries: &[serde_json::Value]| {
        project.write("import.json", &json!({ "resources": entries }).to_string());
        project.run(&[
            "import",
            "--yes",
            "--protect=false",
            "--file",
            "import.json",
            "--out",
            "generated.yaml",
        ])
    };

    // An identity has to be right in all that it says, and to say nothing else.
    import(&[entry("ann", r#"{"id": "ann-1", "serial": 2}"#)])
        .failed()
        .says("The passport ann-1 has another serial.");
    import(&[entry("ann", r#"{"id": "ann-1", "cereal": 1}"#)])
        .failed()
        .says("it has no attribute \"cereal\"");
    let imported = import(&[
        entry("ann", r#"{"id": "ann-1"}"#),
        entry("bob", "bob-1"),
        entry("cy", r#"{"id": "cy-1", "serial": 1, "official": true, "places": ["here"]}"#),
    ]);
    let imported = imported.succeeded();
    for name in ["ann", "bob", "cy"] {
        assert_eq!(imported.steps(name), ["import"], "{imported}");
        assert_eq!(project.resource(name)["id"], format!("{name}-1"));
    }
    project.program(&project.read("generated.yaml"));
    project.expect_no_changes();
    project.destroy();
    assert_eq!(project.objects("passport"), Vec::<String>::new());
}

#[test]
fn a_resource_is_imported_on_the_command_line_by_its_identity() {
    let project = Project::new("an import by identity", &[Provider::Conformance]);
    // Another resource of the package has to be there: the command line takes the provider from the state.
    let program = "resources:\n  bob:\n    type: conformance:Passport\n    properties: {name: bob}\n";
    let ann = "  ann:\n    type: conformance:Passport\n    properties: {name: ann}\n    options: {retainOnDelete: true}\n";
    project.program(&format!("{program}{ann}"));
    project.up_at_once();
    project.program(program);
    project.up_at_once();
    let words = ["import", "--yes", "--protect=false", "conformance:index/passport:Passport", "again"];
    let imported = project.run(&[&words[..], &[r#"{"id": "ann-1"}"#]].concat()).succeeded();
    assert_eq!(imported.steps("again"), ["import"], "{imported}");
    assert_eq!(project.resource("again")["id"], "ann-1");
    project.destroy();
    assert_eq!(project.objects("passport"), Vec::<String>::new());
}
