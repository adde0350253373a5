//! Variables in the paths of a CLI configuration.

use isthmus_common::Environment;

/// Replaces `$NAME` and `${NAME}` by variables' values, or by nothing if they are not set.
pub(super) fn expand(text: &str, environment: &Environment) -> String {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('$') {
        expanded.push_str(before);
        let is_name = |character: char| character == '_' || character.is_ascii_alphanumeric();
        let (name, next) = match behind.strip_prefix('{').and_then(|braced| braced.split_once('}')) {
            Some(braced) => braced,
            None => behind.split_at(behind.find(|character| !is_name(character)).unwrap_or(behind.len())),
        };
        if name.is_empty() {
            expanded.push('$');
        }
        expanded.push_str(environment.text(name).unwrap_or_default());
        rest = next;
    }
    expanded.push_str(rest);
    expanded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_in_a_path() {
        let environment = Environment::from_iter([("HOME", "/h"), ("A_1", "x"), ("EMPTY", "")]);
        for (text, expected) in [
            ("$HOME/.x", "/h/.x"),
            ("${HOME}x$A_1-$A_1", "/hxx-x"),
            ("$MISSING/$EMPTY/y", "//y"),
            ("a$", "a$"),
            ("${HOME", "${HOME"),
            ("no", "no"),
        ] {
            assert_eq!(expand(text, &environment), expected, "{text}");
        }
    }
}
