//! Decimal numbers as their digits.

use std::cmp::Ordering;

/// `±digits × 10^exponent` without zeros at either end of the digits: canonical.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Decimal {
    pub(super) negative: bool,
    pub(super) digits: Box<str>,
    pub(super) exponent: i32,
}

impl Decimal {
    /// From the text of a whole number other than zero.
    pub(super) fn from_unsigned_text(text: &str) -> Self {
        let significant = text.trim_end_matches('0');
        let zeros = text.len() - significant.len();
        Self {
            negative: false,
            digits: significant.into(),
            exponent: i32::try_from(zeros).unwrap_or(i32::MAX),
        }
    }

    /// For comparisons only: zero has no digits, and the lowest exponent.
    pub(super) fn from_i64(integer: i64) -> Self {
        if integer == 0 {
            return Self { negative: false, digits: "".into(), exponent: i32::MIN };
        }
        Self { negative: integer < 0, ..Self::from_unsigned_text(&integer.unsigned_abs().to_string()) }
    }

    /// Number of digits before the point; negative with zeros after it.
    fn point(&self) -> i64 {
        i64::try_from(self.digits.len()).unwrap_or(i64::MAX).saturating_add(self.exponent.into())
    }

    pub(super) fn as_f64(&self) -> f64 {
        let sign = if self.negative { "-" } else { "" };
        // Rust parses decimal text of any length to the nearest double, or infinity beyond the
        // range.
        format!("{sign}{}e{}", self.digits, self.exponent).parse().unwrap_or(f64::NAN)
    }

    pub(super) fn to_plain_text(&self) -> String {
        let sign = if self.negative { "-" } else { "" };
        let digits = &*self.digits;
        let zeros = |count: i64| "0".repeat(usize::try_from(count).unwrap_or(0));
        let point = self.point();
        if self.exponent >= 0 {
            format!("{sign}{digits}{}", zeros(self.exponent.into()))
        } else if point <= 0 {
            format!("{sign}0.{}{digits}", zeros(-point))
        } else {
            let (whole, fraction) = digits.split_at(usize::try_from(point).unwrap_or(0));
            format!("{sign}{whole}.{fraction}")
        }
    }

    pub(super) fn append_ten_digits(&self, text: &mut Vec<u8>) {
        const PRECISION: usize = 10;
        if self.negative {
            text.push(b'-');
        }
        if self.digits.is_empty() {
            text.push(b'0');
            return;
        }
        let mut digits = self.digits.as_bytes().to_vec();
        let mut point = self.point();
        if digits.len() > PRECISION {
            let half = digits[PRECISION] == b'5' && digits.len() == PRECISION + 1;
            let up = if half { (digits[PRECISION - 1] - b'0') % 2 == 1 } else { digits[PRECISION] >= b'5' };
            digits.truncate(PRECISION);
            if up {
                while digits.last() == Some(&b'9') {
                    digits.pop();
                }
                match digits.last_mut() {
                    Some(last) => *last += 1,
                    None => {
                        digits.push(b'1');
                        point += 1;
                    }
                }
            }
            while digits.last() == Some(&b'0') {
                digits.pop();
            }
        }
        let count = i64::try_from(digits.len()).unwrap_or(i64::MAX);
        let threshold = if count >= point { count.min(PRECISION as i64) } else { PRECISION as i64 };
        let exponent = point - 1;
        if exponent < -4 || exponent >= threshold {
            text.push(digits[0]);
            if digits.len() > 1 {
                text.push(b'.');
                text.extend_from_slice(&digits[1..]);
            }
            let sign = if exponent < 0 { '-' } else { '+' };
            text.extend_from_slice(format!("e{sign}{:02}", exponent.unsigned_abs()).as_bytes());
            return;
        }
        let digits = String::from_utf8_lossy(&digits).into_owned().into_boxed_str();
        let exponent = i32::try_from(point - count).unwrap_or(0);
        text.extend_from_slice(Self { negative: false, digits, exponent }.to_plain_text().as_bytes());
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        // Without zeros at either end and with equal points, digits are ordered as text.
        let magnitude = |decimal: &Self| if decimal.digits.is_empty() { i64::MIN } else { decimal.point() };
        let by_magnitude =
            || magnitude(self).cmp(&magnitude(other)).then_with(|| self.digits.cmp(&other.digits));
        match (self.negative, other.negative) {
            (false, false) => by_magnitude(),
            (true, true) => by_magnitude().reverse(),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}
