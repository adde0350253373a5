//! Case conversion: from `snake_case` to both kinds of camel case, and the one reverse rule that
//! needs no schema.
//!
//! Property names and type names follow different rules on purpose. A property name changes only an
//! ASCII letter after an underscore and keeps underscores at its edges, so that most names can be
//! reversed; a type name drops every underscore and hyphen, which tokens must not contain.

/// The Pulumi property name of Terraform's `name`, without pluralization.
///
/// An underscore after the first other character is dropped, and an ASCII lower-case letter after
/// it is capitalized. Leading underscores stay; trailing ones become one. Characters that Pulumi
/// rejects in names (white space, unprintable ones) count as underscores.
pub(crate) fn property_name(name: &str) -> String {
    let mut result = String::with_capacity(name.len());
    let mut started = false;
    let mut raise = false;
    for character in name.chars() {
        let is_printable = character.is_ascii_graphic() || character.is_alphanumeric();
        let character = if is_printable { character } else { '_' };
        if character == '_' && started {
            raise = true;
            continue;
        }
        started |= character != '_';
        result.push(if raise { character.to_ascii_uppercase() } else { character });
        raise = false;
    }
    if raise || (!started && !name.is_empty()) {
        // For a name of underscores only, the last one counts twice.
        result.push('_');
    }
    result
}

/// Whether generated code can have `name` as a name and as nothing else: letters, digits, underscores, hyphens and dollar
/// signs. Some generators write names of properties into code as they are.
pub fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|character| character.is_alphanumeric() || matches!(character, '_' | '-' | '$'))
}

/// The Terraform name that a reader of state without a schema derives from `name`.
///
/// This rule is part of the state format, which lists the Terraform names of properties that do not
/// follow it.
pub fn pulumi_to_terraform(name: &str) -> String {
    let mut result = String::with_capacity(name.len() + 4);
    let mut written = 0;
    for (index, byte) in name.bytes().enumerate().filter(|(_, byte)| byte.is_ascii_uppercase()) {
        result.push_str(&name[written..index]);
        if index > 0 {
            result.push('_');
        }
        result.push(char::from(byte.to_ascii_lowercase()));
        written = index + 1;
    }
    result.push_str(&name[written..]);
    result
}

/// `name` as a type name: `access_key-pair` becomes `AccessKeyPair`.
pub fn upper_camel(name: &str) -> String {
    upper_first(&camel(name))
}

/// `name` as a function name: `parse_arn` becomes `parseArn`. The first letter is unchanged.
/// Characters that tokens must not contain count as hyphens.
pub(crate) fn camel(name: &str) -> String {
    let is_allowed = |character: &char| character.is_alphanumeric() || matches!(character, '_' | '-' | '.');
    let allowed: String =
        name.chars().map(|character| if is_allowed(&character) { character } else { '-' }).collect();
    join_raised(&join_raised(&allowed, '_'), '-')
}

/// Spells out a leading digit, which no token may start with: `2Res` becomes `TwoRes`.
pub(crate) fn spell_leading_digit(name: &str) -> String {
    const DIGITS: [&str; 10] =
        ["Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine"];
    let mut rest = name.chars();
    let spelled =
        rest.next().and_then(|first| first.to_digit(10)).and_then(|digit| DIGITS.get(digit as usize));
    match spelled {
        Some(word) => format!("{word}{}", upper_first(rest.as_str())),
        None => name.to_owned(),
    }
}

/// Capitalizes the first letter, if it has a single upper-case form.
pub fn upper_first(text: &str) -> String {
    change_first(text, upper)
}

/// Lower-cases the first letter, if it has a single lower-case form.
pub fn lower_first(text: &str) -> String {
    change_first(text, |character| single(character.to_lowercase(), character))
}

/// `name` as part of a nested type's name: capitalizes each word, where words end at hyphens and
/// spaces only: `3scale` becomes `3Scale` and `foo_bar` becomes `Foo_bar`.
pub fn title(name: &str) -> String {
    let mut raise = true;
    name.chars()
        .map(|character| {
            if character == '-' || character.is_whitespace() {
                raise = true;
                character
            } else if raise && character.is_alphabetic() {
                raise = false;
                upper(character)
            } else {
                character
            }
        })
        .collect()
}

