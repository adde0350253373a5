//! Numbers in results that lose precision on their way to a program.
//!
//! A resource's state has its numbers exactly. Results of invokes have no state, so that only a
//! warning is possible.

use std::convert::Infallible;

use isthmus_cty::{AttributePath, Number, Value};

/// The first integer that a program gets with other digits.
pub(super) fn lost_in(result: &Value) -> Option<AttributePath> {
    let mut found = None;
    let walked = result.walk(&mut |path, part| {
        if let Value::Number(number) = part
            && found.is_none()
            && number.is_integer()
            && Number::from_f64_exact(number.as_f64()).as_ref() != Some(number)
        {
            found = Some(path.clone());
        }
        Ok::<_, Infallible>(found.is_none())
    });
    match walked {
        Ok(()) => found,
        Err(never) => match never {},
    }
}

/// The warning about it. `place` is the property's name, or "the result".
pub(super) fn warning(place: &str, of: &str) -> String {
    format!(
        "{place} of {of} has more digits than a number in a program holds, so the last ones are lost; take care where it is \
         used"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Value {
        Value::Number(Number::from_decimal(text).expect("a number"))
    }

    #[test]
    fn whole_numbers_that_no_double_holds_are_found() {
        for (text, is_lost) in [
            ("9007199254740993", true),
            ("9007199254740992", false),
            ("123456789012345678901234567890", true),
            ("1e20", false),
            ("0.1", false),
            ("-9007199254740993", true),
        ] {
            assert_eq!(lost_in(&number(text)).is_some(), is_lost, "{text}");
        }
        let nested = Value::List(vec![number("1"), number("9007199254740993")]);
        assert_eq!(lost_in(&nested).map(|path| path.to_string()).as_deref(), Some("[1]"));
    }
}
