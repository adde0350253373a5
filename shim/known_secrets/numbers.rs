//! A search for secret numbers as programs print them.
//!
//! A number has many spellings: `12345678901234` is `1.2345678901234e+13` by Go's `%v`, `1.23456789e+13`
//! by `String` of a number of Terraform's plugin framework, `1.234568e+13` by `%e`, `12345678901234.0`
//! in Rust and Python, and `1.2345678901234E13` in Java. So numbers in a text are read, and compared
//! by value. Plain digits are found as a form (`index.rs`), also of numbers that no `f64` holds.

use std::collections::BTreeSet;

use super::index::is_token;

/// Minimum significant digits of a number that is rounded; with fewer, any number may be near.
const FEWEST_ROUNDED: usize = 6;
/// Minimum digits of an integer that is compared by value: an `f64` holds shorter ones exactly.
const FEWEST_OF_INTEGER: usize = 16;
/// Limit of characters of a number in a text: those of the largest `f64`, with a fraction.
pub(super) const LONGEST: usize = 400;

/// The magnitudes of secret numbers.
#[derive(Default)]
pub(super) struct Numbers {
    /// As bits, which are in the order of the magnitudes.
    magnitudes: BTreeSet<u64>,
}

impl Numbers {
    /// Adds a number in decimal form.
    pub(super) fn add(&mut self, decimal: &str) {
        let Ok(number) = decimal.parse::<f64>() else { return };
        // As programs print it that have it in 32 bits.
        let narrow = decimal.parse::<f32>().ok().and_then(|narrow| narrow.to_string().parse::<f64>().ok());
        let magnitudes = [number].into_iter().chain(narrow).map(f64::abs);
        self.magnitudes.extend(magnitudes.filter(|number| number.is_finite()).map(f64::to_bits));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.magnitudes.is_empty()
    }

    /// The end of the number that begins at this position, if it is secret.
    pub(super) fn end(&self, text: &[u8], at: usize) -> Option<usize> {
        if !text.get(at)?.is_ascii_digit() {
            return None;
        }
        // A version or an address has several points.
        if at > 0 && matches!(text[at - 1], b'.' | b'0'..=b'9') {
            return None;
        }
        let number = Spelling::read(&text[at..])?;
        let end = at + number.length;
        (is_token(text, at, end) && self.has(&number)).then_some(end)
    }

    fn has(&self, number: &Spelling) -> bool {
        let Spelling { magnitude, last_place, significant, .. } = *number;
        match last_place {
            None if significant < FEWEST_OF_INTEGER => false,
            Some(last_place) if significant >= FEWEST_ROUNDED => {
                // Half of it, and what is lost in computing it.
                let rounded = last_place * 0.500_001;
                let (least, most) = ((magnitude - rounded).max(0.0), magnitude + rounded);
                self.magnitudes.range(least.to_bits()..=most.to_bits()).next().is_some()
            }
            _ => self.magnitudes.contains(&magnitude.to_bits()),
        }
    }
}

/// A number as it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spelling {
    length: usize,
    magnitude: f64,
    /// The value of one in the last digit. `None` if it is written as an integer.
    last_place: Option<f64>,
    /// Number of digits from the first that is not zero.
    significant: usize,
}

