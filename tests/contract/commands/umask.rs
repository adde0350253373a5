//! What commands create under a umask that takes nothing away.

use isthmus_common::Platform;
use isthmus_test_registry::{Archive, Entry, Release};

use super::Said;
use super::network::Network;
use crate::commands::files::writable_by_others;

impl Network {
    /// Publishes a version whose archive says that everybody may write to everything.
    fn publish_writable(&self, version: &str) {
        let archive = Archive::default()
            .with(&format!("terraform-provider-thing_v{version}"), Entry::File(0o6777), b"\x7fELF thing")
            .with("docs/", Entry::Directory, b"")
            .with("docs/index.md", Entry::File(0o666), b"text")
            .finish();
        let current = Platform::CURRENT.to_string();
        let (os, arch) = current.split_once('_').expect("two names");
        let release =
            Release::new("acme/thing", version, archive).for_platform(os, arch).signed_by(&self.key);
        self.registry.publish(&release);
    }

    fn without_umask(&self, words: &[&str]) -> Said {
        let mut command = self.machine.command("/bin/sh");
        command.args(["-c", "umask 000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_isthmus")]).args(words);
        self.on(&mut command)
    }
}

#[test]
fn nothing_that_commands_create_is_writable_by_others() {
    let network = Network::at_default_host();
    network.publish_writable("1.0.0");
    let address = network.address();
    network.without_umask(&["install", &address, "--lock"]).well();
    network.without_umask(&["providers", "mirror", "packed", &address]).well();
    network.without_umask(&["install", "--plugin", "--plugin-version", "1.0.0"]).well();
    network.without_umask(&["link", &address, "--dir", "bin/here"]).well();
    network
        .machine
        .write("empty.tfstate", br#"{"version": 4, "serial": 1, "lineage": "none", "resources": []}"#);
    network.without_umask(&["state", "import", "empty.tfstate"]).well();
    let expected =
        [".pulumi/dynamic_tf_plugins", ".pulumi/plugins", ".pulumi/isthmus", ".terraform.lock.hcl"];
    for name in expected.into_iter().chain(["packed", "bin/here"]) {
        assert!(network.machine.path(name).exists(), "{name} is missing");
    }
    assert_eq!(writable_by_others(network.machine.directory.path()), [""; 0]);
}

#[test]
fn what_is_copied_from_a_mirror_that_others_may_write_to_is_not_writable_by_them() {
    let network = Network::at_default_host();
    let unpacked = format!("mirror/{}/1.0.0/{}", network.directory(), Platform::CURRENT);
    let program =
        network.machine.write(format!("{unpacked}/terraform-provider-thing_v1.0.0"), b"\x7fELF thing");
    let text = network.machine.write(format!("{unpacked}/docs/index.md"), b"text");
    let mode = |path: &std::path::Path, mode| {
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(path, permissions).expect("it is ours");
    };
    mode(&program, 0o6777);
    mode(&text, 0o666);
    mode(text.parent().expect("a directory"), 0o777);
    let mirror = network.machine.path("mirror");
    network.configure(&format!("provider_installation {{\n filesystem_mirror {{ path = {mirror:?} }}\n}}\n"));
    network.without_umask(&["install", &network.address()]).well();
    let installed = network.machine.cache().join(network.directory()).join("1.0.0");
    let installed = installed.join(Platform::CURRENT.to_string());
    let mode_of = |name: &str| {
        let metadata = installed.join(name).metadata().unwrap_or_else(|error| panic!("{name}: {error}"));
        std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o7777
    };
    assert_eq!(mode_of("terraform-provider-thing_v1.0.0"), 0o755, "it can be started, as whoever starts it");
    assert_eq!(mode_of("docs/index.md"), 0o644);
    assert_eq!(writable_by_others(&network.machine.cache()), [""; 0]);
}
