//! Mirrors go back and forth between `isthmus providers mirror` and `tofu providers mirror`.

use std::path::Path;

use isthmus_install::{LOCK_FILE_NAME, Platform};
use isthmus_test_registry::Document;

use super::network::{Network, OTHER};

impl Network {
    /// Has the registry's server serve a directory as a network mirror, and gives its address.
    fn serve(&self, directory: &Path) -> String {
        let mut directories = vec![directory.to_owned()];
        while let Some(current) = directories.pop() {
            for entry in std::fs::read_dir(&current).expect("a directory") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    directories.push(path);
                    continue;
                }
                let name =
                    path.strip_prefix(directory).expect("it is in it").to_str().expect("text").to_owned();
                let mut document = Document::of(std::fs::read(&path).expect("a file"));
                if name.ends_with(".json") {
                    document = document.with_header("Content-Type", "application/json");
                }
                self.registry.put(&format!("/mirror/{name}"), document);
            }
        }
        format!("{}/mirror/", self.registry.url())
    }

    /// From here on providers come from there, and from nowhere else.
    fn only_from(&self, method: &str) {
        self.configure(&format!("provider_installation {{\n {method}\n}}\n"));
    }

    /// Takes the registry away.
    fn close_registry(&self) {
        self.registry.remove("/.well-known/terraform.json");
        self.registry.remove("/v1/providers/acme/thing/versions");
    }

    fn cache_is_empty(&self) {
        let _ = std::fs::remove_dir_all(self.machine.cache());
    }
}

#[test]
fn opentofu_installs_from_the_mirror_that_we_make() {
    let network = Network::at_default_host();
    network.publish("1.0.0");
    network.publish("1.1.0");
    let current = Platform::CURRENT.to_string();
    let address = network.address();
    let words = ["providers", "mirror", "mirror", &address, &format!("{address}@~> 1.0, < 1.1")];
    let said = network.isthmus(&[&words[..], &["--platform", &current, "--platform", OTHER]].concat()).well();
    for name in [
        format!("1.1.0 {current}"),
        format!("1.1.0 {OTHER}"),
        format!("1.0.0 {current}"),
        format!("1.0.0 {OTHER}"),
    ] {
        assert!(said.contains(&format!("{address} {name}, signed by ")), "{name}\n{said}");
    }
    assert!(
        !network.machine.cache().join(network.directory()).join("1.0.0").exists(),
        "the cache is not filled by that"
    );

    network.close_registry();
    let mirror = network.machine.path("mirror");
    let url = network.serve(&mirror);
    for (name, method) in [
        ("by directory", format!("filesystem_mirror {{ path = {mirror:?} }}")),
        ("by server", format!("network_mirror {{ url = {url:?} }}")),
    ] {
        network.only_from(&method);
        for constraint in ["~> 1.0", "1.0.0"] {
            let project = network.project(&format!("{name} {constraint}"), constraint);
            network.tofu(&project, &["init", "-no-color"]).well();
        }
        let project = network.project(&format!("{name}, locked"), "~> 1.0");
        let platforms = [format!("-platform={OTHER}"), format!("-platform={current}")];
        let source = match name {
            "by directory" => format!("-fs-mirror={}", mirror.display()),
            _ => format!("-net-mirror={url}"),
        };
        network
            .tofu(&project, &["providers", "lock", "-no-color", &source, &platforms[0], &platforms[1]])
            .well();
        network.cache_is_empty();
        let ours = network.isthmus(&["install", &address]).well();
        assert!(ours.contains("1.1.0, from "), "{name}\n{ours}");

        // What we lock from there is what OpenTofu finds there.
        let project = network.project(&format!("{name}, locked by us"), "~> 1.0");
        network.isthmus_in(&project, &["install", &address, "~> 1.0", "--lock", "--platform", OTHER]).well();
        let lock = std::fs::read_to_string(project.join(LOCK_FILE_NAME)).expect("it is locked");
        for words in [&["init", "-no-color", "-lockfile=readonly"][..], &["init", "-no-color"]] {
            network.tofu(&project, words).well();
            let after = std::fs::read_to_string(project.join(LOCK_FILE_NAME)).expect("it is locked");
            assert_eq!(after, lock, "{name}: tofu {words:?}");
        }
    }
}

#[test]
fn we_install_from_the_mirror_that_opentofu_makes() {
    let network = Network::new();
    network.publish("1.0.0");
    let project = network.project("project", "~> 1.0");
    let platforms = [format!("-platform={OTHER}"), format!("-platform={}", Platform::CURRENT)];
    let mirror = network.machine.path("mirror");
    let directory = mirror.to_str().expect("text");
    network.tofu(&project, &["providers", "mirror", &platforms[0], &platforms[1], directory]).well();
    network.close_registry();
    let url = network.serve(&mirror);
    let address = network.address();
    for (method, from) in [
        (format!("filesystem_mirror {{ path = {mirror:?} }}"), directory),
        (format!("network_mirror {{ url = {url:?} }}"), url.as_str()),
    ] {
        network.only_from(&method);
        network.cache_is_empty();
        let said = network.isthmus(&["install", &address, "~> 1.0"]).well();
        assert!(said.contains(&format!("{address} 1.0.0, from {from}\n")), "{said}");
        let listed = network.isthmus(&["providers", "list"]).well();
        assert!(listed.contains(&format!("from {from}")), "{listed}");
        // A mirror of a mirror, for the other machine; what it names is verified.
        let words = ["providers", "mirror", "second", &address, "--platform", OTHER];
        let said = network.isthmus(&words).well();
        assert!(said.contains(&format!("1.0.0 {OTHER}, from {from}: ")), "{said}");
    }
    for file in ["index.json", "1.0.0.json"] {
        let made = network.machine.path("second").join(network.directory()).join(file);
        assert!(made.is_file(), "{}", made.display());
    }
}

#[test]
fn what_cannot_be_copied_is_told_and_what_was_is_found() {
    let network = Network::new();
    network.publish("1.0.0");
    let address = network.address();
    let said =
        network.isthmus(&["providers", "mirror", "mirror", &address, &format!("{address}@2.0.0")]).failed();
    assert!(said.contains("2.0.0") && said.contains("error: "), "{said}");
    let index = network.machine.path("mirror").join(&address).join("index.json");
    let index = std::fs::read_to_string(index).expect("there is an index");
    assert!(index.contains("\"1.0.0\": {}"), "{index}");
    let said =
        network.isthmus(&["providers", "mirror", "mirror", &address, "--platform", "windows_386"]).failed();
    assert!(said.contains("windows_386") && said.contains(OTHER), "{said}");
}
