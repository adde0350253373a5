//! Property bags as they are shown, masked by the engine's marks and by their shape.

use isthmus_proto::property::{Struct, Value as Property};

use super::{Masks, Shown, mark_what_may_be_secret};
use isthmus_package::shape::ObjectShape;
use isthmus_translate::meta::META_KEY;
use isthmus_translate::property::number_to_json;
use isthmus_translate::property::{PropertyView, classify};
use isthmus_translate::raw_state::DELTA_KEY;

/// A bag of properties. What only serves to rebuild the state is left out.
pub fn shown_bag(bag: &Struct, shape: &ObjectShape, masks: &Masks) -> Shown {
    let mut marked = bag.clone();
    marked.remove(META_KEY);
    marked.remove(DELTA_KEY);
    mark_what_may_be_secret(&mut marked, shape);
    object(&marked, masks)
}

fn object(bag: &Struct, masks: &Masks) -> Shown {
    Shown::Object(bag.iter().map(|(name, value)| (masks.redacted(name), property(value, masks))).collect())
}

fn property(value: &Property, masks: &Masks) -> Shown {
    // What is malformed may be a secret.
    let Ok(view) = classify(value) else { return Shown::Secret };
    match view {
        PropertyView::Null => Shown::Null,
        PropertyView::Bool(value) => Shown::Bool(value),
        PropertyView::Number(number) => masks.number(number_to_json(number).to_string()),
        PropertyView::String(text) => masks.text(text),
        PropertyView::List(elements) => {
            Shown::List(elements.iter().map(|element| property(element, masks)).collect())
        }
        PropertyView::Object(bag) => object(bag, masks),
        PropertyView::Unknown | PropertyView::Output { value: None, .. } => Shown::Unknown(String::new()),
        PropertyView::Secret(_) | PropertyView::Output { secret: true, .. } => Shown::Secret,
        PropertyView::Output { value: Some(inner), .. } => property(inner, masks),
        PropertyView::Asset { .. } => Shown::text("(asset)"),
        PropertyView::Archive { .. } => Shown::text("(archive)"),
        PropertyView::ResourceReference { urn, .. } => masks.text(urn),
        PropertyView::ByteString(base64) => Shown::Withheld(base64.len() / 4 * 3),
    }
}

#[cfg(test)]
mod tests {
    use isthmus_known_secrets::KnownSecrets;

    use super::*;
    use crate::transcript::Side;
    use isthmus_translate::property::{output, secret, unknown};

    #[test]
    fn marks_are_obeyed_at_every_depth_and_the_state_is_left_out() {
        let hidden = || Property::from("hunter2");
        let bag = Struct::from([
            ("a", secret(hidden())),
            ("b", Property::List(vec![output(Some(hidden()), true, vec![]), unknown()])),
            ("c", Property::Struct(Struct::from([("d", output(Some(Property::from(1.0)), false, vec![]))]))),
            (META_KEY, hidden()),
            (DELTA_KEY, hidden()),
        ]);
        let mut lines = Vec::new();
        shown_bag(&bag, &ObjectShape::default(), &Masks::new(KnownSecrets::default())).add_lines(
            Side::Pulumi,
            0,
            &mut lines,
        );
        assert_eq!(lines, ["a: [secret]", "b:", "  - [secret]", "  - [unknown]", "c:", "  d: 1"]);
    }
}
