//! Values that satisfy refinements.

use crate::{Refinements, Type, Value};

/// Limit of an exactly known length up to which a list is resolved to unknown elements. go-cty has
/// none; a length of a few bytes must not reserve gigabytes.
const LONGEST_RESOLVED_LIST: u64 = 1024;

impl Refinements {
    /// Whether an unknown with these refinements may become `value`, whose unknown parts are
    /// ignored. Terraform checks planned unknowns after an apply by this.
    pub fn permits(&self, value: &Value) -> bool {
        match value.inner() {
            Value::Unknown(_) => return true,
            Value::Null => return self.null != Some(false),
            _ if self.null == Some(true) => return false,
            _ => {}
        }
        if let Some(number) = value.as_number() {
            let above = self
                .number_minimum
                .as_ref()
                .is_none_or(|(bound, inclusive)| number > bound || *inclusive && number == bound);
            let below = self
                .number_maximum
                .as_ref()
                .is_none_or(|(bound, inclusive)| number < bound || *inclusive && number == bound);
            return above && below;
        }
        if let Some(text) = value.as_str() {
            return self.string_prefix.as_ref().is_none_or(|prefix| text.starts_with(&**prefix));
        }
        let Some((shortest, longest)) = length_range(value) else { return true };
        self.length_minimum.is_none_or(|minimum| longest >= minimum)
            && self.length_maximum.is_none_or(|maximum| shortest <= maximum)
    }

    /// The only value of type `own` that satisfies these refinements, or a collection of unknown
    /// elements if its length is known: go-cty's forms of such unknowns, which are never encoded as
    /// refined ones.
    pub fn resolve(&self, own: &Type) -> Option<Value> {
        match self.null {
            // An unknown of dynamic type has no refinements.
            _ if matches!(own, Type::Dynamic) => return None,
            None => return None,
            Some(true) => return Some(Value::Null),
            Some(false) => {}
        }
        match own {
            Type::Number => match (&self.number_minimum, &self.number_maximum) {
                (Some((minimum, true)), Some((maximum, true))) if minimum == maximum => {
                    Some(Value::Number(minimum.clone()))
                }
                _ => None,
            },
            Type::List(_) | Type::Set(_) | Type::Map(_) => {
                let length = self.length_maximum?;
                if self.length_minimum.unwrap_or(0) != length {
                    return None;
                }
                let unknowns = |count: u64| (0..count).map(|_| Value::unknown());
                match own {
                    Type::List(_) if length <= LONGEST_RESOLVED_LIST => Some(Value::list(unknowns(length))),
                    // Several elements may turn out equal.
                    Type::Set(_) if length <= 1 => Some(Value::set(unknowns(length))),
                    Type::Map(_) if length == 0 => Some(Value::map::<&str>([])),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// The minimum and maximum length that a collection may have: a set's unknown elements may turn out
/// equal. `None` if it is no collection.
fn length_range(value: &Value) -> Option<(u64, u64)> {
    let count = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
    match value.inner() {
        Value::List(elements) => Some((count(elements.len()), count(elements.len()))),
        Value::Map(elements) => Some((count(elements.len()), count(elements.len()))),
        Value::Set(elements) => {
            let known = elements.iter().filter(|element| element.is_wholly_known()).count();
            let least = known.max(usize::from(!elements.is_empty()));
            Some((count(least), count(elements.len())))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Number;

    fn number(text: &str) -> Number {
        Number::from_decimal(text).unwrap()
    }

    #[test]
    fn bounds_decide_what_an_unknown_may_become() {
        let port = Refinements {
            null: Some(false),
            number_minimum: Some((number("0"), false)),
            number_maximum: Some((number("10"), true)),
            ..Refinements::default()
        };
        let permitted = |text: &str| port.permits(&Value::Number(number(text)));
        assert!(!permitted("0") && permitted("0.5") && permitted("10") && !permitted("10.1"));
        assert!(!port.permits(&Value::Null) && port.permits(&Value::unknown()));

        let name = Refinements { string_prefix: Some("foo-".into()), ..Refinements::default() };
        assert!(name.permits(&"foo-1".into()) && !name.permits(&"foo".into()) && name.permits(&Value::Null));

        let two = Refinements { length_minimum: Some(2), length_maximum: Some(2), ..Refinements::default() };
        assert!(two.permits(&Value::list([true.into(), true.into()])) && !two.permits(&Value::list([])));
        assert!(two.permits(&Value::set(["a".into(), Value::unknown()])));
        assert!(two.permits(&Value::set(["a".into(), Value::unknown(), Value::unknown()])));
        assert!(!two.permits(&Value::set(["a".into(), "b".into(), "c".into()])));
        assert!(!two.permits(&Value::map([("a", Value::Null)])));
        assert!(!Refinements { null: Some(true), ..Refinements::default() }.permits(&true.into()));
    }

    #[test]
    fn unknowns_of_which_all_is_known_are_resolved() {
        let exactly = |length| Refinements {
            null: Some(false),
            length_minimum: Some(length),
            length_maximum: Some(length),
            ..Refinements::default()
        };
        let strings = Type::list(Type::String);
        assert_eq!(exactly(2).resolve(&strings), Some(Value::list([Value::unknown(), Value::unknown()])));
        assert_eq!(exactly(u64::MAX).resolve(&strings), None);
        assert_eq!(exactly(1).resolve(&Type::set(Type::String)), Some(Value::set([Value::unknown()])));
        assert_eq!(exactly(2).resolve(&Type::set(Type::String)), None);
        assert_eq!(exactly(0).resolve(&Type::map(Type::String)), Some(Value::map::<&str>([])));
        assert_eq!(Refinements { null: None, ..exactly(0) }.resolve(&strings), None);
        assert_eq!(
            Refinements { null: Some(true), ..Refinements::default() }.resolve(&strings),
            Some(Value::Null)
        );
        let seven = Some((number("7"), true));
        let exact = Refinements {
            null: Some(false),
            number_minimum: seven.clone(),
            number_maximum: seven,
            ..Refinements::default()
        };
        assert_eq!(exact.resolve(&Type::Number), Some(Value::Number(number("7"))));
    }
}
