//! A machine with a Pulumi CLI, the plugin, a project with an SDK, its provider, and a registry: all is well on it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine as _;
use isthmus_common::Platform;
use isthmus_test_registry::{Archive, Registry, Release};

use super::super::{HASHICORP, Machine, Said, path_with};
use crate::harness::host::{make_executable, named, program_path};
use crate::harness::said::portable;
use crate::harness::{Json, native};

/// The version of the provider in the project, the registry and the cache.
pub(super) const VERSION: &str = "3.9.0";

pub(super) struct Patient {
    pub(super) machine: Machine,
    pub(super) registry: Registry,
    /// Variables besides the usual ones.
    variables: BTreeMap<String, String>,
}

/// A fault as it is reported: the check, its code, the message and what to do.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) check: String,
    pub(super) code: String,
    pub(super) message: String,
    pub(super) help: String,
}

impl Patient {
    pub(super) fn new() -> Self {
        Self::with(Registry::start())
    }

    pub(super) fn with(registry: Registry) -> Self {
        let mut patient = Self { machine: Machine::new(), registry, variables: BTreeMap::new() };
        patient.script("bin/pulumi", "echo v3.259.0");
        patient.plugin("1.4.0", Path::new(env!("CARGO_BIN_EXE_isthmus")));
        patient.project(VERSION, VERSION);
        let program = fixtures::tools::tool("terraform-provider-random");
        std::fs::copy(program, patient.provider()).expect("a copy");
        let archive = Archive::of_programs(&[("terraform-provider-random_v3.9.0", b"its contents")]);
        patient.registry.publish(&Release::new("hashicorp/random", VERSION, archive));
        patient.machine.write("authority.pem", patient.registry.authority_pem().as_bytes());
        patient.registry_at(&format!("{}/v1/providers/", patient.registry.url()));
        let path = path_with(&patient.machine.path("bin"));
        patient.set("PATH", path.to_str().expect("text"));
        for (name, file) in [("SSL_CERT_FILE", "authority.pem"), ("TF_CLI_CONFIG_FILE", "cli.tfrc")] {
            patient.set(name, patient.machine.path(file).to_str().expect("text"));
        }
        patient
    }

