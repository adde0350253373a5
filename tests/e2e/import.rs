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

/// The engine gives an explicit provider the version of the package in a stack's first run, and that of the plugin in later ones.
#[test]
fn an_explicit_provider_stays_as_it_is_and_imports() {
    let project = Project::new("an import by an explicit provider", &[Provider::Random]);
    let program = "resources:\n  mine:\n    type: pulumi:providers:random\n  \
                   pet:\n    type: random:Pet\n    options: {provider: '${mine}'}\n";
    project.program(program);
    project.up();
    project.expect_no_changes();
    project.up().changed_nothing();

    let urn = project.resource("mine")["urn"].as_str().expect("a URN").to_owned();
    let provider = format!("mine={urn}");
    let imported = project
        .run(&[
            "import",
            "random:index/uuid:Uuid",
            "identifier",
            IDENTIFIER,
            "--provider",
            &provider,
            "--yes",
            "--protect=false",
            "--out",
            "generated.yaml",
        ])
        .succeeded();
    assert_eq!(imported.steps("identifier"), ["import"], "{imported}");
    let generated = project.read("generated.yaml");
    assert!(generated.contains("identifier:"), "{generated}");
    let identifier = "  identifier:\n    type: random:Uuid\n    options: {provider: '${mine}'}\n";
    project.program(&format!("{program}{identifier}"));
    project.expect_no_changes();
    project.destroy();
}

#[test]
fn several_resources_are_imported_by_a_file_by_ids_and_by_identities() {
    let project = Project::new("an import of several", &[Provider::Conformance]);
    write_passports(&project);
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
fn a_program_imports_and_reads_by_identities_and_so_does_the_command_line() {
    let project = Project::new("imports by identity", &[Provider::Conformance]);
    write_passports(&project);
    // YAML does not say which package it reads with, so it has to wait until the engine has the provider for another resource.
    project.program(
        "resources:\n  ann:\n    type: conformance:Passport\n    \
         properties: {name: ann, note: first, official: true, places: [here]}\n    \
         options: {import: '{\"id\": \"ann-1\", \"serial\": 1}'}\n  \
         bob:\n    type: conformance:Passport\n    get: {id: '{\"id\": \"bob-1\"}'}\n    \
         options: {dependsOn: ['${ann}']}\n\
         outputs:\n  serial: ${bob.serial}\n",
    );
    let up = project.up();
    assert_eq!((up.steps("ann"), up.steps("bob")), (vec!["import"], vec!["read"]), "{up}");
    assert_eq!(["ann", "bob"].map(|name| project.resource(name)["id"].clone()), ["ann-1", "bob-1"]);
    assert_eq!(project.outputs()["serial"], 1);
    project.expect_no_changes();

    // The provider is the one that the state has; there has to be one.
    let words = ["import", "--yes", "--protect=false", "conformance:index/passport:Passport", "cy"];
    let imported = project.run(&[&words[..], &[r#"{"id": "cy-1"}"#]].concat()).succeeded();
    assert_eq!(imported.steps("cy"), ["import"], "{imported}");
    assert_eq!(project.resource("cy")["id"], "cy-1");
    project.destroy();
    assert_eq!(project.objects("passport"), ["bob-1"], "what was only read is not the program's");
}

/// Passports called ann, bob and cy, that somebody else has made.
fn write_passports(project: &Project) {
    for (name, note) in [("ann", Some("first")), ("bob", None), ("cy", Some("third"))] {
        let id = format!("{name}-1");
        let state = json!({
            "id": id, "name": name, "note": note, "serial": 1, "official": true, "places": ["here"], "weight": null,
        });
        let passport = json!({"id": id, "revision": 1, "state": state, "notes": {}});
        project.write_object(&format!("passport/{id}.json"), &passport);
    }
}
