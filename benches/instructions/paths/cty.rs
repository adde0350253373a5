//! The two encodings of values: MessagePack for providers, JSON for state.

use isthmus_cty::json::{from_json, to_json};
use isthmus_cty::msgpack;

use super::{Execution, counted};
use crate::sample::Sample;

pub(super) fn msgpack_encode_small() -> Execution {
    msgpack_encode(Sample::small())
}

pub(super) fn msgpack_encode_large() -> Execution {
    msgpack_encode(Sample::large())
}

pub(super) fn msgpack_decode_small() -> Execution {
    msgpack_decode(Sample::small())
}

pub(super) fn msgpack_decode_large() -> Execution {
    msgpack_decode(Sample::large())
}

pub(super) fn json_write_small() -> Execution {
    json_write(Sample::small())
}

pub(super) fn json_write_large() -> Execution {
    json_write(Sample::large())
}

pub(super) fn json_read_small() -> Execution {
    json_read(Sample::small())
}

pub(super) fn json_read_large() -> Execution {
    json_read(Sample::large())
}

fn msgpack_encode(sample: Sample) -> Execution {
    let (state, own) = (sample.state.clone(), sample.own_type().clone());
    counted(
        move || msgpack::encode(&state, &own),
        |bytes| {
            let bytes = bytes.expect("the state is of its type");
            assert_eq!(msgpack::decode(&bytes, sample.own_type()), Ok(sample.state));
        },
    )
}

fn msgpack_decode(sample: Sample) -> Execution {
    let own = sample.own_type().clone();
    let bytes = msgpack::encode(&sample.state, &own).expect("the state is of its type");
    counted(move || msgpack::decode(&bytes, &own), |decoded| assert_eq!(decoded, Ok(sample.state)))
}

fn json_write(sample: Sample) -> Execution {
    let (state, own) = (sample.state.clone(), sample.own_type().clone());
    counted(
        move || to_json(&state, &own),
        |json| {
            let json = json.expect("the state is of its type");
            assert_eq!(from_json(json.as_bytes(), sample.own_type()), Ok(sample.state));
        },
    )
}

fn json_read(sample: Sample) -> Execution {
    let own = sample.own_type().clone();
    let json = to_json(&sample.state, &own).expect("the state is of its type");
    counted(move || from_json(json.as_bytes(), &own), |read| assert_eq!(read, Ok(sample.state)))
}