    /// Sets a variable.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.variables.insert(name.to_owned(), value.to_owned());
    }

    /// The CLI configuration leads to a registry at this address.
    pub(super) fn registry_at(&self, services: &str) {
        let text = format!(
            "host \"registry.opentofu.org\" {{\n services = {{ \"providers.v1\" = {services:?} }}\n}}\n"
        );
        self.machine.write("cli.tfrc", text.as_bytes());
    }

    /// A script of the shell that may be executed.
    pub(super) fn script(&self, path: impl AsRef<Path>, lines: &str) -> PathBuf {
        let file = self.machine.write(path, format!("#!/bin/sh\n{lines}\n").as_bytes());
        make_executable(&file)
    }

    /// The directory of the plugin of a version.
    pub(super) fn plugin_directory(&self, version: &str) -> PathBuf {
        self.machine.path(format!(".pulumi/plugins/resource-terraform-provider-v{version}"))
    }

    /// Moves a directory to where nothing looks. Windows does not remove a name of a program that runs, by whichever of its names.
    #[track_caller]
    pub(super) fn takes_away(&self, directory: impl AsRef<Path>) {
        std::fs::rename(directory, self.machine.path("away")).expect("it is there");
    }

    /// Makes a program the plugin of a version.
    pub(super) fn plugin(&self, version: &str, program: &Path) {
        let directory = self.plugin_directory(version);
        std::fs::create_dir_all(&directory).expect("a directory");
        named(program, directory.join("pulumi-resource-terraform-provider"));
    }

    /// A project that asks for a version of the provider, and an SDK of another one.
    pub(super) fn project(&self, wanted: &str, generated: &str) {
        let project = format!(
            "name: x\nruntime: yaml\npackages:\n  random:\n    source: terraform-provider\n    version: 1.4.0\n    parameters: \
             [hashicorp/random, \"{wanted}\"]\n"
        );
        self.machine.write("project/Pulumi.yaml", project.as_bytes());
        let value = format!("{{\"remote\":{{\"url\":\"{HASHICORP}/random\",\"version\":\"{generated}\"}}}}");
        let value = base64::engine::general_purpose::STANDARD.encode(value);
        let sdk = format!(
            "packageDeclarationVersion: 1\nname: terraform-provider\nversion: 1.4.0\nparameterization:\n  name: random\n  version: \
             {generated}\n  value: {value}\n"
        );
        self.machine.write("project/sdks/random/random.yaml", sdk.as_bytes());
    }

    /// The provider's file in the cache, in a directory that exists.
    pub(super) fn provider(&self) -> PathBuf {
        let directory = format!("{HASHICORP}/random/{VERSION}/{}", Platform::CURRENT);
        let directory = self.machine.cache().join(directory);
        std::fs::create_dir_all(&directory).expect("a directory");
        program_path(native(directory.join(format!("terraform-provider-random_v{VERSION}"))))
    }

    /// The home directory of isthmus.
    pub(super) fn home(&self) -> PathBuf {
        self.machine.path(".pulumi/isthmus")
    }

    /// A program on this machine, in the project's directory.
    pub(super) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = self.machine.command(program);
        command.envs(&self.variables).current_dir(self.machine.path("project"));
        command
    }

    pub(super) fn doctor(&self, words: &[&str]) -> Said {
        // The project is the user's own.
        Said::of(self.command(env!("CARGO_BIN_EXE_isthmus")).args(["doctor", "--yes"]).args(words))
    }

    /// The faults, as JSON has them; the text has them too, and both end with 1 if there are any.
    #[track_caller]
    pub(super) fn faults(&self, words: &[&str]) -> Vec<Fault> {
        let said = self.doctor(&[words, &["--json"]].concat());
        let document: Json =
            serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
        assert_eq!((&document["format_version"], &document["command"]), (&"1.0".into(), &"doctor".into()));
        let faults = faults(&document);
        assert_eq!(document["healthy"], faults.is_empty(), "{document:#}");
        assert_eq!(document["faults"], faults.len(), "{document:#}");
        assert_eq!(said.code, i32::from(!faults.is_empty()), "{said:?}");
        let text = self.doctor(words);
        assert_eq!(text.code, said.code, "{text:?}");
        for fault in &faults {
            let line = format!("FAULT    {} ", fault.check);
            assert!(
                text.stdout.contains(&line) && text.stdout.contains(&fault.code),
                "{line}: {}",
                text.stdout
            );
            assert!(text.stdout.contains("         help: "), "{}", text.stdout);
        }
        faults
    }

    /// The only fault has this code, in this check; its message has each of these words, and its remedy these.
    #[track_caller]
    pub(super) fn has(&self, check: &str, code: u16, message: &[&str], remedy: &str) {
        self.has_in(&[], check, code, message, remedy);
    }

    /// The same with arguments.
    #[track_caller]
    pub(super) fn has_in(&self, words: &[&str], check: &str, code: u16, message: &[&str], remedy: &str) {
        expect(&self.faults(words), check, code, message, remedy);
    }
}

/// There is only this fault.
#[track_caller]
pub(super) fn expect(faults: &[Fault], check: &str, code: u16, message: &[&str], remedy: &str) {
    let [fault] = faults else { panic!("one fault: {faults:#?}") };
    assert_eq!(
        (fault.check.as_str(), fault.code.as_str()),
        (check, &*format!("ISTHMUS-{code}")),
        "{fault:?}"
    );
    let shown = portable(fault.message.clone());
    for part in message {
        assert!(shown.contains(&portable((*part).to_owned())), "{part:?}: {fault:?}");
    }
    assert!(fault.help.contains(remedy), "{remedy:?}: {fault:?}");
}

/// The faults in a document.
pub(super) fn faults(document: &Json) -> Vec<Fault> {
    let text = |value: &Json| value.as_str().expect("text").to_owned();
    let checks = document["checks"].as_array().expect("an array").iter();
    let findings = checks.flat_map(|check| {
        let findings = check["findings"].as_array().expect("an array").iter();
        findings.map(move |finding| (check, finding))
    });
    let faults = findings.filter(|(_, finding)| finding["level"] == "fault");
    faults
        .map(|(check, finding)| Fault {
            check: text(&check["name"]),
            code: text(&finding["code"]),
            message: text(&finding["message"]),
            help: finding["help"]
                .as_array()
                .expect("an array")
                .iter()
                .map(text)
                .collect::<Vec<_>>()
                .join("\n"),
        })
        .collect()
}
