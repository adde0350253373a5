//! What a newcomer gets wrong, and what is said then.

use std::process::Command;

use super::{Machine, Said};
use crate::harness::host::named;
use crate::harness::json;

/// Runs a line of a shell, with `isthmus` in it.
fn shell(machine: &Machine, program: &str, line: &str) -> Said {
    let isthmus = std::path::Path::new(env!("CARGO_BIN_EXE_isthmus"));
    let mut command: Command = machine.command(program);
    command
        .env("PATH", super::path_with(isthmus.parent().expect("a directory")))
        .env("ISTHMUS_OFFLINE", "true");
    Said::of(command.args(["-c", line]))
}

#[test]
fn a_version_constraint_without_quotes_is_answered_with_quotes() {
    let machine = Machine::new();
    for program in ["/bin/sh", "/bin/bash"] {
        for (line, code, wanted) in [
            // The shell makes the home directory of the tilde, and a file of the version.
            (
                "isthmus install hashicorp/random ~> 3.8",
                1,
                ": it is a path\nhelp: put quotes around the whole",
            ),
            (
                "isthmus install hashicorp/random ~>3.8",
                1,
                ": it is a path\nhelp: put quotes around the whole",
            ),
            ("isthmus link hashicorp/random ~> 3.8", 1, ": it is a path\nhelp: put quotes around the whole"),
            (
                "isthmus install hashicorp/random '~'",
                1,
                "did you mean \"~>\"?\nhelp: put quotes around the whole",
            ),
            ("isthmus install hashicorp/random '~>'", 1, "\nhelp: put quotes around the whole"),
            (
                "isthmus install hashicorp/random '~>' 3.8",
                2,
                "tip: a version constraint is one argument: put quotes",
            ),
            (
                "isthmus link hashicorp/random '>=' 3.8",
                2,
                "tip: a version constraint is one argument: put quotes",
            ),
            (
                "isthmus install hashicorp/random != 3.8",
                2,
                "tip: a version constraint is one argument: put quotes",
            ),
            // The version arrives, without its operator.
            (
                "isthmus install hashicorp/random >= 3.8",
                1,
                "warning: standard output goes to a file called \"=\"\nhelp: ",
            ),
            (
                "isthmus install hashicorp/random > 3.8",
                1,
                "warning: standard output goes to a file called \"3.8\"\nhelp: ",
            ),
        ] {
            let said = shell(&machine, program, line);
            assert!(said.code == code && said.stderr.contains(wanted), "{program}: {line}: {said:?}");
        }
        for line in
            ["isthmus install hashicorp/random '~> 3.8' > out", "isthmus install hashicorp/random latest"]
        {
            let said = shell(&machine, program, line);
            assert!(said.code == 1 && !said.stderr.contains("quotes"), "{program}: {line}: {said:?}");
        }
    }
}

#[test]
fn arguments_in_the_wrong_place_are_answered_with_the_right_one() {
    let machine = Machine::new();
    for (words, code, wanted) in [
        (&["install"][..], 2, "tip: `isthmus install --plugin` installs the plugin"),
        (&["install", "--plugin", "1.4.0"], 2, "named with --plugin-version"),
        (&["install", "terraform-provider"], 1, "help: `isthmus install --plugin` installs it"),
        (
            &["install", "./terraform-provider-x"],
            1,
            "`pulumi package add terraform-provider ./terraform-provider-x`",
        ),
        (
            &["install", "hashicorp/random@3.8.0"],
            1,
            "help: a version is an argument of its own: hashicorp/random '3.8.0'",
        ),
        (
            &["link", "hashicorp/random@~> 3.8"],
            1,
            "help: a version is an argument of its own: hashicorp/random '~> 3.8'",
        ),
        (&["providers", "prune", "hashicorp/random", "3.8.0"], 1, "as in hashicorp/random@3.8.0"),
    ] {
        let said = machine.isthmus(words);
        assert!(said.code == code && said.stderr.contains(wanted), "{words:?}: {said:?}");
    }
}

