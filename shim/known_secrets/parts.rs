//! Secret parts of a structured secret text: providers parse such texts, and quote the parts.

use serde_json::Value;

/// Minimum length of texts within a document; shorter ones are often names.
const SHORTEST_LEAF: usize = 8;
/// Limit of texts within a document.
const MOST_LEAVES: usize = 1024;
/// Limit of a document's size.
const LONGEST_DOCUMENT: usize = 256 << 10;

/// The secret parts of `text`: texts within a JSON object or array, and the password of a URL, also
/// nested.
pub(super) fn parts(text: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut documents = vec![text.to_owned()];
    // A nested document is shorter, so this terminates.
    while let Some(document) = documents.pop() {
        if let Some(password) = password(&document) {
            parts.extend(percent_decoded(password));
            parts.push(password.to_owned());
        }
        let Some(json) = structured(&document) else { continue };
        let mut rest = vec![&json];
        while let Some(value) = rest.pop() {
            match value {
                Value::Array(elements) => rest.extend(elements),
                Value::Object(members) => rest.extend(members.values()),
                Value::String(_) if parts.len() >= MOST_LEAVES => return parts,
                Value::String(leaf) => {
                    if leaf.chars().take(SHORTEST_LEAF).count() == SHORTEST_LEAF {
                        parts.push(leaf.clone());
                    }
                    documents.push(leaf.clone());
                }
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
    }
    parts
}

/// The text as a JSON object or array.
fn structured(text: &str) -> Option<Value> {
    let is_candidate = text.trim_start().starts_with(['{', '[']) && text.len() <= LONGEST_DOCUMENT;
    is_candidate.then(|| serde_json::from_str(text).ok()).flatten()
}

/// The password in a URL (`scheme://user:password@host`), still escaped.
///
/// Otherwise the URL is not validated: providers accept forms that URL parsers do not (several
/// hosts with ports, `jdbc:` before the scheme).
fn password(text: &str) -> Option<&str> {
    let (scheme, rest) = text.trim().split_once("://")?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|character| character.is_ascii_alphanumeric() || "+-.:".contains(character));
    if !is_scheme {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next()?;
    let (user, _) = authority.rsplit_once('@')?;
    let (_, password) = user.split_once(':')?;
    Some(password)
}

/// The unescaped text, if it has escapes and is valid UTF-8.
fn percent_decoded(text: &str) -> Option<String> {
    let mut decoded = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let escaped = behind.first_chunk::<2>().filter(|_| first == b'%').and_then(byte);
        decoded.push(escaped.unwrap_or(first));
        rest = if escaped.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8(decoded).ok().filter(|decoded| decoded != text)
}

fn byte(digits: &[u8; 2]) -> Option<u8> {
    let [high, low] = digits.map(|digit| char::from(digit).to_digit(16));
    u8::try_from(high? << 4 | low?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sorted_parts(text: &str) -> Vec<String> {
        let mut parts = parts(text);
        parts.sort();
        parts
    }

    #[test]
    fn texts_within_documents_are_parts() {
        let within = json!({ "token": "token-in-document", "host": "db" }).to_string();
        let document = json!({
            "type": "short",
            "private_key": "first line\nsecond line",
            "nested": [{ "password": "pässwörd" }, ["deep-in-an-array"], 12_345_678, true, null],
            "document": within,
            "url": "https://user:pw1@host",
        });
        let expected = [
            "deep-in-an-array",
            "first line\nsecond line",
            "https://user:pw1@host",
            "pw1",
            "pässwörd",
            "token-in-document",
            &within,
        ];
        let mut expected = expected.map(str::to_owned);
        expected.sort();
        assert_eq!(sorted_parts(&document.to_string()), expected);
        assert_eq!(sorted_parts(&format!("\n {document:#}\n")), expected);
    }

    #[test]
    fn what_has_no_structure_has_no_parts() {
        for text in
            ["", "sesame-sesame", "\"sesame-sesame\"", "{sesame-sesame}", "{\"a\": \"sesame-sesame\"", "12"]
        {
            assert_eq!(parts(text), <[String; 0]>::default(), "{text}");
        }
    }

    #[test]
    fn the_password_of_a_url_is_a_part() {
        for (url, expected) in [
            ("postgres://user:sesame@host:5432/db?sslmode=disable", &["sesame"][..]),
            ("postgres://user:ses%40m%c3%a9@host", &["ses%40m%c3%a9", "ses@mé"]),
            ("postgres://user:100%@host", &["100%"]),
            ("postgres://user:%ff%fe@host", &["%ff%fe"]),
            ("mongodb+srv://user:a:b@c@one:1,two:2/db", &["a:b@c"]),
            ("jdbc:postgresql://user:sesame@host/db", &["sesame"]),
            (" https://:sesame@host\n", &["sesame"]),
            ("https://user@host", &[]),
            ("https://host:80/path@more", &[]),
            ("https://host/?user:password@more", &[]),
            ("see https://user:sesame@host", &[]),
            ("://user:sesame@host", &[]),
        ] {
            assert_eq!(sorted_parts(url), expected, "{url}");
        }
    }

    #[test]
    fn the_number_of_parts_and_the_size_of_documents_are_bounded() {
        let many: Vec<String> = (0..5000).map(|number| format!("text number {number}")).collect();
        assert_eq!(parts(&json!(many).to_string()).len(), MOST_LEAVES);
        let long = json!(["sesame-sesame", "x".repeat(LONGEST_DOCUMENT)]).to_string();
        assert_eq!(parts(&long).len(), 0);
    }
}
