//! Parsing and writing of state files.

use isthmus_cty::PathStep;
use proptest::prelude::*;

use super::*;
use crate::addresses::{DeposedKey, InstanceKey, ResourceMode};

/// A file with everything that Terraform and OpenTofu write, in their layout.
const WHOLE: &str = r#"{
  "version": 4,
  "terraform_version": "1.12.6",
  "serial": 18446744073709551615,
  "lineage": "2f1d4ab2-5a1c-7a9e-9d0a-6f1d1f3b1d0e",
  "outputs": {
    "precise": {
      "value": 1234567890123456789012345678901234567890.5,
      "type": "number"
    }
  },
  "resources": [
    {
      "mode": "data",
      "type": "local_file",
      "name": "read",
      "provider": "provider[\"registry.terraform.io/hashicorp/local\"]",
      "instances": [
        {
          "schema_version": 0,
          "attributes": {
            "filename": "x"
          },
          "sensitive_attributes": []
        }
      ]
    },
    {
      "mode": "managed",
      "type": "random_integer",
      "name": "many",
      "provider": "provider[\"registry.opentofu.org/hashicorp/random\"].second",
      "instances": [
        {
          "index_key": 0,
          "schema_version": 9223372036854775807,
          "attributes": {
            "max": 9007199254740993,
            "min": 0.1000000000000000000000000000000000001
          },
          "sensitive_attributes": [],
          "private": "aHVudGVyMg==",
          "dependencies": [
            "data.local_file.read",
            "module.a.random_pet.b"
          ],
          "create_before_destroy": true
        },
        {
          "index_key": 1,
          "status": "tainted",
          "schema_version": 1,
          "attributes": {},
          "sensitive_attributes": []
        },
        {
          "index_key": 1,
          "deposed": "0123cafe",
          "schema_version": 1,
          "attributes": {},
          "sensitive_attributes": []
        }
      ]
    },
    {
      "module": "module.net[\"eu\"].module.inner[2]",
      "mode": "managed",
      "type": "aws_thing",
      "name": "each",
      "instances": [
        {
          "index_key": "a \"b\"",
          "provider": "provider[\"registry.opentofu.org/hashicorp/aws\"].by_region[\"eu\"]",
          "schema_version": 0,
          "attributes": {
            "id": "i",
            "tags": {
              "k": "v"
            },
            "list": [
              "x"
            ]
          },
          "sensitive_attributes": [
            [
              {
                "type": "get_attr",
                "value": "tags"
              },
              {
                "type": "index",
                "value": {
                  "value": "k",
                  "type": "string"
                }
              }
            ],
            [
              {
                "type": "get_attr",
                "value": "list"
              },
              {
                "type": "index",
                "value": {
                  "value": 0,
                  "type": "number"
                }
              }
            ]
          ],
          "skip_destroy": true,
          "identity": {
            "arn": "a"
          },
          "identity_schema_version": 3
        },
        {
          "index_key": "z",
          "provider": "provider[\"registry.opentofu.org/hashicorp/aws\"].by_region[\"us\"]",
          "schema_version": 0,
          "attributes_flat": {
            "id": "i",
            "tags.%": "1",
            "tags.k": "v"
          },
          "sensitive_attributes": []
        }
      ]
    }
  ],
  "check_results": null
}
"#;

fn read(text: &str) -> TfState {
    TfState::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

/// A file with one resource that has this instance.
fn with_instance(instance: &str) -> String {
    format!(
        r#"{{"version":4,"resources":[{{"mode":"managed","type":"a","name":"b","provider":"provider[\"x\"]",
        "instances":[{instance}]}}]}}"#
    )
}

