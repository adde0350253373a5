//! Programs: what they consist of, and texts that YAML or its host would take for something else.

use super::*;
use isthmus_translate::property::secret;

fn resource(key: &str, inputs: Struct) -> ProgramResource {
    ProgramResource {
        key: key.to_owned(),
        name: key.to_owned(),
        token: "random:index/pet:Pet".to_owned(),
        inputs,
        depends_on: Vec::new(),
        provider: None,
        retain_on_delete: false,
        ignore_changes: Vec::new(),
        references: BTreeMap::new(),
    }
}

fn object(members: &[(&str, Property)]) -> Property {
    Property::Struct(members.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
}

#[test]
fn a_program_has_packages_providers_and_resources() {
    let program = Program {
        project: "shop".to_owned(),
        packages: vec![PackageReference {
            name: "random".to_owned(),
            plugin: "terraform-provider",
            plugin_version: "1.4.0".to_owned(),
            parameters: vec!["hashicorp/random".to_owned(), "3.7.2".to_owned()],
        }],
        providers: vec![ExplicitProvider {
            key: "west".to_owned(),
            token: "pulumi:providers:random".to_owned(),
            properties: BTreeMap::from([("region".to_owned(), "$x".to_owned())]),
        }],
        resources: vec![
            resource("a", Struct::from([("length", Property::Number(2.0)), ("unset", Property::Null)])),
            ProgramResource {
                name: "b".to_owned(),
                depends_on: vec!["a".to_owned()],
                provider: Some("west".to_owned()),
                retain_on_delete: true,
                ignore_changes: vec!["disks[0].size".to_owned()],
                references: BTreeMap::from([("prefix".to_owned(), "${a.id}-x".to_owned())]),
                ..resource("random_pet-b", Struct::from([("prefix", secret(Property::from("able-x")))]))
            },
        ],
        outputs: BTreeMap::from([("name".to_owned(), "${a.id}".to_owned())]),
    };
    let written = program.write();
    let expected = r#"name: "shop"
runtime: yaml
packages:
  random:
    source: terraform-provider
    version: 1.4.0
    parameters:
      - "hashicorp/random"
      - "3.7.2"
resources:
  west:
    type: "pulumi:providers:random"
    properties:
      region: "$$x"
  a:
    type: "random:index/pet:Pet"
    properties:
      length: 2
  random_pet-b:
    type: "random:index/pet:Pet"
    name: "b"
    properties:
      prefix: "${a.id}-x"
    options:
      provider: ${west}
      dependsOn:
        - ${a}
      ignoreChanges:
        - "disks[0].size"
      retainOnDelete: true
outputs:
  name: "${a.id}"
"#;
    assert_eq!(written.yaml, expected);
    assert!(written.secrets.is_empty() && written.inexpressible.is_empty());
}

#[test]
fn values_are_literals_in_which_nothing_is_a_reference() {
    let inputs = Struct::from([
        ("text", Property::from("a ${b} $$ \"q\"\n")),
        ("empty", Property::List(Vec::new())),
        ("none", object(&[])),
        ("list", Property::List(vec![object(&[("on", Property::Bool(true))]), Property::from("x")])),
        ("map", object(&[("a.b $c", Property::Number(0.5))])),
    ]);
    let program =
        Program { project: "p".to_owned(), resources: vec![resource("a", inputs)], ..Program::default() };
    let expected = r#"name: "p"
runtime: yaml
resources:
  a:
    type: "random:index/pet:Pet"
    properties:
      text: "a $${b} $$$$ \"q\"\n"
      empty: []
      none: {}
      list:
        -
          "on": true
        - "x"
      map:
        "a.b $$c": 0.5
"#;
    assert_eq!(program.write().yaml, expected);
}

#[test]
fn secrets_are_configuration_and_not_in_the_program() {
    let inputs = Struct::from([
        ("password", secret(Property::from("hush"))),
        ("pins", secret(Property::List(vec![Property::Number(42.0), Property::Bool(true)]))),
    ]);
    let program = Program {
        project: "p".to_owned(),
        resources: vec![resource("a", inputs), resource("a-password", Struct::new())],
        ..Program::default()
    };
    let written = program.write();
    let secrets: Vec<_> =
        written.secrets.iter().map(|secret| (secret.key.as_str(), secret.value.as_str())).collect();
    assert_eq!(secrets, [("a-password-2", "hush"), ("a-pins-0", "42"), ("a-pins-1", "true")]);
    assert!(written.yaml.contains("      password: ${a-password-2}\n"), "{}", written.yaml);
    assert!(written.yaml.contains("        - ${a-pins-0}\n"), "{}", written.yaml);
    assert!(written.yaml.contains("  a-pins-1:\n    type: boolean\n    secret: true\n"), "{}", written.yaml);
    assert!(!written.yaml.contains("hush") && !format!("{written:?}").contains("hush"));
}

#[test]
fn a_key_that_would_be_read_as_something_else_is_a_variable() {
    let long = "k".repeat(1100);
    let map = object(&[
        ("fn::toJSON", Property::from("x")),
        ("FN::${x}", object(&[("<<", Property::Null)])),
        ("fn:x", Property::from("y")),
        (&long, Property::List(vec![object(&[("<<", Property::Bool(true))])])),
    ]);
    let resources = vec![resource("key", Struct::from([("map", map)])), resource("key-3", Struct::new())];
    let yaml = Program { resources, ..Program::default() }.write().yaml;
    let expected = format!(
        r#"name: ""
runtime: yaml
variables:
  key-5: "<<"
  key-4: "FN::$${{x}}"
  key-2: "fn::toJSON"
resources:
  key:
    type: "random:index/pet:Pet"
    properties:
      map:
        ${{key-2}}: "x"
        ${{key-4}}:
          ${{key-5}}: null
        "fn:x": "y"
        ? {long}
        :
          -
            ${{key-5}}: true
  key-3:
    type: "random:index/pet:Pet"
"#
    );
    assert_eq!(yaml, expected);
}

#[test]
fn a_long_key_of_a_resource_stands_on_a_line_of_its_own_and_names_short_secrets() {
    let long = "k".repeat(1100);
    let inputs = Struct::from([("a", secret(Property::from("x"))), ("b", secret(Property::from("y")))]);
    let program = Program { resources: vec![resource(&long, inputs)], ..Program::default() };
    let Written { yaml, secrets, .. } = program.write();
    assert!(yaml.contains(&format!("resources:\n  ? {long}\n  :\n    type: ")), "{yaml}");
    let keys: Vec<_> = secrets.into_iter().map(|secret| secret.key).collect();
    assert_eq!(keys, ["k".repeat(200), format!("{}-2", "k".repeat(200))]);
}

#[test]
fn a_secret_has_the_text_that_the_host_reads_as_its_value() {
    let inputs = Struct::from([
        ("digits", secret(Property::from("1e5"))),
        ("exact", secret(Property::from("12345678901234567890"))),
        ("fraction", secret(object(&[("a", Property::Number(1.5))]))),
        ("zero", secret(Property::Number(-0.0))),
    ]);
    let program = Program { resources: vec![resource("a", inputs)], ..Program::default() };
    let Written { yaml, secrets, .. } = program.write();
    let secrets: Vec<_> =
        secrets.iter().map(|secret| (secret.key.as_str(), secret.value.as_str(), secret.kind)).collect();
    let expected = [
        ("a-digits", "\"1e5\"", Some("string")),
        ("a-exact", "\"12345678901234567890\"", None),
        ("a-fraction-a", "1.5", None),
        ("a-zero", "-0.0", None),
    ];
    assert_eq!(secrets, expected);
    assert!(
        yaml.contains("config:\n  a-digits:\n    type: string\n    secret: true\nresources:\n"),
        "{yaml}"
    );
}
