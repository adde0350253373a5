//! Numbers of go-cty: decimal and unbounded.
//!
//! go-cty has a binary float with a mantissa of 512 bits from text and of 53 from a double. In the
//! protocol and in comparisons only its decimal text matters, so a [`Number`] is an `i64` if
//! possible, else the decimal digits; a number from a double stores the double. By go-cty's rule
//! "integers are equal by value, anything else by its shortest text", the double 0.1 equals the
//! decimal 0.1 although their encodings differ, and the double 1e300 does not equal the decimal
//! 1e300, because the double is not exactly that integer.
//!
//! Digits are text because numbers are only decoded, compared and encoded here. Texts that go-cty
//! would round to 512 bits (more than 153 significant digits) stay exact.

mod decimal;
mod double;

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

use num_bigint::BigUint;

use decimal::Decimal;
use double::{digits_of_scientific, double_as_i64, exact_fractional, exact_integer, shortest};

/// Maximum digits of a number's text without exponent.
///
/// go-cty's own limit is a binary exponent of 32 bits, at which a number of twelve characters
/// (`1e600000000`) needs gigabytes. A double needs at most some three hundred digits.
pub(crate) const MAXIMUM_DIGITS: usize = 10_000;

/// A number of any size.
#[derive(Clone)]
pub struct Number(Repr);

#[derive(Clone)]
enum Repr {
    Int(i64),
    /// A finite double that is no `i64`: it has a fraction, is too large, or is the negative zero
    /// (equal to zero, but with its sign in text).
    Double(f64),
    /// A number from text that is no `i64`.
    Decimal(Arc<Decimal>),
    Infinity {
        negative: bool,
    },
}

/// Why a text is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    /// It does not have a number's form.
    #[error("a number is required: digits with an optional sign, fraction and exponent")]
    Syntax,
    /// Its text without exponent would be longer than 10,000 digits.
    #[error("the number is too large or too precise: at most {MAXIMUM_DIGITS} digits are supported")]
    TooManyDigits,
}

/// The encoded form of a number. Terraform's rule, in this order: whole numbers within `i64`, exact
/// doubles with a fraction (and infinities), else text.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum WireForm {
    Int(i64),
    Double(f64),
    Text(String),
}

impl Number {
    /// Positive infinity.
    pub const INFINITY: Self = Self(Repr::Infinity { negative: false });
    /// Zero.
    pub const ZERO: Self = Self(Repr::Int(0));

