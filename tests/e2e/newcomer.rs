//! The first steps, as README.md has them, and the mistakes that are made with them.

use std::process::Output;

use crate::harness::project::{PLUGIN, PLUGIN_VERSION, create_directory};
use crate::harness::{Bridge, Project, Provider, tools};

/// The manual's text, not a copy of it.
pub(crate) const README: &str = include_str!("../../README.md");

/// The one block of a page that has this text.
pub(crate) fn block_of<'page>(page: &'page str, language: &str, text: &str) -> &'page str {
    let blocks = fixtures::pages::blocks(page).into_iter();
    let blocks: Vec<&str> = blocks
        .filter(|block| block.language == language && block.text.contains(text))
        .map(|block| block.text)
        .collect();
    let [block] = blocks[..] else { panic!("one block of {language} has {text:?}: {blocks:?}") };
    block
}

/// The one block of the README that has this text.
fn block(language: &str, text: &str) -> &'static str {
    block_of(README, language, text)
}

/// A project directory on a machine with two versions of the provider in its cache, and without a network.
fn machine(name: &'static str) -> Project {
    let project = Project::bare(name, &[]);
    for version in ["3.8.0", "3.9.0"] {
        project.place_in_cache(Provider::Random, version);
    }
    let isthmus = project.path("../bin/isthmus");
    create_directory(isthmus.parent().expect("it has a directory"));
    std::os::unix::fs::symlink(Bridge::Ours.executable(), &isthmus).expect("a link");
    project
}

/// Types lines into a shell in the project directory, with `isthmus` and `pulumi` on PATH.
pub(crate) fn shell(project: &Project, lines: &str) -> (bool, String) {
    let mut command = project.at_home("/bin/sh");
    let (bin, tools) = (project.path("../bin"), tools::directory());
    command.env("PATH", format!("{}:{}:/usr/bin:/bin", bin.display(), tools.display()));
    let Output { status, stdout, stderr } = command.args(["-e", "-c", lines]).output().expect("it starts");
    let said = [stdout, stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    (status.success(), format!("$ {lines}\n{}", said.concat()))
}

#[track_caller]
pub(crate) fn succeeds(project: &Project, lines: &str) -> String {
    let (succeeded, said) = shell(project, lines);
    assert!(succeeded, "{said}");
    said
}

#[test]
fn the_steps_of_the_readme_work_as_they_stand() {
    let project = machine("the steps of the README");
    project.program("");
    succeeds(&project, "isthmus install --plugin");
    let steps = block("sh", "pulumi package add").strip_prefix("cd YOUR/PROJECT\n").expect("a directory");
    succeeds(&project, steps);
    let written = project.read("Pulumi.yaml");
    assert!(written.contains("source: terraform-provider") && written.contains("~> 3.8"), "{written}");

    let snippet = block("yaml", "terraform-provider");
    project.write("Pulumi.yaml", snippet);
    project.create_stack();
    assert_eq!(project.up().steps("pet"), ["create"]);
    assert_eq!(project.resource("pet")["inputs"]["length"], 2);
    project.expect_no_changes();
    let again = succeeds(&project, "isthmus install --plugin");
    assert!(!again.contains("warning"), "the SDK is what the snippet asks for: {again}");
    project.destroy();
}

#[test]
fn the_snippet_of_the_readme_works_in_a_directory_of_its_own() {
    let project = machine("the snippet of the README");
    project.write("Pulumi.yaml", block("yaml", "terraform-provider"));
    let said = succeeds(&project, block("sh", "pulumi install"));
    let plugin = project
        .path(&format!("../home/plugins/resource-{PLUGIN}-v{PLUGIN_VERSION}/pulumi-resource-{PLUGIN}"));
    assert!(plugin.is_file(), "{said}");
    assert!(!said.contains("default version"), "its flow style is understood: {said}");
    assert_eq!(project.resource("pet")["inputs"]["length"], 2, "{said}");
    project.destroy();
}

#[test]
fn parameters_that_the_sdk_does_not_follow_are_warned_about_until_it_does() {
    let project = machine("an SDK that was left behind");
    let snippet = block("yaml", "terraform-provider");
    project.write("Pulumi.yaml", snippet);
    let said = succeeds(&project, block("sh", "pulumi install"));
    assert!(!said.contains("overrides"), "{said}");

    let warning = "sdks/random/random-3.9.0.yaml overrides package \"random\" of Pulumi.yaml: it was generated for hashicorp/random \
                   3.9.0, the parameters ask for hashicorp/random 3.8.0";
    project.write("Pulumi.yaml", &snippet.replace("~> 3.8", "3.8.0"));
    let updated = project.up_at_once();
    assert!(updated.stderr.contains(warning) || updated.stdout.contains(warning), "{updated}");
    let installed = succeeds(&project, "isthmus install --plugin");
    assert!(installed.contains(&format!("warning: {warning}\nhelp: run `pulumi install`")), "{installed}");

    succeeds(&project, "pulumi install");
    let updated = project.up_at_once();
    assert!(!updated.to_string().contains("overrides"), "{updated}");
    project.destroy();
}

#[test]
fn mistakes_of_newcomers_are_answered_with_what_was_meant() {
    let project = machine("mistakes of newcomers");
    project.write("Pulumi.yaml", block("yaml", "terraform-provider"));
    project.create_stack();
    succeeds(&project, "isthmus install --plugin; pulumi install");
    create_directory(&project.path("bin"));
    std::os::unix::fs::symlink(
        tools::directory().join("terraform-provider-random"),
        project.path("bin/terraform-provider-random"),
    )
    .expect("a link");
    for (line, wanted) in [
        (
            "pulumi package add terraform-provider hashicorp/random ~> 3.8",
            "it is a path\nhelp: put quotes around the whole",
        ),
        (
            "pulumi package add terraform-provider hashicorp/random '~>' 3.8",
            "help: a version constraint is one argument",
        ),
        (
            "pulumi package add terraform-provider ./bin/terraform-provider-randm",
            "bin/terraform-provider-random?",
        ),
        (
            "pulumi import --yes random:index/random_pet:random_pet dog able-dog",
            "did you mean \"random:index/pet:Pet\"?",
        ),
    ] {
        let (succeeded, said) = shell(&project, line);
        assert!(!succeeded && said.contains(wanted), "{wanted:?} is missing\n{said}");
    }
    project.expect_no_process();
}
