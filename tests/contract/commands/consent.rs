//! Providers that only a file of others names: nothing of them is downloaded or started without the user's word.

use std::path::PathBuf;

use base64::Engine as _;
use serde_json::json;

use super::network::Network;
use super::{Machine, Said};
use crate::harness::host::make_executable;

impl Machine {
    /// A program that leaves a file when it is started, and ends.
    fn trap(&self, path: &str) -> PathBuf {
        let trap = format!("#!/bin/sh\ntouch '{}'\n", self.path("started").display());
        let file = self.write(path, trap.as_bytes());
        make_executable(&file)
    }

    fn has_started(&self) -> bool {
        self.path("started").exists()
    }

    /// A state with an object of this provider.
    fn state(&self, provider: &str) -> PathBuf {
        let state = json!({
            "version": 4, "terraform_version": "1.9.0", "serial": 1, "lineage": "one", "resources": [{
                "mode": "managed", "type": "thing_one", "name": "a", "provider": format!("provider[{provider:?}]"),
                "instances": [{ "schema_version": 0, "attributes": { "id": "1" } }],
            }],
        });
        self.write("given.tfstate", state.to_string().as_bytes())
    }

    /// A stack export with a resource of a provider that its parameter describes.
    fn stack_export(&self, parameter: &serde_json::Value) -> PathBuf {
        let value = base64::engine::general_purpose::STANDARD.encode(parameter.to_string());
        let provider = "urn:pulumi:dev::shop::pulumi:providers:thing::default";
        let stack = json!({ "version": 3, "deployment": { "resources": [
            {
                "urn": provider, "type": "pulumi:providers:thing", "custom": true, "id": "p",
                "inputs": {
                    "version": "0.0.0",
                    "__internal": { "name": "terraform-provider", "version": "1.4.0", "parameterization": value },
                },
            },
            {
                "urn": "urn:pulumi:dev::shop::thing:index/one:One::a", "type": "thing:index/one:One", "custom": true,
                "id": "1", "inputs": {}, "outputs": { "id": "1" }, "provider": format!("{provider}::p"),
            },
        ] } });
        self.write("stack.json", stack.to_string().as_bytes())
    }
}

#[track_caller]
fn asks_for(said: &Said, providers: &[&str]) {
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.stderr.contains("--yes"), "{said:?}");
    for provider in providers {
        assert!(said.stderr.contains(provider), "{provider}: {said:?}");
    }
}

#[test]
fn a_migration_starts_no_provider_that_only_the_state_names() {
    let network = Network::at_default_host();
    network.publish("1.0.0");
    network.machine.state(&network.directory());
    let migrate = |more: &[&str]| {
        network.isthmus(&[&["migrate", "given.tfstate", "--output", "out", "--force"], more].concat())
    };
    let asked = || network.registry.requests().len();
    asks_for(&migrate(&[]), &["acme/thing (the newest version)"]);
    assert!(!network.machine.path("out").exists() && asked() == 0, "{:?}", network.registry.requests());
    // What the cache has, it has for another project.
    network.isthmus(&["install", "acme/thing", "1.0.0"]).well();
    asks_for(&migrate(&[]), &["acme/thing 1.0.0"]);
    // A lock file beside the state came with it.
    network
        .machine
        .write("elsewhere/given.tfstate", &std::fs::read(network.machine.path("given.tfstate")).expect("it"));
    network.isthmus_in("elsewhere", &["install", "acme/thing", "--lock"]).well();
    asks_for(
        &network.isthmus(&["migrate", "elsewhere/given.tfstate", "--output", "out"]),
        &["acme/thing 1.0.0"],
    );
    // The program is none, so that it does not start.
    let tried = migrate(&["--yes"]);
    assert!(tried.code == 3 && tried.stderr.contains("its provider cannot be used: "), "{tried:?}");
    network.isthmus(&["install", "acme/thing", "--lock"]).well();
    let tried = migrate(&[]);
    assert!(tried.code == 3 && tried.stderr.contains("its provider cannot be used: "), "{tried:?}");
}

#[test]
fn a_locked_provider_must_have_the_locked_checksums() {
    let network = Network::at_default_host();
    network.publish("1.0.0");
    network.machine.state(&network.directory());
    network.isthmus(&["install", "acme/thing", "--lock"]).well();
    let lock = network.machine.path(".terraform.lock.hcl");
    let text = std::fs::read_to_string(&lock).expect("a lock file");
    let wrong = |line: &str| {
        if line.contains("h1:") || line.contains("zh:") { "    \"h1:wrong=\"," } else { line }.to_owned()
    };
    std::fs::write(&lock, text.lines().map(wrong).collect::<Vec<_>>().join("\n")).expect("a file");
    let said = network.isthmus(&["migrate", "given.tfstate", "--output", "out"]);
    assert!(said.code == 3 && said.stderr.contains("is not the one that the lock file knows"), "{said:?}");
}

