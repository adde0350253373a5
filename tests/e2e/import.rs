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
