//! The property bag on the wire: against prost's own type as the oracle, and against senders with bad intentions.

use std::collections::BTreeMap;
use std::thread;

use bytes::{Buf, Bytes};
use proptest::prelude::*;
use prost::Message;
use prost::encoding::encode_varint;

use super::{INDEXED_FROM, ListValue, MAX_DEPTH, Struct, Value};
use crate::pulumirpc::{CheckRequest, ConstructRequest};

#[test]
fn a_bag_keeps_the_order_in_which_its_properties_came() {
    let bag = sample();
    let decoded = Struct::decode(bag.encode_to_vec().as_slice()).unwrap();
    let names: Vec<&str> = decoded.keys().collect();
    assert_eq!(names, ["zone", "count", "", "enabled", "nothing", "tags", "nested"]);
    assert_eq!(decoded, bag);
}

#[test]
fn a_value_without_a_kind_is_null() {
    assert_eq!(Value::decode(Bytes::new()).unwrap(), Value::Null);
    // One property `a` without a value, one list element without a kind.
    assert_eq!(Struct::decode(&b"\x0a\x03\x0a\x01a"[..]).unwrap(), Struct::from([("a", Value::Null)]));
    assert_eq!(ListValue::decode(&b"\x0a\x00"[..]).unwrap().values, [Value::Null]);
}

#[test]
fn a_property_that_comes_twice_is_replaced_in_its_place() {
    let first = Struct::from([("a", Value::from(1.0)), ("b", Value::from("b"))]);
    let mut bytes = first.encode_to_vec();
    Struct::from([("a", Value::from("again"))]).encode(&mut bytes).unwrap();

    let decoded = Struct::decode(bytes.as_slice()).unwrap();
    let properties: Vec<_> = decoded.iter().collect();
    assert_eq!(properties, [("a", &Value::from("again")), ("b", &Value::from("b"))]);
}

#[test]
fn unknown_fields_are_skipped_at_every_level() {
    // A varint, eight bytes, a text, four bytes, and a group with a group inside, all of field 9 and above.
    let unknown = b"\x48\x96\x01\x49\x01\x02\x03\x04\x05\x06\x07\x08\x4a\x02hi\x4d\x01\x02\x03\x04\x4b\x53\x50\x01\x54\x4c";
    let value = [unknown, Value::from("x").encode_to_vec().as_slice()].concat();
    let list = [delimited(1, &value).as_slice(), unknown].concat();
    let list_value = [unknown, delimited(6, &list).as_slice()].concat();
    let entry = [unknown, delimited(1, b"list").as_slice(), delimited(2, &list_value).as_slice()].concat();
    let bag = [unknown, delimited(1, &entry).as_slice(), unknown].concat();

    let decoded = Struct::decode(bag.as_slice()).unwrap();
    assert_eq!(decoded, Struct::from([("list", vec![Value::from("x")].into())]));
    assert_eq!(prost_types::Struct::decode(bag.as_slice()).unwrap(), oracle_struct(&decoded));
}

#[test]
fn not_a_number_and_infinities_pass_through_bit_by_bit() {
    for bits in
        [f64::NAN.to_bits() | 7, f64::INFINITY.to_bits(), f64::NEG_INFINITY.to_bits(), (-0.0f64).to_bits()]
    {
        let value = Value::Number(f64::from_bits(bits));
        let decoded = Value::decode(value.encode_to_vec().as_slice()).unwrap();
        assert_eq!(decoded.as_f64().map(f64::to_bits), Some(bits));
    }
}

#[test]
fn bags_are_equal_in_whichever_order_they_are() {
    for count in [3, 10 * INDEXED_FROM] {
        let forth: Struct =
            (0..count).map(|number| (number.to_string(), Value::from(number as f64))).collect();
        let back: Struct = forth.clone().into_iter().rev().collect();
        assert_eq!(forth, back);

        let mut other = back.clone();
        other.insert("0", "other");
        assert_ne!(forth, other);
        other.remove("0");
        assert_ne!(forth, other);
        // Removing drops the index of names; equality must not depend on it.
        other.insert("0", 0.0);
        assert_eq!(other, forth);
    }
}

