//! Property bags on the wire: the largest part of most messages of an engine.

use isthmus_proto::property::Struct;
use prost::Message as _;

use super::{Execution, counted};
use crate::sample::Sample;

pub(super) fn decode_small() -> Execution {
    decode(Sample::small())
}

pub(super) fn decode_large() -> Execution {
    decode(Sample::large())
}

pub(super) fn encode_small() -> Execution {
    encode(Sample::small())
}

pub(super) fn encode_large() -> Execution {
    encode(Sample::large())
}

fn decode(sample: Sample) -> Execution {
    let bytes = sample.stored.encode_to_vec();
    counted(move || Struct::decode(&*bytes), |decoded| assert_eq!(decoded.as_ref(), Ok(&sample.stored)))
}

fn encode(sample: Sample) -> Execution {
    let stored = sample.stored.clone();
    counted(
        move || stored.encode_to_vec(),
        |bytes| assert_eq!(Struct::decode(&*bytes).as_ref(), Ok(&sample.stored)),
    )
}