fn join_raised(name: &str, delimiter: char) -> String {
    let mut parts = name.split(delimiter);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |joined, part| joined + &upper_first(part))
}

fn change_first(text: &str, change: impl Fn(char) -> char) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| {
        let mut result = String::with_capacity(text.len());
        result.push(change(first));
        result.push_str(rest.as_str());
        result
    })
}

fn upper(character: char) -> char {
    single(character.to_uppercase(), character)
}

fn single(mut changed: impl Iterator<Item = char>, otherwise: char) -> char {
    match (changed.next(), changed.next()) {
        (Some(character), None) => character,
        _ => otherwise,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn properties_are_camel_cased_after_underscores_only() {
        for (terraform, pulumi) in [
            ("length", "length"),
            ("early_renewal_hours", "earlyRenewalHours"),
            ("b64_std", "b64Std"),
            ("s3_bucket", "s3Bucket"),
            ("ipv_4", "ipv4"),
            ("_private", "_private"),
            ("__private_key", "__privateKey"),
            ("kind_", "kind_"),
            ("kind__", "kind_"),
            ("a__b", "aB"),
            ("camelCase_kept", "camelCaseKept"),
            ("with-hyphen_x", "with-hyphenX"),
            ("ünï_cöde_ö", "ünïCödeö"),
            ("a b\tc\u{a0}d\u{0}e\n", "aBCDE_"),
            ("", ""),
        ] {
            assert_eq!(property_name(terraform), pulumi, "{terraform}");
        }
    }

    #[test]
    fn the_way_back_without_a_schema_is_by_capitals() {
        for (pulumi, terraform) in [
            ("earlyRenewalHours", "early_renewal_hours"),
            ("b64Std", "b64_std"),
            ("URL", "u_r_l"),
            ("_private", "_private"),
            ("ipv4", "ipv4"),
            ("", ""),
        ] {
            assert_eq!(pulumi_to_terraform(pulumi), terraform, "{pulumi}");
        }
    }

    #[test]
    fn types_lose_every_delimiter() {
        for (terraform, pulumi) in [
            ("_pet", "Pet"),
            ("self_signed_cert", "SelfSignedCert"),
            ("access-key_pair", "AccessKeyPair"),
            ("trailing_", "Trailing"),
            ("a__b", "AB"),
            ("a_-b", "AB"),
            ("OTHER_lettersStay", "OTHERLettersStay"),
            ("a:b/c d", "ABCD"),
        ] {
            assert_eq!(upper_camel(terraform), pulumi, "{terraform}");
        }
        assert_eq!(camel("parse_arn"), "parseArn");
    }

    #[test]
    fn a_digit_in_front_is_spelled() {
        for (name, spelled) in [("2Res", "TwoRes"), ("3scale", "ThreeScale"), ("9", "Nine"), ("Two2", "Two2")]
        {
            assert_eq!(spell_leading_digit(name), spelled);
        }
    }

    #[test]
    fn titles_raise_the_first_letter_of_each_word() {
        for (name, title_of) in [
            ("archive", "Archive"),
            ("3scale", "3Scale"),
            ("foo-bar", "Foo-Bar"),
            ("_foo", "_Foo"),
            ("foo__", "Foo__"),
        ] {
            assert_eq!(title(name), title_of);
        }
    }

    #[test]
    fn only_what_is_no_code_is_a_name() {
        for name in ["a", "to_port", "dnsNames", "2c", "with-hyphen", "$ref", "ünï", "_", "名前"] {
            assert!(is_name(name), "{name}");
        }
        for code in [
            "", "a.b", "a b", "a(", "[x]", "`", "\"", "'", "a;b", "*/", "a\nb", "\\u0041", "a@b", "a/b",
            "a:b", "\u{2028}", "#",
        ] {
            assert!(!is_name(code), "{code}");
        }
    }

    proptest! {
        #[test]
        fn usual_names_can_be_read_back_without_a_schema(name in "[a-z][a-z0-9]{0,5}(_[a-z][a-z0-9]{0,5}){0,4}") {
            prop_assert_eq!(pulumi_to_terraform(&property_name(&name)), name);
        }

        #[test]
        fn any_text_has_a_name(text in ".*") {
            property_name(&text);
            pulumi_to_terraform(&text);
            spell_leading_digit(&upper_camel(&text));
            title(&text);
        }
    }
}