#[test]
fn a_migration_back_starts_no_file_that_only_the_stack_names() {
    let machine = Machine::new();
    let trap = machine.trap("terraform-provider-thing");
    machine.stack_export(&json!({ "local": { "path": trap } }));
    let words = ["migrate", "--to", "terraform", "stack.json", "--output", "out"];
    asks_for(&machine.isthmus(&words), &[trap.to_str().expect("text")]);
    assert!(!machine.has_started());
    let tried = machine.isthmus(&[&words[..], &["--yes"]].concat());
    assert!(tried.code == 3 && machine.has_started(), "{tried:?}");
}

#[test]
fn an_import_into_the_state_store_starts_no_provider_that_only_the_state_names() {
    let machine = Machine::new();
    let trap = machine.trap("bin/terraform-provider-thing");
    machine.state("registry.opentofu.org/acme/thing");
    let import = |more: &[&str]| {
        let mut command = machine.command(env!("CARGO_BIN_EXE_isthmus"));
        command.args(["state", "import", "given.tfstate"]).args(more);
        Said::of(command.env("PATH", super::path_with(&machine.path("bin"))))
    };
    asks_for(&import(&[]), &[trap.to_str().expect("text")]);
    assert!(!machine.has_started() && !machine.path(".pulumi/isthmus").exists());
    let tried = import(&["--yes"]);
    assert!(tried.code == 1 && machine.has_started(), "{tried:?}");
    std::fs::remove_file(machine.path("started")).expect("it is there");
    let option = format!("--provider=thing={}", trap.display());
    let tried = import(&[&option]);
    assert!(tried.code == 1 && machine.has_started(), "{tried:?}");
}

#[test]
fn an_examination_starts_nothing_that_only_the_project_names() {
    let machine = Machine::new();
    let trap = machine.trap("project/terraform-provider-thing");
    let plugin = machine.trap("project/plugin/pulumi-resource-terraform-provider");
    let project = "name: x\nruntime: yaml\nplugins:\n  providers:\n    - name: terraform-provider\n      path: ./plugin\n";
    machine.write("project/Pulumi.yaml", project.as_bytes());
    let value = json!({ "local": { "path": trap } }).to_string();
    let value = base64::engine::general_purpose::STANDARD.encode(value);
    let sdk = format!(
        "packageDeclarationVersion: 1\nname: terraform-provider\nversion: 1.4.0\nparameterization:\n  name: thing\n  version: \
         0.0.0\n  value: {value}\n"
    );
    machine.write("project/sdks/thing/thing.yaml", sdk.as_bytes());
    let doctor = |only: &str, more: &[&str]| {
        let words = [&["doctor", "--offline", "--project", "project", "--only", only], more].concat();
        machine.isthmus(&words)
    };
    let said = doctor("providers", &[]).well();
    assert!(said.contains("only the project names it") && said.contains("--yes"), "{said}");
    assert!(doctor("plugin", &[]).well().contains("not started"), "{}", plugin.display());
    assert!(!machine.has_started());
    doctor("providers", &["--yes"]).failed();
    assert!(machine.has_started());
    std::fs::remove_file(machine.path("started")).expect("it is there");
    doctor("plugin", &["--yes"]).failed();
    assert!(machine.has_started());
}

/// A list that is longer than a screen is not confirmed unseen, and does not fill one of an error.
#[test]
fn a_state_with_many_providers_names_few_of_them_in_the_usage_error() {
    let machine = Machine::new();
    let resources: Vec<_> = (0..5_000)
        .map(|number| {
            json!({
                "mode": "managed", "type": "thing_one", "name": format!("a{number}"),
                "provider": format!("provider[\"example.com/acme/thing{number}\"]"),
                "instances": [{ "schema_version": 0, "attributes": { "id": "1" } }],
            })
        })
        .collect();
    let state = json!({ "version": 4, "terraform_version": "1.9.0", "serial": 1, "lineage": "one", "resources": resources });
    machine.write("given.tfstate", state.to_string().as_bytes());
    let said = machine.isthmus(&["migrate", "given.tfstate", "--output", "out"]);
    asks_for(&said, &["and 4990 more"]);
    assert!(said.stderr.len() < 2_000 && !machine.path("out").exists(), "{said:?}");
}
