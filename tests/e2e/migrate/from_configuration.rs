//! References of a configuration, in place of literals.

use super::terraform::Migration;

#[test]
fn a_program_has_the_references_of_the_configuration() {
    let migration = Migration::new("references", "references");
    migration.tofu(&["apply", "-auto-approve"]).well();
    let project = &migration.project;
    let [state, configuration, output] =
        [migration.path("terraform.tfstate"), migration.path(""), project.path("")]
            .map(|path| path.to_str().expect("a path").to_owned());
    let arguments = [&state, "--output", &output, "--project", "e2e", "--from-config", &configuration];
    let said = migration.migrate(&arguments).with_code(3);
    let lost: Vec<&str> = said.stderr.lines().filter(|line| line.contains("not migrated")).collect();
    assert!(matches!(lost.as_slice(), [line] if line.contains("output.upper: ")), "{lost:#?}");

    let program = project.read("Pulumi.yaml");
    for line in [
        "      region: \"north\"\n",
        "      prefix: \"${a.id}$${x}-0\"\n",
        "      prefix: \"${a.id}$${x}-1\"\n",
        "      content: \"${secret.result}\"\n",
        "      name: \"${a.id}\"\n",
        "      value: \"${counted-1.id}\"\n",
        "      prefix: \"eu-${a.id}\"\n",
        "outputs:\n  pet: \"${site-eu-inner.id}\"\n",
    ] {
        let line = line.replace("secret.result", "random_password-secret.result");
        assert!(program.contains(&line), "{line}{program}");
    }
    // What refers to a resource depends on it already; what does not, still says so.
    let options_of = |key: &str| {
        let (_, resource) = program.split_once(&format!("\n  {key}:\n")).expect("a resource");
        resource.split("\n  ").take_while(|line| line.starts_with(' ')).collect::<Vec<_>>().join("\n")
    };
    assert!(!options_of("counted-0").contains("dependsOn"), "{program}");
    assert!(options_of("upper").contains("- ${a}"), "{program}");
    assert!(!program.contains("config:"), "{program}");

    // What `show -json` prints is enough for all but private data.
    let shown = migration.tofu(&["show", "-json"]).well().stdout;
    std::fs::write(migration.path("shown.json"), shown).expect("a file");
    let [shown, beside] = [migration.path("shown.json"), migration.path("shown")]
        .map(|path| path.to_str().expect("a path").to_owned());
    let said = migration.migrate(&[&shown, "--output", &beside]).with_code(3);
    assert!(said.stdout.starts_with("wrote 8 resources"), "{}", said.stdout);
    assert!(said.stderr.contains("lacks private data"), "{}", said.stderr);

    migration.import_stack();
    project.expect_no_changes();
    project.up().changed_nothing();
    assert_eq!(project.outputs()["pet"], project.resource("site-eu-inner")["id"]);
    project.destroy();
}

#[test]
fn values_of_dynamic_types_are_those_of_the_state_in_what_is_shown_of_it() {
    let migration = Migration::new("dynamic types", "dynamic");
    migration.tofu(&["apply", "-auto-approve"]).well();
    let project = &migration.project;
    let shown = migration.tofu(&["show", "-json"]).well().stdout;
    std::fs::write(migration.path("shown.json"), shown).expect("a file");
    let [shown, output] = [migration.path("shown.json"), project.path("")]
        .map(|path| path.to_str().expect("a path").to_owned());
    let said = migration.migrate(&[&shown, "--output", &output, "--project", "e2e"]).with_code(3);
    assert!(said.stdout.starts_with("wrote 2 resources"), "{said:?}");
    migration.import_stack();
    project.expect_no_changes();
    project.destroy();
}
