//! Values that a state marks as sensitive, and no schema.

use super::terraform::Migration;

#[test]
fn what_the_state_calls_sensitive_is_in_no_file_that_others_may_read() {
    let migration = Migration::new("sensitive by configuration", "sensitive");
    migration.tofu(&["apply", "-auto-approve"]).well();
    let project = &migration.project;
    project.create_stack();
    let [file, output] = [migration.path("terraform.tfstate"), project.path("")]
        .map(|path| path.to_str().expect("a path").to_owned());
    let said = migration.migrate(&[&file, "--output", &output, "--project", "e2e", "--force"]);
    assert!(!format!("{said:?}").contains("hunter2"), "{said:?}");
    let program = std::fs::read_to_string(project.path("Pulumi.yaml")).expect("a program");
    for secret in ["hunter2", "42424"] {
        assert!(!program.contains(secret), "{program}");
    }
    // With its marks, the CLI encrypts them in the stack.
    migration.set_secrets();
    project.run(&["stack", "import", "--file", "stack.json"]).succeeded();
    let export = project.run(&["stack", "export"]).succeeded().to_string();
    for secret in ["hunter2", "42424"] {
        assert!(!export.contains(secret), "{export}");
    }
    project.expect_no_changes();
    project.destroy();
}

#[test]
fn a_secret_in_what_a_provider_says_of_a_state_is_not_shown() {
    let migration = Migration::new("a state that a provider refuses", "sensitive");
    let state = serde_json::json!({
        "version": 4, "terraform_version": "1.12.6", "serial": 1, "lineage": "0b7d6a4e", "outputs": {},
        "resources": [{
            "mode": "managed", "type": "conformance_dynamics", "name": "refused",
            "provider": r#"provider["registry.opentofu.org/isthmus/conformance"]"#,
            // A state has a value of a dynamic type with its type, which is missing here.
            "instances": [{ "schema_version": 0, "attributes": { "any_secret": "hunter2-hunter2", "id": "dynamics-1" } }],
        }],
    });
    let file = migration.path("edited.tfstate");
    std::fs::write(&file, state.to_string()).expect("a file in a directory of ours");
    let [file, output] = [file, migration.path("out")].map(|path| path.to_str().expect("a path").to_owned());
    let said = migration.migrate(&[&file, "--output", &output]).with_code(3);
    assert!(said.stderr.contains("not migrated: conformance_dynamics.refused"), "{said:?}");
    assert!(said.stderr.contains("[secret]") && !format!("{said:?}").contains("hunter2"), "{said:?}");
}
