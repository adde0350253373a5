//! The processes that commands start inherit the user's environment, but not the key and the store of isthmus.

use std::path::Path;

use super::Said;
use super::network::Network;
use crate::harness::host::make_executable;

const STORE: &str = "postgres://user:password@nowhere.invalid/states";

impl Network {
    /// A program that writes down what it inherits.
    fn recorder(&self, path: &str, answer: &str) {
        let text = format!("#!/bin/sh\nenv > \"${{HOME:-$USERPROFILE}}/inherited\"\necho '{answer}'\n");
        let program = self.machine.write(path, text.as_bytes());
        make_executable(&program);
    }

    fn inherited(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.machine.path("inherited")).expect("the program was started");
        text.lines().filter_map(|line| Some(line.split_once('=')?.0.to_owned())).collect()
    }

    fn with_secrets(&self, words: &[&str]) -> Said {
        let mut command = self.machine.command(env!("CARGO_BIN_EXE_isthmus"));
        let path = super::path_with(&self.machine.path("bin"));
        command.args(words).env("PATH", path).env("OF_THE_USER", "x").env("APPDATA", self.machine.path(""));
        command.env("ISTHMUS_KEY", "5e".repeat(32)).env("ISTHMUS_STORE", STORE);
        self.on(&mut command)
    }
}

#[track_caller]
fn assert_without_ours(inherited: &[String]) {
    assert!(inherited.iter().any(|name| name == "OF_THE_USER"), "{inherited:?}");
    assert!(!inherited.iter().any(|name| name.starts_with("ISTHMUS_")), "{inherited:?}");
}

#[test]
fn a_credentials_helper_does_not_inherit_our_settings() {
    let network = Network::new();
    network.publish("1.0.0");
    network.configure("credentials_helper \"recorder\" {}\n");
    let directory = if isthmus_platform::IS_WINDOWS { "terraform.d" } else { ".terraform.d" };
    network.recorder(&format!("{directory}/plugins/terraform-credentials-recorder"), "{}");
    network.with_secrets(&["install", &network.address()]).well();
    assert_without_ours(&network.inherited());
}

#[test]
fn the_pulumi_cli_does_not_inherit_our_settings() {
    let network = Network::new();
    network.recorder("bin/pulumi", "[]");
    network.machine.write(Path::new("project/Pulumi.yaml"), b"name: project\nruntime: yaml\n");
    let project = network.machine.path("project");
    let project = project.to_str().expect("a path in UTF-8");
    network.with_secrets(&["install", "--plugin", "--project", project]).well();
    assert_without_ours(&network.inherited());
}