#[test]
fn a_demonstration_says_what_is_wrong_with_its_inputs() {
    let machine = Machine::new();
    named(env!("CARGO_BIN_EXE_isthmus"), machine.path("terraform-provider-sandbox"));
    let objects = machine.path("objects");
    std::fs::create_dir(&objects).expect("a directory");
    machine.write("config.json", json!({ "directory": objects }).to_string().as_bytes());
    machine.write("right.json", b"{\"title\": \"x\"}");
    machine.write("wrong.json", b"{\"title\": \"x\", \"bodi\": \"y\"}");
    let demo = |resource, inputs| {
        let words = [
            "demo",
            "--provider",
            "./terraform-provider-sandbox",
            "--resource",
            resource,
            "--inputs",
            inputs,
            "--config",
            "config.json",
        ];
        machine.isthmus(&words).failed()
    };
    let misspelt = demo("sandbox_nte", "right.json");
    let reason = "the package sandbox has no resource for sandbox_nte; did you mean \"sandbox_note\"?";
    assert!(misspelt.contains(reason), "{misspelt}");
    let unlike = demo("sandbox_xylophone_of_glass", "right.json");
    assert!(!unlike.contains("did you mean"), "{unlike}");
    let refused = demo("sandbox_note", "wrong.json");
    assert!(refused.contains("check failed: bodi: "), "{refused}");
}

#[test]
fn an_option_for_a_provider_that_the_state_does_not_have_is_warned_of() {
    let machine = Machine::new();
    let state = json!({"version": 4, "terraform_version": "1.9.0", "serial": 1, "lineage": "x", "outputs": {}, "resources": []});
    machine.write("given.tfstate", state.to_string().as_bytes());
    for words in [
        &["migrate", "--to", "pulumi", "given.tfstate", "--output", "out", "--provider", "nosuch=/nowhere"][..],
        &["state", "import", "given.tfstate", "--provider", "nosuch=/nowhere"],
        &["state", "import", "given.tfstate", "--package", "nosuch=other"],
    ] {
        let said = machine.isthmus(words);
        assert!(said.stderr.contains("names \"nosuch\", and no provider of the state"), "{said:?}");
        assert!(said.stderr.contains("help: the state has no providers"), "{said:?}");
    }
}

#[test]
fn a_misspelt_file_is_answered_with_the_one_that_is_there() {
    let machine = Machine::new();
    let provider = machine.write("bin/terraform-provider-random_v3.8.0", b"#!/bin/sh\n");
    named(env!("CARGO_BIN_EXE_isthmus"), machine.path("terraform-provider-sandbox"));
    let inputs = machine.write("inputs.json", b"{\"title\": \"x\"}");
    machine.write("stack.json", b"{}");
    let demo =
        |provider, inputs| ["demo", "--provider", provider, "--resource", "sandbox_note", "--inputs", inputs];
    for (words, meant) in [
        (&["link", "./bin/terraform-provider-randm"][..], "./bin/terraform-provider-random_v3.8.0"),
        (&["link", "./bni/terraform-provider-random_v3.8.0"], "./bin/terraform-provider-random_v3.8.0"),
        (&demo("./terraform-provider-snadbox", "inputs.json"), "terraform-provider-sandbox"),
        (&demo("./terraform-provider-sandbox", "./input.json"), "./inputs.json"),
        (&["install", "--plugin", "--stack", "stakc.json"], "stack.json"),
        (&["state", "import", "./stack.jsn"], "./stack.json"),
    ] {
        let said = machine.isthmus(words).portable();
        assert!(said.code == 1 && said.stderr.contains(&format!("{meant}?")), "{words:?}: {said:?}");
        assert!(said.stderr.contains("did you mean "), "{words:?}: {said:?}");
    }
    assert!(provider.is_file() && inputs.is_file());
    let far = machine.isthmus(&["link", "./terraform-provider-google"]).failed();
    assert!(far.contains("does not exist; install the provider, or fix the path"), "{far}");
}

#[test]
fn an_empty_state_store_tells_users_of_todays_engine_where_their_state_is() {
    let machine = Machine::new();
    let help = machine.isthmus(&["state", "--help"]).well();
    assert!(help.contains("legacy engine") && help.contains("`pulumi stack export`"), "{help}");
    for words in
        [&["state", "list"][..], &["state", "list", "--json"], &["state", "export", "--output", "a.tfstate"]]
    {
        let said = machine.isthmus(words);
        assert!(
            said.stderr.contains("it is for the legacy engine (2017)")
                && said.stderr.contains("help: ")
                && said.stderr.contains("`pulumi stack export`"),
            "{words:?}: {said:?}"
        );
        assert!(!said.stdout.contains("legacy"), "standard output is for programs: {said:?}");
        // There is nothing to export.
        assert_eq!(said.code, if words[1] == "export" { 3 } else { 0 }, "{words:?}: {said:?}");
    }
}
