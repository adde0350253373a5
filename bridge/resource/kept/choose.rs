//! Which of several records is meant.
//!
//! Ids of providers are not always unique: every `random_password` is `none`, `local_file`s of one content share its hash,
//! and during a replacement the old and the new object may have one id. What the engine was last told of each tells them
//! apart, because it sends that again: its inputs in Diff and Update, its outputs in Delete.

use isthmus_proto::property::{Struct, Value};
use isthmus_shim::state::{Place, Saved, Status};
use prost::Message as _;

use super::Told;

/// For what a record is looked for, and what the engine sent of it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sought<'a> {
    /// To compare it; these were its inputs. Of resources with the same inputs any serves, because what is asked is what a
    /// change of the inputs would mean.
    Comparison(&'a Struct),
    /// To change it; these were its inputs.
    Change(&'a Struct),
    /// To delete it; its outputs are among these. A single record is not taken either if they differ: it would be another
    /// resource that is deleted.
    Deletion(&'a Struct),
    /// To show it; nothing but the id is known.
    Lookup,
}

type Candidate = (Place, Saved, Told);

/// Chooses among the records of one id, newest first.
///
/// # Errors
/// The number of records, when several that differ are left.
pub(super) fn choose(mut candidates: Vec<Candidate>, sought: Sought<'_>) -> Result<Option<Candidate>, usize> {
    if candidates.iter().any(|candidate| is_known(&candidate.1)) {
        // What a failed creation left behind the engine does not know; it means the other.
        candidates.retain(|candidate| is_known(&candidate.1));
    }
    let is_alone = candidates.len() == 1;
    let fits = |candidate: &Candidate| match sought {
        Sought::Comparison(inputs) | Sought::Change(inputs) => {
            candidate.2.inputs.as_ref().is_some_and(|told| is_same(told, inputs))
        }
        Sought::Deletion(everything) => {
            candidate.2.outputs.as_ref().is_some_and(|told| does_not_contradict(told, everything))
        }
        Sought::Lookup => true,
    };
    let (fitting, others): (Vec<_>, Vec<_>) = candidates.into_iter().partition(fits);
    let are_inputs_same = matches!(sought, Sought::Comparison(_)) && !fitting.is_empty();
    let left = match sought {
        // Of what was left behind half-made the engine was told nothing.
        Sought::Deletion(_) if fitting.is_empty() => {
            others.into_iter().filter(|(_, _, told)| told.outputs.is_none()).collect()
        }
        Sought::Deletion(_) => fitting,
        // An engine may have put its inputs into another form since; a lone record is the one.
        Sought::Comparison(_) | Sought::Change(_) if fitting.is_empty() => others,
        Sought::Comparison(_) | Sought::Change(_) | Sought::Lookup => fitting,
    };
    let are_alike = left.windows(2).all(|pair| pair[0].1.object.value == pair[1].1.object.value);
    if is_alone || are_inputs_same || are_alike { Ok(left.into_iter().next()) } else { Err(left.len()) }
}

/// Whether a new resource with these inputs could be taken for the saved one, if they had one id.
pub(super) fn is_mistakable(saved: &Saved, inputs: &Struct) -> bool {
    let told = Told::decode(saved.companion.clone()).unwrap_or_default();
    is_known(saved) && told.inputs.is_none_or(|told| is_same(&told, inputs))
}

/// Whether the engine has been told of the resource.
fn is_known(saved: &Saved) -> bool {
    saved.object.status != Status::Damaged
}

/// Whether two bags say the same; a null says nothing.
pub(super) fn is_same(one: &Struct, other: &Struct) -> bool {
    does_contain(one, other) && does_contain(other, one)
}

fn does_contain(whole: &Struct, part: &Struct) -> bool {
    said(part).all(|(name, value)| whole.get(name) == Some(value))
}

/// Whether nothing in `everything` differs from what was told.
fn does_not_contradict(told: &Struct, everything: &Struct) -> bool {
    said(told).all(|(name, value)| everything.get(name).is_none_or(|sent| sent == value))
}

fn said(bag: &Struct) -> impl Iterator<Item = (&str, &Value)> {
    bag.iter().filter(|(_, value)| !value.is_null())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use isthmus_shim::cty::json::Json;
    use isthmus_shim::state::{RecordNumber, SavedObject};

    use super::*;

    fn password(number: i64, length: f64, result: &str) -> Candidate {
        let object = SavedObject {
            value: Json::Object(vec![("result".to_owned(), Json::String(result.to_owned()))]),
            schema_version: 0,
            private: Bytes::new(),
            identity: None,
            status: Status::Ready,
            sensitive_paths: Vec::new(),
            dependencies: Vec::new(),
            create_before_destroy: false,
            provider: String::new(),
            address: None,
        };
        let told = Told {
            inputs: Some(inputs(length)),
            outputs: Some([("length", Value::from(length)), ("result", result.into())].into()),
        };
        let place = Place { number: RecordNumber(number), version: 1 };
        (place, Saved { object, companion: Bytes::new() }, told)
    }

    fn inputs(length: f64) -> Struct {
        [("length", length.into())].into()
    }

    fn chosen(candidates: &[Candidate], sought: Sought<'_>) -> Result<Option<i64>, usize> {
        choose(candidates.to_vec(), sought).map(|found| found.map(|(place, _, _)| place.number.0))
    }

    #[test]
    fn a_lone_record_is_compared_and_changed_whatever_its_inputs_were() {
        let one = [password(1, 8.0, "a")];
        assert_eq!(chosen(&one, Sought::Comparison(&inputs(9.0))), Ok(Some(1)));
        assert_eq!(chosen(&one, Sought::Change(&inputs(9.0))), Ok(Some(1)));
        assert_eq!(chosen(&one, Sought::Lookup), Ok(Some(1)));
        assert_eq!(chosen(&[], Sought::Lookup), Ok(None));
    }

    #[test]
    fn records_of_one_id_are_told_apart_by_their_inputs() {
        let two = [password(2, 9.0, "b"), password(1, 8.0, "a")];
        let mut olds = inputs(8.0);
        olds.insert("keepers", Value::Null);
        assert_eq!(chosen(&two, Sought::Comparison(&olds)), Ok(Some(1)));
        assert_eq!(chosen(&two, Sought::Change(&olds)), Ok(Some(1)));
        assert_eq!(chosen(&two, Sought::Change(&inputs(7.0))), Err(2));
    }

    #[test]
    fn of_records_with_the_same_inputs_any_is_compared_but_none_is_changed() {
        let two = [password(2, 8.0, "b"), password(1, 8.0, "a")];
        assert_eq!(chosen(&two, Sought::Comparison(&inputs(8.0))), Ok(Some(2)));
        assert_eq!(chosen(&two, Sought::Change(&inputs(8.0))), Err(2));
        assert_eq!(chosen(&two, Sought::Lookup), Err(2));
    }

    #[test]
    fn what_is_deleted_has_the_outputs_that_the_engine_was_told() {
        let two = [password(2, 8.0, "b"), password(1, 8.0, "a")];
        let sent = |result: &str| Struct::from([("length", Value::from(8.0)), ("result", result.into())]);
        assert_eq!(chosen(&two, Sought::Deletion(&sent("a"))), Ok(Some(1)));
        assert_eq!(chosen(&two[..1], Sought::Deletion(&sent("a"))), Ok(None), "another resource");
        assert_eq!(chosen(&two, Sought::Deletion(&inputs(8.0))), Err(2));
    }

    #[test]
    fn what_a_failed_creation_left_is_not_meant_where_there_is_another() {
        let mut damaged = password(2, 8.0, "b");
        damaged.1.object.status = Status::Damaged;
        damaged.2.outputs = None;
        let both = [damaged.clone(), password(1, 8.0, "a")];
        assert_eq!(chosen(&both, Sought::Change(&inputs(8.0))), Ok(Some(1)));
        assert_eq!(chosen(&both, Sought::Lookup), Ok(Some(1)));
        assert_eq!(chosen(&[damaged], Sought::Lookup), Ok(Some(2)));
    }

    #[test]
    fn only_the_same_inputs_make_a_resource_mistakable() {
        let mut saved = password(1, 8.0, "a").1;
        let told = Told { inputs: Some(inputs(8.0)), outputs: None };
        saved.companion = Bytes::from(told.encode_to_vec());
        assert!(is_mistakable(&saved, &inputs(8.0)) && !is_mistakable(&saved, &inputs(9.0)));
        saved.object.status = Status::Damaged;
        assert!(!is_mistakable(&saved, &inputs(8.0)), "the engine does not know it");
    }

    #[test]
    fn records_that_are_alike_need_not_be_told_apart() {
        let two = [password(2, 8.0, "a"), password(1, 8.0, "a")];
        assert_eq!(chosen(&two, Sought::Change(&inputs(8.0))), Ok(Some(2)));
        assert_eq!(chosen(&two, Sought::Lookup), Ok(Some(2)));
    }
}