#[test]
fn a_file_with_everything_is_read_and_written_to_the_byte() {
    let state = read(WHOLE);
    assert_eq!(state.write().expect("no collision"), WHOLE);
    assert_eq!(state.serial, u64::MAX);
    assert_eq!(state.instances.len(), 6);
    let [data, first, tainted, deposed, each, flat] = &state.instances[..] else { panic!("six") };
    assert_eq!(data.address.resource.mode, ResourceMode::Data);
    assert_eq!(first.private, Bytes::from("hunter2"));
    assert_eq!(first.schema_version, i64::MAX);
    let Attributes::Json(value) = &first.attributes else { panic!("{first:?}") };
    assert_eq!(value.member("max"), Some(&Json::Number("9007199254740993".to_owned())));
    assert_eq!(first.dependencies, ["data.local_file.read", "module.a.random_pet.b"]);
    assert!(first.create_before_destroy);
    assert_eq!((tainted.status, &tainted.address.deposed), (Status::Damaged, &None));
    assert_eq!(deposed.address.deposed, DeposedKey::parse("0123cafe"));
    assert_eq!(deposed.address.key, Some(InstanceKey::Number(1)));
    assert_eq!(each.address.to_string(), r#"module.net["eu"].module.inner[2].aws_thing.each["a \"b\""]"#);
    assert_eq!(each.sensitive_paths[0].to_string(), r#"tags["k"]"#);
    assert_eq!(each.sensitive_paths[1].last(), Some(&PathStep::Index(0)));
    assert_eq!(each.identity.as_ref().map(|identity| identity.schema_version), Some(3));
    assert!(each.skip_destroy);
    assert!(matches!(&flat.attributes, Attributes::Flat(attributes) if attributes["tags.k"] == "v"));
}

#[test]
fn objects_go_to_the_store_and_back() {
    for instance in read(WHOLE).instances {
        let (saved, flat) = instance.clone().into_saved();
        let (message, beside) = (saved.to_message(), saved.beside());
        let back = SavedObject::from_parts(
            message,
            prost::Message::decode(&prost::Message::encode_to_vec(&beside)[..]).expect("a message"),
        );
        match flat {
            Some(_) => drop(back.expect_err("a flat object has no value yet")),
            None => {
                let back = Instance::new(instance.address.clone(), back.expect("an object"));
                assert_eq!(back, Instance { skip_destroy: false, ..instance });
            }
        }
    }
}

#[test]
fn objects_are_written_in_terraforms_order_whatever_theirs_is() {
    let mut state = read(WHOLE);
    state.instances.reverse();
    assert_eq!(state.write().expect("no collision"), WHOLE);
    state.instances.push(state.instances[0].clone());
    let collision = state.write().expect_err("one address twice");
    assert!(collision.to_string().contains(r#"aws_thing.each["z"]"#), "{collision}");
}

#[test]
fn other_versions_are_refused_with_the_remedy() {
    for version in 1..=3 {
        let text = format!(r#"{{"version":{version},"serial":1,"modules":[]}}"#);
        let error = TfState::parse(text.as_bytes()).expect_err("an old state");
        assert_eq!(error.fault, TfStateFault::Old(version));
        assert!(error.to_string().contains("state pull"), "{error}");
    }
    let error = TfState::parse(br#"{"version":5}"#).expect_err("a new state");
    assert_eq!(error.fault, TfStateFault::New(5));
    let error = TfState::parse(br#"{"version":0}"#).expect_err("no state");
    assert!(matches!(error.fault, TfStateFault::Expected(_)), "{error}");
    let encrypted = br#"{"serial":1,"lineage":"x","encrypted_data":"AAAA","encryption_version":"v0"}"#;
    let error = TfState::parse(encrypted).expect_err("encrypted");
    assert!(error.to_string().contains("tofu state pull"), "{error}");
}

#[test]
fn errors_have_their_position() {
    let at = "resources[0].instances[0].";
    for (instance, place) in [
        (r#"{"attributes":[]}"#, "attributes"),
        (r#"{"attributes_flat":{"a":1}}"#, "attributes_flat.a"),
        (r#"{"schema_version":-1}"#, "schema_version"),
        (r#"{"schema_version":9223372036854775808}"#, "schema_version"),
        (r#"{"schema_version":1.5}"#, "schema_version"),
        (r#"{"private":"$"}"#, "private"),
        (r#"{"status":"broken"}"#, "status"),
        (r#"{"deposed":"FFFFFFFF"}"#, "deposed"),
        (r#"{"index_key":true}"#, "index_key"),
        (r#"{"index_key":-1}"#, "index_key"),
        (r#"{"dependencies":["a.b","?"]}"#, "dependencies[1]"),
        (
            r#"{"sensitive_attributes":[[],[{"type":"get_attr","value":1}]]}"#,
            "sensitive_attributes[1][0].value",
        ),
        (r#"{"sensitive_attributes":[[{"type":"x"}]]}"#, "sensitive_attributes[0][0].type"),
        (r#"{"identity":"x"}"#, "identity"),
        (r#"{"provider":"random"}"#, "provider"),
        (r#"{"create_before_destroy":1}"#, "create_before_destroy"),
    ] {
        let error = TfState::parse(with_instance(instance).as_bytes()).expect_err(instance);
        assert_eq!(error.place, format!("{at}{place}"), "{error}");
    }
    let twice = TfState::parse(with_instance("{},{}").as_bytes()).expect_err("one address twice");
    assert_eq!(twice.to_string(), "resources[0].instances[1]: a.b is in the state twice");
    for (text, place) in [
        ("[]", ""),
        ("{}", ""),
        (r#"{"version":4,"serial":"1"}"#, "serial"),
        (r#"{"version":4,"outputs":[]}"#, "outputs"),
        (r#"{"version":4,"resources":[1]}"#, "resources[0]"),
        (r#"{"version":4,"resources":[{"mode":"other"}]}"#, "resources[0].mode"),
        (r#"{"version":4,"resources":[{"mode":"data","type":"a b"}]}"#, "resources[0].type"),
        (
            r#"{"version":4,"resources":[{"mode":"data","type":"a","name":"b","module":"m"}]}"#,
            "resources[0].module",
        ),
    ] {
        assert_eq!(TfState::parse(text.as_bytes()).expect_err(text).place, place, "{text}");
    }
}

#[test]
fn a_member_that_is_there_twice_is_refused() {
    let of = |text: &str| TfState::parse(text.as_bytes()).expect_err("it is refused").to_string();
    assert_eq!(
        of(r#"{"version":4,"resources":[],"outputs":{},"resources":[]}"#),
        "the member \"resources\" is there twice"
    );
    let instance = r#"{"schema_version":0,"attributes":{},"attributes":{}}"#;
    assert_eq!(
        of(&with_instance(instance)),
        "resources[0].instances[0]: the member \"attributes\" is there twice"
    );
}

#[test]
fn a_path_into_a_set_ends_at_the_set() {
    let path = r#"[{"type":"get_attr","value":"s"},{"type":"index","value":{"value":{"a":1},"type":["object",{"a":"number"}]}},
        {"type":"get_attr","value":"a"}]"#;
    let state = read(&with_instance(&format!(r#"{{"sensitive_attributes":[{path}]}}"#)));
    assert_eq!(state.instances[0].sensitive_paths, [AttributePath(vec![PathStep::attribute("s")])]);
}

#[test]
fn a_state_cut_anywhere_is_refused() {
    for length in 0..WHOLE.trim_end().len() {
        TfState::parse(&WHOLE.as_bytes()[..length]).expect_err("a part of a state");
    }
}

proptest! {
    /// Damaged files never cause a panic, and errors have their position.
    #[test]
    fn a_damaged_state_is_read_or_refused(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)
    ) {
        let mut bytes = WHOLE.as_bytes().to_vec();
        for (index, byte) in changes {
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        match TfState::parse(&bytes) {
            Ok(state) => {
                if let Ok(text) = state.write() {
                    prop_assert_eq!(read(&text).write(), Ok(text));
                }
            }
            Err(error) => prop_assert!(!isthmus_common::error_chain(&error).is_empty()),
        }
    }
}
