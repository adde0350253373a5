//! Saved objects are written byte for byte as Terraform's own stacks write them.

use prost::Message as _;

use crate::tfplan::{self, path};
use crate::tfstackdata1::{StateResourceInstanceObjectV1, state_resource_instance_object_v1::Status};

#[test]
fn a_ready_object_is_written_and_read_byte_for_byte() {
    let on_the_wire = hex(
        "0a177b226964223a2261222c2274616773223a5b2278225d7d120f0a060a04746167730a0512030a0100180120012a0f6e756c6c\
         5f7265736f757263652e623a3070726f76696465725b2272656769737472792e7465727261666f726d2e696f2f6861736869636f\
         72702f6e756c6c225d42097b226b223a2276227d",
    );
    let step = |selector| path::Step { selector: Some(selector) };
    let object = StateResourceInstanceObjectV1 {
        value_json: r#"{"id":"a","tags":["x"]}"#.into(),
        sensitive_paths: vec![tfplan::Path {
            steps: vec![
                step(path::step::Selector::AttributeName("tags".to_owned())),
                step(path::step::Selector::ElementKey(tfplan::DynamicValue { msgpack: vec![0].into() })),
            ],
        }],
        schema_version: 1,
        status: Status::Ready.into(),
        dependencies: vec!["null_resource.b".to_owned()],
        create_before_destroy: false,
        provider_config_addr: r#"provider["registry.terraform.io/hashicorp/null"]"#.to_owned(),
        provider_specific_data: r#"{"k":"v"}"#.into(),
    };
    assert_eq!(object.encode_to_vec(), on_the_wire);
    assert_eq!(StateResourceInstanceObjectV1::decode(on_the_wire.as_slice()).unwrap(), object);
}

#[test]
fn a_damaged_object_is_written_and_read_byte_for_byte() {
    let on_the_wire = hex("0a027b7d2002");
    let object = StateResourceInstanceObjectV1 {
        value_json: "{}".into(),
        status: Status::Damaged.into(),
        ..Default::default()
    };
    assert_eq!(object.encode_to_vec(), on_the_wire);
    assert_eq!(StateResourceInstanceObjectV1::decode(on_the_wire.as_slice()).unwrap(), object);
}

fn hex(digits: &str) -> Vec<u8> {
    digits
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}
