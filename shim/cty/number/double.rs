//! Doubles: conversion to integers, and their decimal text in go-cty.

use num_bigint::BigUint;

use super::decimal::Decimal;

/// The integer that a double is, within the range of `i64`.
pub(super) fn double_as_i64(double: f64) -> Option<i64> {
    const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
    #[expect(clippy::cast_possible_truncation, reason = "a whole number within the range")]
    let within =
        (double.fract() == 0.0 && (-TWO_TO_63..TWO_TO_63).contains(&double)).then_some(double as i64);
    within
}

/// Mantissa and binary exponent of a finite double: `mantissa × 2^exponent`.
fn decompose(double: f64) -> (u64, i32) {
    let bits = double.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    let biased = i32::try_from((bits >> 52) & 0x7ff).unwrap_or(0);
    if biased == 0 { (fraction, -1074) } else { (fraction | 1 << 52, biased - 1075) }
}

/// Number of binary places after the point of a double other than zero.
fn binary_places(double: f64) -> u32 {
    let (mantissa, exponent) = decompose(double);
    let lowest = exponent + i32::try_from(mantissa.trailing_zeros()).unwrap_or(0);
    lowest.min(0).unsigned_abs()
}

/// The double that equals a number with a fraction exactly.
pub(super) fn exact_fractional(decimal: &Decimal) -> Option<f64> {
    // A fraction of k decimal digits (the last is not 0) is a multiple of 2^-k only if its digits are a multiple of
    // 5^k: so they end in 5, and in binary it has k places too.
    if decimal.exponent >= 0 || !decimal.digits.ends_with('5') {
        return None;
    }
    let places = decimal.exponent.unsigned_abs();
    let double = decimal.as_f64();
    if !double.is_finite() || double == 0.0 || binary_places(double) != places {
        return None;
    }
    let exact = format!("{:.*}", places as usize, double);
    (exact == decimal.to_plain_text()).then_some(double)
}

/// The exact whole number of a double.
pub(super) fn exact_integer(double: f64) -> Decimal {
    Decimal { negative: double < 0.0, ..Decimal::from_unsigned_text(&format!("{:.0}", double.abs())) }
}

/// The shortest decimal that identifies a double other than zero among floats with 53 bits of mantissa.
pub(super) fn shortest(double: f64) -> Decimal {
    let (mantissa, _) = decompose(double);
    let ordinary = double.is_normal() && mantissa != 1 << 52 && double.fract() != 0.0;
    let (digits, exponent) = if ordinary {
        digits_of_scientific(&format!("{:e}", double.abs()))
    } else {
        shortest_of_big_float(double)
    };
    Decimal { negative: double < 0.0, digits: digits.into(), exponent }
}

/// Digits and exponent from Rust's `d.ddde±x`.
pub(super) fn digits_of_scientific(text: &str) -> (String, i32) {
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let places = mantissa.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let exponent = exponent.parse::<i32>().unwrap_or(0) - i32::try_from(places).unwrap_or(0);
    let significant = digits.trim_end_matches('0').len();
    let exponent = exponent + i32::try_from(digits.len() - significant).unwrap_or(0);
    (digits[..significant].to_owned(), exponent)
}

/// The shortest digits by the rule of Go's `big.Float`, which differs from the usual rule where
/// adjacent doubles are not evenly spaced: at powers of two, and below the normal range, where
/// `big.Float` still assumes 53 bits. Its interval is half a unit of the 53rd bit to both sides.
fn shortest_of_big_float(double: f64) -> (String, i32) {
    let (mantissa, exponent) = decompose(double);
    // One bit more than the precision, so that one unit is half a unit of the last place.
    let shift = mantissa.leading_zeros().saturating_sub(64 - 54);
    let mantissa = mantissa << shift;
    let exponent = exponent - i32::try_from(shift).unwrap_or(0);
    let (number, lower, upper) = (
        scaled_digits(mantissa, exponent),
        scaled_digits(mantissa - 1, exponent),
        scaled_digits(mantissa + 1, exponent),
    );
    let inclusive = mantissa & 2 == 0;
    let length = number.0.len().max(lower.0.len()).max(upper.0.len());
    // All three share the exponent of their last digit, hence padding in front aligns them.
    let [number_digits, lower_digits, upper_digits] = [&number.0, &lower.0, &upper.0].map(|digits| {
        let mut padded = vec![b'0'; length - digits.len()];
        padded.extend_from_slice(digits.as_bytes());
        padded
    });
    let significant =
        |digits: &[u8]| digits.len() - digits.iter().rev().take_while(|digit| **digit == b'0').count();
    let (lower_end, upper_end) = (significant(&lower_digits), significant(&upper_digits));
    let end = significant(&number_digits);
    let mut kept = number_digits.clone();
    for index in 0..end {
        let (digit, below, above) = (number_digits[index], lower_digits[index], upper_digits[index]);
        let down = below != digit || inclusive && index + 1 == lower_end;
        let up = digit != above && (inclusive || digit + 1 < above || index + 1 < upper_end);
        if !down && !up {
            continue;
        }
        let rest = &number_digits[index + 1..end];
        let nearest_is_up = match rest.first() {
            None => false,
            Some(b'5') if rest.len() == 1 => (digit - b'0') % 2 == 1,
            Some(next) => *next >= b'5',
        };
        kept.truncate(index + 1);
        if !rest.is_empty() && up && (!down || nearest_is_up) {
            round_up(&mut kept);
        }
        break;
    }
    let dropped = length - kept.len();
    let text = String::from_utf8_lossy(&kept).into_owned();
    let significant = text.trim_end_matches('0').len();
    let exponent = number.1 + i32::try_from(dropped + text.len() - significant).unwrap_or(0);
    (text[..significant].trim_start_matches('0').to_owned(), exponent)
}

/// The digits of `mantissa × 2^exponent`, and the power of ten of the last one.
fn scaled_digits(mantissa: u64, exponent: i32) -> (String, i32) {
    let mantissa = BigUint::from(mantissa);
    if exponent >= 0 {
        ((mantissa << exponent.unsigned_abs()).to_string(), 0)
    } else {
        ((mantissa * BigUint::from(5_u8).pow(exponent.unsigned_abs())).to_string(), exponent)
    }
}

/// Adds one to the last digit. The number of digits never grows.
fn round_up(digits: &mut [u8]) {
    for digit in digits.iter_mut().rev() {
        if *digit != b'9' {
            *digit += 1;
            return;
        }
        *digit = b'0';
    }
}
