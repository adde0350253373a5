//! The order of sets, which Terraform does not define and Pulumi's lists have.
//!
//! A program writes a set as a list, and a comparison of lists shows differences that sets do not
//! have. So a set is shown in the program's order, or in that of the state: unchanged elements stay
//! in place, and an index means the same in program, state and preview.

use isthmus_cty::Value;
use isthmus_proto::property::{Struct, Value as Property};

use super::property::{PropertyView, unwrap};
use super::set_matching::match_elements;
use isthmus_package::shape::{ObjectShape, Shape};

/// `value`, an object of the shape, with its sets ordered like the lists in `like`. For output
/// only: values are compared and sent with Terraform's order.
pub fn in_order_of(value: &Value, shape: &ObjectShape, like: &Struct) -> Value {
    let mut value = value.clone();
    order_object(&mut value, shape, Some(like));
    value
}

fn order_object(value: &mut Value, shape: &ObjectShape, like: Option<&Struct>) {
    let Value::Object(attributes) = value else { return };
    for field in &shape.fields {
        if let Some(value) = attributes.get_mut(&field.terraform) {
            order(value, &field.shape, like.and_then(|like| like.get(&field.pulumi)));
        }
    }
}

fn order(value: &mut Value, shape: &Shape, like: Option<&Property>) {
    match (shape, value) {
        (Shape::Object(object), value) => order_object(value, object, bag_of(like)),
        // A block with dynamic parts has its own type.
        (shape, Value::Dynamic(typed)) if !matches!(shape, Shape::Dynamic) => {
            order(&mut typed.1, shape, like);
        }
        (Shape::List(element), Value::List(values) | Value::Tuple(values)) => {
            let list = list_of(like);
            for (index, value) in values.iter_mut().enumerate() {
                order(value, element, list.get(index));
            }
        }
        (Shape::Map(element), Value::Map(entries) | Value::Object(entries)) => {
            let bag = bag_of(like);
            for (key, value) in entries {
                order(value, element, bag.and_then(|bag| bag.get(key)));
            }
        }
        (
            Shape::FlattenedList(element) | Shape::FlattenedSet(element),
            Value::List(values) | Value::Set(values) | Value::Tuple(values),
        ) => {
            for value in values {
                order(value, element, like);
            }
        }
        (Shape::Set(element), Value::Set(values)) => {
            let list = list_of(like);
            let places = match_elements(list, values, element);
            let mut placed: Vec<(usize, Value)> = places.into_iter().zip(std::mem::take(values)).collect();
            placed.sort_by_key(|(place, _)| *place);
            for (place, mut value) in placed {
                order(&mut value, element, list.get(place));
                values.push(value);
            }
        }
        _ => {}
    }
}

fn bag_of(property: Option<&Property>) -> Option<&Struct> {
    match unwrap(property?) {
        Ok((PropertyView::Object(bag), _)) => Some(bag),
        _ => None,
    }
}

fn list_of(property: Option<&Property>) -> &[Property] {
    match property.map(unwrap) {
        Some(Ok((PropertyView::List(elements), _))) => elements,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use isthmus_cty::Type;
    use isthmus_provider::schema::BlockNesting;

    use super::*;
    use crate::outputs::{OutputOptions, outputs_from_state};
    use crate::property::secret;
    use crate::testing::{attribute, bag, block, computed, list, nested, object, object_value, resource};
    use isthmus_package::shape::{IdRule, ResourceShape};

    fn firewall() -> ResourceShape {
        let port =
            block(vec![attribute("number", Type::Number), computed(attribute("id", Type::String))], vec![]);
        let rule = block(
            vec![attribute("label", Type::String), attribute("zone", Type::set(Type::String))],
            vec![nested("port", BlockNesting::Set, 0, port)],
        );
        resource(block(vec![], vec![nested("rule", BlockNesting::Set, 0, rule)]), IdRule::Missing)
    }

    fn rule(label: &str, ports: &[i64], zones: &[&str]) -> Value {
        let port = |number: &i64| {
            object_value(&[("number", (*number).into()), ("id", Value::string(format!("id of {number}")))])
        };
        object_value(&[
            ("label", label.into()),
            ("zone", Value::set(zones.iter().map(|zone| Value::from(*zone)))),
            ("port", Value::set(ports.iter().map(port))),
        ])
    }

    fn written(label: &str, ports: &[f64], zones: &[&str]) -> Property {
        let ports = ports.iter().map(|number| object(&[("number", Property::Number(*number))]));
        let zones = zones.iter().map(|zone| Property::from(*zone));
        object(&[
            ("label", label.into()),
            ("ports", list(&ports.collect::<Vec<_>>())),
            ("zones", list(&zones.collect::<Vec<_>>())),
        ])
    }

    /// The rules in order, each as its label, ports and zones.
    fn shown(rules: &[Value], like: &Struct) -> Vec<String> {
        let shape = firewall();
        let value = object_value(&[("rule", Value::set(rules.to_vec()))]);
        let ordered = in_order_of(&value, &shape.object, like);
        let options = OutputOptions { keep_secrets: true, secrets: &[], unknowns: true };
        let outputs = outputs_from_state(&ordered, &shape, options).unwrap();
        let text = |value: &Property| format!("{value:?}");
        list_of(outputs.get("rules"))
            .iter()
            .map(|rule| {
                let rule = bag_of(Some(rule)).unwrap();
                let numbers = list_of(rule.get("ports")).iter().map(|port| bag_of(Some(port)).unwrap());
                let numbers: Vec<_> = numbers.map(|port| text(port.get("number").unwrap())).collect();
                let zones: Vec<_> = list_of(rule.get("zones")).iter().map(text).collect();
                format!("{} {} {}", text(rule.get("label").unwrap()), numbers.join(","), zones.join(","))
                    .replace("Number(", "")
                    .replace("String(", "")
                    .replace([')', '"'], "")
            })
            .collect()
    }

    #[test]
    fn a_set_is_shown_as_the_program_wrote_it_at_every_level() {
        let rules = [rule("a", &[22, 80, 443], &["x", "y"]), rule("b", &[1], &[])];
        assert_eq!(shown(&rules, &Struct::default()), ["a 22.0,443.0,80.0 x,y", "b 1.0 "]);
        let program = [written("b", &[1.0], &[]), written("a", &[443.0, 22.0, 80.0], &["y", "x"])];
        assert_eq!(shown(&rules, &bag(&[("rules", list(&program))])), ["b 1.0 ", "a 443.0,22.0,80.0 y,x"]);
        assert_eq!(
            shown(&rules, &bag(&[("rules", secret(list(&program)))])),
            ["b 1.0 ", "a 443.0,22.0,80.0 y,x"],
            "a secret list is a list"
        );
    }

    #[test]
    fn what_is_not_in_the_list_takes_the_place_that_is_left() {
        let program = bag(&[(
            "rules",
            list(&[written("c", &[3.0], &[]), written("b", &[2.0], &[]), written("a", &[1.0], &[])]),
        )]);
        let changed = [rule("a", &[1], &[]), rule("z", &[2], &[]), rule("c", &[3], &[])];
        assert_eq!(shown(&changed, &program), ["c 3.0 ", "z 2.0 ", "a 1.0 "]);
        let more = [rule("a", &[1], &[]), rule("b", &[2], &[]), rule("c", &[3], &[]), rule("d", &[4], &[])];
        assert_eq!(shown(&more, &program), ["c 3.0 ", "b 2.0 ", "a 1.0 ", "d 4.0 "]);
    }
}
