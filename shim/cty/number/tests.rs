use std::hash::DefaultHasher;

use proptest::prelude::*;

use super::*;

fn decimal(text: &str) -> Number {
    Number::from_decimal(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn double(value: f64) -> Number {
    Number::from_f64_exact(value).unwrap()
}

fn hash(number: &Number) -> u64 {
    let mut hasher = DefaultHasher::new();
    number.hash(&mut hasher);
    hasher.finish()
}

#[test]
fn texts_are_read_as_go_cty_reads_them() {
    for (text, expected) in [
        ("0", "0"),
        ("-0", "-0"),
        ("-0.00e5", "-0"),
        ("+5", "5"),
        (".5", "0.5"),
        ("5.", "5"),
        ("00012", "12"),
        ("1E5", "100000"),
        ("12.50e-1", "1.25"),
        ("1.50", "1.5"),
        ("1p5", "32"),
        ("1p-3", "0.125"),
        ("3.5p-1", "1.75"),
        ("Inf", "+Inf"),
        ("+inf", "+Inf"),
        ("-Inf", "-Inf"),
        ("0e999999999999", "0"),
        ("9223372036854775807", "9223372036854775807"),
        ("9223372036854775808", "9223372036854775808"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("-9223372036854775809", "-9223372036854775809"),
        ("1000000000000000000000", "1000000000000000000000"),
        ("0.000001", "0.000001"),
        ("123456789.123456789", "123456789.123456789"),
    ] {
        assert_eq!(decimal(text).to_decimal_text(), expected, "{text}");
    }
}

#[test]
fn what_is_no_number_is_refused() {
    for text in [
        "", "-", "+", ".", "e5", "1e", "1e+", "0x10", "1_000", " 1", "1 ", "INF", "infinity", "NaN", "--1",
        "1.2.3", "1e5.0", "１",
    ] {
        assert_eq!(Number::from_decimal(text), Err(NumberError::Syntax), "{text:?}");
    }
}

#[test]
fn a_short_text_cannot_stand_for_a_number_that_fills_the_memory() {
    for text in ["1e999999999", "1e-999999999", "1e10000", "1e-10001", "1p999999", "5e9223372036854775807"] {
        assert_eq!(Number::from_decimal(text), Err(NumberError::TooManyDigits), "{text}");
    }
    assert_eq!(Number::from_decimal(&"9".repeat(1_000_000)), Err(NumberError::TooManyDigits));
    assert_eq!(decimal("1e9999").to_decimal_text().len(), 10_000);
    assert_eq!(decimal("1e-10000").to_decimal_text().len(), 10_002);
}

#[test]
fn numbers_are_equal_by_value() {
    for (one, other) in [
        (decimal("1"), decimal("1.0")),
        (decimal("-0"), decimal("0")),
        (double(-0.0), decimal("0")),
        (decimal("1e20"), decimal("100000000000000000000")),
        (double(0.5), decimal("0.5")),
        (double(3.0), Number::from(3_i64)),
        (Number::from(u64::MAX), decimal("18446744073709551615")),
        // go-cty compares fractions by their shortest text.
        (double(0.1), decimal("0.1")),
        (double(f64::INFINITY), Number::INFINITY),
    ] {
        assert_eq!(one, other);
        assert_eq!(hash(&one), hash(&other), "{one:?} and {other:?}");
        assert_eq!(one.cmp(&other), Ordering::Equal);
    }
    // The double nearest to 10^300 is another integer.
    assert_ne!(double(1e300), decimal("1e300"));
    assert_ne!(double(0.1), decimal("0.1000000000000000055511151231257827021181583404541015625"));
    assert_ne!(decimal("0.1"), decimal("0.10000000000000001"));
}

#[test]
fn numbers_are_ordered_by_value() {
    let ascending = [
        "-Inf",
        "-1e100",
        "-9223372036854775809",
        "-9223372036854775808",
        "-10",
        "-9",
        "-1.5",
        "-1e-9",
        "0",
        "1e-400",
        "0.0999",
        "0.1",
        "0.11",
        "9",
        "10",
        "10.5",
        "9223372036854775807",
        "9223372036854775808",
        "1e100",
        "1.1e100",
        "Inf",
    ]
    .map(decimal);
    for (index, one) in ascending.iter().enumerate() {
        for (other_index, other) in ascending.iter().enumerate() {
            assert_eq!(one.cmp(other), index.cmp(&other_index), "{one} and {other}");
        }
    }
}

#[test]
fn doubles_come_in_exactly_or_as_they_would_be_written() {
    assert_eq!(double(0.1).wire_form(), WireForm::Double(0.1));
    let written = Number::from_f64_shortest(0.1).unwrap();
    assert_eq!(written.wire_form(), WireForm::Text("0.1".to_owned()));
    assert_eq!(Number::from_f64_shortest(1e21).unwrap(), decimal("1e21"));
    assert_eq!(Number::from_f64_shortest(-2.5).unwrap().wire_form(), WireForm::Double(-2.5));
    assert_eq!(Number::from_f64_shortest(5.0).unwrap().as_i64(), Some(5));
    assert_eq!(Number::from_f64_shortest(-0.0).unwrap().to_decimal_text(), "0");
    assert_eq!(Number::from_f64_exact(f64::NAN), None);
    assert_eq!(Number::from_f64_shortest(f64::NAN), None);
}

#[test]
fn conversions_to_machine_numbers_say_when_they_do_not_fit() {
    assert_eq!(decimal("9223372036854775807").as_i64(), Some(i64::MAX));
    assert_eq!(decimal("9223372036854775808").as_i64(), None);
    assert_eq!(decimal("1.5").as_i64(), None);
    assert_eq!(double(9_223_372_036_854_775_808.0).as_i64(), None);
    assert_eq!(double(-9_223_372_036_854_775_808.0).as_i64(), Some(i64::MIN));
    assert_eq!(decimal("0.1").as_f64(), 0.1);
    assert_eq!(decimal("1e400").as_f64(), f64::INFINITY);
    assert!(decimal("1e30").is_integer() && double(1e30).is_integer() && !decimal("0.5").is_integer());
    assert!(!Number::INFINITY.is_integer() && Number::INFINITY.is_infinite());
    assert!(decimal("-1e-30") < Number::ZERO && decimal("-0") >= Number::ZERO);
}

#[test]
fn fractions_travel_as_doubles_only_when_exact() {
    assert_eq!(decimal("0.15").wire_form(), WireForm::Text("0.15".to_owned()));
    assert_eq!(decimal("-0.375").wire_form(), WireForm::Double(-0.375));
    let exact = "0.1000000000000000055511151231257827021181583404541015625";
    assert_eq!(decimal(exact).wire_form(), WireForm::Double(0.1));
    let smallest = format!("{:.1074}", f64::from_bits(1));
    assert_eq!(decimal(&smallest).wire_form(), WireForm::Double(f64::from_bits(1)));
    assert!(matches!(decimal("5e-400").wire_form(), WireForm::Text(_)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn doubles_survive(bits in any::<u64>()) {
        let value = f64::from_bits(bits);
        prop_assume!(value.is_finite());
        let exact = double(value);
        prop_assert_eq!(exact.as_f64(), value);
        let shortest = Number::from_f64_shortest(value).unwrap();
        prop_assert_eq!(shortest.as_f64(), value);
        if value.fract() != 0.0 && value.is_normal() {
            prop_assert_eq!(&exact, &shortest);
            prop_assert_eq!(hash(&exact), hash(&shortest));
        }
    }

    #[test]
    fn text_survives(text in "-?[0-9]{1,40}(\\.[0-9]{0,40})?(e[+-]?[0-9]{1,3})?") {
        let number = decimal(&text);
        let plain = number.to_decimal_text();
        prop_assert_eq!(&decimal(&plain), &number);
        prop_assert_eq!(decimal(&plain).to_decimal_text(), plain);
        prop_assert_eq!(number.as_f64(), text.parse::<f64>().unwrap());
    }

    #[test]
    fn order_agrees_with_that_of_doubles(left in any::<f64>(), right in any::<f64>()) {
        prop_assert_eq!(Some(double(left).cmp(&double(right))), left.partial_cmp(&right));
    }
}
