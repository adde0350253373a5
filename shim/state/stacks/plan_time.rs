//! Times in a plan, as RFC 3339 has them.

use super::error::Fault;

/// Refuses what is no time as RFC 3339 has it: `2006-01-02T15:04:05Z`, perhaps with parts of seconds and an offset.
pub(super) fn require_time(text: &str) -> Result<(), Fault> {
    let is_time = || {
        let (date, rest) = text.split_at_checked(10)?;
        let (clock, rest) = rest.strip_prefix(['T', 't'])?.split_at_checked(8)?;
        has_form(date, "0000-00-00").then_some(())?;
        has_form(clock, "00:00:00").then_some(())?;
        let rest = match rest.strip_prefix('.') {
            Some(fraction) => {
                let rest = fraction.trim_start_matches(|digit: char| digit.is_ascii_digit());
                (rest.len() < fraction.len()).then_some(rest)?
            }
            None => rest,
        };
        let offset = rest.strip_prefix(['+', '-']);
        (matches!(rest, "Z" | "z") || offset.is_some_and(|offset| has_form(offset, "00:00"))).then_some(())
    };
    is_time().ok_or_else(|| Fault::Time(text.chars().take(40).collect()))
}

fn has_form(text: &str, form: &str) -> bool {
    text.len() == form.len()
        && text.bytes().zip(form.bytes()).all(|(byte, wanted)| match wanted {
            b'0' => byte.is_ascii_digit(),
            other => byte == other,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_rfc_3339() {
        for text in ["2017-07-31T00:00:00Z", "2017-07-31T00:00:00.123456789+02:00"] {
            require_time(text).unwrap_or_else(|error| panic!("{error}"));
        }
        for text in
            ["", "2017-07-31", "2017-07-31 00:00:00Z", "2017-07-31T00:00:00", "2017-07-31T00:00:00.Z", "é"]
        {
            require_time(text).expect_err(text);
        }
    }
}
