//! Values that a state does not show as they were configured.

use super::terraform::Migration;

#[test]
fn a_value_that_the_state_has_in_another_form_is_listed_and_one_that_must_be_set_is_set() {
    let migration = Migration::new("values in another form", "transformed");
    migration.tofu(&["apply", "-auto-approve"]).well();
    migration.tofu_plans_nothing();
    let project = &migration.project;
    let [file, output] = [migration.path("terraform.tfstate"), project.path("")]
        .map(|path| path.to_str().expect("a path").to_owned());
    let said = migration.migrate(&[&file, "--output", &output, "--project", "e2e"]).with_code(3);
    let listed: Vec<&str> = said.stderr.lines().filter(|line| line.contains("conformance_legacy")).collect();
    let [hashed] = listed[..] else { panic!("only the hash is listed: {said:?}") };
    assert!(
        hashed.contains("conformance_legacy_planned.hashed: the first preview shows a change of `hashed`"),
        "{said:?}"
    );
    migration.import_stack();
    // As it says.
    let program = project.read("Pulumi.yaml");
    let hash = program.lines().find(|line| line.trim_start().starts_with("hashed: ")).expect("a hash");
    project.write("Pulumi.yaml", &program.replace(hash, "      hashed: plain text"));
    project.expect_no_changes();
    project.destroy();
}