#[test]
fn names_are_found_however_many_there_are() {
    let mut bag = Struct::new();
    for number in 0..3 * INDEXED_FROM {
        assert_eq!(bag.insert(number.to_string(), number as f64), None);
    }
    assert_eq!(bag.insert("100", true), Some(Value::from(100.0)));
    assert_eq!(bag.remove("50"), Some(Value::from(50.0)));
    assert_eq!(bag.remove("50"), None);
    assert_eq!(bag.insert("50", "last"), None);

    assert_eq!(bag.len(), 3 * INDEXED_FROM);
    assert_eq!(bag.keys().last(), Some("50"));
    assert_eq!(bag.keys().position(|name| name == "100"), Some(99));
    for number in 0..3 * INDEXED_FROM {
        let expected = match number {
            50 => Value::from("last"),
            100 => Value::from(true),
            _ => Value::from(number as f64),
        };
        assert_eq!(bag.get(&number.to_string()), Some(&expected));
    }
    assert!(!bag.contains_key("absent"));
}

/// A bag whose names are compared each with each would take minutes here.
#[test]
fn a_bag_of_very_many_names_is_decoded_in_one_go() {
    let bag: Struct = (0..200_000).map(|number| (format!("property{number}"), Value::Null)).collect();
    let decoded = Struct::decode(bag.encode_to_vec().as_slice()).unwrap();
    assert_eq!(decoded.len(), 200_000);
    assert_eq!(decoded, bag);
}

/// Three quarters of what a worker has: the rest is for whoever calls.
const STACK: usize = 3 << 19;

#[test]
fn the_deepest_bag_fits_a_workers_stack() {
    let worker = thread::Builder::new().stack_size(STACK).spawn(|| {
        for kind in [nested_bags, nested_lists] {
            // The outermost bag comes from the request.
            let request = delimited(3, &delimited(1, &delimited(2, &kind(MAX_DEPTH - 1))));
            let decoded = CheckRequest::decode(request.as_slice()).unwrap();
            let copy = decoded.clone();
            assert!(copy == decoded);
            assert_eq!(depth(&copy), MAX_DEPTH);
            // Every name is written, also an empty one; hence once more around.
            let written = copy.encode_to_vec();
            assert!(CheckRequest::decode(written.as_slice()).unwrap() == decoded);
            assert!(!format!("{decoded:?}").is_empty());
        }
    });
    worker.unwrap().join().unwrap();
}

#[test]
fn a_bag_that_is_nested_any_deeper_is_an_error() {
    let worker = thread::Builder::new().stack_size(STACK).spawn(|| {
        for levels in [MAX_DEPTH, 10 * MAX_DEPTH, 1000 * MAX_DEPTH] {
            for kind in [nested_bags, nested_lists] {
                let request = delimited(3, &delimited(1, &delimited(2, &kind(levels))));
                let error = CheckRequest::decode(request.as_slice()).unwrap_err();
                assert!(error.to_string().contains("1000 levels"), "{error}");
            }
        }
    });
    worker.unwrap().join().unwrap();
}

#[test]
fn a_value_and_a_list_on_their_own_are_as_deep_as_a_bag() {
    let in_a_request = |value: &[u8]| ConstructRequest::decode(delimited(30, value).as_slice());
    assert!(in_a_request(&nested_bags(MAX_DEPTH)).is_ok());
    assert!(in_a_request(&nested_bags(MAX_DEPTH + 1)).is_err());
    assert!(ListValue::decode(delimited(1, &nested_lists(MAX_DEPTH - 1)).as_slice()).is_ok());
    assert!(ListValue::decode(delimited(1, &nested_lists(MAX_DEPTH)).as_slice()).is_err());
}

