//! A provider that is not on the machine yet: the documented command fetches it, and from then on nothing needs a network.

use std::fs;

use isthmus_test_registry::{Archive, PublisherKey, Registry, Release};

use crate::harness::project::PLUGIN;
use crate::harness::{Bridge, Project, tools};

const PROGRAM: &str = "
resources:
  pet:
    type: random:Pet
    properties: {length: 3}
  password:
    type: random:Password
    properties: {length: 24}
";

/// What is set in all other tests, so that none of them reaches for a network.
const OFFLINE: &str = "ISTHMUS_OFFLINE";

#[test]
fn a_provider_comes_from_its_registry_and_then_needs_no_network() {
    let (registry, key) = (Registry::start(), PublisherKey::new());
    let random = fs::read(tools::directory().join("terraform-provider-random")).expect("the tools are built");
    let releases = ["3.8.0", "3.9.0"].map(|version| {
        let archive = Archive::of_programs(&[(&format!("terraform-provider-random_v{version}_x5"), &random)]);
        Release::new("hashicorp/random", version, archive).signed_by(&key)
    });
    for release in &releases {
        registry.publish(release);
    }

    let project = Project::bare("from a registry", &[]);
    project.switch_to(Bridge::Ours);
    project.program(PROGRAM);
    project.create_stack();
    let path = |file| project.path(file).to_str().expect("test directories have plain names").to_owned();
    project.write("authority.pem", registry.authority_pem());
    project.write(
        "tofurc",
        &format!(
            "host \"registry.opentofu.org\" {{\n  services = {{\n    \"providers.v1\" = \"{}/v1/providers/\"\n  }}\n}}\n",
            registry.url()
        ),
    );
    project.set("SSL_CERT_FILE", &path("authority.pem"));
    project.set("TF_CLI_CONFIG_FILE", &path("tofurc"));
    project.set(OFFLINE, "");

    let words = ["package", "add", PLUGIN, "hashicorp/random", "3.9.0"];
    let added = project.run(&words).succeeded();
    let added = added.says("downloading hashicorp/random 3.9.0 from localhost");
    added.says(&format!("installed hashicorp/random 3.9.0, signed by {}", key.fingerprint()));
    let package = project.read("sdks/random/random-3.9.0.yaml");
    assert!(package.contains("version: 3.9.0"), "{package}");
    assert_eq!(project.up().steps("pet"), ["create"]);
    let asked = registry.requests();
    assert_eq!(registry.count(&releases[1].archive_path()), 1, "{asked:?}");
    assert_eq!(registry.count(&releases[0].archive_path()), 0, "{asked:?}");

    drop(registry);
    fs::remove_dir_all(project.path("sdks")).expect("a directory of this test's own");
    project.run(&words).succeeded();
    assert_eq!(project.read("sdks/random/random-3.9.0.yaml"), package);
    project.expect_no_changes();
    project.program(&PROGRAM.replace("length: 3", "length: 4"));
    assert_eq!(project.up().steps("pet"), ["create-replacement", "replace", "delete-replaced"]);

    // What nobody has fetched is not to be had any more, and it is said why.
    let missing = project.run(&["package", "add", PLUGIN, "hashicorp/random", "3.8.0"]).failed();
    for wanted in ["localhost", "could not reach ", "HTTPS_PROXY", "hashicorp/random"] {
        assert!(missing.stderr.contains(wanted), "{wanted:?} is missing\n{missing}");
    }
    project.destroy();
}
