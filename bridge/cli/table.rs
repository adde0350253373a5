//! Rows of text in aligned columns.

/// A table with a header. The last column is not padded. Cells are names of others, so each is
/// [in one line](in_one_line).
pub(super) fn table<const COLUMNS: usize>(
    head: [&str; COLUMNS],
    rows: impl IntoIterator<Item = [String; COLUMNS]>,
) -> String {
    let mut all = vec![head.map(str::to_owned)];
    all.extend(rows.into_iter().map(|row| row.map(|cell| in_one_line(&cell))));
    let width = |column: usize| all.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..COLUMNS).map(width).collect();
    let mut text = String::new();
    for row in &all {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            // A width in `format!` has 16 bits, and ids have any length.
            line.extend(std::iter::repeat_n(' ', width - cell.chars().count() + 2));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A name of others, such as an id, in one line: quoted and escaped if it has characters that are not
/// printable. Those include controls of the writing direction (CVE-2021-42574) and all that is
/// invisible, also the joiners that texts may have (`isthmus_common::printable`): by an id, an object is
/// chosen to be changed or removed.
pub(super) fn in_one_line(name: &str) -> String {
    if name.chars().all(is_printable) { name.to_owned() } else { format!("{name:?}") }
}

/// Accents and other combining characters are: they are escaped only where nothing is before them.
fn is_printable(character: char) -> bool {
    let mut behind_a_letter = String::from("x");
    behind_a_letter.push(character);
    matches!(character, '"' | '\'' | '\\') || behind_a_letter.escape_debug().count() == 2
}

/// Formats a number of bytes, in powers of 1000 with one decimal.
pub(super) fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if count < 1000 {
        return format!("{count} B");
    }
    // In tenths, so that nothing is rounded up to a thousand.
    let (mut tenths, mut unit) = (count.saturating_add(50) / 100, 0);
    while tenths >= 10_000 && unit + 1 < UNITS.len() {
        tenths = (tenths + 500) / 1000;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_what_is_in_them() {
        let rows = [["1", "able-dog"], ["12", ""]].map(|row| row.map(str::to_owned));
        assert_eq!(table(["NUMBER", "ID"], rows), "NUMBER  ID\n1       able-dog\n12\n");
    }

    #[test]
    fn a_cell_that_misleads_is_quoted() {
        let rows = [["1\n2", "x"], ["3", "a \u{202e}b"]].map(|row| row.map(str::to_owned));
        assert_eq!(table(["NUMBER", "ID"], rows), "NUMBER  ID\n\"1\\n2\"  x\n3       \"a \\u{202e}b\"\n");
    }

    #[test]
    fn a_cell_may_be_of_any_length() {
        let rows = [["1", "x"].map(str::to_owned), ["y".repeat(70_000), "z".to_owned()]];
        let text = table(["NUMBER", "ID"], rows);
        assert!(text.lines().all(|line| line.len() > 70_000), "{}", text.len());
    }

    #[test]
    fn a_name_that_misleads_is_quoted() {
        for (name, shown) in [
            ("vpc-1 \"x\" it's C:\\new", "vpc-1 \"x\" it's C:\\new"),
            ("e\u{301}lan \u{1f512} \u{645}\u{631}", "e\u{301}lan \u{1f512} \u{645}\u{631}"),
            ("a\u{1b}[31m\n", "\"a\\u{1b}[31m\\n\""),
            ("\u{202e}nimda", "\"\\u{202e}nimda\""),
            ("\u{2067}a\u{2069}", "\"\\u{2067}a\\u{2069}\""),
            ("a\u{200b}b", "\"a\\u{200b}b\""),
            ("a\u{200d}b\u{200c}c\u{2028}", "\"a\\u{200d}b\\u{200c}c\\u{2028}\""),
            ("\u{feff}a\u{a0}b", "\"\\u{feff}a\\u{a0}b\""),
        ] {
            assert_eq!(in_one_line(name), shown);
        }
    }

    #[test]
    fn bytes_are_counted_in_thousands() {
        for (count, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 kB"),
            (1049, "1.0 kB"),
            (1050, "1.1 kB"),
            (999_949, "999.9 kB"),
            (999_950, "1.0 MB"),
            (15_728_640, "15.7 MB"),
            (3_000_000_000, "3.0 GB"),
            (u64::MAX, "18446744.1 TB"),
        ] {
            assert_eq!(bytes(count), text, "{count}");
        }
    }
}
