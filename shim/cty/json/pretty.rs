//! Indented JSON, in the layout of Go and so of Terraform's files.

use super::Json;
use super::tree::write_string;

type WriteString = fn(&str, &mut String);

impl Json {
    /// The document indented by two spaces for each level, without a line feed at its end. Numbers
    /// keep their text, and strings have Go's escapes.
    pub fn to_pretty(&self) -> String {
        let mut out = String::new();
        write(self, 0, write_string, &mut out);
        out
    }

    /// The same without escapes of `<`, `>` and `&`, for users who copy values.
    pub fn to_readable(&self) -> String {
        let mut out = String::new();
        write(self, 0, write_readable, &mut out);
        out
    }
}

fn write_readable(text: &str, out: &mut String) {
    out.push('"');
    for part in text.split_inclusive(['<', '>', '&']) {
        let (plain, sign) = match part.char_indices().next_back() {
            Some((at, sign @ ('<' | '>' | '&'))) => (&part[..at], Some(sign)),
            _ => (part, None),
        };
        let mut quoted = String::new();
        write_string(plain, &mut quoted);
        out.push_str(&quoted[1..quoted.len() - 1]);
        out.extend(sign);
    }
    out.push('"');
}

fn write(json: &Json, depth: usize, string: WriteString, out: &mut String) {
    match json {
        Json::String(text) => string(text, out),
        Json::Array(elements) if !elements.is_empty() => {
            out.push('[');
            for (index, element) in elements.iter().enumerate() {
                next_line(index, depth + 1, out);
                write(element, depth + 1, string, out);
            }
            next_line(0, depth, out);
            out.push(']');
        }
        Json::Object(members) if !members.is_empty() => {
            out.push('{');
            for (index, (name, member)) in members.iter().enumerate() {
                next_line(index, depth + 1, out);
                string(name, out);
                out.push_str(": ");
                write(member, depth + 1, string, out);
            }
            next_line(0, depth, out);
            out.push('}');
        }
        _ => json.write(out),
    }
}

/// Begins a line, after a comma if an element precedes.
fn next_line(before: usize, depth: usize, out: &mut String) {
    if before > 0 {
        out.push(',');
    }
    out.push('\n');
    for _ in 0..depth {
        out.push_str("  ");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_has_a_line_and_what_is_empty_has_none() {
        let json = Json::parse(br#"{"a":[1.50,{"b":null}],"c":{},"d":[]}"#).expect("JSON");
        let pretty =
            "{\n  \"a\": [\n    1.50,\n    {\n      \"b\": null\n    }\n  ],\n  \"c\": {},\n  \"d\": []\n}";
        assert_eq!(json.to_pretty(), pretty);
        assert_eq!(Json::parse(pretty.as_bytes()), Ok(json));
    }

    #[test]
    fn what_people_copy_has_no_escapes_that_it_does_not_need() {
        let json = Json::Array(vec![Json::String("a<b>&\"\\c".to_owned()), Json::String("<".to_owned())]);
        assert_eq!(json.to_readable(), "[\n  \"a<b>&\\\"\\\\c\",\n  \"<\"\n]");
        assert_eq!(Json::parse(json.to_readable().as_bytes()), Ok(json.clone()));
        assert!(json.to_pretty().contains("\\u003c"), "Terraform's files have them");
    }
}
