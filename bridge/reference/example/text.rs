//! Texts and names in the languages of examples.

/// A text in double quotes, which all four languages read alike: escapes are those of JSON.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Whether a name is an identifier in each language.
pub(super) fn is_identifier(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
}

/// The name by which a program refers to a package.
pub(super) fn alias(package: &str, is_reserved: impl Fn(&str) -> bool) -> String {
    let name = package.replace('-', "_");
    if is_reserved(&name) { name + "_" } else { name }
}
