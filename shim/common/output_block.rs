//! What a process has printed, in the text of an error about it.
//!
//! It is quoted as a block: a heading and indented lines, each with its line end. Texts of errors are
//! put together from others, so that more text may follow a block ("...; run this again"). So blocks
//! are found by their form, and moved behind everything else: the reader gets the whole sentence
//! first, and then what is quoted.

use std::borrow::Cow;

const INDENT: &str = "    ";

/// What is quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputKind {
    /// The last lines of output.
    LastLines,
    /// The beginning of a panic's trace.
    Panic,
}

impl OutputKind {
    const ALL: [Self; 2] = [Self::LastLines, Self::Panic];

    /// With the line ends around it.
    fn heading(self) -> &'static str {
        match self {
            Self::LastLines => "\nlast output of the provider:\n",
            Self::Panic => "\npanic of the provider:\n",
        }
    }
}

/// The block of these lines, to be appended to a text; empty without any.
pub fn output_block<'a>(kind: OutputKind, lines: impl IntoIterator<Item = &'a str>) -> String {
    let mut block = String::new();
    for line in lines {
        if block.is_empty() {
            block.push_str(kind.heading());
        }
        block.push_str(INDENT);
        block.push_str(line);
        block.push('\n');
    }
    block
}

/// The text with all blocks at its end.
pub fn output_last(text: &str) -> Cow<'_, str> {
    if !OutputKind::ALL.iter().any(|kind| text.contains(kind.heading())) {
        return Cow::Borrowed(text);
    }
    let (text, blocks) = split_output(text);
    Cow::Owned(text + &blocks)
}

/// The text without blocks, and the blocks.
pub fn split_output(text: &str) -> (String, String) {
    let (mut before, mut blocks) = (String::new(), String::new());
    let mut rest = text;
    while let Some((start, kind)) = OutputKind::ALL
        .into_iter()
        .filter_map(|kind| Some((rest.find(kind.heading())?, kind)))
        .min_by_key(|(start, _)| *start)
    {
        before.push_str(&rest[..start]);
        let lines = &rest[start + kind.heading().len()..];
        let quoted = lines.split_inclusive('\n').take_while(|line| line.starts_with(INDENT));
        let length = quoted.map(str::len).sum();
        blocks.push_str(kind.heading());
        blocks.push_str(&lines[..length]);
        if !blocks.ends_with('\n') {
            blocks.push('\n');
        }
        rest = &lines[length..];
    }
    before.push_str(rest);
    (before, blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(lines: &[&str]) -> String {
        output_block(OutputKind::LastLines, lines.iter().copied())
    }

    #[test]
    fn a_block_has_a_heading_and_indented_lines() {
        assert_eq!(block(&["one", "", "two"]), "\nlast output of the provider:\n    one\n    \n    two\n");
        assert_eq!(block(&[]), "");
    }

    #[test]
    fn a_sentence_around_blocks_is_put_together_before_them() {
        let (one, two) = (block(&["one", "  indented"]), output_block(OutputKind::Panic, ["two"]));
        for (text, sentence, blocks) in [
            ("no block\n    indented".to_owned(), "no block\n    indented", String::new()),
            (format!("it ended{one}"), "it ended", one.clone()),
            (format!("it ended{}", one.trim_end()), "it ended", one.clone()),
            (format!("it ended{one}; run it again"), "it ended; run it again", one.clone()),
            (
                format!("it ended{two}\nIt ended again{one}: why"),
                "it ended\nIt ended again: why",
                format!("{two}{one}"),
            ),
            (format!("{one}{one}"), "", format!("{one}{one}")),
        ] {
            assert_eq!(split_output(&text), (sentence.to_owned(), blocks.clone()), "{text}");
            let last = output_last(&text).into_owned();
            assert_eq!(last, format!("{sentence}{blocks}"), "{text}");
            assert_eq!(output_last(&last), last);
        }
    }
}
