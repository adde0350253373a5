//! Existence of conversions between types, and the common type of several types.

use crate::Type;

/// Whether a conversion may fail for some values.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Safety {
    NeverFails,
    MayFail,
}

pub(super) fn exists(from: &Type, to: &Type, safety: Safety) -> bool {
    let may_fail = safety == Safety::MayFail;
    match (from, to) {
        (_, Type::Dynamic) | (Type::Number | Type::Bool, Type::String) => true,
        (Type::Dynamic, _) | (Type::String, Type::Number | Type::Bool) => may_fail,
        (Type::Bool, Type::Bool) | (Type::Number, Type::Number) | (Type::String, Type::String) => true,
        (Type::List(from), Type::Set(to)) => may_fail && exists(from, to, safety),
        (Type::List(from) | Type::Set(from), Type::List(to))
        | (Type::Set(from), Type::Set(to))
        | (Type::Map(from), Type::Map(to)) => exists(from, to, safety),
        (Type::Tuple(from), Type::List(to) | Type::Set(to)) => all_exist(from.iter(), to, safety),
        (Type::Object(from), Type::Map(to)) => all_exist(from.attributes.values(), to, safety),
        (Type::Tuple(from), Type::Tuple(to)) => {
            from.len() == to.len() && from.iter().zip(to.iter()).all(|(from, to)| exists(from, to, safety))
        }
        (Type::Object(from), Type::Object(to)) => {
            to.attributes.iter().all(|(name, to_attribute)| match from.attributes.get(name) {
                Some(from_attribute) => exists(from_attribute, to_attribute, safety),
                None => to.optional.contains(name),
            })
        }
        (Type::Map(from), Type::Object(to)) => {
            may_fail
                && to
                    .attributes
                    .iter()
                    .all(|(name, attribute)| exists(from, attribute, safety) || to.optional.contains(name))
        }
        _ => false,
    }
}

/// Whether all of these can become elements of one collection.
fn all_exist<'a>(mut from: impl Iterator<Item = &'a Type> + Clone, element: &Type, safety: Safety) -> bool {
    match element {
        Type::Dynamic => unify(from).is_some(),
        _ => from.all(|from| exists(from, element, safety)),
    }
}

/// Finds a type that all of these convert to without failing; for objects, tuples and collections
/// of one shape, part by part. Dynamic types are ignored unless there are no others.
pub(super) fn unify<'a>(types: impl Iterator<Item = &'a Type> + Clone) -> Option<Type> {
    let known = || types.clone().filter(|one| !matches!(one, Type::Dynamic));
    let Some(first) = known().next() else { return Some(Type::Dynamic) };
    let fits_all = |candidate: &&Type| known().all(|one| exists(one, candidate, Safety::NeverFails));
    if let Some(found) = known().find(fits_all) {
        return Some(found.clone());
    }
    match first {
        Type::List(_) => {
            part_by_part(known(), |one| if let Type::List(part) = one { Some(part) } else { None })
                .map(Type::list)
        }
        Type::Set(_) => {
            part_by_part(known(), |one| if let Type::Set(part) = one { Some(part) } else { None })
                .map(Type::set)
        }
        Type::Map(_) => {
            part_by_part(known(), |one| if let Type::Map(part) = one { Some(part) } else { None })
                .map(Type::map)
        }
        Type::Tuple(parts) => (0..parts.len())
            .map(|index| {
                part_by_part(known(), |one| match one {
                    Type::Tuple(others) if others.len() == parts.len() => others.get(index),
                    _ => None,
                })
            })
            .collect::<Option<Vec<_>>>()
            .map(Type::tuple),
        Type::Object(object) => object
            .attributes
            .keys()
            .map(|name| {
                let part = part_by_part(known(), |one| match one {
                    Type::Object(other) if other.attributes.len() == object.attributes.len() => {
                        other.attributes.get(name)
                    }
                    _ => None,
                })?;
                Some((name.clone(), part))
            })
            .collect::<Option<Vec<_>>>()
            .map(Type::object),
        Type::Bool | Type::Number | Type::String | Type::Dynamic => None,
    }
}

fn part_by_part<'a>(
    types: impl Iterator<Item = &'a Type>,
    part: impl Fn(&'a Type) -> Option<&'a Type>,
) -> Option<Type> {
    let parts: Vec<Type> = types.map(|one| part(one).cloned()).collect::<Option<_>>()?;
    unify(parts.iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unified(types: &[Type]) -> Option<Type> {
        unify(types.iter())
    }

    #[test]
    fn strings_take_numbers_and_booleans_in() {
        assert_eq!(unified(&[Type::Number, Type::String, Type::Bool]), Some(Type::String));
        assert_eq!(unified(&[Type::Number, Type::Bool]), None);
        assert_eq!(unified(&[Type::Dynamic, Type::Bool]), Some(Type::Bool));
        assert_eq!(unified(&[]), Some(Type::Dynamic));
    }

    #[test]
    fn shapes_are_unified_part_by_part() {
        let object = |a: Type, b: Type| Type::object([("a", a), ("b", b)]);
        assert_eq!(
            unified(&[object(Type::Number, Type::String), object(Type::String, Type::Bool)]),
            Some(object(Type::String, Type::String))
        );
        assert_eq!(unified(&[object(Type::Number, Type::Bool), Type::object([("c", Type::Bool)])]), None);
        assert_eq!(
            unified(&[Type::tuple([Type::Number, Type::String]), Type::tuple([Type::String, Type::Bool])]),
            Some(Type::tuple([Type::String, Type::String]))
        );
        assert_eq!(unified(&[Type::list(Type::Number), Type::map(Type::Number)]), None);
    }
}
