//! Whole words of a text: where short secrets and numbers are looked for, which occur within other words by chance.

/// Whether the range is a whole token.
pub(super) fn is_token(text: &[u8], begin: usize, end: usize) -> bool {
    let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii();
    // The letter of an escape (`\n`) is not part of the word.
    let is_escape = begin >= 2 && text[begin - 2] == b'\\';
    let is_begin =
        is_escape || begin.checked_sub(1).and_then(|at| text.get(at)).is_none_or(|byte| !is_of_word(byte));
    is_begin && text.get(end).is_none_or(|byte| !is_of_word(byte))
}
