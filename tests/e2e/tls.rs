//! Secrets and nested blocks.

use serde_json::Value;

use crate::harness::{Project, Provider};

const CERTIFICATE: &str = r"
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
          organization: Isthmus
          streetAddresses: [1 Canal Street]
      dnsNames: [isthmus.example, www.isthmus.example]
      allowedUses: [digital_signature, server_auth]
      validityPeriodHours: 48
outputs:
  certificate: ${certificate.certPem}
  key: ${key.privateKeyPem}
";

#[test]
fn a_private_key_is_nowhere_in_the_clear() {
    let project = Project::new("secrets", &[Provider::Tls]);
    project.program(CERTIFICATE);
    let created = project.up();
    assert_eq!(
        (created.steps("key"), created.steps("certificate")),
        (vec!["create"], vec!["create"]),
        "{created}"
    );
    assert!(!created.stdout.contains("PRIVATE KEY"), "{created}");

    let outputs = project.outputs();
    let text = |name: &str| outputs[name].as_str().unwrap_or_default().to_owned();
    assert!(text("certificate").starts_with("-----BEGIN CERTIFICATE-----"), "{outputs}");
    // What follows would hold as well if there were no key at all.
    assert!(text("key").contains("PRIVATE KEY"), "{outputs}");

    let export = project.export().to_string();
    assert!(!export.contains("PRIVATE KEY"), "a private key is in the clear in the state\n{export}");
    for property in ["privateKeyPem", "privateKeyOpenssh", "privateKeyPemPkcs8"] {
        let value = project.resource("key")["outputs"][property].clone();
        assert!(is_encrypted(&value), "'{property}' of the key is no secret: {value}");
    }
    let certificate = project.resource("certificate");
    assert!(is_encrypted(&certificate["inputs"]["privateKeyPem"]), "{certificate}");
    assert!(is_encrypted(&certificate["outputs"]["privateKeyPem"]), "{certificate}");
    assert_eq!(certificate["outputs"]["subjects"][0]["organization"], "Isthmus", "{certificate}");
    assert_eq!(
        certificate["outputs"]["subjects"][0]["streetAddresses"][0], "1 Canal Street",
        "{certificate}"
    );

    project.expect_no_changes();
    project.refresh().changed_nothing();
    project.destroy();
}

#[test]
fn a_change_inside_a_nested_block_replaces_only_the_certificate() {
    let project = Project::new("a nested block", &[Provider::Tls]);
    project.program(CERTIFICATE);
    project.up();
    project.program(&CERTIFICATE.replace("organization: Isthmus", "organization: Panama"));
    let replaced = project.up();
    assert_eq!(replaced.steps("key"), ["same"], "{replaced}");
    assert_eq!(
        replaced.steps("certificate"),
        ["create-replacement", "replace", "delete-replaced"],
        "{replaced}"
    );
    assert_eq!(project.resource("certificate")["outputs"]["subjects"][0]["organization"], "Panama");
    project.expect_no_changes();
    project.destroy();
}

/// Whether a value in an exported state is a secret: an object with this key, whose name is fixed by the engine.
fn is_encrypted(value: &Value) -> bool {
    value["4dabf18193072939515e22adb298388d"].is_string() && value["ciphertext"].is_string()
}
