//! Data sources and functions of providers, called by a program.

use crate::harness::{Project, Provider};

#[test]
fn a_data_source_reads_what_a_resource_has_made() {
    let project = Project::new("data sources", &[Provider::Local, Provider::Random, Provider::Tls]);
    project.program(
        r"
resources:
  key:
    type: tls:PrivateKey
    properties:
      algorithm: ED25519
  pet:
    type: random:Pet
  # Its name is not known before it is there, or else the preview would look for it.
  file:
    type: local:File
    properties:
      filename: '@directory@${pet.id}.txt'
      content: noted
variables:
  public:
    fn::invoke:
      function: tls:getPublicKey
      arguments:
        privateKeyOpenssh: ${key.privateKeyOpenssh}
  note:
    fn::invoke:
      function: local:getFile
      arguments:
        filename: ${file.filename}
outputs:
  same: ${public.publicKeyOpenssh}
  expected: ${key.publicKeyOpenssh}
  algorithm: ${public.algorithm}
  note: ${note.content}
  digest: ${note.contentSha256}
",
    );
    project.up();
    let outputs = project.outputs();
    assert_eq!(outputs["algorithm"], "ED25519", "{outputs}");
    assert_eq!(outputs["same"], outputs["expected"], "{outputs}");
    assert!(outputs["same"].as_str().is_some_and(|key| key.starts_with("ssh-ed25519 ")), "{outputs}");
    assert_eq!(outputs["note"], "noted");
    assert_eq!(outputs["digest"].as_str().map(str::len), Some(64), "{outputs}");
    project.expect_no_changes();
    project.destroy();
}

#[test]
fn a_function_of_a_provider_is_called() {
    let project = Project::new("functions", &[Provider::Local, Provider::Time]);
    project.program(
        r"
variables:
  moment:
    fn::invoke:
      function: time:rfc3339Parse
      arguments:
        timestamp: '2026-02-03T04:05:06Z'
  exists:
    fn::invoke:
      function: local:direxists
      arguments:
        path: '@directory@'
outputs:
  year: ${moment.year}
  second: ${moment.second}
  weekday: ${moment.weekdayName}
  exists: ${exists}
",
    );
    project.up();
    let outputs = project.outputs();
    assert_eq!(outputs["year"], 2026, "{outputs}");
    assert_eq!(outputs["second"], 6, "{outputs}");
    assert_eq!(outputs["weekday"], "Tuesday", "{outputs}");
    assert!(outputs["exists"] == true || outputs["exists"]["result"] == true, "{outputs}");
    project.destroy();
}
