//! Names that a project chooses in `isthmus.toml`, and a stack that exists already.

use serde_json::{Value, json};

use crate::harness::outcome::Outcome;
use crate::harness::project::{PLUGIN, PLUGIN_VERSION};
use crate::harness::{Project, Provider};

const USUAL: &str = r"
resources:
  key:
    type: tls:PrivateKey
    properties:
      algorithm: ECDSA
      ecdsaCurve: P256
  certificate:
    type: tls:SelfSignedCert
    properties:
      privateKeyPem: ${key.privateKeyPem}
      subjects:
        - commonName: isthmus.example
          streetAddresses: [1 Canal Street]
      dnsNames: [isthmus.example]
      allowedUses: [digital_signature]
      validityPeriodHours: 48
";

const CHOSEN: &str = r"
resources:
  key:
    type: tls:Key
    properties:
      algorithm: ECDSA
      curve: P256
  certificate:
    type: tls:SelfSignedCert
    properties:
      private_key_pem: ${key.private_key_pem}
      subject:
        - common_name: isthmus.example
          street: [1 Canal Street]
      dns_names: [isthmus.example]
      allowed_uses: [digital_signature]
      validity_period_hours: 48
";

const FILE: &str = r#"
[packages.tls]
property-names = "terraform"
exclude = ["tls_locally_signed_cert"]

[packages.tls.types]
tls_private_key = "Key"

[packages.tls.properties.tls_private_key]
ecdsa_curve = "curve"

[packages.tls.properties.tls_self_signed_cert]
"subject.street_address" = "street"
"#;

/// Makes the SDK of the program anew, as its author does.
fn package_add(project: &Project, provider: Provider) -> Outcome {
    let executable = project.provider(provider);
    project.run(&[
        "package",
        "add",
        &format!("{PLUGIN}@{PLUGIN_VERSION}"),
        executable.to_str().expect("a path in Unicode"),
    ])
}

fn get_schema(project: &Project, provider: Provider) -> Outcome {
    let executable = project.provider(provider);
    let executable = executable.to_str().expect("a path in Unicode");
    project.run(&["package", "get-schema", &format!("{PLUGIN}@{PLUGIN_VERSION}"), executable]).succeeded()
}

#[test]
fn a_stack_goes_on_by_the_names_that_its_project_chooses() {
    let project = Project::new("names by choice", &[Provider::Tls]);
    project.program(USUAL);
    project.up_at_once();
    let before = project.resources_in_the_clear(["key", "certificate"]);

    project.write("isthmus.toml", FILE);
    let unfollowed = project.preview();
    assert!(
        unfollowed.to_string().contains("it was generated with other names than isthmus.toml has"),
        "{unfollowed}"
    );

    let added = package_add(&project, Provider::Tls).succeeded();
    assert!(added.to_string().contains("the names of package \"tls\" change"), "{added}");
    let schema: Value = serde_json::from_str(&get_schema(&project, Provider::Tls).stdout).expect("JSON");
    let aliases = &schema["resources"]["tls:index/key:Key"]["aliases"];
    assert_eq!(*aliases, json!([{"type": "tls:index/privateKey:PrivateKey"}]), "{schema}");
    assert_eq!(schema["resources"].get("tls:index/locallySignedCert:LocallySignedCert"), None);
    project.program(CHOSEN);
    // Nothing of the provider changes, but the stack has the properties by other names.
    let renamed = project.up_at_once();
    assert_eq!(
        (renamed.steps("key"), renamed.steps("certificate")),
        (vec!["update"], vec!["update"]),
        "{renamed}"
    );
    let renamed = project.resources_in_the_clear(["key", "certificate"]);
    for (before, after) in before.iter().zip(&renamed) {
        assert_eq!(before["id"], after["id"]);
    }
    assert_eq!(before[1]["outputs"]["certPem"], renamed[1]["outputs"]["cert_pem"]);
    project.expect_no_changes();

    project.program(&CHOSEN.replace("48", "50"));
    let changed = project.up_at_once();
    assert_eq!(
        (changed.steps("key"), changed.steps("certificate")),
        (vec!["same"], vec!["create-replacement", "replace", "delete-replaced"]),
        "{changed}"
    );
    let [key, certificate] = project.resources_in_the_clear(["key", "certificate"]);
    assert_eq!(key["id"], before[0]["id"]);
    assert_eq!(key["type"], "tls:index/key:Key");
    assert_eq!(
        certificate["inputs"]["subject"],
        json!([{"common_name": "isthmus.example", "street": ["1 Canal Street"]}])
    );
    assert_eq!(certificate["outputs"]["validity_period_hours"], 50);
    project.expect_no_changes();

    // The file says something else, but the SDK is what the program has been written with.
    project.write("isthmus.toml", "[packages.tls.types]\ntls_private_keys = \"Key\"\n");
    project.expect_no_changes();
    project.write("isthmus.toml", "[packages.tls]\nproperty-name = \"terraform\"\n");
    let warned = project.run(&["preview"]).succeeded();
    assert!(warned.to_string().contains("isthmus.toml: line 2, column 1: unknown field"), "{warned}");
    assert!(!warned.to_string().contains("generated with other"), "{warned}");
    project.write("isthmus.toml", "[packages.tls.types]\ntls_private_keys = \"Key\"\n");
    let misspelt = package_add(&project, Provider::Tls).succeeded();
    assert!(misspelt.to_string().contains("no \"tls_private_keys\""), "{misspelt}");
    assert!(misspelt.to_string().contains("did you mean \"tls_private_key\"?"), "{misspelt}");
    project.write("isthmus.toml", "[packages.tls]\nproperty-name = \"terraform\"\n");
    let refused = package_add(&project, Provider::Tls).failed();
    assert!(refused.to_string().contains("isthmus.toml: line 2, column 1: unknown field"), "{refused}");

    // What the stack has by the chosen names is destroyed by the usual ones, too.
    std::fs::remove_file(project.path("isthmus.toml")).expect("it is the test's own");
    package_add(&project, Provider::Tls).succeeded();
    project.destroy();
}

#[test]
fn blocks_of_one_item_are_lists_without_plurals_in_a_stack_that_has_them_as_values() {
    let project = Project::new("lists by choice", &[Provider::Conformance]);
    let program = |network: &str, rules: &str, title: &str| {
        project.program(&format!(
            "resources:\n  record:\n    type: conformance:Legacy\n    properties:\n      name: one\n      title: {title}\n      \
             {network}\n      {rules}: [{{port: 80}}, {{port: 443}}]\n"
        ));
    };
    program("network: {cidr: 10.0.0.0/8}", "rules", "One");
    project.up_at_once();

    project.write(
        "isthmus.toml",
        "[packages.conformance]\nproperty-names = \"singular\"\nsingle-items = \"lists\"\n",
    );
    package_add(&project, Provider::Conformance).succeeded();
    program("network: [{cidr: 10.0.0.0/8}]", "rule", "One");
    assert_eq!(project.up_at_once().steps("record"), ["update"]);
    project.expect_no_changes();
    program("network: [{cidr: 10.0.0.0/8}]", "rule", "Two");
    assert_eq!(project.up_at_once().steps("record"), ["update"]);
    let [record] = project.resources_in_the_clear(["record"]);
    assert_eq!(record["outputs"]["network"][0]["cidr"], "10.0.0.0/8", "{record}");
    assert_eq!(record["outputs"]["rule"].as_array().map(Vec::len), Some(2), "{record}");
    project.run(&["refresh", "--yes", "--skip-preview", "--expect-no-changes"]).succeeded();
    project.destroy();
}
