//! Random text for ids and secrets.

use rustls::crypto::aws_lc_rs;
use sha2::{Digest as _, Sha256};

use crate::diagnostics::Diagnostic;

/// Alphabet of ids.
pub(crate) const LOWER_CASE_AND_DIGITS: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// Alphabet of secrets.
pub(crate) const LETTERS_AND_DIGITS: &[u8] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// Random text of an alphabet, each character equally likely.
pub(crate) fn text(length: usize, alphabet: &[u8]) -> Result<String, Diagnostic> {
    let source = aws_lc_rs::default_provider().secure_random;
    let fair = 256 - 256 % alphabet.len();
    let mut text = String::with_capacity(length);
    let mut bytes = [0_u8; 64];
    while text.len() < length {
        source.fill(&mut bytes).map_err(|_| Diagnostic::error("The system has no random numbers", ""))?;
        let usable = bytes.iter().map(|byte| usize::from(*byte)).filter(|byte| *byte < fair);
        for byte in usable.take(length - text.len()) {
            text.push(char::from(alphabet[byte % alphabet.len()]));
        }
    }
    Ok(text)
}

/// Text that looks random, and is the same for the same seed.
pub(crate) fn derived_text(seed: &str, length: usize, alphabet: &[u8]) -> String {
    let blocks = (0_u32..).flat_map(|number| Sha256::digest(format!("{number} {seed}")));
    blocks.take(length).map(|byte| char::from(alphabet[usize::from(byte) % alphabet.len()])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_the_requested_length_and_alphabet() {
        let first = text(100, LOWER_CASE_AND_DIGITS).expect("random numbers");
        let second = text(100, LOWER_CASE_AND_DIGITS).expect("random numbers");
        assert_eq!(first.len(), 100);
        assert!(first.bytes().all(|byte| LOWER_CASE_AND_DIGITS.contains(&byte)), "{first}");
        assert_ne!(first, second);
    }

    #[test]
    fn derived_texts_follow_from_their_seeds() {
        let first = derived_text("a", 100, LOWER_CASE_AND_DIGITS);
        assert_eq!(first.len(), 100);
        assert!(first.bytes().all(|byte| LOWER_CASE_AND_DIGITS.contains(&byte)), "{first}");
        assert_eq!(first, derived_text("a", 100, LOWER_CASE_AND_DIGITS));
        assert_ne!(first, derived_text("b", 100, LOWER_CASE_AND_DIGITS));
    }
}
