//! Version constraints that a shell splits for lack of quotes.
//!
//! Of `isthmus install hashicorp/random ~> 3.8` a shell makes an argument (the home directory) and
//! a redirection to the file `3.8`; of `>= 3.8` the argument `3.8` and a redirection to the file
//! `=`, which would install another version than intended.

use std::ffi::OsStr;
use std::path::Path;

use isthmus_install::VersionConstraint;
use isthmus_platform::process::standard_output_file;

use super::output::warn;

/// Whether an argument is an operator of version constraints without its version.
pub(crate) fn is_lone_operator(argument: &OsStr) -> bool {
    ["~>", "~", ">", ">=", "<", "<=", "=", "!="].iter().any(|operator| argument == *operator)
}

/// Warns if standard output goes to a file that is named like part of a version constraint.
pub(crate) fn warn_of_redirection() {
    let output = standard_output_file();
    if let Some(name) = output.as_deref().and_then(part_of_constraint) {
        warn(&format!(
            "standard output goes to a file called {name:?}\n\
             help: if that is a part of a version constraint, put quotes around the whole of it, as in '~> 3.8'"
        ));
    }
}

/// The name of a file that may be the rest of a constraint after `<` or `>`.
fn part_of_constraint(file: &Path) -> Option<&str> {
    // A terminal is /dev/pts/0.
    let name = file.file_name().filter(|_| !file.starts_with("/dev"))?.to_str()?;
    let is_part = name == "="
        || name.starts_with(|first: char| first == '=' || first.is_ascii_digit())
            && VersionConstraint::parse(name).is_ok();
    is_part.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_called_like_a_version_are_told_from_others() {
        for name in ["/tmp/3.8", "/tmp/=", "/tmp/=3.8", "/tmp/3.8,", "/tmp/3"] {
            assert!(part_of_constraint(Path::new(name)).is_some(), "{name}");
        }
        for name in
            ["/dev/null", "/tmp/out", "/tmp/3.8.txt", "pipe:[3]", "/dev/pts/0", "/dev/pts/0x", "/", "/tmp/~"]
        {
            assert_eq!(part_of_constraint(Path::new(name)), None, "{name}");
        }
    }
}