#[test]
fn a_length_beyond_the_message_is_an_error() {
    for length in [2, 1 << 20, 1 << 31, 1 << 40, u64::MAX] {
        for tag in [1, 3, 5, 6, 9] {
            let mut field = vec![tag << 3 | 2];
            encode_varint(length, &mut field);
            field.push(0);
            for bytes in [field.clone(), delimited(1, &field), delimited(1, &delimited(2, &field))] {
                let outcome = Struct::decode(bytes.as_slice());
                let inside_a_message = Struct::decode(Bytes::from(bytes.clone()).chain(Bytes::new()));
                assert!(outcome.is_err(), "{bytes:x?} is {outcome:?}");
                assert_eq!(outcome, inside_a_message);
            }
        }
    }
}

#[test]
fn groups_are_skipped_without_a_call_for_each() {
    let opened = vec![0x4b; 1_000_000];
    assert!(Struct::decode(opened.as_slice()).is_err());
    let closed = [opened, vec![0x4c; 1_000_000]].concat();
    assert_eq!(Struct::decode(closed.as_slice()).unwrap(), Struct::new());
    assert!(Struct::decode(&b"\x4b\x54"[..]).is_err(), "the end of another group");
    assert!(Struct::decode(&b"\x4c"[..]).is_err(), "an end without a beginning");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_again(bag in bags(".{0,6}"), split in any::<prop::sample::Index>()) {
        let written = bag.encode_to_vec();
        prop_assert_eq!(written.len(), bag.encoded_len());
        let in_one_piece = Struct::decode(written.as_slice()).unwrap();
        prop_assert_eq!(in_one_piece.iter().collect::<Vec<_>>(), bag.iter().collect::<Vec<_>>());

        let (front, back) = written.split_at(split.index(written.len() + 1));
        prop_assert_eq!(&Struct::decode(front.chain(back)).unwrap(), &bag);
    }

    /// Names are never empty here: prost leaves those out of an entry, Go and we write them.
    #[test]
    fn prost_writes_and_reads_the_same(bag in bags(".{1,6}")) {
        let bag = sorted(bag);
        let oracle = oracle_struct(&bag);
        prop_assert_eq!(bag.encode_to_vec(), oracle.encode_to_vec());
        prop_assert_eq!(&Struct::decode(oracle.encode_to_vec().as_slice()).unwrap(), &bag);
        prop_assert_eq!(&prost_types::Struct::decode(bag.encode_to_vec().as_slice()).unwrap(), &oracle);
    }

    #[test]
    fn prost_judges_damaged_bags_the_same(
        bag in bags(".{0,4}"),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = bag.encode_to_vec();
        for (place, byte) in damage {
            if !bytes.is_empty() {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
        }
        let oracle = prost_types::Struct::decode(bytes.as_slice()).ok().map(from_oracle);
        match Struct::decode(bytes.as_slice()) {
            // Compared as texts, because damage makes numbers that are not equal to themselves.
            Ok(bag) => prop_assert_eq!(format!("{:?}", Some(sorted(bag))), format!("{oracle:?}")),
            // prost does not look at the wire type of a map's entry, and takes anything for one.
            Err(error) if error.to_string().contains("invalid wire type") => {}
            Err(error) => prop_assert!(oracle.is_none(), "{error}, but prost reads {oracle:?}"),
        }
    }
}

fn sample() -> Struct {
    Struct::from([
        ("zone", Value::from("eu")),
        ("count", Value::from(3.0)),
        ("", Value::from("no name")),
        ("enabled", Value::from(false)),
        ("nothing", Value::Null),
        ("tags", Value::from(vec![Value::from("a"), Value::Null, vec![Value::from(true)].into()])),
        ("nested", Value::from(Struct::from([("empty", Struct::new().into())]))),
    ])
}

/// Bags with names of a pattern, some levels deep.
fn bags(names: &'static str) -> impl Strategy<Value = Struct> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        prop::num::f64::ANY
            .prop_filter("not equal to itself", |number| !number.is_nan())
            .prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        "[a-z]{120,140}".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((names, inner), 0..6).prop_map(|entries| Struct::from_iter(entries).into()),
        ]
    });
    prop::collection::vec((names, value), 0..8).prop_map(Struct::from_iter)
}

