//! Redaction, by what is known and by the forms in which texts quote it.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use proptest::prelude::*;

use super::*;

fn knowing(texts: &[&str]) -> KnownSecrets {
    let secrets = KnownSecrets::default();
    texts.iter().for_each(|text| secrets.learn(text, Retention::Usual));
    secrets
}

#[test]
fn a_process_knows_the_secrets_of_all_sessions_that_use_it_and_they_not_each_others() {
    let process = KnownSecrets::default();
    let (one, other) = (knowing(&["before-of-one"]), KnownSecrets::default());
    one.also_known_to(&process);
    other.also_known_to(&process);
    one.learn("after-of-one", Retention::Session);
    other.learn("after-of-other", Retention::Usual);
    for secret in ["before-of-one", "after-of-one", "after-of-other"] {
        assert_eq!(process.redact(secret), isthmus_common::REDACTED, "{secret}");
    }
    assert_eq!(other.redact("after-of-one"), "after-of-one");
    // What a session keeps as long as it lasts, the process keeps as it keeps others.
    assert!(!process.has_configured());
}

#[test]
fn a_secret_is_redacted_in_every_form() {
    let secret = "p\"ss wörd/<1>\u{1b}?";
    let secrets = knowing(&[secret]);
    for form in [
        secret.to_owned(),
        r#"p\"ss wörd/<1>\u001b?"#.to_owned(),
        r#"p\"ss wörd/\u003c1\u003e\u001b?"#.to_owned(),
        r#"p\"ss wörd/<1>\x1b?"#.to_owned(),
        "p%22ss+w%C3%B6rd%2F%3C1%3E%1B%3F".to_owned(),
        "p%22ss%20w%C3%B6rd%2F%3C1%3E%1B%3F".to_owned(),
        "p%22ss%20w%c3%b6rd%2f%3c1%3e%1b%3f".to_owned(),
        r#"p\"ss w\u00f6rd/<1>\u001b?"#.to_owned(),
        r#"p\"ss w\u00F6rd/<1>\u001B?"#.to_owned(),
        STANDARD.encode(secret),
        STANDARD_NO_PAD.encode(secret),
        URL_SAFE.encode(secret),
        URL_SAFE_NO_PAD.encode(secret),
    ] {
        assert_eq!(secrets.redact(&format!("before {form} behind")), "before [secret] behind", "{form}");
    }
}

#[test]
fn short_secrets_are_redacted_as_whole_tokens_and_the_shortest_not_at_all() {
    for (secret, text, expected) in [
        ("1234", "the PIN 1234 (of 12345)", "the PIN [secret] (of 12345)"),
        ("abc", "abcabc abc", "abcabc [secret]"),
        ("abc", "YWJj is YWJjYWJj", "[secret] is YWJjYWJj"),
        ("1", "attempt 1 of 1", "attempt 1 of 1"),
        ("ab", "ab", "ab"),
        ("true", "it is true", "it is true"),
        ("False", "it is False", "it is False"),
        ("null", "null", "null"),
        ("", "nothing", "nothing"),
    ] {
        assert_eq!(knowing(&[secret]).redact(text), expected, "{secret}");
    }
}

#[test]
fn numbers_are_redacted_as_whole_tokens_however_long_they_are() {
    let secrets = KnownSecrets::default();
    secrets.learn_number("271828182", Retention::Usual);
    secrets.learn_number("7", Retention::Usual);
    assert_eq!(secrets.redact("271828182, 2718281828, 7"), "[secret], 2718281828, 7");
}