    /// Parses decimal text as go-cty: an optional sign, digits with an optional point, and an
    /// optional exponent (`e` of ten, `p` of two); or `Inf`. Prefixes of other bases, underscores
    /// and spaces are invalid.
    ///
    /// # Errors
    /// [`NumberError::Syntax`] for anything else, [`NumberError::TooManyDigits`] beyond 10,000
    /// digits.
    pub fn from_decimal(text: &str) -> Result<Self, NumberError> {
        if let Some(small) = small_integer(text) {
            return Ok(Self(Repr::Int(small)));
        }
        let (negative, unsigned) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        if unsigned == "Inf" || unsigned == "inf" {
            return Ok(Self(Repr::Infinity { negative }));
        }
        let (mantissa, exponent) = match unsigned.find(['e', 'E', 'p', 'P']) {
            Some(at) => (&unsigned[..at], Some((unsigned.as_bytes()[at], &unsigned[at + 1..]))),
            None => (unsigned, None),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.len() + fraction.len() == 0 || !all_digits(whole) || !all_digits(fraction) {
            return Err(NumberError::Syntax);
        }
        let (binary, exponent) = match exponent {
            None => (false, 0),
            Some((letter, digits)) => (letter.eq_ignore_ascii_case(&b'p'), parse_exponent(digits)?),
        };
        // Twice the limit allows for zeros at both ends.
        if whole.len() + fraction.len() > 2 * MAXIMUM_DIGITS {
            return Err(NumberError::TooManyDigits);
        }
        let digits = format!("{whole}{fraction}");
        let point = -i64::try_from(fraction.len()).unwrap_or(i64::MAX);
        if !binary {
            return Self::from_digits(negative, &digits, point.saturating_add(exponent));
        }
        if digits.bytes().all(|digit| digit == b'0') {
            return Self::from_digits(negative, "0", 0);
        }
        let power = u32::try_from(exponent.unsigned_abs()).unwrap_or(u32::MAX);
        if power as usize > 3 * MAXIMUM_DIGITS {
            return Err(NumberError::TooManyDigits);
        }
        let mantissa = BigUint::from_str(&digits).map_err(|_| NumberError::Syntax)?;
        let (scaled, shift) = if exponent >= 0 {
            (mantissa << power, 0)
        } else {
            (mantissa * BigUint::from(5_u8).pow(power), i64::from(power))
        };
        Self::from_digits(negative, &scaled.to_string(), point - shift)
    }

    /// The exact number of a double, as Terraform's own from doubles; encoding it returns the same
    /// double. `None` for NaN.
    pub fn from_f64_exact(value: f64) -> Option<Self> {
        if value.is_nan() {
            return None;
        }
        if value.is_infinite() {
            return Some(Self(Repr::Infinity { negative: value < 0.0 }));
        }
        Some(Self(match double_as_i64(value) {
            Some(_) if value == 0.0 && value.is_sign_negative() => Repr::Double(value),
            Some(integer) => Repr::Int(integer),
            None => Repr::Double(value),
        }))
    }

    /// The shortest decimal that is parsed as this double, as written in HCL. For doubles of
    /// unknown origin. `None` for NaN.
    pub fn from_f64_shortest(value: f64) -> Option<Self> {
        if value.is_nan() {
            return None;
        }
        if value.is_infinite() {
            return Some(Self(Repr::Infinity { negative: value < 0.0 }));
        }
        if let Some(integer) = double_as_i64(value) {
            return Some(Self(Repr::Int(integer)));
        }
        let (digits, exponent) = digits_of_scientific(&format!("{:e}", value.abs()));
        Self::from_digits(value < 0.0, &digits, i64::from(exponent)).ok()
    }

    /// The number as an `i64`, if it is one exactly.
    pub fn as_i64(&self) -> Option<i64> {
        match &self.0 {
            Repr::Int(integer) => Some(*integer),
            Repr::Double(double) => double_as_i64(*double),
            Repr::Decimal(_) | Repr::Infinity { .. } => None,
        }
    }

    /// The nearest double; infinite beyond the range.
    pub fn as_f64(&self) -> f64 {
        match &self.0 {
            #[expect(clippy::cast_precision_loss, reason = "the nearest double is what is asked for")]
            Repr::Int(integer) => *integer as f64,
            Repr::Double(double) => *double,
            Repr::Decimal(decimal) => decimal.as_f64(),
            Repr::Infinity { negative: false } => f64::INFINITY,
            Repr::Infinity { negative: true } => f64::NEG_INFINITY,
        }
    }

    /// Whether it is whole. Infinities are not.
    pub fn is_integer(&self) -> bool {
        match &self.0 {
            Repr::Int(_) => true,
            Repr::Double(double) => double.fract() == 0.0,
            Repr::Decimal(decimal) => decimal.exponent >= 0,
            Repr::Infinity { .. } => false,
        }
    }

    /// Whether it is an infinity, which JSON does not support.
    pub fn is_infinite(&self) -> bool {
        matches!(self.0, Repr::Infinity { .. })
    }

    /// The shortest decimal text without an exponent that identifies the number, as in go-cty's
    /// string conversion and JSON. Infinities are `+Inf` and `-Inf`.
    ///
    /// Whole doubles within `i64` are exact, although go-cty rounds those above 2^53 to 17 digits:
    /// they are encoded as integers, and the stored number must be the same.
    pub fn to_decimal_text(&self) -> String {
        match &self.0 {
            Repr::Int(integer) => integer.to_string(),
            Repr::Double(double) if *double == 0.0 => "-0".to_owned(),
            Repr::Double(double) => shortest(*double).to_plain_text(),
            Repr::Decimal(decimal) => decimal.to_plain_text(),
            Repr::Infinity { negative: false } => "+Inf".to_owned(),
            Repr::Infinity { negative: true } => "-Inf".to_owned(),
        }
    }

    pub(super) fn wire_form(&self) -> WireForm {
        if let Some(integer) = self.as_i64() {
            return WireForm::Int(integer);
        }
        match &self.0 {
            Repr::Int(integer) => WireForm::Int(*integer),
            Repr::Double(double) if double.fract() != 0.0 => WireForm::Double(*double),
            Repr::Double(double) => WireForm::Text(shortest(*double).to_plain_text()),
            Repr::Decimal(decimal) => match exact_fractional(decimal) {
                Some(double) => WireForm::Double(double),
                None => WireForm::Text(decimal.to_plain_text()),
            },
            Repr::Infinity { negative } => {
                WireForm::Double(if *negative { f64::NEG_INFINITY } else { f64::INFINITY })
            }
        }
    }

    /// The text by which go-cty sorts composite elements of a set: ten significant digits, with an
    /// exponent for large or small numbers (Go's `%.10g`).
    pub(super) fn append_sort_text(&self, text: &mut Vec<u8>) {
        match self.canonical() {
            Canonical::Infinity { negative } => {
                text.extend_from_slice(if negative { b"-Inf" } else { b"+Inf" });
            }
            Canonical::Int(integer) if integer.unsigned_abs() < 10_000_000_000 => {
                text.extend_from_slice(integer.to_string().as_bytes());
            }
            Canonical::Int(integer) => Decimal::from_i64(integer).append_ten_digits(text),
            Canonical::Decimal(decimal) => decimal.append_ten_digits(text),
        }
    }

    /// Builds `±digits × 10^exponent` in its canonical form.
    fn from_digits(negative: bool, digits: &str, exponent: i64) -> Result<Self, NumberError> {
        let digits = digits.trim_start_matches('0');
        let significant = digits.trim_end_matches('0');
        if significant.is_empty() {
            return Ok(Self(if negative { Repr::Double(-0.0) } else { Repr::Int(0) }));
        }
        let length = |text: &str| i64::try_from(text.len()).unwrap_or(i64::MAX);
        let exponent = exponent.saturating_add(length(digits) - length(significant));
        let before_point = length(significant).saturating_add(exponent).max(0);
        let after_point = exponent.saturating_neg().max(0);
        let exponent = match i32::try_from(exponent) {
            Ok(exponent) if before_point.saturating_add(after_point) <= MAXIMUM_DIGITS as i64 => exponent,
            _ => return Err(NumberError::TooManyDigits),
        };
        let decimal = Decimal { negative, digits: significant.into(), exponent };
        if exponent >= 0
            && before_point <= 19
            && let Ok(integer) = decimal.to_plain_text().parse()
        {
            return Ok(Self(Repr::Int(integer)));
        }
        Ok(Self(Repr::Decimal(Arc::new(decimal))))
    }

    fn canonical(&self) -> Canonical<'_> {
        match &self.0 {
            Repr::Int(integer) => Canonical::Int(*integer),
            Repr::Double(double) if *double == 0.0 => Canonical::Int(0),
            Repr::Double(double) if double.fract() == 0.0 => {
                Canonical::Decimal(Cow::Owned(exact_integer(*double)))
            }
            Repr::Double(double) => Canonical::Decimal(Cow::Owned(shortest(*double))),
            Repr::Decimal(decimal) => Canonical::Decimal(Cow::Borrowed(decimal)),
            Repr::Infinity { negative } => Canonical::Infinity { negative: *negative },
        }
    }
}

