//! SDKs that the Go bridge's schemas gave stay as they are when this program takes its place.

use serde_json::{Value, json};

use crate::harness::project::{Bridge, Provider};
use crate::life::{python_program, step};
use crate::packages::{Package, Source};
use crate::python;
use crate::workshop::Workshop;

/// Two resources and the stack.
const EVERYTHING: u32 = 3;

#[track_caller]
fn expect_a_stack_to_go_on(workshop: &Workshop, package: &Package) {
    let path = python::install(workshop, std::slice::from_ref(package));
    let program = || python_program(workshop, "pets.py", &path);
    let values = |up: &Value| json!([up["outputs"]["pet"], up["outputs"]["password"]]);

    let (all_new, all_same) = (json!({ "create": EVERYTHING }), json!({ "same": EVERYTHING }));
    let before = step(workshop, &mut program(), "up", &all_new);

    workshop.project.switch_to(Bridge::Ours);
    step(workshop, &mut program(), "preview", &all_same);
    let after = step(workshop, &mut program(), "up", &all_same);
    assert_eq!(values(&after), values(&before));
    workshop.project.destroy();

    let anew = step(workshop, &mut program(), "up", &all_new);
    assert_eq!(anew["outputs"]["password"]["secret"], json!(true));
    workshop.project.destroy();
}

#[test]
fn an_sdk_of_the_go_bridge_for_a_provider_on_disk_is_served_unchanged() {
    fixtures::needs!(Python);
    let workshop = Workshop::new("an SDK of the Go bridge", Bridge::Go);
    let package = Package::local("random", "terraform-provider-random");
    workshop.generate("python", std::slice::from_ref(&package));
    expect_a_stack_to_go_on(&workshop, &package);
}

#[test]
fn an_sdk_of_the_go_bridge_for_a_provider_from_a_registry_is_served_unchanged() {
    fixtures::needs!(Python);
    let workshop = Workshop::new("an SDK of the Go bridge, remote", Bridge::Go);
    // What both bridges have once fetched they take from their cache, and ask no registry.
    workshop.project.place_in_cache(Provider::Random, "3.9.0");
    let package = Package {
        name: "random",
        source: Source::Remote("hashicorp/random"),
        arguments: vec!["3.9.0"],
        version: "3.9.0",
        variables: Vec::new(),
    };
    workshop.generate("python", std::slice::from_ref(&package));
    let described = workshop.project.read("sdks/python/random/pulumi_random/pulumi-plugin.json");
    assert!(described.contains("\"3.9.0\""), "{described}");
    expect_a_stack_to_go_on(&workshop, &package);
}
