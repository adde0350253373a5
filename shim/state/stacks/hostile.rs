//! Damaged sequences: whatever bytes come, reading ends with a state, or with an error that says where.

use bytes::Bytes;
use proptest::prelude::*;

use super::tests::{plan_records, state_records};
use super::*;

/// What one byte becomes, and how much is cut off.
type Damage = (Vec<(prop::sample::Index, u8)>, Option<prop::sample::Index>);

fn damage() -> impl Strategy<Value = Damage> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6);
    (changes, prop::option::of(any::<prop::sample::Index>()))
}

fn damaged(file: &SequenceFile, (changes, cut): Damage) -> Bytes {
    let mut bytes = file.write();
    for (index, byte) in changes {
        let at = index.index(bytes.len());
        bytes[at] = byte;
    }
    if let Some(cut) = cut {
        bytes.truncate(cut.index(bytes.len()));
    }
    Bytes::from(bytes)
}

fn read(bytes: &Bytes, kind: Kind) -> Result<(), SequenceError> {
    match SequenceFile::read(bytes, kind)? {
        SequenceFile::State(records) => {
            let state = StacksState::read(records)?;
            // What was read can be written, and means the same.
            let again = StacksState::read(state.clone().write())?;
            assert_eq!(again, StacksState { discarded: Vec::new(), ..state });
            Ok(())
        }
        SequenceFile::Plan(records) => StacksPlan::read(records, Some("1.15.0")).map(drop),
    }
}

fn has_a_place(error: &SequenceError) -> bool {
    let text = error.to_string();
    ["record ", "byte ", "at the end"].iter().any(|start| text.starts_with(start))
        && !isthmus_common::error_chain(error).is_empty()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_state_is_read_or_refused_with_its_place(damage in damage()) {
        let bytes = damaged(&SequenceFile::State(state_records()), damage);
        if let Err(error) = read(&bytes, Kind::State) {
            prop_assert!(has_a_place(&error), "{}", error);
        }
    }

    #[test]
    fn a_damaged_plan_is_read_or_refused_with_its_place(damage in damage()) {
        let bytes = damaged(&SequenceFile::Plan(plan_records()), damage);
        if let Err(error) = read(&bytes, Kind::Plan) {
            prop_assert!(has_a_place(&error), "{}", error);
        }
    }

    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let bytes = Bytes::from(bytes);
        let _ = SequenceFile::kind_of(&bytes);
        for kind in [Kind::State, Kind::Plan] {
            if let Err(error) = read(&bytes, kind) {
                prop_assert!(has_a_place(&error), "{}", error);
            }
        }
    }
}