impl Spelling {
    /// The number at the beginning of a text.
    fn read(text: &[u8]) -> Option<Self> {
        let text = &text[..text.len().min(LONGEST)];
        let digits = |from: usize| text[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let whole = digits(0);
        let fraction = if text.get(whole) == Some(&b'.') { digits(whole + 1) } else { 0 };
        let mantissa = if fraction > 0 { whole + 1 + fraction } else { whole };
        let mut length = mantissa;
        if matches!(text.get(mantissa), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(text.get(mantissa + 1), Some(b'+' | b'-')));
            let exponent = if mantissa + 1 + sign < text.len() { digits(mantissa + 1 + sign) } else { 0 };
            if exponent > 0 {
                length = mantissa + 1 + sign + exponent;
            }
        }
        if text.get(length) == Some(&b'.') && text.get(length + 1).is_some_and(u8::is_ascii_digit) {
            return None;
        }
        let spelling = std::str::from_utf8(&text[..length]).ok()?;
        let magnitude: f64 = spelling.parse().ok().filter(|magnitude: &f64| magnitude.is_finite())?;
        let exponent: i32 = match spelling.get(mantissa + 1..) {
            Some(exponent) if !exponent.is_empty() => exponent.parse().ok()?,
            _ => 0,
        };
        let is_integer = length == whole;
        let last_place = 10_f64.powi(exponent - i32::try_from(fraction).ok()?);
        let all = text[..mantissa].iter().filter(|byte| **byte != b'.');
        let significant = all.skip_while(|byte| **byte == b'0').count();
        Some(Self { length, magnitude, last_place: (!is_integer).then_some(last_place), significant })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finds(secret: &str, text: &str) -> bool {
        let mut numbers = Numbers::default();
        numbers.add(secret);
        (0..text.len()).any(|at| numbers.end(text.as_bytes(), at) == Some(text.len()))
    }

    #[test]
    fn a_number_is_found_in_every_spelling() {
        for (secret, spellings) in [
            (
                "12345678901234",
                &[
                    // `%v` and `%g`, `%f`, `%e` of Go, `String` of a `big.Float`, `%v` of a `float32`.
                    "1.2345678901234e+13",
                    "12345678901234.000000",
                    "1.234568e+13",
                    "1.23456789e+13",
                    "1.2345679e+13",
                    // Rust and Python, `{:e}` of Rust, Java, C#.
                    "12345678901234.0",
                    "1.2345678901234e13",
                    "1.2345678901234E13",
                    "1.2345678901234E+13",
                ][..],
            ),
            (
                "12345678901234567890",
                &[
                    "1.2345678901234567e+19",
                    "12345678901234567168.000000",
                    "12345678901234567000",
                    "12345678901234567168",
                    "1.234567890123456789e+19",
                    "1.2345678901234567e19",
                ],
            ),
            ("1000000000000000000000", &["1e+21", "1e21", "1E21", "1000000000000000000000.000000"]),
            ("-1500000", &["1.5e+06", "1.5e6", "-1.5E+06", "1500000.0"]),
            ("0.000012345", &["1.2345e-05", "1.2345e-5", "1.234500e-05", "0.000012345000"]),
            ("16777217", &["1.6777216e+07", "16777216.0"]),
            ("123456789.5", &["1.234567895e+08", "123456789.500000", "1.234568e+08"]),
        ] {
            for spelling in spellings {
                assert!(finds(secret, spelling), "{secret} as {spelling}");
            }
        }
    }

    #[test]
    fn other_numbers_are_not_found() {
        for (secret, text) in [
            ("12345678901234", "1.2345678901235e+13"),
            ("12345678901234", "1.23456788e+13"),
            ("12345678901234", "1.2e+13"),
            ("12345678901234", "1.2345678901234e+12"),
            ("12345678901234", "12345678901234.5"),
            ("12345678901234", "1.2345678901234e+13e"),
            ("12345678901234", "x1.2345678901234e+13"),
            ("1000000", "1000001.0"),
            ("100", "1.00.0"),
            ("3.5", "1.3.5"),
            ("3.5", "3.50.1"),
            ("123", "e+123"),
            ("123", "1e"),
        ] {
            assert!(!finds(secret, text), "{secret} in {text}");
        }
    }

    #[test]
    fn what_is_no_number_is_not_added() {
        let mut numbers = Numbers::default();
        for text in ["+Inf", "NaN", "", "x", "1e999"] {
            numbers.add(text);
        }
        assert!(numbers.magnitudes.is_empty());
    }
}