#[test]
fn numbers_are_redacted_as_other_programs_print_them() {
    let secrets = knowing(&["111122223333", "1111-2222-3333"]);
    secrets.learn_number("12345678901234", Retention::Usual);
    for (text, expected) in [
        ("id: 1.2345678901234e+13, or 12345678901234.0.", "id: [secret], or [secret]."),
        (r#"{"id":1.2345678901234e13,"x":"\n1.2345678901234E13"}"#, r#"{"id":[secret],"x":"\n[secret]"}"#),
        ("account 1.11122223333e+11", "account [secret]"),
        ("-1.2345678901234e+13", "-[secret]"),
        ("1.2345678901235e+13 at 10.1.2.3", "1.2345678901235e+13 at 10.1.2.3"),
    ] {
        assert_eq!(secrets.redact(text), expected);
    }
}

#[test]
fn what_is_within_a_secret_value_is_secret() {
    let secrets = KnownSecrets::default();
    let value = Value::object([
        ("list", Value::list([Value::string("sesame-one"), Value::Bool(true)])),
        ("map", Value::map([("key", Value::string("sesame-two"))])),
        ("number", Value::Number(31337.into())),
    ]);
    secrets.learn_value(&value, Retention::Usual);
    assert_eq!(
        secrets.redact("key: sesame-one, sesame-two, 31337, true"),
        "key: [secret], [secret], [secret], true"
    );
}

#[test]
fn what_is_within_a_secret_document_or_url_is_secret() {
    let secrets = knowing(&[
        r#"{"type": "key", "private_key": "line one\nline two", "scopes": ["scope-of-the-key"]}"#,
        "postgres://admin:p%40ss@db.internal:5432/main",
    ]);
    for (text, expected) in [
        ("cannot parse key \"line one\\nline two\"", "cannot parse key \"[secret]\""),
        ("type key, scope scope-of-the-key", "type key, scope [secret]"),
        ("password p@ss of admin is wrong", "password [secret] of admin is wrong"),
        ("connect to postgres://admin:p%40ss@db/", "connect to postgres://admin:[secret]@db/"),
        ("connect to db.internal", "connect to db.internal"),
    ] {
        assert_eq!(secrets.redact(text), expected);
    }
}

#[test]
fn lines_of_a_secret_text_are_secret_but_not_what_is_around_a_key() {
    let key = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA\nshort\n-----END PRIVATE KEY-----\n";
    let secrets = knowing(&[key]);
    assert_eq!(secrets.redact(key), "[secret]");
    assert_eq!(secrets.redact(&key.replace('\n', "\\n")), "[secret]");
    assert_eq!(secrets.redact(key.trim()), "[secret]");
    assert_eq!(
        secrets.redact("line 1: -----BEGIN PRIVATE KEY-----, line 2: MC4CAQAwBQYDK2VwBCIEIA, short"),
        "line 1: -----BEGIN PRIVATE KEY-----, line 2: [secret], short"
    );
}

#[test]
fn of_a_long_secret_the_beginning_is_known_and_nothing_behind_it_is_shown() {
    let long = "0123456789".repeat(1000);
    let secrets = knowing(&[&long]);
    assert_eq!(secrets.redact(&format!("it is {long} (all of it)")), "it is [secret]");
}

#[test]
fn room_is_bounded_and_the_configuration_is_never_forgotten() {
    let secrets = KnownSecrets::default();
    secrets.learn("configured-token", Retention::Session);
    secrets.learn("met-all-the-time", Retention::Usual);
    let other = |number: usize| format!("other secret number {number} {}", "x".repeat(1000));
    for number in 0..5000 {
        secrets.learn(&other(number), Retention::Usual);
        secrets.learn("met-all-the-time", Retention::Usual);
    }
    let registry = secrets.registry();
    assert!(registry.taken <= ROOM, "{}", registry.taken);
    assert!(registry.known.len() > 500 && registry.known.len() < 3000, "{}", registry.known.len());
    drop(registry);
    for kept in ["configured-token", "met-all-the-time", &other(4999)] {
        assert_eq!(secrets.redact(kept), "[secret]", "{kept}");
    }
    assert_ne!(secrets.redact(&other(0)), "[secret]");
}

#[test]
fn what_is_or_contains_a_configured_secret_is_known_by_it() {
    let secrets = KnownSecrets::default();
    secrets.learn("met on the way", Retention::Usual);
    assert!(!secrets.has_configured() && !secrets.is_configured("met on the way"));
    for text in ["configured-token", "abc", "true", "met on the way"] {
        secrets.learn(text, Retention::Session);
    }
    secrets.learn_number("12345", Retention::Session);
    assert!(secrets.has_configured());
    for (text, expected) in [
        ("configured-token", true),
        ("Bearer configured-token", true),
        ("configured-toke", false),
        ("abc", true),
        ("abcd", false),
        ("true", false),
        ("12345", false),
        ("met on the way", true),
    ] {
        assert_eq!(secrets.is_configured(text), expected, "{text}");
    }
}

/// The text in lines of this width.
fn wrapped(text: &str, width: usize) -> Vec<&str> {
    let lines = text.as_bytes().chunks(width).map(|line| std::str::from_utf8(line).expect("ASCII"));
    lines.collect()
}

#[test]
fn base64_is_redacted_wherever_the_text_stands_in_it() {
    let secret = "sesame-sesame";
    let secrets = knowing(&[secret]);
    for before in ["", "u:", "user:", "someone:", "k=v&user=", "{\"a\":{\"b\":[\""] {
        for behind in ["", "x", "&more", "\"]}}"] {
            for engine in [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD] {
                let encoded = engine.encode(format!("{before}{secret}{behind}"));
                let first = before.len() * 8 / 6;
                let end = if behind.is_empty() {
                    encoded.len()
                } else {
                    ((before.len() + secret.len()) * 8).div_ceil(6)
                };
                let expected = format!("body: {}[secret]{}.", &encoded[..first], &encoded[end..]);
                assert_eq!(secrets.redact(&format!("body: {encoded}.")), expected, "{before}|{behind}");
            }
        }
    }
}

#[test]
fn what_is_escaped_or_encoded_again_within_base64_is_redacted() {
    let secret = "-----A KEY-----\nwith \"lines\" & \u{1f512}";
    let secrets = knowing(&[secret]);
    let json = serde_json::json!({ "key": secret }).to_string();
    let basic = STANDARD.encode(format!("user:{secret}"));
    for inner in [
        json.clone(),
        serde_json::json!({ "document": json }).to_string(),
        "id:-----A+KEY-----%0Awith+%22lines%22+%26+%F0%9F%94%92".to_owned(),
        format!("{{\"auths\":{{\"registry\":{{\"auth\":\"{basic}\"}}}}}}"),
        format!("{secret:?}"),
    ] {
        for encoded in [STANDARD.encode(&inner), URL_SAFE_NO_PAD.encode(&inner)] {
            let redacted = secrets.redact(&encoded).into_owned();
            assert!(redacted.contains("[secret]") && redacted.len() < encoded.len(), "{inner}: {redacted}");
        }
    }
}

#[test]
fn base64_with_escapes_is_redacted() {
    let secret = "~~~~???>>>\u{ff}\u{fe}~~~~sesame!";
    let secrets = knowing(&[secret]);
    let encoded = STANDARD.encode(secret);
    assert!(encoded.contains('+') && encoded.contains('/') && encoded.contains('='), "{encoded}");
    for (plus, slash, padding) in
        [("%2B", "%2F", "%3D"), ("%2b", "%2f", "="), ("+", "\\/", "="), ("\\u002B", "\\u002F", "=")]
    {
        let escaped = encoded.replace('+', plus).replace('/', slash).replace('=', padding);
        assert_eq!(secrets.redact(&format!("<{escaped}>")), "<[secret]>", "{escaped}");
    }
}

#[test]
fn base64_in_lines_is_redacted() {
    let secret = "the secret in the middle of a document, of more than a line when it is encoded";
    let secrets = knowing(&[secret]);
    for line_end in ["\n", "\r\n", "\n    ", "\\n", "\\r\\n", "\\\\n", "\\\\\\\\r\\\\\\\\n", "%0A", "%0D%0A"]
    {
        for width in [60, 64, 70, 72, 76] {
            let encoded = wrapped(&STANDARD.encode(secret), width).join(line_end);
            assert_eq!(secrets.redact(&format!("\"{encoded}\"")), "\"[secret]\"", "{line_end:?}");
            for before in 0..width {
                let document = format!("{}{secret}, and the end", "x".repeat(before));
                let encoded = wrapped(&STANDARD.encode(document), width).join(line_end);
                let redacted = secrets.redact(&encoded).into_owned();
                let (_, behind) = redacted.split_once("[secret]").expect("it is redacted");
                let shown = redacted.len() - "[secret]".len();
                let most = (before + 13) * 4 / 3 + 4 + 2 * line_end.len();
                assert!(shown <= most && behind.len() <= 20 + line_end.len(), "{encoded}: {redacted}");
            }
        }
    }
}

#[test]
fn of_base64_in_lines_each_line_is_redacted_by_itself() {
    for length in [13, 40, 64, 500] {
        let secret = (0..length).map(|at| char::from(b'!' + (at * at % 89) as u8)).collect::<String>();
        let secrets = knowing(&[&secret]);
        for (width, before) in
            [60, 64, 70, 72, 76].into_iter().flat_map(|width| (0..width).map(move |at| (width, at)))
        {
            let document = format!("{}{secret}{}", "x".repeat(before), "y".repeat(before));
            let encoded = STANDARD.encode(&document);
            let mut is_shown = vec![false; encoded.len()];
            for (number, line) in wrapped(&encoded, width).into_iter().enumerate() {
                let redacted = secrets.redact(line).into_owned();
                let (first, last) = (redacted.split('[').next(), redacted.rsplit(']').next());
                let (first, last) = (first.unwrap_or_default().len(), last.unwrap_or_default().len());
                for at in (0..first).chain(line.len() - last..line.len()) {
                    is_shown[number * width + at] = true;
                }
            }
            let shows = |byte: &usize| (byte * 8 / 6..(byte * 8 + 8).div_ceil(6)).all(|at| is_shown[at]);
            let shown: Vec<usize> = (before..before + length).filter(shows).collect();
            // Less than four bytes of either end are too few to be found.
            assert!(shown.len() <= 6 && shown.len() * 3 <= length, "{length} {width} {before}: {shown:?}");
        }
    }
}

#[test]
fn of_a_long_secret_in_base64_the_beginning_is_known_and_nothing_behind_it_is_shown() {
    let secrets = knowing(&[&"0123456789".repeat(1000)]);
    let encoded = STANDARD.encode("0123456789".repeat(1000));
    assert_eq!(secrets.redact(&format!("it is {encoded} (all of it)")), "it is [secret]");
}

#[test]
fn what_is_no_secret_stays_as_it_is_in_base64() {
    let secrets = knowing(&["sesame-sesame", &"a long secret with some words in it ".repeat(30)]);
    secrets.learn_number("1234", Retention::Usual);
    for text in [
        STANDARD.encode("nothing but a text with some words, and a number: 12345"),
        wrapped(&STANDARD.encode("nothing but a text with some words ".repeat(20)), 76).join("\n"),
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855".to_owned(),
        "/home/user/.terraform.d/plugin-cache/registry.terraform.io/hashicorp/random/3.6.0".to_owned(),
        "sesame-sesam".to_owned(),
        format!("({})", STANDARD.encode("sesame-sesam")),
    ] {
        assert_eq!(secrets.redact(&text), text);
    }
}

proptest! {
    // As the fuzzer does (`fuzz/targets/provider.rs`), with texts that are made of what matters.
    #[test]
    fn neither_a_secret_nor_its_base64_is_left_wherever_a_text_is_cut(
        pieces in proptest::collection::vec(
            prop_oneof![
                3 => Just("Tr0ub4dor&3 horse".to_owned()),
                3 => Just("VHIwdWI0ZG9y\\nJjMgaG9yc2U".to_owned()),
                2 => Just("VHIwdWI0ZG9yJjMgaG9yc2U=".to_owned()),
                1 => "[A-Za-z0-9+/=]{0,80}",
                1 => "[-\\\\nru0%2BbFf/ \t\r\n=.\"x]{0,6}",
                1 => any::<String>(),
            ],
            0..8,
        ),
    ) {
        let secrets = knowing(&["Tr0ub4dor&3 horse"]);
        let text = pieces.concat();
        let shows = |text: &str| {
            ["Tr0ub4dor&3 horse", "VHIwdWI0ZG9yJjMgaG9yc2U", "VHIwdWI0ZG9y\\nJjMgaG9yc2U"]
                .iter()
                .any(|form| text.contains(form))
        };
        let redacted = secrets.redact(&text).into_owned();
        prop_assert!(!shows(&redacted), "{redacted:?}");
        prop_assert_eq!(&*secrets.redact(&redacted), &redacted);
        let (before, behind) = text.split_at(secrets.cut(&text));
        let pieces = secrets.redact(before).into_owned() + &secrets.redact(behind);
        prop_assert!(!shows(&pieces), "{pieces:?}");
    }
}

#[test]
fn without_secrets_a_text_is_not_even_looked_at() {
    assert!(matches!(KnownSecrets::default().redact("text"), Cow::Borrowed("text")));
}
