//! Choice among the records of one id.
//!
//! Ids of providers are not always unique: every `random_password` is `none`, `local_file`s with
//! equal content share its hash, and during a replacement the old and the new object may have one
//! id. What was last reported of each distinguishes them, because the engine sends it again: inputs
//! in Diff and Update, outputs in Delete. A mismatch also shows that a record is not meant: the
//! engine repeats calls whose answers it did not get, and another object may have the id by then.

use isthmus_proto::property::{Struct, Value};
use isthmus_state::{RecordRef, Saved, Status};

use super::error::Contradiction;
use super::last_reported::{LastReported, is_same, non_null};

/// Why a record is looked up, and what the engine sent of it.
#[derive(Clone, Copy, Debug)]
pub(super) enum LookupPurpose<'a> {
    /// To compare it; these are its old inputs. Among records with equal inputs any one serves,
    /// because the comparison is about inputs.
    Comparison(&'a Struct),
    /// To update it; these are its old inputs.
    Change(&'a Struct),
    /// To delete it; these contain its outputs.
    Deletion(&'a Struct),
    /// To read it; only the id is known.
    Lookup,
}

/// A record and what was last reported of it; except for a lookup, outputs that were never reported
/// are those of the object.
pub(super) type Candidate = (RecordRef, Saved, LastReported);

#[derive(Clone, Debug)]
pub(super) enum Chosen {
    /// The id has no records.
    Nothing,
    One(Box<Candidate>),
    /// The only record, whose inputs differ from those that the engine sent.
    Doubtful(Box<Candidate>, Contradiction),
    /// No record: all differ from what the engine sent.
    Contradicted(Vec<Contradiction>),
    /// This many records that nothing distinguishes.
    Ambiguous(usize),
}

/// Chooses among the records of one id, newest first.
pub(super) fn choose(mut candidates: Vec<Candidate>, purpose: LookupPurpose<'_>) -> Chosen {
    retain_known(&mut candidates);
    if candidates.is_empty() {
        return Chosen::Nothing;
    }
    let is_alone = candidates.len() == 1;
    let fits = |candidate: &Candidate| match purpose {
        LookupPurpose::Comparison(inputs) | LookupPurpose::Change(inputs) => candidate.2.has_inputs(inputs),
        LookupPurpose::Deletion(everything) => {
            candidate.2.versions().any(|reported| reported.contradicted_by(everything).is_empty())
        }
        LookupPurpose::Lookup => true,
    };
    let (fitting, others): (Vec<_>, Vec<_>) = candidates.into_iter().partition(fits);
    let are_inputs_same = matches!(purpose, LookupPurpose::Comparison(_)) && !fitting.is_empty();
    let left = match purpose {
        LookupPurpose::Deletion(everything) if fitting.is_empty() => {
            let of = |(place, _, reported): &Candidate| Contradiction {
                record: Some(place.number),
                properties: reported.contradicted_by(everything),
            };
            return Chosen::Contradicted(others.iter().map(of).collect());
        }
        LookupPurpose::Comparison(inputs) | LookupPurpose::Change(inputs) if fitting.is_empty() => {
            if let [only] = &others[..] {
                let reported = only.2.inputs.as_ref().or(only.2.outputs.as_ref());
                let properties = reported.map(|reported| differing(reported, inputs)).unwrap_or_default();
                if !properties.is_empty() {
                    let difference = Contradiction { record: Some(only.0.number), properties };
                    return Chosen::Doubtful(Box::new(only.clone()), difference);
                }
            }
            // A property more or less may result from another version of isthmus.
            others
        }
        LookupPurpose::Deletion(_)
        | LookupPurpose::Comparison(_)
        | LookupPurpose::Change(_)
        | LookupPurpose::Lookup => fitting,
    };
    let are_alike = left.windows(2).all(|pair| pair[0].1.object.value == pair[1].1.object.value);
    let count = left.len();
    match left.into_iter().next() {
        Some(first) if is_alone || are_inputs_same || are_alike => Chosen::One(Box::new(first)),
        _ => Chosen::Ambiguous(count),
    }
}

/// Drops objects of failed creations, which the engine does not have, if there are others.
pub(super) fn retain_known(candidates: &mut Vec<Candidate>) {
    if candidates.iter().any(|candidate| is_known(&candidate.1)) {
        candidates.retain(|candidate| is_known(&candidate.1));
    }
}

/// Whether a new resource with these inputs would be indistinguishable from the saved one under the
/// same id.
pub(super) fn is_mistakable(saved: &Saved, inputs: &Struct) -> bool {
    let reported = LastReported::is_stored(&saved.companion);
    is_known(saved) && reported.inputs.is_none_or(|reported| is_same(&reported, inputs))
}

/// Whether the resource was reported to the engine.
fn is_known(saved: &Saved) -> bool {
    saved.object.status != Status::Damaged
}

/// The properties whose values differ in two bags. Those that are missing or null in either do not
/// count.
pub(super) fn differing(one: &Struct, other: &Struct) -> Vec<String> {
    let differs =
        |name: &str, value: &Value| other.get(name).is_some_and(|other| !other.is_null() && other != value);
    non_null(one).filter(|(name, value)| differs(name, value)).map(|(name, _)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use isthmus_cty::json::Json;
    use isthmus_state::{RecordNumber, SavedObject};
    use prost::Message as _;

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
            component: None,
        };
        let reported = LastReported {
            inputs: Some(inputs(length)),
            outputs: Some([("length", Value::from(length)), ("result", result.into())].into()),
            ..LastReported::default()
        };
        let place = RecordRef { number: RecordNumber(number), version: 1 };
        (place, Saved { object, companion: Bytes::new() }, reported)
    }

    fn inputs(length: f64) -> Struct {
        [("length", length.into())].into()
    }

    /// The number of the chosen record, or the other outcome.
    fn chosen(candidates: &[Candidate], purpose: LookupPurpose<'_>) -> String {
        let list = |difference: &Contradiction| difference.properties.join(" ");
        match choose(candidates.to_vec(), purpose) {
            Chosen::Nothing => "nothing".to_owned(),
            Chosen::One(one) => one.0.number.0.to_string(),
            Chosen::Doubtful(one, difference) => format!("{}? {}", one.0.number.0, list(&difference)),
            Chosen::Contradicted(all) => {
                format!("not {}", all.iter().map(list).collect::<Vec<_>>().join(", "))
            }
            Chosen::Ambiguous(count) => format!("{count} of them"),
        }
    }

    #[test]
    fn a_lone_record_with_other_inputs_is_doubtful() {
        let one = [password(1, 8.0, "a")];
        assert_eq!(chosen(&one, LookupPurpose::Comparison(&inputs(8.0))), "1");
        assert_eq!(chosen(&one, LookupPurpose::Comparison(&inputs(9.0))), "1? length");
        assert_eq!(chosen(&one, LookupPurpose::Change(&inputs(9.0))), "1? length");
        assert_eq!(chosen(&one, LookupPurpose::Change(&Struct::from([("keepers", Value::from("x"))]))), "1");
        assert_eq!(chosen(&one, LookupPurpose::Lookup), "1");
        assert_eq!(chosen(&[], LookupPurpose::Lookup), "nothing");
    }

    #[test]
    fn a_record_is_still_known_by_what_the_engine_knew_before_the_last_update() {
        let mut one = password(1, 9.0, "b");
        let before = password(1, 8.0, "a").2;
        assert_eq!(one.2.before_update(&inputs(9.0)), [one.2.clone()], "it has had the answer");
        one.2.earlier = vec![before.clone()];
        assert_eq!(one.2.before_update(&inputs(8.0)), [before], "it has not had the answer");
        assert_eq!(one.2.before_update(&inputs(7.0)).len(), 2, "either");
        let sent = |length: f64, result: &str| {
            Struct::from([("length", Value::from(length)), ("result", result.into())])
        };
        let one = [one];
        assert_eq!(chosen(&one, LookupPurpose::Change(&inputs(8.0))), "1");
        assert_eq!(chosen(&one, LookupPurpose::Deletion(&sent(8.0, "a"))), "1");
        assert_eq!(chosen(&one, LookupPurpose::Deletion(&sent(9.0, "b"))), "1");
        assert_eq!(chosen(&one, LookupPurpose::Deletion(&sent(8.0, "b"))), "not length");
    }

    #[test]
    fn records_of_one_id_are_told_apart_by_their_inputs() {
        let two = [password(2, 9.0, "b"), password(1, 8.0, "a")];
        let mut olds = inputs(8.0);
        olds.insert("keepers", Value::Null);
        assert_eq!(chosen(&two, LookupPurpose::Comparison(&olds)), "1");
        assert_eq!(chosen(&two, LookupPurpose::Change(&olds)), "1");
        assert_eq!(chosen(&two, LookupPurpose::Change(&inputs(7.0))), "2 of them");
    }

    #[test]
    fn of_records_with_the_same_inputs_any_is_compared_but_none_is_changed() {
        let two = [password(2, 8.0, "b"), password(1, 8.0, "a")];
        assert_eq!(chosen(&two, LookupPurpose::Comparison(&inputs(8.0))), "2");
        assert_eq!(chosen(&two, LookupPurpose::Change(&inputs(8.0))), "2 of them");
        assert_eq!(chosen(&two, LookupPurpose::Lookup), "2 of them");
    }

    #[test]
    fn what_is_deleted_has_the_outputs_that_the_engine_was_told() {
        let two = [password(2, 8.0, "b"), password(1, 8.0, "a")];
        let sent = |result: &str| Struct::from([("length", Value::from(8.0)), ("result", result.into())]);
        assert_eq!(chosen(&two, LookupPurpose::Deletion(&sent("a"))), "1");
        assert_eq!(chosen(&two[..1], LookupPurpose::Deletion(&sent("a"))), "not result", "another resource");
        assert_eq!(chosen(&two, LookupPurpose::Deletion(&sent("c"))), "not result, result");
        assert_eq!(chosen(&two, LookupPurpose::Deletion(&inputs(8.0))), "2 of them");
    }

    #[test]
    fn what_a_failed_creation_left_is_not_meant_where_there_is_another() {
        let mut damaged = password(2, 8.0, "b");
        damaged.1.object.status = Status::Damaged;
        let both = [damaged.clone(), password(1, 8.0, "a")];
        assert_eq!(chosen(&both, LookupPurpose::Change(&inputs(8.0))), "1");
        assert_eq!(chosen(&both, LookupPurpose::Lookup), "1");
        assert_eq!(chosen(&[damaged], LookupPurpose::Lookup), "2");
    }

    #[test]
    fn only_the_same_inputs_make_a_resource_mistakable() {
        let mut saved = password(1, 8.0, "a").1;
        let reported = LastReported { inputs: Some(inputs(8.0)), ..LastReported::default() };
        saved.companion = Bytes::from(reported.encode_to_vec());
        assert!(is_mistakable(&saved, &inputs(8.0)) && !is_mistakable(&saved, &inputs(9.0)));
        saved.object.status = Status::Damaged;
        assert!(!is_mistakable(&saved, &inputs(8.0)), "the engine does not know it");
    }

    #[test]
    fn records_that_are_alike_need_not_be_told_apart() {
        let two = [password(2, 8.0, "a"), password(1, 8.0, "a")];
        assert_eq!(chosen(&two, LookupPurpose::Change(&inputs(8.0))), "2");
        assert_eq!(chosen(&two, LookupPurpose::Lookup), "2");
    }
}
