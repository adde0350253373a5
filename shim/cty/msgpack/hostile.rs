//! Hostile bytes: decoding terminates without a panic, and errors contain the position.

use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;

use super::round_trips::{any_type, any_value};
use super::{DecodeReason, decode, encode};
use crate::json::{Json, from_json};
use crate::{MAXIMUM_DEPTH, Type};

proptest! {
    #![proptest_config(ProptestConfig { cases: 2048, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_do_no_harm(own in any_type(), bytes in vec(any::<u8>(), 0..64)) {
        if let Err(error) = decode(&bytes, &own) {
            prop_assert!(error.offset <= bytes.len(), "{error}");
        }
    }

    #[test]
    fn random_items_do_no_harm_at_a_dynamic_position(bytes in vec(any::<u8>(), 0..32), own in any_type()) {
        let json = own.to_json();
        let mut message = vec![0x92, 0xc5];
        message.extend_from_slice(&u16::try_from(json.len()).unwrap().to_be_bytes());
        message.extend_from_slice(json.as_bytes());
        message.extend_from_slice(&bytes);
        if let Err(error) = decode(&message, &Type::Dynamic) {
            prop_assert!(error.offset <= message.len(), "{error}");
        }
    }

    #[test]
    fn random_text_as_json_does_no_harm(own in any_type(), text in "[\\[\\]{}:,\"a1e.\\\\u -]{0,40}") {
        if let Err(error) = Json::parse(text.as_bytes()) {
            prop_assert!(error.offset <= text.len(), "{error}");
        }
        // Either a value or an error.
        let _ = from_json(text.as_bytes(), &own);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_messages_do_no_harm(
        (own, value) in any_type().prop_flat_map(|own| {
            any_value(&own, true).prop_map(move |value| (own.clone(), value))
        }),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        kept in any::<prop::sample::Index>(),
    ) {
        let mut bytes = encode(&value, &own).unwrap();
        for (index, byte) in damage {
            let index = index.index(bytes.len());
            bytes[index] = byte;
        }
        for message in [&bytes[..], &bytes[..kept.index(bytes.len())]] {
            match decode(message, &own) {
                // Decoded values can be encoded, except empty objects and tuples that go-cty
                // accepts.
                Ok(read) => if read.conforms(&own).is_ok() {
                    prop_assert!(encode(&read, &own).is_ok(), "{read:?}");
                },
                Err(error) => prop_assert!(error.offset <= message.len(), "{error}"),
            }
        }
    }
}

#[test]
fn announced_lengths_are_not_trusted() {
    let started = Instant::now();
    for (bytes, own) in [
        (&[0xdd, 0xff, 0xff, 0xff, 0xff][..], Type::list(Type::String)),
        (&[0xdd, 0xff, 0xff, 0xff, 0xff], Type::set(Type::String)),
        (&[0xdf, 0xff, 0xff, 0xff, 0xff], Type::map(Type::String)),
        (&[0xdb, 0xff, 0xff, 0xff, 0xff], Type::String),
        (&[0xc6, 0xff, 0xff, 0xff, 0xff], Type::String),
        (&[0xc9, 0xff, 0xff, 0xff, 0xff, 0x0c], Type::String),
        (&[0x92, 0xc6, 0xff, 0xff, 0xff, 0xff], Type::Dynamic),
    ] {
        assert_eq!(decode(bytes, &own).unwrap_err().reason, DecodeReason::UnexpectedEnd, "{own}");
    }
    // A list of exactly 2^62 elements, as refinements.
    let exact =
        [&[0xc7, 23, 0x0c, 0x83, 1, 0xc2, 5, 0xcf, 0x40][..], &[0; 7], &[6, 0xcf, 0x40], &[0; 7]].concat();
    assert!(!decode(&exact, &Type::list(Type::Bool)).unwrap().is_known());
    assert!(started.elapsed() < Duration::from_secs(1), "it took {:?}", started.elapsed());
}

#[test]
fn every_level_may_announce_as_much_as_follows_without_exhausting_memory() {
    // Each of 250 nested lists has a length of a million elements, for which there are enough
    // bytes.
    let mut own = Type::Bool;
    let mut bytes = Vec::new();
    for _ in 0..250 {
        own = Type::list(own);
        bytes.extend_from_slice(&[0xdd, 0x00, 0x0f, 0x42, 0x40]);
    }
    bytes.resize(bytes.len() + 1_100_000, 0xc1);
    let started = Instant::now();
    assert_eq!(decode(&bytes, &own).unwrap_err().reason, DecodeReason::Required("bool"));
    assert!(started.elapsed() < Duration::from_secs(1), "it took {:?}", started.elapsed());
}

#[test]
fn depth_is_bounded_even_through_dynamic_types() {
    let mut nested = vec![0xc0];
    for _ in 0..MAXIMUM_DEPTH + 10 {
        nested = [&[0x92, 0xc4, 0x09][..], b"\"dynamic\"", &nested].concat();
    }
    assert_eq!(decode(&nested, &Type::Dynamic).unwrap_err().reason, DecodeReason::TooDeep);

    let mut own = Type::Bool;
    for _ in 0..MAXIMUM_DEPTH + 10 {
        own = Type::list(own);
    }
    let bomb = vec![0x91; 1_000_000];
    assert_eq!(decode(&bomb, &own).unwrap_err().reason, DecodeReason::TooDeep);
}

#[test]
fn numbers_that_would_fill_the_memory_are_refused() {
    for text in ["1e999999999", "1e-999999999", "9e99999999999999999999", "1p999999999"] {
        let message = [&[0xd9, u8::try_from(text.len()).unwrap()][..], text.as_bytes()].concat();
        let error = decode(&message, &Type::Number).unwrap_err();
        assert!(matches!(error.reason, DecodeReason::Number(_)), "{text}: {error}");
    }
}