/// The same bag in the order that prost writes.
fn sorted(bag: Struct) -> Struct {
    let properties: BTreeMap<String, Value> = bag.into_iter().collect();
    properties.into_iter().map(|(name, value)| (name, sorted_value(value))).collect()
}

fn sorted_value(value: Value) -> Value {
    match value {
        Value::Struct(bag) => sorted(bag).into(),
        Value::List(values) => Value::List(values.into_iter().map(sorted_value).collect()),
        plain => plain,
    }
}

fn oracle_struct(bag: &Struct) -> prost_types::Struct {
    prost_types::Struct {
        fields: bag.iter().map(|(name, value)| (name.to_owned(), oracle_value(value))).collect(),
    }
}

fn oracle_value(value: &Value) -> prost_types::Value {
    use prost_types::value::Kind;

    let kind = match value {
        Value::Null => Kind::NullValue(0),
        Value::Bool(truth) => Kind::BoolValue(*truth),
        Value::Number(number) => Kind::NumberValue(*number),
        Value::String(text) => Kind::StringValue(text.clone()),
        Value::List(values) => {
            Kind::ListValue(prost_types::ListValue { values: values.iter().map(oracle_value).collect() })
        }
        Value::Struct(bag) => Kind::StructValue(oracle_struct(bag)),
    };
    prost_types::Value { kind: Some(kind) }
}

fn from_oracle(oracle: prost_types::Struct) -> Struct {
    oracle.fields.into_iter().map(|(name, value)| (name, from_oracle_value(value))).collect()
}

fn from_oracle_value(value: prost_types::Value) -> Value {
    use prost_types::value::Kind;

    match value.kind {
        None | Some(Kind::NullValue(_)) => Value::Null,
        Some(Kind::BoolValue(truth)) => truth.into(),
        Some(Kind::NumberValue(number)) => number.into(),
        Some(Kind::StringValue(text)) => text.into(),
        Some(Kind::ListValue(list)) => Value::List(list.values.into_iter().map(from_oracle_value).collect()),
        Some(Kind::StructValue(bag)) => from_oracle(bag).into(),
    }
}

fn delimited(tag: u32, content: &[u8]) -> Vec<u8> {
    let mut field = Vec::new();
    prost::encoding::encode_key(tag, prost::encoding::WireType::LengthDelimited, &mut field);
    encode_varint(content.len() as u64, &mut field);
    field.extend_from_slice(content);
    field
}

/// A value that is this many bags inside each other, all properties without a name.
fn nested_bags(levels: usize) -> Vec<u8> {
    nested(levels, &[1, 2, 5])
}

/// A value that is this many lists inside each other.
fn nested_lists(levels: usize) -> Vec<u8> {
    nested(levels, &[1, 6])
}

/// Repeats the fields, given from the inside out, around each other; written from the end to the beginning, so that
/// nothing is moved. The innermost message is empty.
fn nested(levels: usize, fields: &[u8]) -> Vec<u8> {
    let (innermost, outer_fields) = fields.split_last().unwrap();
    let mut backwards: Vec<u8> = vec![0, innermost << 3 | 2];
    for _ in 1..levels {
        for field in outer_fields.iter().rev().chain([innermost]) {
            let mut prefix = vec![field << 3 | 2];
            encode_varint(backwards.len() as u64, &mut prefix);
            backwards.extend(prefix.iter().rev());
        }
    }
    backwards.reverse();
    backwards
}

/// How many bags and lists of the request's inputs lie inside each other, along the first of each.
fn depth(request: &CheckRequest) -> usize {
    let mut levels = 1;
    let mut value = request.news.as_ref().and_then(|bag| bag.values().next());
    while let Some(inner) = value {
        value = match inner {
            Value::Struct(bag) => bag.values().next(),
            Value::List(values) => values.first(),
            _ => break,
        };
        levels += 1;
    }
    levels
}