/// The canonical form, the same for equal numbers. Whatever fits an `i64` is `Int`.
#[derive(PartialEq, Eq, Hash)]
enum Canonical<'a> {
    Int(i64),
    Decimal(Cow<'a, Decimal>),
    Infinity { negative: bool },
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Repr::Int(left), Repr::Int(right)) => left == right,
            (Repr::Double(left), Repr::Double(right)) if left == right => true,
            _ => self.canonical() == other.canonical(),
        }
    }
}

impl Eq for Number {}

impl Hash for Number {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.canonical().hash(state);
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.canonical(), other.canonical()) {
            (Canonical::Int(left), Canonical::Int(right)) => left.cmp(&right),
            (Canonical::Infinity { negative: left }, Canonical::Infinity { negative: right }) => {
                right.cmp(&left)
            }
            (Canonical::Infinity { negative }, _) => {
                if negative {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
            (_, Canonical::Infinity { negative }) => {
                if negative {
                    Ordering::Greater
                } else {
                    Ordering::Less
                }
            }
            (Canonical::Decimal(left), Canonical::Decimal(right)) => left.cmp(&right),
            (Canonical::Int(left), Canonical::Decimal(right)) => Decimal::from_i64(left).cmp(&right),
            (Canonical::Decimal(left), Canonical::Int(right)) => left.as_ref().cmp(&Decimal::from_i64(right)),
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Int(integer) => integer.fmt(formatter),
            _ => formatter.write_str(&self.to_decimal_text()),
        }
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)?;
        // Marks doubles, because their encodings differ from those of equal decimals.
        if matches!(self.0, Repr::Double(_)) { formatter.write_str("f64") } else { Ok(()) }
    }
}

impl FromStr for Number {
    type Err = NumberError;

    fn from_str(text: &str) -> Result<Self, NumberError> {
        Self::from_decimal(text)
    }
}

impl From<i64> for Number {
    fn from(integer: i64) -> Self {
        Self(Repr::Int(integer))
    }
}

impl From<i32> for Number {
    fn from(integer: i32) -> Self {
        Self(Repr::Int(integer.into()))
    }
}

impl From<u32> for Number {
    fn from(integer: u32) -> Self {
        Self(Repr::Int(integer.into()))
    }
}

impl From<u64> for Number {
    fn from(integer: u64) -> Self {
        match i64::try_from(integer) {
            Ok(small) => Self(Repr::Int(small)),
            Err(_) => Self(Repr::Decimal(Arc::new(Decimal::from_unsigned_text(&integer.to_string())))),
        }
    }
}

/// [`Number::from_decimal`] without allocation, for up to 18 digits.
fn small_integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || digits.len() > 18 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    match text.parse() {
        // The negative zero keeps its sign, which an integer does not have.
        Ok(0) if text.starts_with('-') => None,
        parsed => parsed.ok(),
    }
}

/// An exponent; saturates at the range of `i64`, which only zero allows.
fn parse_exponent(text: &str) -> Result<i64, NumberError> {
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NumberError::Syntax);
    }
    let magnitude = digits.parse::<i64>().unwrap_or(i64::MAX / 2);
    Ok(if negative { -magnitude } else { magnitude })
}

#[cfg(test)]
mod tests;
