//! A stack goes over from the Go bridge to this program and back, and nobody notices.

use crate::harness::{Bridge, Project, Provider};

const PROVIDERS: [Provider; 4] = [Provider::Local, Provider::Random, Provider::Time, Provider::Tls];

const PROGRAM: &str = r"
resources:
  pet:
    type: random:Pet
    properties:
      length: 3
      keepers: {release: '1', '_odd.key': two}
  password:
    type: random:Password
    properties:
      length: 24
      minSpecial: 2
      overrideSpecial: '!#$'
  string:
    type: random:String
    properties:
      length: 12
      special: false
  identifier:
    type: random:Id
    properties:
      byteLength: 12
  number:
    type: random:Integer
    properties: {min: 1, max: 9007199254740993}
  shuffled:
    type: random:Shuffle
    properties:
      inputs: [one, two, three, {'fn::secret': two}]
      resultCount: 3
  key:
    type: tls:PrivateKey
    properties:
      algorithm: ECDSA
      ecdsaCurve: P384
  certificate:
    type: tls:SelfSignedCert
    properties:
      privateKeyPem: ${key.privateKeyPem}
      subjects:
        - commonName: isthmus.example
          organization: Isthmus
      allowedUses: [cert_signing]
      isCaCertificate: true
      validityPeriodHours: 48
  request:
    type: tls:CertRequest
    properties:
      privateKeyPem: ${key.privateKeyPem}
      subjects:
        - commonName: ${pet.id}
      ipAddresses: [127.0.0.1, '::1']
  file:
    type: local:File
    properties:
      filename: '@directory@pet.txt'
      content: ${pet.id}
  secret:
    type: local:SensitiveFile
    properties:
      filename: '@directory@password.txt'
      content: ${password.result}
  deadline:
    type: time:Offset
    properties:
      offsetDays: 7
  rotation:
    type: time:Rotating
    properties:
      rotationDays: 30
  moment:
    type: time:Static
outputs:
  pet: ${pet.id}
  password: ${password.result}
  certificate: ${certificate.certPem}
  deadline: ${deadline.rfc3339}
";

/// What a user does with a stack that someone else has made: look, deploy, refresh, look again.
fn expect_all_as_it_was(project: &Project) {
    project.expect_no_changes();
    project.up().changed_nothing();
    project.refresh().changed_nothing();
    project.expect_no_changes();
}

#[test]
fn a_stack_of_the_go_bridge_goes_on_under_this_program_and_back() {
    let project = Project::bridged_by(Bridge::Go, "from the Go bridge and back", &PROVIDERS);
    project.program(PROGRAM);
    project.up();
    let outputs = project.outputs();

    project.switch_to(Bridge::Ours);
    expect_all_as_it_was(&project);
    assert_eq!(project.outputs(), outputs);

    project.switch_to(Bridge::Go);
    expect_all_as_it_was(&project);
    assert_eq!(project.outputs(), outputs);

    project.switch_to(Bridge::Ours);
    project.destroy();
}

#[test]
fn a_stack_made_and_changed_by_this_program_goes_on_under_the_go_bridge() {
    let project = Project::bridged_by(Bridge::Ours, "to the Go bridge", &PROVIDERS);
    project.program(PROGRAM);
    project.up();
    let changed = PROGRAM.replace("offsetDays: 7", "offsetDays: 8").replace("length: 12", "length: 13");
    project.program(&changed);
    project.up();
    let outputs = project.outputs();

    project.switch_to(Bridge::Go);
    expect_all_as_it_was(&project);
    assert_eq!(project.outputs(), outputs);
    project.destroy();
}
