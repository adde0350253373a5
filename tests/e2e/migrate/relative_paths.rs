//! Relative paths in a state, which mean other files in another working directory.

use super::terraform::Migration;

#[test]
fn relative_paths_are_those_of_the_directory_that_the_setting_names() {
    let migration = Migration::new("relative paths", "paths");
    let project = &migration.project;
    migration.tofu(&["apply", "-auto-approve"]).well();
    let directory = migration.path("").canonicalize().expect("a directory");
    let [directory, state, output] = [directory, migration.path("terraform.tfstate"), project.path("")]
        .map(|path| path.to_str().expect("a plain path").to_owned());
    let said = migration.migrate(&[&state, "--output", &output, "--project", "e2e"]).well();
    let expected = format!(
        "warning: relative paths mean other files in the project than in {directory}: \
         local_file.bare (filename), local_file.here (filename)\n\
         help: set ISTHMUS_PROVIDER_DIRECTORY={directory} for `pulumi up`"
    );
    assert!(said.stderr.contains(&expected), "{expected}\n{}", said.stderr);

    migration.import_stack();
    // Without it, they are not there.
    let gone = project.run(&["preview", "--refresh"]).succeeded();
    assert_eq!(gone.changes().get("create"), Some(&2), "{gone}");
    project.set("ISTHMUS_PROVIDER_DIRECTORY", "../terraform");
    project.run(&["up", "--yes", "--refresh"]).succeeded().changed_nothing();
    assert!(!project.path("out").exists() && !project.path("bare.txt").exists());
    project.destroy();
    assert!(!migration.path("out/cfg.json").exists() && !migration.path("bare.txt").exists());
}
